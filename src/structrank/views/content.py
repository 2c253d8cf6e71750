"""The content of a report page as plain values: texts, facts, tables, pictures, sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text.

    Attributes
    ----------
    text : str
    more : str
        Title of the section of the same page that says more, if there is one: a link at the end.
    """

    text: str
    more: str = ""


@dataclass(frozen=True)
class Facts:
    """Names, and a text about each."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class NumberTable:
    """Columns of numbers, written as text.

    Attributes
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        All rows; a page shows the first of them and says so.
    caption : str
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture that is drawn when the page is made.

    Attributes
    ----------
    draw : callable
        Draws into the empty Figure that it is called with.
    alternative : str
        What the picture shows, for readers who cannot see it.
    caption : str
    points : int
        Number of values drawn: lines become dots if there are very many.
    """

    draw: Callable[[Any], Any]
    alternative: str
    caption: str
    points: int = 0


@dataclass(frozen=True)
class SideBySide:
    """Small pictures next to each other."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Section:
    """A title, and what follows below it.

    Attributes
    ----------
    title : str
    blocks : sequence of Block
    linked : bool
        A paragraph of the page links to it, by its title, which no other section has.
    """

    title: str
    blocks: Sequence[Block]
    linked: bool = False


Block = Paragraph | Facts | NumberTable | Picture | SideBySide | Section


@dataclass(frozen=True)
class Report:
    """What a result says about itself: the title of its page, and the blocks in their order.

    Examples
    --------
    >>> from structrank.views.content import Paragraph, Report, Section
    >>> report = Report("Forecast", [Paragraph("7 steps"), Section("Values", [])])
    >>> [type(block).__name__ for block in report.blocks]
    ['Paragraph', 'Section']
    """

    title: str
    blocks: Sequence[Block]


def number_and_error(value: float, error: float) -> str:
    """Write a number with as many digits as its standard error, of two digits, allows.

    Parameters
    ----------
    value : float
    error : float
        Its standard error; zero, inf or NaN is not written.

    Returns
    -------
    str

    Examples
    --------
    >>> from structrank.views.content import number_and_error
    >>> number_and_error(0.123456, 0.00123)
    '0.1235 ± 0.0012'
    """
    if not np.isfinite(error) or error == 0:
        return f"{value:.5g}"
    digits = int(np.ceil(-np.log10(error))) + 1
    if not 0 <= digits <= 9:
        return f"{value:.6g} ± {error:.2g}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"

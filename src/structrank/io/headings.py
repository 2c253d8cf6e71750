"""Which rows of a table are names or units, and whether its first column is an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .cells import Cells
from .dates import BEGINS_WITH_DATE, are_dates
from .lines import Row
from .table import FileError

_OTHER = "zeit|datum|jahr|monat|woche|tag|stunde|temps|heure|jour|mois|année|tiempo|fecha|año|tempo"
_TIME = f"(times?|time ?stamp|date[ _/]?time|dates?|{_OTHER}|tijd)"
_COUNT = "(index|sample|step|(second|minute|hour|day|week|month|quarter|year)s?)"
_UNIT = "([munµμ]?s|(sec|second|min|minute|hr|hour|day|week|month|yr|year)s?|h|d|utc)"
# T alone may be a temperature, and t_min the least t.
SAYS_TIME = re.compile(
    rf"t|t_(?!mins?$){_UNIT}|(?i:{_COUNT}|{_TIME}(_{_UNIT})?"
    rf"|({_TIME}|t)\s*(/\s*{_UNIT}|\({_UNIT}\)|\[{_UNIT}\]))"
)


@dataclass(frozen=True)
class Steps:
    """When a column of numbers counts as times.

    Parameters
    ----------
    equal : float
        Largest difference between the steps of an index without a name, as a fraction of a step.
        Chosen: above the rounding of decimals, below any step that a person would call different.
    fewest : int
        Fewest rows from which a column without any name is read as times. Chosen: a channel that
        has equal steps in so many rows is a clock.
    """

    equal: float = 1e-6
    fewest: int = 8


def has_header(rows: Sequence[Row], cells: Cells) -> bool:
    """Whether the first row contains names."""
    start, *rest = rows[0].cells
    if (start == "" or cells.is_text(start)) and all(map(cells.is_text, rest)):
        return True
    if len(rows) == 1:
        return False
    second = rows[1].cells
    if _are_some_names(rows[0].cells, second, cells):
        return True
    below = [row.cells[0] for row in rows[1:]]
    if cells.is_text(start) and not BEGINS_WITH_DATE.fullmatch(start) and are_dates(below):
        return True
    if start == "" != second[0] and rest == [str(j) for j in range(len(rest))]:
        return True  # numbered columns, as pandas writes them
    texts = cells.is_text(start) and cells.is_text(second[0])
    if texts and not _has_digit(start) and _has_digit(second[0]):
        return all(map(str.isdecimal, rest))
    return any(
        cells.is_text(a) and cells.is_number(b) for a, b in zip(rows[0].cells, second, strict=True)
    )


def _are_some_names(first: Sequence[str], second: Sequence[str], cells: Cells) -> bool:
    """Whether a row has names for some columns and empty cells above the others."""
    if not all(cell == "" or cells.is_text(cell) for cell in first):
        return False
    texts = [cell for cell in first if cell]
    labels = any(
        a == b or (_has_digit(a) and not cells.is_number(b))
        for a, b in zip(texts, second, strict=False)
    )
    return len(texts) > 1 and not labels


def units_row(rows: Sequence[Row], cells: Cells) -> list[str] | None:
    """The first row below the names, if it has text above each column of numbers."""
    if len(rows) < 3:
        return None
    first, *rest = (row.cells for row in rows)
    numbers = [j for j in range(len(first)) if any(cells.is_number(row[j]) for row in rest)]
    return first if _are_units([first[j] for j in numbers], cells) else None


def check_headings(rows: Sequence[Row], cells: Cells) -> None:
    """Raise an error if more rows of text follow below names and units."""
    if units_row(rows, cells) is None:
        return
    numbers = {  # the last row with a number, of each column
        j: k for k, row in enumerate(rows) for j, c in enumerate(row.cells) if cells.is_number(c)
    }
    at = 1
    while at < len(rows) - 2:
        above = [rows[at].cells[j] for j, last in numbers.items() if last > at]
        if not _are_units(above, cells):
            break
        at += 1
    last = rows[at - 1].line
    raise FileError(
        f"line {last} is text above numbers, but names and units are expected in two rows: "
        f"leave out the lines before the names (--skip-rows {last - 2}, skip_rows={last - 2})"
    )


def _are_units(above: Sequence[str], cells: Cells) -> bool:
    """Whether the cells above the columns of numbers may be units."""
    is_units = all(cell == "" or (cells.is_text(cell) and _is_unit(cell)) for cell in above)
    return any(above) and is_units


def _is_unit(cell: str) -> bool:
    """Whether a text may be a unit: in brackets, or one short word that is no number."""
    longest = 12  # letters: "µmol/(m² s)" has eleven
    bracketed = cell[:1] in "([" and cell[-1:] in ")]"
    signs = any(sign.isalpha() or sign in "%°" for sign in cell)
    return bracketed or (len(cell) <= longest and not cell[:1].isdigit() and signs)


def is_index(column: Sequence[str], name: str | None, cells: Cells, steps: Steps = Steps()) -> bool:
    """Whether the first of several columns holds times or labels, as its name and cells tell."""
    if not any(map(cells.is_number, column)):
        return any(map(cells.is_text, column))
    places = _places(column, cells)
    if name is None or places is None:
        return False
    if name == "":
        return _has_equal_steps(places, steps)
    known = places[np.isfinite(places)]
    one_way = np.all(known[1:] >= known[:-1]) or np.all(known[1:] <= known[:-1])
    several = 2 * len(np.unique(known)) > len(column)  # unlike a year beside a month
    return bool(one_way) and several and SAYS_TIME.fullmatch(name) is not None


def counts_rows(text: Sequence[Sequence[str]], cells: Cells, steps: Steps = Steps()) -> bool:
    """Whether the first column has equal steps, and no other column has."""
    places = _places(text[0], cells)
    if len(text[0]) < steps.fewest or places is None or not _has_equal_steps(places, steps):
        return False
    others = (_places(column, cells) for column in text[1:])
    equal = any(p is not None and _has_equal_steps(p, steps) for p in others)
    return not equal and bool(places[0] != places[-1])


def is_unnamed_index(text: Sequence[Sequence[str]], cells: Cells, steps: Steps = Steps()) -> bool:
    """Whether the first column of a table without names holds times."""
    if are_dates(text[0]) or counts_rows(text, cells, steps):
        return True
    places = [_places(column, cells) for column in text[:2]]
    if len(text) != 2 or len(text[0]) < steps.fewest or places[0] is None or places[1] is None:
        return False
    return _rises(places[0]) and not _rises(places[1])


def _places(column: Sequence[str], cells: Cells) -> np.ndarray | None:
    """A column as real numbers; None if it has text or complex numbers."""
    values = [cells.number(cell) for cell in column]
    if any(value is None or isinstance(value, complex) for value in values):
        return None
    return np.array(values, dtype=float)


def _rises(places: np.ndarray) -> bool:
    return bool(np.all(np.diff(places) > 0))


def _has_equal_steps(places: np.ndarray, steps: Steps) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.diff(places)
        most = steps.equal * np.abs(sizes[:1])
        return bool(np.all(np.abs(sizes - sizes[:1]) < most))


def _has_digit(cell: str) -> bool:
    return any(letter.isdigit() for letter in cell)

"""Which rows of a table are names or units, and whether its first column is an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .cells import Cells
from .lines import Row

_TIME = "(times?|timestamp|datetime|dates?)"
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
    if start == "" != second[0] and rest == [str(j) for j in range(len(rest))]:
        return True  # numbered columns, as pandas writes them
    texts = cells.is_text(start) and cells.is_text(second[0])
    if texts and not _has_digit(start) and _has_digit(second[0]):
        return all(map(str.isdecimal, rest))
    return any(
        cells.is_text(a) and cells.is_number(b) for a, b in zip(rows[0].cells, second, strict=True)
    )


def units_row(rows: Sequence[Row], cells: Cells) -> list[str] | None:
    """The first row below the names, if it has text above each column of numbers."""
    if len(rows) < 3:
        return None
    first, *rest = (row.cells for row in rows)
    numbers = [j for j in range(len(first)) if any(cells.is_number(row[j]) for row in rest)]
    above = [first[j] for j in numbers]
    is_units = all(cell == "" or (cells.is_text(cell) and _is_unit(cell)) for cell in above)
    return first if any(above) and is_units else None


def _is_unit(cell: str) -> bool:
    """Whether a text may be a unit: in brackets, or one short word that is no number."""
    longest = 12  # letters: "µmol/(m² s)" has eleven
    bracketed = cell[:1] in "([" and cell[-1:] in ")]"
    signs = any(sign.isalpha() or sign in "%°" for sign in cell)
    return bracketed or (len(cell) <= longest and not cell[:1].isdigit() and signs)


def is_index(column: Sequence[str], name: str | None, cells: Cells, steps: Steps = Steps()) -> bool:
    """Whether the first of several columns holds times or labels rather than a series."""
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


def is_unnamed_index(text: Sequence[Sequence[str]], cells: Cells, steps: Steps = Steps()) -> bool:
    """Whether the first column of a table without names holds times."""
    places = [_places(column, cells) for column in text]
    if len(text[0]) < steps.fewest or places[0] is None:
        return False
    if any(p is not None and _has_equal_steps(p, steps) for p in places[1:]):
        return False
    if _has_equal_steps(places[0], steps):
        return bool(places[0][0] != places[0][-1])
    return len(text) == 2 and _rises(places[0]) and not (places[1] is None or _rises(places[1]))


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

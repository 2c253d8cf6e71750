"""Dates as people write them: 31.05.2024 12:00, 5/31/2024, 31-May-2024, 20240531, 2024-Q2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from .regular import irregular_cell, iso_times, keeps_pace, numbers

DATES = (
    *("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"),
    *("%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y"),
    *("%b %d, %Y", "%B %d, %Y"),
)
MONTHS = ("%b-%Y", "%b %Y", "%b-%y", "%b %y", "%B %Y", "%B-%Y", "%Y-%b", "%m/%Y")
PARTS_OF_YEARS = ("%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q-%Y", "%G-W%V", "%GW%V")
CLOCKS = ("", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
COMPACT = {6: "%Y%m", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by number of digits
MONTH = re.compile(r"(0[1-9]|1[0-2])\.(19|20)\d{2}")  # 05.2024
YEARS = (1900, 2100)  # in which digits alone may be a date
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
BEGINS_WITH_DATE = re.compile(rf"{DATE.pattern}\b.*")
CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s*[AaPp][Mm])?")
ISO = {"": "%Y-%m-%d", "%H:%M": "%Y-%m-%d %H:%M", "%I:%M %p": "%Y-%m-%d %H:%M"}
PATTERNS = {
    **{
        f"{date} {c}".strip(): ISO.get(c, "%Y-%m-%d %H:%M:%S" + ".%f" * c.endswith("%f"))
        for date in DATES
        for c in CLOCKS
    },
    **{f"%Y-%m-%d {c}": "%Y-%m-%d %H:%M:%S" for c in CLOCKS[-2:]},
    **dict.fromkeys((*MONTHS, *PARTS_OF_YEARS), "%Y-%m-%d"),
}  # in ISO 8601


def in_iso(cells: Sequence[str]) -> tuple[list[str], str] | None:
    """Write dates in ISO 8601.

    Months, quarters and weeks become their first days.

    Parameters
    ----------
    cells : sequence of str

    Returns
    -------
    tuple or None
        The dates in ISO 8601 and the pattern in which they were written. None if they are in ISO
        8601 already, if one of them is not a date, or if day and month cannot be distinguished.

    Examples
    --------
    >>> from structrank.io.dates import in_iso
    >>> in_iso(["31.05.2024 12:00", "01.06.2024 12:00"])
    (['2024-05-31 12:00', '2024-06-01 12:00'], '%d.%m.%Y %H:%M')
    >>> in_iso(["20240531", "20240601"])
    (['2024-05-31', '2024-06-01'], '%Y%m%d')
    >>> in_iso(["03/04/2024", "03/05/2024"])
    """
    if len(cells) < 2 or not any(map(str.isdigit, cells[0])):
        return None
    if cells[0].isdecimal():
        return _compact(cells)
    if MONTH.fullmatch(cells[0]):
        return _rising_months(cells, "%m.%Y")
    fitting = []
    for pattern, iso in PATTERNS.items():
        times = _parsed(cells, pattern)
        if times is not None:
            fitting.append(([time.strftime(iso) for time in times], pattern, times))
    if len(fitting) > 1:  # day or month first: equal steps and months come before seasons
        regular = [found for found in fitting if irregular_cell(found[0]) is None]
        fitting = [found for found in regular if keeps_pace(found[2])] or regular
    return fitting[0][:2] if len(fitting) == 1 else None


def are_dates(cells: Sequence[str]) -> bool:
    """Whether all cells are dates, which day and month need not be distinguished for.

    Parameters
    ----------
    cells : sequence of str

    Examples
    --------
    >>> from structrank.io.dates import are_dates
    >>> are_dates(["03/04/2024", "03/05/2024"]), are_dates(["2024-05", "2024-06"])
    (True, True)
    >>> are_dates(["3.4", "3.5"])
    False
    """
    if all(map(BEGINS_WITH_DATE.fullmatch, cells)) or in_iso(cells) is not None:
        return True
    return numbers(cells[:1]) is None and iso_times(cells) is not None


def as_written(cells: Sequence[str], pattern: str) -> list[str]:
    """Write dates in ISO 8601 in another pattern; labels that are no dates stay.

    Parameters
    ----------
    cells : sequence of str
    pattern : str
        As that of `in_iso`.

    Examples
    --------
    >>> from structrank.io.dates import as_written
    >>> as_written(["2024-05-31"], "%d.%m.%Y")
    ['31.05.2024']
    >>> as_written(["2024-04-01"], "%YQ%q")
    ['2024Q2']
    """
    try:
        times = [datetime.fromisoformat(cell) for cell in cells]
    except ValueError:
        return list(cells)
    return [t.strftime(pattern.replace("%q", str((t.month + 2) // 3))) for t in times]


def _compact(cells: Sequence[str]) -> tuple[list[str], str] | None:
    """Dates of digits alone, such as 20240531 or 202405."""
    pattern = COMPACT.get(len(cells[0]))
    if pattern is None or not all(c.isdecimal() and len(c) == len(cells[0]) for c in cells):
        return None
    if not all(YEARS[0] <= int(cell[:4]) < YEARS[1] for cell in cells):
        return None
    times = _parsed(cells, pattern)
    if times is None:
        return None
    if pattern == "%Y%m":
        return _rising_months(cells, pattern)
    iso = {8: "%Y-%m-%d", 12: "%Y-%m-%d %H:%M"}
    form = iso.get(len(cells[0]), "%Y-%m-%d %H:%M:%S")
    return [time.strftime(form) for time in times], pattern


def _rising_months(cells: Sequence[str], pattern: str) -> tuple[list[str], str] | None:
    """Months in digits: those that do not rise are rather numbers."""
    times = _parsed(cells, pattern) if all(len(c) == len(cells[0]) for c in cells) else None
    if times is None or any(b <= a for a, b in pairwise(times)):
        return None
    return [time.strftime("%Y-%m-%d") for time in times], pattern


def _parsed(cells: Sequence[str], pattern: str) -> list[datetime] | None:
    try:
        if "%q" in pattern:
            return [_quarter(cell, pattern) for cell in cells]
        if "%V" in pattern:  # the Monday of a week
            return [datetime.strptime(f"{cell} 1", f"{pattern} %u") for cell in cells]
        return [datetime.strptime(cell, pattern) for cell in cells]
    except ValueError:
        return None


def _quarter(cell: str, pattern: str) -> datetime:
    """The first day of a quarter."""
    form = pattern.replace("%Y", r"(?P<year>\d{4})").replace("%q", "(?P<quarter>[1-4])")
    found = re.fullmatch(form, cell)
    if found is None:
        raise ValueError(f"{cell} is no quarter")
    return datetime(int(found["year"]), 3 * int(found["quarter"]) - 2, 1)

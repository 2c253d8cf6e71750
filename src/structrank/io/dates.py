"""Dates as people write them: 31.05.2024 12:00, 5/31/2024, 31-May-2024."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from .regular import irregular_cell

DATES = (
    *("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"),
    *("%m-%d-%Y", "%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%b-%Y", "%b %Y", "%m/%Y"),
)
CLOCKS = ("", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
BEGINS_WITH_DATE = re.compile(rf"{DATE.pattern}\b.*")
CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(\s*[AaPp][Mm])?")
ISO = {"": "%Y-%m-%d", "%H:%M": "%Y-%m-%d %H:%M", "%I:%M %p": "%Y-%m-%d %H:%M"}


def in_iso(cells: Sequence[str]) -> tuple[list[str], str] | None:
    """Write dates in ISO 8601.

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
    >>> in_iso(["03/04/2024", "03/05/2024"])
    """
    fitting = []
    for date in DATES:
        for clock in CLOCKS:
            pattern = f"{date} {clock}".strip()
            times = _parsed(cells, pattern)
            if times is not None:
                iso = ISO.get(clock, "%Y-%m-%d %H:%M:%S" + ".%f" * clock.endswith("%f"))
                fitting.append(([time.strftime(iso) for time in times], pattern))
    if len(fitting) > 1:  # day or month first
        fitting = [found for found in fitting if irregular_cell(found[0]) is None]
    return fitting[0] if len(fitting) == 1 and len(cells) > 1 else None


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
    """
    try:
        return [datetime.fromisoformat(cell).strftime(pattern) for cell in cells]
    except ValueError:
        return list(cells)


def _parsed(cells: Sequence[str], pattern: str) -> list[datetime] | None:
    try:
        return [datetime.strptime(cell, pattern) for cell in cells]
    except ValueError:
        return None

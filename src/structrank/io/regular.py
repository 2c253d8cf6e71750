"""Whether the times of a table are equally spaced, or follow a calendar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

CLOCK_PARTS = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
DAY_SECONDS = 86400.0


@dataclass(frozen=True)
class Spacing:
    """When places count as equally spaced.

    Parameters
    ----------
    tolerance : float
        Largest distance of a place from a regular grid, as a fraction of a step. Chosen so that
        times which a program has rounded, for example those of 30 samples per second in whole
        microseconds, still count as regular.
    """

    tolerance: float = 1e-3


def irregular_cell(cells: Sequence[str]) -> str | None:
    """Find the cell of an index around which its steps are not equal.

    Cells are numbers, times in ISO 8601, or times of day. Times may also follow a calendar: see
    `follows_calendar`. Other cells are labels, which are not checked.

    Parameters
    ----------
    cells : sequence of str

    Returns
    -------
    str or None
        None if the index is regular.

    Examples
    --------
    >>> from structrank.io.regular import irregular_cell
    >>> irregular_cell(["0.5", "1", "1.5", "2.5"])
    '2.5'
    >>> irregular_cell(["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"])
    """
    times = None
    places = numbers(cells)
    if places is None:
        places = clock_places(cells)
    if places is None and (times := iso_times(cells)) is not None:
        utc = _in_utc(times)
        places = np.array([(time - utc[0]).total_seconds() for time in utc])
    if places is None or len(places) < 3:
        return None
    at = uneven_place(places)
    if at is None or (times is not None and follows_calendar(times)):
        return None
    return cells[at]


def uneven_place(places: np.ndarray, spacing: Spacing = Spacing()) -> int | None:
    """Find the place around which steps are not equal.

    Parameters
    ----------
    places : ndarray
        At least two numbers.
    spacing : Spacing, optional

    Returns
    -------
    int or None
        Its position in `places`, or None if all steps are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.regular import uneven_place
    >>> uneven_place(np.array([0.5, 1.0, 1.5, 2.5]))
    3
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(places)
        grid = np.linspace(places[0], places[-1], len(places))
        if np.max(np.abs(places - grid)) <= spacing.tolerance * np.abs(np.mean(steps)):
            return None
        return int(np.argmax(np.abs(steps - np.median(steps)))) + 1


def numbers(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as numbers, or None if one of them is not a number.

    Parameters
    ----------
    cells : sequence of str

    Examples
    --------
    >>> from structrank.io.regular import numbers
    >>> numbers(["0.5", "1"])
    array([0.5, 1. ])
    >>> numbers(["0.5", "one"])
    """
    if any("_" in cell for cell in cells):  # Python would read 2024_01
        return None
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return None


def clock_places(cells: Sequence[str]) -> np.ndarray | None:
    """Return times of day as seconds, after midnight with another day; None for other cells.

    Parameters
    ----------
    cells : sequence of str

    Examples
    --------
    >>> from structrank.io.regular import clock_places
    >>> clock_places(["23:30", "23:59:30", "0:01"])
    array([84600., 86370., 86460.])
    """
    found = [CLOCK_PARTS.fullmatch(cell) for cell in cells]
    if not all(found):
        return None
    parts = np.array([[float(part or 0) for part in f.groups()] for f in found if f])
    seconds = parts @ [3600.0, 60.0, 1.0]
    days = np.concatenate([[0], np.cumsum(np.diff(seconds) < 0)])
    return np.asarray(seconds + days * DAY_SECONDS)


def iso_times(cells: Sequence[str]) -> list[datetime] | None:
    """Return cells as times, or None if one of them is not a time in ISO 8601.

    Parameters
    ----------
    cells : sequence of str

    Examples
    --------
    >>> from structrank.io.regular import iso_times
    >>> iso_times(["2024-05", "2024-05-31T12:00"])
    [datetime.datetime(2024, 5, 1, 0, 0), datetime.datetime(2024, 5, 31, 12, 0)]
    >>> iso_times(["31.05.2024"])
    """
    month = len("2024-05")
    try:
        times = [datetime.fromisoformat(c + "-01" if len(c) == month else c) for c in cells]
        _in_utc(times)
    except (ValueError, OverflowError):
        return None
    return times


def _in_utc(times: Sequence[datetime]) -> list[datetime]:
    """Times without their offsets; an OverflowError if one leaves the calendar."""
    return [time.replace(tzinfo=None) - (time.utcoffset() or timedelta()) for time in times]


def follows_calendar(times: Sequence[datetime]) -> bool:
    """Whether local times follow a calendar.

    That is: the same time of day in equal steps of days, though an hour is missing in spring;
    business days, and their hours from 9 to 17; months by a day of all of them, by their last day,
    by their first or last business day, or by a day such as the third Friday; or days or months of
    a season, the same in each year.

    Parameters
    ----------
    times : sequence of datetime
        At least three.

    Examples
    --------
    >>> from datetime import datetime
    >>> from structrank.io.regular import follows_calendar
    >>> months = [datetime(year, month, 1) for year in (2022, 2023) for month in range(5, 12)]
    >>> follows_calendar(months), follows_calendar(months[3:])
    (True, False)
    """
    days = np.array([time.date() for time in times], dtype="datetime64[D]")
    if len({time.time() for time in times}) > 1:
        return _is_business_hours(times, days)
    if np.all(np.is_busday(days)) and np.all(np.busday_count(days[:-1], days[1:]) == 1):
        return True
    several_offsets = len({time.utcoffset() for time in times}) > 1
    if several_offsets and not np.ptp(np.diff(days).astype(int)) and days[0] != days[1]:
        return True
    return is_monthly(days) or season(days) is not None


def keeps_pace(times: Sequence[datetime]) -> bool:
    """Whether times are equally spaced, or are the first days of equally spaced months.

    Parameters
    ----------
    times : sequence of datetime
    """
    if len(times) < 3:
        return True
    seconds = np.array([(time - times[0]).total_seconds() for time in times])
    months = all(time.day == 1 for time in times)
    return uneven_place(seconds) is None or (months and follows_calendar(times))


def _is_business_hours(times: Sequence[datetime], days: np.ndarray) -> bool:
    """Whether times are consecutive hours from 9 to 17 on business days."""
    opened, closed = 9, 17
    hours = np.array([time.hour for time in times])
    if len({time.time().replace(hour=0) for time in times}) > 1 or not np.all(np.is_busday(days)):
        return False
    if np.any(hours < opened) or np.any(hours[1:] >= closed) or hours[0] > closed:
        return False
    places = (closed - opened) * np.busday_count(days[0], days) + hours
    return bool(np.all(np.diff(places) == 1))


def is_monthly(days: np.ndarray) -> bool:
    """Whether days are the same kind of day in equally spaced months.

    Parameters
    ----------
    days : ndarray of datetime64[D]

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.regular import is_monthly
    >>> is_monthly(np.array(["2024-01-31", "2024-02-29", "2024-03-31"], dtype="datetime64[D]"))
    True
    """
    months = days.astype("datetime64[M]")
    steps = np.diff(months).astype(int)
    if np.ptp(steps):
        return False
    first = months.astype("datetime64[D]")
    month, day = np.timedelta64(1, "M"), np.timedelta64(1, "D")
    last = (months + month).astype("datetime64[D]") - day
    business = (np.busday_offset(first, 0, "forward"), np.busday_offset(last, 0, "backward"))
    if any(np.array_equal(days, expected) for expected in (last, *business)):
        return True
    if steps[0] and not np.ptp((days - first).astype(int)):
        return True
    weekdays, weeks = days.astype(int) % 7, (days - first).astype(int) // 7
    return not np.ptp(weekdays) and not np.ptp(weeks) and abs(steps[0]) == 1


def season(days: np.ndarray) -> np.ndarray | None:
    """Find the season that days or months follow in each year, such as May to November.

    The first season may start late and the last one may end early, if there are three or more.

    Parameters
    ----------
    days : ndarray of datetime64[D]
        Consecutive days, or first days of consecutive months, in each season.

    Returns
    -------
    ndarray of datetime64[D] or None
        The days of the last season, from its start to its usual end; None if there is no season.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.regular import season
    >>> one = np.arange("2021-05-01", "2021-12-01", dtype="datetime64[D]")
    >>> two = np.arange("2022-05-01", "2022-12-01", dtype="datetime64[D]")
    >>> last = season(np.concatenate([one, two]))
    >>> last[0], last[-1]
    (np.datetime64('2022-05-01'), np.datetime64('2022-11-30'))
    """
    months = days.astype("datetime64[M]")
    in_months = bool(np.all(days == months.astype("datetime64[D]")))
    places = (months if in_months else days).astype(int)
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    seasons = np.split(days, cuts)
    starts, ends = [s[0] for s in seasons], [s[-1] for s in seasons]
    if len(seasons) > 2:  # whole ones are between
        starts, ends = starts[1:], ends[:-1]
    years = np.array([s[0] for s in seasons]).astype("datetime64[Y]").astype(int)
    if (
        len(seasons) < 2
        or np.any(np.diff(years) != 1)
        or min(map(len, seasons[1:-1] or seasons)) < 2
    ):
        return None
    if len({str(d)[4:] for d in starts}) > 1 or len({str(d)[4:] for d in ends}) > 1:
        return None
    usual = np.datetime64(str(years[-1] + 1970) + str(ends[0])[4:])
    if str(ends[0])[4:] < str(starts[0])[4:]:  # over the end of the year
        return None
    kind = "datetime64[M]" if in_months else "datetime64[D]"
    first, last = (x.astype(kind) for x in (seasons[-1][0], usual))
    after = last + (np.timedelta64(1, "M") if in_months else np.timedelta64(1, "D"))
    every = np.arange(first, after)
    return np.asarray(every.astype("datetime64[D]"))

"""Put rows on regular times: empty rows where times are left out, small moves where they jitter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np

from .equal_steps import Grid, Gridding, check_growth, equal_steps, rounding
from .regular import iso_times, numbers
from .steps import UNITS, number_step, time_step
from .table import FileError, Table

DAY, MONTH = np.timedelta64(1, "D"), np.timedelta64(1, "M")


def regularized(
    table: Table, step: str | float | None = None, gridding: Gridding = Gridding()
) -> Table:
    """Return a table with a regular index.

    Times that are left out become rows of NaN, and times that jitter move to the nearest regular
    place. Days of months and business days are put on their calendar.

    Parameters
    ----------
    table : Table
        Its index holds numbers, or times in ISO 8601.
    step : str or float, optional
        A number, or a time such as "10min", "1h", "1d", "1month", "1b" (business day). Default:
        found from the index.
    gridding : Gridding, optional

    Returns
    -------
    Table
        Its last note says what was done.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io import Table
    >>> from structrank.io.grid import regularized
    >>> table = regularized(Table(np.array([1.0, 2.0, 4.0, 5.0]), index=["0", "1", "3", "4"]))
    >>> table.values
    array([ 1.,  2., nan,  4.,  5.])
    >>> table.notes
    ('the index was made regular with step 1: 1 row without values was added',)
    """
    if table.index is None:
        raise FileError("there is no index to make regular: choose its column (--index, index=...)")
    cells = table.index.tolist()
    places, times = numbers(cells), None
    if places is None and (times := iso_times(cells)) is None:
        raise FileError(
            f"the index ({cells[0]} ...) cannot be made regular: numbers or dates are expected"
        )
    if places is not None and not np.all(np.isfinite(places)):
        odd = cells[int(np.argmin(np.isfinite(places)))]
        raise FileError(f"the index contains {odd}, but finite numbers are expected")
    if len(cells) < 3:
        raise FileError(f"the index has {len(cells)} entries, but 3 or more tell a step")
    if times is None:
        assert places is not None
        order = np.argsort(places, kind="stable")
        grid = equal_steps(places[order], number_step(step), gridding)
        _check_slots(grid, [cells[k] for k in order], gridding)
        labels = _number_labels(grid.places, cells)
        moved = np.abs(grid.places[grid.slots] - places[order])
    else:
        zones, times = [time.tzinfo for time in times], _one_clock(times)
        order = np.argsort(np.array([t.replace(tzinfo=None) for t in times], "datetime64[us]"))
        sorted_times = [times[k] for k in order]
        grid, new = _time_grid(sorted_times, step, gridding)
        _check_slots(grid, [cells[k] for k in order], gridding)
        moves = [abs(new[slot] - t) for slot, t in zip(grid.slots, sorted_times, strict=True)]
        if times[0].tzinfo is None:
            new = _in_zones(new, grid.slots, [zones[k] for k in order])
        labels = [_time_label(time, cells[0]) for time in new]
        moved = np.array([move.total_seconds() for move in moves])
    return _placed(table, grid, order, labels, moved, in_seconds=times is not None)


def _placed(
    table: Table,
    grid: Grid,
    order: np.ndarray,
    labels: list[str],
    moved: np.ndarray,
    *,
    in_seconds: bool,
) -> Table:
    """The rows of a table in their slots, with a note on what was done."""
    assert table.index is not None
    values = np.full((len(labels), *table.values.shape[1:]), np.nan, dtype=table.values.dtype)
    values[grid.slots] = table.values[order]
    exact = moved <= rounding(grid.places, grid.places[1] - grid.places[0])
    for row, slot in zip(order[exact], grid.slots[exact], strict=True):
        labels[slot] = str(table.index[row])  # as it was written
    done = []
    if np.any(np.diff(order) < 0):
        done.append("rows were sorted by time")
    if added := len(labels) - len(order):
        done.append(f"{added} row{'s' * (added > 1)} without values {_was(added)} added")
    if count := int(np.count_nonzero(~exact)):
        unit = " s" if in_seconds else ""
        most = f"{np.max(moved):.3g}{unit}"
        done.append(f"{count} time{'s' * (count > 1)} {_was(count)} moved by up to {most}")
    note = f"the index was made regular with step {grid.step}: {', '.join(done) or 'no change'}"
    return replace(table, values=values, index=np.array(labels), notes=(*table.notes, note))


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _check_slots(grid: Grid, cells: Sequence[str], gridding: Gridding) -> None:
    """Raise an error if two rows share a slot, or if most slots would be empty."""
    twice = np.flatnonzero(np.diff(grid.slots) == 0)
    if len(twice):
        first, second = cells[twice[0]], cells[twice[0] + 1]
        raise FileError(
            f"{first} and {second} are less than a step of {grid.step} apart: remove one of them, "
            "or pass a smaller step (--step, step=...)"
        )
    check_growth(len(grid.places) - 1, len(cells), grid.step, gridding)


def _time_grid(
    times: Sequence[datetime], step: str | float | None, gridding: Gridding
) -> tuple[Grid, list[datetime]]:
    """Regular times: months or business days where the times follow them, else equal steps."""
    given = time_step(step)
    clock = times[0].timetz()
    days = np.array([time.date() for time in times], dtype="datetime64[D]")
    if len({time.timetz() for time in times}) == 1 and len(set(days.tolist())) == len(days):
        found = _months(days, given) or _business_days(days, given)
        if found is not None:
            new = [datetime.combine(day, clock) for day in found.places.tolist()]
            steps = np.arange(len(new), dtype=float)
            return found._replace(places=steps), new
    if given is not None and given[1] not in UNITS:
        raise FileError(f"the times do not follow steps of {step}: pass another step")
    start = times[0].replace(hour=0, minute=0, second=0, microsecond=0)
    seconds = np.array([(time - start).total_seconds() for time in times])
    size = None if given is None else given[0] * UNITS[given[1]]
    grid = equal_steps(seconds, size, gridding, clock=True)
    return grid, [start + timedelta(seconds=round(float(s), 6)) for s in grid.places]


def _months(days: np.ndarray, given: tuple[float, str] | None) -> Grid | None:
    """The same days of months, or their last days."""
    months = days.astype("datetime64[M]")
    ends = (months + MONTH).astype("datetime64[D]") - DAY
    at_end = bool(np.array_equal(days, ends))
    after = days - months.astype("datetime64[D]")
    if not at_end and np.ptp(after.astype(int)):
        return None
    if given is not None and given[1] != "month":
        return None
    away = (months - months[0]).astype(int)
    size = int(given[0]) if given else int(np.gcd.reduce(away))
    if size < 1 or (given is not None and given[0] != size) or np.any(away % size):
        return None
    every = months[0] + size * MONTH * np.arange(away[-1] // size + 1)
    if at_end:
        places = (every + MONTH).astype("datetime64[D]") - DAY
    else:
        places = every.astype("datetime64[D]") + after[0]
    return Grid(away // size, places, "1 month" if size == 1 else f"{size} months")


def _business_days(days: np.ndarray, given: tuple[float, str] | None) -> Grid | None:
    """Days from Monday to Friday, over some weekends."""
    if given is not None and given != (1, "business day"):
        return None
    if not np.all(np.is_busday(days)):
        return None
    usual, span = float(np.median(np.diff(days).astype(int))), (days[-1] - days[0]).astype(int)
    if (usual != 1 or span < 14) and given is None:
        return None
    slots = np.busday_count(days[0], days)
    return Grid(slots, np.busday_offset(days[0], np.arange(slots[-1] + 1)), "1 business day")


def _one_clock(times: Sequence[datetime]) -> list[datetime]:
    """Times with the same offset; local times where only offsets change from day to day; or UTC."""
    if len({time.utcoffset() for time in times}) == 1:
        return list(times)
    if len({time.time() for time in times}) == 1:
        return [time.replace(tzinfo=None) for time in times]
    return [time.astimezone(UTC) for time in times]


def _in_zones(
    times: Sequence[datetime], slots: np.ndarray, zones: Sequence[tzinfo | None]
) -> list[datetime]:
    """Local times with their offsets; rows that were left out have that of the row before."""
    rows = np.searchsorted(slots, np.arange(len(times)), side="right") - 1
    return [time.replace(tzinfo=zones[row]) for time, row in zip(times, rows, strict=True)]


def _time_label(time: datetime, like: str) -> str:
    """A time in ISO 8601, with as many parts as another one."""
    at_midnight = (time.hour, time.minute, time.second, time.microsecond) == (0, 0, 0, 0)
    if len(like) == len("2024-05") and at_midnight and time.day == 1:
        return time.strftime("%Y-%m")
    if len(like) == len("2024-05-31") and at_midnight:
        return time.strftime("%Y-%m-%d")
    clock = re.split(r"[+Z-]", like[11:])[0]
    parts = "minutes" if clock.count(":") < 2 and not (time.second or time.microsecond) else "auto"
    return time.isoformat(sep=like[10] if len(like) > 10 else " ", timespec=parts)


def _number_labels(places: np.ndarray, cells: Sequence[str]) -> list[str]:
    """Places as text: whole numbers where all are, else with the digits that steps need.

    Digits that are rounding are left out.
    """
    if all(re.fullmatch(r"[+-]?\d+", cell) for cell in cells) and np.all(places == np.rint(places)):
        return [str(int(place)) for place in places]
    step = abs(places[1] - places[0])
    needed, known = np.ceil(-np.log10(step)) + 6, -np.log10(rounding(places, step))
    digits = max(0, int(min(needed, known)))
    return [repr(round(float(place), digits)) for place in places]

"""Put rows on regular times: empty rows where times are left out, small moves where they jitter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from .regular import iso_times, numbers
from .steps import UNITS, number_step, step_in_words, time_step, unit_of
from .table import FileError, Table

DAY, MONTH = np.timedelta64(1, "D"), np.timedelta64(1, "M")


@dataclass(frozen=True)
class Gridding:
    """How regular times are found.

    Parameters
    ----------
    jitter : float
        Largest distance of a time from its regular place, as a fraction of a step. Chosen: below
        one half, at which the place is undecided, with a margin for the step found.
    plain : float
        Largest relative difference between the step found and a usual one (10 min, 1 h, ...) that
        is taken instead. Chosen: above the error of the median of jittered steps.
    doubt : float
        Probability that jitter alone brings the step found farther from the true one, on one side,
        than the largest difference to a step with one or two digits that is taken instead. Usual:
        three standard errors of a normal distribution.
    growth : int
        Most rows after, per row before. Chosen: more would be mostly gaps.
    """

    jitter: float = 0.3
    plain: float = 0.02
    doubt: float = 0.00135
    growth: int = 20


class Grid(NamedTuple):
    """Regular places: the slot of each row, the place of each slot, and the step in words."""

    slots: np.ndarray
    places: np.ndarray
    step: str


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
        grid = _even(places[order], number_step(step), gridding)
        _check_slots(grid, [cells[k] for k in order], gridding)
        labels = _number_labels(grid.places, cells)
        moved = np.abs(grid.places[grid.slots] - places[order])
    else:
        times = _one_offset(times)
        order = np.argsort(np.array([t.replace(tzinfo=None) for t in times], "datetime64[us]"))
        sorted_times = [times[k] for k in order]
        grid, new = _time_grid(sorted_times, step, gridding)
        _check_slots(grid, [cells[k] for k in order], gridding)
        labels = [_time_label(time, cells[0]) for time in new]
        moves = [abs(new[slot] - t) for slot, t in zip(grid.slots, sorted_times, strict=True)]
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
    exact = moved <= 1e-9 * np.max(np.abs(np.diff(grid.places)))
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
    _check_growth(len(grid.places), len(cells), grid.step, gridding)


def _check_growth(after: int, before: int, step: str, gridding: Gridding) -> None:
    """Raise an error if most rows would be empty."""
    if after > gridding.growth * before:
        raise FileError(
            f"with step {step} the index would have {after} rows instead of {before}: pass a "
            "larger step (--step, step=...)"
        )


def _even(
    places: np.ndarray, step: float | None, gridding: Gridding, *, clock: bool = False
) -> Grid:
    """Equal steps, given or the usual one between neighbours; an error if places are far off."""
    found = _usual_step(np.diff(places)) if step is None else step
    if not 0 < found < np.inf:
        raise FileError(
            "the index has no step that many rows share, or one below zero: pass the step (--step, "
            "step=...)"
        )
    if step is None:
        usual = _plain_step(found, gridding) if clock else None
        found = _fitted_step(places, found, gridding, clock) if usual is None else usual
    slots = np.rint((places - places[0]) / found)
    first = places[0] + np.median(places - places[0] - found * slots)
    if abs(first - found * np.rint(first / found)) <= gridding.plain * found:
        first = found * np.rint(first / found)  # a whole number of steps
    slots = np.rint((places - first) / found).astype(int)
    off = np.abs(places - first - found * slots)
    if np.max(off) > gridding.jitter * found:
        raise FileError(
            f"the times are not near equal steps of {step_in_words(found, clock)} (row "
            f"{int(np.argmax(off)) + 1}): pass another step (--step, step=...)"
        )
    first, slots = first + found * slots[0], slots - slots[0]
    _check_growth(int(slots[-1]) + 1, len(places), step_in_words(found, clock), gridding)
    return Grid(slots, first + found * np.arange(slots[-1] + 1), step_in_words(found, clock))


def _usual_step(steps: np.ndarray) -> float:
    """The median of those steps that are near the shorter ones."""
    short = np.quantile(steps, 0.25)
    near = steps[np.abs(steps - short) <= 0.5 * short]
    return float(np.median(near)) if len(near) else 0.0


def _fitted_step(places: np.ndarray, step: float, gridding: Gridding, clock: bool) -> float:
    """The step of a line through the places, rounded if the places do not tell it from that.

    Steps are counted from place to place: over many, a small error of the first step adds up.
    """
    from scipy.special import stdtrit

    slots = np.cumsum(np.rint(np.diff(places, prepend=places[0]) / step))
    if np.all(slots * step == places - places[0]):
        return step
    line = float(np.polyfit(slots, places, 1)[0])
    error = np.std(places - line * slots, ddof=2) / (np.std(slots) * np.sqrt(len(slots)))
    near = max(-stdtrit(len(slots) - 2, gridding.doubt) * error, 1e-6 * line / slots[-1])
    scale = UNITS[unit_of(line)] if clock else 1.0
    for digits in (1, 2):
        plain = float(f"{line / scale:.{digits}g}") * scale
        left = places - plain * slots
        most = (gridding.jitter - gridding.plain) * plain
        if abs(plain - line) <= near and np.max(np.abs(left - np.median(left))) <= most:
            return plain
    return line


def _plain_step(step: float, gridding: Gridding) -> float | None:
    """A usual step of clocks, in seconds, if one is near."""
    parts_of_minutes, parts_of_days = (1, 2, 5, 10, 15, 20, 30), (1, 2, 3, 4, 6, 8, 12)
    usual = np.concatenate(
        [
            UNITS["s"] * np.array(parts_of_minutes),
            UNITS["min"] * np.array(parts_of_minutes),
            UNITS["h"] * np.array(parts_of_days),
            [UNITS["d"], UNITS["w"]],
        ]
    )
    near = float(usual[np.argmin(np.abs(usual - step))])
    return near if abs(near - step) <= gridding.plain * near else None


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
    grid = _even(seconds, size, gridding, clock=True)
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


def _one_offset(times: Sequence[datetime]) -> list[datetime]:
    """Times with the same offset, that of UTC if they have several."""
    if len({time.utcoffset() for time in times}) == 1:
        return list(times)
    return [time.astimezone(UTC) for time in times]


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
    """Places as text: whole numbers where all are, else with as many digits as steps need."""
    if all(re.fullmatch(r"[+-]?\d+", cell) for cell in cells) and np.all(places == np.rint(places)):
        return [str(int(place)) for place in places]
    step = abs(places[1] - places[0])
    digits = max(0, int(np.ceil(-np.log10(step))) + 6)
    return [repr(round(float(place), digits)) for place in places]

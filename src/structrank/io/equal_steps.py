"""Equal steps near places that jitter: places are numbers, or times in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .steps import UNITS, step_in_words, unit_of
from .table import FileError

PARTS_OF_MINUTES, PARTS_OF_DAYS = (1, 2, 5, 10, 15, 20, 30), (1, 2, 3, 4, 6, 8, 12)
USUAL_STEPS = np.array(
    [
        *(UNITS["s"] * k for k in PARTS_OF_MINUTES),
        *(UNITS["min"] * k for k in PARTS_OF_MINUTES),
        *(UNITS["h"] * k for k in PARTS_OF_DAYS),
        *(UNITS["d"], UNITS["w"]),
    ]
)


@dataclass(frozen=True)
class Gridding:
    """How regular places are found.

    Parameters
    ----------
    jitter : float
        Largest distance of a place from its regular one, as a fraction of a step. Chosen: below
        one half, at which the place is undecided, with a margin for the step found.
    plain : float
        Largest relative difference between the step found and a usual one (10 min, 1 h, ...), or
        one with one or two digits, that is taken instead. Chosen: above the error of the median of
        jittered steps.
    doubt : float
        Probability that jitter alone brings the step found farther from the true one, on one side,
        than the largest difference to a plain step. Usual: three standard errors of a normal
        distribution.
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


class Step(NamedTuple):
    """A step, and how far from the true one it may be; zero for a usual step of clocks."""

    size: float
    error: float


def equal_steps(
    places: np.ndarray, step: float | None, gridding: Gridding, *, clock: bool = False
) -> Grid:
    """Equal steps near sorted places.

    Parameters
    ----------
    places : ndarray
        At least three.
    step : float, optional
        Default: found from the places.
    gridding : Gridding
    clock : bool
        Whether places are seconds, which have usual steps and starts.

    Raises
    ------
    FileError
        There is no step, or a place is far from every regular one.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.equal_steps import Gridding, equal_steps
    >>> equal_steps(np.array([0.0, 1.01, 2.0, 5.0]), None, Gridding())
    Grid(slots=array([0, 1, 2, 5]), places=array([0., 1., 2., 3., 4., 5.]), step='1')
    """
    found = _usual_step(np.diff(places)) if step is None else step
    if not 0 < found < np.inf:
        raise FileError(
            "the index has no step that many rows share, or one below zero: pass the step (--step, "
            "step=...)"
        )
    check_growth(np.ptp(places) / found, len(places), step_in_words(found, clock), gridding)
    if step is None:
        found = _counted_step(places, found, gridding, clock)
    slots = np.rint((places - places[0]) / found)
    first = _start(places, slots, found, gridding, clock)
    slots = np.rint((places - first) / found).astype(int)
    words, off = step_in_words(found, clock), np.abs(places - first - found * slots)
    if np.max(off) > gridding.jitter * found:
        raise FileError(
            f"the times are not near equal steps of {words} (row {int(np.argmax(off)) + 1}): pass "
            "another step (--step, step=...)"
        )
    first, slots = first + found * slots[0], slots - slots[0]
    check_growth(slots[-1], len(places), words, gridding)
    return Grid(slots, first + found * np.arange(slots[-1] + 1), words)


def check_growth(steps: float, before: int, step: str, gridding: Gridding) -> None:
    """Raise an error if most rows would be empty.

    Parameters
    ----------
    steps : float
        From the first row to the last.
    before : int
        Number of rows.
    step : str
        The step in words.
    gridding : Gridding
    """
    if steps >= gridding.growth * before:
        after = f"{steps + 1:.0f}" if steps < 1e15 else f"{steps:.1e}"
        raise FileError(
            f"with step {step} the index would have {after} rows instead of {before}: pass a "
            "larger step (--step, step=...)"
        )


def _usual_step(steps: np.ndarray) -> float:
    """The median of those steps that are near the shorter ones."""
    short = np.quantile(steps, 0.25)
    near = steps[np.abs(steps - short) <= 0.5 * short]
    return float(np.median(near)) if len(near) else 0.0


def _counted_step(places: np.ndarray, step: float, gridding: Gridding, clock: bool) -> float:
    """The step that fits all places.

    Over a long gap, a small error of the step adds up to a wrong count. So the first fit is to the
    rows between gaps, the next ones to those between longer and longer gaps, until there are none.
    """
    longest, found = 2, Step(step, 0.0)
    while True:
        counts = np.rint(np.diff(places) / found.size)
        longer = counts > longest
        unsure = ~longer & (counts * found.error > (0.5 - gridding.jitter) * found.size)
        if np.any(unsure):
            row = int(np.argmax(unsure)) + 1
            raise FileError(
                f"the rows tell a step of about {step_in_words(found.size, clock)}, but not how "
                f"many of them are between rows {row} and {row + 1}: pass the step (--step, "
                "step=...)"
            )
        slots, runs = (np.cumsum(np.append(0, x)) for x in (counts, longer))
        found = _fitted_step(places, slots, runs, gridding, clock)
        if not np.any(longer):
            return found.size
        longest *= 2


def _fitted_step(
    places: np.ndarray, slots: np.ndarray, runs: np.ndarray, gridding: Gridding, clock: bool
) -> Step:
    """The slope of the lines through the places of each run, or a plain step near it.

    A plain step is taken if the places do not tell it from the slope.
    """
    sizes = np.bincount(runs)
    x, y = (z - (np.bincount(runs, z) / sizes)[runs] for z in (slots, places - places[0]))
    slope = float(x @ y / (x @ x))
    error = max(1e-6 * slope, rounding(places, slope)) / np.ptp(slots)
    if (free := len(x) - len(sizes) - 1) > 0:
        from scipy.special import stdtrit

        left = y - slope * x
        chance = -stdtrit(free, gridding.doubt) * np.sqrt(left @ left / free / (x @ x))
        error = max(error, min(float(chance), gridding.plain * slope))
    for plain in _plain_steps(Step(slope, error), clock):
        most = (gridding.jitter - gridding.plain) * plain.size
        if abs(plain.size - slope) <= error and np.max(np.abs(y - plain.size * x)) <= most:
            return plain
    return Step(slope, error)


def _plain_steps(step: Step, clock: bool) -> Iterator[Step]:
    """Steps near another one: the usual one of clocks, then those of one and two digits."""
    if clock:
        yield Step(float(USUAL_STEPS[np.argmin(np.abs(USUAL_STEPS - step.size))]), 0.0)
    scale = UNITS[unit_of(step.size)] if clock else 1.0
    for digits in (1, 2):
        yield step._replace(size=float(f"{step.size / scale:.{digits}g}") * scale)


def _start(
    places: np.ndarray, slots: np.ndarray, step: float, gridding: Gridding, clock: bool
) -> float:
    """The place of slot zero: a round one, if no row is moved farther than jitter moves some."""
    off = places - places[0] - step * slots
    first = float(places[0] + np.median(off))
    jitter = min(np.max(np.abs(off - np.median(off))), gridding.plain * step)
    if jitter <= rounding(places, step):
        return first
    for unit in (step, *((3600.0, 60.0, 1.0) if clock else (0.1 * step, 0.01 * step))):
        near = unit * np.rint(first / unit)
        if unit <= step and abs(near - first) <= jitter:
            return float(near)
    return first


def rounding(places: np.ndarray, step: float) -> float:
    """Differences between places that are due to rounding.

    Parameters
    ----------
    places : ndarray
    step : float
    """
    return float(1e-9 * abs(step) + 4 * np.finfo(float).eps * np.max(np.abs(places)))

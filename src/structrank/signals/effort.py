"""How much is tried before an answer is returned: fast, normal or thorough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .._checks import one_of, positive
from ..modal.greedy import GreedySearch
from .backtesting import ForecastSearch
from .candidates import (
    CANDIDATES,
    Candidate,
    ComponentModel,
    ConvexSolution,
    FitOfModes,
    LocalWindows,
)
from .direct_modes import DirectSearch
from .outlier_levels import OutlierSearch
from .trial import HeldOutParts
from .window_sizes import WindowSearch


@dataclass(frozen=True)
class Effort:
    """What is tried for signals that are no sums of a few modes.

    Attributes
    ----------
    short : int
        Largest number of values of a signal for which the convex solution and the fit of its modes
        compete even so. On longer series they took most of the time and were never chosen
        (23 series, 30% missing at random and in blocks), and sums of modes had the same errors.
    first_share : float
        Share of a time limit after which the search for modes ends, if others compete. Taste.
    parts : HeldOutParts
        How many parts of the samples are held out.
    candidates : sequence of Candidate
        The estimates that compete.
    outliers : OutlierSearch
        How gross errors are searched for.
    forecasts : ForecastSearch
        How the rank of a forecast is chosen.
    """

    short: int = 140
    first_share: float = 0.5
    parts: HeldOutParts = field(default_factory=HeldOutParts)
    candidates: Sequence[Candidate] = CANDIDATES
    outliers: OutlierSearch = field(default_factory=OutlierSearch)
    forecasts: ForecastSearch = field(default_factory=ForecastSearch)


# Of the values that take most of the time, about half and about twice; `benchmarks.cost` has times
# and errors of all three.
EFFORTS = {
    "fast": Effort(
        short=0,
        parts=HeldOutParts(parts=2),
        candidates=(
            FitOfModes(search=DirectSearch(greedy=GreedySearch(most=20))),
            LocalWindows(WindowSearch(along_line=(8, 32), in_space=(8,))),
            ConvexSolution(),
        ),
        outliers=OutlierSearch(passes=1, max_iter=15),
        forecasts=ForecastSearch(origins=1),
    ),
    "normal": Effort(),
    "thorough": Effort(
        short=400,
        parts=HeldOutParts(short=16384),
        candidates=(
            FitOfModes(search=DirectSearch(greedy=GreedySearch(most=80, patience=6))),
            LocalWindows(WindowSearch(along_line=(4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128))),
            ComponentModel(),
            ConvexSolution(),
        ),
        outliers=OutlierSearch(passes=5, max_iter=60),
        forecasts=ForecastSearch(origins=5, more=2),
    ),
}


def checked(effort: str, max_time: float | None) -> tuple[Effort, float | None]:
    """Return the effort of a name and the time limit, or raise an error."""
    one_of(effort, EFFORTS, "effort")
    return EFFORTS[effort], None if max_time is None else positive(max_time, "max_time")

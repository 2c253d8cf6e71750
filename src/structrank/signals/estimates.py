"""What a candidate of `recover` finds: a signal, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .._array import Array, NDArray, is_complex
from ..modal.modes import Modes
from ..model.lowrank import LowRank
from ..solvers.result import Result

PartErrors = Callable[[Modes], NDArray | None]
ErrorDraws = Callable[[int, np.random.Generator], NDArray]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A signal found from all samples.

    Attributes
    ----------
    signal : array
        In the shape of the structure's signals.
    stderr : array or None
        Standard error of every value; None if it follows from the prediction errors.
    rank : int
    modes : Modes or None
        The modes the signal is the sum of, if it is one.
    sigma : float or None
        Standard deviation of the noise, if it was estimated.
    result : Result or None
        The convex solution, if it differs from the one that all candidates were given.
    X : LowRank or None
        Factors of the Hankel matrix of the signal, if they are known.
    deviation : array or None
        Standard deviation of a new sample from every value; None if it follows from `stderr` and
        `sigma`.
    expected : array or None
        Noise of a new sample that is expected from its neighbours; None if it is white.
    errors : callable or None
        Returns joint draws of the errors of the signal over `stderr`, of shape (n, ...), for n and
        a generator; None if they are not known.
    part_errors : callable or None
        Returns the standard errors of the sum of some of the modes, or None if they are not known.
    """

    signal: Array
    stderr: Array | None
    rank: int
    modes: Modes | None = None
    sigma: float | None = None
    result: Result | None = None
    X: LowRank | None = None
    deviation: Array | None = None
    errors: ErrorDraws | None = None
    expected: Array | None = None
    part_errors: PartErrors | None = None

    @property
    def new_sample(self) -> Array:
        """Expected value of a new sample."""
        return self.signal if self.expected is None else self.signal + self.expected

    @property
    def new_deviation(self) -> Array:
        """Standard deviation of a new sample from every value of the signal."""
        if self.deviation is not None:
            return self.deviation
        assert self.stderr is not None  # known once an estimate was chosen
        return (self.stderr**2 + (self.sigma or 0.0) ** 2) ** 0.5

    def interval(self, reach: float) -> tuple[Array, Array]:
        """Ends of the intervals of new samples, so many standard deviations to each side.

        Of a complex signal, both parts have an interval by themselves.
        """
        width = reach * self.new_deviation
        width = width * ((1 + 1j) / 2**0.5) if is_complex(self.signal) else width
        return self.new_sample - width, self.new_sample + width


def _nothing() -> None:
    """Nothing is clear."""


@dataclass(frozen=True, eq=False)
class FirstEstimate:
    """An estimate that needs no convex solution.

    Attributes
    ----------
    estimate : Estimate
    trusted : bool
        No other estimate could be better, so none is tried.
    alone : callable
        Returns what to return at once if no estimate of another kind competes; None if nothing is
        clear.
    finished : callable or None
        Returns the estimate with the work that is only done if it is chosen; None if it has none.
    """

    estimate: Estimate
    trusted: bool
    alone: Callable[[], Estimate | None] = _nothing
    finished: Callable[[], Estimate] | None = None

    def chosen(self) -> Estimate:
        """Return the estimate after it was chosen among others."""
        return self.estimate if self.finished is None else self.finished()


def interval_reach(level: float) -> float:
    """Return how many standard deviations an interval reaches to each side, or raise an error.

    Parameters
    ----------
    level : float
        Probability of the interval, for Gaussian errors.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}, but a probability between 0 and 1 is expected")
    return float(ndtri((1 + level) / 2))

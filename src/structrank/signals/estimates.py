"""What a candidate of `recover` finds: a signal, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

from .._array import Array
from ..modal.modes import Modes
from ..model.lowrank import LowRank
from ..solvers.result import Result


@dataclass(frozen=True, eq=False)
class Estimate:
    """A signal found from all samples.

    Attributes
    ----------
    signal : array
        In the shape of the structure's signals.
    stderr : array or None
        Standard error of every value; None if it is the size of the prediction errors.
    rank : int
    modes : Modes or None
        The modes the signal is the sum of, if it is one.
    sigma : float or None
        Standard deviation of the noise, if it was estimated.
    result : Result or None
        The convex solution, if it differs from the one that all candidates were given.
    X : LowRank or None
        Factors of the Hankel matrix of the signal, if they are known.
    """

    signal: Array
    stderr: Array | None
    rank: int
    modes: Modes | None = None
    sigma: float | None = None
    result: Result | None = None
    X: LowRank | None = None


@dataclass(frozen=True, eq=False)
class FirstEstimate:
    """An estimate that needs no convex solution.

    Attributes
    ----------
    estimate : Estimate
    trusted : bool
        No other estimate could be better, so none is tried.
    """

    estimate: Estimate
    trusted: bool

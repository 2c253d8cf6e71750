"""Records of a solver's iterates: one iterate, and the history of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._array import Array
from ..model.lowrank import LowRank


@dataclass(frozen=True, eq=False)
class State:
    """One iterate of a solver, with its objective and bounds. Callbacks receive it.

    Attributes
    ----------
    X : LowRank
    y : array
        The signal of X.
    objective : float
    loss : float
        `1/2 ||A(y) - b||^2`, or the loss of the method.
    violation : float
        Structure violation `||B X||_F`; for methods on (relax) it is `||X - Q(y)||_F`.
    gap : float
        Certified gap, relative to the objective.
    top_value : float
        Top singular value of the gradient; for methods on (relax), of the multiplier.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> solve(problem, 1e-9, callback=lambda state: state.gap < 1e-4).status.name
    'CALLBACK'
    """

    X: LowRank
    y: Array
    objective: float
    loss: float
    violation: float
    gap: float
    top_value: float

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return self.X.rank

    def distance(self, other: State) -> float:
        """Compute the distance to another iterate, `||X - X'||_F`."""
        return self.X.distance(other.X)

    def certified(self, wanted: float | None = None) -> State:
        """The same iterate with the best gap that can be proven, where that takes more work.

        If a gap is `wanted`, no work is spent beyond it, or if it cannot be proven.
        """
        return self


class Figures(NamedTuple):
    """The objective, the bounds and other numbers of an iterate."""

    objective: float
    loss: float
    violation: float
    gap: float
    top_value: float


class LazyState(State):
    """A state whose figures are computed on first use, outside the solver's time.

    It is for methods that do not need their objective or a bound to continue.
    """

    def __init__(self, X: LowRank, y: Array, figures: Callable[[], Figures]) -> None:
        self.__dict__.update(X=X, y=y, compute=figures)

    def distance(self, other: State) -> float:
        """Compute the larger of the distances of the matrices and of the signals."""
        return max(self.X.distance(other.X), float(np.linalg.norm(self.y - other.y)))

    def __getattr__(self, name: str) -> float:
        if name not in Figures._fields:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        compute = self.__dict__.pop("compute")  # frees the memory that only the figures need
        self.__dict__.update(compute()._asdict())
        return float(self.__dict__[name])


@dataclass(eq=False)
class History:
    """The record of a run: one entry per iterate, the start first.

    Attributes
    ----------
    time : list of float
        Seconds since the start, without callbacks.
    objective : list of float
    loss : list of float
        `1/2 ||A(y) - b||^2`.
    violation : list of float
        Structure violation `||B X||_F`.
    rank : list of int
    gap : list of float
        Certified gap, relative to the objective.
    top_value : list of float
        Top singular value of the gradient; at the optimum it is mu.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> result = solve(Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01))
    >>> result.history.rank[-1], result.history.gap[-1] <= 1e-4
    (1, True)
    """

    time: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    top_value: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.time)

    def append(self, seconds: float, state: State, gap: float) -> None:
        """Add one iterate, with its gap to the best bound known at that time."""
        self.time.append(seconds)
        self.gap.append(gap)
        for name in ("objective", "loss", "violation", "rank", "top_value"):
            getattr(self, name).append(getattr(state, name))

    def __repr__(self) -> str:
        last = f", last objective {self.objective[-1]:.6g}" if self.time else ""
        return f"History({len(self)} iterates{last})"

"""What is known about the iterates of a solver: one of them, and all that came before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._array import Array
from ..model.lowrank import LowRank


@dataclass(frozen=True, eq=False)
class State:
    """One iterate of a solver, with what is known about it; callbacks see it.

    Attributes
    ----------
    X : LowRank
    y : array
        The signal that belongs to X.
    objective : float
    loss : float
        `1/2 ||A(y) - b||^2`.
    violation : float
        Structure violation `||B X||_F`; `||X - Q(y)||_F` for methods on (relax).
    gap : float
        Certified gap, relative to the objective.
    top_value : float
        Top singular value of the gradient; of the multiplier, for methods on (relax).

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> solve(problem, callback=lambda state: state.gap < 0.1).status.name
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
        """How far the iterate has moved, `||X - X'||_F`."""
        return self.X.distance(other.X)


class Figures(NamedTuple):
    """What is known about an iterate."""

    objective: float
    loss: float
    violation: float
    gap: float
    top_value: float


class LazyState(State):
    """A state whose figures are worked out when first looked at, outside the solver's time.

    For methods that do not need their objective or a bound to go on.
    """

    def __init__(self, X: LowRank, y: Array, figures: Callable[[], Figures]) -> None:
        self.__dict__.update(X=X, y=y, work_out=figures)

    def distance(self, other: State) -> float:
        """How far the iterate has moved, in its matrix or in its signal, which may differ."""
        return max(self.X.distance(other.X), float(np.linalg.norm(self.y - other.y)))

    def __getattr__(self, name: str) -> float:
        if name not in Figures._fields:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        work_out = self.__dict__.pop("work_out")  # and with it what only the figures need
        self.__dict__.update(work_out()._asdict())
        return self.__dict__[name]


@dataclass(eq=False)
class History:
    """What happened, one entry an iterate, the start first.

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
        Top singular value of the gradient (mu at the optimum).

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
        """Add one iterate, with the gap to the best bound known by then."""
        self.time.append(seconds)
        self.gap.append(gap)
        for name in ("objective", "loss", "violation", "rank", "top_value"):
            getattr(self, name).append(getattr(state, name))

    def __repr__(self) -> str:
        last = f", last objective {self.objective[-1]:.6g}" if self.time else ""
        return f"History({len(self)} iterates{last})"

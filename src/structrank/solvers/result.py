"""The result that every solver returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .._array import Array, to_numpy, with_precision
from .._pieces import Packed
from ..io.saved_results import Saved, savable
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..views import Summary, plot_convergence, plot_singular_values
from .state import History
from .stopping import Status

OMITTED = {"problem": "the problem"}
savable()(LowRank)
savable()(History)


@savable(OMITTED)
@dataclass(frozen=True, eq=False, repr=False)
class Result(Summary, Saved):
    """The solution that a solver found, with its certified gap and how the run ended.

    Attributes
    ----------
    y : array
        The recovered signal.
    X : LowRank
        The low-rank matrix, as thin factors.
    rank : int
    objective : float
    gap : float
        Certified gap: the optimum is at least `(1 - gap)` times the objective.
    status : Status
        Why the solver stopped.
    history : History
    problem : Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> result = solve(Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01))
    >>> result.rank, result.status.name, result.y.shape
    (1, 'SOLVED', (9,))
    """

    y: Array
    X: LowRank
    rank: int
    objective: float
    gap: float
    status: Status
    history: History
    problem: Problem

    @property
    def iterations(self) -> int:
        """Number of iterations made."""
        return len(self.history) - 1

    @property
    def outcome(self) -> str:
        """How the run ended and how good the solution is, for example "solved to within 0.1%"."""
        joint = " to" if self.status is Status.SOLVED else ","
        if self.gap < 1:
            return f"{self.status.value}{joint} within {100 * self.gap:.2g}% of the optimum"
        return f"{self.status.value}, without a bound on the optimum"

    @property
    def message(self) -> str:
        """The outcome as a sentence, and what to do next."""
        return f"{self.outcome[0].upper()}{self.outcome[1:]}. {self.status.advice}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective, and the gap to the optimum, of every iteration.

        Parameters
        ----------
        ax : sequence of two Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        list of Axes
        """
        return plot_convergence(self.history.objective, self.history.gap, ax)

    def plot_singular_values(self, ax: Any = None) -> Any:
        """Draw the singular values of the low-rank matrix, on a logarithmic scale.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        above_rounding = self.X.balanced(1e-12)
        return plot_singular_values(above_rounding.singular_values(), ax)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("problem", repr(self.problem)),
            ("outcome", self.message),
            ("rank", str(self.rank)),
            ("objective", f"{self.objective:.6g}"),
            ("iterations", f"{self.iterations} in {self.history.time[-1]:.3g} s"),
        ]


def packed(result: Result) -> Packed:
    """A result as numbers and arrays, without its problem."""
    return {
        "y": to_numpy(result.y),
        "U": to_numpy(result.X.U),
        "V": to_numpy(result.X.V),
        "rank": result.rank,
        "objective": result.objective,
        "gap": result.gap,
        "status": result.status.name,
        "history": asdict(result.history),
    }


def unpacked(content: Packed, problem: Problem) -> Result:
    """The result of a problem that was packed."""
    y, U, V = (with_precision(content[key], problem.backprojection) for key in ("y", "U", "V"))
    status, history = Status[content["status"]], History(**content["history"])
    numbers = {key: content[key] for key in ("rank", "objective", "gap")}
    return Result(y=y, X=LowRank(U, V), status=status, history=history, problem=problem, **numbers)

"""When a solver stops, and how the reason is described."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from .._checks import positive
from ..io.saved_results import savable
from .state import History, State


class ConvergenceWarning(UserWarning):
    """Warning that a solver stopped before it converged.

    Parameters
    ----------
    text : str
        What happened, and what to do next.
    outcome : str, optional
        `Result.outcome` of the convex solution: what happened, without advice. The command line
        shows it, since its users cannot change the limits that the advice is about.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from structrank import ConvergenceWarning, Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ConvergenceWarning)  # a rough solution is enough
    ...     rough = solve(problem, 1e-9, max_iter=1)
    >>> rough.status.converged
    False
    """

    def __init__(self, text: str = "", outcome: str | None = None) -> None:
        super().__init__(text)
        self.outcome = outcome


@savable()
class Status(Enum):
    """Why a solver stopped; `advice` says what to do next.

    Examples
    --------
    >>> from structrank import Status
    >>> Status.SOLVED.converged, Status.MAX_TIME.converged
    (True, False)
    >>> Status.MAX_TIME.value
    'stopped at its time limit'
    """

    SOLVED = "solved"
    SMALL_STEP = "stopped because the iterate hardly moved"
    SMALL_CHANGE = "stopped because the objective hardly changed"
    MAX_ITERATIONS = "stopped at its iteration limit"
    MAX_TIME = "stopped at its time limit"
    FINISHED = "ran to its end"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "was interrupted"

    @property
    def converged(self) -> bool:
        """Whether a convergence criterion held."""
        return self in _CONVERGED

    @property
    def advice(self) -> str:
        """What to do next."""
        return _ADVICE[self]


_CONVERGED = (Status.SOLVED, Status.SMALL_STEP, Status.SMALL_CHANGE, Status.FINISHED)
_CONTINUE = "start from this result (start=result.X, or result.y where start is a signal)"
_ADVICE = {
    Status.SOLVED: "The solution is as good as was asked for.",
    Status.SMALL_STEP: "If result.gap is too large, lower xtol or set gap.",
    Status.SMALL_CHANGE: "If result.gap is too large, lower rtol or set gap.",
    Status.FINISHED: "result.gap says how good the solution is.",
    Status.MAX_ITERATIONS: f"Raise max_iter, {_CONTINUE}, or loosen the tolerances.",
    Status.MAX_TIME: f"Raise max_time, or {_CONTINUE}.",
    Status.CALLBACK: f"To continue, {_CONTINUE}.",
    Status.INTERRUPTED: f"This is the best iterate so far. To continue, {_CONTINUE}.",
}


@dataclass(frozen=True)
class Stop:
    """When to stop: as soon as one criterion holds. None switches a criterion off.

    The defaults are the stopping rule of the paper.

    Parameters
    ----------
    max_iter : int
        Largest number of iterations.
    xtol : float or None
        Smallest step `||X_{k+1} - X_k||_F`, in the units of the signal.
    rtol : float or None
        Smallest change of the objective, relative to the smaller of the two values.
    gap : float or None
        Certified distance from the optimum, relative to the objective.
    max_time : float or None
        Time limit in seconds. The time of callbacks does not count. For methods that do not need
        their objective, the time to evaluate it and its bound does not count either.

    Examples
    --------
    >>> from structrank import Stop
    >>> Stop(xtol=None, rtol=None, gap=1e-4)
    Stop(max_iter=100, xtol=None, rtol=None, gap=0.0001, max_time=None)
    """

    max_iter: int = 100
    xtol: float | None = 1e-3
    rtol: float | None = 1e-3
    gap: float | None = None
    max_time: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, (int, np.integer)):
            raise TypeError(f"max_iter is {self.max_iter!r}, but an integer is expected")
        if self.max_iter < 1:
            raise ValueError(f"max_iter is {self.max_iter}, but at least 1 is expected")
        for name in ("xtol", "rtol", "gap", "max_time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(getattr(self, name), name))

    def status(
        self, history: History, last: State | None, state: State, gap: float
    ) -> Status | None:
        """Return the first criterion that holds, or None.

        Parameters
        ----------
        history : History
            The history, with `state` as its last entry.
        last, state : State
            The previous iterate, if there is one, and the current iterate.
        gap : float
            Certified gap of the best iterate so far.
        """
        if self.gap is not None and gap <= self.gap:
            return Status.SOLVED
        if last is not None:
            if self.xtol is not None and state.distance(last) <= self.xtol:
                return Status.SMALL_STEP
            change = abs(state.objective - last.objective)
            if self.rtol is not None and change <= self.rtol * min(state.objective, last.objective):
                return Status.SMALL_CHANGE
        if self.max_time is not None and history.time[-1] >= self.max_time:
            return Status.MAX_TIME
        if len(history) > self.max_iter:
            return Status.MAX_ITERATIONS
        return None

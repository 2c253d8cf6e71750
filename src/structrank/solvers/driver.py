"""The one loop that drives every solver: stopping, timing, progress, the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array import Array
from .._checks import positive
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..views.summary import Summary
from .state import History, State


class ConvergenceWarning(UserWarning):
    """A solver stopped before any of its convergence criteria held.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from structrank import ConvergenceWarning, Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ConvergenceWarning)  # a first look is enough
    ...     rough = solve(problem, max_iter=1)
    >>> rough.status.converged
    False
    """


class Status(Enum):
    """Why a solver stopped; `advice` says what to do next.

    Examples
    --------
    >>> from structrank import Status
    >>> Status.GAP.converged, Status.MAX_TIME.converged
    (True, False)
    >>> Status.GAP.advice
    'The solution is as good as was asked for.'
    """

    GAP = "the certified gap is below stop.gap"
    SMALL_STEP = "the iterate moved by less than stop.xtol"
    SMALL_CHANGE = "the objective changed by less than stop.rtol, relatively"
    MAX_ITERATIONS = "all stop.max_iter iterations were made"
    MAX_TIME = "the time stop.max_time has passed"
    FINISHED = "the method ran to its own end"
    CALLBACK = "the callback asked to stop"
    INTERRUPTED = "the run was interrupted"

    @property
    def converged(self) -> bool:
        """Whether a convergence criterion held."""
        return self in _CONVERGED

    @property
    def advice(self) -> str:
        """What to do next."""
        return _ADVICE[self]


_CONVERGED = (Status.GAP, Status.SMALL_STEP, Status.SMALL_CHANGE, Status.FINISHED)
_GO_ON = "start from this result (start=result.X, or result.y where start is a signal)"
_ADVICE = {
    Status.GAP: "The solution is as good as was asked for.",
    Status.SMALL_STEP: "Look at result.gap: if it is too large, lower stop.xtol or set stop.gap.",
    Status.SMALL_CHANGE: "Look at result.gap: if it is too large, lower stop.rtol or set stop.gap.",
    Status.FINISHED: "Look at result.gap for how good the solution is.",
    Status.MAX_ITERATIONS: f"Raise stop.max_iter, {_GO_ON}, or loosen the tolerances.",
    Status.MAX_TIME: f"Raise stop.max_time, or {_GO_ON}.",
    Status.CALLBACK: f"To go on, {_GO_ON}.",
    Status.INTERRUPTED: f"This is the best iterate so far; to go on, {_GO_ON}.",
}


@dataclass(frozen=True)
class Stop:
    """When to stop: as soon as any criterion holds. None switches a criterion off.

    The defaults are the paper's rule.

    Parameters
    ----------
    max_iter : int
        Largest number of iterations.
    xtol : float or None
        Smallest step `||X_{k+1} - X_k||_F`, in the units of the signal.
    rtol : float or None
        Smallest change of the objective, relative to the smaller of the two values.
    gap : float or None
        Certified gap, relative to the objective.
    max_time : float or None
        Seconds, without the time spent in callbacks, and without that of evaluating the
        objective and its bound for methods that do not need them.

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


@dataclass(frozen=True, eq=False, repr=False)
class Result(Summary):
    """What a solver found.

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
    message : str
        The same in a sentence, and what to do next.
    history : History
    problem : Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> result = solve(Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01))
    >>> result.rank, result.status.name, result.y.shape
    (1, 'GAP', (9,))
    """

    y: Array
    X: LowRank
    rank: int
    objective: float
    gap: float
    status: Status
    message: str
    history: History
    problem: Problem

    @property
    def iterations(self) -> int:
        """Number of iterations made."""
        return len(self.history) - 1

    def plot(self, ax: Any = None) -> Any:
        """Draw it: see `structrank.views.plot_convergence`."""
        from ..views import plot_convergence

        return plot_convergence(self, ax)

    def _rows(self) -> list[tuple[str, str]]:
        h = self.history
        return [
            ("problem", repr(self.problem)),
            ("status", f"{self.status.name}: {self.message}"),
            ("rank", str(self.rank)),
            ("objective", f"{self.objective:.6g}"),
            ("certified gap", f"{self.gap:.2g} of the objective"),
            ("iterations", f"{self.iterations} in {h.time[-1]:.3g} s"),
        ]


Callback = Callable[[State], Any]


def run(
    states: Iterator[State],
    problem: Problem,
    *,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    label: str = "structrank",
) -> Result:
    """Drive a solver, an iterator of states, until a criterion holds or it ends.

    Parameters
    ----------
    states : iterator of State
        The first state is the start, each further one an iteration later.
    problem : Problem
    stop : Stop, optional
    callback : callable, optional
        Called with every state; a true return value stops the run.
    progress : bool
        Show a progress bar.
    label : str
        Name beside the progress bar.

    Returns
    -------
    Result
        With the best iterate, also after Ctrl-C.
    """
    stop = Stop() if stop is None else stop
    if not isinstance(stop, Stop):
        raise TypeError(f"stop is {type(stop).__name__}, but a Stop is expected")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {type(callback).__name__}, but a function is expected")
    history = History()
    best: State | None = None
    last: State | None = None
    elapsed, bound = 0.0, 0.0  # seconds; the best lower bound on the optimum
    with tqdm(total=stop.max_iter, desc=label, disable=not progress) as bar:
        try:
            while True:
                began = time.perf_counter()
                state = next(states)
                elapsed += time.perf_counter() - began
                _check_finite(state)
                bound = max(bound, state.objective * (1 - state.gap))
                history.append(elapsed, state, _relative(state, bound))
                if best is None or state.objective <= best.objective:
                    best = state
                if last is not None:
                    bar.update()
                bar.set_postfix(objective=f"{state.objective:.4g}", rank=state.rank, refresh=False)
                status = _status(stop, history, last, state, _relative(best, bound))
                if callback is not None and callback(state) and status is None:
                    status = Status.CALLBACK
                if status is not None:
                    break
                last = state
        except StopIteration:
            if best is None:
                raise ValueError(f"{label} made no iterate, but at least one is expected") from None
            status = Status.FINISHED
        except KeyboardInterrupt:
            if best is None:
                raise
            status = Status.INTERRUPTED
    if status in (Status.MAX_ITERATIONS, Status.MAX_TIME):
        warnings.warn(f"{label} did not converge: {_message(status)}", ConvergenceWarning, 3)
    return Result(
        best.y,
        best.X,
        best.rank,
        best.objective,
        _relative(best, bound),
        status,
        _message(status),
        history,
        problem,
    )


def _check_finite(state: State) -> None:
    if not np.isfinite(state.objective):
        raise FloatingPointError(
            f"the objective is {state.objective}: the numbers leave the range of their data type; "
            "scale b, for example to a largest value of 1"
        )


def _relative(state: State, bound: float) -> float:
    """Gap between an objective and a lower bound on the optimum, relative to the former."""
    return max(1 - bound / state.objective, 0.0) if state.objective > 0 else 0.0


def _status(
    stop: Stop, history: History, last: State | None, state: State, gap: float
) -> Status | None:
    """The first criterion that holds, if any does."""
    if stop.gap is not None and gap <= stop.gap:
        return Status.GAP
    if last is not None:
        if stop.xtol is not None and state.distance(last) <= stop.xtol:
            return Status.SMALL_STEP
        change = abs(state.objective - last.objective)
        if stop.rtol is not None and change <= stop.rtol * min(state.objective, last.objective):
            return Status.SMALL_CHANGE
    if stop.max_time is not None and history.time[-1] >= stop.max_time:
        return Status.MAX_TIME
    if len(history) > stop.max_iter:
        return Status.MAX_ITERATIONS
    return None


def _message(status: Status) -> str:
    text = status.value[0].upper() + status.value[1:]
    return f"{text}. {status.advice}"


def uninterrupted(result: Result) -> Result:
    """A result, or the interruption it was cut short by: half a run is nothing to build on."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result

"""The loop that drives every solver: timing, progress, callbacks and the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array import memory_advice
from .._checks import instance_of
from .._pieces import piece
from .._watch import tell, time_is_up
from ..model.problem import Problem
from ..model.sample_range import is_single
from .memory_demand import what_to_change
from .result import Result, packed, unpacked
from .saving import Progress, Saving
from .state import History, State
from .stopping import ConvergenceWarning, Status, Stop

Callback = Callable[[State], Any]


def run(
    states: Iterator[State],
    problem: Problem,
    *,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    label: str = "structrank",
    saving: Saving | None = None,
) -> Result:
    """Run a solver, an iterator of states, for a user. Ctrl-C returns the best iterate so far.

    Parameters
    ----------
    states : iterator of State
        The first state is the start; every other state is one iteration later.
    problem : Problem
    stop : Stop, optional
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run.
    progress : bool
        Show a progress bar.
    label : str
        Name of the solver, for the progress bar and warnings.
    saving : Saving, optional
        Where the run is saved, and what it continues from. The states use its memory.

    Returns
    -------
    Result
        The best iterate. A `ConvergenceWarning` is issued if a limit ended the run.
    """
    loop = _Loop(stop, callback, label, saving)
    try:
        with memory_advice(partial(what_to_change, problem)):
            status = loop.drive(states, progress)
    except KeyboardInterrupt:
        if loop.best is None:
            raise
        status = Status.INTERRUPTED
    if saving is not None:
        saving.finish(status, repr(loop.stop))
    if isinstance(states, Generator):
        states.close()  # frees its memory before the gap is proven
    with memory_advice(partial(what_to_change, problem)):
        result = loop.result(status, problem)
    warn_if_limited(result, label, stacklevel=4)
    return result


def iterate(
    states: Iterator[State],
    problem: Problem,
    *,
    stop: Stop | None = None,
    callback: Callback | None = None,
) -> Result:
    """Run a solver inside another method: no warnings, and Ctrl-C is not caught.

    Parameters
    ----------
    states : iterator of State
    problem : Problem
    stop : Stop, optional
    callback : callable, optional
        Called with every state, outside the measured time; a true return value stops the run.

    Returns
    -------
    Result
        The best iterate; its status says whether the run converged.
    """

    def solved() -> Result:
        loop = _Loop(stop, callback, "convex solution")
        with memory_advice(partial(what_to_change, problem)):
            return loop.result(loop.drive(states, progress=False), problem)

    return piece("convex", solved, packed, lambda content: unpacked(content, problem))


def _next(states: Iterator[State]) -> State | None:
    """The next state; a StopIteration of the user's operator arrives as it is."""
    try:
        return next(states, None)
    except RuntimeError as error:  # what Python makes of it in a generator
        if isinstance(error.__cause__, StopIteration):
            raise error.__cause__ from None
        raise


def warn_if_limited(result: Result, label: str, *, stacklevel: int = 3) -> None:
    """Issue a `ConvergenceWarning` if an iteration or time limit ended a run."""
    if result.status in (Status.MAX_ITERATIONS, Status.MAX_TIME):
        text = f"{label} did not converge: {result.message}"
        warnings.warn(ConvergenceWarning(text, result.outcome), stacklevel=stacklevel)


class _Loop:
    """The state of one run: its iterates so far, and the best of them."""

    def __init__(
        self,
        stop: Stop | None,
        callback: Callback | None,
        label: str,
        saving: Saving | None = None,
    ) -> None:
        self.stop = Stop() if stop is None else stop
        instance_of(self.stop, Stop, "stop")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {type(callback).__name__}, but a function is expected")
        self.callback, self.label, self.saving = callback, label, saving
        self.history = History()
        self.best: State | None = None
        self.bound = 0.0  # the best lower bound on the optimum

    def drive(self, states: Iterator[State], progress: bool) -> Status:
        """Go through the states until a stopping criterion holds or there are no more."""
        last, status = self._resume(states)
        elapsed = self.history.time[-1] if last is not None else 0.0  # seconds
        done = max(len(self.history) - 1, 0)
        bar = tqdm(total=self.stop.max_iter, initial=done, desc=self.label, disable=not progress)
        with bar:
            while status is None:
                began = time.perf_counter()
                state = _next(states)
                elapsed += time.perf_counter() - began
                if state is None:
                    return Status.FINISHED
                self._record(elapsed, state)
                if last is not None:
                    bar.update()
                bar.set_postfix(objective=f"{state.objective:.4g}", rank=state.rank, refresh=False)
                status = self.stop.status(self.history, last, state, self._gap(self.best or state))
                self._note(state)
                tell(f"{self.label}: objective {state.objective:.4g}, rank {state.rank}")
                if status is None and last is not None and time_is_up():
                    status = Status.MAX_TIME
                if self.callback is not None and self.callback(state) and status is None:
                    status = Status.CALLBACK
                last = state
            return status

    def _resume(self, states: Iterator[State]) -> tuple[State | None, Status | None]:
        """Return the last iterate of a checkpoint, if there is one, and why its run has ended."""
        if self.saving is None or self.saving.progress is None:
            return None, None
        saved = self.saving.progress
        last = next(states)  # the last iterate that was saved, once more
        self.history, self.bound = saved.history, saved.bound
        self.best = last if saved.best is None else saved.best
        self._note(last)
        if saved.status is not None and saved.status.converged and saved.stop == repr(self.stop):
            return last, saved.status
        return last, self.stop.status(self.history, None, last, self._gap(self.best))

    def _note(self, state: State) -> None:
        if self.saving is not None:
            best = None if self.best is state else self.best
            self.saving.note(Progress(self.history, len(self.history), self.bound, best))

    def _record(self, elapsed: float, state: State) -> None:
        if not np.isfinite(state.objective):
            raise FloatingPointError(
                f"the objective is {state.objective}, but a finite number is expected: values "
                "exceed the range of their data type; scale b, for example to a largest value of 1"
            )
        self.bound = max(self.bound, state.objective * (1 - state.gap))
        self.history.append(elapsed, state, self._gap(state))
        if self.best is None or state.objective <= self.best.objective or self._exact(state):
            self.best = state

    def _exact(self, state: State) -> bool:
        """Whether this is the only iterate whose objective is known in double precision."""
        return self.stop.gap is not None and is_single(state.y) and state.gap <= self.stop.gap

    def _gap(self, state: State) -> float:
        """Compute the gap between the objective and the lower bound, over the objective."""
        return max(1 - self.bound / state.objective, 0.0) if state.objective > 0 else 0.0

    def result(self, status: Status, problem: Problem) -> Result:
        """Build the result from the best iterate."""
        best = self.best
        if best is None:
            raise ValueError(f"{self.label} made no iterates, but at least one is expected")
        if status not in (Status.SOLVED, Status.INTERRUPTED):
            best = best.certified()
            self.bound = max(self.bound, best.objective * (1 - best.gap))
        return Result(
            y=best.y,
            X=best.X,
            rank=best.rank,
            objective=best.objective,
            gap=self._gap(best),
            status=status,
            history=self.history,
            problem=problem,
        )

"""Algorithm 1 of the paper for a batch of problems, which are advanced together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from .._array import NDArray
from .._watch import clock, time_is_up
from ..model.problem import Problem
from ..model.stack import Stack, distances
from ..model.starts import Randomness, StackStarts
from .gradient_state import Accuracy, with_proven_gap
from .many_results import Entry, Finished
from .many_state import ManyState
from .result import Result
from .stack_proof import prove_gaps
from .state import History
from .stopping import Status, Stop

Solved = tuple[list[Finished], list[Entry]]
"""What is returned about problems, and their histories."""


class Batch:
    """Problems that are advanced together: those that are not finished, and those that are."""

    def __init__(
        self,
        problems: Sequence[Problem],
        first: int,
        lam: float,
        rng: Randomness,
        stop: Stop,
        pairs: int,
        search_steps: int,
        accuracy: Accuracy = Accuracy(),
    ) -> None:
        self.problems, self.first, self.lam, self.rng = problems, first, lam, rng
        self.stop, self.pairs, self.search_steps = stop, pairs, search_steps
        self.accuracy = accuracy
        self.sizes = np.ones(len(problems))  # of the samples
        self.state: ManyState | None = None  # of the problems that are not finished
        self.finished: list[Finished] = []
        self.log: list[Entry] = []

    @property
    def done(self) -> bool:
        """Whether all problems are finished."""
        return sum(part.places.size for part in self.finished) == len(self.problems)

    def check(self) -> None:
        """Raise the error of `gcgls` if a number of a problem is out of range."""
        Stack.of(self.problems, self.lam).check(self.problems, self.first)

    def run(self) -> Solved:
        """Advance until all problems are finished, with the line numbers of the paper.

        All samples are divided by their size first, and what is found is multiplied by it.
        """
        began, accuracy = clock(), self.accuracy
        state = self.state = self._zero()  # line 1
        starts = StackStarts(state.stack, self.rng)
        last: ManyState | None = None
        for k in count(1):  # line 2
            state = state.with_gradients(k, self.pairs, accuracy, self.stop)  # line 3
            gaps = self._proven(state, starts)
            self._record(state, gaps, clock() - began)
            status = self._status(state, last, gaps, k, clock() - began)
            self._finish(state, status, gaps, starts)
            kept = np.flatnonzero([each is None for each in status])
            last = self.state = state.chosen(kept)
            if not kept.size:
                break
            state = last.stepped(self.pairs, self.search_steps, accuracy)  # lines 4 to 6
        return self.finished, self.log

    def _zero(self) -> ManyState:
        stack = Stack.of(self.problems, self.lam)
        self.sizes = stack.sizes()
        stack = stack.divided(self.sizes)
        return ManyState.zero(stack, self.first + np.arange(len(stack)), self.accuracy)

    def _sizes_of(self, state: ManyState) -> NDArray:
        return np.asarray(self.sizes[state.places - self.first])

    def _proven(self, state: ManyState, starts: StackStarts) -> NDArray:
        """Prove the gaps that are likely to end a run; the others are one."""
        gaps = np.ones(len(state.stack))
        if self.stop.gap is not None:
            likely = np.flatnonzero(state.likely_gaps <= self.stop.gap)
            wanted = np.full(likely.size, self.stop.gap)
            gaps[likely] = self._gaps(state.chosen(likely), wanted, starts)
        return gaps

    def _gaps(self, state: ManyState, wanted: NDArray, starts: StackStarts) -> NDArray:
        """Proven gaps, at most one, of all problems of a state."""
        if not wanted.size:
            return wanted
        gradient = state.stack.gradient(state.point)
        gaps = prove_gaps(gradient, state.figures, starts.draw(), wanted, self.accuracy.proof)
        return np.minimum(gaps, 1.0)

    def _record(self, state: ManyState, gaps: NDArray, seconds: float) -> None:
        figures, top = state.figures, state.top
        assert top is not None
        violation = np.sqrt(figures.violation_squared)
        if not np.all(np.isfinite(figures.psi)):
            raise FloatingPointError(
                "an objective is not finite: values exceed the range of their data type; scale b, "
                "for example to a largest value of 1"
            )
        sizes = self._sizes_of(state)
        self.log.append(
            Entry(
                state.places,
                seconds,
                sizes**2 * figures.psi,
                sizes**2 * figures.loss,
                sizes * violation,
                state.ranks,
                gaps,
                sizes * top.values[:, 0],
            )
        )

    def _status(
        self, state: ManyState, last: ManyState | None, gaps: NDArray, k: int, seconds: float
    ) -> list[Status | None]:
        """The first criterion of `Stop` that holds for each problem, or None."""
        stop, size = self.stop, len(state.stack)
        criteria: list[tuple[Status, Any]] = []
        if stop.gap is not None:
            criteria.append((Status.SOLVED, gaps <= stop.gap))
        if last is not None:
            if stop.xtol is not None:
                steps = self._sizes_of(state) * distances(state.point, last.point)
                close = steps <= stop.xtol
                criteria.append((Status.SMALL_STEP, close))
            if stop.rtol is not None:
                now, before = state.figures.psi, last.figures.psi
                change = np.abs(now - before) <= stop.rtol * np.minimum(now, before)
                criteria.append((Status.SMALL_CHANGE, change))
        late = (stop.max_time is not None and seconds >= stop.max_time) or time_is_up()
        criteria.append((Status.MAX_TIME, np.full(size, late)))
        criteria.append((Status.MAX_ITERATIONS, np.full(size, k > stop.max_iter)))
        first = np.full(size, len(criteria))
        for i, (_, holds) in reversed(list(enumerate(criteria))):
            first[holds] = i
        found = [*(status for status, _ in criteria), None]
        return [found[i] for i in first]

    def _finish(
        self,
        state: ManyState,
        status: Sequence[Status | None],
        gaps: NDArray,
        starts: StackStarts | None,
    ) -> None:
        """Keep the iterates of the problems that have a status; prove the gaps of the unsolved."""
        rows = np.flatnonzero([each is not None for each in status])
        if not rows.size:
            return
        ended = state.chosen(rows)
        reasons = [each for each in status if each is not None]
        gaps = gaps[rows]
        stack, point, sizes = ended.stack, ended.point, self._sizes_of(ended)
        size, root = stack.spread(sizes), stack.spread(np.sqrt(sizes))
        part = Finished(
            ended.places,
            reasons,
            gaps,
            ended.ranks,
            sizes**2 * ended.figures.psi,
            size[:, 0, :] * point.total * stack.inverse,
            root * point.U,
            root * point.W,
        )
        if starts is not None:
            unsolved = np.flatnonzero([reason is not Status.SOLVED for reason in reasons])
            self._certify(ended, part, unsolved, starts)
        self.finished.append(part)

    def _certify(
        self, ended: ManyState, part: Finished, rows: NDArray, starts: StackStarts
    ) -> None:
        """Prove the gaps that are likely, all at once; one by one where that fails."""
        if not rows.size:
            return
        likely = ended.likely_gaps[rows]
        part.gap[rows] = self._gaps(ended.chosen(rows), (1 + self.accuracy.share) * likely, starts)
        for row in rows[part.gap[rows] == 1]:
            problem = self.problems[int(part.places[row]) - self.first]
            result = Result(
                y=part.y[row, ...],
                X=part.X(int(row), ended.stack.kernel),
                rank=int(part.rank[row]),
                objective=float(part.objective[row]),
                gap=float(ended.likely_gaps[row]),
                status=part.status[row],
                history=History(),
                problem=problem,
            )
            proven = with_proven_gap(result, ended.stack.lam, starts.generator, self.accuracy)
            part.gap[row] = min(proven.gap, 1.0)

    def interrupted(self) -> Solved:
        """End the problems that are not finished."""
        if not self.done:
            state = self._zero() if self.state is None else self.state
            size = state.places.size
            self._finish(state, [Status.INTERRUPTED] * size, np.ones(size), None)
        return self.finished, self.log

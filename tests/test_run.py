"""The driver: criteria, statuses, history, callbacks, interruption, texts of results."""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
import pytest

from structrank import ConvergenceWarning, Hankel, LowRank, Problem, State, Status, Stop, gcgls
from structrank.solvers.driver import run
from structrank.solvers.state import Figures, LazyState

pytestmark = pytest.mark.quick

PROBLEM = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)


def make_state(objective, gap=1.0, size=1.0):
    X = LowRank(size * np.ones((3, 1)), np.ones((3, 1)))
    return State(
        X=X,
        y=np.full(5, objective),
        objective=objective,
        loss=0.0,
        violation=0.0,
        gap=gap,
        top_value=1.0,
    )


def falling(ratio=0.5):
    """Objectives and matrices that keep moving."""
    for k in itertools.count():
        yield make_state(ratio**k, size=1.0 + k)


class TestCriteria:
    def test_the_default_is_the_papers_rule(self):
        assert Stop() == Stop(max_iter=100, xtol=1e-3, rtol=1e-3, gap=None, max_time=None)

    def test_max_iter_counts_steps_and_warns(self):
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            result = run(falling(), PROBLEM, stop=Stop(max_iter=7))
        assert result.status is Status.MAX_ITERATIONS
        assert result.iterations == 7
        assert len(result.history) == 8

    def test_gap(self):
        gaps = (10.0**-k for k in itertools.count(1))
        states = (make_state(1 / (1 - g), gap=g, size=1 / g) for g in gaps)  # the optimum is 1
        result = run(states, PROBLEM, stop=Stop(rtol=None, gap=1.5e-3))
        assert result.status is Status.SOLVED
        assert result.gap == pytest.approx(1e-3)

    def test_gap_is_that_of_the_best_iterate_and_the_best_bound(self):
        states = iter([make_state(2.0, gap=0.5), make_state(3.0, gap=0.4, size=2.0)])
        result = run(states, PROBLEM, stop=Stop(gap=0.11))
        assert result.status is Status.SOLVED
        assert result.objective == 2.0
        assert result.gap == pytest.approx(1 - 1.8 / 2.0)

    def test_numbers_out_of_range_are_announced(self):
        with pytest.raises(FloatingPointError, match="scale b"):
            run(iter([make_state(np.inf)]), PROBLEM)

    def test_small_step(self):
        states = (make_state(2.0**-k, size=1 + 10.0**-k) for k in itertools.count())
        result = run(states, PROBLEM, stop=Stop(rtol=None))
        assert result.status is Status.SMALL_STEP
        steps = [3 * abs(10.0**-k - 10.0 ** -(k - 1)) for k in range(1, 9)]
        assert result.iterations == 1 + next(i for i, s in enumerate(steps) if s < 1e-3)

    def test_small_change(self):
        states = (make_state(1 + 10.0**-k, size=k) for k in itertools.count())
        result = run(states, PROBLEM, stop=Stop(xtol=None))
        assert result.status is Status.SMALL_CHANGE
        assert result.iterations == 4

    def test_max_time(self):
        with pytest.warns(ConvergenceWarning):
            result = run(falling(), PROBLEM, stop=Stop(10**6, rtol=None, max_time=0.05))
        assert result.status is Status.MAX_TIME
        assert result.history.time[-1] >= 0.05

    def test_none_switches_off(self):
        states = (make_state(1.0) for _ in range(6))
        with pytest.warns(ConvergenceWarning):
            result = run(states, PROBLEM, stop=Stop(max_iter=5, xtol=None, rtol=None))
        assert result.status is Status.MAX_ITERATIONS

    def test_a_solver_may_end_by_itself(self):
        result = run(iter([make_state(2.0), make_state(1.0, size=9.0)]), PROBLEM)
        assert result.status is Status.FINISHED
        assert result.objective == 1.0

    def test_a_solver_without_iterates(self):
        with pytest.raises(ValueError, match="made no iterate"):
            run(iter([]), PROBLEM)


class TestLazyStates:
    def test_figures_are_worked_out_once_and_outside_the_clock(self):
        calls = []

        def figures():
            calls.append(1)
            time.sleep(0.05)
            return Figures(objective=3.0, loss=1.0, violation=0.5, gap=0.25, top_value=2.0)

        state = LazyState(LowRank(np.ones((3, 1)), np.ones((3, 1))), np.zeros(5), figures)
        result = run(iter([state]), PROBLEM)
        assert (result.objective, result.gap, result.rank) == (3.0, 0.25, 1)
        assert result.history.violation == [0.5]
        assert len(calls) == 1
        assert result.history.time[0] < 0.05
        with pytest.raises(AttributeError, match="colour"):
            _ = state.colour


class TestBest:
    def test_the_best_iterate_is_returned(self):
        values = iter([5.0, 1.0, 3.0, 4.0])
        states = (make_state(v, size=v) for v in values)
        with pytest.warns(ConvergenceWarning):
            result = run(states, PROBLEM, stop=Stop(max_iter=3))
        assert result.objective == 1.0
        np.testing.assert_array_equal(result.y, 1.0)

    def test_interrupt_returns_the_best_so_far(self):
        def states():
            yield make_state(3.0)
            yield make_state(2.0, size=2.0)
            raise KeyboardInterrupt

        result = run(states(), PROBLEM)
        assert result.status is Status.INTERRUPTED
        assert result.objective == 2.0
        assert "start=result.X" in result.message

    def test_interrupt_before_the_first_iterate(self):
        def states():
            raise KeyboardInterrupt
            yield

        with pytest.raises(KeyboardInterrupt):
            run(states(), PROBLEM)

    def test_interrupt_in_a_callback(self):
        def interrupt(state):
            if state.objective < 0.3:
                raise KeyboardInterrupt

        result = run(falling(), PROBLEM, callback=interrupt)
        assert result.status is Status.INTERRUPTED
        assert result.objective == 0.25


class TestCallback:
    def test_sees_every_iterate_and_can_stop(self):
        seen = []

        def callback(state):
            seen.append(state.objective)
            return len(seen) == 4

        result = run(falling(), PROBLEM, callback=callback)
        assert result.status is Status.CALLBACK
        assert seen == [1.0, 0.5, 0.25, 0.125]

    def test_time_in_callbacks_does_not_count(self):
        import time

        result = run(falling(), PROBLEM, callback=lambda s: time.sleep(0.02) or s.objective < 0.01)
        assert result.history.time[-1] < 0.02


class TestViews:
    @pytest.fixture
    def result(self):
        return gcgls(Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01), 1.0)

    def test_repr_says_what_matters(self, result):
        text = repr(result)
        for part in (
            "Hankel",
            "rank",
            "objective",
            "outcome",
            "of the optimum",
            "iterations",
        ):
            assert part in text
        assert all(len(line) < 200 for line in text.splitlines())

    def test_html_is_escaped_and_whole(self, result):
        html = result._repr_html_()
        assert html.count("<tr>") == html.count("</tr>") == 5
        assert html.startswith("<table>")
        assert "<lambda>" not in html

    def test_history(self, result):
        h = result.history
        lengths = {
            len(x) for x in (h.time, h.objective, h.loss, h.violation, h.rank, h.gap, h.top_value)
        }
        assert lengths == {len(h)}
        assert h.objective[-1] == pytest.approx(result.objective)
        assert np.all(np.diff(h.time) >= 0)
        assert "iterates, last objective" in repr(h)

    def test_every_status_has_advice(self):
        for status in Status:
            assert status.advice.endswith(".")
        assert {s for s in Status if s.converged} == {
            Status.SOLVED,
            Status.SMALL_STEP,
            Status.SMALL_CHANGE,
            Status.FINISHED,
        }

    def test_progress_bar_shows_and_can_be_silent(self, capsys):
        problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
        gcgls(problem, 1.0)
        assert capsys.readouterr().err == ""
        gcgls(problem, 1.0, progress=True)
        assert "gcgls" in capsys.readouterr().err

    def test_converged_runs_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = gcgls(Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01), 1.0)
        assert result.status.converged

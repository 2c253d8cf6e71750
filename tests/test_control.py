"""Time limits, effort, progress and the estimate of the cost, without real times."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from conftest import nightly

import structrank._watch as watch_module
from structrank import (
    ConvergenceWarning,
    Cost,
    Hankel,
    Problem,
    Status,
    denoise,
    estimate_cost,
    find_outliers,
    forecast,
    frequencies,
    impute,
    recover,
)
from structrank._watch import Voice, seconds_left, tell, time_is_up, watched
from structrank.signals import estimation
from structrank.signals import plan as plan_module
from structrank.signals import work as work_module
from structrank.signals.effort import EFFORTS
from structrank.signals.plan import Counts
from structrank.signals.window_sizes import WindowSearch
from structrank.signals.work import ModeSteps, Timing, time_local_fit

T = np.arange(300)


def tone(rng):
    return np.cos(0.3 * T) + 0.1 * rng.standard_normal(T.size)


def walk(rng):
    return np.where(rng.random(T.size) < 0.3, np.nan, np.cumsum(rng.standard_normal(T.size)))


class Clock:
    """A clock that advances by a second with every look at it, and counts the looks."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(watch_module, "clock", self)

    def __call__(self):
        self.now += 1.0
        return self.now


class TestWatch:
    def test_the_nearest_limit_counts(self):
        assert seconds_left() == np.inf
        assert not time_is_up()
        with watched(100.0) as outer:
            with watched(1000.0):
                assert seconds_left() <= 100
            with watched(1e-9) as inner:
                assert time_is_up()
            assert not time_is_up()
            assert inner.cut
            assert outer.cut  # something inside was cut
        with watched(100.0) as other:
            pass
        assert not other.cut

    def test_the_limit_ends_with_an_error_too(self):
        with pytest.raises(ZeroDivisionError), watched(1e-9):
            raise ZeroDivisionError
        assert seconds_left() == np.inf

    def test_in_a_pipe_there_is_a_line_once_in_a_while(self, monkeypatch, capsys):
        Clock(monkeypatch)
        with watched(progress=True, voice=Voice(seconds=5.0)), watched(progress=True):
            for k in range(10):
                tell(f"stage: {k}")
        lines = capsys.readouterr().err.splitlines()
        assert 1 < len(lines) < 5
        assert all(line.partition(" s: stage: ")[1] for line in lines)

    def test_on_a_terminal_every_stage_is_shown(self, monkeypatch):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        with watched(progress=True):
            tell("modes: 3 found")
            tell("local fits: window 4")
        assert "modes: 3 found" in terminal.getvalue()
        assert "local fits: window 4" in terminal.getvalue()

    def test_without_progress_nothing_is_said(self, capsys):
        with watched():
            tell("something")
        tell("something")
        assert capsys.readouterr().err == ""


CALLS = {
    "modes": lambda rng, **options: recover(tone(rng), **options),
    "local fits": lambda rng, **options: recover(walk(rng), **options),
    "short": lambda rng, **options: recover(walk(rng)[:60], **options),
    "convex": lambda rng, **options: recover(tone(rng)[:40], kind="convex", **options),
    "refit": lambda rng, **options: recover(walk(rng)[:60], kind="refit", **options),
    "rank": lambda rng, **options: recover(walk(rng)[:60], rank=5, **options),
    "robust": lambda rng, **options: recover(walk(rng)[:60], robust=True, **options),
    "2-D": lambda rng, **options: recover(rng.standard_normal((20, 20)), **options),
    "channels": lambda rng, **options: recover(
        np.cumsum(rng.standard_normal((80, 2)), 0), channels=1, **options
    ),
    "impute": lambda rng, **options: impute(walk(rng), **options),
    "denoise": lambda rng, **options: denoise(tone(rng), **options),
    "forecast": lambda rng, **options: forecast(tone(rng)[:60], 3, **options),
    "noise": lambda rng, **options: forecast(rng.standard_normal(30), 3, **options),
}


@pytest.mark.filterwarnings("ignore:forecast. forecasts of known samples had an error")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_without_time_returns_what_it_has(name, rng):
    with pytest.warns(ConvergenceWarning, match="stopped at its time limit"):
        found = CALLS[name](rng, max_time=1e-9)
    assert found.status is Status.MAX_TIME
    assert "stopped at its time limit" in repr(found)
    signal = found.mean if "mean" in vars(found) else found.signal
    assert np.all(np.isfinite(signal))


@pytest.mark.parametrize("limit", [10, 40, nightly(5), nightly(20), nightly(80), nightly(160)])
@pytest.mark.parametrize("name", ["modes", "local fits", "short", "robust", "forecast"])
def test_a_call_ends_soon_after_its_limit(name, limit, rng, monkeypatch):
    """Each look at the clock is a second: only a few loops may ask again after the limit."""
    clock = Clock(monkeypatch)
    with pytest.warns(ConvergenceWarning):
        CALLS[name](rng, max_time=float(limit))
    assert clock.now <= 1.2 * limit + 40


@pytest.fixture
def cut_solutions(monkeypatch):
    """The convex solutions of `recover`, with fits of zeros; time is up after each."""
    clock, solve, solved = Clock(monkeypatch), estimation.solve_and_refit, []

    def slow(*arguments):
        solution = solve(*arguments)
        solved.append(replace(solution, fit=replace(solution.fit, y=0 * solution.fit.y)))
        clock.now += 1e9
        return solved[-1]

    monkeypatch.setattr(estimation, "solve_and_refit", slow)
    return solved


def test_a_convex_solution_that_was_cut_short_is_not_returned(rng, cut_solutions):
    """Other estimates had predicted before, and what they found is better."""
    t = np.arange(60)
    truth = np.exp(-0.1 * t) * np.cos(0.5 * t)
    with pytest.warns(ConvergenceWarning):
        found = recover(truth + 0.1 * rng.standard_normal(60), max_time=1e6)
    assert len(cut_solutions) == 1
    assert found.rank > 0
    assert np.linalg.norm(found.signal - truth) < 0.5 * np.linalg.norm(truth)


def test_a_given_rank_keeps_its_modes_when_time_is_up(rng, cut_solutions):
    with pytest.warns(ConvergenceWarning):
        found = recover(walk(rng)[:60], rank=5, max_time=1e6)
    assert len(cut_solutions) == 1
    assert (found.kind, found.rank) == ("refit", 5)


def test_with_enough_time_nothing_changes(rng):
    samples = walk(rng)[:210]
    free, limited = recover(samples), recover(samples, max_time=1e6)
    assert limited.status is free.status is Status.FINISHED
    assert np.array_equal(free.signal, limited.signal)
    assert limited.seconds > 0


def test_siblings_take_a_limit(rng):
    problem = Problem(Hankel(60, window=30), tone(rng)[:60] + 5.0 * (T[:60] == 11), 1.0, "lifted")
    with pytest.warns(ConvergenceWarning, match="find_outliers stopped at its time limit"):
        assert find_outliers(problem, max_time=1e-9).shape == (60,)
    with pytest.warns(ConvergenceWarning):
        assert len(frequencies(tone(rng), max_time=1e-9)) > 0


@pytest.mark.parametrize("function", [recover, estimate_cost])
def test_wrong_arguments(function, rng):
    with pytest.raises(ValueError, match="max_time is 0, but a finite number above zero"):
        function(tone(rng), max_time=0)
    with pytest.raises(ValueError, match="effort is 'much'"):
        function(tone(rng), effort="much")
    with pytest.raises(ValueError, match="kind is 'much'"):
        function(tone(rng), kind="much")


def test_progress_says_what_is_tried(rng, monkeypatch):
    said = []
    monkeypatch.setattr(Voice, "_lines", lambda self, stream: said.append)
    recover(walk(rng)[:60] + 0j, progress=True)  # complex, so that no components are tried
    stages = {text.partition(":")[0] for text in said}
    assert {"modes", "select mu", "convex solution", "local fits"} <= stages
    assert any(text.startswith("local fits: window 4, noise 1e-01, error ") for text in said)
    assert said[-1].endswith("error " + said[-1].rpartition(" ")[2])
    assert ": chosen, error " in said[-1]


def test_more_effort_tries_more(rng, monkeypatch):
    tried = {}
    for effort in ("fast", "normal"):
        said = []
        monkeypatch.setattr(Voice, "_lines", lambda self, stream, said=said: said.append)
        recover(walk(rng)[:220], effort=effort, progress=True)
        tried[effort] = {text.split(",")[0] for text in said if text.startswith("local fits")}
        forecast(tone(rng)[:40], 3, rank=2, effort=effort, progress=True)
        tried[f"forecast {effort}"] = sum(text.startswith("forecast of known") for text in said)
    assert tried["fast"] < tried["normal"]
    assert 1 == tried["forecast fast"] < tried["forecast normal"]
    windows = [set(effort.candidates[1].search.along_line) for effort in EFFORTS.values()]
    assert windows[0] < windows[1] < windows[2]


class TestCost:
    def test_the_route_decides(self, rng):
        assert estimate_cost(tone(rng)).route == "fit of the modes"
        assert estimate_cost(walk(rng)).route == "average of local fits"
        assert estimate_cost(tone(rng)[:40], kind="convex").route == "convex solution"
        assert "or" in estimate_cost(walk(rng)[:60]).route
        assert "season" in estimate_cost(walk(rng)[:12], kind="components").route

    def test_times_are_counts_times_steps(self, rng, monkeypatch):
        monkeypatch.setattr(plan_module, "time_modes", lambda *_: ModeSteps(1e-4, 2e-4, 1e-4))
        monkeypatch.setattr(plan_module, "time_local_fit", lambda *_, **__: 1e-3)
        monkeypatch.setattr(plan_module, "time_components", lambda *_: 1e-4)
        counts = Counts()
        cost = estimate_cost(tone(rng))
        assert cost.middle == pytest.approx(counts.modes * 4e-4)
        cost = estimate_cost(walk(rng))
        windows = sum(w <= T.size // 4 for w in WindowSearch().along_line)
        local, rest = counts.local * 5 * windows * 1e-3, cost.middle - counts.components * 1e-4
        searched = {counts.patient * 4e-4, counts.doubtful * 4e-4}
        sides = {rest - local, rest - 2 * local}  # evened out or not
        assert any(abs(a - b) < 1e-9 for a in sides for b in searched)
        alone = estimate_cost(walk(rng)[:12], kind="components")
        assert alone.middle == pytest.approx(counts.components * 1e-4)

    def test_longer_signals_cost_more(self, rng, monkeypatch):
        monkeypatch.setattr(work_module, "shortest", lambda *_: 1e-3)
        for length, pieces in ((1000, 1), (Timing().values, 1), (10 * Timing().values, 10)):
            seconds = time_local_fit(rng.standard_normal((length, 1)), (16,), True)
            assert seconds == pytest.approx(pieces * 1e-3)
        memory = [estimate_cost(np.cumsum(rng.standard_normal(n))).memory[0] for n in (300, 3000)]
        assert memory[1] > 5 * memory[0]

    def test_a_limit_ends_the_range(self, rng):
        assert estimate_cost(walk(rng), max_time=1e-6).seconds == (1e-6, 1e-6)

    def test_it_says_what_it_is(self):
        text = repr(Cost((1.0, 4.0), (2e6, 8e6), "fit of the modes"))
        assert "1 to 4 s" in text
        assert "2 to 8 MB" in text

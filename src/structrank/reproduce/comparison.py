"""All methods on one case of the realisation experiment: tuned, timed, measured."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np

from .._array import NDArray
from ..model.problem import Problem
from ..solvers.result import Result
from ..solvers.rivals.dense import singular_values
from ..solvers.state import State
from ..solvers.stopping import Stop
from .cases import Case
from .methods import GCGLS, PAPER_RULE, TUNED, Method, PenalizedMethod
from .output import Row


@dataclass(frozen=True)
class ComparisonSettings:
    """How methods are tuned, stopped and measured."""

    # Penalties tried, as multiples of the scale of a problem: half a decade apart around 1.
    factors: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    gap: float = 1e-3  # gap to the optimum at which a run ends; far below the 1% that is timed
    max_iter: int = 5000  # a safeguard: the gap or the time limit ends a run first
    reached: float = 1.01  # objective over the best one at which a method has arrived: within 1%
    rank_threshold: float = 1e-3  # the paper's: singular values of H(y) above it are counted
    every_rank: int = 10  # iterates at the start whose rank is counted, without exception
    rank_interval: int = 5  # later ranks are counted once per so many iterates: they are costly
    dense_memory_steps: int = 3  # iterations traced for memory: dense matrices are there at once
    thin_memory_steps: int = 100  # thin factors grow with the iterations

    def stop(self, seconds: float) -> Stop:
        """Return when a timed run ends, unless it is one as printed."""
        return Stop(max_iter=self.max_iter, xtol=None, rtol=None, gap=self.gap, max_time=seconds)


COMPARISON = ComparisonSettings()


@dataclass
class Curve:
    """The run of one method on one case."""

    method: Method
    result: Result
    ranks: dict[int, int]  # rank of H(y), as the paper counts it, by iterate
    ones: bool = False  # whether it started from all ones
    stop: Stop = PAPER_RULE
    peak_bytes: int = 0

    @property
    def last_rank(self) -> int:
        """Rank of H(y) at the end."""
        return self.ranks[max(self.ranks)]

    @property
    def violation(self) -> float | None:
        """The last `||B X||`, for methods that allow the structure to be violated."""
        violated = self.method.formulation == PenalizedMethod.formulation
        return self.result.history.violation[-1] if violated else None

    def seconds_to(self, objective: float) -> float | None:
        """Return the time at which the objective was first at most this."""
        h = self.result.history
        return next((t for t, o in zip(h.time, h.objective, strict=True) if o <= objective), None)


def tune(
    case: Case, seconds: float, settings: ComparisonSettings = COMPARISON
) -> tuple[dict[str, float], list[Row]]:
    """Find the best penalty of every method for (relax) on a small case.

    Returns
    -------
    factors : dict of str to float
        The fastest penalty by method; the one with the least objective if none arrived.
    rows : list
        The times of all penalties.
    """
    problem, stop = case.problem("relax"), settings.stop(seconds)
    tried = {
        (method.name, factor): Curve(
            method, method.run(problem, ones=case.ones, factor=factor, stop=stop), {}
        )
        for method in TUNED
        for factor in settings.factors
    }
    aim = settings.reached * min(curve.result.objective for curve in tried.values())
    factors, rows = {}, []
    for method in TUNED:
        curves = {factor: tried[method.name, factor] for factor in settings.factors}
        times = {factor: curve.seconds_to(aim) for factor, curve in curves.items()}
        factors[method.name] = _fastest(times, curves)
        rows.append(
            {
                "case": case.name,
                "size": case.size,
                "method": method.name,
                **{f"seconds to 1% at {f:g}": t for f, t in times.items()},
                "chosen": factors[method.name],
            }
        )
    return factors, rows


def _fastest(times: dict[float, float | None], curves: dict[float, Curve]) -> float:
    reached = {factor: time for factor, time in times.items() if time is not None}
    if reached:
        return min(reached, key=reached.__getitem__)
    return min(curves, key=lambda factor: curves[factor].result.objective)


def compare(
    case: Case,
    method: Method,
    factor: float | None,
    seconds: float,
    settings: ComparisonSettings = COMPARISON,
) -> Curve:
    """Run one method on one case, and again for a few iterations to measure its memory."""
    problem = case.problem(method.formulation)
    ranks: dict[int, int] = {}
    numbers, k, latest = count(), 0, problem.b

    def count_rank(state: State) -> None:
        nonlocal k, latest
        k, latest = next(numbers), state.y
        if k <= settings.every_rank or k % settings.rank_interval == 0:
            ranks[k] = lifted_rank(problem, state.y, settings.rank_threshold)

    run = partial(method.run, problem, ones=case.ones, factor=factor)
    stop = method.stop(settings.stop(seconds))
    result = run(stop=stop, callback=count_rank)
    curve = Curve(method, result, ranks, method.from_ones(case.ones), stop)
    ranks[k] = lifted_rank(problem, latest, settings.rank_threshold)
    most = settings.dense_memory_steps if method.dense else settings.thin_memory_steps
    steps = max(min(curve.result.iterations, most), 1)
    tracemalloc.start()
    run(stop=Stop(max_iter=steps, xtol=None, rtol=None, max_time=seconds))
    curve.peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return curve


def lifted_rank(problem: Problem, y: NDArray, threshold: float) -> int:
    """Return the rank of H(y) as the paper counts it."""
    values = singular_values(problem.structure.to_dense(y))
    return int(np.count_nonzero(values > threshold))


def comparison_rows(
    case: Case, curves: Sequence[Curve], settings: ComparisonSettings = COMPARISON
) -> list[Row]:
    """Return one row per method: objective, time, memory."""
    best: dict[str, float] = {}
    for c in curves:
        found = min(c.result.objective, best.get(c.method.objective, np.inf))
        best[c.method.objective] = found
    seconds = {
        c.method.label: c.seconds_to(settings.reached * best[c.method.objective]) for c in curves
    }
    ours = seconds[GCGLS.label]
    rows = []
    for c in curves:
        time = seconds[c.method.label]
        rows.append(
            {
                "case": case.name,
                "size": case.size,
                "method": c.method.name,
                "form": c.method.form,
                "formulation": c.method.formulation,
                "step": c.method.step,
                "start": "ones" if c.ones else "zero",
                "stops at": stopping_rule(c.stop),
                "mu": c.result.problem.mu,
                "objective": c.result.objective,
                "gap": c.result.gap,
                "||B X||": c.violation,
                "rank of X": c.result.rank,
                "rank of H(y)": c.last_rank,
                "iterations": c.result.iterations,
                "ended": c.result.status.name,
                "seconds": c.result.history.time[-1],
                "seconds to 1%": time,
                "times GCGLS": None if time is None or ours is None else time / ours,
                "peak MB": c.peak_bytes / 2**20,
            }
        )
    return rows


def stopping_rule(stop: Stop) -> str:
    """Say when a run ends."""
    if replace(stop, max_time=None) == PAPER_RULE:
        limit = "" if stop.max_time is None else f", {stop.max_time:g} s"
        return f"the paper's rule{limit}"
    limits = [
        None if stop.gap is None else f"gap {stop.gap:g}",
        None if stop.max_time is None else f"{stop.max_time:g} s",
        f"{stop.max_iter} iterations",
    ]
    return ", ".join(limit for limit in limits if limit is not None)

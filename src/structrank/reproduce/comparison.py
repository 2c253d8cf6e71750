"""All methods on one case of the realisation experiment: tuned, timed, measured."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..solvers import gcg, gcgls
from ..solvers.driver import ConvergenceWarning, Result, Stop, uninterrupted
from ..solvers.rivals import apg_svt, dadmm2, dppa, factored_admm, padmm, padmm2
from ..solvers.rivals.dense import DenseProblem, singular_values
from ..solvers.state import State
from .cases import Case
from .output import Row

LAM = 1.0  # the paper does not print it
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # penalties tried
RANK_THRESHOLD = 1e-3  # the paper's: singular values above it are counted


@dataclass(frozen=True)
class Method:
    """A solver as this experiment calls it."""

    name: str
    formulation: str  # "relax" or "reform2"
    solver: Callable[..., Result]

    @property
    def dense(self) -> bool:
        """Whether it forms the matrix."""
        return self.solver not in (gcg, gcgls)

    def run(
        self, problem: Problem, *, ones: bool, factor: float | None = None, **options: Any
    ) -> Result:
        """Solve from the matrix of all ones, the paper's start, or from zero.

        `factor` is the penalty of a method for (relax), over its scale.
        """
        shape = problem.structure.shape
        if self.formulation == "relax":
            options["start"] = np.ones(problem.structure.signal_shape) if ones else None
            if factor is not None:
                beta = factor * DenseProblem(problem).scale
                options["beta"] = 1 / beta if self.solver is dadmm2 else beta
        else:
            options["lam"], options["penalty"] = LAM, "difference"
            options["start"] = LowRank.ones(shape, problem.b) if ones else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return uninterrupted(self.solver(problem, **options))


METHODS = (
    Method("GCGLS", "reform2", gcgls),
    Method("GCG", "reform2", gcg),
    Method("APG-SVT", "reform2", apg_svt),
    Method("PADMM", "relax", padmm),
    Method("PADMM2", "relax", padmm2),
    Method("DADMM2", "relax", dadmm2),
    Method("DPPA", "relax", dppa),
)


FACTORED_ADMM = Method("factored ADMM", "relax", partial(factored_admm, rank=30))  # tuned only


@dataclass
class Curve:
    """What one method did on one case."""

    method: Method
    result: Result
    ranks: dict[int, int]  # of H(y), as the paper counts, by iterate
    peak_bytes: int = 0

    @property
    def last_rank(self) -> int:
        """Rank of H(y) at the end."""
        return self.ranks[max(self.ranks)]

    def seconds_to(self, objective: float) -> float | None:
        """Time until the objective was first at most this."""
        h = self.result.history
        return next((t for t, o in zip(h.time, h.objective, strict=True) if o <= objective), None)


def tune(case: Case, seconds: float) -> tuple[dict[str, float], list[Row]]:
    """The best penalty of every method for (relax) on a smaller case, and what the others gave."""
    problem = case.problem("relax")
    stop = Stop(max_iter=5000, xtol=None, rtol=None, gap=1e-3, max_time=seconds)
    tried = {
        (method.name, factor): Curve(
            method, method.run(problem, ones=case.ones, factor=factor, stop=stop), {}
        )
        for method in (*METHODS, FACTORED_ADMM)
        if method.formulation == "relax"
        for factor in FACTORS
    }
    best = 1.01 * min(curve.result.objective for curve in tried.values())
    factors, rows = {}, []
    for name in dict.fromkeys(name for name, _ in tried):
        times = {f: tried[name, f].seconds_to(best) for f in FACTORS}
        reached = {f: t for f, t in times.items() if t is not None}
        objectives = {f: tried[name, f].result.objective for f in FACTORS}
        factors[name] = (
            min(reached, key=reached.__getitem__)
            if reached
            else min(objectives, key=objectives.__getitem__)
        )
        rows.append(
            {
                "case": case.name,
                "size": case.size,
                "method": name,
                **{f"seconds to 1% at {f:g}": t for f, t in times.items()},
                "chosen": factors[name],
            }
        )
    return factors, rows


def compare(case: Case, method: Method, factor: float | None, seconds: float) -> Curve:
    """Run one method on one case, and again for a few steps to see its memory."""
    problem = case.problem(method.formulation)
    ranks: dict[int, int] = {}
    iterate, k, latest = count(), 0, problem.b

    def count_rank(state: State) -> None:
        nonlocal k, latest
        k, latest = next(iterate), state.y
        if k <= 10 or k % 5 == 0:  # it costs as much as an iteration of a rival
            ranks[k] = lifted_rank(problem, state.y)

    run = partial(method.run, problem, ones=case.ones, factor=factor)
    stop = Stop(max_iter=5000, xtol=None, rtol=None, gap=1e-3, max_time=seconds)
    curve = Curve(method, run(stop=stop, callback=count_rank), ranks)
    ranks[k] = lifted_rank(problem, latest)
    steps = min(curve.result.iterations, 3 if method.dense else 100)
    tracemalloc.start()
    run(stop=Stop(max_iter=max(steps, 1), xtol=None, rtol=None, max_time=seconds))
    curve.peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return curve


def lifted_rank(problem: Problem, y: np.ndarray) -> int:
    """Rank of H(y) as the paper counts it."""
    values = singular_values(problem.structure.to_dense(y))
    return int(np.count_nonzero(values > RANK_THRESHOLD))


def comparison_rows(case: Case, curves: Sequence[Curve]) -> list[Row]:
    """One row a method: how good, how fast, how large."""
    best: dict[str, float] = {}
    for c in curves:
        found = min(c.result.objective, best.get(c.method.formulation, np.inf))
        best[c.method.formulation] = found
    seconds = {c.method.name: c.seconds_to(1.01 * best[c.method.formulation]) for c in curves}
    ours = seconds["GCGLS"]
    rows = []
    for c in curves:
        time = seconds[c.method.name]
        rows.append(
            {
                "case": case.name,
                "size": case.size,
                "method": c.method.name,
                "formulation": c.method.formulation,
                "mu": c.result.problem.mu,
                "objective": c.result.objective,
                "gap": c.result.gap,
                "rank of H(y)": c.last_rank,
                "iterations": c.result.iterations,
                "seconds to 1%": time,
                "times GCGLS": None if time is None or ours is None else time / ours,
                "peak MB": c.peak_bytes / 2**20,
            }
        )
    return rows

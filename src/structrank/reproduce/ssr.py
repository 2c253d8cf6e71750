"""Stochastic system realisation: all methods against time, and a case where the order is there.

Figure 1 of the paper and what it leaves open. Three kinds of data, each with its mu:

- "as printed": D, E, F at unit nuclear norm, mu = 1.5 on (relax) and 0.1 on (reform2);
- "spectral": D, E, F at unit spectral norm, 1000 samples, mu at the level of the sampling noise;
- "well-posed": spectral radius 0.9 and enough samples for the order to be found.
"""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count, groupby
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..applications import (
    NotPositiveReal,
    StateSpaceModel,
    empirical_covariances,
    random_system,
    realization_problem,
    realize,
    sampling_noise_mu,
)
from ..lowrank import LowRank
from ..problem import Problem
from ..run import ConvergenceWarning, Result, State, Stop
from ..solvers import apg_svt, dadmm2, dppa, factored_admm, gcg, gcgls, padmm, padmm2
from ..solvers._dense import DenseProblem, singular_values
from . import figures
from .output import Row, uninterrupted, write_about, write_table

ROWS, COLUMNS, ORDER, NOISE, LAM = 21, 100, 10, 0.05, 1.0  # the paper's j, k, r, sigma; lam is ours
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # penalties tried
REALIZATION_ROWS = 11  # few: the late lags hold little but noise
RANK_THRESHOLD = 1e-3  # the paper's: singular values above it are counted

Solve = Callable[..., Result]


@dataclass(frozen=True)
class Method:
    """A solver as this experiment calls it."""

    name: str
    formulation: str  # "relax" or "reform2"
    solver: Solve

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


@dataclass(frozen=True)
class Case:
    """Data and prices of one comparison."""

    name: str
    outputs: int
    seed: int = 0
    order: int = ORDER
    normalization: str = "spectral"
    spectral_radius: float | None = None
    samples: int = 1000
    ones: bool = True  # start from all ones, as the paper does
    prices: dict[str, float] = field(default_factory=dict)  # mu by formulation; else by noise level

    @cached_property
    def system(self) -> StateSpaceModel:
        """The true system."""
        return random_system(
            self.outputs,
            self.order,
            normalization=self.normalization,
            spectral_radius=self.spectral_radius,
            seed=self.seed,
        )

    @cached_property
    def record(self) -> np.ndarray:
        """What is observed of it."""
        rng = np.random.default_rng([self.seed, 1])  # apart from that of the system
        return self.system.simulate(self.samples, seed=rng, noise=NOISE)

    @cached_property
    def covariances(self) -> np.ndarray:
        """Of the record, lag 0 first."""
        return empirical_covariances(self.record, COLUMNS)

    @cached_property
    def noise_level(self) -> float:
        """The mu at which sampling noise alone gives nothing."""
        return sampling_noise_mu(self.record, ROWS, COLUMNS)

    def problem(self, formulation: str) -> Problem:
        """The block-Hankel problem with this case's mu for a formulation."""
        mu = self.prices[formulation] if self.prices else self.noise_level
        return realization_problem(self.covariances, ROWS, COLUMNS, mu)

    @property
    def size(self) -> str:
        """Rows and columns of the matrix."""
        return f"{ROWS * self.outputs} x {COLUMNS * self.outputs}"


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


def reproduce_ssr(
    folder: Path, *, quick: bool = False, seed: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figures and tables.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        Small matrices, few seeds: a check that all works, not a comparison.
    seed : int
        First seed.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The tables, as Markdown.
    """
    cases = _cases(quick, seed)
    seeds = range(seed, seed + (2 if quick else 20))
    tuning, rows, orders = [], [], []
    with tqdm(total=len(cases) * len(METHODS) + len(seeds), disable=not progress) as bar:
        bar.set_description("ssr")
        for name, group in groupby(cases, lambda case: case.name):
            smallest, *_ = same = list(group)
            bar.set_postfix_str(f"{name}: tuning")
            smaller = replace(smallest, outputs=max(smallest.outputs // 2, 4))
            factors, tuned = tune(smaller, 0.15 if quick else 0.7)
            tuning += tuned
            for case in same:
                curves = [compare(case, m, factors.get(m.name), quick, bar) for m in METHODS]
                rows += comparison_rows(case, curves)
                path = folder / f"ssr-{name}-{case.outputs}.png".replace(" ", "-")
                figures.curves(curves, f"{name}, {case.size}", path)
                if name == "well-posed":
                    orders += [order_row(case, curve) for curve in curves]
        recovered = [_recovered(quick, s, bar) for s in seeds]
    figures.poles([found for _, found in recovered], folder / "ssr-poles.png")
    settings = {"lam": LAM, "noise": NOISE, "rows": ROWS, "columns": COLUMNS}
    write_about(folder, {"experiment": "ssr", "quick": quick, "seeds": list(seeds), **settings})
    return [
        write_table(folder / "ssr-tuning", tuning),
        write_table(folder / "ssr-methods", rows),
        write_table(folder / "ssr-orders", orders),
        write_table(folder / "ssr-seeds", [row for row, _ in recovered]),
    ]


def _cases(quick: bool, seed: int) -> list[Case]:
    printed = {"relax": 1.5, "reform2": 0.1}
    sizes = (4,) if quick else (20, 40)
    return [
        *(Case("as printed", n, seed, normalization="nuclear", prices=printed) for n in sizes),
        *(Case("spectral", n, seed) for n in sizes),
        *(_well_posed(n, seed, quick) for n in sizes),
    ]


def _well_posed(outputs: int, seed: int, quick: bool) -> Case:
    return Case(
        "well-posed",
        outputs,
        seed,
        order=3 if quick else ORDER,
        spectral_radius=0.9,
        ones=False,
        samples=50_000 if quick else 200_000,
    )


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


def compare(case: Case, method: Method, factor: float | None, quick: bool, bar: tqdm) -> Curve:
    """Run one method on one case, and again for a few steps to see its memory."""
    bar.set_postfix_str(f"{case.name} {case.size} {method.name}")
    problem = case.problem(method.formulation)
    ranks: dict[int, int] = {}
    iterate = count()

    last: dict[int, np.ndarray] = {}

    def count_rank(state: State) -> None:
        k = next(iterate)
        last.clear()
        last[k] = state.y
        if k <= 10 or k % 5 == 0:  # it costs as much as an iteration of a rival
            ranks[k] = lifted_rank(problem, state.y)

    run = partial(method.run, problem, ones=case.ones, factor=factor)
    seconds = 0.5 if quick else 6.0
    stop = Stop(max_iter=5000, xtol=None, rtol=None, gap=1e-3, max_time=seconds)
    curve = Curve(method, run(stop=stop, callback=count_rank), ranks)
    ranks.update((k, lifted_rank(problem, y)) for k, y in last.items())
    steps = min(curve.result.iterations, 3 if method.dense else 100)
    tracemalloc.start()
    run(stop=Stop(max_iter=max(steps, 1), xtol=None, rtol=None, max_time=seconds))
    curve.peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    bar.update()
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


def order_row(case: Case, curve: Curve) -> Row:
    """What one method says about the order and the covariances of a well-posed case."""
    truth = case.system.covariances(ROWS + COLUMNS - 1)[1:]
    return {
        "size": case.size,
        "method": curve.method.name,
        "formulation": curve.method.formulation,
        "true order": case.system.order,
        "order found": found_order(curve.result),
        "rank of H(y)": curve.last_rank,
        "covariance error": _error(curve.result.y, truth),
    }


def found_order(result: Result) -> int:
    """Number of singular values of X above a hundredth of mu.

    That is far above what unfinished optimisation leaves, and far below what mu lets through.
    """
    return int(np.count_nonzero(result.X.singular_values() > 0.01 * result.problem.mu))


@dataclass
class Recovered:
    """Poles of one seed: those of the true system and of the realised one."""

    seed: int
    true_poles: np.ndarray
    poles: np.ndarray


def _recovered(quick: bool, seed: int, bar: tqdm) -> tuple[Row, Recovered]:
    """From a record to a realised system, for one seed of the well-posed case."""
    bar.set_postfix_str(f"well-posed, seed {seed}")
    case = _well_posed(4 if quick else 20, seed, quick)
    problem = case.problem("reform2")
    stop = Stop(max_iter=100, xtol=None, rtol=None, gap=1e-3)
    result = uninterrupted(gcgls(problem, LAM, penalty="difference", stop=stop))
    order = found_order(result)
    model, remedy = _realized(np.concatenate([case.covariances[:1], result.y]), order)
    lags = ROWS + COLUMNS - 1
    truth = case.system.covariances(lags)[1:]
    row = {
        "seed": seed,
        "true order": case.system.order,
        "order found": order,
        "order realised": None if model is None else model.order,
        "mu": problem.mu,
        "covariance error, as observed": _error(case.covariances[1:], truth[:COLUMNS]),
        "covariance error, recovered": _error(result.y, truth),
        "covariance error, realised": (
            None if model is None else _error(model.covariances(lags)[1:], truth)
        ),
        "largest error of a pole": (
            None if model is None else _largest_pole_error(case.system.poles, model.poles)
        ),
        "noise floor added": remedy,
    }
    bar.update()
    found = np.zeros(0, complex) if model is None else model.poles
    return row, Recovered(seed, case.system.poles, found)


def _realized(covariances: np.ndarray, order: int) -> tuple[StateSpaceModel | None, bool]:
    """A system with these covariances, and whether it needed a noise floor.

    Where the model of the order found is not stable, that of the largest lower order that is;
    None where there is none.
    """
    for lower in range(order, 0, -1):
        try:
            return realize(covariances, lower, rows=REALIZATION_ROWS), False
        except NotPositiveReal:
            return realize(covariances, lower, rows=REALIZATION_ROWS, noise_floor="auto"), True
        except ValueError:
            continue
    return None, False


def _error(got: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.norm(got - truth) / np.linalg.norm(truth))


def _largest_pole_error(true_poles: np.ndarray, poles: np.ndarray) -> float:
    """Largest distance from a true pole to the nearest one found."""
    return float(np.max(np.min(np.abs(true_poles[:, None] - poles[None, :]), axis=1)))

"""Stochastic system realisation: Figure 2 of the paper, and a case in which the order is found.

The figures of the paper are numbered in the order of its source: 1 is scalability, 2 is this one, 3
is spectral compressed sensing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array import NDArray
from ..model.effective_rank import effective_rank
from ..solvers.result import Result
from ..solvers.stopping import Stop
from ..systems import NotPositiveReal, StateSpace, realize
from . import figures
from .cases import PAPER, Case, WellPosed, all_cases, well_posed_case
from .comparison import Curve, compare, comparison_rows, stopping_rule, tune
from .methods import GCGLS, GCGLS_PRINTED, METHODS, Method
from .output import Row, write_about, write_table


@dataclass(frozen=True)
class SsrEffort:
    """Sizes, seeds and seconds of the experiment."""

    outputs: tuple[int, ...] = (20, 40)  # the paper's two sizes
    seeds: int = 20  # systems that are realised
    seed_outputs: int = 20  # outputs of these systems
    tuning_seconds: float = 0.7  # per method and penalty
    run_seconds: float = 6.0  # per method and case
    well_posed: WellPosed = field(default_factory=WellPosed)
    realization_rows: int = 11  # block rows for `realize`: late lags are mostly noise
    smallest_tuned: int = 4  # outputs of the case for tuning, at least; else half of the smallest


SEED_METHODS = (GCGLS_PRINTED, GCGLS)  # those whose solutions are realised
FULL = SsrEffort()
QUICK = SsrEffort(
    outputs=(4,),
    seeds=2,
    seed_outputs=4,
    tuning_seconds=0.15,
    run_seconds=0.5,
    well_posed=WellPosed(order=3, samples=50_000),
)


def reproduce_ssr(
    folder: Path, *, quick: bool = False, rng: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figures and tables.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        Small matrices and few seeds: a check that everything works, not a comparison.
    rng : int
        First seed.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The tables, as Markdown.
    """
    effort = QUICK if quick else FULL
    cases = all_cases(effort.outputs, effort.well_posed, rng=rng)
    seeds = range(rng, rng + effort.seeds)
    tables = _Tables([], [], [])
    with tqdm(total=len(cases) * len(METHODS) + len(seeds), disable=not progress) as bar:
        bar.set_description("ssr")
        for _, group in groupby(cases, lambda case: case.name):
            _compare_methods(list(group), effort, tables, folder, bar)
        recovered = [_recovered(effort, seed, bar) for seed in seeds]
    figures.poles([found for _, found in recovered], folder / "ssr-poles.png")
    seed_rows = [row for rows, _ in recovered for row in rows]
    settings = {
        "lam": GCGLS.lam,
        "noise": PAPER.noise,
        "rows": PAPER.rows,
        "columns": PAPER.columns,
    }
    write_about(folder, {"experiment": "ssr", "quick": quick, "seeds": list(seeds), **settings})
    return [
        write_table(folder / "ssr-tuning", tables.tuning),
        write_table(folder / "ssr-methods", tables.methods),
        write_table(folder / "ssr-orders", tables.orders),
        write_table(folder / "ssr-seeds", seed_rows),
    ]


@dataclass(frozen=True)
class _Tables:
    """The rows of the tables so far."""

    tuning: list[Row]
    methods: list[Row]
    orders: list[Row]


def _compare_methods(
    cases: Sequence[Case], effort: SsrEffort, tables: _Tables, folder: Path, bar: Any
) -> None:
    """Tune and compare all methods on the cases of one kind, which differ in size."""
    smallest, name = cases[0], cases[0].name
    bar.set_postfix_str(f"{name}: tuning")
    smaller = replace(smallest, outputs=max(smallest.outputs // 2, effort.smallest_tuned))
    factors, tuned = tune(smaller, effort.tuning_seconds)
    tables.tuning.extend(tuned)
    for case in cases:
        curves = []
        for method in METHODS:
            bar.set_postfix_str(f"{name} {case.size} {method.label}")
            factor = factors.get(method.name)
            curves.append(compare(case, method, factor, effort.run_seconds))
            bar.update()
        tables.methods.extend(comparison_rows(case, curves))
        path = folder / f"ssr-{name}-{case.outputs}.png".replace(" ", "-")
        figures.curves(curves, f"{name}, {case.size}", path)
        if name == "well-posed":
            tables.orders.extend(order_row(case, curve) for curve in curves)


def order_row(case: Case, curve: Curve) -> Row:
    """Return the order and the error of the covariances that one method found."""
    return {
        "size": case.size,
        "method": curve.method.name,
        "form": curve.method.form,
        "formulation": curve.method.formulation,
        "true order": case.system.order,
        "order found": found_order(curve.result),
        "rank of H(y)": curve.last_rank,
        "covariance error": _error(curve.result.y, case.true_covariances),
    }


def found_order(result: Result) -> int:
    """Return the number of singular values of X that are not negligible beside mu."""
    return effective_rank(result.X, result.problem.mu)


@dataclass
class Recovered:
    """Poles for one seed: those of the true system, and of the realised ones by form."""

    seed: int
    true_poles: NDArray
    poles: dict[str, NDArray]


def _recovered(effort: SsrEffort, seed: int, bar: Any) -> tuple[list[Row], Recovered]:
    """Realise a system from its record by both forms of GCGLS, for one seed."""
    bar.set_postfix_str(f"well-posed, seed {seed}")
    case = well_posed_case(effort.seed_outputs, effort.well_posed, rng=seed)
    found = {method.form: _realized_by(method, case, effort) for method in SEED_METHODS}
    bar.update()
    rows = [{"seed": seed, "form": form, **row} for form, (row, _) in found.items()]
    poles = {form: poles for form, (_, poles) in found.items()}
    return rows, Recovered(seed, case.system.poles, poles)


def _realized_by(method: Method, case: Case, effort: SsrEffort) -> tuple[Row, NDArray]:
    """Realise a system from the covariances that one method recovers; return its poles."""
    problem, truth = case.problem(method.formulation), case.true_covariances
    stop = method.stop(Stop(max_iter=100, xtol=None, rtol=None, gap=1e-3))
    result = method.run(problem, ones=case.ones, stop=stop)
    order = found_order(result)
    covariances = np.concatenate([case.covariances[:1], result.y])
    model, remedy = _realized(covariances, order, effort.realization_rows)
    row = {
        "stops at": stopping_rule(stop),
        "true order": case.system.order,
        "order found": order,
        "order realised": None if model is None else model.order,
        "mu": problem.mu,
        "gap": result.gap,
        "||B X||": result.history.violation[-1],
        "covariance error, as observed": _error(case.covariances[1:], truth[: case.paper.columns]),
        "covariance error, recovered": _error(result.y, truth),
        "covariance error, realised": (
            None if model is None else _error(model.covariances(case.paper.lags)[1:], truth)
        ),
        "largest error of a pole": (
            None if model is None else _largest_pole_error(case.system.poles, model.poles)
        ),
        "noise floor added": remedy,
    }
    return row, np.zeros(0, complex) if model is None else model.poles


def _realized(covariances: NDArray, order: int, rows: int) -> tuple[StateSpace | None, bool]:
    """Return a system with these covariances, and whether it needed a noise floor.

    If the model of this order is not stable, the largest lower order with a stable model is
    taken; None if there is none.
    """
    for lower in range(order, 0, -1):
        try:
            return realize(covariances, lower, rows=rows), False
        except NotPositiveReal:
            return realize(covariances, lower, rows=rows, noise_floor="auto"), True
        except ValueError:
            continue
    return None, False


def _error(got: NDArray, truth: NDArray) -> float:
    return float(np.linalg.norm(got - truth) / np.linalg.norm(truth))


def _largest_pole_error(true_poles: NDArray, poles: NDArray) -> float:
    """Return the largest distance from a true pole to the nearest one found."""
    return float(np.max(np.min(np.abs(true_poles[:, None] - poles[None, :]), axis=1)))

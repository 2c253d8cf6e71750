"""Stochastic system realisation: all methods against time, and a case where the order is there.

Figure 1 of the paper and what it leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from ..model.effective_rank import effective_rank
from ..solvers.driver import Result, Stop
from ..systems.realization import NotPositiveReal, realize
from ..systems.state_space import StateSpace
from . import figures
from .cases import COLUMNS, NOISE, ROWS, Case, all_cases, well_posed
from .comparison import LAM, METHODS, Curve, compare, comparison_rows, tune
from .output import Row, write_about, write_table

REALIZATION_ROWS = 11  # few: the late lags hold little but noise


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
    cases = all_cases(quick, seed)
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
                curves = []
                for method in METHODS:
                    bar.set_postfix_str(f"{name} {case.size} {method.name}")
                    factor = factors.get(method.name)
                    curves.append(compare(case, method, factor, 0.5 if quick else 6.0))
                    bar.update()
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
    """Number of singular values of X that are not negligible beside mu."""
    return effective_rank(result.X, result.problem.mu)


@dataclass
class Recovered:
    """Poles of one seed: those of the true system and of the realised one."""

    seed: int
    true_poles: np.ndarray
    poles: np.ndarray


def _recovered(quick: bool, seed: int, bar: tqdm) -> tuple[Row, Recovered]:
    """From a record to a realised system, for one seed of the well-posed case."""
    bar.set_postfix_str(f"well-posed, seed {seed}")
    case = well_posed(4 if quick else 20, seed, quick)
    problem = case.problem("reform2")
    stop = Stop(max_iter=100, xtol=None, rtol=None, gap=1e-3)
    result = METHODS[0].run(problem, ones=case.ones, stop=stop)  # GCGLS
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


def _realized(covariances: np.ndarray, order: int) -> tuple[StateSpace | None, bool]:
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

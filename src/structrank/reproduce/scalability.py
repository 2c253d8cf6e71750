"""Time against size, as in the paper: its four largest matrices, GCGLS and GCG."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from ..model.lowrank import LowRank
from ..model.objective import mu_max
from ..model.problem import Problem
from ..solvers import gcg, gcgls
from ..solvers.driver import ConvergenceWarning, Result, Stop, uninterrupted
from ..systems.covariances import empirical_covariances, realization_problem
from ..systems.random_systems import random_system
from . import figures
from .output import write_about, write_table

ROWS, COLUMNS, ORDER, SAMPLES, NOISE, LAM = 41, 200, 10, 1000, 0.05, 1.0
OUTPUTS = (50, 100, 150, 200)  # M x N = 2050 x 10000 ... 8200 x 40000
# Seconds the paper's source gives for GCGLS and GCG on a machine of 2014.
PRINTED = {"GCGLS": (28.1, 116.0, 642.2, 1591.0), "GCG": (106.3, 507.3, 1162.4, 4249.2)}


@dataclass(frozen=True)
class Timing:
    """One run."""

    method: str
    rows: int
    columns: int
    values: int  # in the signal
    seconds: float
    iterations: int
    rank: int
    objective: float


def scalability_problem(outputs: int, *, seed: int = 0) -> Problem:
    """The paper's set-up at spectral norm one, mu at half of mu_max."""
    system = random_system(outputs, ORDER, normalization="spectral", rng=seed)
    rng = np.random.default_rng([seed, 1])  # apart from that of the system
    record = system.simulate(steps=SAMPLES, rng=rng, noise=NOISE)
    covariances = empirical_covariances(record, COLUMNS)
    mu = 0.5 * mu_max(realization_problem(covariances, ROWS, COLUMNS, 1.0))
    return realization_problem(covariances, ROWS, COLUMNS, mu)


def reproduce_scalability(
    folder: Path, *, quick: bool = False, seed: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figure and table.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        Matrices a hundred times smaller.
    seed : int
        Of the data.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The table, as Markdown.
    """
    sizes = tuple(n // 10 for n in OUTPUTS) if quick else OUTPUTS
    timings = []
    with tqdm(total=2 * len(sizes), desc="scalability", disable=not progress) as bar:
        for n in sizes:
            problem = scalability_problem(n, seed=seed)
            for name, solver in (("GCGLS", gcgls), ("GCG", gcg)):
                bar.set_postfix_str(f"{ROWS * n} x {COLUMNS * n} {name}")
                timings.append(_timed(name, solver, problem))
                bar.update()
    rows = [
        {
            "method": t.method,
            "M x N": f"{t.rows} x {t.columns}",
            "signal values": t.values,
            "iterations": t.iterations,
            "rank": t.rank,
            "objective": t.objective,
            "seconds": t.seconds,
            "paper, seconds": None if quick else PRINTED[t.method][sizes.index(t.rows // ROWS)],
        }
        for t in timings
    ]
    figures.times(timings, folder / "scalability.png")
    write_about(folder, {"experiment": "scalability", "quick": quick, "seeds": [seed], "lam": LAM})
    return [write_table(folder / "scalability", rows)]


def _timed(name: str, solver: Callable[..., Result], problem: Problem) -> Timing:
    start = LowRank.ones(problem.structure.shape, problem.b)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = uninterrupted(solver(problem, LAM, penalty="difference", start=start, stop=Stop()))
    seconds = time.perf_counter() - began
    values = int(np.prod(problem.structure.signal_shape))
    rows, columns = problem.structure.shape
    return Timing(
        name, rows, columns, values, seconds, result.iterations, result.rank, result.objective
    )

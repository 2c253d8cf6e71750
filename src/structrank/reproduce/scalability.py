"""Time against size, as in the paper: its four largest matrices, GCGLS and GCG."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..solvers.stopping import Stop
from ..systems import empirical_covariances, random_system, realization_problem
from . import figures
from .cases import PaperSystem, observed
from .methods import GCG, GCGLS, Method
from .output import Row, write_about, write_table


@dataclass(frozen=True)
class PaperSizes:
    """The paper's largest matrices, and the times that its source gives."""

    system: PaperSystem = field(default_factory=lambda: PaperSystem(rows=41, columns=200))
    outputs: tuple[int, ...] = (50, 100, 150, 200)  # M x N = 2050 x 10000 ... 8200 x 40000
    mu_share: float = 0.5  # mu over mu_max, above which the solution is zero
    quick_divisor: int = 10  # outputs are divided by it in a quick run
    # Seconds by method and size, on a machine of 2014.
    seconds: dict[str, tuple[float, ...]] = field(
        default_factory=lambda: {
            "GCGLS": (28.1, 116.0, 642.2, 1591.0),
            "GCG": (106.3, 507.3, 1162.4, 4249.2),
        }
    )


SIZES = PaperSizes()


@dataclass(frozen=True)
class Timing:
    """One run."""

    method: str
    rows: int
    columns: int
    values: int  # values of the signal
    seconds: float
    iterations: int
    rank: int
    objective: float


def scalability_problem(outputs: int, *, rng: int = 0) -> Problem:
    """State the paper's problem at spectral norm one, with mu at half of mu_max.

    Parameters
    ----------
    outputs : int
        Outputs of the system, the paper's n.
    rng : int
        Seed for the system and its record.

    Returns
    -------
    Problem
    """
    paper = SIZES.system
    system = random_system(outputs, paper.order, normalization="spectral", rng=rng)
    record = observed(system, paper.samples, paper.noise, rng=rng)
    covariances = empirical_covariances(record, paper.columns)
    mu = SIZES.mu_share * mu_max(realization_problem(covariances, paper.rows, paper.columns, 1.0))
    return realization_problem(covariances, paper.rows, paper.columns, mu)


def reproduce_scalability(
    folder: Path, *, quick: bool = False, rng: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figure and table.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        Matrices with a hundredth of the entries.
    rng : int
        Seed for the data.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The table, as Markdown.
    """
    divisor = SIZES.quick_divisor if quick else 1
    timings, rows = [], []
    with tqdm(total=2 * len(SIZES.outputs), desc="scalability", disable=not progress) as bar:
        for number, outputs in enumerate(SIZES.outputs):
            problem = scalability_problem(outputs // divisor, rng=rng)
            for method in (GCGLS, GCG):
                bar.set_postfix_str(f"{SIZES.system.size(outputs // divisor)} {method.name}")
                timings.append(_timed(method, problem))
                printed = None if quick else SIZES.seconds[method.name][number]
                rows.append(_row(timings[-1], printed))
                bar.update()
    figures.times(timings, folder / "scalability.png")
    write_about(
        folder, {"experiment": "scalability", "quick": quick, "seeds": [rng], "lam": GCGLS.lam}
    )
    return [write_table(folder / "scalability", rows)]


def _row(timing: Timing, printed: float | None) -> Row:
    return {
        "method": timing.method,
        "M x N": f"{timing.rows} x {timing.columns}",
        "signal values": timing.values,
        "iterations": timing.iterations,
        "rank": timing.rank,
        "objective": timing.objective,
        "seconds": timing.seconds,
        "paper, seconds": printed,
    }


def _timed(method: Method, problem: Problem) -> Timing:
    began = time.perf_counter()
    result = method.run(problem, ones=True, stop=Stop())
    seconds = time.perf_counter() - began
    values = int(np.prod(problem.structure.signal_shape))
    rows, columns = problem.structure.shape
    return Timing(
        method.name,
        rows,
        columns,
        values,
        seconds,
        result.iterations,
        result.rank,
        result.objective,
    )

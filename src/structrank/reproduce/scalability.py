"""Time against size, Figure 1 of the paper: its four largest matrices, GCGLS and GCG.

The paper does not print the data of this figure. Two kinds are run: those that it prints for its
other experiment (unit nuclear norm, mu = 0.1), and unit spectral norm with mu = mu_max / 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..solvers.stopping import Stop
from ..systems import empirical_covariances, random_system, realization_problem
from . import figures
from .cases import PaperSystem, observed
from .comparison import stopping_rule
from .methods import ALGORITHM_1, GCGLS, PAPER_RULE, Method
from .output import Row, write_about, write_table


@dataclass(frozen=True)
class PaperSizes:
    """The paper's largest matrices, and the times that its source gives."""

    system: PaperSystem = field(default_factory=lambda: PaperSystem(rows=41, columns=200))
    outputs: tuple[int, ...] = (50, 100, 150, 200)  # M x N = 2050 x 10000 ... 8200 x 40000
    mu_share: float = 0.5  # mu over mu_max, above which the solution is zero
    quick_divisor: int = 10  # outputs are divided by it in a quick run
    run_seconds: float = 60.0  # per run: with mu below the noise, defaults go to ranks of hundreds
    # Seconds by method and size, on a machine of 2014.
    seconds: dict[str, tuple[float, ...]] = field(
        default_factory=lambda: {
            "GCGLS": (28.1, 116.0, 642.2, 1591.0),
            "GCG": (106.3, 507.3, 1162.4, 4249.2),
        }
    )


SIZES = PaperSizes()
DATA: dict[str, dict[str, Any]] = {
    "nuclear norm 1, mu = 0.1": {"normalization": "nuclear", "mu": PaperSystem.mu_reform2},
    "spectral norm 1, mu = mu_max / 2": {"normalization": "spectral"},
}


@dataclass(frozen=True)
class Timing:
    """One run."""

    data: str
    method: str
    form: str
    step: str | None
    rows: int
    columns: int
    values: int  # values of the signal
    seconds: float
    iterations: int
    rank: int
    objective: float
    gap: float
    mu: float
    stop: Stop
    ended: str


def scalability_problem(
    outputs: int, *, normalization: str = "spectral", mu: float | None = None, rng: int = 0
) -> Problem:
    """State the problem at one of the paper's largest sizes.

    Parameters
    ----------
    outputs : int
        Outputs of the system, the paper's n.
    normalization : str
        Which norm of D, E and F is one, as in `random_system`.
    mu : float, optional
        Default: half of mu_max, above which the solution is zero.
    rng : int
        Seed for the system and its record.

    Returns
    -------
    Problem
    """
    paper = SIZES.system
    system = random_system(outputs, paper.order, normalization=normalization, rng=rng)
    record = observed(system, paper.samples, paper.noise, rng=rng)
    covariances = empirical_covariances(record, paper.columns)
    problem = realization_problem(covariances, paper.rows, paper.columns, mu or 1.0)
    return problem if mu is not None else replace(problem, mu=SIZES.mu_share * mu_max(problem))


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
    runs = list(product(enumerate(SIZES.outputs), DATA.items()))
    timings, rows = [], []
    with tqdm(total=len(runs) * len(ALGORITHM_1), desc="scalability", disable=not progress) as bar:
        for (number, outputs), (data, options) in runs:
            problem = scalability_problem(outputs // divisor, rng=rng, **options)
            for method in ALGORITHM_1:
                bar.set_postfix_str(f"{SIZES.system.size(outputs // divisor)} {method.label}")
                timings.append(_timed(data, method, problem))
                printed = None if quick else SIZES.seconds[method.name][number]
                rows.append(_row(timings[-1], printed))
                bar.update()
    figures.times(timings, folder / "scalability.png")
    about = {"experiment": "scalability", "quick": quick, "seeds": [rng], "lam": GCGLS.lam}
    write_about(folder, about)
    return [write_table(folder / "scalability", rows)]


def _row(timing: Timing, printed: float | None) -> Row:
    return {
        "data": timing.data,
        "M x N": f"{timing.rows} x {timing.columns}",
        "method": timing.method,
        "form": timing.form,
        "step": timing.step,
        "stops at": stopping_rule(timing.stop),
        "mu": timing.mu,
        "signal values": timing.values,
        "iterations": timing.iterations,
        "rank": timing.rank,
        "objective": timing.objective,
        "gap": timing.gap,
        "ended": timing.ended,
        "seconds": timing.seconds,
        "paper, seconds": printed,
    }


def _timed(data: str, method: Method, problem: Problem) -> Timing:
    stop = method.stop(replace(PAPER_RULE, max_time=SIZES.run_seconds))
    result = method.run(problem, ones=True, stop=stop)
    rows, columns = problem.structure.shape
    return Timing(
        data,
        method.name,
        method.form,
        method.step,
        rows,
        columns,
        values=int(np.prod(problem.structure.signal_shape)),
        seconds=result.history.time[-1],
        iterations=result.iterations,
        rank=result.rank,
        objective=result.objective,
        gap=result.gap,
        mu=problem.mu,
        stop=stop,
        ended=result.status.name,
    )

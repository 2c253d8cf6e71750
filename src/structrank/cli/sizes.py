"""The command that tells, before a run, how large it is and how long it takes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from ..solvers.driver import ConvergenceWarning
from . import common
from .inputs import read_signal

if TYPE_CHECKING:
    from ..model.problem import Problem

RANKS = (1, 5, 20)
PEAK = 29  # times the factors: what `benchmarks.scaling` has measured
STEPS, SECONDS = 3, 5.0  # of the run that measures the time


@click.command()
@common.input_options
@common.window_option
@common.channels_option
@common.rank_option
def info(
    file: Path,
    columns: list[str] | None,
    variable: str | None,
    index: str | None,
    channels: int | str | None,
    window: int | tuple[int, ...] | None,
    rank: int | None,
) -> None:
    """Tell what memory and time FILE will take.

    The memory of the factors is exact; the peak is that of long signals, as measured. The time of
    a step is measured by a few steps of the solver on the signal. A recovery makes tens to
    hundreds of them, more for a higher rank.

    \b
    Examples:
      structrank info signal.csv
      structrank info volume.npy --window 8,8,8
    """  # noqa: D301
    from .._array import fft_length
    from ..signals.recovery import hankel_problem
    from ..structures import Hankel

    given = read_signal(file, columns, variable, index, channels)
    values = given.table.values
    problem = hankel_problem(values, window, given.channels)
    structure = problem.structure
    assert isinstance(structure, Hankel)
    seen = int(np.count_nonzero(~np.isnan(values)))
    rows, width = structure.shape
    kind = problem.b.dtype
    lines = [
        ("signal", f"{_times(values.shape)} of {kind}, {seen} values seen"),
        *([] if given.index is None else [("index", given.index)]),
        ("matrix", f"{rows} x {width}, never formed ({_size(rows * width * kind.itemsize)})"),
        ("FFT lengths", _times(tuple(map(fft_length, structure.lengths)))),
    ]
    for number in RANKS if rank is None else (rank,):
        factors = (rows + width) * number * kind.itemsize
        text = f"factors {_size(factors)}, peak about {_size(PEAK * factors)}"
        lines.append((f"rank {number}", text))
    lines.append(("a step", _measured(problem)))
    click.echo("\n".join(f"{name:<13}{text}" for name, text in lines))


def _measured(problem: Problem) -> str:
    """The time of a step of the solver on this problem."""
    from .. import Stop, gcgls, mu_max

    largest = mu_max(problem, 1.0)
    if largest == 0:
        return "nothing to do: the signal is zero"
    stop = Stop(STEPS, xtol=None, rtol=None, max_time=SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = gcgls(replace(problem, mu=largest / 10), lam=1.0, stop=stop)
    count = max(result.iterations, 1)
    return f"{result.history.time[-1] / count:.2g} s (mean of {count})"


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"

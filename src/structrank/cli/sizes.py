"""The command that tells, before a run, how much memory and time it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..io.limits import size_words
from . import options as shared
from . import printing
from .inputs import read_signal

if TYPE_CHECKING:
    from ..model.problem import Problem
    from ..structures import Hankel


@dataclass(frozen=True)
class SizeEstimate:
    """How memory and time are estimated.

    Parameters
    ----------
    ranks : tuple of int
        Ranks to show if none is given. Chosen: typical ones.
    peak : float
        Peak memory, relative to that of the factors. Measured in `benchmarks.scaling`.
    steps : int
        Number of solver steps to time. Chosen: the fewest that give a mean.
    seconds : float
        Time limit of these steps. Chosen: a command that only informs should be short.
    mu_share : float
        The mu of these steps, relative to the smallest at which the solution is zero. Chosen: a
        usual value, at which a step does all of its work.
    """

    ranks: tuple[int, ...] = (1, 5, 20)
    peak: float = 29
    steps: int = 3
    seconds: float = 5.0
    mu_share: float = 0.1


ESTIMATE = SizeEstimate()


@click.command()
@shared.input_options
@shared.window_option
@shared.channels_option
@shared.rank_option
@shared.control_options
def info(
    file: Path,
    columns: list[str] | None,
    reading: dict[str, Any],
    channels: int | str | None,
    window: int | tuple[int, ...] | None,
    rank: int | None,
    effort: str,
    max_time: float | None,
) -> None:
    """Tell how much memory and time FILE needs.

    Time and peak memory of the command recover are forecast: a quick look says which estimate is
    likely, and steps of it are timed. The memory of the factors of the convex solution is exact,
    their peak memory is estimated from measurements of long signals. The time per step is measured
    in a few steps of its solver.

    \b
    Examples:
      structrank info signal.csv
      structrank info volume.npy --window 8,8,8
      structrank info volume.npy --effort fast
    """  # noqa: D301
    from .. import estimate_cost
    from .._array import fft_length
    from ..signals.problems import hankel_problem

    given = read_signal(file, columns, reading, channels)
    values = given.table.values
    problem = hankel_problem(values, window, given.channels)
    structure = cast("Hankel", problem.structure)
    rows, width = structure.shape
    dtype = problem.b.dtype
    lines = [
        ("signal", f"{_times(values.shape)} of {dtype}, {problem.sample_count} values seen"),
        *([] if given.index is None else [("index", given.index)]),
        (
            "matrix",
            f"{rows} x {width}, never formed ({size_words(rows * width * dtype.itemsize)})",
        ),
        ("FFT lengths", _times(tuple(map(fft_length, structure.lengths)))),
    ]
    for number in ESTIMATE.ranks if rank is None else (rank,):
        factors = (rows + width) * number * dtype.itemsize
        text = f"factors {size_words(factors)}, peak about {size_words(ESTIMATE.peak * factors)}"
        lines.append((f"rank {number}", text))
    lines.append(("per step", _measured(problem, ESTIMATE)))
    cost = estimate_cost(
        given.samples,
        window=window,
        channels=given.channels,
        rank=rank,
        effort=effort,
        max_time=max_time,
    )
    time = printing.between(cost.seconds, printing.seconds)
    memory = printing.between(cost.memory, size_words)
    lines.append(("recover", f"{time}, peak memory {memory} ({cost.route}, probably)"))
    printing.tell("\n".join(f"{name:<13}{text}" for name, text in lines), False)


def _measured(problem: Problem, estimate: SizeEstimate) -> str:
    """The time per step of the solver on this problem."""
    from ..model import mu_max
    from ..solvers.conditional_gradient import gcgls_states
    from ..solvers.driver import iterate
    from ..solvers.stopping import Stop

    largest = mu_max(problem, 1.0)
    if largest == 0:
        return "nothing to do: the signal is zero"
    stop = Stop(estimate.steps, xtol=None, rtol=None, max_time=estimate.seconds)
    problem = replace(problem, mu=estimate.mu_share * largest)
    result = iterate(gcgls_states(problem, 1.0, stop=stop), problem, stop=stop)
    count = max(result.iterations, 1)
    return f"{result.history.time[-1] / count:.2g} s (mean of {count})"


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))

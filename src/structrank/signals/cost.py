"""How long a recovery will take, and how much memory it needs: an estimate before the call."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

from .._checks import first_given, one_of, positive, positive_int
from ..io.limits import machine_memory, size_words
from ..modal.refitting import reweighted
from ..model.problem import Problem
from ..solvers.memory_demand import MemoryDemand, available_memory, what_to_change
from ..views import Summary
from .channel_groups import problem_of
from .channel_units import channel_units
from .channels import unwrapped
from .effort import checked
from .estimation import AUTO
from .plan import Counts, Plan
from .problems import hankel_problem
from .request import KINDS
from .solutions import Known
from .solve_cost import SolveCounts, solve_seconds
from .work import time_convex_step


@dataclass(frozen=True, repr=False)
class Cost(Summary):
    """What a recovery is expected to take; the result of `estimate_cost`.

    Attributes
    ----------
    seconds : tuple of float
        Range of its time.
    memory : tuple of float
        Range of the bytes that it needs at its peak, beyond those of the samples.
    route : str
        What the range is based on: the estimate that is likely to be returned.
    available : float or None
        Bytes that there are, on the device of a problem or on this machine; None if unknown.
    advice : str
        What to change if they are not enough; empty if they are.

    Examples
    --------
    >>> from structrank import Cost
    >>> Cost((0.5, 2.0), (1e6, 4e6), "fit of the modes")
    Cost
      time          0.5 to 2 s
      peak memory   1 to 4 MB
      estimate      fit of the modes, probably
    """

    seconds: tuple[float, float]
    memory: tuple[float, float]
    route: str
    available: float | None = None
    advice: str = ""

    @property
    def middle(self) -> float:
        """The time in the middle of the range, on a logarithmic scale."""
        return sqrt(self.seconds[0] * self.seconds[1])

    def _rows(self) -> list[tuple[str, str]]:
        low, high = self.seconds
        return [
            ("time", f"{low:.2g} to {high:.2g} s"),
            ("peak memory", f"{self.memory[0] / 1e6:.2g} to {self.memory[1] / 1e6:.2g} MB"),
            ("estimate", f"{self.route}, probably"),
            *([("too large", self.advice)] if self.advice else []),
        ]


def estimate_cost(
    samples: Any,
    *,
    window: int | tuple[int, ...] | None = None,
    channels: int | None = None,
    mu: float | None = None,
    rank: int | None = None,
    kind: str = AUTO,
    robust: bool = False,
    effort: str = "normal",
    max_time: float | None = None,
    counts: Counts = Counts(),
) -> Cost:
    """Estimate the time and the memory of `recover`, or of a solve, without the call.

    A quick look at some of the samples says whether a few modes explain them. Then single steps of
    the fits that will be made are timed on this machine, on a piece of the signal if it is long.
    The time of the call is about that of these steps times their usual number. The estimate takes a
    few milliseconds for short signals, and a small share of the call for long ones.

    For a `Problem`, it is the cost of `gcgls` to a gap of 1e-3 on the device of its samples, if the
    signal is a few modes above the noise: from the time of FFTs there, and from the number of
    arrays that are held at the same time, which is measured.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, xarray DataArray, or Problem
        NaN where missing.
    window, channels, mu, kind, robust, effort, max_time
        As in `recover`; for a problem, only `max_time`.
    rank : int, optional
        As in `recover`; for a problem, the rank of its solution. Default: 8.
    counts : Counts
        How many steps are made.

    Returns
    -------
    Cost

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import estimate_cost
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(1000)
    >>> cost = estimate_cost(np.cos(0.3 * np.arange(1000)) + noise)
    >>> cost.route, cost.seconds[1] < 60
    ('fit of the modes', True)
    """
    if isinstance(samples, Problem):
        recovering: dict[str, Any] = {"window": window, "channels": channels, "mu": mu}
        recovering |= {"robust": robust, "kind": None if kind == AUTO else kind}
        recovering |= {"effort": None if effort == "normal" else effort}
        return _cost_of_problem(samples, rank, max_time, recovering)
    one_of(kind, KINDS, "kind")
    (tried, limit), known = checked(effort, max_time), Known(mu, rank)
    given, axis = unwrapped(samples, channels)
    units = channel_units(given.values, axis, centre=rank is mu is None, scale=mu is None)
    problem = reweighted(hankel_problem(units.common(given.values), window, axis))
    plan = Plan(problem, known, kind, tried)
    seconds = plan.seconds(counts) + (robust and counts.robust * time_convex_step(problem))
    if rank is mu is None and plan.has_groups:  # channels are also fitted alone
        alone = Plan(reweighted(problem_of(problem, (0,))), known, kind, tried)
        seconds = counts.groups * seconds + plan.channels * alone.seconds(counts)
    low, high = seconds / counts.spread, seconds * counts.spread
    if limit is not None:
        low, high = min(low, limit), min(high, limit)
    memory = plan.memory(counts)
    least, available = memory / counts.memory_spread, machine_memory()
    advice = ""
    if available is not None and least > available:
        advice = _too_large(least, available, "divide it into patches (recover_patches)")
    return Cost((low, high), (least, memory * counts.memory_spread), plan.route, available, advice)


def _cost_of_problem(
    problem: Problem, rank: int | None, max_time: float | None, recovering: dict[str, Any]
) -> Cost:
    """Estimate the cost of `gcgls`."""
    name = first_given(recovering)
    if name is not None:
        raise ValueError(f"{name} is given, but it is for recover, and samples is a Problem")
    demand, spread = MemoryDemand(), SolveCounts().spread
    rank = demand.rank if rank is None else positive_int(rank, "rank")
    limit = inf if max_time is None else positive(max_time, "max_time")
    seconds, memory = solve_seconds(problem, rank), demand.bytes(problem, rank)
    least, available = memory / demand.spread, available_memory(problem)
    advice = ""
    if available is not None and least > available:
        advice = _too_large(least, available, what_to_change(problem))
    return Cost(
        (min(seconds / spread, limit), min(seconds * spread, limit)),
        (least, memory * demand.spread),
        f"gcgls at rank {rank}",
        available,
        advice,
    )


def _too_large(least: float, available: float, change: str) -> str:
    return (
        f"at least {size_words(least)} of memory are needed, and {size_words(available)} are "
        f"available: {change}"
    )

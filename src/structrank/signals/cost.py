"""How long a recovery will take, and how much memory it needs: an estimate before the call."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import Any

from .._array import is_complex
from .._checks import first_given, one_of, positive, positive_int
from ..io.limits import machine_memory, size_words
from ..modal.fit import LevenbergMarquardt
from ..modal.modes import Modes
from ..modal.refit_result import number_count
from ..modal.refitting import reweighted
from ..model.problem import Problem
from ..solvers.memory_demand import MemoryDemand, available_memory, what_to_change
from ..views import Summary
from .candidates import ComponentModel, ConvexSolution, FitOfModes, LocalWindows
from .candidates.component_model import has_components
from .channel_groups import GroupSearch, problem_of
from .channel_units import channel_units
from .channels import channel_count, unwrapped
from .direct_modes import DirectSearch, explained
from .effort import Effort, checked
from .estimation import AUTO
from .evening import is_uneven
from .problems import hankel_problem
from .request import KINDS
from .solutions import Known
from .solve_cost import SolveCounts, solve_seconds
from .window_sizes import WindowSearch, local_windows
from .windows import samples_of
from .work import (
    Timing,
    look_for_modes,
    time_components,
    time_convex_step,
    time_local_fit,
    time_modes,
)


@dataclass(frozen=True)
class Counts:
    """How many steps a recovery makes; medians of signals like those of `benchmarks.cost`.

    Attributes
    ----------
    modes : int
        Steps of a search for modes that explain the samples, in units of one step for all modes.
    doubtful : int
        The same for modes that do not.
    patient : int
        The same for few samples, where the search only ends when they are used up.
    local, local_in_space : int
        Steps of a local fit for one window and one part, along one axis and along several.
    components : int
        Steps of the search for the components of one series, which also predict held-out parts.
    convex : int
        Steps of convex solutions, for mu, rank and the held-out parts of a short signal.
    alone : int
        The same if the convex solution is the only one, as mu is lowered while that helps.
    robust : int
        Steps of convex solutions that find gross errors.
    groups : int
        Fits of all channels, one of them to find channels that share nothing.
    spread : float
        From the middle of the range of times to its ends, as a factor.
    memory_spread : float
        The same for memory.
    copies : int
        Arrays of the largest kind that are in memory at once.
    rank, factors : int
        Usual rank of a convex solution, and its peak memory over that of its factors
        (`benchmarks.scaling`).
    """

    modes: int = 85
    doubtful: int = 400
    patient: int = 600
    local: int = 20
    local_in_space: int = 35
    components: int = 80
    convex: int = 35
    alone: int = 1000
    robust: int = 4
    groups: int = 2
    spread: float = 2.5
    memory_spread: float = 2.0
    copies: int = 4
    rank: int = 20
    factors: int = 29


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
    plan = _Plan(problem, known, kind, tried)
    seconds = plan.seconds(counts) + (robust and counts.robust * time_convex_step(problem))
    if rank is mu is None and plan.has_groups:  # channels are also fitted alone
        alone = _Plan(reweighted(problem_of(problem, (0,))), known, kind, tried)
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


class _Plan:
    """What `recover` is going to do with some samples, by a quick look at them."""

    def __init__(self, problem: Problem, known: Known, kind: str, effort: Effort) -> None:
        self.problem, self.effort = problem, effort
        structure: Any = problem.structure
        self.lengths: tuple[int, ...] = structure.lengths
        self.channels = channel_count(problem)
        self.size = prod(self.lengths) * self.channels
        self.modes: Modes | None = None
        self.modal = False
        self.directly = known.mu is None and kind != ConvexSolution.name
        if self.directly:
            self.modes = look_for_modes(problem)
            self.modal = any(explained(problem, self.modes, DirectSearch()))
        alone = known.rank is None and self.size > effort.short
        self.windows = [] if self.modal or kind != AUTO else self._windows()
        self.convex = not self.modal and not (self.windows and alone)
        models = any(isinstance(c, ComponentModel) for c in effort.candidates)
        self.components = bool(self.windows) and models and has_components(problem)

    @property
    def has_groups(self) -> bool:
        """Whether channels that share nothing are looked for."""
        one = len(self.lengths) > 1 or self.size > GroupSearch().most_values
        return self.channels > 1 and not one

    @property
    def route(self) -> str:
        """The label of the estimate that is likely to be returned."""
        if self.windows:
            return (
                f"{FitOfModes.label} or {LocalWindows.label}" if self.convex else LocalWindows.label
            )
        return FitOfModes.label if self.directly else ConvexSolution.label

    @property
    def _search(self) -> WindowSearch:
        return next(c.search for c in self.effort.candidates if isinstance(c, LocalWindows))

    def _windows(self) -> list[tuple[int, ...]]:
        return local_windows(self.lengths, self.channels, self._search)

    @property
    def _rows(self) -> int:
        """Modes that are fitted together, where a conjugate pair counts once."""
        if self.modes is None:
            return Timing().modes
        pairs = 1 if is_complex(self.problem.b) else 2
        return max(len(self.modes) // pairs, 1)

    def seconds(self, counts: Counts) -> float:
        """The time of all that is planned."""
        total = 0.0
        if self.directly:
            step = time_modes(self.problem, self._rows)
            few = number_count(self.problem) <= DirectSearch().few
            count = counts.modes if self.modal else counts.patient if few else counts.doubtful
            total += count * (step.call + step.fit + step.spectrum)
        if self.windows:
            steps = counts.local if len(self.lengths) == 1 else counts.local_in_space
            total += steps * self._parts * self._local_steps()
        if self.components:
            series = samples_of(self.problem).reshape(self.lengths[0], -1).T
            total += counts.components * sum(map(time_components, series))
        if self.convex:
            count = counts.convex if self.directly else counts.alone
            total += count * time_convex_step(self.problem)
        return total

    @property
    def _parts(self) -> int:
        return self.effort.parts.count(self.size)

    def _local_steps(self) -> float:
        """Seconds of one step of a local fit with every window."""
        samples, search = samples_of(self.problem), self._search
        steps = [time_local_fit(samples, window, thorough=True) for window in self.windows]
        if len(self.lengths) > 1:  # the smallest window is tried in two ways
            steps.append(time_local_fit(samples, self.windows[0], thorough=False))
        return sum(steps) * (2 if is_uneven(samples, search) else 1)

    def memory(self, counts: Counts) -> float:
        """Bytes of the largest arrays of all that is planned."""
        number = 16 if is_complex(self.problem.b) else 8
        arrays = [self.size * number]
        if self.directly:
            padded = 2 ** min(len(self.lengths), 2) * prod(self.lengths) * 16
            waves = self.problem.sample_count // self.channels * self._rows * 16
            jacobian = min(LevenbergMarquardt().chunk_entries, 4 * waves // 16) * number
            arrays += [padded, waves, jacobian]
        for window in self.windows:
            rows = prod(window) * self.channels
            if len(self.lengths) == 1:
                arrays.append(self.size * rows * number)  # bands
            else:
                arrays.append(self.size * self.channels * 8 + rows**2 * number)  # transfer
        peak = counts.copies * max(arrays)
        if self.convex:
            factors = sum(self.problem.structure.shape) * counts.rank * number
            peak = max(peak, counts.factors * factors)
        return float(peak)

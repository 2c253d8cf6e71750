"""What `recover` is going to do with some samples: steps of several kinds, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from .._array import is_complex
from ..modal.fit import LevenbergMarquardt
from ..modal.modes import Modes
from ..modal.refit_result import number_count
from ..model.problem import Problem
from .candidates import ComponentModel, ConvexSolution, FitOfModes, LocalWindows
from .candidates.component_model import has_components
from .channel_groups import GroupSearch
from .channels import channel_count
from .direct_modes import DirectSearch, explained
from .effort import Effort
from .estimation import AUTO
from .evening import is_uneven
from .solutions import Known
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


class Plan:
    """What `recover` is going to do with some samples, by a quick look at them.

    Parameters
    ----------
    problem : Problem
    known : Known
    kind : str
        "auto", or the name of the only candidate.
    effort : Effort
    """

    def __init__(self, problem: Problem, known: Known, kind: str, effort: Effort) -> None:
        self.problem, self.effort = problem, effort
        structure: Any = problem.structure
        self.lengths: tuple[int, ...] = structure.lengths
        self.channels = channel_count(problem)
        self.size = prod(self.lengths) * self.channels
        self.modes: Modes | None = None
        self.modal = False
        self.directly = known.mu is None and kind in (AUTO, FitOfModes.name)
        if self.directly:
            self.modes = look_for_modes(problem)
            self.modal = any(explained(problem, self.modes, DirectSearch()))
        alone = known.rank is None and self.size > effort.short
        self.windows = [] if self.modal or kind != AUTO else self._windows()
        only = kind == ComponentModel.name
        self.convex = not (only or self.modal or (self.windows and alone))
        competes = kind == AUTO and any(isinstance(c, ComponentModel) for c in effort.candidates)
        self.components = (only or competes) and not self.modal and has_components(problem)

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
        if self.directly:
            return FitOfModes.label
        return ConvexSolution.label if self.convex else ComponentModel.label

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

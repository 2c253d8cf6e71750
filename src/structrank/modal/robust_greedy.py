"""Find modes one after the other in samples some of which are gross errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._array import NDArray, is_complex, to_numpy
from .._watch import tell, time_is_up
from ..model.problem import Problem
from ..model.scale import TwoLevels, deviation_by_median
from .greedy import GreedySearch, ModeFinder
from .modes import Modes
from .rate_fit import RateFit, RateSteps
from .samples import ChannelSamples, channel_samples


@dataclass(frozen=True)
class RobustGreedySearch:
    """How modes and gross errors are searched together; set by hand, as in `benchmarks.outliers`.

    Attributes
    ----------
    clip : float
        While modes are searched, residuals beyond so many standard deviations count as if they
        were there. The usual value for Huber's loss.
    far : float
        A gross error is more than this many standard deviations away.
    patience : int
        Modes in a row without a better information criterion, before the search ends.
    rounds : int
        Fits without the gross errors of the last fit, at most.
    support : float
        Samples at which every mode is large, at least: a mode at fewer may be a gross error at the
        start of the signal.
    rounding : float
        Residuals below this share of the samples are rounding errors.
    greedy : GreedySearch
    again : RateSteps
        Of a fit without gross errors, which starts near its end.
    """

    clip: float = 2.0
    far: float = 4.0
    patience: int = 2
    rounds: int = 20
    support: float = 5.0
    rounding: float = 1e-10
    again: RateSteps = field(default_factory=lambda: RateSteps(4, 1e-1))
    greedy: GreedySearch = field(
        default_factory=lambda: GreedySearch(patience=2, patient_numbers=0)
    )


@dataclass(frozen=True, eq=False)
class RobustModes:
    """Modes, and the samples that do not follow them.

    Attributes
    ----------
    modes : Modes
    outliers : ndarray of bool
        In the shape of the samples.
    """

    modes: Modes
    outliers: NDArray


def robust_modes(
    problem: Problem,
    *,
    rank: int | None = None,
    undamped: bool = False,
    search: RobustGreedySearch = RobustGreedySearch(),
) -> RobustModes | None:
    """Find modes that explain most samples, and the samples that they do not explain.

    As in `greedy_modes`, a new mode starts at the largest peak of the spectrum of what is left, and
    all modes are fitted together. But large residuals are clipped: the weights are those of Huber's
    loss, with a threshold from the median of the residuals. The information criterion says when to
    stop. Then samples that are far from the fit are left out and the others are fitted
    again, until the same ones are far. The caller has to check what it finds.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes; its samples are seen or not, and have weights.
    rank : int, optional
        Number of modes, if known.
    undamped : bool
        Keep all dampings at zero.
    search : RobustGreedySearch

    Returns
    -------
    RobustModes or None
        None if nothing is found.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.modal.robust_greedy import robust_modes
    >>> t = np.arange(60)
    >>> b = np.exp(0.6j * t)
    >>> b[[7, 40]] = 2.0
    >>> found = robust_modes(Problem(Hankel(60, window=30), b, mu=1.0))
    >>> len(found.modes), np.flatnonzero(found.outliers)
    (1, array([ 7, 40]))
    """
    structure: Any = problem.structure
    weights = to_numpy(problem.sample_weights).astype(float)
    kind = complex if is_complex(problem.b) else float
    samples = channel_samples(structure.lengths, weights, to_numpy(problem.b).astype(kind))
    found = _RobustFinder(samples, undamped, search).search(rank)
    if found is None:
        return None
    outliers = np.zeros((*structure.lengths, len(samples)), dtype=bool)
    for c, channel in enumerate(samples):
        outliers[..., c][tuple(channel.places)] = ~found.kept[c]
    return RobustModes(found.fit.model.to_modes(), outliers.reshape(weights.shape))


class _Split:
    """A fit, and which samples it explains."""

    def __init__(self, fit: RateFit, levels: TwoLevels, samples: list[ChannelSamples]) -> None:
        self.fit, self.levels = fit, levels
        ends = np.cumsum([len(channel.values) for channel in samples])[:-1]
        self.kept = np.split(~levels.far, ends)
        self.samples = samples

    @cached_property
    def information(self) -> float:
        """The information criterion."""
        parameters = int(np.count_nonzero(self.fit.model.free))
        return self.levels.information(parameters, self.fit.rank)

    @property
    def support(self) -> float:
        """The least number of samples at which a mode is large."""
        waves = [np.abs(self.fit.model.waves(channel.places)) ** 2 for channel in self.samples]
        sums = [np.sum(np.concatenate(waves) ** power, axis=0) for power in (1, 2)]
        return float(np.min(sums[0] ** 2 / sums[1], initial=np.inf))


class _RobustFinder:
    """The search for the modes of some samples, and for gross errors in them."""

    def __init__(
        self, samples: list[ChannelSamples], undamped: bool, settings: RobustGreedySearch
    ) -> None:
        self.samples, self.undamped, self.settings = samples, undamped, settings
        values = np.concatenate([channel.values for channel in samples])
        self.least = settings.rounding * deviation_by_median(values)

    def search(self, rank: int | None) -> _Split | None:
        """The fit with the least information criterion; None if nothing is found."""
        if not self.least:  # most samples are zero
            return None
        search = self.settings
        finder = ModeFinder(self.samples, self.undamped, search.greedy)
        at = best = self._split(finder.empty())
        since = 0
        while since <= search.patience and len(at.fit.model.paired) < search.greedy.most:
            at = self._without_errors(finder.with_new_mode(self._clipped(at.fit)))
            if rank is not None and at.fit.rank >= rank:
                return at if at.fit.rank == rank else None
            since += 1
            if at.information < best.information and at.support >= search.support:
                best, since = at, 0
            tell(f"modes and gross errors: {at.fit.rank} modes, noise {at.levels.noise:.3g}")
            if at.levels.noise <= self.least or time_is_up():
                break
        return best if rank is None and best.fit.rank else None

    def _clipped(self, fit: RateFit) -> RateFit:
        """The same modes, with the weights of Huber's loss for their residuals."""
        residuals = self._residuals(fit)
        noise = self._levels(residuals).noise  # zero if most samples are
        bound = max(self.settings.clip * noise, np.finfo(float).tiny)
        samples = [
            replace(channel, weights=np.sqrt(bound / np.maximum(np.abs(residual), bound)))
            for channel, residual in zip(self.samples, residuals, strict=True)
        ]
        return RateFit.of(fit.model, samples)

    def _without_errors(self, fit: RateFit) -> _Split:
        """Fit the samples that are not far from the fit, until these are the same."""
        split = self._split(fit)
        for _ in range(self.settings.rounds):
            samples = [c.only(inside) for c, inside in zip(self.samples, split.kept, strict=True)]
            fit = RateFit.of(split.fit.model, samples).refined(self.settings.again)
            last, split = split, self._split(fit)
            if all(np.array_equal(a, b) for a, b in zip(last.kept, split.kept, strict=True)):
                break
        return split

    def _split(self, fit: RateFit) -> _Split:
        return _Split(fit, self._levels(self._residuals(fit)), self.samples)

    def _residuals(self, fit: RateFit) -> list[NDArray]:
        """What the modes leave of all samples of each channel."""
        return [
            channel.values - fit.model.values(channel.places, c)
            for c, channel in enumerate(self.samples)
        ]

    def _levels(self, residuals: list[NDArray]) -> TwoLevels:
        """Noise and gross errors; the noise by the median of residuals that are not far."""
        residual = np.concatenate(residuals)
        noise = max(deviation_by_median(residual), self.least)
        near = np.abs(residual) <= self.settings.far * noise
        return TwoLevels(
            residual, max(deviation_by_median(residual[near]), self.least), self.settings.far
        )

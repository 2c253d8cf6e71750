"""Find modes one after the other: the largest peak of what is left, then a fit of all together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft

from .._array import NDArray, is_complex, to_numpy
from .._watch import tell, time_is_up
from ..model.problem import Problem
from .model import ModalModel
from .modes import Modes
from .rate_fit import RateFit, RateSteps
from .refit_result import information_criterion
from .samples import ChannelSamples, channel_samples
from .screening import too_many_modes


@dataclass(frozen=True)
class GreedySearch:
    """How modes are searched one after the other; set by hand, checked with benchmarks.peers."""

    most: int = 40  # modes that are no longer few: the search ends without a result
    patience: int = 3  # modes in a row without a better information criterion, before it ends
    patient_numbers: int = 512  # up to so many real numbers, it only ends when they are used up
    short: int = 512  # real numbers of a record in which rough frequencies leave no peaks, at most
    gain: float = 1.0  # by which the information criterion has to improve
    met: float = 1e-12  # a residual below this share of the samples is rounding
    removals: int = 3  # smallest modes that are tried without, at the end
    clear: float = 10.0  # log(numbers) noise variances: a larger mode of many numbers is not tried
    oversampling: int = 2  # of spectra with one or two axes
    decays: tuple[float, ...] = (0.0, 1.0, 3.0, 10.0, 30.0)  # over a signal with one axis
    joint_work: float = 2e6  # samples times squared modes: beyond, only neighbours move together
    neighbours: float = 2.0  # distance of neighbours, in 1/length
    coarse: RateSteps = field(default_factory=lambda: RateSteps(20, 1e-2))  # after every mode
    fine: RateSteps = field(default_factory=lambda: RateSteps(50, 1e-9))  # at the end


def greedy_modes(
    problem: Problem,
    *,
    rank: int | None = None,
    undamped: bool = False,
    search: GreedySearch = GreedySearch(),
) -> Modes | None:
    """Find modes that explain the samples, as many as the information criterion asks for.

    A new mode starts at the largest peak of the spectrum of the residual, damped or not. Then all
    modes are fitted together. This is fast, and it also finds close frequencies from few samples,
    but it is no convex method: the caller has to check what it finds.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes; its samples are seen or not, and have weights.
    rank : int, optional
        Number of modes, if known.
    undamped : bool
        Keep all dampings at zero.
    search : GreedySearch

    Returns
    -------
    Modes or None
        None if an operator measures, if nothing is found, not as many modes as asked for, or more
        modes than a few.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Mask, Problem
    >>> from structrank.modal.greedy import greedy_modes
    >>> t = np.arange(60)
    >>> seen = np.random.default_rng(0).random(60) < 0.5
    >>> b = np.exp(0.6j * t) + np.exp(0.7j * t)
    >>> problem = Problem(Hankel(60, window=30), b, mu=1.0, measure=Mask(seen))
    >>> (2 * np.pi * greedy_modes(problem).frequencies[:, 0]).round(6)
    array([0.6, 0.7])
    """
    if problem.sample_weights is None:
        return None
    samples = greedy_samples(problem)
    if rank is None and too_many_modes(samples, search.most):
        return None
    finder = ModeFinder(samples, undamped, search)
    best = finder.by_information() if rank is None else finder.at_rank(rank)
    return None if best is None else best.refined(search.fine).model.to_modes()


def needed_modes(
    problem: Problem, modes: Modes, *, undamped: bool, search: GreedySearch = GreedySearch()
) -> Modes:
    """Leave out the small modes that the information criterion does not ask for.

    Parameters
    ----------
    problem : Problem
        Its samples are seen or not, and have weights.
    modes : Modes
        Where the fits start.
    undamped : bool
        Keep all dampings at zero.
    search : GreedySearch

    Returns
    -------
    Modes
        The modes themselves if all are needed.
    """
    finder = ModeFinder(greedy_samples(problem), undamped, search)
    model = ModalModel.of(modes, finder.shape, real=finder.real, undamped=undamped)
    fit = finder.without_small_modes(RateFit.of(model, finder.samples).refined(search.coarse))
    return modes if fit.rank == len(modes) else fit.refined(search.fine).model.to_modes()


def greedy_samples(problem: Problem) -> list[ChannelSamples]:
    """Return the samples of each channel of a problem in double precision, with their weights."""
    structure: Any = problem.structure
    weights = to_numpy(problem.sample_weights).astype(float)
    kind = complex if is_complex(problem.b) else float
    return channel_samples(structure.lengths, weights, to_numpy(problem.b).astype(kind))


class ModeFinder:
    """The search for the modes of some samples."""

    def __init__(self, samples: list[ChannelSamples], undamped: bool, search: GreedySearch) -> None:
        self.samples, self.undamped, self.search = samples, undamped, search
        self.shape = samples[0].shape
        self.real = not np.iscomplexobj(samples[0].values)
        self.seen = sum(len(channel.values) for channel in samples)
        self.numbers = self.seen * (1 if self.real else 2)
        self.square = float(sum(np.sum(np.abs(channel.target) ** 2) for channel in samples))

    def by_information(self, start: RateFit | None = None) -> RateFit | None:
        """The fit with the smallest information criterion; None without modes, or with many.

        Modes are added to those of a start, if there is one.
        """
        search = self.search
        best, since = self.empty() if start is None else start, 0
        for fit in self._additions(best):
            better = self._information(fit) < self._information(best) - search.gain
            best, since = (fit, 0) if better else (best, since + 1)
            improving = since <= search.patience
            if len(fit.model.paired) == search.most:
                if improving:
                    return None
                break
            if not improving and self.numbers > search.patient_numbers:
                break
        if self.numbers > search.short:
            best = best.refined(search.fine)  # a rough frequency leaves peaks beside it
        best = self.without_small_modes(best)
        return best if best.rank else None

    def at_rank(self, rank: int) -> RateFit | None:
        """The fit of so many modes; None if they are not found, fewer if time is up."""
        best = self.empty()
        for best in self._additions(self.empty()):
            if best.rank >= rank:
                break
        return best if best.rank == rank or (0 < best.rank < rank and time_is_up()) else None

    def empty(self) -> RateFit:
        """The fit without modes."""
        none = np.zeros((0, len(self.shape)))
        amplitudes = np.zeros((0, len(self.samples)), dtype=complex)
        no = np.zeros(0, dtype=bool)
        model = ModalModel(none, none, amplitudes, self.shape, self.real, no, no)
        return RateFit.of(model, self.samples)

    def _information(self, fit: RateFit) -> float:
        return information_criterion(
            fit.square,
            self.square,
            numbers=self.numbers,
            parameters=int(np.count_nonzero(fit.model.free)),
            rank=fit.rank,
        )

    def _additions(self, fit: RateFit) -> Iterator[RateFit]:
        """Fits with one mode more each, until the samples are met or used up."""
        while fit.square > self.search.met**2 * self.square:
            fit = self.with_new_mode(fit)
            if not np.isfinite(self._information(fit)):
                return
            share = np.sqrt(fit.square / self.square)
            tell(f"modes: {fit.rank} found, {share:.2g} of the samples left")
            yield fit
            if time_is_up():
                return

    def with_new_mode(self, fit: RateFit) -> RateFit:
        """The fit with one mode more, from the largest peak of what is left."""
        frequency, damping = self._peak(fit)
        model = fit.model.appended(frequency, damping, self.undamped)
        count = len(model.paired)
        if self.seen * count**2 <= self.search.joint_work:
            return RateFit.of(model, fit.samples).refined(self.search.coarse)
        distance = np.abs(model.frequencies - frequency)
        distance = np.minimum(distance, np.abs(1 - distance)) * np.array(self.shape)
        near = np.all(distance < self.search.neighbours, axis=1)
        return fit.with_neighbours(model, near, self.search.coarse)

    def _peak(self, fit: RateFit) -> tuple[NDArray, NDArray]:
        """Frequency and damping of the mode to add."""
        search, axes = self.search, len(self.shape)
        factor = search.oversampling if axes < 3 else 1
        padded = tuple(scipy.fft.next_fast_len(factor * size) for size in self.shape)
        decays = search.decays if axes == 1 and not self.undamped else (0.0,)
        best, place, decay = -np.inf, 0, 0.0
        for exponent in decays:
            power = np.zeros(padded)
            for channel, residual in zip(fit.samples, fit.residuals, strict=True):
                power += channel.spectrum(residual, exponent / self.shape[0], padded)
            top, worth = self._followed(power)
            if worth > best:
                best, place, decay = worth, top, exponent / self.shape[0]
        frequency = np.array(np.unravel_index(place, padded)) / np.array(padded)
        damping = np.zeros(axes)
        damping[0] = decay
        return frequency - np.round(frequency), damping

    def _followed(self, power: NDArray) -> tuple[int, float]:
        """Where a spectrum has the peak to follow, and how much that is worth."""
        top = int(np.argmax(power))
        return top, float(power.flat[top])

    def without_small_modes(self, fit: RateFit) -> RateFit:
        """The fit without modes that the information criterion does not ask for."""
        search, clear = self.search, np.inf
        if self.numbers > search.short:
            clear = np.sqrt(search.clear * np.log(self.numbers) * fit.square / self.numbers)
        while len(fit.model.paired) > 1 and not time_is_up():
            sizes = fit.sizes()
            order = [k for k in np.argsort(sizes)[: search.removals] if sizes[k] <= clear]
            if not order:
                break
            fewer = [fit.without(k).refined(search.coarse) for k in order]
            best = min(fewer, key=self._information)
            if self._information(best) >= self._information(fit):
                break
            fit = best
        return fit

"""Modes that meet exact samples, where one search after the other goes astray."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import maximum_filter

from .._array import NDArray
from .._watch import time_is_up
from ..model.problem import Problem
from .greedy import GreedySearch, ModeFinder, greedy_samples
from .modes import Modes
from .rate_fit import RateFit
from .samples import ChannelSamples


@dataclass(frozen=True)
class Restarts:
    """How often modes are searched anew, and when they meet the samples.

    Attributes
    ----------
    count : int
        Searches for damped modes, and as many for undamped ones. Of 40 real signals of 127 samples
        with 3 to 10 damped modes, 20% to 50% seen, one search finds 24, ten find 33, 20 find 35.
    numbers : int
        Most real numbers in the samples. With more, one search is enough, and many take long.
    share : float
        A search ends when it has more parameters than this share of the numbers: with less to
        spare, hardly any search ends at the right modes.
    spread : float
        A peak with exp(-spread) of the largest power is exp(1) times less likely to be followed.
        With 1 instead of 0.3, less is found.
    met : float
        A residual below this share of the samples is rounding.
    greedy : GreedySearch
        How modes are searched one after the other.
    """

    count: int = 6
    numbers: int = 160
    share: float = 0.8
    spread: float = 0.3
    met: float = 1e-9
    greedy: GreedySearch = field(default_factory=lambda: GreedySearch(oversampling=4))


def modes_by_restarts(
    problem: Problem,
    rng: np.random.Generator,
    undamped: bool = False,
    restarts: Restarts = Restarts(),
) -> Modes | None:
    """Find modes that meet a few exact samples, by searches that follow other peaks each.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes; its samples are seen or not, and have weights.
    rng : numpy.random.Generator
        Chooses which peaks are followed.
    undamped : bool
        Keep all dampings at zero.
    restarts : Restarts

    Returns
    -------
    Modes or None
        None if no search meets the samples with fewer parameters than they have numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Mask, Problem
    >>> from structrank.modal.restarts import modes_by_restarts
    >>> t = np.arange(60)
    >>> seen = np.random.default_rng(0).random(60) < 0.3
    >>> b = np.exp(0.6j * t) + np.exp(0.7j * t)
    >>> problem = Problem(Hankel(60, window=30), b, mu=1.0, measure=Mask(seen))
    >>> found = modes_by_restarts(problem, np.random.default_rng(0), undamped=True)
    >>> (2 * np.pi * found.frequencies[:, 0]).round(6)
    array([0.6, 0.7])
    """
    samples = greedy_samples(problem)
    finder = _RandomFinder(samples, undamped, restarts, rng)
    if finder.numbers > restarts.numbers:
        return None
    for _ in range(restarts.count):
        fit = finder.to_the_end(restarts.share)
        if fit.square <= restarts.met**2 * finder.square:
            return finder.without_small_modes(fit).refined(finder.search.fine).model.to_modes()
        if time_is_up():
            break
    return None


class _RandomFinder(ModeFinder):
    """A search that follows one of the large peaks, by chance."""

    def __init__(
        self,
        samples: list[ChannelSamples],
        undamped: bool,
        restarts: Restarts,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(samples, undamped, restarts.greedy)
        self._spread, self._rng = restarts.spread, rng

    def to_the_end(self, share: float) -> RateFit:
        """The fit of as many modes as meet the samples, or have so many parameters."""
        fit = self.empty()
        for fit in self._additions(self.empty()):
            if np.count_nonzero(fit.model.free) > share * self.numbers:
                break
        return fit.refined(self.search.fine)

    def _followed(self, power: NDArray) -> tuple[int, float]:
        peaks = np.flatnonzero((power == maximum_filter(power, 3, mode="wrap")) & (power > 0))
        if not len(peaks):
            return 0, 0.0
        chances = np.log(power.flat[peaks]) / self._spread + self._rng.gumbel(size=len(peaks))
        best = int(np.argmax(chances))
        return int(peaks[best]), float(chances[best])

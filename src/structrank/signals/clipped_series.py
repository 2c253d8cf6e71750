"""Components of a series whose clipped samples are only known to lie beyond a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from .._array import NDArray
from ..components import FittedSeries, fit_series
from ..components.draws import signal_draws
from ..components.likelihood import ComponentFit
from .truncation import truncated_moments


@dataclass(frozen=True)
class Propagation:
    """How inequalities become Gaussian samples: expectation propagation; set by hand.

    Attributes
    ----------
    rounds : int
        Passes of the smoother at most.
    step : float
        Share of a change that is made at once, so that neighbours do not overshoot.
    accuracy : float
        It ends when the signal moves by no more than this share of the deviation of the series.
    largest : float
        Variances are at most this many times that of the series: the inequality says nothing.
    fits : int
        Times that components are found: first without clipped samples, then with their means.
    """

    rounds: int = 30
    step: float = 0.7
    accuracy: float = 1e-3
    largest: float = 1e6
    fits: int = 2


@dataclass(frozen=True, eq=False)
class Clipping:
    """Which samples are clipped, and where.

    Attributes
    ----------
    low, high : ndarray of bool
        Samples at or below the lowest level, and at or above the highest one.
    levels : tuple of float
        These levels, infinite where there is none.
    """

    low: NDArray
    high: NDArray
    levels: tuple[float, float]

    @classmethod
    def of(cls, values: NDArray, levels: tuple[float, float]) -> Clipping:
        """Find the clipped samples."""
        with np.errstate(invalid="ignore"):
            return cls(values <= levels[0], values >= levels[1], levels)

    @property
    def all(self) -> NDArray:
        """All clipped samples."""
        return self.low | self.high

    def loglikelihood(self, values: NDArray, mean: NDArray, deviation: float) -> float:
        """Log-likelihood of independent Gaussian samples, NaN where missing, and inequalities."""
        plain = ~np.isnan(values) & ~self.all
        z = ((values - mean) / deviation)[plain]
        low, high = ((level - mean) / deviation for level in self.levels)
        seen = -np.sum(z**2) / 2 - len(z) * np.log(deviation * np.sqrt(2 * np.pi))
        return float(seen + np.sum(log_ndtr(low[self.low])) + np.sum(log_ndtr(-high[self.high])))

    def moments(self, mean: NDArray, deviation: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and deviation of Gaussian numbers at clipped samples, given the inequalities.

        Parameters
        ----------
        mean, deviation : ndarray
            For all samples.

        Returns
        -------
        mean, deviation : ndarray
            Of clipped samples; unchanged for others.
        """
        below, above = (
            truncated_moments(mean, deviation, *sides)
            for sides in ((-np.inf, self.levels[0]), (self.levels[1], np.inf))
        )
        pairs = zip(below, above, (mean, deviation), strict=True)
        means, deviations = (
            np.where(self.low, one, np.where(self.high, other, plain))
            for one, other, plain in pairs
        )
        return means, deviations


@dataclass(frozen=True, eq=False)
class ClippedSeries:
    """A series given samples and inequalities.

    Attributes
    ----------
    signal, stderr, deviation : ndarray
        As for `SeriesEstimate`.
    sigma : float
        Standard deviation of the white noise.
    fitted : FittedSeries
        The components.
    sites : list of tuple of ndarray
        For each fit, samples and standard deviations of their noise: Gaussian samples in place of
        the inequalities.
    samples : ndarray
        The samples, with means of clipped ones.
    """

    signal: NDArray
    stderr: NDArray
    deviation: NDArray
    sigma: float
    fitted: FittedSeries
    sites: list[tuple[NDArray, NDArray]]
    samples: NDArray

    def draws(self, left: NDArray, n: int, rng: np.random.Generator) -> NDArray:
        """Joint draws of the signal, NaN where it is left as it is."""
        chosen = rng.multinomial(n, self.fitted.weights)
        parts = [
            signal_draws(fit, y, int(count), rng, noise)
            for fit, (y, noise), count in zip(self.fitted.fits, self.sites, chosen, strict=True)
            if count
        ]
        draws = self.fitted.offset + self.fitted.scale * np.concatenate(parts)
        return np.where(left, np.nan, rng.permutation(draws))


def fit_clipped(
    values: NDArray,
    clipping: Clipping,
    *,
    periods: Sequence[float] = (),
    how: Propagation = Propagation(),
) -> ClippedSeries:
    """Find the components of a series with clipped samples, and the series.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    clipping : Clipping
    periods : sequence of float
        Known seasons, in samples.
    how : Propagation

    Returns
    -------
    ClippedSeries

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.clipped_series import Clipping, fit_clipped
    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal(60))
    >>> clipping = Clipping.of(walk, (-np.inf, 0.5))
    >>> found = fit_clipped(np.minimum(walk, 0.5), clipping)
    >>> bool(np.all(found.samples[clipping.high] > 0.5))
    True
    """
    y = np.where(clipping.all, np.nan, values)
    found, samples = None, y
    for _ in range(how.fits):
        fitted = fit_series(samples, periods=periods)
        found = condition(fitted, y, clipping, how)
        samples = found.samples
    assert found is not None  # there is one fit at least
    return found


def condition(
    fitted: FittedSeries, y: NDArray, clipping: Clipping, how: Propagation = Propagation()
) -> ClippedSeries:
    """Estimate a series by given components, from samples and inequalities.

    Parameters
    ----------
    fitted : FittedSeries
    y : ndarray
        NaN where missing or clipped.
    clipping : Clipping
    how : Propagation
    """
    offset, scale = fitted.offset, fitted.scale
    low, high = ((level - offset) / scale for level in clipping.levels)
    own = replace(clipping, levels=(low, high))
    parts = [_propagated(fit, (y - offset) / scale, own, how) for fit in fitted.fits]
    w = fitted.weights
    means, variances, clipped = (np.array([p[k] for p in parts]) for k in range(3))
    white = np.array([np.exp(fit.values["white"]) for fit in fitted.fits])
    mean = w @ means
    variance = w @ (variances + (means - mean) ** 2)
    samples = np.where(clipping.all, offset + scale * (w @ clipped), y)
    return ClippedSeries(
        offset + scale * mean,
        scale * np.sqrt(variance),
        scale * np.sqrt(variance + w @ white),
        scale * float(np.sqrt(w @ white)),
        fitted,
        [p[3] for p in parts],
        samples,
    )


def _propagated(
    fit: ComponentFit, y: NDArray, clipping: Clipping, how: Propagation
) -> tuple[NDArray, NDArray, NDArray, tuple[NDArray, NDArray]]:
    """Means and variances of the signal, means of clipped samples, and Gaussian samples for these.

    A Gaussian sample has the precision and the shift (precision times value) of an inequality.
    """
    at, white = clipping.all, float(np.exp(fit.values["white"]))
    shown = fit.components.matrices(fit.parameters)[0][0]
    tiny = np.finfo(float).tiny
    precision, shift = np.zeros(len(y)), np.zeros(len(y))
    before = np.full(np.count_nonzero(at), np.inf)
    for _ in range(how.rounds):
        used = at & (precision > 1 / how.largest)
        own = 1 / np.where(used, precision, 1.0)
        site = np.where(at, np.where(used, shift * own, np.nan), y)
        noise = np.sqrt(np.where(used, white + own, white))
        found = fit.smooth([site], noise)
        mean, variance = found.states[:, :, 0, 0] @ shown, found.signal_variances[:, 0, 0]
        # The sample without its own inequality: less its Gaussian sample, with its noise.
        known, drop = 1 / np.maximum(variance, tiny), np.where(used, 1 / noise**2, 0.0)
        rest = 1 / np.maximum(known - drop, tiny)
        centre = rest * (known * mean - drop * np.where(used, site, 0.0))
        total = rest + white
        moment, spread = clipping.moments(centre, np.sqrt(total))
        sharp = 1 / np.maximum(spread**2, tiny)
        gained, pushed = np.maximum(sharp - 1 / total, 0.0), sharp * moment - centre / total
        precision += how.step * np.where(at, gained - precision, 0.0)
        shift += how.step * np.where(at, pushed - shift, 0.0)
        if np.max(np.abs(mean[at] - before), initial=0.0) < how.accuracy:
            break
        before = mean[at]
    return mean, variance, moment, (site, noise)

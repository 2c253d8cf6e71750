"""Fits of a series at any times: which processes it needs, by likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._array import NDArray
from .._watch import tell, time_is_up
from .irregular import ContinuousComponents
from .irregular_floor import seen_values_at
from .irregular_likelihood import ContinuousFit, most_likely_at
from .mixture import Averaging, SeriesEstimate
from .noise_floor import SeenValues
from .periodogram import strongest_frequency


@dataclass(frozen=True)
class ContinuousSearch:
    """What is tried for a series at irregular times; set by hand on simulated series.

    Attributes
    ----------
    oscillators : int
        Oscillators at most.
    patience : int
        Oscillators in a row that may not help before the search ends.
    slack : float
        Fits are kept whose criterion exceeds the best one by less.
    """

    oscillators: int = 6
    patience: int = 2
    slack: float = 10.0


@dataclass(frozen=True, eq=False)
class ContinuousSeries:
    """Fits of a series at irregular times.

    Attributes
    ----------
    fits : list of ContinuousFit
        Those with the most information first.
    offset, scale, unit : float
        What was subtracted from the samples, what they were divided by, and the unit of time.
    """

    fits: list[ContinuousFit]
    offset: float
    scale: float
    unit: float

    @cached_property
    def weights(self) -> NDArray:
        """The weight of each fit."""
        criteria = np.array([fit.information for fit in self.fits])
        weights = np.exp((criteria[0] - criteria) / (2 * Averaging().temperature))
        return np.asarray(weights / np.sum(weights))

    @property
    def optimism(self) -> float:
        """Factor by which errors grow, as the parameters were fitted (Akaike's final error)."""
        counts = [len(fit.parameters) / len(fit.components.times) for fit in self.fits]
        share = min(float(self.weights @ counts), 0.5)
        return float(np.sqrt((1 + share) / (1 - share)))

    def smooth(
        self, times: NDArray, samples: NDArray, noise: NDArray | None = None
    ) -> SeriesEstimate:
        """Estimate the series at times in increasing order.

        Parameters
        ----------
        times, samples : ndarray
            NaN where the series is not seen but wanted.
        noise : ndarray, optional
            Standard deviation of the noise of every sample, if it is known.
        """
        y, at = (samples - self.offset) / self.scale, times / self.unit
        own = None if noise is None else noise / self.scale
        found = [fit.at(at).signal(y, own) for fit in self.fits]
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        mean = self.weights @ means
        variance = self.weights @ (variances + (means - mean) ** 2)
        sigma = None
        if own is None:
            white = np.sqrt(self.weights @ [np.exp(fit.values["white"]) for fit in self.fits])
            own, sigma = white, self.scale * float(white)
        variance, factor = np.maximum(variance, 0.0), self.scale * self.optimism
        return SeriesEstimate(
            self.offset + self.scale * mean,
            factor * np.sqrt(variance),
            factor * np.sqrt(variance + own**2),
            sigma,
        )

    def estimate(
        self, times: NDArray, samples: NDArray, noise: NDArray | None = None
    ) -> SeriesEstimate:
        """The same, with errors at seen samples for as much noise as there can be.

        Parameters
        ----------
        times, samples, noise : ndarray
            As for `smooth`.
        """
        found = self.smooth(times, samples, noise)
        if noise is not None:
            return found
        y, at = (samples - self.offset) / self.scale, times / self.unit
        each = [seen_values_at(fit.at(at), y) for fit in self.fits]
        seen = SeenValues.average(each, self.weights, ~np.isnan(y), self.offset, self.scale)
        stderr, deviation = seen.errors(found.signal, self.optimism, found.stderr, found.deviation)
        return replace(found, stderr=stderr, deviation=deviation)


def fit_irregular(
    times: NDArray,
    samples: NDArray,
    noise: NDArray | None = None,
    search: ContinuousSearch = ContinuousSearch(),
) -> ContinuousSeries:
    """Find the processes that a series at irregular times is the sum of.

    Parameters
    ----------
    times, samples : ndarray
        Times in increasing order, and samples without gaps.
    noise : ndarray, optional
        Standard deviation of the noise of every sample. Default: one that is fitted for all.
    search : ContinuousSearch

    Returns
    -------
    ContinuousSeries

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.irregular_search import ContinuousSearch, fit_irregular
    >>> rng = np.random.default_rng(0)
    >>> times = np.sort(50 * rng.random(40))
    >>> samples = np.cos(0.7 * times) + 0.1 * rng.standard_normal(40)
    >>> fitted = fit_irregular(times, samples, search=ContinuousSearch(oscillators=1))
    >>> [round(frequency / fitted.unit, 2) for frequency in fitted.fits[0].frequencies]
    [0.7]
    """
    offset, scale = float(np.mean(samples)), float(np.std(samples)) or 1.0
    unit = float(times[-1] - times[0]) / (len(times) - 1)
    series = _Series(times / unit, (samples - offset) / scale, noise, search)
    if noise is not None:
        series = replace(series, noise=noise / scale)
    fits = series.with_oscillators(series.fitted((), True, [], {}))
    best = min(fits, key=lambda fit: fit.information)
    for drifts, cycle in (((), False), (("level", "slope"), False), (("level",), True)):
        free = noise is None or drifts or cycle or best.frequencies
        if free and not time_is_up():
            fits.append(series.fitted(drifts, cycle, best.frequencies, best.values))
    fits.sort(key=lambda fit: fit.information)
    kept = [fit for fit in fits if fit.information <= fits[0].information + search.slack]
    return ContinuousSeries(kept, offset, scale, unit)


@dataclass(frozen=True, eq=False)
class _Series:
    """A series of deviation one in units of its mean step, and how it is fitted."""

    times: NDArray
    y: NDArray
    noise: NDArray | None
    search: ContinuousSearch

    def fitted(
        self,
        drifts: tuple[str, ...],
        cycle: bool,
        frequencies: Sequence[float],
        start: dict[str, float],
    ) -> ContinuousFit:
        """Fit processes from a start, or from the usual one."""
        span = float(self.times[-1] - self.times[0])
        values = {"white": -2.0, "level": -3.0, "slope": -9.0, "cycle": -1.0, "cycle rate": -1.0}
        for k, frequency in enumerate(frequencies):
            wave = {f"size {k + 1}": -1.0, f"rate {k + 1}": float(np.log(0.3 / span))}
            values |= {**wave, f"frequency {k + 1}": frequency}
        measured = self.noise is not None
        components = ContinuousComponents(
            self.times, drifts, cycle, len(frequencies), measured=measured
        )
        # Where the noise has vanished, the likelihood is flat: from there it would not come back.
        white = max(values["white"], start.get("white", -np.inf))
        values |= {**start, "white": white}
        return most_likely_at(components, self.y, values, self.noise)

    def with_oscillators(self, fit: ContinuousFit) -> list[ContinuousFit]:
        """Add oscillators as long as they help; all fits on the way."""
        fits, best, idle = [fit], fit, 0
        tried: list[float] = []
        while best.components.oscillators < self.search.oscillators and idle < self.search.patience:
            if time_is_up():
                break
            known = [*best.frequencies, *tried]
            frequency = strongest_frequency(self.times, self.y, self.noise, known)
            components = best.components
            more = self.fitted(
                components.drifts, components.cycle, [*best.frequencies, frequency], best.values
            )
            tell(f"{len(best.frequencies) + 1} oscillators: criterion {more.information:.4g}")
            fits.append(more)
            if more.information < best.information:
                best, idle = more, 0
            else:
                tried, idle = [*tried, frequency], idle + 1
        return fits

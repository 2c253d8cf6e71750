"""Several fits of one series as one: their average, weighted by information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import NDArray
from ..io.saved_results import savable
from .likelihood import ComponentFit
from .noise_floor import SeenValues, seen_values


@savable()
@dataclass(frozen=True)
class Averaging:
    """How fits are weighted.

    Attributes
    ----------
    temperature : float
        By what differences of the information criterion are divided. With one, weights are those
        of Akaike; the criterion is uncertain, and 4 predicts gaps better (25 series, 30% missing
        at random and 20% in blocks; 1% and 3% less error than the best fit alone).
    """

    temperature: float = 4.0

    def weights(self, criteria: Sequence[float]) -> NDArray:
        """Weights of fits from their information criteria, the least one first."""
        excess = np.array(criteria) - criteria[0]
        weights = np.exp(-excess / (2 * self.temperature))
        return np.asarray(weights / np.sum(weights))


@dataclass(frozen=True, eq=False)
class SeriesEstimate:
    """What samples say about a series.

    Attributes
    ----------
    signal, stderr : ndarray
        The series without its white noise, and its standard error.
    deviation : ndarray
        Standard deviation of a new sample from the signal.
    sigma : float or None
        Standard deviation of the white noise; None if it is given for every sample.
    """

    signal: NDArray
    stderr: NDArray
    deviation: NDArray
    sigma: float | None

    def at(self, part: NDArray) -> SeriesEstimate:
        """The same at some of the values."""
        return SeriesEstimate(
            self.signal[part], self.stderr[part], self.deviation[part], self.sigma
        )

    def exponential(self) -> SeriesEstimate:
        """The same for the exponential of the series: its median, and deviations to first order."""
        signal = np.exp(self.signal)
        return SeriesEstimate(signal, signal * self.stderr, signal * self.deviation, None)


@savable()
@dataclass(frozen=True, eq=False)
class FittedSeries:
    """Fits of a series.

    Attributes
    ----------
    fits : list of ComponentFit
        Those with the most information first.
    offset, scale : float
        What was subtracted from the series, and what it was divided by then.
    averaging : Averaging
    noise : ndarray or None
        Standard deviation of the noise of every sample, in units of the scale, if it is known.
    logarithmic : bool
        They are fits of the logarithm of the series.
    """

    fits: list[ComponentFit]
    offset: float
    scale: float
    averaging: Averaging = Averaging()
    noise: NDArray | None = None
    logarithmic: bool = False

    @cached_property
    def weights(self) -> NDArray:
        """The weight of each fit."""
        return self.averaging.weights([fit.information for fit in self.fits])

    @property
    def order(self) -> int:
        """Number of states of the first fit."""
        return int(self.fits[0].components.states["autoregression"].stop)

    @property
    def optimism(self) -> float:
        """Factor by which errors grow for samples that the parameters were not fitted to.

        That of the final prediction error of Akaike.
        """
        counts = [len(fit.parameters) / max(fit.fitted, 1) for fit in self.fits]
        share = min(float(self.weights @ counts), 0.5)
        return float(np.sqrt((1 + share) / (1 - share)))

    def smooth(self, samples: Sequence[NDArray]) -> list[SeriesEstimate]:
        """Estimate series of the same length, each from samples of its own.

        Parameters
        ----------
        samples : sequence of ndarray
            NaN where missing. Samples without a logarithm count as missing if it is needed.
        """
        if self.logarithmic:
            samples = [np.log(np.where(y > 0, y, np.nan)) for y in samples]
        records = [(y - self.offset) / self.scale for y in samples]
        found = [fit.signals(records, self.noise) for fit in self.fits]
        averages = [self._average(one, self.noise) for one in zip(*found, strict=True)]
        return [one.exponential() for one in averages] if self.logarithmic else averages

    def held_out(self, samples: NDArray, parts: Sequence[NDArray]) -> list[SeriesEstimate]:
        """Estimate samples that are held out, part by part, from the others.

        Parameters
        ----------
        samples : ndarray
            NaN where missing.
        parts : sequence of ndarray of bool
            Only samples that are seen.

        Returns
        -------
        list of SeriesEstimate
            At the samples of each part.
        """
        if self.logarithmic:
            found = self.smooth([np.where(part, np.nan, samples) for part in parts])
            return [one.at(part) for one, part in zip(found, parts, strict=True)]
        record = (samples - self.offset) / self.scale
        each = [fit.held_out(record, parts, self.noise) for fit in self.fits]
        noises = [None if self.noise is None else self.noise[part] for part in parts]
        pairs = zip(zip(*each, strict=True), noises, strict=True)
        return [self._average(one, noise) for one, noise in pairs]

    def seen_values(self, samples: NDArray) -> SeenValues | None:
        """The series at its seen samples, if as much of it is noise as can be.

        None if the noise is known.

        Parameters
        ----------
        samples : ndarray
            NaN where missing.
        """
        if self.noise is not None:
            return None
        record = (samples - self.offset) / self.scale
        found = [seen_values(fit, record) for fit in self.fits]
        return SeenValues.average(found, self.weights, ~np.isnan(samples), self.offset, self.scale)

    def _average(
        self, found: Sequence[tuple[NDArray, NDArray]], noise: NDArray | None
    ) -> SeriesEstimate:
        """Mean and variance of a mixture of fits, from those of each."""
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        mean = self.weights @ means
        variance = self.weights @ (variances + (means - mean) ** 2)
        sigma, spread = None, noise
        if spread is None:
            sigma = np.sqrt(self.weights @ [np.exp(fit.values["white"]) for fit in self.fits])
            spread = sigma
        return SeriesEstimate(
            self.offset + self.scale * mean,
            self.scale * np.sqrt(variance),
            self.scale * np.sqrt(variance + spread**2),
            None if sigma is None else self.scale * float(sigma),
        )

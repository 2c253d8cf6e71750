"""How much of a series may be white noise, for errors at seen samples.

A fit divides a series into a signal and white noise. Samples hardly say where to divide: an
autoregressive part of some order describes a smooth signal and white noise about as well as both by
themselves do, and then the fit takes all noise for signal. What samples do say is the sum of both
spectra. The largest white noise that it can contain is its floor (the canonical decomposition of
Hillmer and Tiao, 1982). Errors at seen samples are those of the fit's signal if all of the floor is
noise. The division into signal and noise does not matter for values that are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray
from .given_series import GivenSeries
from .likelihood import ComponentFit


@dataclass(frozen=True)
class FloorRule:
    """Where the floor of a spectrum is.

    Attributes
    ----------
    frequencies : int
        Number of frequencies at which the spectrum is computed. Those of the floor are quiet, so
        narrow peaks between them do not matter.
    quiet : float
        The floor is the mean over this share of the frequencies, those with the least. The
        spectrum of a fit has ripples, so its minimum is below the noise. A quarter is quiet in
        signals that are sampled more than often enough.
    least : float
        Least white noise of a fit of a long series, over the floor. The posterior of noise of no
        size, by a filter, has no digits; so little more changes nothing.
    """

    frequencies: int = 64
    quiet: float = 0.25
    least: float = 1e-3


@dataclass(frozen=True, eq=False)
class SeenValues:
    """A series at its seen samples, if all of the floor is noise; channels are on later axes.

    Attributes
    ----------
    seen : ndarray of bool
    mean, variance : ndarray
        Of the signal; those of missing samples mean nothing.
    noise : float or ndarray
        Variance of the noise, of each channel if there are several.
    """

    seen: NDArray
    mean: NDArray
    variance: NDArray
    noise: float | NDArray

    @classmethod
    def average(
        cls,
        found: Sequence[tuple[NDArray, NDArray, float]],
        weights: NDArray,
        seen: NDArray,
        offset: float,
        scale: float,
    ) -> SeenValues:
        """Average of several fits, from mean, variance and noise of each.

        Parameters
        ----------
        found : sequence of tuple
            As `seen_values` returns them.
        weights, seen : ndarray
        offset, scale : float
            What was subtracted from the series, and what it was divided by then.
        """
        means, variances = (np.array(part) for part in list(zip(*found, strict=True))[:2])
        mean = weights @ means
        variance = weights @ (variances + (means - mean) ** 2)
        noise = float(weights @ [noise for *_, noise in found])
        return cls(seen, offset + scale * mean, scale**2 * variance, scale**2 * noise)

    def mean_square_errors(self, signal: NDArray, scale: float) -> NDArray:
        """Mean square errors of a signal at seen samples, which may be any estimate of it.

        Its distance from the mean is averaged over the samples, so that errors do not depend on
        the noise of a single one.

        Parameters
        ----------
        signal : ndarray
        scale : float
            Errors are so much larger than the fit believes, by samples that it did not see.
        """
        distance = np.where(self.seen, signal - self.mean, 0.0)
        mean = np.sum(distance**2, axis=0) / np.sum(self.seen, axis=0)
        return np.asarray(scale**2 * self.variance + mean)

    def errors(
        self, signal: NDArray, scale: float, stderr: NDArray, deviation: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Errors of a signal and of new samples, as deviations; elsewhere what is given.

        Parameters
        ----------
        signal, scale
            As for `mean_square_errors`.
        stderr, deviation : ndarray
            Those of values that are not seen.
        """
        squares = self.mean_square_errors(signal, scale)
        new = np.sqrt(squares + scale**2 * self.noise)
        return np.where(self.seen, np.sqrt(squares), stderr), np.where(self.seen, new, deviation)


def noise_floor(fit: ComponentFit, rule: FloorRule = FloorRule()) -> float:
    """White noise that may be hidden in the other components of a fit: its variance.

    Parameters
    ----------
    fit : ComponentFit
    rule : FloorRule

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.likelihood import ComponentFit
    >>> from structrank.components.model import Components
    >>> from structrank.components.noise_floor import noise_floor
    >>> walk = Components(samples=100, drifts=("level",))
    >>> fit = ComponentFit(walk, np.log([0.1, 4.0]), 0.0, 100)  # white noise, steps
    >>> print(f"{noise_floor(fit):.2f}")  # at the highest frequency: a quarter of the steps
    1.05
    """
    H, W, _ = fit.components.matrices(fit.parameters)
    size = H.shape[1]
    # No season has these frequencies, where its spectrum would be infinite.
    angles = np.pi * (np.arange(rule.frequencies) + np.sqrt(0.5)) / rule.frequencies
    resolvent = np.exp(1j * angles)[:, None, None] * np.eye(size) - H[1:]
    response = np.linalg.solve(np.swapaxes(resolvent, 1, 2), H[0][:, None])[..., 0]
    spectrum = np.abs(response) ** 2 @ np.diag(W)[1:]
    count = max(int(rule.quiet * rule.frequencies), 1)
    return float(np.mean(np.sort(spectrum)[:count]))


def seen_values(
    given: GivenSeries, rule: FloorRule = FloorRule()
) -> tuple[NDArray, NDArray, float]:
    """Mean and variance of the signal at seen samples if the floor is noise, and the noise.

    With the covariance K of samples, white noise of variance v in them has the mean v K^-1 y and
    the variances v - v^2 diag(K^-1) given all samples. K is known for short series. For long ones
    the smoother finds both for the noise of the fit, so they are known for more noise.

    Parameters
    ----------
    given : GivenSeries
        With white noise among the parameters of its fit.
    rule : FloorRule
    """
    fit = given.fit
    white = np.exp(fit.values["white"])
    noise = float(white + noise_floor(fit, rule))
    if given.dense is not None:
        return (*given.dense.with_noise(noise), noise)
    white = max(white, rule.least * noise)
    values = {**fit.values, "white": np.log(white)}
    fit = replace(fit, parameters=np.array([values[name] for name in fit.components.names]))
    ((signal, own),) = fit.signals([given.y])
    return (*with_more_noise(given.y, signal, own, white, noise), noise)


def with_more_noise(
    record: NDArray, signal: NDArray, own: NDArray, white: float, noise: float
) -> tuple[NDArray, NDArray]:
    """Mean and variance of the signal at seen samples if more of it is noise.

    Parameters
    ----------
    record : ndarray
    signal, own : ndarray
        Mean and variance of the signal if the noise has the variance `white`.
    white, noise : float
        Variances of the noise.
    """
    ratio = noise / white
    mean = record - ratio * (record - signal)
    return mean, np.maximum(noise - ratio**2 * (white - own), 0.0)

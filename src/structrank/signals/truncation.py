"""Gaussian numbers that are known to lie between bounds: exact moments and quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from .._array import NDArray


@dataclass(frozen=True)
class Quadrature:
    """How moments are integrated.

    Attributes
    ----------
    nodes : int
        Gauss-Legendre nodes. With 48, means and deviations have relative errors below 1e-8.
    reach : float
        The density is integrated down to exp(-reach) of its largest value, which is rounding.
    """

    nodes: int = 48
    reach: float = 38.0


def truncated_moments(
    mean: NDArray, deviation: NDArray, low: float, high: float, how: Quadrature = Quadrature()
) -> tuple[NDArray, NDArray]:
    """Mean and standard deviation of Gaussian numbers, given that they lie between bounds.

    Integrals over the part of the interval that counts lose no digits, even if the mean is far
    outside.

    Parameters
    ----------
    mean, deviation : ndarray
        Without the bounds. Where the deviation is not finite, the mean is moved to the bounds.
    low, high : float
        They may be infinite.
    how : Quadrature

    Returns
    -------
    mean, deviation : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.truncation import truncated_moments
    >>> mean, deviation = truncated_moments(np.zeros(1), np.ones(1), 0.0, np.inf)
    >>> (mean**2 * np.pi / 2).round(6), (deviation**2 + mean**2).round(6)
    (array([1.]), array([1.]))
    """
    a, b, usual = _standardised(mean, deviation, low, high)
    mode = np.clip(0.0, a, b)
    width = 2 * how.reach / (np.hypot(mode, np.sqrt(2 * how.reach)) + np.abs(mode))
    start, stop = np.maximum(a, mode - width), np.minimum(b, mode + width)
    nodes, weights = np.polynomial.legendre.leggauss(how.nodes)
    steps = (stop - start)[..., None] * (nodes + 1) / 2
    x = (start - mode)[..., None] + steps  # from the mode on
    density = weights * np.exp(-x * (x / 2 + mode[..., None]))
    density /= np.sum(density, axis=-1, keepdims=True)
    centre = np.sum(density * x, axis=-1)
    spread = np.sqrt(np.sum(density * (x - centre[..., None]) ** 2, axis=-1))
    moved = np.clip(mean + np.where(usual, deviation, 0.0) * (mode + centre), low, high)
    return (
        np.where(usual, moved, np.clip(mean, low, high)),
        np.where(usual, deviation * spread, deviation),
    )


def truncated_quantile(
    probability: float | NDArray, mean: NDArray, deviation: NDArray, low: float, high: float
) -> NDArray:
    """Quantiles of Gaussian numbers, given that they lie between bounds.

    Parameters
    ----------
    probability : float or ndarray
    mean, deviation : ndarray
        Without the bounds.
    low, high : float
        They may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.truncation import truncated_quantile
    >>> truncated_quantile(0.5, np.zeros(1), np.ones(1), 0.0, np.inf).round(4)
    array([0.6745])
    """
    a, b, usual = _standardised(mean, deviation, low, high)
    above = a > 0  # mirrored, as the lower tail keeps its digits
    start, stop = np.where(above, -b, a), np.where(above, -a, b)
    share = np.where(above, 1 - probability, probability)
    last = log_ndtr(stop)
    with np.errstate(divide="ignore"):
        z = ndtri_exp(last + np.log(share + (1 - share) * np.exp(log_ndtr(start) - last)))
    z = np.where(above, -z, z)
    unknown = np.where(np.isposinf(deviation), np.where(probability < 0.5, low, high), mean)
    return np.clip(np.where(usual, mean + np.where(usual, deviation, 0.0) * z, unknown), low, high)


def _standardised(
    mean: NDArray, deviation: NDArray, low: float, high: float
) -> tuple[NDArray, NDArray, NDArray]:
    """The bounds in standard deviations from the mean, and where these are finite and not zero.

    Beyond 1e8 deviations all is at the bound, up to rounding.
    """
    usual = (deviation > 0) & np.isfinite(deviation) & np.isfinite(mean)
    centre, scale = np.where(usual, mean, 0.0), np.where(usual, deviation, 1.0)
    a, b = (np.clip((end - centre) / scale, -1e8, 1e8) for end in (low, high))
    return a, b, usual

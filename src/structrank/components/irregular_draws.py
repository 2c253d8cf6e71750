"""Joint draws of a series at irregular times given its samples."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from ..systems.simulation import covariance_root
from .draws import conditioned
from .irregular_likelihood import ContinuousFit
from .irregular_search import ContinuousSeries


def irregular_draws(
    fitted: ContinuousSeries,
    times: NDArray,
    samples: NDArray,
    noise: NDArray | None,
    n: int,
    rng: np.random.Generator,
) -> NDArray:
    """Draws of a series given samples, less its estimate and over its standard error.

    Parameters
    ----------
    fitted : ContinuousSeries
    times, samples : ndarray
        As for `ContinuousSeries.smooth`.
    noise : ndarray or None
        Standard deviation of the noise of every sample, if it is known.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, samples)
    """
    y, own = (samples - fitted.offset) / fitted.scale, None
    if noise is not None:
        own = noise / fitted.scale
    chosen = rng.multinomial(n, fitted.weights)
    parts = [
        draws_at(fit.at(times / fitted.unit), y, int(count), rng, own)
        for fit, count in zip(fitted.fits, chosen, strict=True)
        if count
    ]
    found = fitted.smooth(times, samples, noise)
    draws = fitted.offset + fitted.scale * np.concatenate(parts)
    errors = fitted.optimism * (rng.permutation(draws) - found.signal)
    return np.asarray(errors / np.maximum(found.stderr, np.finfo(float).tiny))


def draws_at(
    fit: ContinuousFit, y: NDArray, n: int, rng: np.random.Generator, noise: NDArray | None = None
) -> NDArray:
    """Draws of a series of deviation one without its white noise, given samples.

    Parameters
    ----------
    fit : ContinuousFit
        At the times of the samples.
    y : ndarray
        NaN where it is not seen.
    n : int
    rng : numpy.random.Generator
    noise : ndarray, optional
        Standard deviation of the noise of every sample, if it is known.

    Returns
    -------
    ndarray, shape (n, samples)
    """
    model, C = fit.gaussian(noise), fit.components.shown
    state = rng.standard_normal((n, model.states)) @ covariance_root(model.covariance).T
    signal = np.empty((len(y), n))
    for t in range(len(y)):
        signal[t] = state @ C
        drive = rng.standard_normal(state.shape) @ covariance_root(model.W[t, 1:, 1:]).T
        state = state @ model.H[t, 1:].T + drive
    white = np.sqrt(model.W[:, 0, 0])[:, None]
    return conditioned(signal, white, y, model, C, rng)

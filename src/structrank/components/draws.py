"""Joint draws of a series given its samples: the simulation smoother."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from ..systems.chunks import Gaussian, Records
from ..systems.recursion import state_sequence
from ..systems.simulation import covariance_root
from ..systems.smoothing import smoothed
from .conditioning import gaussian
from .likelihood import ComponentFit
from .mixture import FittedSeries


@dataclass(frozen=True)
class DrawSizes:
    """How many draws are made at a time.

    Attributes
    ----------
    entries : int
        Numbers in the states of all of them, at most. Taste: 32 MB.
    """

    entries: int = 2**22

    def parts(self, n: int, samples: int, states: int) -> list[int]:
        """Sizes of the parts of n draws."""
        most = max(1, self.entries // (samples * states))
        return [most] * (n // most) + ([n % most] if n % most else [])


def error_draws(
    fitted: FittedSeries, samples: NDArray, n: int, rng: np.random.Generator
) -> NDArray:
    """Draws of a series given samples, less its estimate and over its standard error.

    Each draw is one of one fit, which is chosen with its weight.

    Parameters
    ----------
    fitted : FittedSeries
    samples : ndarray
        NaN where missing.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, samples)

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components import fit_series
    >>> from structrank.components.draws import error_draws
    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal(30))
    >>> walk[10:15] = np.nan
    >>> draws = error_draws(fit_series(walk), walk, 500, np.random.default_rng(0))
    >>> draws.shape, bool(abs(draws[:, 12].std() - 1) < 0.15)
    ((500, 30), True)
    """
    y = (samples - fitted.offset) / fitted.scale
    chosen = rng.multinomial(n, fitted.weights)
    parts = [
        signal_draws(fit, y, size, rng, fitted.noise)
        for fit, count in zip(fitted.fits, chosen, strict=True)
        for size in DrawSizes().parts(
            int(count), len(y), fit.components.states["autoregression"].stop
        )
    ]
    (found,) = fitted.smooth([samples])
    draws = fitted.offset + fitted.scale * np.concatenate(parts)
    errors = rng.permutation(draws) - found.signal
    return np.asarray(errors / np.maximum(found.stderr, np.finfo(float).tiny))


def signal_draws(
    fit: ComponentFit, y: NDArray, n: int, rng: np.random.Generator, noise: NDArray | None = None
) -> NDArray:
    """Draws of a series without its white noise, given samples.

    Parameters
    ----------
    fit : ComponentFit
    y : ndarray
        Series of mean zero and deviation one, NaN where missing.
    n : int
    rng : numpy.random.Generator
    noise : ndarray, optional
        Standard deviation of the noise of every sample, if it is known.

    Returns
    -------
    ndarray, shape (n, samples)
    """
    model = gaussian(fit.components, fit.parameters, noise)
    C, A = model.H[0], model.H[1:]
    own = fit.components.matrices(fit.parameters)[1].diagonal()
    white = np.sqrt(own[0]) if noise is None else noise[:, None]
    start = rng.standard_normal((n, len(A))) @ covariance_root(model.covariance).T
    drive = rng.standard_normal((len(y), n, len(A))) * np.sqrt(own[1:])
    signal = state_sequence(A, start, drive) @ C
    return conditioned(signal, white, y, model, C, rng)


def conditioned(
    signal: NDArray,
    white: NDArray,
    y: NDArray,
    model: Gaussian,
    shown: NDArray,
    rng: np.random.Generator,
) -> NDArray:
    """Turn simulated series into draws given samples.

    A simulated series has the errors of the smoother: it less its estimate from samples of itself.

    Parameters
    ----------
    signal : ndarray, shape (samples, n)
        Simulated series without white noise.
    white : ndarray
        Standard deviation of the white noise, one number or one per sample.
    y : ndarray
        The samples, NaN where missing.
    model : Gaussian
    shown : ndarray
        How the states show in the series.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, samples)
    """
    seen = ~np.isnan(y)
    simulated = signal + white * rng.standard_normal(signal.shape)
    less = np.where(seen[:, None], np.where(seen, y, 0.0)[:, None] - simulated, 0.0)
    found = smoothed(model, Records(less[:, None, :, None], seen[:, None, None], None))
    return np.asarray((signal + np.einsum("j,tjn->tn", shown, found.states[..., 0])).T)

"""Components as a Gaussian system for the filter, with noise that may differ between samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._array import NDArray
from ..systems.chunks import Gaussian, Records
from .model import Components


def gaussian(components: Components, parameters: NDArray, noise: NDArray | None = None) -> Gaussian:
    """The system of components with given parameters.

    Parameters
    ----------
    components : Components
    parameters : ndarray
    noise : ndarray, optional
        Standard deviation of the noise of every sample, if it is known.
    """
    H, W, P = components.matrices(parameters)
    if noise is not None:
        W = np.repeat(W[None], len(noise), axis=0)
        W[:, 0, 0] = noise**2
    return Gaussian(H, W, np.zeros(len(P)), P, np.zeros(len(P), dtype=bool))


def records(samples: Sequence[NDArray]) -> Records:
    """Series of the same length, NaN where missing, for the filter."""
    y = np.stack(samples, axis=-1)
    seen = ~np.isnan(y)
    return Records(np.where(seen, y, 0.0)[:, None, None, :], seen[:, None, :], None)

"""Even out a series that is much larger in some places than in others."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from .._array import NDArray
from .window_sizes import WindowSearch


def is_uneven(samples: NDArray, search: WindowSearch) -> bool:
    """Return whether this is a series that is much larger in some places than in others."""
    if samples.ndim > 2:
        return False
    scale = local_scale(samples, search)[np.any(~np.isnan(samples), axis=-1)]
    return bool(np.max(scale) ** 2 > search.most_uneven * np.min(scale) ** 2)


def local_scale(samples: NDArray, search: WindowSearch = WindowSearch()) -> NDArray:
    """Return the square root of the local size of a series, the same for all channels.

    Parameters
    ----------
    samples : ndarray, shape (length, channels)
        NaN where missing.
    search : WindowSearch

    Returns
    -------
    ndarray, shape (length, 1)
    """
    seen = ~np.isnan(samples)
    sizes = _around(np.where(seen, np.abs(samples) ** 2, 0), search) / _around(seen, search)
    return np.where(sizes > 0, sizes, 1.0) ** 0.25  # all or none are zero


def _around(values: NDArray, search: WindowSearch) -> NDArray:
    """Return means over a neighbourhood along the first axis; far from all values, over all."""
    total = np.sum(values, axis=-1, keepdims=True, dtype=float)
    smooth = gaussian_filter1d(total, search.neighbourhood, axis=0, mode="nearest")
    return np.asarray(smooth + search.floor * np.mean(total))

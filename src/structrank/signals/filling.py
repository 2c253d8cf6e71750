"""Fill gaps, or remove noise: `recover` by what is wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._array import to_numpy
from ..io.containers import unwrap
from .recovery import Recovery, recover


def denoise(samples: Any, **options: Any) -> Recovery:
    """Remove the noise of a signal and fill its gaps: `recover` under another name.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        NaN where missing.
    **options
        Passed to `recover`.

    Returns
    -------
    Recovery

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import denoise
    >>> truth = np.cos(0.3 * np.arange(100))
    >>> noisy = truth + 0.2 * np.random.default_rng(0).standard_normal(100)
    >>> error = abs(denoise(noisy).signal - truth)
    >>> bool(error.max() < 0.15)
    True
    """
    return recover(samples, **options)


def impute(samples: Any, **options: Any) -> Recovery:
    """Fill the gaps of a signal and keep its samples as they are.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        NaN where missing.
    **options
        Passed to `recover`.

    Returns
    -------
    Recovery
        Its standard errors are zero at the samples, and so are the widths of its intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import impute
    >>> series = np.cos(0.3 * np.arange(100))
    >>> series[40:50] = np.nan
    >>> filled = impute(series).signal
    >>> bool(np.allclose(filled, np.cos(0.3 * np.arange(100)), atol=1e-5))
    True
    """
    found = recover(samples, **options)
    channels = options.get("channels")
    given = unwrap(samples, channels)
    values = to_numpy(given.values)
    missing = np.isnan(values) | found.outliers

    def kept(part: Any, elsewhere: Any) -> Any:
        return given.wrap(np.where(missing, to_numpy(unwrap(part, channels).values), elsewhere))

    return replace(
        found,
        signal=kept(found.signal, values),
        stderr=kept(found.stderr, 0.0),
        lower=kept(found.lower, values),
        upper=kept(found.upper, values),
    )

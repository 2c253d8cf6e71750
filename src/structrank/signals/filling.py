"""Fill gaps, or remove noise: `recover` by what is wanted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from .._watch import clock
from ..io.containers import unwrap
from ..io.regular_samples import regular_samples
from ..solvers.stopping import Status
from .as_they_are import Complete, as_they_are
from .channels import channel_axis
from .estimates import ErrorDraws
from .given_seasons import given_seasons
from .independent import INDEPENDENT, recover_independent
from .limits import Limits
from .noise_levels import NoiseLevels
from .problems import hankel_problem
from .recovery import recover
from .recovery_result import Recovery
from .regressors import check_regressors


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
        Its standard errors are zero at the samples, and so are the widths of its intervals, even
        where samples lie outside `bounds`; clipped samples are replaced. If nothing is missing, and
        neither gross errors nor clipped samples are to be found, the samples are returned at once,
        with rank 0.

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
    if options.get("channels") == INDEPENDENT:
        return recover_independent(impute, samples, **options)
    began, channels, gridded = clock(), options.get("channels"), options.get("times") is None
    if gridded:
        samples = regular_samples(samples, options.pop("regular", False))
    given = unwrap(samples, channels, regular=gridded)
    values = to_numpy(given.values)
    whole = np.size(values) and np.all(np.isfinite(values)) and not options.get("robust", False)
    whole = whole and options.get("clipped") is None
    if whole and gridded:
        return _complete(samples, options, began)
    return keep_samples(recover(samples, **options))


def keep_samples(found: Recovery) -> Recovery:
    """Return a recovery with the samples as they are, and the recovered signal in gaps.

    Parameters
    ----------
    found : Recovery

    Returns
    -------
    Recovery
        Gross errors that were found, and clipped samples, count as gaps.
    """
    given = unwrap(found.samples, found.channels, regular=False)
    values = to_numpy(given.values)
    missing = np.isnan(values) | found.outliers | found.clipped

    def kept(part: Any, elsewhere: Any) -> Any:
        return given.wrap(np.where(missing, to_numpy(as_array(part)), elsewhere))

    return replace(
        found,
        signal=kept(found.signal, values),
        stderr=kept(found.stderr, 0.0),
        lower=kept(found.lower, values),
        upper=kept(found.upper, values),
        draw=None if found.draw is None else partial(_kept_draws, found.draw, missing, values),
    )


def _kept_draws(
    draw: ErrorDraws, missing: NDArray, values: NDArray, n: int, rng: np.random.Generator
) -> NDArray:
    """Draws of the missing values, and the samples elsewhere."""
    return np.where(missing, draw(n, rng), values)


def _complete(samples: Any, options: dict[str, Any], began: float) -> Recovery:
    """The samples as they are, after the checks of `recover`."""
    channels = options.get("channels")
    given = unwrap(samples, channels)
    values = to_numpy(given.values)
    axis = given.channels if channels is None else channel_axis(channels, values.ndim)
    hankel_problem(given.values, options.get("window"), axis)
    limits = Limits.of(options.get("level", 0.95), options.get("max_gap"), options.get("bounds"))
    limits.check(values, axis)
    seasons = given_seasons(options.get("season"), values, axis)
    NoiseLevels.of(options.get("sigma"), values, channels=axis)
    check_regressors(samples, options.get("regressors"), channels)
    again = partial(recover, samples, **options)
    return as_they_are(
        Complete, samples, options, Status.FINISHED, again, began=began, seasons=seasons
    )

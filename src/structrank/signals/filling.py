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
from .channels import unwrapped
from .estimates import ErrorDraws
from .independent import recover_independent
from .recovery import recover, recover_with
from .recovery_result import Recovery
from .regressors import check_regressors
from .request import Request
from .settings import INDEPENDENT, Settings


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
        where samples lie outside `bounds`; clipped samples are replaced. Around modes in coloured
        noise, gaps have the noise that is expected from their neighbours. If nothing is missing,
        and neither gross errors nor clipped samples are to be found, the samples are returned at
        once, with rank 0.

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
    return impute_with(samples, Settings.of(options))


def impute_with(samples: Any, settings: Settings) -> Recovery:
    """Fill the gaps of a signal with the settings of `recover`.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
    settings : Settings

    Returns
    -------
    Recovery
    """
    if settings.channels == INDEPENDENT:
        return recover_independent(impute_with, samples, settings)
    began = clock()
    if settings.times is None:
        samples = regular_samples(samples, settings.regular)
        settings = replace(settings, regular=False)
        values = to_numpy(unwrapped(samples, settings.channels)[0].values)
        whole = np.size(values) and np.all(np.isfinite(values))
        if whole and not settings.robust and settings.clipped is None:
            return _complete(samples, settings, began)
    return keep_samples(recover_with(samples, settings))


def keep_samples(found: Recovery) -> Recovery:
    """Return a recovery with the samples as they are, and the recovered signal in gaps.

    Parameters
    ----------
    found : Recovery

    Returns
    -------
    Recovery
        Gross errors that were found, and clipped samples, count as gaps. Signals in coloured noise
        have the noise in gaps that is expected from neighbours.
    """
    given = unwrap(found.samples, found.channels, regular=False)
    values = to_numpy(given.values)
    missing = np.isnan(values) | found.outliers | found.clipped

    def kept(part: Any, elsewhere: Any) -> Any:
        return given.wrap(np.where(missing, to_numpy(as_array(part)), elsewhere))

    signal = found.signal if found.new_sample is None else found.new_sample
    noise, draw = to_numpy(as_array(signal)) - to_numpy(as_array(found.signal)), None
    if found.draw is not None:
        draw = partial(_kept_draws, found.draw, missing, values, noise)
    return replace(
        found,
        signal=kept(signal, values),
        stderr=kept(found.stderr, 0.0),
        lower=kept(found.lower, values),
        upper=kept(found.upper, values),
        draw=draw,
    )


def _kept_draws(
    draw: ErrorDraws,
    missing: NDArray,
    values: NDArray,
    noise: NDArray,
    n: int,
    rng: np.random.Generator,
) -> NDArray:
    """Draws of the missing values, with the noise that is expected there; samples elsewhere."""
    return np.where(missing, draw(n, rng) + noise, values)


def _complete(samples: Any, settings: Settings, began: float) -> Recovery:
    """The samples as they are, after the checks of `recover`."""
    request = Request.of(samples, settings)
    check_regressors(request)
    again, seasons = partial(recover_with, samples, settings), request.known.seasons
    return as_they_are(
        Complete, samples, settings, Status.FINISHED, again, began=began, seasons=seasons
    )

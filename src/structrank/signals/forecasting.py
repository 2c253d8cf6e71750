"""Extrapolate a series: what comes next, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import flag, positive_int
from .._watch import Watch, clock, watched
from ..io.containers import Unwrapped, unwrap
from ..io.regular_samples import regular_samples
from ..io.sampling import Sampling
from ..modal.modes import Modes
from ..solvers.stopping import ConvergenceWarning, Status
from .backtesting import Extrapolation, ForecastSearch
from .caller import status_of, warn_caller
from .channel_units import ChannelUnits, channel_units
from .effort import checked
from .estimates import interval_reach
from .forecast_groups import (
    GroupForecast,
    forecast_groups,
    groups_to_forecast,
    members_of,
    put_together,
)
from .forecast_regressors import ForecastRegressors
from .forecast_result import Forecast, ForecastModel, forecast_values, mean_weights
from .given_seasons import given_seasons
from .units import signal_sampling, with_sampling


def forecast(
    samples: Any,
    steps: int,
    *,
    level: float = 0.95,
    season: float | Sequence[float] | None = None,
    rank: int | None = None,
    window: int | None = None,
    channels: int | None = None,
    sigma: float | None = None,
    dt: float | None = None,
    regular: bool | str | float = False,
    regressors: Any = None,
    future_regressors: Any = None,
    undamped: bool = False,
    rng: int | np.random.Generator = 0,
    effort: str = "normal",
    max_time: float | None = None,
    progress: bool = False,
) -> Forecast:
    """Extrapolate a series: its trends, seasons and decays, with intervals.

    The modes that fit the series are extrapolated. Their number is the one that would have forecast
    the last parts of the series best. A real series without known rank is also forecast by its
    components (trend, season, autoregressive part, noise), or by those of its logarithm if these
    are more likely, and by the rules "the last value", "the last value and its drift", "the last
    season" and exponential smoothing with a damped trend. All of them forecast the last parts of
    the series, and are averaged by these errors; the result says with which weights. Modes that
    leave white noise are extrapolated alone, and modes that grow without support are left out. The
    intervals have the size of these errors. A warning says if they exceed the deviation of the
    series.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The series along the first axis, NaN where missing. Columns of a DataFrame are channels.
    steps : int
        Number of samples to forecast.
    level : float
        Probability that an interval contains the sample.
    season : float or two of them, optional
        Known season of a real series in samples, or two: `(24, 168)` for day and week in hours.
        The components and the rule "the last season" have it instead of one that they search for.
    rank : int, optional
        Number of modes, if known.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the series.
    channels : int, optional
        The axis that holds channels: 1. They may have different units: offsets are subtracted and
        channels are scaled before the work. Channels that share no modes are found by predictions
        of held-out samples and are forecast alone, unless rank is given.
    sigma : float, optional
        Standard deviation of the noise, if known.
    dt : float, optional
        Seconds between samples, for frequencies in Hz; see `recover`.
    regular : bool, str or float
        Make the index regular first; see `recover`.
    regressors : array, Series or DataFrame, optional
        What is known in advance to act on one real series, at every sample; see `recover`. What
        they leave is forecast as any series. `Forecast.regression` has their coefficients.
    future_regressors : array, Series or DataFrame, optional
        The same in the steps that are forecast.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    effort : {"fast", "normal", "thorough"}
        From how many places in the series known samples are forecast, and how many ranks are tried.
    max_time : float, optional
        Time limit in seconds. When it ends the search, the best forecast so far is returned, with a
        `ConvergenceWarning`. `Forecast.status` says so.
    progress : bool
        Say what is being tried: on a terminal in a progress bar, else in a line from time to time.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import forecast
    >>> t = np.arange(82)
    >>> series = 10 + 0.1 * t + np.cos(2 * np.pi * t / 12)
    >>> noisy = series + 0.1 * np.random.default_rng(0).standard_normal(82)
    >>> ahead = forecast(noisy[:70], steps=12)
    >>> bool(abs(ahead.mean - series[70:]).max() < 0.3)
    True
    """
    steps, known = (
        positive_int(steps, "steps"),
        None if rank is None else positive_int(rank, "rank"),
    )
    interval_reach(level)
    began, (tried, max_time) = clock(), checked(effort, max_time)
    samples = regular_samples(samples, regular)
    given, values, channels = _series(samples, channels)
    sampling = signal_sampling(samples, channels, dt)
    seasons = given_seasons(season, values, channels, rank=rank, sigma=sigma, undamped=undamped)
    how = Extrapolation(window, channels, sigma, flag(undamped, "undamped"), rng, seasons)
    beside = ForecastRegressors.of(
        samples, values, channels, regressors, future_regressors, steps, seasons
    )
    values = values if beside is None else beside.rest
    units = channel_units(values, channels, centre=rank is None, scale=sigma is None)
    common = units.common(values)
    with watched(max_time, progress) as watch:
        groups = groups_to_forecast(common, known, how)
        found = forecast_groups(common, groups, steps, known, how, tried.forecasts)
    ahead = Forecast(
        **_numbers(found, units, level, given, sampling),
        regression=None,
        channels=channels,
        samples=samples,
        groups=groups,
        status=_status(watch, found, None if rank is not None else common),
        seconds=clock() - began,
    )
    return ahead if beside is None else beside.added_to(ahead)


def _numbers(
    found: Sequence[GroupForecast],
    units: ChannelUnits,
    level: float,
    given: Unwrapped,
    sampling: Sampling | None,
) -> dict[str, Any]:
    """What a `Forecast` says about the future, and by which models."""
    ahead = units.estimate(put_together(found))
    return {
        **forecast_values(ahead, level, given, len(given.values)),
        "level": level,
        "weights": mean_weights(found),
        "rank": ahead.rank,
        "modes": cast(Modes, with_sampling(ahead.modes, sampling)),
        "past_error": _past_error(found),
        "refits": [one.fit for one in found],
        "model": ForecastModel(units, [one.model for one in found]),
    }


def _status(watch: Watch, found: Sequence[GroupForecast], values: NDArray | None) -> Status:
    """Return how a forecast ended, and warn if a limit ended it or a convex solution.

    If values are given, warn also if their mean would have been a better forecast.
    """
    status = status_of(watch, "forecast")
    if values is not None:
        _warn_if_hopeless(values, found)
    if status is Status.FINISHED and not all(one.converged for one in found):
        warn_caller(
            "forecast: the convex solution of the series, or of a part of it, stopped at its "
            "iteration limit, so the rank may be chosen less well than usual: pass rank if it is "
            "known",
            ConvergenceWarning,
        )
    return status


def _warn_if_hopeless(values: NDArray, found: Sequence[GroupForecast]) -> None:
    """Warn if the mean of the series would have been a better forecast of its last parts."""
    for one in found:
        own, error = members_of(values, one.model.members), one.model.error
        if error > np.nanstd(own):
            warn_caller(
                f"forecast: forecasts of known samples had an error of {error:.3g}, more than "
                f"the standard deviation of the series, {np.nanstd(own):.3g}: do not rely on it"
            )
            return


def _past_error(found: Sequence[GroupForecast]) -> float:
    """Return the root mean square error of forecasts of known samples, over channels."""
    errors = [one.model.error for one in found for _ in one.model.members]
    return float(np.sqrt(np.mean(np.square(errors))))


def _series(samples: Any, channels: int | None) -> tuple[Unwrapped, NDArray, int | None]:
    """Return the samples, their numbers and the axis of channels, after checks."""
    given = unwrap(samples, channels)
    values = to_numpy(given.values)
    channels = given.channels if channels is None else channels
    _check_series(values, channels)
    return given, values, channels


def _check_series(
    values: NDArray, channels: int | None, search: ForecastSearch = ForecastSearch()
) -> None:
    """Raise an error unless this is one series, or several side by side, of enough samples."""
    if values.ndim != (1 if channels is None else 2) or channels not in (None, 1):
        raise ValueError(
            f"the samples have shape {values.shape}, but a series, or with channels=1 a table of "
            "series side by side, is expected"
        )
    if len(values) < search.fewest_samples:
        raise ValueError(
            f"{len(values)} samples are given, but {search.fewest_samples} or more are expected"
        )

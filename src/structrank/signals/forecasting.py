"""Extrapolate a series: what comes next, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import positive_int
from .._watch import Watch, clock, watched
from ..io.containers import Unwrapped, unwrap
from ..io.regular_samples import regular_samples, what_was_done
from ..io.saved_results import Saved, savable
from ..modal.modes import Modes
from ..modal.refit_result import Refit
from ..solvers.stopping import ConvergenceWarning, Status
from ..views import Summary, interactive_figure, labels_of, plot_forecast
from ..views.content import Report
from ..views.report import Reportable
from .backtesting import Extrapolation, ForecastSearch
from .caller import status_of, warn_caller
from .channel_groups import Members, channel_rows
from .channel_units import channel_units
from .effort import checked
from .estimates import Estimate, interval_reach
from .forecast_groups import GroupForecast, forecast_groups, groups_to_forecast, put_together
from .given_seasons import given_seasons
from .reports import forecast_report
from .units import signal_sampling, with_sampling


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Summary, Reportable, Saved):
    """What comes next in a series, with intervals.

    Attributes
    ----------
    mean : array, Series, DataFrame or DataArray
        The values forecast.
    stderr : array, Series, DataFrame or DataArray
        Standard error of a future sample, noise included.
    lower, upper : array, Series, DataFrame or DataArray
        Ends of the intervals that contain a future sample with probability `level`; for a complex
        series, separate intervals of the real and the imaginary part.
    level : float
    weights : dict of str to float
        What the forecast is an average of, the largest weight first: "modes", "components",
        "naive", "drift", "seasonal naive". With several groups of channels, the mean over groups.
    rank : int
        Number of modes, chosen by the errors of forecasts of known samples.
    modes : Modes
        The (damped) sinusoids, exponentials and trends the series is the sum of.
    past_error : float
        Root mean square error of forecasts of known samples. With channels of different size each
        channel is in units of its own size.
    refits : list of Refit
        The fits of the series and what follows, in these units and for each group of channels.
    channels : int or None
        The axis that holds channels.
    samples : array, Series, DataFrame or DataArray
        The samples that were given.
    groups : list of tuple of int
        The channels that were forecast together; each of those that share nothing is alone.
    scaled : bool
        Whether channels were divided by their sizes.
    status : Status
        `Status.FINISHED`, or `Status.MAX_TIME` if the time limit ended the search.
    seconds : float
        Time that the forecast took.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import forecast
    >>> ahead = forecast(0.9 ** np.arange(30.0), steps=2, rank=1)
    >>> bool(np.allclose(ahead.mean, [0.9**30, 0.9**31]))
    True
    """

    mean: Any
    stderr: Any
    lower: Any
    upper: Any
    level: float
    weights: dict[str, float]
    rank: int
    modes: Modes
    past_error: float
    refits: list[Refit]
    channels: int | None
    samples: Any
    groups: list[Members]
    scaled: bool
    status: Status
    seconds: float

    @property
    def refit(self) -> Refit:
        """The fit of the series and what follows; of the first group, if there are several."""
        return self.refits[0]

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        """Draw the forecast after the samples that it continues, with its intervals.

        There is one panel per channel. Only the end of a long series is shown: 200 samples, or
        five per step if that is more.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.
        interactive : bool
            Return a figure of Plotly that can be zoomed; it needs the extra `interactive`.

        Returns
        -------
        Axes, list of Axes, or a figure of Plotly
        """
        if interactive:
            return interactive_figure(self.plot, ax)
        samples, mean, lower, upper = (
            to_numpy(unwrap(part, self.channels).values)
            for part in (self.samples, self.mean, self.lower, self.upper)
        )
        fit = self.modes.signal(len(samples))
        before, after = (labels_of(part, self.channels) for part in (self.samples, self.mean))
        return plot_forecast(
            samples,
            mean,
            lower,
            upper,
            fit=fit if np.iscomplexobj(mean) else fit.real,
            level=self.level,
            channels=self.channels,
            labels=before.followed_by(after),
            ax=ax,
        )

    def report(self) -> Report:
        """Describe the forecast: picture, values, settings, past errors, modes."""
        return forecast_report(self)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            *what_was_done(self.samples),
            ("steps", str(len(self.mean))),
            ("rank", str(self.rank)),
            *channel_rows(self.groups),
            ("average of", ", ".join(f"{k} {w:.0%}" for k, w in self.weights.items())),
            ("past error", f"{self.past_error:.4g} (root mean square)"),
            ("intervals", f"{self.level:.0%}"),
            *([("search", self.status.value)] if self.status is Status.MAX_TIME else []),
        ]


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
    undamped: bool = False,
    rng: int | np.random.Generator = 0,
    effort: str = "normal",
    max_time: float | None = None,
    progress: bool = False,
) -> Forecast:
    """Extrapolate a series: its trends, seasons and decays, with intervals.

    The modes that fit the series are extrapolated. Their number is the one that would have forecast
    the last parts of the series best. A real series without known rank is also forecast by its
    components (trend, season, autoregressive part, noise), and by the rules "the last value", "the
    last value and its drift" and "the last season". All of them forecast the last parts of the
    series, and are averaged by these errors; the result says with which weights. The intervals
    have the size of these errors. A warning says if they exceed the deviation of the series.

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
    >>> t = np.arange(130)
    >>> series = 10 + 0.1 * t + np.cos(2 * np.pi * t / 12)
    >>> noisy = series + 0.1 * np.random.default_rng(0).standard_normal(130)
    >>> ahead = forecast(noisy[:118], steps=12)
    >>> bool(abs(ahead.mean - series[118:]).max() < 0.3)
    True
    """
    steps = positive_int(steps, "steps")
    reach = interval_reach(level)
    began, (tried, max_time) = clock(), checked(effort, max_time)
    known = None if rank is None else positive_int(rank, "rank")
    samples = regular_samples(samples, regular)
    given, values, channels = _series(samples, channels)
    sampling = signal_sampling(samples, channels, dt)
    units = channel_units(values, channels, centre=rank is None, scale=sigma is None)
    values = units.common(values)
    seasons = given_seasons(season, values, channels, rank=rank, sigma=sigma, undamped=undamped)
    how = Extrapolation(window, channels, sigma, undamped, rng, seasons)
    with watched(max_time, progress) as watch:
        groups = groups_to_forecast(values, known, how)
        found = forecast_groups(values, groups, steps, known, how, tried.forecasts)
    status = _status(watch, found, None if rank is not None else values)
    ahead = units.estimate(put_together(found))
    return Forecast(
        **_values(ahead, reach, given, len(values)),
        level=level,
        weights=_weights(found),
        rank=ahead.rank,
        modes=cast(Modes, with_sampling(ahead.modes, sampling)),
        past_error=_past_error(found),
        refits=[one.fit for one in found],
        channels=channels,
        samples=samples,
        groups=groups,
        scaled=units.scaled,
        status=status,
        seconds=clock() - began,
    )


def _values(ahead: Estimate, reach: float, given: Unwrapped, before: int) -> dict[str, Any]:
    """The numbers of a `Forecast`, in containers like the samples, of which there are so many."""
    names = ("mean", "stderr", "lower", "upper")
    parts = (ahead.signal, ahead.stderr, *ahead.interval(reach))
    pairs = zip(names, parts, strict=True)
    return {name: given.follow(to_numpy(part)[before:]) for name, part in pairs}


def _status(watch: Watch, found: Sequence[GroupForecast], values: NDArray | None) -> Status:
    """Return how a forecast ended, and warn if a limit ended it or a convex solution.

    If values are given, warn also if their mean would have been a better forecast.
    """
    status = status_of(watch, "forecast")
    if values is not None:
        _warn_if_hopeless(values, found)
    if status is Status.FINISHED and not all(one.past.converged for one in found):
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
        own = values if values.ndim == 1 else values[:, list(one.members)]
        if one.error > np.nanstd(own):
            warn_caller(
                f"forecast: forecasts of known samples had an error of {one.error:.3g}, more than "
                f"the standard deviation of the series, {np.nanstd(own):.3g}: do not rely on it"
            )
            return


def _weights(found: Sequence[GroupForecast]) -> dict[str, float]:
    """Return what forecasts are averages of, as the mean over groups."""
    weights: dict[str, float] = {}
    for one in found:
        for name, weight in one.weights.items():
            weights[name] = weights.get(name, 0.0) + weight / len(found)
    return dict(sorted(weights.items(), key=lambda item: -item[1]))


def _past_error(found: Sequence[GroupForecast]) -> float:
    """Return the root mean square error of forecasts of known samples, over channels."""
    errors = [one.error for one in found for _ in one.members]
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

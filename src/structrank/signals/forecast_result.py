"""A forecast: values, intervals, what it was found by, pictures, reports, new samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import finite_or_missing
from .._watch import clock
from ..components.regression import Regression
from ..io.appending import appended
from ..io.containers import Unwrapped, unwrap
from ..io.regular_samples import what_was_done
from ..io.saved_results import Saved, savable
from ..modal.modes import Modes
from ..modal.refit_result import Refit
from ..solvers.stopping import Status
from ..views import Summary, interactive_figure, labels_of, plot_forecast
from ..views.content import Report
from ..views.report import Reportable
from .banded import Banded
from .channel_groups import Members, channel_rows
from .channel_units import ChannelUnits
from .estimates import Estimate, interval_reach
from .forecast_groups import GroupForecast, GroupModel, put_together
from .forecast_regressors import update_beside
from .reports import forecast_report
from .units import with_sampling


@savable()
@dataclass(frozen=True, eq=False)
class ForecastModel:
    """What `Forecast.update` continues from when new samples arrive.

    Attributes
    ----------
    units : ChannelUnits
        Offsets and sizes of channels.
    groups : list of GroupModel
        The model of each group of channels, in common units.
    """

    units: ChannelUnits
    groups: list[GroupModel]

    def forecast(self, values: NDArray, steps: int) -> list[GroupForecast]:
        """Forecast a series that has continued.

        Parameters
        ----------
        values : ndarray
            NaN where missing, in its own units.
        steps : int
        """
        common = to_numpy(self.units.common(values))
        return [group.forecast(common, steps) for group in self.groups]


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Summary, Reportable, Banded, Saved):
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
    regression : Regression or None
        What regressors add, if they were given: coefficients with standard errors. The modes are
        those of the rest.
    channels : int or None
        The axis that holds channels.
    samples : array, Series, DataFrame or DataArray
        The samples that were given.
    groups : list of tuple of int
        The channels that were forecast together; each of those that share nothing is alone.
    model : ForecastModel
        What `update` continues from.
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
    regression: Regression | None
    channels: int | None
    samples: Any
    groups: list[Members]
    model: ForecastModel
    status: Status
    seconds: float

    @property
    def scaled(self) -> bool:
        """Whether channels were divided by their sizes."""
        return self.model.units.scaled

    @property
    def refit(self) -> Refit:
        """The fit of the series and what follows; of the first group, if there are several."""
        return self.refits[0]

    def update(
        self, new_samples: Any, *, regressors: Any = None, future_regressors: Any = None
    ) -> Forecast:
        """Forecast from the end of new samples, by the models that were found before.

        Nothing is searched: the components filter the new samples, the modes are fitted again from
        their last values, simple rules use the new end, and the weights stay. A forecast that
        leaves the range of the samples by more than this range is left out, as in `forecast`.
        Intervals keep their calibration by `past_error`, which stays. Call `forecast` again when
        the series has changed, or has become much longer.

        Parameters
        ----------
        new_samples : array, Series, DataFrame or DataArray
            Samples after the last ones, in a container of the same kind, NaN where missing. An
            index continues that of the samples.
        regressors, future_regressors : array, Series or DataFrame, optional
            At the new samples and in the steps after them, if the forecast has regressors. Their
            coefficients stay.

        Returns
        -------
        Forecast
            Of as many steps as before, after the new samples. Its `samples` are all samples.

        Examples
        --------
        >>> import numpy as np
        >>> from structrank import forecast
        >>> t = np.arange(62)
        >>> noise = 0.1 * np.random.default_rng(0).standard_normal(62)
        >>> series = 10 + 0.1 * t + np.cos(2 * np.pi * t / 12)
        >>> ahead = forecast((series + noise)[:42], steps=12)
        >>> later = ahead.update((series + noise)[42:50])
        >>> bool(abs(later.mean - series[50:]).max() < 0.3)
        True
        """
        if self.regression is not None:
            return update_beside(self, new_samples, regressors, future_regressors)
        if regressors is not None or future_regressors is not None:
            raise ValueError(
                "regressors are given, but the forecast has none: pass them to forecast first"
            )
        began = clock()
        samples = appended(self.samples, new_samples)
        given = unwrap(samples, self.channels)
        values = to_numpy(given.values)
        finite_or_missing(values, "new_samples")
        found = self.model.forecast(values, len(self.mean))
        ahead = self.model.units.estimate(put_together(found))
        return replace(
            self,
            **forecast_values(ahead, self.level, given, len(values)),
            weights=mean_weights(found),
            rank=ahead.rank,
            modes=cast(Modes, with_sampling(ahead.modes, self.modes.sampling)),
            refits=[one.fit for one in found],
            samples=samples,
            model=replace(self.model, groups=[one.model for one in found]),
            status=Status.FINISHED,
            seconds=clock() - began,
        )

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
        if self.regression is not None:
            fit = fit + self.regression.effect
        before, after = (labels_of(part, self.channels) for part in (self.samples, self.mean))
        return plot_forecast(
            samples,
            mean,
            lower,
            upper,
            fit=fit if np.iscomplexobj(mean) else fit.real,
            level=self.level,
            channels=self.channels,
            labels=before.followed_by(after).timed(self.modes.sampling, len(samples) + len(mean)),
            ax=ax,
        )

    def _values(self) -> tuple[str, Any]:
        return "forecast", self.mean

    def report(self) -> Report:
        """Describe the forecast: picture, values, settings, past errors, modes."""
        return forecast_report(self)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            *what_was_done(self.samples),
            ("steps", str(len(self.mean))),
            ("rank", str(self.rank)),
            *channel_rows(self.groups, self.samples, self.channels),
            ("average of", ", ".join(f"{k} {w:.0%}" for k, w in self.weights.items())),
            *([] if self.regression is None else [("regressors", self.regression.text())]),
            ("past error", f"{self.past_error:.4g} (root mean square)"),
            ("intervals", f"{self.level:.0%}"),
            *([("search", self.status.value)] if self.status is Status.MAX_TIME else []),
        ]


def forecast_values(ahead: Estimate, level: float, given: Unwrapped, before: int) -> dict[str, Any]:
    """The numbers of a `Forecast`, in containers like the samples.

    Parameters
    ----------
    ahead : Estimate
        The series and what follows, in the shape and the units of the samples.
    level : float
        Probability of intervals.
    given : Unwrapped
        The samples.
    before : int
        Number of samples.
    """
    names = ("mean", "stderr", "lower", "upper")
    parts = (ahead.signal, ahead.stderr, *ahead.interval(interval_reach(level)))
    pairs = zip(names, parts, strict=True)
    return {name: given.follow(to_numpy(part)[before:]) for name, part in pairs}


def mean_weights(found: Sequence[GroupForecast]) -> dict[str, float]:
    """Return what forecasts are averages of, as the mean over groups."""
    weights: dict[str, float] = {}
    for one in found:
        for name, weight in one.weights.items():
            weights[name] = weights.get(name, 0.0) + weight / len(found)
    return dict(sorted(weights.items(), key=lambda item: -item[1]))

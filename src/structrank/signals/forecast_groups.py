"""Forecasts of groups of channels, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import seconds_left, time_is_up, watched
from ..io.saved_results import savable
from ..modal.modes import Modes
from ..modal.refit_result import Refit
from ..model.problem import Problem
from ..selection.mu import search_mu
from .backtesting import Extrapolation, ForecastSearch, fit_ahead, forecast_past
from .channel_estimate import merged
from .channel_groups import Members, all_channels, channel_groups
from .estimates import Estimate
from .forecast_average import AveragedForecast, AverageModel, average_forecasts
from .problems import hankel_problem


@savable()
@dataclass(frozen=True, eq=False)
class GroupModel:
    """What a forecast of some channels continues from when new samples arrive.

    Attributes
    ----------
    members : tuple of int
        The channels; (0,) for a series without channels.
    modes : Modes
        Those that fitted the samples so far.
    sigma : float or None
        Standard deviation of the noise, if known.
    undamped : bool
        The modes are known to be undamped.
    widening : float
        Factor of standard errors of modes, from forecasts of known samples.
    error : float
        Root mean square error of such forecasts.
    average : AverageModel or None
        The average of this forecast and others, for one real series.
    """

    members: Members
    modes: Modes
    sigma: float | None
    undamped: bool
    widening: float
    error: float
    average: AverageModel | None

    def forecast(self, values: NDArray, steps: int) -> GroupForecast:
        """Forecast a series that has continued: modes are fitted from those before.

        Parameters
        ----------
        values : ndarray
            All channels, NaN where missing.
        steps : int
        """
        own = members_of(values, self.members)
        stack, length = own if own.ndim == 1 else own[..., None], len(own) + steps
        fit = fit_ahead(stack, length, self.modes, sigma=self.sigma, undamped=self.undamped)
        average = None
        if self.average is not None:
            average = self.average.forecast(own, to_numpy(fit.y)[len(own) :])
        assert fit.modes is not None  # it was started from modes
        return GroupForecast(replace(self, modes=fit.modes), fit, average)


@dataclass(frozen=True, eq=False)
class GroupForecast:
    """The forecast of some channels.

    Attributes
    ----------
    model : GroupModel
        What it continues from when new samples arrive.
    fit : Refit
        The fit of the series and what follows.
    average : AveragedForecast or None
        The average of this forecast and others, for one real series.
    converged : bool
        Whether all convex solutions converged.
    """

    model: GroupModel
    fit: Refit
    average: AveragedForecast | None = None
    converged: bool = True

    @property
    def weights(self) -> dict[str, float]:
        """What the forecast is an average of."""
        return {"modes": 1.0} if self.average is None else self.average.weights

    def estimate(self) -> Estimate:
        """Return the series and what follows, with standard errors of samples."""
        fit = self.fit
        spread = np.sqrt(to_numpy(fit.stderr) ** 2 + (fit.sigma or 0.0) ** 2)
        spread, signal = self.model.widening * spread, fit.y
        if self.average is not None:
            start = len(signal) - len(self.average.mean)
            signal = np.concatenate([to_numpy(signal)[:start], self.average.mean])
            spread = np.concatenate([spread[:start], self.average.stderr])
        return Estimate(signal, spread, fit.rank, fit.modes, fit.sigma, deviation=spread)


def members_of(values: NDArray, members: Members) -> NDArray:
    """Return some channels of a table; a series if it is one of several.

    Parameters
    ----------
    values : ndarray, shape (samples,) or (samples, channels)
    members : tuple of int
    """
    if values.ndim == 1 or len(members) == values.shape[1]:
        return values
    return values[:, members[0]] if len(members) == 1 else values[:, list(members)]


def groups_to_forecast(values: NDArray, known: int | None, how: Extrapolation) -> list[Members]:
    """Return the channels of a table that share modes, found by held-out samples.

    Parameters
    ----------
    values : ndarray
        The series, NaN where missing.
    known : int or None
        The rank, if known; then it is that of all channels.
    how : Extrapolation
    """

    def signal(problem: Problem) -> NDArray:
        return to_numpy(search_mu(problem, sigma=how.sigma, rng=how.rng).refit.y)

    problem = hankel_problem(values, how.window, how.channels)
    return all_channels(problem) if known is not None else channel_groups(problem, signal, how.rng)


def forecast_groups(
    values: NDArray,
    groups: Sequence[Members],
    steps: int,
    known: int | None,
    how: Extrapolation,
    search: ForecastSearch,
) -> list[GroupForecast]:
    """Forecast the groups of channels of a table, each in an equal share of the time.

    Parameters
    ----------
    values : ndarray
        The series, NaN where missing.
    groups : sequence of tuple of int
        The channels of each group.
    steps : int
        Number of samples to forecast.
    known : int or None
        The rank, if known.
    how : Extrapolation
    search : ForecastSearch
    """
    found: list[GroupForecast] = []
    for members in groups:
        with watched(seconds_left() / (len(groups) - len(found))):
            found.append(_forecast_group(values, members, steps, known, how, search))
    return found


def _forecast_group(
    values: NDArray,
    members: Members,
    steps: int,
    known: int | None,
    how: Extrapolation,
    search: ForecastSearch,
) -> GroupForecast:
    """Forecast some channels of a table."""
    values = members_of(values, members)
    how = replace(how, channels=None if values.ndim == 1 else how.channels)
    past = forecast_past(values, steps, known, how, search)
    fit = how.extrapolate(past.selection, past.rank, len(values) + steps)
    average, free = None, known is how.channels is how.sigma is None and not how.undamped
    if free and not np.iscomplexobj(values) and not time_is_up():
        average = average_forecasts(values, to_numpy(fit.y), past, seasons=how.seasons)
    assert fit.modes is not None  # a Hankel structure has modes
    own = None if average is None else average.model
    error = past.error if own is None else own.error
    model = GroupModel(members, fit.modes, how.sigma, how.undamped, past.widening, error, own)
    return GroupForecast(model, fit, average, past.converged)


def put_together(found: Sequence[GroupForecast]) -> Estimate:
    """Return one estimate of all channels, in the shape of a structure's signals."""
    if len(found) == 1:
        return found[0].estimate()
    return merged([one.estimate() for one in found], [one.model.members for one in found])

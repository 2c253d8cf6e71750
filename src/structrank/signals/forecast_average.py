"""Several forecasts of one series, averaged by their errors in the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from .._array import NDArray
from ..components import FittedSeries, fit_series
from ..io.saved_results import savable
from .backtesting import Past


@dataclass(frozen=True)
class AverageRule:
    """How forecasts are averaged; set by hand.

    Attributes
    ----------
    power : float
        Weights are mean absolute errors in the past to minus this power.
    least : float
        A smaller weight is zero.
    widest : float
        A forecast that leaves the range of the samples by more than this many times the range is
        left out: it grows without support.
    fewest : int
        Forecasts of known samples, at least, to judge by.
    as_expected, nearly : float
        Modes are extrapolated alone if their errors in the past were at most so many times those
        that their fit predicts, and at most so many times those of the best forecast.
    fewest_origins : int
        Origins that are assumed at least, for intervals that are not absurd.
    """

    power: float = 4.0
    least: float = 0.05
    widest: float = 1.0
    fewest: int = 4
    as_expected: float = 1.2
    nearly: float = 1.25
    fewest_origins: int = 3

    def uncertainty(self, origins: int) -> float:
        """Factor of standard errors, as their size is known from few forecasts only.

        Errors from one origin are much alike, so that an origin counts as one of them: the ratio
        of the 95% intervals of Student and of Gauss.
        """
        return float(stdtrit(max(origins, self.fewest_origins), 0.975) / ndtri(0.975))


@savable()
@dataclass(frozen=True, eq=False)
class AverageModel:
    """What an average of forecasts continues from when new samples arrive.

    Attributes
    ----------
    fitted : FittedSeries
        The components.
    seasons : tuple of float
        Known seasons, in samples.
    weights : dict of str to float
        What it is an average of, the largest weight first.
    size : float
        Standard errors over those of the components, from forecasts of known samples.
    error : float
        Root mean square error of such forecasts.
    """

    fitted: FittedSeries
    seasons: tuple[float, ...]
    weights: dict[str, float]
    size: float
    error: float

    def forecast(self, values: NDArray, modal: NDArray) -> AveragedForecast:
        """Average forecasts of a series with the weights and the components found before.

        Parameters
        ----------
        values : ndarray
            The series, NaN where missing.
        modal : ndarray
            The forecast by modes.
        """
        steps = len(modal)
        (found,) = self.fitted.smooth([np.append(values, np.full(steps, np.nan))])
        forecasts = {"modes": modal, "components": found.signal[-steps:]}
        rules = _simple_rules(self.fitted, self.seasons)
        forecasts |= {name: rule(values, steps) for name, rule in rules.items()}
        near = _near_the_samples(values, {name: forecasts[name] for name in self.weights})
        kept = {name: self.weights[name] for name in near} or {"naive": 1.0}
        weights = {name: weight / sum(kept.values()) for name, weight in kept.items()}
        mean = np.asarray(sum(w * forecasts[name] for name, w in weights.items()))
        return AveragedForecast(mean, self.size * found.deviation[-steps:], weights, self)


@dataclass(frozen=True, eq=False)
class AveragedForecast:
    """An average of forecasts.

    Attributes
    ----------
    mean, stderr : ndarray
        The values, and standard errors of samples, calibrated on forecasts of known samples.
    weights : dict of str to float
        What it is an average of, the largest weight first.
    model : AverageModel
        What it continues from when new samples arrive.
    """

    mean: NDArray
    stderr: NDArray
    weights: dict[str, float]
    model: AverageModel


def average_forecasts(
    values: NDArray,
    steps: int,
    modal: NDArray,
    past: Past,
    rule: AverageRule = AverageRule(),
    *,
    seasons: Sequence[float] = (),
) -> AveragedForecast | None:
    """Average the forecasts by modes, by components and by simple rules.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    steps : int
        Number of samples to forecast.
    modal : ndarray
        The forecast by modes.
    past : Past
        Forecasts of known samples by modes, and from where.
    rule : AverageRule
    seasons : sequence of float
        Known seasons, in samples.

    Returns
    -------
    AveragedForecast or None
        None if modes are as good as they claim to be, or too few samples are known to judge.
    """
    if past.residual.size < rule.fewest:
        return None
    fitted = fit_series(values, periods=seasons)
    origins = _Origins(values, past.ends, past.ahead)
    nothing = np.full(steps, np.nan)
    found = fitted.smooth([np.append(y, nothing) for y in (*origins.pasts(), values)])
    rules = _simple_rules(fitted, seasons)
    forecasts = {"modes": modal, "components": found[-1].signal[-steps:]}
    forecasts |= {name: simple(values, steps) for name, simple in rules.items()}
    ours = origins.errors([one.signal[at] for one, at in zip(found, origins.windows, strict=False)])
    residuals = {"modes": past.residual, "components": fitted.optimism * ours}
    for name, simple in rules.items():
        ends = [simple(values[:end], past.ahead) for end in past.ends]
        residuals[name] = origins.errors(ends)
    errors = {name: float(np.mean(np.abs(r))) for name, r in residuals.items()}
    if past.widening <= rule.as_expected and errors["modes"] <= rule.nearly * min(errors.values()):
        return None
    weights = _weights(values, forecasts, errors, rule)
    mean = np.asarray(sum(w * forecasts[name] for name, w in weights.items()))
    residual = np.asarray(sum(w * residuals[name] for name, w in weights.items()))
    spread = origins.known(
        [one.deviation[at] for one, at in zip(found, origins.windows, strict=False)]
    )
    ratio = residual / np.maximum(spread, np.finfo(float).tiny)
    size = np.sqrt(np.mean(ratio**2)) * rule.uncertainty(len(past.ends))
    stderr = size * found[-1].deviation[-steps:]
    error = float(np.sqrt(np.mean(residual**2)))
    model = AverageModel(fitted, tuple(seasons), weights, float(size), error)
    return AveragedForecast(mean, stderr, weights, model)


@dataclass(frozen=True, eq=False)
class _Origins:
    """Places in a series from which known samples are forecast."""

    values: NDArray
    ends: list[int]
    ahead: int

    @property
    def windows(self) -> list[slice]:
        """What is forecast from each origin."""
        return [slice(end, end + self.ahead) for end in self.ends]

    def pasts(self) -> list[NDArray]:
        """The series before each origin, NaN from there on."""
        at = np.arange(len(self.values))
        return [np.where(at < end, self.values, np.nan) for end in self.ends]

    def known(self, parts: list[NDArray]) -> NDArray:
        """Numbers of all windows where samples are known, one window after the other."""
        pairs = zip(parts, self.windows, strict=True)
        return np.concatenate([part[~np.isnan(self.values[at])] for part, at in pairs])

    def errors(self, forecasts: list[NDArray]) -> NDArray:
        """Forecasts minus known samples."""
        return self.known(forecasts) - self.known([self.values[at] for at in self.windows])


def _weights(
    values: NDArray,
    forecasts: dict[str, NDArray],
    errors: dict[str, float],
    rule: AverageRule,
) -> dict[str, float]:
    """Weights by past errors, of forecasts that stay near the range of the samples."""
    near = _near_the_samples(values, forecasts, rule)
    kept = {name: errors[name] for name in near} or {"naive": 1.0}
    least = min(kept.values())
    raw = {
        name: 1.0 if error <= least else (least / error) ** rule.power
        for name, error in kept.items()
    }
    total = sum(raw.values())
    large = {name: w for name, w in raw.items() if w >= rule.least * total}
    total = sum(large.values())
    return {name: w / total for name, w in sorted(large.items(), key=lambda item: -item[1])}


def _near_the_samples(
    values: NDArray, forecasts: dict[str, NDArray], rule: AverageRule = AverageRule()
) -> list[str]:
    """Forecasts that stay near the range of the samples."""
    low, high = np.nanmin(values), np.nanmax(values)
    reach = rule.widest * (high - low)
    return [
        name
        for name, mean in forecasts.items()
        if np.all((mean >= low - reach) & (mean <= high + reach))
    ]


def _simple_rules(
    fitted: FittedSeries, seasons: Sequence[float]
) -> dict[str, Callable[[NDArray, int], NDArray]]:
    """Rules that anybody would try: the last value, its drift, the last season."""
    rules: dict[str, Callable[[NDArray, int], NDArray]] = {"naive": _naive, "drift": _drift}
    found = fitted.fits[0].components.seasons.values()
    periods = list(seasons) or [season.period for season in found]
    if periods and float(max(periods)).is_integer():
        period = int(max(periods))

        def seasonal(y: NDArray, steps: int) -> NDArray:
            return _seasonal(y, steps, period)

        rules["seasonal naive"] = seasonal
    return rules


def _naive(y: NDArray, steps: int) -> NDArray:
    return np.full(steps, y[~np.isnan(y)][-1])


def _drift(y: NDArray, steps: int) -> NDArray:
    at = np.flatnonzero(~np.isnan(y))
    slope = (y[at[-1]] - y[at[0]]) / max(at[-1] - at[0], 1)
    return np.asarray(y[at[-1]] + slope * (np.arange(1, steps + 1) + len(y) - 1 - at[-1]))


def _seasonal(y: NDArray, steps: int, period: int) -> NDArray:
    """The last value seen at each phase; the last value of all where none was."""
    seen = np.flatnonzero(~np.isnan(y))
    last = np.full(period, y[seen[-1]])
    last[seen % period] = y[seen]  # later values overwrite earlier ones
    return np.asarray(last[np.arange(len(y), len(y) + steps) % period])

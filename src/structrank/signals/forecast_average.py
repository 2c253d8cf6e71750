"""Several forecasts of one series, averaged by their errors in the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.special import ndtri, stdtrit

from .._array import NDArray
from ..components import FittedSeries, fit_either_scale
from ..io.saved_results import savable
from ..selection.whiteness import is_white
from .backtesting import Past
from .forecast_rules import simple_rules


@dataclass(frozen=True)
class AverageRule:
    """How forecasts are averaged; set by hand on 25 real series and eleven simulated families.

    Attributes
    ----------
    power : float
        Weights are mean absolute errors in the past to minus this power.
    least : float
        A smaller weight is zero.
    widest : float
        A forecast that leaves the range of the samples by more than this many times the range is
        left out: it grows without support.
    farthest : float
        So are modes that move away from the last sample by more than this many times what the
        series ever did in as many steps.
    fewest : int
        Forecasts of known samples, at least, to judge by.
    doubts : dict of str to float
        Factors of past errors. Few forecasts of known samples say little, and the components are
        what most series look like: others have to be better by more than chance. Modes are the best
        of several ranks.
    rules : float
        The same for the other rules.
    as_expected, alone : float
        Modes are extrapolated alone if their errors in the past were at most so many times those
        that their fit predicts, and, with their factor, at most so many times those of all others.
    nearly : float
        If they explain the series, it is enough that their errors are so many times those of
        others.
    fewest_white : int
        They do if they leave white noise of so many samples, at least: fewer hide correlations that
        others would use.
    small : float
        They do, too, if they leave at most this share of the deviation of the series.
    fewest_origins : int
        Origins that are assumed at least, for intervals that are not absurd.
    """

    power: float = 4.0
    least: float = 0.05
    widest: float = 1.0
    farthest: float = 2.0
    fewest: int = 4
    doubts: dict[str, float] = field(
        default_factory=lambda: {"components": 1.0, "modes": 1.25, "damped trend": 1.15}
    )
    rules: float = 1.3
    as_expected: float = 1.2
    alone: float = 0.8
    nearly: float = 1.25
    fewest_white: int = 100
    small: float = 0.1
    fewest_origins: int = 3

    def doubted(self, errors: dict[str, float]) -> dict[str, float]:
        """Past errors times the factors of their forecasts."""
        return {name: self.doubts.get(name, self.rules) * error for name, error in errors.items()}

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
        rules = simple_rules(_period(self.fitted, self.seasons))
        forecasts |= {n: rules[n](values, steps) for n in rules if n in (*self.weights, "naive")}
        near = _near_the_samples(values, {name: forecasts[name] for name in self.weights})
        weights = {name: self.weights[name] for name in self.weights if name in near}
        if len(weights) < len(self.weights):
            weights = weights or {"naive": 1.0}
            weights = {name: weight / sum(weights.values()) for name, weight in weights.items()}
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
    fit: NDArray,
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
    fit : ndarray
        The fit by modes, of the series and what follows.
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
    modal = fit[len(values) :]
    steps = len(modal)
    fitted = fit_either_scale(values, periods=seasons)
    origins = _Origins(values, past.ends, past.ahead)
    nothing = np.full(steps, np.nan)
    found = fitted.smooth([np.append(y, nothing) for y in (*origins.pasts(), values)])
    rules = simple_rules(_period(fitted, seasons))
    forecasts = {"modes": modal, "components": found[-1].signal[-steps:]}
    forecasts |= {name: simple(values, steps) for name, simple in rules.items()}
    ours = origins.errors([one.signal[at] for one, at in zip(found, origins.windows, strict=False)])
    residuals = {"modes": past.residual, "components": fitted.optimism * ours}
    for name, simple in rules.items():
        ends = [simple(values[:end], past.ahead) for end in past.ends]
        residuals[name] = origins.errors(ends)
    errors = {name: float(np.mean(np.abs(r))) for name, r in residuals.items()}
    weights = _weights(values, forecasts, rule.doubted(errors), rule)
    expected = "modes" in weights and past.widening <= rule.as_expected
    if expected and _modes_suffice(errors, _is_explained(values, fit, rule), rule):
        return None
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


def _is_explained(values: NDArray, fit: NDArray, rule: AverageRule) -> bool:
    """Whether a fit leaves little, or white noise of enough samples to say so."""
    seen = ~np.isnan(values)
    residual = np.where(seen, values - fit[: len(values)], 0.0)
    if np.std(residual[seen]) <= rule.small * np.std(values[seen]):
        return True
    enough = bool(np.count_nonzero(seen) >= rule.fewest_white)
    return enough and is_white(residual[:, None], seen[:, None])


def _modes_suffice(errors: dict[str, float], explained: bool, rule: AverageRule) -> bool:
    """Whether modes have so much smaller past errors than others that they are not averaged."""
    others = min(error for name, error in rule.doubted(errors).items() if name != "modes")
    if rule.doubted(errors)["modes"] <= rule.alone * others:
        return True
    return explained and errors["modes"] <= rule.nearly * min(errors.values())


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
    """Forecasts that stay near the range of the samples, and modes that move as they did."""
    low, high = np.nanmin(values), np.nanmax(values)
    reach = rule.widest * (high - low)
    near = [
        name
        for name, mean in forecasts.items()
        if np.all((mean >= low - reach) & (mean <= high + reach))
    ]
    if "modes" in near:
        last, mean = values[~np.isnan(values)][-1], forecasts["modes"]
        if np.max(np.abs(mean - last)) > rule.farthest * _largest_move(values, len(mean)):
            near.remove("modes")
    return near


def _largest_move(values: NDArray, steps: int) -> float:
    """The largest difference of two samples that are at most so many steps apart."""
    width = min(steps, len(values) - 1) + 1
    highest = maximum_filter1d(np.where(np.isnan(values), -np.inf, values), width)
    lowest = minimum_filter1d(np.where(np.isnan(values), np.inf, values), width)
    return float(np.max(highest - lowest))


def _period(fitted: FittedSeries, seasons: Sequence[float]) -> int:
    """The longest season, known or found, of a whole number of samples; 1 if there is none."""
    found = fitted.fits[0].components.seasons.values()
    periods = list(seasons) or [season.period for season in found]
    return int(max((period for period in periods if float(period).is_integer()), default=1))

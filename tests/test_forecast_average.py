"""Forecasts by modes, components and simple rules, averaged by their past errors."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import nightly

from structrank import forecast
from structrank.components import fit_series
from structrank.signals.forecast_average import (
    AverageRule,
    _largest_move,
    _near_the_samples,
    _period,
    _weights,
)
from structrank.signals.forecast_rules import (
    SmoothingGrid,
    _first_states,
    damped_trend,
    drift,
    naive,
    seasonal,
)


def test_simple_rules():
    y = np.array([1.0, 2.0, np.nan, 4.0, np.nan])
    np.testing.assert_array_equal(naive(y, 2), [4.0, 4.0])
    np.testing.assert_allclose(drift(y, 2), [6.0, 7.0])
    np.testing.assert_array_equal(seasonal(y, 3, 2), [4.0, 1.0, 4.0])


def test_simple_rules_have_the_longest_season_of_whole_samples(rng):
    season = np.tile(rng.standard_normal(12), 5)
    fitted = fit_series(season + 0.1 * rng.standard_normal(60), periods=[12])
    assert _period(fitted, ()) == 12
    assert _period(fitted, (7, 365.25)) == 7
    assert _period(fitted, (365.25,)) == 1


def literal_damped_trend(y, steps, period, constants):
    """One exponential smoothing, in scalars, from its constants: forecasts, and the squares."""
    alpha, beta, phi, gamma = constants
    t = np.arange(min(len(y), max(10, 3 * period)))
    rows = [[1.0, k + 1.0, *(float(k % period == j) for j in range(period))] for k in t]
    rows.append([0.0, 0.0, *np.ones(period)])  # the season has mean zero
    seen = [k for k in t if not np.isnan(y[k])]
    weights = np.diag([*(float(k in seen) for k in t), 1e6])
    target = np.append(np.nan_to_num(y[: len(t)]), 0.0)
    level, slope, *season = np.linalg.lstsq(weights @ rows, weights @ target, rcond=None)[0]
    squares = 0.0
    for k, value in enumerate(y):
        level, slope = level + phi * slope, phi * slope
        if not np.isnan(value):
            error = value - level - season[k % period]
            squares += error**2
            level, slope = level + alpha * error, slope + alpha * beta * error
            season[k % period] += gamma * (1 - alpha) * error
    ahead = []
    for k in range(len(y), len(y) + steps):
        level, slope = level + phi * slope, phi * slope
        ahead.append(level + season[k % period])
    return np.array(ahead), squares


@pytest.mark.parametrize("period", [1, 4])
def test_damped_trends_are_averaged_by_their_squares(period, rng):
    grid = SmoothingGrid(level=(0.3, 1.0), slope=(0.0, 0.2), damping=(0.9,), season=(0.0, 0.1))
    steps = 0.3 * rng.standard_normal(30)  # all constants explain the series about as well
    y = np.cumsum(steps) + 0.3 * rng.standard_normal(30) + np.arange(30) % period
    y[20] = np.nan
    found, weights = [], []
    for constants in grid.constants(period).T:
        ahead, squares = literal_damped_trend(y, 5, period, constants)
        free = sum(k > 0 for k in (1 - constants[0], constants[1], constants[3]))
        found.append(ahead)
        weights.append(squares ** (-29 / 2) * np.exp(-free))
    expected = np.average(found, axis=0, weights=weights)
    np.testing.assert_allclose(damped_trend(y, 5, period, grid), expected, rtol=1e-6)


@pytest.mark.parametrize("period", [1, 3, 9, 5000])
def test_first_states_are_those_of_least_squares(period, rng):
    y = rng.standard_normal(8) + np.arange(8)
    level, slope, season = _first_states(y, period, SmoothingGrid())
    own = (
        np.eye(3)[np.arange(8) % 3] if period == 3 else np.zeros((8, 0))
    )  # else none is seen twice
    columns = np.column_stack([np.ones(8), np.arange(1, 9), own])
    expected = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    found = level + slope * np.arange(1, 9) + season[np.arange(8) % period]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert len(season) == period
    assert np.sum(season) == pytest.approx(0, abs=1e-10)


def test_modes_that_move_as_the_series_never_did_are_left_out():
    values = np.append(np.linspace(0, 10, 41), 10.0)
    calm, wild = np.full(4, 10.5), np.array([11.0, 12, 13, 14])  # at most 1 in four steps before
    assert _near_the_samples(values, {"modes": calm, "drift": wild}) == ["modes", "drift"]
    assert _near_the_samples(values, {"modes": wild, "drift": wild}) == ["drift"]


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_the_largest_move(steps, rng):
    y = rng.standard_normal(12)
    y[[0, 5]] = np.nan
    pairs = [(i, j) for i in range(12) for j in range(i, min(i + steps, 11) + 1)]
    moves = [abs(y[i] - y[j]) for i, j in pairs]
    assert _largest_move(y, steps) == pytest.approx(np.nanmax(moves))


def test_sums_of_modes_are_extrapolated_alone():
    t = np.arange(110)
    tones = np.cos(0.5 * t) + 0.7 * np.cos(1.234 * t + 1)
    noisy = tones + 0.1 * np.random.default_rng(0).standard_normal(110)
    ahead = forecast(noisy[:100], 10, effort="fast")
    assert ahead.weights == {"modes": 1.0}
    assert np.max(np.abs(ahead.mean - tones[100:])) < 0.2


def test_growth_by_a_share_is_forecast():
    rng = np.random.default_rng(2)
    y = np.exp(np.cumsum(0.05 + 0.02 * rng.standard_normal(60)))
    ahead = forecast(y[:50], 10, effort="fast")
    assert np.max(np.abs(ahead.mean / y[50:] - 1)) < 0.25
    assert np.all(ahead.lower < ahead.upper)


def test_weights_follow_past_errors_and_forecasts_that_grow_are_left_out():
    values = np.array([0.0, 1.0])
    forecasts = {"modes": np.array([9.0]), "naive": np.array([1.0]), "drift": np.array([1.5])}
    errors = {"modes": 0.0, "naive": 1.0, "drift": 2.0}
    weights = _weights(values, forecasts, errors, AverageRule())
    assert weights == pytest.approx({"naive": 16 / 17, "drift": 1 / 17})


def test_a_short_season_beside_a_drifting_level_is_forecast_as_a_season():
    rng = np.random.default_rng(1)
    t = np.arange(128)
    level = np.cumsum(0.8 * rng.standard_normal(128))
    y = 20 + level + np.array([3.0, -2.0, 5.0, -6.0])[t % 4] + 0.3 * rng.standard_normal(128)
    ahead = forecast(y[:120], 8)
    assert np.mean(np.abs(ahead.mean - y[120:])) < 3
    assert np.sum(list(ahead.weights.values())) == pytest.approx(1)
    assert "components" in ahead.weights
    assert "average of" in repr(ahead)
    assert np.mean((ahead.lower < y[120:]) & (y[120:] < ahead.upper)) > 0.5


@pytest.mark.filterwarnings("ignore:forecast. forecasts of known samples")
@pytest.mark.parametrize("length", [40, nightly(90)])
def test_a_walk_is_forecast_about_as_well_as_by_its_last_value(length):
    ours, naive = [], []
    for seed in range(4):
        walk = np.cumsum(np.random.default_rng(seed).standard_normal(length + 10)) + 30
        ahead = forecast(walk[:length], 10)
        ours.append(np.abs(ahead.mean - walk[length:]))
        naive.append(np.abs(walk[length - 1] - walk[length:]))
        width = ahead.upper - ahead.lower
        assert width[-1] > width[0]
    assert np.mean(ours) < 1.3 * np.mean(naive)


def test_a_known_rank_is_a_forecast_by_modes_alone():
    t = np.arange(60.0)
    ahead = forecast(np.cos(0.5 * t), 5, rank=2)
    assert ahead.weights == {"modes": 1.0}


def test_forecasts_worse_than_the_mean_are_warned_of():
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 10.0, -30.0], [30, 5, 5]) + 0.1 * rng.standard_normal(40)
    with pytest.warns(UserWarning, match="standard deviation of the series"):
        forecast(y, 5, effort="fast")

"""Forecasts by modes, components and simple rules, averaged by their past errors."""

from __future__ import annotations

import numpy as np
import pytest

from structrank import forecast
from structrank.signals.forecast_average import AverageRule, _drift, _naive, _seasonal, _weights


def test_simple_rules():
    y = np.array([1.0, 2.0, np.nan, 4.0, np.nan])
    np.testing.assert_array_equal(_naive(y, 2), [4.0, 4.0])
    np.testing.assert_allclose(_drift(y, 2), [6.0, 7.0])
    np.testing.assert_array_equal(_seasonal(y, 3, 2), [4.0, 1.0, 4.0])


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
def test_a_walk_is_forecast_about_as_well_as_by_its_last_value():
    ours, naive = [], []
    for seed in range(4):
        walk = np.cumsum(np.random.default_rng(seed).standard_normal(100)) + 30
        ahead = forecast(walk[:90], 10)
        ours.append(np.abs(ahead.mean - walk[90:]))
        naive.append(np.abs(walk[89] - walk[90:]))
        width = ahead.upper - ahead.lower
        assert width[-1] > width[0]
    assert np.mean(ours) < 1.3 * np.mean(naive)


def test_a_known_rank_is_a_forecast_by_modes_alone():
    t = np.arange(60.0)
    ahead = forecast(np.cos(0.5 * t), 5, rank=2)
    assert ahead.weights == {"modes": 1.0}


def test_forecasts_worse_than_the_mean_are_warned_of():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) < 60, 0.0, 10.0) + 0.1 * rng.standard_normal(80)
    y[70:] = -30 + rng.standard_normal(10)
    with pytest.warns(UserWarning, match="standard deviation of the series"):
        forecast(y, 10)

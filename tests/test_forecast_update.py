"""Forecasts that continue with new samples, without a new search."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from literal_kalman import literal_smoother
from scipy.optimize import least_squares

from structrank import Forecast, forecast, load
from structrank.io.appending import appended
from structrank.signals.forecast_rules import damped_trend, drift, naive, seasonal

PAST, ALL, STEPS = 32, 40, 4


def seasonal_series():
    rng = np.random.default_rng(1)
    walk = np.cumsum(0.8 * rng.standard_normal(ALL))
    pattern = np.array([3.0, -2, 5, -6])[np.arange(ALL) % 4]
    return 20 + walk + pattern + 0.3 * rng.standard_normal(ALL)


@pytest.fixture(scope="module")
def found() -> tuple[Forecast, float]:
    """A forecast, and the time it took."""
    before = time.process_time()
    ahead = forecast(seasonal_series()[:PAST], STEPS, season=4, effort="fast")
    return ahead, time.process_time() - before


@pytest.fixture(scope="module")
def ahead(found) -> Forecast:
    return found[0]


def literal_modes(modes, y, steps):
    """The forecast by modes, fitted by SciPy to the seen samples from given ones."""
    poles, seen, t = modes.poles[:, 0], ~np.isnan(y), np.arange(len(y) + steps)
    kept = poles[poles.imag >= -1e-12]
    real = np.abs(kept.imag) < 1e-12

    def columns(x):
        decay, angle = np.split(x, 2)
        waves = np.exp(np.outer(t, decay + 1j * np.where(real, 0, angle)))
        waves *= np.where(real & (kept.real < 0), -1.0, 1.0) ** t[:, None]
        return np.concatenate([waves.real, waves.imag[:, ~real]], axis=1)

    def fitted(x):
        rows = columns(x)
        return rows @ np.linalg.lstsq(rows[: len(y)][seen], y[seen], rcond=None)[0]

    start = np.concatenate([np.log(np.abs(kept)), np.angle(kept)])
    found = least_squares(lambda x: (fitted(x)[: len(y)] - y)[seen], start, xtol=1e-12, ftol=1e-14)
    return fitted(found.x)[-steps:]


def literal_components(fitted, y, steps):
    """The mean forecast of the fits, and its deviation, by a textbook filter for each of them."""
    scaled = np.append((y - fitted.offset) / fitted.scale, np.full(steps, np.nan))
    means, variances, white = [], [], []
    for fit in fitted.fits:
        s = fit.components.system(fit.parameters)
        zero = np.zeros((s.order, 1))
        found = literal_smoother(s.A, s.C, s.Q, s.R, zero, s.x0, s.x0_covariance, scaled[:, None])
        means.append((found.states @ s.C[0])[-steps:])
        variances.append([s.C[0] @ P @ s.C[0] for P in found.covariances[-steps:]])
        white.append(float(s.R[0, 0]))
    w = fitted.weights
    mean = w @ np.array(means)
    variance = w @ (np.array(variances) + (np.array(means) - mean) ** 2) + w @ np.array(white)
    return fitted.offset + fitted.scale * mean, fitted.scale * np.sqrt(variance)


def test_an_update_is_the_forecast_by_the_same_models_on_the_whole_series(ahead):
    new = seasonal_series()[PAST:]
    new[2] = np.nan
    later = ahead.update(new)
    y = np.append(ahead.samples, new)
    (group,) = ahead.model.groups
    components, deviation = literal_components(group.average.fitted, y, STEPS)
    modes = literal_modes(group.modes, y, STEPS)
    parts = {"components": components, "modes": modes, "naive": naive(y, STEPS)}
    parts |= {"drift": drift(y, STEPS), "seasonal naive": seasonal(y, STEPS, 4)}
    parts["damped trend"] = damped_trend(y, STEPS, 4)
    assert {"components", "seasonal naive"} <= set(ahead.weights)
    mean = sum(w * parts[name] for name, w in ahead.weights.items())
    np.testing.assert_allclose(later.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(later.stderr, group.average.size * deviation, rtol=1e-8)
    assert later.past_error == ahead.past_error
    assert later.weights == ahead.weights
    assert len(later.samples) == ALL


def test_updates_one_after_the_other_are_one_update(ahead):
    new = seasonal_series()[PAST:]
    once, twice = ahead.update(new), ahead.update(new[:4]).update(new[4:])
    assert once.weights == twice.weights
    np.testing.assert_allclose(once.mean, twice.mean, rtol=1e-5)
    np.testing.assert_allclose(once.stderr, twice.stderr, rtol=1e-8)


def test_nothing_new_changes_nothing(ahead):
    same = ahead.update(np.zeros(0))
    np.testing.assert_allclose(same.mean, ahead.mean, rtol=1e-6)
    np.testing.assert_allclose(same.stderr, ahead.stderr, rtol=1e-8)


def test_an_update_is_much_faster_than_a_forecast(found):
    ahead, forecast_took = found
    before = time.process_time()
    ahead.update(seasonal_series()[PAST:])
    assert forecast_took > 5 * (time.process_time() - before)


def test_a_forecast_that_leaves_the_range_of_the_samples_is_left_out(ahead):
    model = ahead.model.groups[0].average
    averaged = model.forecast(ahead.samples, np.full(STEPS, 1e3))
    assert "modes" not in averaged.weights
    assert sum(averaged.weights.values()) == pytest.approx(1)


def test_modes_alone_are_fitted_to_all_samples():
    t = np.arange(34.0)
    y = np.cos(0.5 * t) + 0.1 * np.random.default_rng(0).standard_normal(34)
    ahead = forecast(y[:26], 3, rank=2, sigma=0.1, effort="fast")
    later = ahead.update(y[26:])
    np.testing.assert_allclose(later.mean, literal_modes(ahead.modes, y, 3), atol=1e-5)
    assert later.refit.sigma == 0.1
    assert later.refit.sample_count == 34


def test_channels_and_an_index_go_on(tmp_path):
    months = pd.date_range("2020-01-01", periods=36, freq="MS", name="month")
    t = np.arange(36)
    waves = {"a": np.cos(0.7 * t), "b": 900 + 40 * np.sin(0.7 * t)}
    table = pd.DataFrame(waves, index=months)
    ahead = forecast(table[:30], 3, rank=3, effort="fast")
    ahead.save(tmp_path / "ahead.npz")
    for one in (ahead, load(tmp_path / "ahead.npz")):
        later = one.update(table[30:33])
        pd.testing.assert_frame_equal(later.mean, table[33:], atol=1e-3, check_freq=False)
        assert later.scaled
        assert len(later.samples) == 33
    assert later.modes.sampling == ahead.modes.sampling
    with pytest.raises(ValueError, match="2022-08-01.*where 2022-07-01.*is expected"):
        ahead.update(table[31:33])
    with pytest.raises(ValueError, match=r"columns \['b', 'a'\]"):
        ahead.update(table[30:33][["b", "a"]])
    with pytest.raises(TypeError, match="ndarray, but DataFrame is expected"):
        ahead.update(np.zeros((3, 2)))


def test_an_average_is_saved_with_its_components(ahead, tmp_path):
    ahead.save(tmp_path / "ahead.npz")
    new = seasonal_series()[PAST:]
    np.testing.assert_array_equal(
        load(tmp_path / "ahead.npz").update(new).mean, ahead.update(new).mean
    )


def test_new_samples_that_do_not_fit_are_refused(ahead):
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but \(new,\) is expected"):
        ahead.update(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="new_samples contains inf"):
        ahead.update([np.inf])
    with pytest.raises(TypeError, match="the new samples are complex, but real ones are expected"):
        ahead.update([1j])


def test_new_samples_beyond_single_precision():
    single = np.ones(3, np.float32)
    assert appended(single, np.array([2.0, np.nan])).dtype == np.float32
    np.testing.assert_array_equal(appended(single, np.array([1e80])), [1, 1, 1, 1e80])


def test_appended_data_arrays_and_masked_arrays():
    xr = pytest.importorskip("xarray")
    first = xr.DataArray([1.0, 2.0], {"t": [0.5, 1.0]}, ["t"], "x", {"units": "m"})
    both = appended(first, xr.DataArray([3.0], {"t": [1.5]}, ["t"]))
    assert both.attrs == {"units": "m"}
    np.testing.assert_array_equal(both["t"], [0.5, 1, 1.5])
    with pytest.raises(ValueError, match="no coordinate 't'"):
        appended(first, xr.DataArray([3.0], dims=["t"]))
    masked = np.ma.MaskedArray([1.0, 2.0], [True, False])
    assert appended(masked, masked).mask.tolist() == [True, False] * 2


def test_regressors_of_a_forecast_without_any_are_refused(ahead):
    with pytest.raises(ValueError, match="the forecast has none"):
        ahead.update(seasonal_series()[PAST:], regressors=np.ones(ALL - PAST))

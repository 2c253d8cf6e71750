"""The face for scikit-learn: its own checks, pipelines, searches, tables of pandas."""

from __future__ import annotations

import builtins
import importlib
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from structrank import forecast, impute, recover
from structrank.estimators import HankelDenoiser, HankelForecaster, HankelImputer

TRANSFORMERS = [HankelImputer, HankelDenoiser]
QUICK = {"rank": 3, "kind": "refit"}  # where the choice of an estimate does not matter
ORDER = {
    "check_methods_sample_order_invariance": "rows are times, so their order matters",
    "check_methods_subset_invariance": "rows are times, so each depends on the others",
}


def table(n=50, sigma=0.05, seed=0):
    """Two series that share a season, of very different size; the truth and samples of it."""
    t = np.arange(n)
    truth = np.stack([np.cos(0.4 * t) + 2, 1000 * np.sin(0.4 * t)], axis=1)
    noise = np.random.default_rng(seed).standard_normal((n, 2)) * [1, 1000]
    return truth, truth + sigma * noise


@pytest.fixture
def gappy():
    _, samples = table()
    samples[20:28, 0] = np.nan
    samples[45, 1] = np.nan
    return samples


@pytest.mark.parametrize(
    "estimator",
    [
        HankelImputer(rank=1),
        HankelDenoiser(rank=1, kind="refit"),
        HankelForecaster(rank=1),
        pytest.param(HankelImputer(), marks=pytest.mark.nightly),
        pytest.param(HankelDenoiser(kind="refit"), marks=pytest.mark.nightly),
    ],
)
def test_the_checks_of_scikit_learn_pass(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the noise they use for data
        results = check_estimator(
            estimator, expected_failed_checks=ORDER, on_fail=None, on_skip=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 30


@pytest.mark.parametrize("kind", [*TRANSFORMERS, HankelForecaster])
def test_parameters_can_be_read_set_and_cloned(kind):
    estimator = kind(rank=3, undamped=True)
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(rank=5).rank == 5
    assert "rank=5" in repr(estimator)


# Transformers


def test_the_imputer_keeps_what_is_seen_and_fills_the_rest(gappy):
    truth, _ = table()
    filled = HankelImputer(**QUICK).fit_transform(gappy)
    seen = ~np.isnan(gappy)
    np.testing.assert_array_equal(filled[seen], gappy[seen])
    assert np.max(np.abs(filled - truth)[~seen[:, 0], 0]) < 0.1
    assert np.max(np.abs(filled - truth)[~seen[:, 1], 1]) < 100


def test_transformers_are_the_functions_on_columns_of_one_size(gappy):
    scale = np.sqrt(np.nanmean(gappy**2, axis=0))
    np.testing.assert_allclose(
        HankelImputer(**QUICK).fit_transform(gappy),
        impute(gappy / scale, channels=1, **QUICK).signal * scale,
    )
    np.testing.assert_allclose(
        HankelDenoiser(**QUICK).fit_transform(gappy),
        recover(gappy / scale, channels=1, **QUICK).signal * scale,
    )


def test_the_denoiser_brings_all_columns_nearer_to_the_truth(gappy):
    truth, samples = table()
    clean = HankelDenoiser().fit_transform(gappy)
    before, after = (np.std(x - truth, axis=0) for x in (samples, clean))
    assert np.all(after < 0.6 * before)


def test_a_table_without_gaps_is_returned_as_a_copy():
    _, samples = table()
    filled = HankelImputer().fit_transform(samples)
    np.testing.assert_array_equal(filled, samples)
    assert not np.shares_memory(filled, samples)


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_each_table_is_solved_on_its_own(kind, gappy):
    _, other = table(40, seed=3)
    other[10:15] = np.nan
    fitted = kind(**QUICK).fit(gappy)
    np.testing.assert_array_equal(fitted.transform(other), kind(**QUICK).fit_transform(other))


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_frames_in_frames_out(kind, gappy):
    index = pd.date_range("2024-01-01", periods=len(gappy), freq="D")
    frame = pd.DataFrame(gappy, index, columns=["height", "flow"])
    transformer = kind(**QUICK).set_output(transform="pandas").fit(frame)
    out = transformer.transform(frame)
    pd.testing.assert_index_equal(out.index, index)
    assert list(out.columns) == ["height", "flow"]
    assert list(transformer.get_feature_names_out()) == ["height", "flow"]
    np.testing.assert_allclose(out, kind(**QUICK).fit_transform(gappy))
    with pytest.raises(ValueError, match="feature names"):
        transformer.transform(frame[["flow", "height"]])


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_single_precision_stays(kind, gappy):
    assert kind(**QUICK).fit_transform(gappy.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", [*TRANSFORMERS, HankelForecaster])
def test_tables_with_rows_left_out_are_refused(kind, gappy):
    frame = pd.DataFrame(gappy).drop(index=[7, 8])
    with pytest.raises(ValueError, match="irregular"):
        kind().fit(frame)


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_columns_without_a_value_are_refused(kind, gappy):
    gappy[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 has no values"):
        kind().fit_transform(gappy)


def test_the_rank_of_an_imputer_can_be_searched_for(gappy):
    target = table()[0].sum(axis=1)
    pipeline = make_pipeline(HankelImputer(kind="refit"), LinearRegression())
    search = GridSearchCV(
        pipeline, {"hankelimputer__rank": [1, 3]}, cv=TimeSeriesSplit(2), error_score="raise"
    )
    search.fit(gappy, target)
    assert search.best_params_ == {"hankelimputer__rank": 3}
    assert search.score(gappy, target) > 0.95


# The forecaster


def test_the_forecaster_carries_all_columns_on():
    truth, samples = table(58)
    fitted = HankelForecaster(steps=8).fit(samples[:50])
    assert fitted.rank_ == 3
    ahead, errors = fitted.predict(8, return_std=True)
    np.testing.assert_array_equal(fitted.predict(samples[50:]), ahead)
    assert ahead.shape == errors.shape == (8, 2)
    assert np.all(np.abs(ahead - truth[50:]) < [0.15, 150])
    assert np.all(np.abs(ahead - truth[50:]) < 4 * errors)
    np.testing.assert_allclose(fitted.predict(4), ahead[:4])


def test_the_forecaster_forecasts_as_the_function_does():
    _, samples = table()
    scale = np.sqrt(np.mean(samples**2, axis=0))
    expected = forecast(samples / scale, 5, channels=1, rank=3)
    ahead, errors = HankelForecaster(steps=5, rank=3).fit(samples).predict(5, return_std=True)
    np.testing.assert_allclose(ahead, expected.mean * scale, atol=1e-6 * scale.max())
    np.testing.assert_allclose(errors, expected.stderr * scale, rtol=1e-4)


def test_a_score_is_one_at_best_and_leaves_out_what_is_missing():
    truth, samples = table(58)
    fitted = HankelForecaster(steps=8, rank=3).fit(samples[:50])
    assert fitted.score(fitted.predict(8)) == 1
    score = fitted.score(truth[50:])
    assert 0.9 < score < 1
    assert fitted.score(-truth[50:]) < 0
    truth[50:52, 0] = np.nan
    assert 0.8 < fitted.score(truth[50:]) < 1
    alone = r2_score(truth[50:, 1], fitted.predict(8)[:, 1])
    for seen in (0, 1):  # too few values of a column say nothing
        truth[50 + seen :, 0] = np.nan
        assert fitted.score(truth[50:]) == pytest.approx(alone)
    with pytest.raises(ValueError, match="no column has two values"):
        fitted.score(truth[50:51])


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_units_do_not_matter(kind, gappy):
    expected = kind(**QUICK).fit_transform(gappy)
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(kind(**QUICK).fit_transform(size * gappy) / size, expected)


def test_units_of_a_forecast_do_not_matter():
    truth, samples = table(58)
    expected = HankelForecaster(rank=3).fit(samples[:50])
    for size in (1e-200, 1e200):
        fitted = HankelForecaster(rank=3).fit(size * samples[:50])
        np.testing.assert_allclose(fitted.predict(8) / size, expected.predict(8), rtol=1e-6)
        assert fitted.score(size * truth[50:]) == pytest.approx(expected.score(truth[50:]))


def test_the_rank_of_a_forecaster_can_be_searched_for():
    _, samples = table()
    pipeline = make_pipeline(StandardScaler(), HankelForecaster(steps=10, undamped=True))
    search = GridSearchCV(
        pipeline,
        {"hankelforecaster__rank": [1, 2]},
        cv=TimeSeriesSplit(2, test_size=10),
        error_score="raise",
    )
    assert search.fit(samples).best_params_ == {"hankelforecaster__rank": 2}
    assert search.predict(samples[:5]).shape == (5, 2)


def test_zeros_are_forecast_of_noise(rng):
    samples = 5 * rng.standard_normal((60, 1))
    fitted = HankelForecaster().fit(samples)
    assert (fitted.rank_, fitted.modes_) == (0, None)
    ahead, errors = fitted.predict(3, return_std=True)
    np.testing.assert_array_equal(ahead, np.zeros((3, 1)))
    np.testing.assert_allclose(errors, np.sqrt(np.mean(samples**2)))


def test_errors_of_the_forecaster():
    _, samples = table()
    with pytest.raises(ValueError, match="minimum of 8 is required"):
        HankelForecaster().fit(samples[:7])
    with pytest.raises(ValueError, match="steps is 0"):
        HankelForecaster(steps=0).fit(samples)
    with pytest.raises(ValueError, match="steps is -1"):
        HankelForecaster(rank=3).fit(samples).predict(-1)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    real_import = builtins.__import__

    def no_sklearn(name, *args, **kwargs):
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "structrank.estimators")
    monkeypatch.setattr(builtins, "__import__", no_sklearn)
    with pytest.raises(ImportError, match=r'pip install "structrank\[sklearn\]"'):
        importlib.import_module("structrank.estimators")

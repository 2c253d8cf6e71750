"""Rows left out and jittered times of pandas objects, made regular on request."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from structrank import denoise, forecast, frequencies, impute, recover
from structrank.io.regular_samples import regular_samples

N = 60
T = np.arange(N)
WAVE = np.cos(0.4 * T)
LEFT_OUT = [7, 20, 21, 22, 41]


def series(index, values=WAVE):
    """The series on a regular index, and the same with rows left out."""
    whole = pd.Series(values, index, name="wind")
    return whole, whole.drop(whole.index[LEFT_OUT])


INDEXES = {
    "days": pd.date_range("2024-01-01", periods=N, name="day"),
    "minutes": pd.date_range("2024-01-01 00:07", periods=N, freq="10min"),
    "months": pd.date_range("2020-01-31", periods=N, freq="ME"),
    "business": pd.bdate_range("2024-01-01", periods=N),
    "berlin": pd.date_range("2024-03-20", periods=N, tz="Europe/Berlin"),
    "berlin hours": pd.date_range("2024-03-30", periods=N, freq="h", tz="Europe/Berlin"),
    "quarters": pd.period_range("2001Q1", periods=N, freq="Q", name="q"),
    "durations": pd.timedelta_range("1s", periods=N, freq="500ms"),
    "numbers": pd.Index(0.25 * T, name="t"),
    "integers": pd.RangeIndex(10, 10 + 2 * N, 2),
}


@pytest.mark.parametrize("name", INDEXES)
def test_rows_that_are_left_out_become_gaps(name):
    whole, cut = series(INDEXES[name])
    expected = whole.copy()
    expected.iloc[LEFT_OUT] = np.nan
    shuffled = cut.sample(frac=1.0, random_state=0)
    for given in (cut, shuffled):
        found = regular_samples(given, True)
        pd.testing.assert_series_equal(found, expected, check_freq=False, check_index_type=False)
        assert "5 rows without values were added" in found.attrs["regular"]
    assert given.attrs == {}


def test_jitter_and_a_given_step():
    whole, cut = series(INDEXES["minutes"])
    moved = cut.copy()
    seconds = np.random.default_rng(0).uniform(-60, 60, len(cut))
    moved.index = cut.index + pd.to_timedelta(seconds, unit="s")
    found = regular_samples(moved, "10min")
    assert len(found) == N
    assert found.count() == N - 5
    assert "step 10 min" in found.attrs["regular"]
    assert re.search(r"5\d times were moved by up to", found.attrs["regular"])
    np.testing.assert_array_equal(found.dropna(), cut)
    durations = series(INDEXES["durations"])[1]
    assert len(regular_samples(durations, "500ms")) == N
    assert regular_samples(whole, False) is whole


def test_tables_keep_their_columns_and_kinds():
    table = pd.DataFrame({"a": T, "b": 1j * WAVE}, INDEXES["days"]).drop(INDEXES["days"][[3]])
    table["c"] = pd.array(T[:-1], dtype="Int64")
    found = regular_samples(table, True)
    assert found.shape == (N, 3)
    assert found.isna().all(axis=1).tolist() == [k == 3 for k in range(N)]
    assert found["b"].dtype == complex
    assert str(found["c"].dtype) == "Int64"


def test_errors():
    whole, cut = series(INDEXES["quarters"])
    with pytest.raises(ValueError, match="periods of Q"):
        regular_samples(cut, "1month")
    with pytest.raises(TypeError, match="samples are a ndarray, whose times"):
        recover(WAVE, regular=True)
    with pytest.raises(ValueError, match="numbers or dates are expected"):
        regular_samples(pd.Series([1.0, 2.0, 3.0], list("abc")), True)
    twice = pd.concat([whole, whole.iloc[:1]])
    with pytest.raises(ValueError, match="less than a step"):
        regular_samples(twice, True)
    with pytest.raises(ValueError, match="regular=True"):
        recover(series(INDEXES["days"])[1])


def test_recover_impute_and_forecast():
    whole, cut = series(INDEXES["days"])
    found = recover(cut, regular=True, rank=2, kind="refit")
    np.testing.assert_allclose(found.signal, WAVE, atol=1e-6)
    assert found.signal.index.equals(whole.index)
    assert "index         regular with step 1 d; 5 rows without values were added" in repr(found)
    filled = impute(cut, regular="1d", rank=2, kind="refit")
    np.testing.assert_allclose(filled.signal, WAVE, atol=1e-6)
    assert denoise(cut, regular=True, rank=2, kind="refit").rank == 2
    assert len(frequencies(cut, regular=True, rank=2)) == 2
    same = impute(whole.sample(frac=1.0, random_state=1), regular=True)
    assert "rows were sorted by time" in repr(same)
    pd.testing.assert_series_equal(same.signal, whole, check_freq=False)
    ahead = forecast(cut, 3, regular=True, rank=2)
    assert ahead.mean.index[0] == whole.index[-1] + pd.Timedelta("1D")
    assert "regular with step 1 d" in repr(ahead)

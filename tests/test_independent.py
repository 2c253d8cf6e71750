"""Columns that are recovered each by itself: the results of a loop, in one table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import nightly

from structrank import IndependentRecovery, Status, denoise, impute, load, recover
from structrank.cli import main
from structrank.estimators import HankelImputer
from structrank.signals import each_signal

T = np.arange(150)
OPTIONS = {"rank": 2}


def table(count=3, seed=0):
    """Tones of different frequencies, with gaps; the last column has none."""
    rng = np.random.default_rng(seed)
    values = np.cos(np.outer(T, 0.3 + 0.2 * np.arange(count)))
    values += 0.05 * rng.standard_normal(values.shape)
    values[10:14, : count - 1] = np.nan
    index = pd.date_range("2024-01-01", periods=len(T), freq="h", name="time")
    return pd.DataFrame(values, index, [f"c{k}" for k in range(count)])


@pytest.mark.parametrize("workers", [1, nightly(2)])
@pytest.mark.parametrize("call", [recover, nightly(denoise), impute])
def test_a_table_has_the_recoveries_of_its_columns(call, workers):
    given = table()
    found = call(given, channels="independent", workers=workers, **OPTIONS)
    assert isinstance(found, IndependentRecovery)
    pd.testing.assert_index_equal(found.signal.index, given.index)
    assert list(found.signal) == list(found.stderr) == list(given)
    assert found.groups == [(0,), (1,), (2,)]
    assert found.status is Status.FINISHED
    for name, column in zip(given, found.columns, strict=True):
        alone = call(given[name], **OPTIONS)
        for part in ("signal", "stderr", "lower", "upper"):
            pd.testing.assert_series_equal(getattr(found, part)[name], getattr(alone, part))
            pd.testing.assert_series_equal(getattr(column, part), getattr(alone, part))
        assert column.rank == alone.rank
    if call is impute:
        np.testing.assert_array_equal(found.signal["c2"], given["c2"])


def test_arrays_draws_files_and_pictures(tmp_path):
    found = recover(table().to_numpy(), channels="independent", **OPTIONS)
    assert found.signal.shape == (150, 3)
    assert found.sigma.shape == (3,)
    draws = found.draws(200, rng=1)
    np.testing.assert_allclose(draws.std(axis=0), found.stderr, rtol=0.5)
    assert "3, each fitted alone" in repr(found)
    found.save(tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.columns[1].signal, found.columns[1].signal)
    assert len(found.plot()) == 3
    for name in ("report", "components", "residuals", "plot_scree"):
        with pytest.raises(ValueError, match=r"found.columns\[k\]"):
            getattr(found, name)()
    assert found.columns[0].report() is not None


def test_ctrl_c_returns_the_finished_columns(monkeypatch):
    def finished(task, items, workers):
        yield 1, task(items[1])
        raise KeyboardInterrupt

    monkeypatch.setattr(each_signal, "finished", finished)
    found = impute(table(), channels="independent", **OPTIONS)
    assert found.status is Status.INTERRUPTED
    assert [c.status.name for c in found.columns] == ["INTERRUPTED", "FINISHED", "INTERRUPTED"]
    assert found.signal["c0"].isna().sum() == 4
    assert not found.signal["c1"].isna().any()
    assert "2 was interrupted" in repr(found)


def test_what_does_not_suit_independent_columns():
    with pytest.raises(ValueError, match="1 axes: expected a table"):
        recover(np.ones(150), channels="independent")
    with pytest.raises(ValueError, match="pass channels='independent'"):
        recover(table(), workers=2)
    with pytest.raises(ValueError, match="times are given"):
        recover(table(), channels="independent", times=T)
    with pytest.raises(ValueError, match=r"shape \(150, 0\): expected columns"):
        recover(np.ones((150, 0)), channels="independent", max_time=1)
    with pytest.raises(ValueError, match="max_time is -3"):
        recover(table(), channels="independent", max_time=-3)
    with pytest.raises(TypeError, match="one for all"):
        recover(table(), channels="independent", rng=np.random.default_rng(0))


def test_estimators_and_commands(tmp_path):
    given = table()
    expected = impute(given, channels="independent", **OPTIONS).signal
    imputer = HankelImputer(channels="independent", **OPTIONS)
    np.testing.assert_allclose(imputer.fit_transform(given), expected, atol=1e-6)
    with pytest.raises(ValueError, match="channels"):
        HankelImputer(channels="both").fit_transform(given)
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    given.to_csv(file)
    command = ["impute", str(file), "--independent", "--rank", "2", "--out", str(out)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "each fitted alone" in done.output
    filled = pd.read_csv(out, index_col=0)
    np.testing.assert_allclose(filled, impute(given, channels="independent", rank=2).signal)
    done = CliRunner().invoke(main, [*command[:-2], "--report", str(tmp_path / "a.html")])
    assert "--report cannot be used with --independent" in done.output

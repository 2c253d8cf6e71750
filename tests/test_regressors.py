"""Regressors known in advance: coefficients, gaps, forecasts, modes, files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.linalg import solve_triangular
from scipy.optimize import least_squares

import structrank
from structrank import Forecast, Recovery, forecast, impute, load, recover
from structrank.cli import main
from structrank.components import Components, FittedSeries
from structrank.components.likelihood import ComponentFit
from structrank.components.regression import (
    Regression,
    generalised_least_squares,
)
from structrank.modal.modes import Modes
from structrank.signals.joint_modes import fit_jointly
from structrank.signals.regressor_table import RegressorTable

pytestmark = pytest.mark.usefixtures("one_round_of_regression")

N, STEPS = 36, 4


def drifting(seed=0, length=N + STEPS):
    """A random walk, two regressors and noise; the last samples are the future."""
    rng = np.random.default_rng(seed)
    columns = {"price": rng.standard_normal(length), "heat": np.cumsum(rng.standard_normal(length))}
    X = pd.DataFrame(columns, pd.date_range("2020-01-01", periods=length, freq="MS"))
    y = 50 + np.cumsum(0.5 * rng.standard_normal(length)) + X.to_numpy() @ [2.0, -1.0]
    return pd.Series(y + 0.2 * rng.standard_normal(length), X.index, name="sales"), X


@pytest.fixture(scope="module")
def found() -> Recovery:
    y, X = drifting()
    y = y[:N].copy()
    y.iloc[15:20] = np.nan
    return recover(y, regressors=X[::-1], kind="components", effort="fast")


@pytest.fixture(scope="module")
def ahead() -> Forecast:
    y, X = drifting()
    return forecast(y[:N], STEPS, regressors=X, future_regressors=X, rank=1, effort="fast")


def covariance_of(fit, length):
    """Covariances of the signal, entry by entry from the matrices of the system."""
    s = fit.components.system(fit.parameters)
    P, signal = s.x0_covariance, np.zeros((length, length))
    for t in range(length):
        later = P
        for u in range(t, length):
            signal[t, u] = signal[u, t] = s.C[0] @ later @ s.C[0]
            later = s.A @ later
        P = s.A @ P @ s.A.T + s.Q
    return signal, float(s.R[0, 0])


def test_coefficients_and_errors_are_those_of_dense_matrices(rng):
    components = Components(30, order=1, drifts=("level",))
    fit = ComponentFit(components, np.array([-2.0, -1.5, -1.0, 0.5]), -40.0, 26)
    fitted = FittedSeries([fit], 3.0, 2.0)
    X, y = rng.standard_normal((30, 2)), 3 + rng.standard_normal(30)
    y[10:14] = np.nan
    seen = ~np.isnan(y)
    signal, white = covariance_of(fit, 30)
    signal, white = 4.0 * signal, 4.0 * white
    total = signal[np.ix_(seen, seen)] + white * np.eye(26)
    root = np.linalg.cholesky(total)
    A, b = (solve_triangular(root, part, lower=True) for part in (X[seen], y[seen] - 3.0))
    beta, inverse = np.linalg.lstsq(A, b, rcond=None)[0], np.linalg.inv(A.T @ A)
    got, covariance = generalised_least_squares(y, X, fitted)
    np.testing.assert_allclose(got, beta, rtol=1e-8)
    np.testing.assert_allclose(covariance, inverse, rtol=1e-8)
    centred = X - X[seen].mean(axis=0)
    left = centred - signal[:, seen] @ np.linalg.solve(total, centred[seen])
    regression = Regression(("a", "b"), got, covariance, X, fitted)
    np.testing.assert_allclose(regression.directions(y, X), left, atol=1e-8)


def test_gaps_are_filled_beside_regressors(found):
    y, X = drifting()
    gap = np.isnan(found.samples.to_numpy())
    inside = (y[:N].to_numpy() - found.signal.to_numpy())[gap]
    assert np.mean(np.abs(inside)) < 0.9  # the regressors move the series by 2 and more
    regression = found.regression
    assert regression.names == ("price", "heat")
    assert np.all(np.abs(regression.coefficients - [2, -1]) < 4 * regression.stderr)
    assert np.all(regression.stderr < 0.3)
    np.testing.assert_array_equal(regression.values, X[:N])
    assert "price: 2" in repr(found)
    assert np.std(found.draws(400), axis=0)[gap] == pytest.approx(found.stderr[gap], rel=0.25)
    width = (found.upper - found.lower).to_numpy()
    assert np.all(width[gap] > np.median(width))


def test_components_beside_regressors_add_up(found, tmp_path):
    parts = found.components()
    np.testing.assert_allclose(parts["regressors"], found.regression.effect)
    np.testing.assert_allclose(sum(parts[name] for name in parts.parts), found.signal)
    found.save(tmp_path / "found.npz")
    again = load(tmp_path / "found.npz")
    np.testing.assert_array_equal(again.regression.stderr, found.regression.stderr)


def test_forecasts_follow_the_future_of_regressors(ahead):
    y, X = drifting()
    truth = y[N:]
    pd.testing.assert_index_equal(ahead.mean.index, truth.index)
    assert np.mean(np.abs(ahead.mean - truth)) < 1.5
    effect = X[N:].to_numpy() @ ahead.regression.coefficients
    assert np.std(effect) > 0.5
    assert np.std(ahead.mean - effect) < 1
    assert "price: " in repr(ahead)


def test_an_update_beside_regressors_keeps_the_coefficients(ahead):
    y, X = drifting(length=N + 2 * STEPS)
    y, X = y[: N + STEPS], X
    later = ahead.update(y[N:], regressors=X, future_regressors=X)
    assert later.mean.index[0] == X.index[N + STEPS]
    np.testing.assert_array_equal(later.regression.coefficients, ahead.regression.coefficients)
    assert len(later.samples) == len(later.regression.values) == N + STEPS
    with pytest.raises(ValueError, match=r"\['price', 'heat'\], but their values"):
        ahead.update(y[N:])


def test_modes_and_regressors_are_fitted_together_by_least_squares(rng):
    t = np.arange(50)
    X = np.column_stack([np.cos(0.55 * t) + 0.3 * rng.standard_normal(50), t / 50])
    y = np.cos(0.6 * t + 1) + X @ [2.0, -1.0] + 0.1 * rng.standard_normal(50)
    y[20:24] = np.nan
    seen = ~np.isnan(y)

    def model(x):
        return x[0] * np.cos(x[2] * t) + x[1] * np.sin(x[2] * t) + X @ x[3:]

    best = least_squares(lambda x: (model(x) - y)[seen], [0.5, -0.8, 0.6, 2, -1], xtol=1e-14)
    start = Regression(("a", "b"), np.array([1.8, -0.7]), np.eye(2), X, None)
    joint = fit_jointly(y, Modes([0.097, -0.097], amplitudes=[0.5, 0.5]), start)
    np.testing.assert_allclose(joint.regression.coefficients, best.x[3:], rtol=1e-4)
    np.testing.assert_allclose(joint.signal, model(best.x), atol=1e-4)
    sigma = np.sqrt(2 * best.cost / (46 - 5))
    errors = sigma * np.sqrt(np.diag(np.linalg.inv(best.jac.T @ best.jac)))
    np.testing.assert_allclose(joint.regression.stderr, errors[3:], rtol=1e-3)
    assert joint.sigma == pytest.approx(sigma, rel=1e-4)
    draws = joint.draws(np.zeros(50, dtype=bool), 500, rng)
    np.testing.assert_allclose(draws.std(axis=0), joint.stderr, rtol=0.2)


@pytest.mark.nightly
def test_intervals_of_coefficients_and_of_gaps_hold_the_truth():
    inside, held = [], []
    for seed in range(40):
        y, X = drifting(seed, 80)
        gap = slice(30, 36)
        samples = y.to_numpy().copy()
        samples[gap] = np.nan
        got = impute(samples, regressors=X.to_numpy(), kind="components", effort="fast")
        regression = got.regression
        inside.append(np.abs(regression.coefficients - [2, -1]) < 1.96 * regression.stderr)
        held.append((got.lower[gap] <= y[gap]) & (y[gap] <= got.upper[gap]))
    assert 0.88 < np.mean(inside) <= 1
    assert 0.88 < np.mean(held) <= 1


@pytest.mark.nightly
def test_modes_are_found_beside_regressors():
    rng, t = np.random.default_rng(1), np.arange(120)
    X = np.cumsum(rng.standard_normal(120))
    y = np.cos(0.6 * t) + 2 * X + 0.1 * rng.standard_normal(120)
    found = recover(y, regressors=X)
    assert (found.kind, found.rank) == ("refit", 2)
    assert abs(found.regression.coefficients[0] - 2) < 4 * found.regression.stderr[0]
    assert np.sqrt(np.mean((found.signal - np.cos(0.6 * t) - 2 * X) ** 2)) < 0.05


Y, X = np.cumsum(np.random.default_rng(0).standard_normal(30)), np.arange(60.0).reshape(30, 2) ** 2
BAD = {
    "rows": (Y, X[:20], {}, r"shape \(20, 2\).*30 rows"),
    "missing": (Y, np.where(X == 4, np.nan, X), {}, "'regressor 1' is missing or infinite at 1"),
    "constant": (Y, np.ones(30), {}, "is constant"),
    "collinear": (Y, np.column_stack([X, X.sum(axis=1)]), {}, "'regressor 3' is a combination"),
    "many": (Y, np.random.default_rng(0).standard_normal((30, 14)), {}, "at least 31"),
    "complex": (Y * 1j, X, {}, "complex.*one real series"),
    "table": (np.column_stack([Y, Y]), X, {"channels": 1}, "one real series"),
    "bounds": (Y, X, {"bounds": (0, None)}, "regressors and bounds"),
    "robust": (Y, X, {"robust": True}, "regressors and robust"),
    "times": (Y, X, {"times": np.arange(30.0)}, "regressors"),
}


@pytest.mark.parametrize("name", BAD)
def test_regressors_that_make_no_sense_are_refused(name):
    samples, regressors, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        recover(samples, regressors=regressors, **options)


def test_regressors_of_the_future_are_checked():
    with pytest.raises(ValueError, match="but not future_regressors"):
        forecast(Y, 2, regressors=X)
    with pytest.raises(ValueError, match="but not regressors"):
        forecast(Y, 2, future_regressors=X)
    series, table = drifting()
    with pytest.raises(ValueError, match="no row for 2023-01-01"):
        forecast(series[:N], STEPS, regressors=table, future_regressors=table[:N])
    with pytest.raises(ValueError, match=r"columns \['price'\]"):
        forecast(series[:N], STEPS, regressors=table, future_regressors=table[["price"]])
    twice = pd.concat([table, table[:1]])
    with pytest.raises(ValueError, match="holds 2020-01-01 00:00:00 more than once"):
        RegressorTable.of(twice, len(series), series.index, "regressors")


def test_files_have_regressors_and_their_future(tmp_path, monkeypatch, ahead):
    y, X = drifting()
    table = pd.concat([y.where(np.arange(len(y)) < N).round(3), X.round(3)], axis=1)
    table.to_csv(tmp_path / "sales.csv", index_label="month")
    path, both = str(tmp_path / "sales.csv"), ["--regressor", "price", "--regressor", "heat"]
    calls = []

    def forecast_like(samples, steps, **options):
        calls.append((samples, options))
        return ahead

    monkeypatch.setattr(structrank, "forecast", forecast_like)
    done = CliRunner().invoke(main, ["forecast", path, "--steps", str(STEPS), *both])
    assert done.stdout.startswith("month,forecast,stderr,lower,upper\n2023-01-01"), done.output
    ((samples, options),) = calls
    pd.testing.assert_series_equal(samples, y[:N].round(3), check_names=False, check_freq=False)
    given = pd.concat([options["regressors"], options["future_regressors"]])
    pd.testing.assert_frame_equal(given, X.round(3), check_names=False, check_freq=False)
    assert len(options["future_regressors"]) == STEPS
    done = CliRunner().invoke(main, ["forecast", path, "--steps", "5", *both])
    assert "last 5 rows" in done.output
    done = CliRunner().invoke(main, ["impute", path, "--regressor", "price"])
    assert "2 other columns" in done.output


@pytest.mark.parametrize("entry", [recover, lambda x, **how: forecast(x, 2, **how)])
def test_infinite_samples_beside_regressors_are_refused(entry):
    samples, beside = np.cos(np.arange(12.0)), np.sin(np.arange(14.0) ** 2)
    samples[3] = -np.inf
    future = {} if entry is recover else {"future_regressors": beside[12:]}
    with pytest.raises(ValueError, match="samples contains inf, but finite numbers"):
        entry(samples, regressors=beside[:12], **future)


def test_forecasts_beyond_single_precision():
    samples, beside = np.cos(0.7 * np.arange(20, dtype="float32")), np.sin(np.arange(22.0) ** 2)
    beside[21] = 1e60
    options = {"regressors": beside[:20], "future_regressors": beside[20:], "effort": "fast"}
    ahead = forecast(samples, 2, **options)
    assert abs(ahead.mean[1]) > 1e50
    assert np.isfinite(ahead.mean).all()

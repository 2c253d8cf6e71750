"""Several channels in one state-space model, whose disturbances are correlated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from structrank import impute, load, recover
from structrank.components import Components, FittedChannels, Season, fit_channels, fit_series
from structrank.components.joint import table_draws
from structrank.components.joint_model import Correlation, JointFit, table_records
from structrank.components.joint_search import (
    JointSearch,
    _factor,
    _factor_gradient,
    _most_likely,
    fit_jointly,
)
from structrank.components.likelihood import ComponentFit
from structrank.components.mixture import FittedSeries
from structrank.systems.likelihood import log_likelihood

T, SEASON = 16, Season(4, (1, 2))
TREND = Components(T, True, SEASON, 2, ("level", "slope", "season"))
WANDERING = Components(T, False, SEASON, 1, ("season",))


def fit_of(components, rng):
    parameters = 0.3 * rng.standard_normal(len(components.names))
    return ComponentFit(components, parameters, 0.0, components.samples)


def pair(rho):
    return np.array([[1.0, rho], [rho, 1.0]])


def joint_fit(rng):
    fits = [fit_of(TREND, rng), fit_of(WANDERING, rng)]
    season = f"season {SEASON.period} {SEASON.harmonics}"
    rhos = {"white": 0.3, "level": 0.8, season: -0.6}
    return JointFit(fits, [Correlation(name, (0, 1), pair(rho)) for name, rho in rhos.items()])


def literal_covariances(fit):
    """Covariances of the signals and of the noise of two channels, all samples of one first."""
    one, other = (f.components.system(f.parameters) for f in fit.fits)
    level, white, season = 0.8, 0.3, -0.6
    at, own = (f.components.states for f in fit.fits)
    cross = np.zeros((one.order, other.order))
    first = own["autoregression"].start
    cross[0, first] = level * np.sqrt(one.Q[0, 0] * other.Q[first, first])
    for a, b in zip(range(3), range(3), strict=True):
        i, j = at["season"].start + a, own["season"].start + b
        cross[i, j] = season * np.sqrt(one.Q[i, i] * other.Q[j, j])
    models, covariance = (one, other), np.zeros((2, T, 2, T))
    for p, x in enumerate(models):
        for q, y in enumerate(models):
            Q = [[one.Q, cross], [cross.T, other.Q]][p][q]
            state = x.x0_covariance if p == q else np.zeros(Q.shape)
            for s in range(T):
                later, mirror = state, state
                for t in range(s, T):
                    covariance[p, t, q, s] = (x.C @ later @ y.C.T)[0, 0]
                    covariance[p, s, q, t] = (x.C @ mirror @ y.C.T)[0, 0]
                    later, mirror = x.A @ later, mirror @ y.A.T
                state = x.A @ state @ y.A.T + Q
    size = np.sqrt([one.R[0, 0], other.R[0, 0]])
    noise = np.kron(np.outer(size, size) * pair(white), np.eye(T))
    return covariance.reshape(2 * T, 2 * T), noise


def given(covariance, noise, y):
    """Means and covariances of signals given samples, by the formula for Gaussian vectors."""
    flat = y.T.ravel()
    seen = ~np.isnan(flat)
    gain = np.linalg.solve((covariance + noise)[np.ix_(seen, seen)], covariance[seen]).T
    return gain @ flat[seen], covariance - gain @ covariance[seen]


def gappy_table(rng):
    y = rng.standard_normal((T, 2))
    y[4:9, 1] = y[7:12, 0] = y[15, 1] = np.nan
    return y


def test_the_smoother_is_the_literal_conditional_distribution(rng):
    fit, y = joint_fit(rng), gappy_table(rng)
    found = fit.smooth([y])
    mean, covariance = given(*literal_covariances(fit), y)
    signal = found.states[:, :, 0, 0] @ fit.gaussian().H[:2].T
    np.testing.assert_allclose(signal.T.ravel(), mean, atol=1e-8)
    variances = found.signal_variances[..., 0]
    np.testing.assert_allclose(variances.T.ravel(), covariance.diagonal(), atol=1e-8)


def test_draws_have_the_literal_moments(rng):
    fit, y = joint_fit(rng), gappy_table(rng)
    draws = table_draws(fit, y, 4000, rng).transpose(0, 2, 1).reshape(4000, -1)
    mean, covariance = given(*literal_covariances(fit), y)
    size = np.sqrt(covariance.diagonal())
    assert np.max(np.abs(np.mean(draws, axis=0) - mean) / size) < 5 / np.sqrt(4000)
    errors = (np.cov(draws.T) - covariance) / np.outer(size, size)
    assert np.max(np.abs(errors)) < 8 / np.sqrt(4000)


def test_without_correlations_channels_are_what_they_are_alone(rng):
    fit, y = joint_fit(rng), gappy_table(rng)
    apart = JointFit(fit.fits, [Correlation("level", (0, 1), np.eye(2))])
    found, alone = apart.smooth([y]), [f.smooth([y[:, k]]) for k, f in enumerate(fit.fits)]
    states = np.concatenate([one.states[:, :, 0, 0] for one in alone], axis=1)
    np.testing.assert_allclose(found.states[:, :, 0, 0], states, atol=1e-10)
    variances = np.concatenate([one.signal_variances[..., 0] for one in alone], axis=1)
    np.testing.assert_allclose(found.signal_variances[..., 0], variances, atol=1e-10)
    values = [np.sum(log_likelihood(apart.gaussian(), table_records([y])))]
    systems = [f.components.system(f.parameters) for f in fit.fits]
    values.append(sum(s.loglikelihood(y[:, k]) for k, s in enumerate(systems)))
    np.testing.assert_allclose(*values)
    series = [FittedSeries([f], 1.0, 2.0) for f in fit.fits]
    (table,) = FittedChannels(series, []).smooth([y])
    for k, one in enumerate(series):
        np.testing.assert_array_equal(table.signal[:, k], one.smooth([y[:, k]])[0].signal)
        np.testing.assert_array_equal(table.deviation[:, k], one.smooth([y[:, k]])[0].deviation)


def test_slopes_of_correlations_are_those_of_finite_differences(rng):
    G, below = rng.standard_normal((4, 4)), rng.standard_normal(6)

    def value(moved):
        L = _factor(4, moved)[0]
        return np.sum(G * (L @ L.T)) + 1.5 * np.linalg.slogdet(L @ L.T)[1]

    literal = [(value(below + h) - value(below - h)) / 2e-6 for h in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(_factor_gradient(G, below, 1.5), literal, atol=1e-6)


def test_the_most_likely_correlation_is_that_of_a_grid(rng):
    walk = ComponentFit(Components(80, drifts=("level",)), np.array([-2.0, -4.0]), 0.0, 80)
    steps = rng.standard_normal((80, 2)) @ np.linalg.cholesky(pair(0.7)).T
    y = np.cumsum(np.exp(-2.0) * steps, axis=0) + np.exp(-1.0) * rng.standard_normal((80, 2))
    record, search = table_records([y]), JointSearch(accuracy=1e-12)

    def fit(rho):
        return JointFit([walk, walk], [Correlation("level", (0, 1), pair(rho))])

    def value(rho):
        prior = search.prior * np.log(1 - rho**2)
        return float(np.sum(log_likelihood(fit(rho).gaussian(), record)) + prior)

    found = _most_likely(fit(0.0), record, search).correlations[0].matrix[0, 1]
    assert value(found) >= max(map(value, np.linspace(-0.95, 0.95, 39))) - 1e-6


def walks(seed, rho, n):
    """Random walks seen with noise, the second one with a gap."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((n, 2)) @ np.linalg.cholesky(pair(rho)).T
    truth = np.cumsum(steps, axis=0)
    samples = truth + 0.3 * rng.standard_normal((n, 2))
    gappy = samples.copy()
    gappy[n // 3 : 2 * n // 3, 1] = np.nan
    return truth, samples, gappy


def outcome(seed, rho, n=90):
    """Error in the gap over that of the channel alone, and the share of samples in intervals."""
    truth, samples, gappy = walks(seed, rho, n)
    fitted, hidden = fit_channels(gappy), np.isnan(gappy[:, 1])
    (found,), (alone,) = fitted.smooth([gappy]), fitted.alone[1].smooth([gappy[:, 1]])
    errors = [np.linalg.norm((y - truth[:, 1])[hidden]) for y in (found.signal[:, 1], alone.signal)]
    inside = np.abs(samples - found.signal)[hidden, 1] < 1.96 * found.deviation[hidden, 1]
    return errors[0] / errors[1], np.mean(inside)


def test_a_gap_is_filled_from_the_drift_of_the_other_channel():
    ratios, _ = zip(*(outcome(seed, 0.9) for seed in range(1, 7)), strict=True)
    print("error over that alone", ratios)
    assert np.exp(np.mean(np.log(ratios))) < 0.65


@pytest.mark.nightly
def test_errors_and_intervals_of_many_walks():
    ratios, inside = zip(*(outcome(seed, 0.9, 150) for seed in range(1000, 1040)), strict=True)
    print("correlated: error over that alone", np.exp(np.mean(np.log(ratios))), np.mean(inside))
    assert np.exp(np.mean(np.log(ratios))) < 0.6
    assert 0.88 < np.mean(inside) < 0.99
    ratios, inside = zip(*(outcome(seed, 0.0, 150) for seed in range(1000, 1040)), strict=True)
    print("independent: error over that alone", np.exp(np.mean(np.log(ratios))), np.mean(inside))
    assert np.exp(np.mean(np.log(ratios))) < 1.05
    assert 0.88 < np.mean(inside) < 0.99


def test_channels_that_share_nothing_are_not_harmed():
    assert outcome(1, 0.0)[0] < 1.1


def test_the_gain_of_a_long_table_is_that_of_all_samples(rng):
    steps = rng.standard_normal((300, 2)) @ [[1, 0.9], [0, 0.4]]
    walks = np.cumsum(steps, axis=0)
    alone = [fit_series(walk) for walk in walks.T]
    (found, *_) = fit_jointly(alone, walks, JointSearch(stretch=100))
    y = (walks - [one.offset for one in alone]) / [one.scale for one in alone]
    values = [
        np.sum(log_likelihood(fit.gaussian(), table_records([y])))
        for fit in (found, JointFit(found.fits, []))
    ]
    np.testing.assert_allclose(found.gain, values[0] - values[1])


def test_large_tables_are_fitted_channel_by_channel():
    fitted = [FittedSeries([fit_of(WANDERING, np.random.default_rng(0))], 0.0, 1.0)] * 2
    y = np.zeros((50, 2))
    for search in (JointSearch(samples=49), JointSearch(channels=1), JointSearch(fewest=51)):
        assert not fit_jointly(fitted, y, search)
    assert not fit_jointly(fitted, y, JointSearch(states=2))


@pytest.fixture(scope="module")
def found():
    gappy = walks(4, 0.9, 60)[2] * [1.0, 20.0] + [0.0, 500.0]
    return recover(pd.DataFrame(gappy, columns=["a", "b"]), kind="components")


class TestRecover:
    def test_components_of_a_table(self, found):
        truth = walks(4, 0.9, 60)[0] * [1.0, 20.0] + [0.0, 500.0]
        assert found.kind == "components"
        assert found.groups == [(0, 1)]
        errors = np.abs(found.signal.to_numpy() - truth)
        assert np.mean(errors[20:40, 1] < 2.5 * found.stderr.to_numpy()[20:40, 1]) > 0.8
        parts = found.components()
        total = sum(parts[name] for name in parts if name != "rest")
        np.testing.assert_allclose(total, found.signal)
        assert list(parts.to_frame()["trend"]) == ["a", "b"]

    def test_a_table_without_gaps_has_components(self):
        table = walks(4, 0.9, 20)[0]
        assert "trend" in impute(table, channels=1).components()

    def test_draws_are_joint(self, found):
        draws = found.draws(300)
        assert draws.shape == (300, 60, 2)
        spread = np.std(draws[:, 25:35], axis=0) / found.stderr.to_numpy()[25:35]
        np.testing.assert_allclose(spread, 1.0, atol=0.25)

    def test_saved(self, found, tmp_path):
        found.save(tmp_path / "found.npz")
        again = load(tmp_path / "found.npz")
        np.testing.assert_array_equal(again.signal, found.signal)

    def test_few_samples_have_components_of_their_own(self):
        table = np.cumsum(np.random.default_rng(5).standard_normal((12, 3)), axis=0)
        found = recover(table, channels=1, kind="components")
        assert found.groups == [(k,) for k in range(3)]
        one = recover(table[:, 2], kind="components")
        size = np.max(np.abs(one.signal))
        np.testing.assert_allclose(found.signal[:, 2] / size, one.signal / size, rtol=0, atol=1e-7)

"""ARX models with a prior, beside literal formulas."""

from dataclasses import replace

import numpy as np
import pytest

from structrank import StateSpace
from structrank.systems.noise_fits import NoiseFits
from structrank.systems.regularised_arx import Evidence, PriorRules, RegularisedArx

TRUTH = StateSpace(
    [[0.7, 0.4], [-0.4, 0.7]],
    [[1.0, 0.0], [0.3, 0.5]],
    [[1.0, 0.5], [0.0, 1.0]],
    [[0.2, 0], [0, 0]],
)


def record(samples, seed, noise=0.1):
    """Inputs and outputs of spread about one."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((samples, 2))
    y = TRUTH.simulate(u)
    y += noise * y.std(axis=0) * rng.standard_normal(y.shape)
    return u, (y - y.mean(axis=0)) / y.std(axis=0)


def literal_covariance(prior, lags):
    """Prior covariance of the coefficients, channel by channel: size * decay**max(j, k)."""
    lag = np.arange(1, lags + 1)
    decay = 1 / (1 + np.exp(-prior[-2]))
    sizes = np.exp(prior[:-2])
    return np.kron(np.diag(sizes), decay ** np.maximum.outer(lag, lag))


@pytest.fixture
def regression():
    """Regressors (channel, then lag), an output, and their evidence."""
    rng = np.random.default_rng(3)
    lags, X = 4, rng.standard_normal((40, 8))
    y = X @ rng.standard_normal(8) * 0.5 + 0.3 * rng.standard_normal(40)
    sums = np.cumsum(X.reshape(40, 2, lags), axis=2).reshape(40, -1)
    return X, y, Evidence(sums.T @ sums, sums.T @ y, float(y @ y), 40, lags)


PRIORS = [np.array([0.3, -0.5, 1.0, -2.0]), np.array([-2.0, 1.0, -0.5, 0.5])]


@pytest.mark.parametrize("prior", PRIORS)
def test_evidence_is_a_gaussian_density(regression, prior):
    X, y, evidence = regression
    noise = np.exp(prior[-1])
    S = X @ literal_covariance(prior, evidence.lags) @ X.T + noise * np.eye(len(y))
    literal = 0.5 * (np.linalg.slogdet(S)[1] + y @ np.linalg.solve(S, y))
    np.testing.assert_allclose(evidence.value_and_gradient(prior)[0], literal, rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_evidence_has_the_right_gradient(regression, prior):
    *_, evidence = regression
    h = 1e-5
    slopes = [
        (evidence.value_and_gradient(prior + e)[0] - evidence.value_and_gradient(prior - e)[0])
        / (2 * h)
        for e in h * np.eye(len(prior))
    ]
    np.testing.assert_allclose(evidence.value_and_gradient(prior)[1], slopes, rtol=1e-7, atol=1e-7)


def test_increments_add_up_to_the_posterior_mean(regression):
    X, y, evidence = regression
    prior = PRIORS[0]
    K = literal_covariance(prior, evidence.lags)
    S = X @ K @ X.T + np.exp(prior[-1]) * np.eye(len(y))
    steps = evidence.increments(prior).reshape(2, -1)
    means = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    np.testing.assert_allclose(means.reshape(-1), K @ X.T @ np.linalg.solve(S, y), atol=1e-12)


def test_the_best_prior_is_a_minimum(regression):
    *_, evidence = regression
    best = evidence.best_prior(PriorRules())
    value, slope = evidence.value_and_gradient(best)
    inside = np.abs(best) < 6
    assert np.max(np.abs(slope[inside])) < 1e-2
    assert value <= min(evidence.value_and_gradient(prior)[0] for prior in PRIORS)


def test_noise_in_past_outputs_is_what_noise_adds_on_average():
    u, y = record(100, 0)
    plain, noisy = (
        RegularisedArx([u], [y], PriorRules(lags=3, output_noise=a))._evidences[0].gram
        for a in (0.0, 0.2)
    )
    sums = np.kron(np.eye(4), np.tri(3).T)  # regressors of a channel to sums over its lags
    added = np.diag(np.repeat([0.0, 0.0, 0.2, 0.2], 3)) * 97
    np.testing.assert_allclose(noisy - plain, sums.T @ added @ sums, atol=1e-8)


def test_the_system_is_the_recursion():
    u, y = record(120, 1)
    arx = RegularisedArx([u], [y], PriorRules(lags=3))
    past, now = arx._coefficients
    z, system = np.concatenate([u, y], axis=1), arx.system
    t = 50
    literal = now @ np.append(u[t], 1.0)
    literal += sum(past[:, :, k] @ z[t - 1 - k] for k in range(3))
    offset = system.output_offset
    state = np.concatenate(
        [(y - offset)[[t - 1, t - 2, t - 3]].ravel(), u[t - 3 : t][::-1].ravel()]
    )
    predicted = system.C @ state + system.D @ u[t] + offset
    np.testing.assert_allclose(predicted, literal, atol=1e-10)
    following = system.A @ state + system.B @ u[t] + system.K @ (y[t] - predicted)
    np.testing.assert_allclose(following[:2], y[t] - offset, atol=1e-10)
    np.testing.assert_allclose(following[6:8], u[t], atol=1e-12)


def test_only_outputs_that_are_seen_are_predicted():
    """What fills a gap of an output may act on later outputs, but is no sample itself."""
    u, y = record(150, 8)
    gaps = np.random.default_rng(1).random(y.shape) < 0.4
    filled = np.where(gaps, 0.0, y)
    rules = PriorRules(lags=3)
    arx = RegularisedArx([u], [filled], rules, [~gaps])
    z, lags = np.concatenate([u, filled], axis=1), np.arange(3)
    rows = [np.append(z[t - 1 - lags].T.reshape(-1), [*u[t], 1.0]) for t in range(3, 150)]
    for k, evidence in enumerate(arx._evidences):
        seen = ~gaps[3:, k]
        X, target = np.array(rows)[seen], filled[3:, k][seen]
        assert evidence.count == np.count_nonzero(seen) - 3
        prior = evidence.best_prior(rules)
        noise = np.diag(np.repeat([0.0, 0.0, 0.01, 0.01], 3)) * len(X)
        precision = np.zeros((15, 15))  # of what has no prior: zero
        precision[:12, :12] = np.linalg.inv(literal_covariance(prior, 3)) + noise / np.exp(
            prior[-1]
        )
        literal = np.linalg.solve(X.T @ X + np.exp(prior[-1]) * precision, X.T @ target)
        past, now = arx._coefficients
        np.testing.assert_allclose(past[k].reshape(-1), literal[:12], atol=1e-7)
        np.testing.assert_allclose(now[k], literal[12:], atol=1e-7)
    predicted = np.array(rows)[:, :12] @ past.reshape(2, -1).T + np.array(rows)[:, 12:] @ now.T
    errors = np.where(gaps, np.nan, y)[3:] - predicted
    np.testing.assert_allclose(
        np.diag(arx.system.innovation_covariance), np.nanmean(errors**2, axis=0), rtol=1e-9
    )


def test_a_reduced_system_simulates_like_the_whole():
    u, y = record(400, 2)
    arx = RegularisedArx([u], [y])
    full, few = arx.system, arx.reduced(arx.order(10), 0.999)
    assert 2 <= few.order <= 10
    expected = full.simulate(u, np.zeros(full.order))
    error = few.simulate(u, np.zeros(few.order)) - expected
    assert np.linalg.norm(error) < 0.05 * np.linalg.norm(expected)
    assert np.max(np.abs(np.linalg.eigvals(few.A - few.K @ few.C))) < 1
    assert arx.reduced(10_000, 0.999) is None
    assert arx.reduced(2, 0.1) is None


def test_the_truth_is_found():
    u, y = record(2000, 4, noise=0.05)
    rules = PriorRules(output_noise=1e-3)
    model = RegularisedArx([u[:900], u[900:]], [y[:900], y[900:]], rules).reduced(2, 0.999)
    scale = TRUTH.simulate(u).std(axis=0)
    h = TRUTH.impulse_response(30) / scale[:, None]
    assert np.linalg.norm(model.impulse_response(30) - h) < 0.06 * np.linalg.norm(h)


def test_short_records_have_no_such_model():
    u, y = record(12, 5)
    assert not RegularisedArx([u], [y]).determined
    assert noise_fits(u, y).regularised == []


def test_constant_outputs_and_inputs_are_no_error():
    u = np.ones((60, 1))
    model = RegularisedArx([u], [np.zeros((60, 1))]).reduced(1, 0.999)
    assert model is None or not np.any(model.simulate(u).round(12))


def noise_fits(u, y, **changes):
    """Fits of one record, whose gaps are filled by zeros."""
    filled = [(np.nan_to_num(u), np.nan_to_num(y))]
    rows = [(0, slice(0, len(y)))]
    fits = NoiseFits([filled[0][0]], [y], [filled[0][0]], filled, rows, [5], None, 0.0, radius=0.99)
    return replace(fits, **changes)


def test_gaps_are_filled_again_by_a_model():
    u, y = record(400, 6)
    gaps = np.random.default_rng(0).random(y.shape) < 0.3
    fits = noise_fits(
        u, np.where(gaps, np.nan, y), stretches=[(0, slice(0, 150)), (0, slice(250, 400))]
    )
    inputs, outputs = fits._refilled(fits._lists)
    assert [len(x) for x in outputs] == [150, 150]
    np.testing.assert_array_equal(inputs[1], u[250:])
    rest, part = gaps[250:], y[250:]
    np.testing.assert_array_equal(outputs[1][~rest], part[~rest])
    assert np.mean((outputs[1] - part)[rest] ** 2) < 0.2 * np.mean(part[rest] ** 2)
    complete = noise_fits(u, y)
    assert complete._refilled(complete._lists) is complete._lists


def test_integrators_have_no_such_model():
    u, y = record(300, 7)
    assert len(noise_fits(u, y).regularised) == 2
    assert noise_fits(u, y, integrators=1).regularised == []


@pytest.mark.parametrize(
    ("lengths", "lags"), [((6,), 2), ((40,), 8), ((200,), 16), ((2000,), 30), ((9, 50, 9), 8)]
)
def test_lags_follow_the_length_of_the_records(lengths, lags):
    """One per 12 samples, 8 at least and 30 at most, but a third of the longest record."""
    u, y = record(sum(lengths), 9)
    cuts = np.cumsum(lengths)[:-1]
    assert RegularisedArx(np.split(u, cuts), np.split(y, cuts)).arx.lags == lags


def test_each_output_is_predicted_often_enough():
    u, y = record(100, 10)
    for seen, determined in ((14, False), (15, True)):  # more than 2 inputs and 12 samples
        rows = np.ones(y.shape, dtype=bool)
        rows[: 100 - seen, 1] = False
        assert RegularisedArx([u], [y], PriorRules(), [rows]).determined == determined


def test_models_predict_what_is_seen_after_gaps_are_filled_twice(monkeypatch):
    u, y = record(400, 11)
    gaps = np.random.default_rng(2).random(y.shape) < 0.3
    fits = noise_fits(u, np.where(gaps, np.nan, y))
    calls, refilled = [], NoiseFits._refilled

    def counted(self, records):
        calls.append(records)
        return refilled(self, records)

    monkeypatch.setattr(NoiseFits, "_refilled", counted)
    for model in fits.regularised:
        np.testing.assert_array_equal(model.seen[0], ~gaps)
        np.testing.assert_array_equal(model.inputs[0], u)
    assert len(calls) == 2
    assert calls[0] is fits._lists
    assert np.linalg.norm(calls[1][1][0] - y) < 0.5 * np.linalg.norm(calls[0][1][0] - y)

"""A noise level for every sample: weights of modes, noise of components."""

from __future__ import annotations

import numpy as np
import pytest

from structrank import Modes, impute, recover
from structrank.components import Components
from structrank.components.conditioning import gaussian, records
from structrank.components.likelihood import most_likely
from structrank.signals.noise_levels import NoiseLevels
from structrank.systems.likelihood import log_likelihood, value_and_gradient
from structrank.systems.smoothing import smoothed

T = np.arange(200)
LEVELS = np.where(T // 40 % 2 == 0, 0.1, 1.0)


def test_components_with_noise_levels_are_gaussian_conditioning(rng):
    walk = Components(40, drifts=("level",), order=1, measured=True)
    assert walk.names == ("level", "autoregression", "pacf 1")
    parameters, noise = np.array([-1.0, -0.5, 0.4]), np.exp(rng.standard_normal(40))
    y = rng.standard_normal(40)
    y[rng.random(40) < 0.3] = np.nan
    H, W, P = walk.matrices(parameters)
    A, C = H[1:], H[0]
    states = [P]  # covariances of the states, sample by sample
    for _ in range(39):
        states.append(A @ states[-1] @ A.T + W[1:, 1:])
    powers = [np.linalg.matrix_power(A, k) for k in range(40)]
    K = np.array(
        [[C @ powers[abs(i - j)] @ states[min(i, j)] @ C for j in range(40)] for i in range(40)]
    )
    seen = ~np.isnan(y)
    inner = K[np.ix_(seen, seen)] + np.diag(noise[seen] ** 2)
    mean = K[:, seen] @ np.linalg.solve(inner, y[seen])
    variance = np.diag(K - K[:, seen] @ np.linalg.solve(inner, K[seen]))
    model = gaussian(walk, parameters, noise)
    found = smoothed(model, records([y]))
    np.testing.assert_allclose(found.states[:, :, 0, 0] @ C, mean, atol=1e-10)
    np.testing.assert_allclose(found.signal_variances[:, 0, 0], variance, atol=1e-10)

    def value(moved):
        return float(log_likelihood(gaussian(walk, moved, noise), records([y]))[0, 0])

    score = value_and_gradient(model, records([y]))
    steps = 1e-5 * np.eye(3)
    literal = [(value(parameters + h) - value(parameters - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(walk.gradient(parameters, score), literal, atol=1e-7)
    _, size = np.linalg.slogdet(inner)
    expected = y[seen] @ np.linalg.solve(inner, y[seen]) + size + np.sum(seen) * np.log(2 * np.pi)
    np.testing.assert_allclose(value(parameters), -expected / 2)


def test_equal_levels_are_the_white_noise_of_a_fit(rng):
    walk = Components(60, drifts=("level",))
    y = walk.system([-1.0, -1.5]).simulate(steps=60, rng=rng)[:, 0]
    one = most_likely(walk, y, {"white": -1.0, "level": -1.0})
    noise = np.full(60, np.exp(one.values["white"] / 2))
    known = Components(60, drifts=("level",), measured=True)
    other = most_likely(known, y, {"level": -1.0}, noise=noise)
    np.testing.assert_allclose(other.values["level"], one.values["level"], atol=0.05)


def test_modes_are_weighted_least_squares(rng):
    """For given modes, the estimate is linear regression with weights."""
    truth = Modes([0.05, -0.05], 0.0, [0.5 - 0.2j, 0.5 + 0.2j]).signal(200).real
    samples = truth + LEVELS * rng.standard_normal(200)
    samples[rng.random(200) < 0.2] = np.nan
    found = recover(samples, sigma=LEVELS, rank=2, undamped=True)
    assert found.kind == "refit"
    frequency = abs(found.modes.frequencies[0, 0])
    columns = np.stack([f(2 * np.pi * frequency * T) for f in (np.cos, np.sin)], axis=1)
    seen = ~np.isnan(samples)
    w = 1 / LEVELS[seen]
    best = np.linalg.lstsq(w[:, None] * columns[seen], w * samples[seen], rcond=None)[0]
    np.testing.assert_allclose(found.signal, columns @ best, atol=1e-4)
    width = (found.upper - found.lower) / (2 * 1.959964)
    np.testing.assert_allclose(width, np.hypot(found.stderr, LEVELS), rtol=1e-5)
    plain = recover(samples, sigma=np.ones(200), rank=2, undamped=True)
    errors = [np.sqrt(np.mean((x.signal - truth) ** 2)) for x in (found, plain)]
    assert errors[0] < 0.6 * errors[1]
    assert np.mean(np.abs(found.signal - truth) < 3 * found.stderr) > 0.9
    assert "given for each sample" in repr(found)
    np.testing.assert_array_equal(found.sigma, LEVELS)


def test_a_walk_is_found_better_with_its_noise_levels():
    rng = np.random.default_rng(3)
    walk = np.cumsum(0.2 * rng.standard_normal(80))
    levels = LEVELS[:80].copy()
    samples = walk + levels * rng.standard_normal(80)
    samples[60:64], levels[60:64] = np.nan, np.nan
    found = recover(samples, sigma=levels)
    assert found.kind == "components"
    noise = (found.upper - found.lower)[60:64] / (2 * 1.959964)
    assert np.all(noise > found.stderr[60:64])
    assert np.sqrt(np.mean((found.signal - walk) ** 2)) < 0.35
    assert np.mean(found.stderr[45:75]) > 1.5 * np.mean(found.stderr[5:35])


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (np.ones(3), r"shape \(3,\)"),
        (np.zeros(200), "not above zero"),
        (np.where(T == 3, np.nan, 1.0), "not above zero"),
        (np.array(["a"] * 200), "dtype"),
        (np.where(T == 3, 1e300, 1.0), "sigma is 1e.300, but 1e-75 to 1e.75"),
    ],
)
def test_wrong_levels_are_refused(sigma, message):
    for work in (recover, impute):
        with pytest.raises(ValueError, match=message):
            work(np.cos(0.3 * T), sigma=sigma)


def test_levels_refuse_what_needs_one():
    y = np.cos(0.3 * T)
    for options in ({"mu": 1.0}, {"kind": "convex"}, {"robust": True}):
        with pytest.raises(ValueError, match="needs one noise level"):
            recover(y, sigma=LEVELS, **options)
    with pytest.raises(ValueError, match="channels=1"):
        recover(y[:, None] * [1, 2], channels=1, sigma=np.ones((200, 2)))
    with pytest.raises(ValueError, match="no estimate applies"):
        recover(np.random.default_rng(0).standard_normal((60, 2)) @ [1, 1j], kind="components")


def test_levels_of_missing_samples_are_the_median_of_the_others():
    values, levels = np.array([1.0, np.nan, 2.0, 3.0]), np.array([1.0, np.nan, 2.0, 4.0])
    found = NoiseLevels.of(levels, values)
    assert found.typical == 2.0
    np.testing.assert_array_equal(found.weights, [2.0, 1.0, 1.0, 0.5])
    assert NoiseLevels.of(0.3, values).weights is None

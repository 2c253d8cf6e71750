"""Joint draws of a signal given its samples: their moments are those of the estimate."""

from __future__ import annotations

import numpy as np
import pytest

from structrank import impute, recover
from structrank.components import Components
from structrank.components.draws import DrawSizes, signal_draws
from structrank.components.likelihood import ComponentFit
from structrank.signals.candidates import LocalWindows
from structrank.signals.candidates.base import ErrorProfile, Prediction
from structrank.signals.channel_estimate import merged
from structrank.signals.choice import combine
from structrank.signals.estimates import Estimate
from structrank.signals.limits import Limits

T = np.arange(120)
GAP = (T >= 50) & (T < 65)


def tone(rng, noise=0.1):
    return np.where(GAP, np.nan, np.cos(0.3 * T + 1) + noise * rng.standard_normal(120))


@pytest.mark.parametrize("noise", [None, np.linspace(0.2, 2.0, 40)])
def test_draws_of_components_have_the_joint_moments_of_gaussian_conditioning(noise, rng):
    walk = Components(40, drifts=("level",), order=1, measured=noise is not None)
    parameters = np.array([-2.0, -1.0, -0.5, 0.4])[1 if noise is not None else 0 :]
    y = rng.standard_normal(40)
    y[10:20] = np.nan
    H, W, P = walk.matrices(parameters)
    A, C, states = H[1:], H[0], [P]
    for _ in range(39):
        states.append(A @ states[-1] @ A.T + W[1:, 1:])
    powers = [np.linalg.matrix_power(A, k) for k in range(40)]
    K = np.array(
        [[C @ powers[abs(i - j)] @ states[min(i, j)] @ C for j in range(40)] for i in range(40)]
    )
    seen = ~np.isnan(y)
    variances = np.full(40, W[0, 0]) if noise is None else noise**2
    gain = np.linalg.solve(K[np.ix_(seen, seen)] + np.diag(variances[seen]), K[seen]).T
    mean, covariance = gain @ y[seen], K - gain @ K[seen]
    n = 4000
    draws = signal_draws(ComponentFit(walk, parameters, 0.0, 30), y, n, rng, noise)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5 * spread.max() / np.sqrt(n))
    error = np.abs(np.cov(draws.T) - covariance) / np.outer(spread, spread)
    assert np.max(error) < 6 / np.sqrt(n)


def test_draws_of_modes_have_the_covariance_of_least_squares(rng):
    found = recover(tone(rng), rank=2, undamped=True)
    assert found.kind == "refit"
    frequency = 2 * np.pi * abs(found.modes.frequencies[0, 0])
    amplitude = 2 * found.modes.amplitudes[found.modes.frequencies[:, 0] > 0].ravel()[0]
    wave = amplitude * np.exp(1j * frequency * T)
    np.testing.assert_allclose(wave.real, found.signal, atol=1e-9)
    jacobian = np.stack([np.cos(frequency * T), np.sin(frequency * T), T * wave.imag], axis=1)
    inner = jacobian[~GAP].T @ jacobian[~GAP]
    covariance = found.sigma**2 * jacobian @ np.linalg.solve(inner, jacobian.T)
    draws = found.draws(4000, rng=1)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.stderr, spread, rtol=1e-6)
    error = np.abs(np.cov(draws.T) - covariance) / np.outer(spread, spread)
    assert np.max(error) < 6 / np.sqrt(4000)
    np.testing.assert_array_equal(draws, found.draws(4000, rng=1))


def test_moments_of_draws_are_signal_and_stderr():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal(60)) + 0.3 * rng.standard_normal(60)
    walk[30:40] = np.nan
    found = recover(walk, kind="components")
    draws = found.draws(1500)
    np.testing.assert_allclose(draws.std(axis=0), found.stderr, rtol=0.15)
    assert np.max(np.abs(draws.mean(axis=0) - found.signal) / found.stderr) < 0.15
    middle = draws[:, 33:37].std(axis=0)
    neighbours = np.corrcoef(draws[:, 34], draws[:, 35])[0, 1]
    assert neighbours > 0.6  # the path of a walk, not white noise
    assert np.all(middle > draws[:, 20:24].std(axis=0))


def test_draws_of_impute_keep_the_samples(rng):
    samples = tone(rng)
    found = impute(samples)
    draws = found.draws(50)
    np.testing.assert_array_equal(draws[:, ~GAP], np.repeat(samples[None, ~GAP], 50, axis=0))
    assert np.all(draws[:, GAP].std(axis=0) > 0)
    whole = impute(np.cos(0.3 * T)).draws(3)
    np.testing.assert_array_equal(whole, np.repeat(np.cos(0.3 * T)[None], 3, axis=0))


def test_draws_obey_limits(rng):
    samples = tone(rng, 0.4) + 1
    found = recover(samples, bounds=(0, None), max_gap=5)
    draws = found.draws(2000)
    np.testing.assert_array_equal(np.isnan(draws).any(axis=0), found.left)
    assert np.nanmin(draws) >= 0
    kept = ~found.left
    np.testing.assert_allclose(draws.mean(axis=0)[kept], found.signal[kept], atol=0.03)
    np.testing.assert_allclose(draws.std(axis=0)[kept], found.stderr[kept], rtol=0.1)


def test_draws_of_channels_and_complex_signals(rng):
    table = np.stack([np.cos(0.3 * T), 200 + 30 * np.cos(0.3 * T + 1)], axis=1)
    table += rng.standard_normal(table.shape) * [0.1, 3.0]
    table[GAP] = np.nan
    found = recover(table, channels=1, rank=3)
    draws = found.draws(1500)
    assert draws.shape == (1500, 120, 2)
    np.testing.assert_allclose(draws.std(axis=0), found.stderr, rtol=0.1)
    wave = np.exp(0.3j * T) + 0.1 * (rng.standard_normal(120) + 1j * rng.standard_normal(120))
    found = recover(wave, rank=1)
    np.testing.assert_allclose(found.draws(1500).std(axis=0), found.stderr, rtol=0.1)


def test_groups_of_channels_are_drawn_apart():
    ones = np.ones(5)

    def estimate(errors):
        return Estimate(ones, ones, 1, sigma=1.0, errors=errors)

    first, second = (estimate(lambda n, rng, k=k: np.full((n, 5), k)) for k in (1.0, 2.0))
    draws = merged([first, second], [(1,), (0,)]).errors(3, None)
    np.testing.assert_array_equal(draws, np.broadcast_to([[2.0], [1.0]], (3, 5, 2, 1)))
    assert merged([first, estimate(None)], [(1,), (0,)]).errors is None


def test_estimates_without_a_distribution_say_so():
    rng = np.random.default_rng(0)
    found = recover(np.cumsum(rng.standard_normal(16)), kind="convex")
    with pytest.raises(ValueError, match=r'kind="refit", or kind="components"'):
        found.draws(3)
    with pytest.raises(ValueError, match="n is 0"):
        recover(np.cos(0.3 * T)).draws(0)


class Flat(Prediction):
    """A prediction of one number everywhere."""

    def __init__(self, value, profile=None):
        super().__init__(LocalWindows(), np.array([0.5, -0.5]), profile)
        self.value = value

    def estimate(self):
        return Estimate(np.full(6, self.value), None, 1)


def test_an_average_has_the_joint_errors_of_components_in_its_own_size():
    def equal(n, rng):
        return np.repeat(rng.standard_normal((n, 1)), 6, axis=1)

    share = np.full(6, 0.8)
    profile = ErrorProfile(np.ones(2), np.linspace(1, 2, 6), share, equal)
    chosen = [Flat(1.0), Flat(2.0)]
    found = combine(chosen, [*chosen, Flat(9.0, profile)], np.zeros(6))
    np.testing.assert_allclose(found.signal, 1.5)
    np.testing.assert_allclose(found.stderr, 0.4 * np.linspace(1, 2, 6))
    draws = Limits(0.95).draws(found, np.zeros(6, bool), 4000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.std(axis=0), found.stderr, rtol=0.05)
    assert np.corrcoef(draws.T).min() > 0.999
    assert combine(chosen, chosen, np.zeros(6)).errors is None


@pytest.mark.nightly
def test_sums_over_gaps_lie_where_draws_of_averages_say():
    inside, apart, kinds = [], [], []
    for seed in range(16):
        rng, x = np.random.default_rng(seed), np.zeros(100)
        for t in range(2, 100):
            x[t] = 1.5 * x[t - 1] - 0.7 * x[t - 2] + rng.standard_normal()
        truth = x + np.cumsum(0.5 * rng.standard_normal(100))
        y, gaps = truth + 0.3 * rng.standard_normal(100), (slice(40, 48), slice(70, 74))
        for gap in gaps:
            y[gap] = np.nan
        found = recover(y)
        kinds.append(found.kind)
        draws = found.draws(400)
        for gap in gaps:
            low, high = np.quantile(draws[:, gap].sum(axis=1), [0.025, 0.975])
            inside.append(low < truth[gap].sum() < high)
            alone = 1.96 * np.sqrt(np.sum(found.stderr[gap] ** 2))
            apart.append(abs(found.signal[gap].sum() - truth[gap].sum()) < alone)
    assert kinds.count("average") > 12
    assert np.mean(inside) > 0.8
    assert np.mean(inside) > np.mean(apart) + 0.1


def test_many_draws_are_made_in_parts():
    assert DrawSizes(100).parts(7, 10, 3) == [3, 3, 1]
    assert DrawSizes(100).parts(2, 1000, 3) == [1, 1]
    assert sum(DrawSizes().parts(1000, 500, 20)) == 1000


def test_errors_that_are_not_known_are_not_drawn(rng):
    """As many parameters as samples: what noise there is cannot be told."""
    samples = np.where(T[:20] % 4 == 1, np.nan, rng.standard_normal(20))
    found = recover(samples, rank=8, effort="fast")
    assert np.all(np.isinf(found.stderr))
    with pytest.raises(ValueError, match="20 of 20 standard errors are infinite"):
        found.draws(2)
    with pytest.raises(TypeError, match="rng is 'x', but"):
        found.draws(2, rng="x")

"""Series as trend, season, autoregressive part and noise: likelihood, seasons, fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import nightly
from scipy.linalg import solve_discrete_lyapunov, toeplitz
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from structrank import recover
from structrank._watch import watched
from structrank.components import Components, Season, fit_either_scale, fit_series
from structrank.components.autoregression import autoregression, burg
from structrank.components.conditioning import gaussian, records
from structrank.components.covariances import SampleCovariances
from structrank.components.dense_smoothing import ConditionedSeries
from structrank.components.likelihood import (
    ComponentFit,
    LikelihoodSearch,
    largest_within,
    most_likely,
    without_vanished,
)
from structrank.components.noise_floor import noise_floor, seen_values
from structrank.components.search import ComponentSearch
from structrank.components.seasons import find_seasons
from structrank.signals.filling import keep_samples
from structrank.signals.stacking import Stacking, simplex_weights
from structrank.systems.chunks import Gaussian, Records
from structrank.systems.likelihood import value_and_gradient

EVERYTHING = Components(60, True, Season(6, (1, 3)), 3, ("level", "slope", "season"))


def simulated(components, parameters, rng):
    return components.system(parameters).simulate(steps=components.samples, rng=rng)[:, 0]


def test_an_autoregressive_part_is_stationary(rng):
    partial = np.tanh(rng.standard_normal(4))
    row, error, covariances = autoregression(2.0, partial)
    A = np.concatenate([row[None], np.eye(4)[:-1]])
    Q = np.zeros((4, 4))
    Q[0, 0] = error
    np.testing.assert_allclose(solve_discrete_lyapunov(A, Q), toeplitz(covariances), rtol=1e-8)


def test_burg_finds_the_partial_autocorrelations_of_a_long_series(rng):
    partial = np.array([0.8, -0.5, 0.3])
    part = Components(4000, order=3)
    parameters = np.concatenate([[-20.0, 0.0], np.arctanh(partial)])
    y = simulated(part, parameters, rng)
    np.testing.assert_allclose(burg(y - y.mean(), 3)[0], partial, atol=0.08)


def test_derivatives_are_those_of_finite_differences(rng):
    parameters = rng.standard_normal(len(EVERYTHING.names))
    y = simulated(EVERYTHING, parameters, rng)
    y[20:28] = np.nan
    seen = ~np.isnan(y)
    records = Records(np.where(seen, y, 0.0)[:, None, None, None], seen[:, None, None], None)

    def value(moved):
        return EVERYTHING.system(moved).loglikelihood(y)

    H, W, P = EVERYTHING.matrices(parameters)
    score = value_and_gradient(Gaussian(H, W, np.zeros(len(P)), P, np.zeros(len(P), bool)), records)
    steps = 1e-5 * np.eye(len(parameters))
    literal = [(value(parameters + h) - value(parameters - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(EVERYTHING.gradient(parameters, score), literal, atol=1e-6)


@pytest.mark.parametrize("order", [0, 3])
@pytest.mark.parametrize("measured", [False, True])
def test_covariances_and_smoother_have_the_same_means_and_variances(order, measured, rng):
    seasons = {"season": Season(6, (1, 3)), "second": Season(9, (2,))}
    drifts = ("level", "slope", "season", "second season")
    parts = Components(50, True, order=order, drifts=drifts, measured=measured, **seasons)
    parameters = rng.standard_normal(len(parts.names)) - 2
    noise = 0.2 + rng.random(50) if measured else None
    y = rng.standard_normal(50)
    y[5:9] = y[30:40] = np.nan
    fit, k = ComponentFit(parts, parameters, 0.0, 36), rng.integers(3, size=50)
    held = [(k == part) & ~np.isnan(y) for part in range(3)]
    found, shown = fit.smooth([y], noise), parts.matrices(parameters)[0][0]
    ((mean, variance),) = fit.signals([y], noise)
    np.testing.assert_allclose(mean, found.states[:, :, 0, 0] @ shown, atol=1e-9)
    np.testing.assert_allclose(variance, found.signal_variances[:, 0, 0], atol=1e-9)
    rest = np.where(np.isnan(y), found.outputs[:, 0, 0, 0], y)
    for name, season in parts.seasons.items():
        rest = rest - found.states[:, parts.states[name], 0, 0] @ season.shown
    np.testing.assert_allclose(fit.given(y, noise).filled_rest(), rest, atol=1e-9)
    without = fit.smooth([np.where(part, np.nan, y) for part in held], noise)
    for n, (part, (mean, variance)) in enumerate(
        zip(held, fit.given(y, noise).held_out(held), strict=True)
    ):
        np.testing.assert_allclose(mean, without.states[part, :, 0, n] @ shown, atol=1e-9)
        np.testing.assert_allclose(variance, without.signal_variances[part, 0, n], atol=1e-9)


def test_a_long_series_has_the_means_and_variances_of_the_smoother(rng):
    y = np.cumsum(rng.standard_normal(500))
    y[100:150] = np.nan
    walk = Components(500, drifts=("level",))
    fit = ComponentFit(walk, np.log([0.5, 1.0]), 0.0, 450)
    held = [np.arange(500) == 20, np.arange(500) > 480]
    given = ConditionedSeries(walk, fit.parameters, y)
    ((mean, variance),) = fit.signals([y])
    np.testing.assert_allclose(mean, given.mean(), atol=1e-8)
    np.testing.assert_allclose(variance, given.variance(), atol=1e-8)
    np.testing.assert_allclose(fit.given(y).filled_rest(), np.where(np.isnan(y), mean, y))
    for found, dense in zip(fit.given(y).held_out(held), given.held_out(held), strict=True):
        np.testing.assert_allclose(found, dense, atol=1e-8)


@pytest.mark.parametrize("order", [0, 1, 4])
@pytest.mark.parametrize("measured", [False, True])
def test_covariances_and_filter_have_the_same_likelihood_and_gradient(order, measured, rng):
    seasons = {"season": Season(6, (1, 3)), "second": Season(9, (2,))}
    drifts = ("level", "slope", "season", "second season")
    parts = Components(40, True, order=order, drifts=drifts, measured=measured, **seasons)
    y = rng.standard_normal(40)
    y[[0, 3, 4, 20, 39]] = np.nan
    noise = rng.uniform(0.5, 1, 40) if measured else None
    parameters = rng.normal(-2, 0.3, len(parts.names))
    parameters[len(parts.names) - order :] += 2
    score = value_and_gradient(gaussian(parts, parameters, noise), records([y]))
    value, gradient = SampleCovariances(parts, y, noise).score(parameters)
    np.testing.assert_allclose(value, score.value, rtol=1e-10)
    np.testing.assert_allclose(gradient, parts.gradient(parameters, score), rtol=1e-7, atol=1e-9)


def test_covariances_that_are_not_positive_definite_are_refused():
    parts = Components(3, measured=True)
    with pytest.raises(ValueError, match="not positive definite"):
        SampleCovariances(parts, np.zeros(3), np.zeros(3)).score(np.zeros(0))


@pytest.mark.parametrize("dense", [0.0, np.inf])
def test_a_fit_does_not_depend_on_how_the_likelihood_is_computed(dense, rng):
    y = np.cumsum(rng.standard_normal(50)) / 5
    parts = Components(50, drifts=("level",))
    start = {"white": -2.0, "level": -3.0}
    usual = most_likely(parts, y, start)
    fit = most_likely(parts, y, start, LikelihoodSearch(dense=dense))
    np.testing.assert_allclose(fit.loglikelihood, usual.loglikelihood, rtol=1e-6)


def test_growth_by_a_share_is_fitted_to_logarithms(rng):
    pattern = np.array([0.5, -0.2, 0.1, -0.4])[np.arange(48) % 4]
    logarithm = 3 + np.cumsum(0.03 + 0.05 * rng.standard_normal(48)) + pattern
    fitted = fit_either_scale(np.exp(logarithm))
    assert fitted.logarithmic
    y = np.append(logarithm[:40], np.full(8, np.nan))
    (found,) = fitted.smooth([np.exp(y)])
    (twin,) = replace(fitted, logarithmic=False).smooth([y])
    np.testing.assert_allclose(found.signal, np.exp(twin.signal))
    np.testing.assert_allclose(found.stderr, np.exp(twin.signal) * twin.stderr)
    np.testing.assert_allclose(found.deviation, np.exp(twin.signal) * twin.deviation)
    y[5] = np.nan
    gap = np.where(np.arange(48) == 5, -1.0, np.exp(y))  # -1 has no logarithm
    (with_gap,) = fitted.smooth([gap])
    (without,) = fitted.smooth([np.exp(y)])
    np.testing.assert_allclose(with_gap.signal, without.signal)


def test_negative_samples_have_no_logarithms(rng):
    assert not fit_either_scale(rng.standard_normal(30)).logarithmic


def test_a_season_repeats():
    season = Components(24, season=Season(8, (1, 2, 4)))
    system = season.system([-30.0])
    start = np.arange(1.0, len(system.A) + 1)
    y = [float((system.C @ np.linalg.matrix_power(system.A, t) @ start)[0]) for t in range(16)]
    np.testing.assert_allclose(y[8:], y[:8], atol=1e-12)


@pytest.mark.parametrize("period", [4, 7, 12, 48])
def test_short_and_long_seasons_are_found_beside_a_trend_and_gaps(period, rng):
    t = np.arange(max(60, 6 * period))
    pattern = rng.standard_normal(period)
    y = np.cumsum(0.1 * rng.standard_normal(len(t))) + pattern[t % period]
    y += 0.3 * rng.standard_normal(len(t))
    y[rng.random(len(t)) < 0.2] = np.nan
    best = find_seasons(y)[0]
    assert best.season.period == period
    assert best.gain > 0


def test_a_random_walk_has_no_season(rng):
    found = find_seasons(np.cumsum(rng.standard_normal(200)))
    assert not found or found[0].gain < 20


def test_components_of_no_size_are_left_out():
    fit = ComponentFit(EVERYTHING, np.array([0.0, -1.0, -16.0, -16.0, -16.0, 1, 1, 1]), 1.0, 60)
    small = without_vanished(fit)
    assert small.components.drifts == ("level",)
    assert small.components.order == 0
    assert small.values == {"white": 0.0, "level": -1.0}
    assert small.information < fit.information


def test_the_likelihood_is_maximised(rng):
    walk = Components(100, drifts=("level",))
    y = simulated(walk, np.array([-1.0, -2.0]), rng)
    fit = most_likely(walk, y, {"white": 0.0, "level": 0.0})
    literal = minimize(lambda x: -walk.system(x).loglikelihood(y), [0.0, 0.0], method="Nelder-Mead")
    assert fit.loglikelihood > -literal.fun - 0.02


def test_fits_of_a_seasonal_series_predict_its_gaps(rng):
    t = np.arange(144)
    truth = 20 + 0.05 * t + 3 * np.array([0, 1, 5, 2, -4, -4])[t % 6]
    y = truth + 0.5 * rng.standard_normal(144)
    gaps = (t % 40 > 29) & (t < 130)
    samples = np.where(gaps, np.nan, y)
    fitted = fit_series(samples)
    assert fitted.fits[0].components.season.period == 6
    (found,) = fitted.smooth([samples])
    assert np.sqrt(np.mean((found.signal - truth)[gaps] ** 2)) < 0.5
    np.testing.assert_allclose(found.sigma, 0.5, rtol=0.3)
    assert np.all(found.deviation >= found.stderr)


def test_what_samples_tell_is_what_each_question_alone_tells(rng):
    y = np.cumsum(rng.standard_normal(80))
    y[30:40] = np.nan
    fitted, k = fit_series(y), rng.integers(4, size=80)
    parts = [(k == part) & ~np.isnan(y) for part in range(3)]
    told = fitted.told(y, parts)
    np.testing.assert_array_equal(told.whole.signal, fitted.smooth([y])[0].signal)
    np.testing.assert_array_equal(told.seen.variance, fitted.seen_values(y).variance)
    alone = fitted.smooth([np.where(part, np.nan, y) for part in parts])
    for part, one, found in zip(parts, alone, told.held_out, strict=True):
        np.testing.assert_allclose(found.signal, one.signal[part], atol=1e-7)
        np.testing.assert_allclose(found.deviation, one.deviation[part], rtol=1e-6)


@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_criterion_of_a_trend_literally(damping, rng):
    t = np.arange(50)
    y = 4 * np.exp(-damping * t) + rng.standard_normal(50)
    y[10:15] = np.nan
    fitted, z = fit_series(y), (y - np.nanmean(y))[~np.isnan(y)] / np.nanstd(y)
    left = z - np.mean(z)
    white, n, count = np.mean(left**2), len(z), 1 + bool(damping)
    K = white * np.eye(n) + fitted.fits[0].components.first.level ** 2
    value = multivariate_normal(cov=K).logpdf(left)
    criterion = 2 * (count - value) + 2 * count * (count + 1) / (n - count - 1)
    found = fitted.over_trend(np.sum(left**2) * fitted.scale**2, int(bool(damping)))
    assert found == pytest.approx(criterion - fitted.fits[0].information)


def test_parameters_of_a_long_series_are_fitted_to_a_stretch(rng):
    walk = np.cumsum(rng.standard_normal(5000))
    walk[rng.random(5000) < 0.4] = np.nan
    walk[:2500] = np.where(rng.random(2500) < 0.5, np.nan, walk[:2500])
    fitted = fit_series(walk)
    assert fitted.fits[0].components.samples == 1000
    share = fitted.weights @ [len(fit.parameters) for fit in fitted.fits] / 1000
    np.testing.assert_allclose(fitted.optimism, np.sqrt((1 + share) / (1 - share)))
    (found,) = fitted.smooth([walk])
    assert np.all(np.isfinite(found.signal))


def test_fits_to_a_stretch_are_compared_on_the_whole_series(rng):
    """The stretch with most samples is a straight line, the series is not."""
    t = np.arange(500)
    truth = np.where(t < 300, 0.0, 0.02 * (t - 300)) + 0.5 * np.cos(2 * np.pi * t / 12)
    y = truth + 0.1 * rng.standard_normal(500)
    y[350:] = np.where(rng.random(150) < 0.3, np.nan, y[350:])
    fitted = fit_series(y, ComponentSearch(stretch=300))
    for fit in fitted.fits:
        system = fit.components.system(fit.parameters)
        value = system.loglikelihood(((y - fitted.offset) / fitted.scale)[:, None])
        np.testing.assert_allclose(fit.loglikelihood, value)
    (found,) = fitted.smooth([y])
    assert np.sqrt(np.mean((found.signal - truth)[np.isnan(y)] ** 2)) < 0.05


def test_a_long_autoregressive_part_moves_from_its_start(rng):
    """Its first trial step must not lead to all bounds, where covariances are not definite."""
    t = np.arange(300)
    y = np.cos(0.3 * t) + np.cos(0.5 * t) + 0.1 * np.cumsum(rng.standard_normal(300))
    y[rng.random(300) < 0.3] = np.nan
    y = (y - np.nanmean(y)) / np.nanstd(y)
    components = Components(300, order=16)
    start = {name: 0.0 for name in components.names} | {"white": -7.0, "pacf 1": 2.0}
    first = [start[name] for name in components.names]
    fit = most_likely(components, y, start)
    assert fit.loglikelihood > SampleCovariances(components, y).score(np.array(first))[0] + 100


@pytest.mark.parametrize(("samples", "kept"), [(100, ()), (1000, ("slope",))])
def test_small_drifts_of_slopes_count_in_long_series(samples, kept):
    components = Components(samples, slope=True, drifts=("level", "slope"))
    fit = ComponentFit(components, np.log([0.1, 1e-7, 1e-8]), 0.0, samples)
    assert without_vanished(fit).components.drifts == kept


def test_fits_end_when_time_is_up(rng):
    walk = np.cumsum(rng.standard_normal(60))
    with watched(1e-9):
        fitted = fit_series(walk)
    assert len(fitted.fits) == 1
    start = most_likely(
        fitted.fits[0].components, (walk - fitted.offset) / fitted.scale, fitted.fits[0].values
    )
    assert start.loglikelihood > fitted.fits[0].loglikelihood  # it has made a step or two
    assert np.all(np.isfinite(fitted.smooth([walk])[0].signal))


def sample_covariances(components, parameters):
    """The covariance matrix of all samples, from that of the states, step by step."""
    H, W, P = components.matrices(parameters)
    A, C, count = H[1:], H[0], components.samples
    K = W[0, 0] * np.eye(count)
    for i in range(count):
        ahead = P.copy()
        for j in range(i, count):
            K[i, j] = K[j, i] = K[i, j] + C @ ahead @ C
            ahead = A @ ahead
        P = A @ P @ A.T + W[1:, 1:]
    return K


@pytest.mark.parametrize("white", [0.3, 1e-7])
def test_noise_hidden_in_components_literally(white, rng):
    """Given all samples, by the whole covariance matrix instead of the smoother."""
    parameters = rng.standard_normal(len(EVERYTHING.names)) - 1
    parameters[0] = np.log(white)
    fit = ComponentFit(EVERYTHING, parameters, 0.0, 60)
    y = simulated(EVERYTHING, parameters, rng)
    y[20:28] = np.nan
    seen = ~np.isnan(y)
    noise = white + noise_floor(fit)
    inverse = np.linalg.inv(sample_covariances(EVERYTHING, parameters)[np.ix_(seen, seen)])
    mean, variance, got = seen_values(fit.given(y))
    assert got == pytest.approx(noise)
    tolerance = {"rtol": 1e-6} if white == 0.3 else {"rtol": 0.02, "atol": 0.01 * noise**0.5}
    np.testing.assert_allclose(mean[seen], y[seen] - noise * inverse @ y[seen], **tolerance)
    literal = np.maximum(noise - noise**2 * np.diag(inverse), 0)
    np.testing.assert_allclose(variance[seen], literal, **tolerance)


def test_an_autoregressive_part_hides_white_noise():
    """That of a series which is white noise is all noise; a part of one frequency hides none."""
    nothing = ComponentFit(Components(50, order=1), np.array([-20.0, 0.0, 1e-3]), 0.0, 50)
    assert noise_floor(nothing) == pytest.approx(1, rel=0.01)
    narrow = ComponentFit(Components(50, order=2), np.array([-20.0, 0.0, 0.3, -4.0]), 0.0, 50)
    assert noise_floor(narrow) < 1e-3


@pytest.mark.parametrize("kind", ["components", nightly("auto")])
def test_errors_at_seen_samples_do_not_trust_noise_that_vanished(kind):
    """A chirp with noise: an autoregressive part takes all noise for signal."""
    t = np.arange(150)
    rng = np.random.default_rng(3)
    truth = 1.4 * np.cos(2 * np.pi * (0.02 * t + 0.08 * t**2 / 150))
    samples = truth + 0.2 * rng.standard_normal(150)
    samples[rng.random(150) < 0.25] = np.nan
    found, seen = recover(samples, kind=kind), ~np.isnan(samples)
    assert np.mean(np.abs(found.signal - truth)[seen] <= 1.96 * found.stderr[seen]) > 0.8
    assert np.all(found.upper - found.lower > 2 * 1.959 * found.stderr)
    assert np.mean(found.stderr[seen]) < np.mean(found.stderr[~seen])


def test_weights_have_the_least_squared_error(rng):
    residuals = rng.standard_normal((3, 50)) * [[1.0], [2.0], [1.5]]
    weights = simplex_weights(residuals)
    grid = rng.dirichlet(np.ones(3), 4000)
    gram = residuals @ residuals.T / 50
    gram += Stacking().prior / 50 * np.min(np.diag(gram)) * np.eye(3)
    literal = np.einsum("ki,ij,kj->k", grid, gram, grid)
    assert weights @ gram @ weights <= np.min(literal) + 1e-6
    np.testing.assert_allclose(np.sum(weights), 1)


def test_a_series_with_a_drifting_level_has_intervals_that_widen_inside_gaps(rng):
    y = np.cumsum(rng.standard_normal(300)) + 0.3 * rng.standard_normal(300)
    samples = y.copy()
    samples[100:130] = np.nan
    found = recover(samples)
    assert found.kind in ("average", "components")
    width = found.upper - found.lower
    assert width[115] > 1.5 * width[100]
    assert width[100] > 1.2 * width[50]
    assert np.mean((y > found.lower) & (y < found.upper)) > 0.9
    assert recover(samples[:140], kind="components", level=0.5).kind == "components"
    filled = keep_samples(found)
    np.testing.assert_array_equal(filled.upper[:100], y[:100])
    np.testing.assert_array_equal(filled.signal[:100], y[:100])


def test_a_level_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match="probability"):
        recover(np.arange(20.0), level=95)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["white", "autoregressive"])
def test_intervals_of_a_series_hold_new_samples(kind):
    inside = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        t = np.arange(200)
        noise = rng.standard_normal(200)
        if kind == "autoregressive":
            for k in range(1, 200):
                noise[k] += 0.9 * noise[k - 1]
        y = 3 * np.cos(0.3 * t) + 0.5 * noise
        gaps = rng.random(200) < 0.3
        found = recover(np.where(gaps, np.nan, y))
        inside.append(((y > found.lower) & (y < found.upper))[gaps])
    assert 0.9 < np.mean(np.concatenate(inside)) < 0.98


def test_a_step_beyond_all_numbers_is_taken_back():
    """The first variance has no upper bound: its exponential may overflow, without a warning."""
    bounds, tried = np.array([[-np.inf, np.inf]]), []

    def score(parameters):
        tried.append(float(parameters[0]))
        grown = np.exp(parameters - 300)
        return float(parameters[0] - grown[0]), 1 - grown

    found, _ = largest_within(score, np.zeros(1), bounds, 100, 1e-12)
    assert max(tried) > 300 + np.log(np.finfo(float).max)
    np.testing.assert_allclose(found, 300, rtol=0.02)

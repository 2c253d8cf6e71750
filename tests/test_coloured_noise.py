"""Modes in autoregressive noise: against dense matrices, and by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular, toeplitz
from scipy.optimize import least_squares, minimize_scalar
from scipy.signal import lfilter

from structrank import (
    AutoregressiveNoise,
    Hankel,
    Mask,
    Modes,
    Problem,
    frequencies,
    recover,
)
from structrank.io.saved_results import decoded, encoded
from structrank.modal.coloured_search import ColouredSearch, coloured_modes
from structrank.modal.modal_refit import refit_modes
from structrank.modal.noise_fit import fit_last, fit_noise, whitened
from structrank.signals.candidates import FitOfModes
from structrank.signals.channel_estimate import merged
from structrank.signals.coloured_modes import coloured_fit, may_be_coloured, may_be_trusted
from structrank.signals.direct_modes import DirectFit, direct_fit
from structrank.signals.estimates import Estimate
from structrank.signals.filling import keep_samples
from structrank.signals.limits import Limits
from structrank.signals.problems import hankel_problem
from structrank.signals.solutions import Known
from structrank.signals.truncation import truncated_moments

REACH = 1.959964


def ar_noise(count: int, rng: np.random.Generator, phi: float = 0.9, size: float = 0.2):
    drawn = rng.standard_normal(count + 100)
    return size * np.sqrt(1 - phi**2) * lfilter([1.0], [1.0, -phi], drawn)[100:]


def three_tones(seed: int, count: int = 150, phi: float = 0.9):
    """Signal, samples with 30% missing, frequencies, and all samples."""
    rng = np.random.default_rng([5, seed])
    f = rng.uniform([0.05, 0.18, 0.32], [0.15, 0.28, 0.45])
    phases = 2 * np.pi * np.outer(np.arange(count), f) + rng.uniform(-3, 3, 3)
    truth = np.cos(phases) @ rng.uniform(0.7, 1.5, 3)
    samples = truth + ar_noise(count, rng, phi)
    return truth, np.where(rng.random(count) < 0.3, np.nan, samples), f, samples


def dense_correlations(noise: AutoregressiveNoise, seen: np.ndarray) -> np.ndarray:
    """From the impulse response, without any recursion of the class."""
    response = lfilter([1.0], np.append(1.0, -noise.coefficients), np.eye(1, 4000)[0])
    covariances = np.array([response[lag:] @ response[: 4000 - lag] for lag in range(len(seen))])
    return toeplitz(covariances / covariances[0])[np.ix_(seen, seen)]


@pytest.mark.parametrize("value", [1.0, -1.5, np.nan])
def test_noise_is_stationary(value):
    with pytest.raises(ValueError, match="between -1 and 1"):
        AutoregressiveNoise(np.array([0.5, value]))


@pytest.mark.parametrize("partial", [[], [0.9], [0.5, -0.8], [0.7, 0.2, -0.5]])
@pytest.mark.parametrize("gaps", [0.0, 0.4, 0.9])
def test_whitening_is_that_of_the_dense_matrix(partial, gaps):
    rng, noise = np.random.default_rng(0), AutoregressiveNoise(np.array(partial))
    seen = rng.random(40) >= gaps
    C, whitening = dense_correlations(noise, seen), noise.whitening(seen)
    columns = rng.standard_normal((len(C), 3)) + 1j * rng.standard_normal((len(C), 3))
    white = whitening.apply(columns)
    expected = np.linalg.solve(C, columns)
    np.testing.assert_allclose(white.conj().T @ white, columns.conj().T @ expected, atol=1e-8)
    np.testing.assert_allclose(whitening.precise(columns), expected, atol=1e-8)
    assert whitening.log_determinant == pytest.approx(np.linalg.slogdet(C)[1], abs=1e-8)
    np.testing.assert_allclose(
        noise.correlations(40), dense_correlations(noise, np.ones(40, bool))[0], atol=1e-9
    )
    everywhere = dense_correlations(noise, np.ones(40, bool))[:, seen]
    np.testing.assert_allclose(whitening.predicted(columns), everywhere @ expected, atol=1e-8)
    left = 1 - np.einsum("ts,st->t", everywhere, np.linalg.solve(C, everywhere.T))
    np.testing.assert_allclose(whitening.unpredicted(), left, atol=1e-8)


def test_short_records_and_long_memory():
    """More coefficients than samples; a memory that is known."""
    noise = AutoregressiveNoise(np.array([0.9, -0.3, 0.2, 0.1]))
    seen = np.array([True, False, True])
    white = noise.whitening(seen).apply(np.eye(2))
    expected = np.linalg.inv(dense_correlations(noise, seen))
    np.testing.assert_allclose(white.T @ white, expected, atol=1e-10)
    assert AutoregressiveNoise(np.array([np.exp(-0.1)])).memory == pytest.approx(10.0)
    assert AutoregressiveNoise(np.zeros(0)).memory == 0.0


@pytest.mark.parametrize("partial", [0.9, -0.5, 0.0])
def test_noise_of_order_one_is_whitened_by_its_neighbours(partial):
    rng = np.random.default_rng(4)
    seen = rng.random(60) < 0.6
    noise = AutoregressiveNoise(np.array([partial]))
    white, log_determinant = whitened(noise, np.eye(np.count_nonzero(seen)), seen)
    C = dense_correlations(noise, seen)
    np.testing.assert_allclose(white.T @ white, np.linalg.inv(C), atol=1e-10)
    assert log_determinant == pytest.approx(np.linalg.slogdet(C)[1], abs=1e-10)


def test_noise_has_the_largest_restricted_likelihood():
    rng = np.random.default_rng(1)
    seen = rng.random(80) < 0.7
    X = np.column_stack([np.ones(80), np.cos(0.1 * np.arange(80))])[seen]
    y = ar_noise(80, rng, 0.8)[seen]

    def negative(phi: float) -> float:
        C = toeplitz(phi ** np.arange(80))[np.ix_(seen, seen)]
        P = np.linalg.inv(C)
        information = X.T @ P @ X
        rest = y @ P @ y - y @ P @ X @ np.linalg.solve(information, X.T @ P @ y)
        logs = np.linalg.slogdet(C)[1] + np.linalg.slogdet(information)[1]
        return (len(y) - 2) * np.log(rest) + logs

    best = minimize_scalar(negative, bounds=(0.3, 0.99), method="bounded").x
    assert fit_noise(y, X, seen, 1).partial[0] == pytest.approx(best, abs=2e-3)
    assert fit_last(y, X, seen, 1).partial[0] == pytest.approx(best, abs=0.01)


@pytest.mark.parametrize("start", [None, -0.9, 0.99])
def test_the_last_partial_autocorrelation_alone_is_close_to_that_of_all(start):
    rng = np.random.default_rng(2)
    seen, X = np.ones(400, dtype=bool), np.ones((400, 1))
    y = ar_noise(400, rng, 0.8)
    noise = None if start is None else AutoregressiveNoise(np.array([start]))
    one, all_of_one = fit_last(y, X, seen, 1, noise), fit_noise(y, X, seen, 1)
    np.testing.assert_allclose(one.partial, all_of_one.partial, atol=0.01)
    two, all_of_two = fit_last(y, X, seen, 2, one), fit_noise(y, X, seen, 2)
    np.testing.assert_allclose(two.partial, all_of_two.partial, atol=0.02)


def small_problem():
    rng = np.random.default_rng(3)
    t = np.arange(50)
    samples = np.exp(-0.02 * t) * np.cos(0.7 * t + 0.4) + ar_noise(50, rng, 0.8)
    seen = rng.random(50) < 0.75
    return Problem(Hankel(50, window=25), samples, mu=1.0, measure=Mask(seen)), seen


def test_fit_is_that_of_dense_generalised_least_squares():
    problem, seen = small_problem()
    noise = AutoregressiveNoise(np.array([0.7, 0.2]))
    start = Modes([0.7 / (2 * np.pi), -0.7 / (2 * np.pi)], 0.02, 0.5)
    fit = refit_modes(problem, start, noise=noise)
    t, L = np.flatnonzero(seen), cholesky(dense_correlations(noise, seen), lower=True)

    def signal(x, at):
        return 2 * np.real((x[2] + 1j * x[3]) * np.exp((2j * np.pi * x[0] - x[1]) * at))

    def white(x):
        return solve_triangular(L, signal(x, t) - problem.b[seen], lower=True)

    found = least_squares(white, [0.7 / (2 * np.pi), 0.02, 0.5, 0.1], xtol=1e-14, ftol=1e-14)
    assert fit.residual_squared == pytest.approx(2 * found.cost, rel=1e-6)
    np.testing.assert_allclose(fit.y, signal(found.x, np.arange(50)), atol=1e-5)
    sigma = np.sqrt(2 * found.cost / (len(t) - 4))
    covariance = sigma**2 * np.linalg.inv(found.jac.T @ found.jac)
    assert fit.sigma == pytest.approx(sigma, rel=1e-6)
    errors = np.sqrt(np.diag(covariance))
    assert fit.modes.stderr.frequencies[0, 0] == pytest.approx(errors[0], rel=1e-3)
    assert fit.modes.stderr.dampings[0, 0] == pytest.approx(errors[1], rel=1e-3)
    steps = 1e-6 * np.eye(4)
    slopes = np.stack(
        [(signal(found.x + h, np.arange(50)) - signal(found.x - h, np.arange(50))) for h in steps]
    )
    along = np.einsum("it,ij,jt->t", slopes / 2e-6, covariance, slopes / 2e-6)
    np.testing.assert_allclose(fit.stderr, np.sqrt(along), rtol=1e-3)

    # New samples in gaps: prediction of noise from neighbours, with parameters that are uncertain.
    C = dense_correlations(noise, np.ones(50, bool))
    gain = C[np.ix_(~seen, seen)] @ np.linalg.inv(C[np.ix_(seen, seen)])
    own = (slopes[:, ~seen] - slopes[:, seen] @ gain.T) / 2e-6
    unknown = np.diag(C[np.ix_(~seen, ~seen)] - gain @ C[np.ix_(seen, ~seen)])
    variance = unknown + np.einsum("it,ij,jt->t", own, covariance / sigma**2, own)
    expected, deviation = fit.new_samples()
    np.testing.assert_allclose(deviation[~seen], np.sqrt(variance), rtol=1e-3)
    np.testing.assert_allclose(expected[~seen], gain @ (problem.b - fit.y)[seen], atol=1e-8)
    assert np.all(expected[seen] == 0)
    np.testing.assert_allclose(deviation[seen], np.hypot(1, fit.stderr / sigma)[seen], rtol=1e-6)


def test_information_criterion_has_the_likelihood_of_the_noise():
    problem, seen = small_problem()
    start = Modes([0.7 / (2 * np.pi), -0.7 / (2 * np.pi)], 0.02, 0.5)
    white, none, coloured = (
        refit_modes(problem, start, noise=noise)
        for noise in (
            None,
            AutoregressiveNoise(np.zeros(0)),
            AutoregressiveNoise(np.array([0.8])),
        )
    )
    assert none.information == pytest.approx(white.information)
    count, rest = np.count_nonzero(seen), coloured.residual_squared
    logs = np.linalg.slogdet(dense_correlations(coloured.noise, seen))[1]
    price = np.log(count) * count / (count - 6)
    expected = count * np.log(rest / count) + logs + (5 + 2) * price
    assert coloured.information == pytest.approx(expected)
    assert coloured.information < white.information


def test_recover_finds_tones_in_coloured_noise():
    truth, samples, *_ = three_tones(0)
    found = recover(samples)
    assert (found.kind, found.rank, found.noise.order) == ("refit", 6, 1)
    assert found.noise.partial[0] == pytest.approx(0.9, abs=0.1)
    assert found.sigma == pytest.approx(0.2, rel=0.5)
    assert np.mean(np.abs(found.signal - truth) <= REACH * found.stderr) > 0.8
    assert np.sqrt(np.mean((found.signal - truth) ** 2)) < 0.06
    assert f"AR(1), {found.noise.partial[0]:.2f}" in repr(found)
    wide = REACH * np.hypot(found.stderr, found.sigma)
    seen = ~np.isnan(samples)
    np.testing.assert_allclose((found.upper - found.signal)[seen], wide[seen], rtol=1e-5)
    half = (found.upper - found.lower)[~seen] / 2
    assert np.all(half < 1.01 * wide[~seen])
    assert np.median(half / wide[~seen]) < 0.7  # most gaps are short: neighbours tell the noise
    kept = keep_samples(found)
    np.testing.assert_allclose(kept.signal[~seen], (found.upper + found.lower)[~seen] / 2)
    np.testing.assert_array_equal(kept.signal[seen], samples[seen])
    np.testing.assert_allclose(kept.draws(400).mean(axis=0), kept.signal, atol=0.02)
    grouped = keep_samples(replace(found, modes=None))  # as in a table whose channels are alone
    np.testing.assert_array_equal(grouped.signal, kept.signal)
    again = decoded(*encoded(found.modes))
    assert repr(again) == repr(found.modes)
    assert repr(found.modes).endswith(f"noise: {found.noise}")


@pytest.mark.parametrize("bounds", [None, (-np.inf, 1.0)])
def test_samples_that_are_expected_in_two_channels(bounds):
    noise = np.array([0.0, 0.0, -0.5, 0.5])  # that of seen samples is not expected
    part = Estimate(np.full(4, 0.9), np.full(4, 0.1), 2, None, 0.4, expected=noise)
    found = merged([part, replace(part, expected=None)], [(0,), (1,)])
    left = np.array([False, True, False, False])[:, None, None]
    signal, _, low, high, new = Limits(0.95, None, bounds).parts(found, left)
    assert np.isnan(new[1]).all()
    np.testing.assert_array_equal(new[0], signal[0])
    np.testing.assert_array_equal(new[:, 1], signal[:, 1])
    kept = ~np.isnan(new)
    assert np.all((low <= new)[kept] & (new <= high)[kept])
    expected = [0.4, 1.4]
    if bounds is not None:
        expected, _ = truncated_moments(np.array(expected), np.hypot(0.4, 0.1), *bounds)
    np.testing.assert_allclose(new[2:, 0, 0], expected)


def test_frequencies_in_coloured_noise_have_their_standard_errors():
    _, samples, f, _ = three_tones(1)
    modes = frequencies(samples, dt=0.5)
    assert modes.noise.order == 1
    assert modes[:2].noise is modes.noise
    found = modes.oscillations()
    order = np.argsort(found.frequencies[:, 0])
    errors = found.stderr["frequencies"][order, 0]
    assert np.all(np.abs(found.frequencies[order, 0] - f) < 4 * errors)


def test_given_rank_and_undamped_modes():
    _, samples, *_ = three_tones(2)
    problem = hankel_problem(samples)
    found = coloured_fit(problem, Known(rank=6, undamped=True), None)
    assert (found.fit.rank, found.fit.noise.order) == (6, 1)
    assert np.all(found.fit.modes.dampings == 0)
    few = coloured_modes(problem, rank=3, search=ColouredSearch(most=1))
    assert few is None


def test_complex_signals():
    rng, t = np.random.default_rng(0), np.arange(120)
    truth = np.exp(0.8j * t) + 0.7 * np.exp((-1.1j - 0.01) * t)
    samples = truth + ar_noise(120, rng) + 1j * ar_noise(120, rng)
    found = recover(np.where(rng.random(120) < 0.25, np.nan, samples))
    assert (found.kind, found.rank, found.noise.order) == ("refit", 2, 1)
    assert found.sigma == pytest.approx(0.2 * np.sqrt(2), rel=0.5)
    error, stderr = found.signal - truth, found.stderr / np.sqrt(2)
    inside = [np.abs(part) <= REACH * stderr for part in (error.real, error.imag)]
    assert np.mean(inside) > 0.8


def test_white_noise_is_left_white():
    """No search is made, so neither results nor times change."""
    truth = three_tones(0)[0]
    samples = truth + 0.2 * np.random.default_rng(0).standard_normal(150)
    problem = hankel_problem(samples)
    white = direct_fit(problem, Known())
    assert isinstance(white, DirectFit)
    assert not may_be_coloured(white.fit)
    assert coloured_fit(problem, Known(), white) is None
    assert coloured_fit(problem, Known(), None) is None  # after a search


def test_modes_in_much_coloured_noise_are_searched_where_no_others_compete():
    """They would not be trusted beside other estimates, as the search itself says."""
    rng, t = np.random.default_rng(0), np.arange(100)
    samples = np.cos(0.8 * t) + ar_noise(100, rng, phi=0.6, size=0.9)
    problem = hankel_problem(samples)
    white = direct_fit(problem, Known())
    assert not may_be_trusted(white.fit)
    coloured = coloured_fit(problem, Known(), white)
    assert not coloured.trusted
    first = FitOfModes().first_estimate(problem, Known())
    np.testing.assert_array_equal(first.estimate.signal, white.fit.y)
    np.testing.assert_array_equal(first.alone().signal, coloured.fit.y)


def test_noise_that_is_slow_or_not_for_one_series_is_not_modelled():
    rng, t = np.random.default_rng(0), np.arange(120)
    walk = np.cos(0.8 * t) + 0.2 * np.cumsum(rng.standard_normal(120))
    assert coloured_fit(hankel_problem(walk), Known(), None) is None
    noise = np.stack([ar_noise(120, rng), ar_noise(120, rng)], axis=1)
    two = hankel_problem(np.cos(0.8 * t)[:, None] + noise, None, 1)
    image = hankel_problem(np.cos(0.8 * t)[:, None] + ar_noise(120 * 4, rng).reshape(120, 4))
    one = hankel_problem(np.cos(0.8 * t) + noise[:, 0])
    for problem, known in (
        (two, Known()),
        (image, Known()),
        (one, Known(weights=np.ones(120))),
        (hankel_problem(np.cos(0.8 * t)[:40]), Known()),
    ):
        assert coloured_fit(problem, known, None) is None


@pytest.mark.nightly
def test_rank_and_coverage_in_coloured_noise():
    """Three tones in AR(0.9) noise, 30% missing."""
    ranks, values, places, new = [], [], [], []
    for seed in range(100, 160):
        truth, samples, f, whole = three_tones(seed)
        found = recover(samples)
        held = (found.lower <= whole) & (whole <= found.upper)
        new.append(np.mean(held[np.isnan(samples)]))
        ranks.append(found.rank == 6)
        values.append(np.mean(np.abs(found.signal - truth) <= REACH * found.stderr))
        if found.modes is None or not ranks[-1]:
            continue
        shown = found.modes.oscillations()
        order = np.argsort(shown.frequencies[:, 0])
        errors = shown.frequencies[order, 0] - f
        places.append(np.abs(errors) <= REACH * shown.stderr["frequencies"][order, 0])
    assert np.mean(ranks) > 0.9
    assert 0.90 < np.mean(values) < 0.98
    assert 0.90 < np.mean(places) < 0.98
    assert 0.90 < np.mean(new) < 0.98


def test_noise_does_not_take_the_place_of_modes_beyond_a_given_number():
    t, rng = np.arange(300), np.random.default_rng(3)
    sizes, periods = [0.72, 0.27, 0.11, 0.11, 0.07], [20.9, 56.9, 8.8, 12.8, 7.0]
    tones = np.cos(2 * np.pi * t[:, None] / periods + np.arange(5)) @ sizes
    problem = hankel_problem(tones + 0.05 * rng.standard_normal(300))
    assert coloured_modes(problem, rank=4) is None
    tone = hankel_problem(0.6 * np.cos(1.5 * t) + ar_noise(300, rng))
    assert coloured_modes(tone, rank=2).noise.coefficients[0] > 0.7

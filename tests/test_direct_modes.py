"""Modes found without a convex solution: what they find, and when they are trusted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from conftest import nightly, random_array

from structrank import Hankel, Modes, Problem, recover, sinusoids
from structrank.modal.greedy import GreedySearch, ModeFinder, greedy_modes, needed_modes
from structrank.modal.modal_refit import refit_modes
from structrank.modal.model import ModalModel
from structrank.modal.pencil import exact_modes, pencil_modes
from structrank.modal.rate_fit import RateFit, RateSteps, _solved
from structrank.modal.refitting import reweighted
from structrank.modal.restarts import Restarts, modes_by_restarts
from structrank.modal.samples import channel_samples
from structrank.modal.screening import neighbour_error, too_many_modes
from structrank.selection.whiteness import WhitenessTest, is_white, variation
from structrank.signals.direct_modes import direct_fit, without_idle_dampings
from structrank.signals.problems import hankel_problem
from structrank.signals.solutions import Known


def gaps(signal, share, rng, noise=0.0):
    samples = signal + noise * rng.standard_normal(signal.shape)
    return np.where(rng.random(signal.shape) < share, samples, np.nan)


class TestGreedyModes:
    @pytest.mark.parametrize(
        ("modes", "shape"),
        [
            (Modes([0.11, 0.23, 0.4], [0.0, 0.02, 0.0], [1, 2j, 1]), (90,)),
            (Modes([[0.1, 0.3], [0.2, -0.1]], 0.0, [1, 1j]), (17, 15)),
            (Modes([[0.1, 0.3, 0.2], [0.2, -0.1, 0.4]], 0.0, [1, 1j]), (8, 7, 9)),
            (Modes([0.11, 0.23], [0.01, 0.0], [[1, 1j, 2], [0.5, -1, 1]]), (80,)),
        ],
        ids=["line", "plane", "space", "channels"],
    )
    def test_meets_exact_samples(self, modes, shape, rng):
        signal = modes.signal(shape)
        channels = 1 if modes.amplitudes.ndim == 2 else None
        problem = hankel_problem(gaps(signal, 0.5, rng), channels=channels)
        found = greedy_modes(problem)
        assert len(found) == len(modes)
        np.testing.assert_allclose(found.signal(shape), signal, atol=1e-9)

    def test_real_signals_have_pairs_and_real_modes(self, rng):
        t = np.arange(120)
        signal = 2 * 0.98**t + np.cos(0.3 * t + 1)
        found = greedy_modes(hankel_problem(gaps(signal, 0.6, rng)))
        assert len(found) == 3
        np.testing.assert_allclose(found.signal(120).real, signal, atol=1e-8)

    def test_close_frequencies_from_few_samples(self):
        """Two thirds of a bin apart, a third of the samples."""
        rng = np.random.default_rng(1)
        signal = Modes([0.2, 0.2 + 0.67 / 127, 0.4], 0.0, [1, 1j, 1]).signal(127)
        found = greedy_modes(hankel_problem(gaps(signal, 0.33, rng)))
        np.testing.assert_allclose(found.signal(127), signal, atol=1e-8)

    def test_rank_that_is_given(self, rng):
        signal = Modes([0.11, 0.23, 0.4]).signal(90)
        problem = hankel_problem(gaps(signal, 0.5, rng))
        assert len(greedy_modes(problem, rank=2)) == 2
        assert len(greedy_modes(problem, rank=3, undamped=True)) == 3

    def test_a_peak_beside_a_rough_frequency_is_no_mode(self, rng):
        """In long records, what a rough fit leaves of a mode exceeds the noise."""
        noise = rng.standard_normal((2, 3000))
        samples = Modes([0.2, 0.35]).signal(3000) + 0.3 * (noise[0] + 1j * noise[1])
        channels = channel_samples((3000,), np.ones(3000), samples)
        none = np.zeros(3, dtype=bool)
        frequencies = np.array([[0.2 + 0.2 / 3000], [0.35], [0.2 - 2.2 / 3000]])
        rough = ModalModel(
            frequencies, 0 * frequencies, np.ones((3, 1)), (3000,), False, none, ~none
        )
        finder = ModeFinder(channels, undamped=True, search=GreedySearch())
        fine = RateFit.of(rough, channels).refined(finder.search.fine)
        assert fine.rank == 3
        kept = finder.without_small_modes(fine).model
        np.testing.assert_allclose(np.sort(kept.frequencies[:, 0]), [0.2, 0.35], atol=1e-5)

    def test_modes_that_samples_do_not_ask_for_are_left_out(self, rng):
        samples = np.cos(0.6 * np.arange(80)) + 0.1 * rng.standard_normal(80)
        problem = reweighted(hankel_problem(samples))
        pair = Modes([0.6 / (2 * np.pi), -0.6 / (2 * np.pi)], 0.0, [0.5, 0.5])
        more = Modes([*pair.frequencies[:, 0], 0.0], 0.0, [0.5, 0.5, 0.01])
        assert needed_modes(problem, pair, undamped=True) is pair
        np.testing.assert_allclose(
            np.sort(needed_modes(problem, more, undamped=True).frequencies[:, 0]),
            np.sort(pair.frequencies[:, 0]),
            atol=1e-3,
        )

    def test_too_many_modes_and_operators_are_left_to_others(self, rng):
        walk = np.cumsum(rng.standard_normal(8000))
        assert greedy_modes(hankel_problem(walk)) is None
        S = Hankel(9, window=5)
        measured = Problem(S, np.ones(9), 1.0, (lambda y: y, lambda r: r))
        assert greedy_modes(measured) is None


def ripples(rng, shape=(60, 400), length=1.3):
    """A random surface, smooth over a few samples: neither modes nor noise."""
    x, y = np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij")
    smooth = np.exp(-2 * (np.pi * length) ** 2 * (x**2 + y**2))
    return np.fft.ifft2(smooth * np.fft.fft2(rng.standard_normal(shape))).real


def seen_samples(samples):
    values = samples[..., None]
    return channel_samples(samples.shape, ~np.isnan(values) * 1.0, np.nan_to_num(values))


class TestScreening:
    def test_ripples_are_turned_away_and_damped_or_undamped_modes_are_not(self, rng):
        shape = (60, 400)
        assert too_many_modes(seen_samples(gaps(ripples(rng), 0.7, rng)), 40)
        for count, damping in [(1, 0), (1, 0.1), (8, 0), (8, 0.02), (25, 0), (25, 0.05)]:
            frequencies = rng.uniform(-0.1, 0.1, (count, 2))
            modes = Modes(frequencies, damping, np.exp(2j * np.pi * rng.random(count)))
            signal = modes.signal(shape).real
            assert not too_many_modes(seen_samples(gaps(signal, 0.7, rng)), 40)
            assert not too_many_modes(seen_samples(gaps(signal, 0.7, rng, noise=0.5)), 40)

    def test_a_search_ends_at_once(self, rng):
        assert greedy_modes(hankel_problem(gaps(ripples(rng), 0.7, rng))) is None

    def test_what_neighbours_predict_is_that_of_the_definition(self, rng):
        samples = gaps(rng.standard_normal((9, 11)).cumsum(axis=1) + 0.5j, 0.9, rng)
        errors = []
        for lines in (samples, samples.T):
            rows = [line[k - 1 : k + 2] for line in lines for k in range(1, len(line) - 1)]
            rows = np.array([row for row in rows if not np.any(np.isnan(row))])
            others, target = rows[:, ::2], rows[:, 1]
            left = target - others @ np.linalg.lstsq(others, target, rcond=None)[0]
            errors.append(np.sum(np.abs(left) ** 2) / np.sum(np.abs(target) ** 2))
        assert neighbour_error(seen_samples(samples), 10) == pytest.approx(min(errors))
        assert neighbour_error(seen_samples(samples), 1000) == np.inf


def test_steps_of_the_coarse_fit_solve_the_literal_least_squares_problem(rng):
    """One undamped Gauss-Newton step is that of all parameters together, two channels."""
    weights = np.where(rng.random((40, 2)) < 0.7, rng.uniform(0.5, 2.0, (40, 2)), 0.0)
    values = rng.standard_normal((40, 2)) + 1j * rng.standard_normal((40, 2))
    samples = channel_samples((40,), weights, values)
    start = Modes([0.1, 0.3], [0.01, 0.02], np.ones((2, 2)))
    fit = RateFit.of(ModalModel.of(start, (40,), real=False, undamped=False), samples)
    steps = RateSteps(1, 0.0, first_damping=0.0)
    moved = fit._moved(*fit._system(), 0.0, steps)
    rows, targets = [], []
    for c, channel in enumerate(samples):
        wave = fit.waves[c]
        amplitude_part = np.zeros((len(wave), 2, 2), dtype=complex)
        amplitude_part[:, c] = wave
        rates = channel.places[0][:, None] * wave * fit.model.amplitudes[:, c]
        rows.append(np.concatenate([rates, amplitude_part.reshape(len(wave), -1)], axis=1))
        targets.append(fit.residuals[c])
    step = np.linalg.lstsq(np.concatenate(rows), np.concatenate(targets), rcond=None)[0][:2]
    np.testing.assert_allclose(
        (moved.frequencies - fit.model.frequencies)[:, 0], step.imag / (2 * np.pi), atol=1e-10
    )
    np.testing.assert_allclose((moved.dampings - fit.model.dampings)[:, 0], -step.real, atol=1e-10)


class TestWhiteness:
    @pytest.mark.parametrize("shape", [(300,), (24, 20), (8, 9, 7)])
    @pytest.mark.parametrize("is_complex", [False, True])
    def test_white_noise_passes_and_smooth_noise_does_not(self, shape, is_complex):
        passed = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            noise = rng.standard_normal((*shape, 1))
            if is_complex:
                noise = noise + 1j * rng.standard_normal((*shape, 1))
            seen = rng.random((*shape, 1)) < 0.6
            smooth = noise + np.roll(noise, 1, axis=0)
            passed.append((is_white(noise, seen), is_white(smooth, seen)))
        white, correlated = np.mean(passed, axis=0)
        assert white >= 0.8
        assert correlated == 0

    def test_squared_correlations_are_those_of_the_definition(self, rng):
        noise = rng.standard_normal((60, 1))
        seen = rng.random((60, 1)) < 0.7
        r = np.where(seen, noise, 0.0)[:, 0] / np.sqrt(np.mean(noise[seen] ** 2))
        both = seen[:, 0]
        squares = [
            np.sum(r[:-k] * r[k:]) ** 2 / max(np.sum(both[:-k] & both[k:]), 1) for k in range(1, 21)
        ]
        chance = 2 * len(squares) * np.exp(-max(squares) / 2)  # the largest just passes
        assert is_white(noise, seen, WhitenessTest(chance=0.999 * chance, deviations=100.0))
        assert not is_white(noise, seen, WhitenessTest(chance=1.001 * chance, deviations=100.0))

    def test_correlations_count_if_they_explain_half_a_percent_of_the_variance(self, rng):
        noise, seen = rng.standard_normal((20_000, 1)), np.ones((20_000, 1), dtype=bool)
        strict = WhitenessTest(relevant=-np.inf)
        for share, is_relevant in ((2e-3, False), (1e-2, True)):
            neighbours = noise + np.sqrt(share) * np.roll(noise, 1, axis=0)
            assert not is_white(neighbours, seen, strict)
            assert is_white(neighbours, seen) == (not is_relevant)


class TestVariation:
    def test_it_is_the_variance_of_noise_and_half_of_squared_steps_of_walks(self, rng):
        noise, every = rng.standard_normal((4000, 1)), np.ones((4000, 1), dtype=bool)
        assert variation(noise, every) == pytest.approx(1, rel=0.1)
        assert variation(1e3 + np.cumsum(noise, axis=0), every) == pytest.approx(0.5, rel=0.1)
        turned = noise * np.exp(1j * np.arange(4000))[:, None]
        assert variation(turned, every) == pytest.approx(1, rel=0.1)

    def test_steps_are_from_one_seen_sample_to_the_next(self):
        samples = np.array([0.0, np.nan, 1.0, np.nan, 2.0, 3.0])[:, None]
        seen = ~np.isnan(samples)
        assert variation(np.where(seen, samples, 0.0), seen) == 0.5
        rows = np.where(seen, samples, 0.0).T[..., None]  # two axes: no steps along the first one
        assert variation(rows, seen.T[..., None]) == 0.5
        assert variation(np.ones((1, 1)), np.ones((1, 1), dtype=bool)) == 0


class TestTrust:
    def test_what_is_no_sum_of_modes_is_not_taken_for_one(self, rng):
        t = np.arange(400)
        for signal in (np.cumsum(rng.standard_normal(400)), np.cos(2e-3 * t**2)):
            found = direct_fit(hankel_problem(gaps(signal, 0.7, rng, 0.1)), Known())
            assert found is None or not found.trusted

    def test_noise_alone_is_left_to_others(self, rng):
        assert direct_fit(hankel_problem(rng.standard_normal(200)), Known()) is None

    def test_few_samples_are_enough_where_modes_leave_little(self):
        """Three tones in 60 samples, but no walk: what a slow mode explains does not count."""
        t, trusted = np.arange(100), []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            tones = np.cos(np.outer(t, [0.4, 1.1, 2.0]) + rng.uniform(0, 6, 3)).sum(axis=1)
            found = direct_fit(hankel_problem(gaps(tones, 0.6, rng, 0.2)), Known())
            trusted.append(found.trusted and found.fit.rank == 6)
            walk = np.cumsum(0.3 + rng.standard_normal(70))
            found = direct_fit(hankel_problem(gaps(walk, 0.8, rng, 0.1)), Known())
            assert found is None or not found.trusted
        assert sum(trusted) >= 4

    def test_few_samples_of_unequal_noise_are_not_enough(self):
        """Their weights would vary more than the signal."""
        rng, t = np.random.default_rng(0), np.arange(60)
        levels = 10 ** rng.uniform(-1.5, -0.5, 60)
        samples = 30 + np.cos(0.9 * t) + levels * rng.standard_normal(60)
        known = Known(sigma=0.1, weights=0.1 / levels)
        assert not direct_fit(hankel_problem(samples), known).trusted
        assert direct_fit(hankel_problem(samples), Known()).trusted

    def test_modes_that_win_in_the_end_are_held_undamped_too(self):
        """They were not trusted, so only one set of dampings had been tried at zero."""
        sample = sinusoids(
            1024, 10, seen=0.25, snr=10**0.5, real=False, separation=1.5, spread=True, rng=4
        )
        dampings = recover(sample.samples).modes.dampings
        first = direct_fit(hankel_problem(sample.samples), Known()).fit.modes.dampings
        assert np.count_nonzero(dampings) <= np.count_nonzero(first)
        assert np.count_nonzero(dampings) <= 1

    def test_dampings_near_zero_are_zero_and_others_stay(self, rng):
        modes = Modes([0.1, 0.3], [0.0, 0.03])
        noise = rng.standard_normal(200) + 1j * rng.standard_normal(200)
        fit = direct_fit(hankel_problem(modes.signal(200) + 0.05 * noise), Known()).fit
        order = np.argsort(fit.modes.frequencies[:, 0])
        dampings, errors = fit.modes.dampings[order, 0], fit.modes.stderr.dampings[order, 0]
        assert (dampings[0], errors[0]) == (0, 0)
        assert abs(dampings[1] - 0.03) < 4 * errors[1]
        damped = refit_modes(fit.problem, modes)
        assert without_idle_dampings(damped).parameters == damped.parameters - 1
        assert without_idle_dampings(fit) is fit

    @pytest.mark.parametrize("rank", [5, 10, nightly(15)])
    def test_recover_finds_many_modes_in_few_exact_samples(self, rank):
        """Uniformly random frequencies, rank unknown."""
        errors = []
        for seed in range(4):
            rng = np.random.default_rng((seed, rank))
            signal = Modes(rng.random(rank), 0.0, np.exp(2j * np.pi * rng.random(rank))).signal(127)
            count = {5: 38, 10: 51, 15: 64}[rank]
            samples = np.full(127, np.nan + 0j)
            kept = rng.permutation(127)[:count]
            samples[kept] = signal[kept]
            error = np.linalg.norm(recover(samples).signal - signal) / np.linalg.norm(signal)
            errors.append(error)
        assert np.median(errors) < 1e-8

    @pytest.mark.parametrize("seed", [4, nightly(8), nightly(10), 12])
    def test_recover_follows_other_peaks_where_nothing_explains_exact_samples(self, seed):
        """Ten undamped modes, 38 of 127 samples: one search after the largest peaks goes astray."""
        rng = np.random.default_rng((0, 10, 7))
        signal = Modes(rng.random(10), 0.0, np.exp(2j * np.pi * rng.random(10))).signal(127)
        kept = np.random.default_rng(seed).choice(127, 38, replace=False)
        samples = np.full(127, np.nan + 0j)
        samples[kept] = signal[kept]
        found = recover(samples)
        assert found.rank == 10
        np.testing.assert_allclose(found.signal, signal, atol=1e-9)

    def test_restarts_find_damped_modes_and_nothing_in_noise(self):
        damped = Modes(
            [0.11, 0.23, 0.31, 0.42],
            [0.02, 0.004, 0.01, 0.0],
            np.exp(1j * np.arange(4)),
        )
        signal, rng = damped.signal(127).real, np.random.default_rng(3)
        problem = hankel_problem(gaps(signal, 0.3, rng))
        found = modes_by_restarts(problem, np.random.default_rng(0))
        np.testing.assert_allclose(found.signal(127).real.ravel(), signal.ravel(), atol=1e-8)
        noise = hankel_problem(gaps(rng.standard_normal(40), 0.7, rng))
        assert modes_by_restarts(noise, np.random.default_rng(0)) is None
        many = hankel_problem(np.ones(2 * Restarts().numbers))
        assert modes_by_restarts(many, np.random.default_rng(0)) is None

    def test_modes_that_leave_correlated_noise_by_chance_compete(self):
        sample = sinusoids(
            1024, 10, seen=0.25, snr=10**0.5, real=False, separation=1.5, spread=True, rng=4
        )
        problem = hankel_problem(sample.samples)
        assert not direct_fit(problem, Known()).trusted
        found = recover(sample.samples)
        assert (found.kind, found.rank) == ("refit", 10)

    def test_the_convex_solution_is_computed_when_asked_for(self, rng):
        signal = np.exp(0.7j * np.arange(200))
        noise = rng.standard_normal(200) + 1j * rng.standard_normal(200)
        found = recover(signal + 0.1 * noise)
        assert "result" not in vars(found)
        assert found.result.gap <= 1e-3
        assert found.result.rank >= 1
        assert found.result is found.result


class TestExactSamples:
    """Without noise, all modes above rounding are found."""

    @pytest.mark.parametrize("decay", [2.0, 12.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_fifteen_damped_modes_in_128_samples(self, seed, decay):
        rng = np.random.default_rng(seed)
        poles = np.exp(2j * np.pi * rng.random(15) - decay / 128 * rng.random(15))
        amplitudes = (1 + rng.random(15)) * np.exp(2j * np.pi * rng.random(15))
        samples = np.power.outer(poles, np.arange(128)).T @ amplitudes
        found = recover(samples)
        assert found.rank == 15
        distances = np.abs(found.modes.poles[:, 0] - poles[:, None])
        assert np.max(np.min(distances, axis=1)) < 1e-10
        np.testing.assert_allclose(found.signal, samples, atol=1e-10)

    @pytest.mark.parametrize(
        "function", [nightly(lambda t: 1 / (1 + 0.1 * t)), lambda t: scipy.special.j0(0.2 * t)]
    )
    def test_sums_of_exponentials_for_a_function(self, function):
        """More modes than the choice of mu finds: the error falls to rounding, without errors."""
        samples = function(np.arange(100.0))
        fits = [recover(samples, rank=rank, kind="refit") for rank in (2, 6, 10, 12)]
        assert [fit.rank for fit in fits] == [2, 6, 10, 12]
        errors = [np.max(np.abs(fit.signal - samples)) for fit in fits]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 1e-11

    def test_a_function_with_gaps(self):
        samples = 1 / (1 + 0.1 * np.arange(60.0))
        gappy = np.where(np.arange(60) % 7 == 3, np.nan, samples)
        fit = recover(gappy, rank=8, kind="refit")
        assert fit.rank == 8
        np.testing.assert_allclose(fit.signal, samples, atol=1e-5)

    def test_what_rounding_hides_is_not_found(self):
        problem = hankel_problem(0.9 ** np.arange(40.0))
        assert len(pencil_modes(problem, problem.b)) == 1
        assert pencil_modes(problem, problem.b, 2) is None
        assert exact_modes(hankel_problem(np.random.default_rng(0).standard_normal(40))) is None
        gappy = np.where(np.arange(40) == 5, np.nan, 0.9 ** np.arange(40.0))
        assert exact_modes(hankel_problem(gappy)) is None


def test_modes_of_a_given_number_are_trusted_though_their_noise_has_correlations_by_chance():
    sample = sinusoids(
        (64, 64), 8, seen=0.1, snr=10**0.5, real=False, separation=1.5, spread=True, rng=11
    )
    problem = hankel_problem(sample.samples)
    assert not direct_fit(problem, Known()).trusted
    assert direct_fit(problem, Known(rank=8)).trusted


def test_a_mode_below_rounding_stays_where_it_is():
    """Its normal equations are not normal numbers, whose quotients overflow."""
    values = np.exp(2j * np.pi * 0.1 * np.arange(30))
    samples = channel_samples((30,), np.ones(30), values)
    start = Modes([0.101, 0.3], [0.0, 0.01], np.ones((2, 1)))
    fit = RateFit.of(ModalModel.of(start, (30,), real=False, undamped=False), samples)
    system, slope = np.diag([1.0, 5e-324]), np.array([1e-3j, 5e-324j])
    moved = fit._moved(system, slope, 1e-2, RateSteps(1, 0.0))
    np.testing.assert_allclose(
        moved.frequencies[:, 0], [0.101 + 1e-3 / 1.01 / (2 * np.pi), 0.3], rtol=1e-12
    )


def test_modes_that_leave_much_need_no_convex_solution(monkeypatch):
    rng, t = np.random.default_rng(0), np.arange(60)
    noise = rng.standard_normal(60)
    noise[rng.random(60) < 0.3] = np.nan

    def solve(*arguments):
        raise AssertionError("a convex solution was asked for")

    monkeypatch.setattr("structrank.signals.estimation.solve_and_refit", solve)
    assert np.all(np.isfinite(recover(5 + noise).signal))
    with pytest.raises(AssertionError, match="was asked for"):
        recover(np.exp(-0.1 * t) * np.cos(0.5 * t) + 0.1 * noise)


@pytest.mark.parametrize("kinds", [(float, float), (complex, float), (complex, complex)])
@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("twice", [False, True])
def test_coarse_fits_are_least_squares(kinds, columns, twice, rng):
    """By Cholesky's method, by eigenvalues, and literally; also with one mode twice."""
    A = random_array(rng, (30, 5), kinds[0]) * 10.0 ** np.arange(-2, 3)
    A[:, 4] = A[:, 0] if twice else A[:, 4]
    target = random_array(rng, (30, *columns), kinds[1])
    found = _solved(A.conj().T @ A, A.conj().T @ target)
    by_eigenvalues = _solved(A.conj().T @ A, A.conj().T @ target, independent=np.inf)
    np.testing.assert_allclose(found, by_eigenvalues, rtol=1e-9)
    literal = np.linalg.lstsq(A, target.astype(kinds[0]), rcond=1e-6)[0]
    np.testing.assert_allclose(A @ found, A @ literal, atol=1e-9)

"""Sums of sinusoids: drawn, recovered, and taken apart into their modes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import LIBRARIES, to_library
from scipy.optimize import linear_sum_assignment

from structrank import (
    Hankel,
    LowRank,
    ModeErrors,
    Modes,
    Problem,
    Status,
    Stop,
    Sylvester,
    Toeplitz,
    find_modes,
    gcgls,
    noise_mu,
    sinusoids,
    spectral_problem,
)
from structrank._array import to_numpy

pytestmark = pytest.mark.quick

SHAPES = [(40,), (13, 11), (7, 6, 8)]
TIGHT = Stop(xtol=None, rtol=None, gap=1e-4)


def literal_signal(modes, shape):
    """The sum as it is written, one sample and one mode at a time."""
    y = np.zeros(shape, dtype=complex)
    for k in np.ndindex(shape):
        for f, damping, a in zip(modes.frequencies, modes.dampings, modes.amplitudes, strict=True):
            y[k] += a * np.exp(np.sum((2j * np.pi * f - damping) * k))
    return y


def random_modes(rng, axes, count=4, damping=0.05, real=False):
    f, dampings = rng.random((count, axes)), damping * rng.random((count, axes))
    a = np.exp(2j * np.pi * rng.random(count)) * (1 + rng.random(count))
    if real:
        f, a = np.concatenate([f, -f]), np.concatenate([a, a.conj()])
        dampings = np.concatenate([dampings, dampings])
    return Modes(f, dampings, a)


def errors(found, true):
    """Largest errors of frequencies, dampings and amplitudes, each mode beside its nearest."""
    assert len(found) == len(true)
    apart = found.frequencies[:, None] - true.frequencies
    apart = np.abs(apart - np.round(apart)) + np.abs(found.dampings[:, None] - true.dampings)
    i, j = linear_sum_assignment(np.sum(apart, axis=-1))
    frequencies = found.frequencies[i] - true.frequencies[j]
    return (
        np.max(np.abs(frequencies - np.round(frequencies))),
        np.max(np.abs(found.dampings[i] - true.dampings[j])),
        np.max(np.abs(found.amplitudes[i] - true.amplitudes[j])),
    )


def exact_result(modes, structure, real=False):
    """What a solver would return that finds the structured matrix of complete data exactly."""
    y = modes.signal(structure.signal_shape)
    y = y.real if real else y
    U, s, Vh = np.linalg.svd(structure.to_dense(y), full_matrices=False)
    r = len(modes)
    X = LowRank(U[:, :r] * s[:r], Vh[:r].conj().T)
    return replace(gcgls(Problem(structure, y, mu=1e6), lam=1.0), X=X, y=y, rank=r)


class TestModes:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_signal_is_the_sum(self, shape, rng):
        modes = random_modes(rng, len(shape))
        expected = literal_signal(modes, shape)
        np.testing.assert_allclose(modes.signal(shape), expected, rtol=0, atol=1e-12)

    def test_largest_amplitude_first(self):
        modes = Modes([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [1.0, -3.0, 2j])
        np.testing.assert_array_equal(modes.amplitudes, [-3.0, 2j, 1.0])
        np.testing.assert_allclose(modes.frequencies, [[0.2], [0.3], [0.1]])
        np.testing.assert_array_equal(modes.dampings, [[2.0], [3.0], [1.0]])

    def test_rounding_keeps_pairs_together(self):
        modes = Modes([0.1, -0.1, 0.2, -0.2], amplitudes=[1, 1 - 1e-15, 1 + 1e-15, 1])
        np.testing.assert_allclose(modes.frequencies[:, 0], [0.1, -0.1, 0.2, -0.2])

    def test_whole_cycles_are_taken_off(self):
        nearly = np.nextafter(0.5, 0)
        modes = Modes([0.75, 0.5, -0.5, 1.5, 3.0, nearly, -7.25])
        expected = [[-0.25], [-0.5], [-0.5], [-0.5], [0.0], [nearly], [-0.25]]
        np.testing.assert_array_equal(modes.frequencies, expected)

    def test_numbers_serve_all_modes(self):
        modes = Modes([[0.1, 0.2], [0.3, 0.4]], 0.5, 2.0)
        np.testing.assert_array_equal(modes.dampings, np.full((2, 2), 0.5))
        np.testing.assert_array_equal(modes.amplitudes, [2, 2])

    @pytest.mark.parametrize("chosen", [1, slice(1, None), [2, 0], np.array([True, False, True])])
    def test_some_of_them(self, chosen, rng):
        table = [rng.random((3, 1)), rng.random((3, 1)), rng.random(3), rng.random(3)]
        modes = Modes([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0], ModeErrors(*table))
        which = np.sort(np.atleast_1d(np.arange(3)[chosen]))  # the largest stays first
        some = modes[chosen]
        np.testing.assert_array_equal(some.frequencies, modes.frequencies[which])
        np.testing.assert_array_equal(some.dampings, modes.dampings[which])
        np.testing.assert_array_equal(some.amplitudes, modes.amplitudes[which])
        np.testing.assert_array_equal(some.stderr.phases, table[3][which])
        np.testing.assert_array_equal(some.stderr.frequencies, table[0][which])

    def test_no_modes_make_no_signal(self):
        modes = Modes(np.empty((0, 2)))
        assert len(modes) == 0
        np.testing.assert_array_equal(modes.signal((3, 4)), np.zeros((3, 4)))

    def test_table(self):
        modes = Modes([[0.1, -0.2], [0.3, 0.4]], amplitudes=[1j, 2.0])
        assert repr(modes).splitlines() == [
            "Modes",
            "   amplitude       phase               frequency                 damping",
            "           2           0         0.3         0.4           0           0",
            "           1      1.5708         0.1        -0.2           0           0",
        ]
        many = repr(Modes(np.linspace(0, 0.4, 25))).splitlines()
        assert len(many) == 23
        assert many[-1] == "  and 5 more"

    def test_errors(self):
        with pytest.raises(ValueError, match=r"frequencies have shape \(\), but \(r, d\)"):
            Modes(0.1)
        with pytest.raises(ValueError, match=r"dampings have shape \(3, 1\).*\(2, 1\) is expected"):
            Modes([0.1, 0.2], [0.0, 0.0, 0.0])
        with pytest.raises(ValueError, match=r"amplitudes have shape \(3,\).*\(2,\) is expected"):
            Modes([0.1, 0.2], amplitudes=[1, 2, 3])
        for bad in ([np.nan], 0.0), ([0.1], np.inf):
            with pytest.raises(ValueError, match="NaN or inf"):
                Modes(*bad)
        with pytest.raises(ValueError, match=r"shape \(5, 5\) has 2 axes, but the modes have 1"):
            Modes([0.1]).signal((5, 5))


class TestSinusoids:
    @pytest.mark.parametrize("real", [True, False])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_what_is_drawn(self, shape, real):
        s = sinusoids(shape, 3, seen=0.3, snr=5.0, real=real, damping=0.02, rng=4)
        assert s.truth.shape == s.samples.shape == s.seen.shape == shape
        assert s.truth.dtype == s.samples.dtype == (np.float64 if real else np.complex128)
        assert np.count_nonzero(s.seen) == round(0.3 * s.truth.size)
        np.testing.assert_array_equal(np.isnan(s.samples), ~s.seen)
        assert np.linalg.norm(s.truth) / np.sqrt(s.truth.size) / s.noise == pytest.approx(5.0)
        assert len(s.modes) == (6 if real else 3)
        assert np.all((s.modes.dampings >= 0) & (s.modes.dampings <= 0.02))
        np.testing.assert_allclose(np.abs(s.modes.amplitudes), 0.5 if real else 1.0)
        np.testing.assert_allclose(s.modes.signal(shape), s.truth, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("real", [True, False])
    def test_noise_has_the_stated_deviation(self, real):
        s = sinusoids((150, 150), 4, seen=1.0, snr=4.0, real=real)
        noise = s.samples - s.truth
        assert np.sqrt(np.mean(np.abs(noise) ** 2)) == pytest.approx(s.noise, rel=0.02)
        if not real:  # circular
            assert np.std(noise.real) == pytest.approx(np.std(noise.imag), rel=0.03)
            assert abs(np.mean(noise**2)) < 0.03 * s.noise**2

    def test_gaps_are_gaps_in_both_parts(self):
        s = sinusoids(30, 2, real=False)
        assert np.all(np.isnan(s.samples[~s.seen].real) & np.isnan(s.samples[~s.seen].imag))

    @pytest.mark.parametrize("snr", [None, np.inf])
    def test_no_noise(self, snr):
        s = sinusoids(30, 2, snr=snr)
        assert s.noise == 0
        np.testing.assert_array_equal(s.samples[s.seen], s.truth[s.seen])

    @pytest.mark.parametrize("real", [True, False])
    def test_on_grid(self, real):
        s = sinusoids((6, 5), 14, real=real, on_grid=True)
        bins = s.modes.frequencies * [6, 5]
        np.testing.assert_allclose(bins, np.round(bins), atol=1e-12)
        sites = {tuple(site) for site in np.round(bins).astype(int) % [6, 5]}
        assert len(sites) == len(s.modes)
        spectrum = np.fft.fftn(s.truth)
        assert np.count_nonzero(np.abs(spectrum) > 1e-9) == len(s.modes)

    def test_seed(self):
        one, same, other = (sinusoids((9, 9), 2, rng=seed) for seed in (3, 3, 4))
        np.testing.assert_array_equal(one.samples, same.samples)
        assert not np.allclose(one.truth, other.truth)

    def test_repr(self):
        assert repr(sinusoids(50, 2, real=False, snr=None)) == (
            "SpectralSample(10 of 50 samples seen of a complex signal (50,), 2 modes, noise 0)"
        )

    def test_errors(self):
        for share in (0, -0.1, 1.1, np.nan):
            with pytest.raises(ValueError, match="seen is .*, but a share above 0 and at most 1"):
                sinusoids(20, 2, seen=share)
        for snr in (0, -1.0, np.nan):
            with pytest.raises(ValueError, match="snr is .*, but a number above 0"):
                sinusoids(20, 2, snr=snr)
        for damping in (-0.1, np.inf, np.nan):
            with pytest.raises(ValueError, match="damping is .*, but a finite number of at least"):
                sinusoids(20, 2, damping=damping)
        with pytest.raises(ValueError, match="count is 0, but a positive integer"):
            sinusoids(20, 0)
        with pytest.raises(ValueError, match="shape is -3, but a positive integer"):
            sinusoids((20, -3), 1)
        with pytest.raises(ValueError, match=r"count is 4, but a grid \(8,\) has only 3 distinct"):
            sinusoids(8, 4, on_grid=True)


class TestProblem:
    def test_gaps_become_a_mask(self):
        s = sinusoids((9, 8), 2, seen=0.5)
        problem = spectral_problem(s.samples, (4, 3), 0.1)
        assert problem.structure == Hankel((9, 8), window=(4, 3))
        np.testing.assert_array_equal(problem.measure.weights, s.seen)

    @pytest.mark.parametrize("real", [True, False])
    def test_weights(self, real):
        s = sinusoids(20, 2, seen=0.5, real=real)
        lifted = spectral_problem(s.samples, 7, 0.1, weights="lifted")
        expected = np.sqrt(Hankel(20, window=7).multiplicity) * s.seen
        np.testing.assert_allclose(lifted.measure.weights, expected)
        own = spectral_problem(s.samples, 7, 0.1, weights=np.arange(20.0))
        np.testing.assert_array_equal(own.measure.weights, np.arange(20.0) * s.seen)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_any_library(self, library):
        s = sinusoids(20, 2, seen=0.5)
        problem = spectral_problem(to_library(s.samples, library), 7, 0.1)
        np.testing.assert_array_equal(to_numpy(problem.measure.weights), s.seen)

    def test_errors(self):
        with pytest.raises(ValueError, match="all samples are missing"):
            spectral_problem(np.full(9, np.nan), 4, 0.1)
        with pytest.raises(TypeError, match="b has dtype int"):
            spectral_problem(np.arange(9), 4, 0.1)
        with pytest.raises(ValueError, match="window"):
            spectral_problem(np.ones((9, 9)), 4, 0.1)


class TestNoiseMu:
    @pytest.mark.parametrize("weights", [None, "lifted"])
    @pytest.mark.parametrize("real", [True, False])
    def test_is_the_norm_of_the_gradient_of_noise(self, real, weights):
        S, seen = Hankel((7, 6), window=(3, 4)), np.random.default_rng(0).random((7, 6)) < 0.6
        rng, norms = np.random.default_rng(5), []
        for _ in range(2):
            z = rng.standard_normal((7, 6))
            if not real:
                z = (z + 1j * rng.standard_normal((7, 6))) / np.sqrt(2)
            share = seen / S.multiplicity if weights is None else seen
            norms.append(np.linalg.norm(S.to_dense(share * z), 2))
        samples = np.where(seen, 0.0 if real else 0j, np.nan)
        problem = spectral_problem(samples, (3, 4), 1.0, weights=weights)
        mu = noise_mu(problem, 0.3, draws=2, margin=1.2, rng=5)
        assert mu == pytest.approx(1.2 * 0.3 * max(norms), rel=1e-6)

    def test_fresh_noise_is_removed(self):
        seen = np.arange(120) % 3 > 0
        noise = 0.2 * np.random.default_rng(9).standard_normal(120)
        problem = spectral_problem(np.where(seen, noise, np.nan), 60, 1.0, weights="lifted")
        problem = replace(problem, mu=noise_mu(problem, 0.2, margin=1.3))
        assert gcgls(problem, lam=1.0).rank == 0

    def test_errors(self):
        problem = spectral_problem(np.ones(9), 4, 1.0)
        with pytest.raises(ValueError, match="sigma is 0, but a finite number above zero"):
            noise_mu(problem, 0)
        with pytest.raises(ValueError, match="margin is -1, but a finite number above zero"):
            noise_mu(problem, 1.0, margin=-1)
        with pytest.raises(ValueError, match="draws is 0, but a positive integer"):
            noise_mu(problem, 1.0, draws=0)
        with pytest.raises(TypeError, match="problem is Hankel, but a Problem"):
            noise_mu(Hankel(9, window=4), 1.0)


class TestFindModes:
    @pytest.mark.parametrize("real", [True, False])
    @pytest.mark.parametrize("damping", [0.0, 0.05])
    @pytest.mark.parametrize(
        "structure",
        [
            Hankel(60, window=30),
            Hankel(60, window=20),
            Toeplitz(60, window=35),
            Hankel((16, 14), window=(8, 6)),
            Toeplitz((16, 14), window=(8, 6)),
            Hankel((8, 9, 7), window=(4, 5, 3)),
        ],
        ids=repr,
    )
    def test_exact_on_complete_data(self, structure, damping, real, rng):
        modes = random_modes(rng, len(structure.lengths), damping=damping, real=real)
        found = find_modes(exact_result(modes, structure, real))
        assert max(errors(found, modes)) < 1e-8
        sizes = np.abs(found.amplitudes)
        assert np.all(sizes[1:] <= sizes[:-1] * (1 + 1e-8))
        if real:  # pairs side by side
            np.testing.assert_allclose(found.amplitudes[1::2], found.amplitudes[::2].conj())

    def test_shared_frequencies(self):
        """Modes that share a frequency along one axis are distinguished and put together right."""
        corners = [[0.1, 0.2], [0.1, -0.3], [0.4, 0.2], [0.4, -0.3], [-0.2, 0.05]]
        modes = Modes(corners, amplitudes=[1, 2, 3j, 4, 5])
        found = find_modes(exact_result(modes, Hankel((15, 14), window=(7, 8))))
        assert max(errors(found, modes)) < 1e-8

    def test_growth_and_immediate_decay(self):
        growing = Modes([0.1, 0.3], [-0.4, 0.1])
        assert max(errors(find_modes(exact_result(growing, Hankel(50, 25))), growing)) < 1e-6
        impulse = replace(
            exact_result(Modes([0.1]), Hankel(9, 4)),
            X=LowRank(np.eye(4)[:, :1], np.eye(6)[:, :1]),
            problem=Problem(Hankel(9, 4), np.eye(9)[0], 1.0),
        )
        np.testing.assert_allclose(find_modes(impulse).signal(9), np.eye(9)[0], atol=1e-12)

    def test_modes_that_coincide(self):
        """A straight line is a double mode at frequency zero, good to half of the digits."""
        line = np.arange(30.0)
        U, s, Vh = np.linalg.svd(Hankel(30, window=15).to_dense(line))
        result = replace(
            exact_result(Modes([0.0]), Hankel(30, window=15), real=True),
            X=LowRank(U[:, :2] * s[:2], Vh[:2].T),
            problem=Problem(Hankel(30, window=15), line, 1.0),
        )
        np.testing.assert_allclose(find_modes(result).signal(30), line, atol=1e-5)

    def test_solver_on_complete_data(self):
        """With lifted weights and lam=1 the nuclear norm shrinks, but turns no singular vector."""
        modes = Modes([0.11, 0.27, -0.4], [0.01, 0.0, 0.02], [3.0, 2j, 1.0])
        problem = spectral_problem(modes.signal(80), 40, mu=1.0, weights="lifted")
        result = gcgls(problem, lam=1.0, stop=Stop(xtol=None, rtol=None, gap=1e-9))
        frequency, damping, amplitude = errors(find_modes(result), modes)
        assert max(frequency, damping) < 1e-5
        assert amplitude < 1e-3
        assert np.linalg.norm(result.y - modes.signal(80)) > 0.1

    @pytest.mark.parametrize("weights", [None, "lifted"])
    def test_from_half_of_the_samples(self, weights):
        modes = Modes([0.07, 0.18, -0.31], [0.0, 0.002, 0.001], [2.0, 1.5j, -1.0])
        rng = np.random.default_rng(1)
        seen = rng.random(200) < 0.5
        noise = 0.02 * (rng.standard_normal(200) + 1j * rng.standard_normal(200)) / np.sqrt(2)
        samples = np.where(seen, modes.signal(200) + noise, np.nan)
        problem = spectral_problem(samples, 100, 1.0, weights=weights)
        problem = replace(problem, mu=noise_mu(problem, 0.02, margin=1.5))
        result = gcgls(problem, lam=1.0 if weights == "lifted" else 0.01, stop=TIGHT)
        assert result.status is Status.SOLVED
        frequency, damping, amplitude = errors(find_modes(result, rank=3), modes)
        assert frequency < 2e-5
        assert damping < 1e-4
        assert amplitude < 2e-2

    def test_rank_takes_the_leading_directions(self):
        modes = Modes([0.1, 0.3], amplitudes=[1.0, 1e-7])
        result = exact_result(modes, Hankel(60, window=30))
        found = find_modes(result, rank=1)
        assert max(errors(found, Modes([0.1]))) < 1e-6

    def test_amplitudes_fit_the_samples_or_behind_an_operator_the_signal(self):
        modes = Modes([0.1, 0.3], amplitudes=[2.0, 1.0])
        result = exact_result(modes, Hankel(40, window=20))
        shrunk = replace(result, y=result.y / 2)
        assert errors(find_modes(shrunk), modes)[2] < 1e-8
        twice = (lambda y: 2 * y, lambda d: 2 * d)
        problem = Problem(Hankel(40, window=20), 2 * result.y, 1.0, twice)
        found = find_modes(replace(shrunk, problem=problem))
        np.testing.assert_allclose(np.abs(found.amplitudes), [1.0, 0.5])

    @pytest.mark.parametrize("library", LIBRARIES)
    @pytest.mark.parametrize("dtype", ["complex64", "float64"])
    def test_any_library(self, library, dtype):
        y = Modes([0.1, -0.1]).signal(40)
        y = (y if dtype == "complex64" else y.real).astype(dtype)
        problem = spectral_problem(to_library(y, library), 20, mu=0.1, weights="lifted")
        found = find_modes(gcgls(problem, lam=1.0))
        assert max(errors(found, Modes([0.1, -0.1]))) < 1e-3

    def test_bad_structures(self):
        with pytest.raises(TypeError, match="result is list, but a Result is expected"):
            find_modes([])
        good = exact_result(Modes([0.1]), Hankel(20, window=10))
        for structure in (Hankel(20, window=10, block=(2, 2)), Sylvester((4, 3))):
            problem = Problem(structure, np.ones(structure.signal_shape), 1.0)
            with pytest.raises(TypeError, match="Hankel or Toeplitz structure without blocks"):
                find_modes(replace(good, problem=problem))
        for window in ((4, 1), (9, 4)):
            problem = Problem(Hankel((9, 9), window), np.ones((9, 9)), 1.0)
            with pytest.raises(ValueError, match="windows of length 2 or more along every axis"):
                find_modes(replace(good, problem=problem))

    def test_bad_ranks(self):
        structure = Hankel((9, 9), window=(4, 3))
        zero = gcgls(Problem(structure, np.ones((9, 9)), mu=1e6), lam=1.0)
        with pytest.raises(ValueError, match="is zero and has no modes: solve with a smaller mu"):
            find_modes(zero)
        two = exact_result(Modes([[0.1, 0.2], [0.3, 0.4]]), structure)
        with pytest.raises(ValueError, match="rank is 3, but the recovered matrix has rank 2"):
            find_modes(two, rank=3)
        with pytest.raises(ValueError, match="rank is 0, but a positive integer"):
            find_modes(two, rank=0)
        full = replace(zero, X=LowRank(np.eye(12), np.eye(42)[:, :12]))
        with pytest.raises(ValueError, match=r"rank is 12, .*\(4, 3\) distinguish at most 8 modes"):
            find_modes(full)
        assert len(find_modes(full, rank=8)) == 8

    def test_growth_out_of_range(self):
        result = exact_result(Modes([0.1]), Hankel(400, window=200))
        U = np.exp(np.arange(200.0))[:, None] / np.exp(199.0)
        with pytest.raises(ValueError, match=r"grows by a factor of exp\(399\) over the signal"):
            find_modes(replace(result, X=LowRank(U + 0j, result.X.V)))

"""From outputs to covariances to a state-space model, against loops, sums and exact systems."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import LIBRARIES, random_array, to_library

from structrank import (
    ConvergenceWarning,
    Hankel,
    NotPositiveReal,
    StateSpace,
    Stop,
    empirical_covariances,
    gcgls,
    mu_max,
    random_system,
    realization_problem,
    realize,
    realize_outputs,
    sampling_noise_mu,
)
from structrank._array import to_numpy
from structrank.solvers.conditional_gradient import gcgls_states
from structrank.solvers.driver import iterate
from structrank.systems import realization
from structrank.systems.outputs import OutputRealization
from structrank.systems.realization import RealizationRules
from structrank.systems.simulation import white as white_noise


def adjoint(M):
    return M.conj().T


def driven_by_noise(A, K, C, G):
    return StateSpace(A, None, C, None, K=K, innovation_covariance=G)


def complex_system(seed=0, outputs=3, order=4):
    rng = np.random.default_rng(seed)
    A, K, C = (
        random_array(rng, shape, "complex128")
        for shape in ((order, order), (order, outputs), (outputs, order))
    )
    root = random_array(rng, (outputs, outputs), "complex128")
    A *= 0.9 / np.max(np.abs(np.linalg.eigvals(A)))
    return driven_by_noise(A, K, C, root @ adjoint(root))


def real_system(seed=0, outputs=4, order=3):
    return random_system(outputs, order, normalization="spectral", spectral_radius=0.9, rng=seed)


SYSTEMS = {"real": real_system(), "complex": complex_system(), "one output": real_system(1, 1, 2)}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]


def simulated_literally(system, steps, seed):
    """The recursion as printed, with the draws of `simulate`."""
    rng = np.random.default_rng(seed)
    s = white_noise(system, rng, system.order)
    values, vectors = np.linalg.eigh(system.innovation_covariance)
    e = white_noise(system, rng, steps, system.output_count) @ (vectors * np.sqrt(values)).T
    z = np.empty_like(e)
    for t in range(steps):
        z[t] = system.C @ s + e[t]
        s = system.A @ s + system.K @ e[t]
    return z


def distance(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


class TestSystemsDrivenByNoise:
    def test_covariances_equal_the_sum_over_the_past(self, system):
        """z_t is the sum of H_k e_{t-k}, so lag i is the sum of H_{k+i} G H_k^H."""
        A, K, C, G = system.A, system.K, system.C, system.innovation_covariance
        H = [np.eye(len(G))] + [C @ np.linalg.matrix_power(A, k) @ K for k in range(400)]
        expected = [sum(H[k + i] @ G @ adjoint(H[k]) for k in range(len(H) - i)) for i in range(6)]
        np.testing.assert_allclose(system.covariances(5), expected, rtol=1e-10, atol=1e-10)

    def test_covariances_are_those_of_a_long_record(self, system):
        v = empirical_covariances(system.simulate(steps=200_000, rng=3), 5)
        assert distance(v, system.covariances(5)) < 0.03

    @pytest.mark.parametrize("steps", [1, 2, 7, 64, 300])
    def test_simulation_equals_the_recursion(self, system, steps):
        np.testing.assert_allclose(
            system.simulate(steps=steps, rng=2), simulated_literally(system, steps, 2), atol=1e-11
        )

    def test_simulation_of_slow_and_of_growing_systems(self):
        for radius in (0.9999, 1.0, 1.01):
            system = random_system(2, 3, spectral_radius=radius, rng=4)
            z = simulated_literally(system, 2000, 2)
            np.testing.assert_allclose(system.simulate(steps=2000, rng=2), z, rtol=1e-8, atol=1e-8)

    def test_initial_state(self):
        system = real_system()
        silent = driven_by_noise(system.A, system.K, system.C, np.zeros((4, 4)))
        start = np.array([1.0, -2.0, 3.0])
        expected = [system.C @ np.linalg.matrix_power(system.A, t) @ start for t in range(5)]
        np.testing.assert_allclose(silent.simulate(steps=5, initial=start), expected, atol=1e-14)

    def test_measurement_noise(self):
        system = real_system()
        z = system.simulate(steps=100_000, rng=1)
        noise = system.simulate(steps=100_000, rng=1, noise=0.5) - z
        np.testing.assert_allclose(noise.T @ noise / 100_000, 0.25 * np.eye(4), atol=0.01)

    def test_seed_decides(self):
        system = real_system()
        assert np.array_equal(system.simulate(steps=9, rng=1), system.simulate(steps=9, rng=1))
        assert not np.array_equal(system.simulate(steps=9, rng=1), system.simulate(steps=9, rng=2))

    def test_what_is_known_of_a_system(self):
        system = driven_by_noise([[0, 1], [-0.25, 0]], np.ones((2, 1)), np.ones((1, 2)), [[1]])
        assert (system.order, system.output_count, system.stable) == (2, 1, True)
        np.testing.assert_allclose(np.sort_complex(system.poles), [-0.5j, 0.5j])
        assert repr(system) == "StateSpace(order 2, 1 output, spectral radius 0.5)"
        assert not random_system(2, 3, spectral_radius=1.5).stable

    @pytest.mark.parametrize("name", ["real", "one output"])  # SciPy simulates these only
    def test_impulse_response_of_scipy(self, name):
        system = SYSTEMS[name]
        later = [system.C @ np.linalg.matrix_power(system.A, k) @ system.K for k in range(7)]
        expected = np.stack([np.eye(system.output_count), *later])
        for column, got in enumerate(system.to_scipy().impulse(n=8)[1]):
            np.testing.assert_allclose(got, expected[:, :, column], atol=1e-12)

    def test_matrices_of_scipy(self, system):
        converted = system.to_scipy()
        for got, expected in (
            (converted.A, system.A),
            (converted.B, system.K),
            (converted.C, system.C),
            (converted.D, np.eye(system.output_count)),
        ):
            np.testing.assert_array_equal(got, expected)
        assert converted.dt == 1

    def test_frequency_response_of_control(self):
        pytest.importorskip("control", reason="the package control is an optional dependency")
        system = real_system()
        converted = system.to_control()
        assert converted.isdtime(strict=True)
        w = 0.7
        expected = np.eye(4) + system.C @ np.linalg.solve(
            np.exp(1j * w) * np.eye(3) - system.A, system.K
        )
        np.testing.assert_allclose(converted(np.exp(1j * w)), expected, atol=1e-12)

    def test_complex_system_for_control(self):
        pytest.importorskip("control", reason="the package control is an optional dependency")
        with pytest.raises(TypeError, match=r"complex, but control expects a real one: use to_sci"):
            complex_system().to_control()

    def test_without_control(self, monkeypatch):
        true_import = builtins.__import__

        def without(name, *args, **kwargs):
            if name == "control":
                raise ImportError(name)
            return true_import(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r'pip install "structrank\[control\]"'):
            real_system().to_control()


class TestImports:
    def test_scipy_signal_is_loaded_by_to_scipy_alone(self):
        code = (
            "import sys, structrank as s; s.recover; model = s.random_system(1, 1); "
            "assert 'scipy.signal' not in sys.modules; model.to_scipy(); "
            "assert 'scipy.signal' in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


def matrices(**others):
    usual = {"A": np.eye(3) / 2, "B": None, "C": np.ones((2, 3)), "D": None}
    noise = {"K": np.ones((3, 2)), "innovation_covariance": np.eye(2)}
    return {**usual, **noise, **others}


class TestErrorsOfModels:
    @pytest.mark.parametrize(
        ("name", "bad", "says"),
        [
            ("A", np.ones((3, 2)), r"A has shape \(3, 2\), but \(3, 3\) is expected"),
            ("K", np.ones((2, 3)), r"K has shape \(2, 3\), but \(3, 2\) is expected .* 3 states"),
            ("C", np.ones((2, 4)), r"C has shape \(2, 4\), but \(2, 3\)"),
            (
                "innovation_covariance",
                np.eye(3),
                r"innovation_covariance has shape \(3, 3\), but \(2, 2\) is .* 2 outputs",
            ),
            ("A", np.ones(3), r"A has shape \(3,\), but a matrix .* is expected"),
            ("C", np.ones((0, 3)), r"C has shape \(0, 3\), but a matrix .* is expected"),
            ("K", np.full((3, 2), np.nan), "K contains NaN or inf"),
            ("innovation_covariance", np.array([[1.0, 0.5], [0.0, 1.0]]), "is not Hermitian"),
            (
                "innovation_covariance",
                np.diag([1.0, -2.0]),
                "innovation_covariance has the eigenvalue -2, but a covariance matrix",
            ),
            ("innovation_covariance", None, "K is given, but innovation_covariance is not"),
        ],
    )
    def test_matrices(self, name, bad, says):
        with pytest.raises(ValueError, match=says):
            StateSpace(**matrices(**{name: bad}))

    def test_matrices_of_another_type(self):
        with pytest.raises(TypeError, match="A has dtype <U1, but real or complex numbers"):
            StateSpace(**matrices(A=[["a"]]))

    def test_changing_a_matrix_afterwards_does_not_change_the_model(self):
        A = np.eye(3) / 2
        model = StateSpace(**matrices(A=A))
        A *= 2
        assert model.stable
        with pytest.raises(ValueError, match="read-only"):
            model.A[0, 0] = 2.0

    def test_covariances_of_an_unstable_system(self):
        with pytest.raises(ValueError, match=r"spectral radius of A is 1.2, but only a stable"):
            random_system(2, 3, spectral_radius=1.2).covariances(4)

    @pytest.mark.parametrize("lags", [-1, 1.5, True, "3"])
    def test_lags(self, lags):
        with pytest.raises(ValueError, match=r"lags is .* an integer of at least 0 is expected"):
            real_system().covariances(lags)
        with pytest.raises(ValueError, match=r"lags is .* an integer of at least 0 is expected"):
            empirical_covariances(np.ones((9, 1)), lags)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"steps": 0}, "steps is 0, but a positive integer"),
            ({"steps": 5, "noise": -1.0}, "noise is -1.0, but a finite number of at least zero"),
            ({"steps": 5, "initial": np.ones(2)}, r"initial has shape \(2,\), but \(3,\)"),
            ({"steps": 5, "initial": np.full(3, np.nan)}, "finite numbers are expected"),
            ({"inputs": np.ones(5)}, r"the system has none: .* simulate\(steps=1000\)"),
            ({}, "steps is None, but a positive integer"),
        ],
    )
    def test_simulation(self, options, says):
        with pytest.raises(ValueError, match=says):
            real_system().simulate(**options)

    def test_simulation_that_overflows(self):
        with pytest.raises(
            ValueError, match=r"spectral radius of the system is 2, so ask for fewer than 5000"
        ):
            random_system(2, 3, spectral_radius=2.0).simulate(steps=5000)


class TestRandomSystem:
    @pytest.mark.parametrize(("normalization", "norm"), [("nuclear", "nuc"), ("spectral", 2)])
    def test_norms(self, normalization, norm):
        system = random_system(5, 4, normalization=normalization)
        for M in (system.A, system.K, system.C):
            assert np.linalg.norm(M, norm) == pytest.approx(1.0)
        np.testing.assert_array_equal(system.innovation_covariance, np.eye(5))

    def test_defaults_are_those_of_the_paper(self):
        system = random_system(20)
        assert (system.order, system.output_count) == (10, 20)
        assert np.linalg.norm(system.A, "nuc") == pytest.approx(1.0)

    def test_spectral_radius(self):
        free, scaled = (random_system(5, 4, spectral_radius=radius) for radius in (None, 0.95))
        assert np.max(np.abs(scaled.poles)) == pytest.approx(0.95)
        ratio = scaled.A / free.A
        np.testing.assert_allclose(ratio, ratio[0, 0])
        np.testing.assert_array_equal(scaled.K, free.K)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"outputs": 0}, "outputs is 0, but a positive integer"),
            ({"outputs": 3, "order": 1.5}, "order is 1.5, but a positive integer"),
            ({"outputs": 3, "normalization": "max"}, "is 'max', but 'nuclear' or 'spectral'"),
            ({"outputs": 3, "spectral_radius": 0}, "spectral_radius is 0, but a finite number"),
        ],
    )
    def test_errors(self, options, says):
        with pytest.raises(ValueError, match=says):
            random_system(**options)


def alternating():
    """Two outputs, of which one is seen at even times, the other one at odd times."""
    z = np.ones((9, 2))
    z[::2, 0] = z[1::2, 1] = np.nan
    return z


class TestEmpiricalCovariances:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_equal_the_loop(self, rng, dtype):
        z = random_array(rng, (11, 3), dtype)
        expected = np.zeros((11, 3, 3), dtype=dtype)
        for i in range(11):
            for t in range(11 - i):
                expected[i] += np.outer(z[t + i], z[t].conj()) / 11
        np.testing.assert_allclose(empirical_covariances(z, 10), expected, atol=1e-14)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_gaps_are_left_out_of_the_mean(self, rng, dtype):
        z = random_array(rng, (40, 2), dtype)
        z[rng.random(z.shape) < 0.3] = np.nan
        expected = np.zeros((6, 2, 2), dtype=dtype)
        for i, a, b in np.ndindex(6, 2, 2):
            products = [z[t + i, a] * np.conj(z[t, b]) for t in range(40 - i)]
            expected[i, a, b] = np.nanmean(products) * (40 - i) / 40
        np.testing.assert_allclose(empirical_covariances(z, 5), expected, atol=1e-14)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_gaps_in_array_libraries(self, rng, library):
        z = random_array(rng, (50, 2), "complex64")
        z[rng.random(z.shape) < 0.3] = np.nan
        got = empirical_covariances(to_library(z, library), 4)
        assert to_numpy(got).dtype == z.dtype
        np.testing.assert_allclose(to_numpy(got), empirical_covariances(z, 4), atol=1e-6)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries_and_precision(self, rng, library):
        z = random_array(rng, (50, 2), "complex64")
        got = empirical_covariances(to_library(z, library), 4)
        assert type(got) is type(to_library(z, library))
        assert to_numpy(got).dtype == z.dtype
        np.testing.assert_allclose(to_numpy(got), empirical_covariances(z, 4), atol=1e-6)

    @pytest.mark.parametrize(
        ("outputs", "lags", "error", "says"),
        [
            (np.ones(9), 2, ValueError, r"shape \(9,\), but \(T, n\) .* pass outputs\[:, None\]"),
            (np.ones((9, 1), dtype=int), 2, TypeError, r"int64, .* floating .* astype\(float\)"),
            (np.full((9, 1), np.inf), 2, ValueError, "outputs contains inf, .* NaN where missing"),
            (np.full((9, 1), np.nan), 2, ValueError, "output 0 is all NaN: remove it"),
            (alternating(), 1, ValueError, "outputs 0 and 1 have no samples 0 steps apart"),
            (
                alternating()[:, :1],
                2,
                ValueError,
                "output 0 has no two samples 1 steps apart: use few",
            ),
            (alternating(), 2, ValueError, "outputs 0 and 1 have no samples 0 steps apart"),
            (np.ones((9, 1)), 9, ValueError, "9 lags need more than 9 time steps, .* there are 9"),
        ],
    )
    def test_errors(self, outputs, lags, error, says):
        with pytest.raises(error, match=says):
            empirical_covariances(outputs, lags)


class TestRealizationProblem:
    def test_structure_data_and_mask_are_those_of_the_paper(self):
        v = real_system().covariances(30)
        problem = realization_problem(v, rows=5, columns=20, mu=0.1)
        assert problem.structure == Hankel((24,), window=5, block=(4, 4))
        assert problem.structure.shape == (5 * 4, 20 * 4)
        np.testing.assert_array_equal(problem.b[:20], v[1:21])
        weights = problem.measure.weights
        assert np.all(weights[:20] == 1)
        assert np.all(weights[20:] == 0)
        assert problem.mu == 0.1

    def test_lifted_weights(self):
        v = real_system().covariances(20)
        problem = realization_problem(v, 5, 20, 0.1, weights="lifted")
        expected = np.sqrt(problem.structure.multiplicity)
        expected[20:] = 0
        np.testing.assert_allclose(problem.measure.weights, expected)

    def test_rank_of_exact_covariances_is_the_order(self):
        """The orientation: with y_i = C A^{i-1} Gbar the Hankel matrix has rank r."""
        v = real_system().covariances(24)
        problem = realization_problem(v, 5, 24, 0.1)
        dense = Hankel((24,), window=5, block=(4, 4)).to_dense(problem.b[:24])
        assert np.linalg.matrix_rank(dense) == 3

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries(self, library):
        v = to_library(real_system().covariances(20).astype("float32"), library)
        for rows in (1, 5):
            problem = realization_problem(v, rows, 20, 0.1)
            assert type(problem.b) is type(v)
            assert problem.b.dtype == v.dtype

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"columns": 21}, "have 20 lags after lag 0, but columns=21 lags are expected"),
            ({"rows": 0}, "rows is 0, but a positive integer"),
            ({"columns": 0}, "columns is 0, but a positive integer"),
            ({"mu": 0}, "mu is 0"),
            ({"weights": "heavy"}, "weights is 'heavy', but None or 'lifted' is expected"),
            ({"weights": np.ones(2)}, "but None or 'lifted' is expected"),
            ({"covariances": np.ones((5, 2, 3))}, r"shape \(5, 2, 3\), but \(lags \+ 1, n, n\)"),
            ({"covariances": np.ones((1, 2, 2))}, "at least one lag after lag 0"),
        ],
    )
    def test_errors(self, options, says):
        usual = {"covariances": real_system().covariances(20), "rows": 5, "columns": 20, "mu": 1.0}
        with pytest.raises(ValueError, match=says):
            realization_problem(**{**usual, **options})


class TestSamplingNoiseMu:
    @pytest.mark.parametrize("weights", [None, "lifted"])
    def test_is_near_the_true_noise_and_mostly_above(self, weights):
        ratios = []
        for seed in range(12):
            system = real_system(seed)
            z = system.simulate(steps=5000, rng=seed)
            error = empirical_covariances(z, 20) - system.covariances(20)
            noise = mu_max(realization_problem(error, 5, 20, 1.0, weights=weights))
            ratios.append(sampling_noise_mu(z, 5, 20, weights=weights) / noise)
        assert np.count_nonzero(np.array(ratios) > 1) >= 10
        assert 1.0 < np.median(ratios) < 2.5

    def test_white_noise_gives_the_zero_solution(self, rng):
        z = rng.standard_normal((4000, 3))
        mu = sampling_noise_mu(z, 5, 20)
        assert gcgls(realization_problem(empirical_covariances(z, 20), 5, 20, mu), 1.0).rank == 0

    def test_falls_with_the_root_of_the_samples(self, rng):
        z = rng.standard_normal((16_000, 10))
        ratio = sampling_noise_mu(z[:1000], 5, 20) / sampling_noise_mu(z, 5, 20)
        assert ratio == pytest.approx(4.0, rel=0.2)

    def test_two_pieces_are_the_difference_of_the_halves(self, rng):
        """What the two halves add to the covariances of the record, one less the other."""
        z = rng.standard_normal((40, 2))
        first, second = np.zeros((2, 7, 2, 2))
        for i in range(7):
            for t in range(40 - i):
                (first if t < 20 else second)[i] += np.outer(z[t + i], z[t]) / 40
        expected = 1.05 * mu_max(realization_problem(first - second, 3, 6, 1.0))
        assert sampling_noise_mu(z, 3, 6, pieces=2) == pytest.approx(expected)

    @pytest.mark.parametrize("gap", ["scattered", "one long"])
    def test_is_above_the_true_noise_with_gaps(self, gap):
        ratios = []
        for seed in range(12):
            system = real_system(seed)
            z = system.simulate(steps=5000, rng=seed)
            missing = np.random.default_rng(seed).random(z.shape) < 0.4
            missing = missing if gap == "scattered" else np.arange(5000)[:, None] // 2000 == 1
            z = np.where(missing, np.nan, z)
            error = empirical_covariances(z, 20) - system.covariances(20)
            noise = mu_max(realization_problem(error, 5, 20, 1.0))
            ratios.append(sampling_noise_mu(z, 5, 20) / noise)
        assert np.count_nonzero(np.array(ratios) > 1) >= 9
        assert 1.0 < np.median(ratios) < 2.5

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries(self, rng, library):
        z = random_array(rng, (200, 2), "complex128")
        got = sampling_noise_mu(to_library(z, library), 3, 6)
        assert got == pytest.approx(sampling_noise_mu(z, 3, 6))

    @pytest.mark.parametrize("pieces", [1, 6, 64])
    def test_pieces(self, pieces):
        with pytest.raises(ValueError, match=f"pieces is {pieces}, but a power of two from 2 to"):
            sampling_noise_mu(np.ones((40, 1)), 3, 6, pieces=pieces)

    def test_too_few_outputs(self):
        with pytest.raises(ValueError, match="20 lags need more than 20 time steps"):
            sampling_noise_mu(np.ones((20, 1)), 3, 20)


def not_positive_real():
    """Lag 0 too small for an AR(1) process: at frequency pi the spectrum is 0.4 - 2/3."""
    return np.array([0.4, *(0.5 ** np.arange(1.0, 9.0))])[:, None, None]


def white():
    """Covariances of white noise, but for sampling noise."""
    noise = 0.01 * np.random.default_rng(0).standard_normal((21, 1, 1))
    noise[0] = 1.0
    return noise


class TestRealize:
    def test_order_of_exact_covariances_is_found(self, system):
        model = realize(system.covariances(20))
        assert model.order == system.order
        assert distance(model.covariances(30), system.covariances(30)) < 1e-6

    def test_order_of_noisy_covariances_is_found(self):
        system = SYSTEMS["one output"]
        v = empirical_covariances(system.simulate(steps=50_000, rng=1), 20)
        assert realize(v, noise_floor="auto").order == system.order

    def test_recovers_an_exact_system(self, system):
        v = system.covariances(14)
        model = realize(v, system.order)
        np.testing.assert_allclose(
            np.sort_complex(model.poles), np.sort_complex(system.poles), atol=1e-6
        )
        assert distance(model.covariances(30), system.covariances(30)) < 1e-6
        assert np.linalg.eigvalsh(model.innovation_covariance)[0] > 0
        assert np.iscomplexobj(model.A) == np.iscomplexobj(v)

    def test_result_solves_the_riccati_equation(self, system):
        """P, the covariance of the model's state, solves the equation that `realize` states."""
        v = system.covariances(14)
        model = realize(v, system.order)
        A, C = model.A, model.C
        P = np.zeros_like(A)
        for _ in range(500):
            P = A @ P @ adjoint(A) + model.K @ model.innovation_covariance @ adjoint(model.K)
        observability = np.concatenate([C @ np.linalg.matrix_power(A, i) for i in range(14)])
        Gbar = np.linalg.lstsq(observability, np.concatenate(v[1:]), rcond=None)[0]
        gain = Gbar - A @ P @ adjoint(C)
        residual = (
            P
            - A @ P @ adjoint(A)
            - gain @ np.linalg.solve(v[0] - C @ P @ adjoint(C), adjoint(gain))
        )
        assert np.linalg.norm(residual) < 1e-9 * np.linalg.norm(P)

    def test_is_of_minimum_phase(self, system):
        model = realize(system.covariances(14), system.order)
        inverse_poles = np.linalg.eigvals(model.A - model.K @ model.C)
        assert np.max(np.abs(inverse_poles)) < 1 + 1e-9

    def test_innovations_of_a_record_have_the_covariance_of_the_model(self):
        """The model, run backwards as a filter, whitens the outputs of the system."""
        system = real_system()
        z = system.simulate(steps=20_000, rng=5)
        model = realize(system.covariances(14), 3)
        e, s = np.empty_like(z), np.zeros(3)
        for t, now in enumerate(z):
            e[t] = now - model.C @ s
            s = model.A @ s + model.K @ e[t]
        e = e[500:]
        np.testing.assert_allclose(e.T @ e / len(e), model.innovation_covariance, atol=0.05)
        np.testing.assert_allclose(e[1:].T @ e[:-1] / len(e), 0.0, atol=0.05)

    def test_large_matrices_are_not_formed(self, system, monkeypatch):
        v = system.covariances(14)
        formed = realize(v, system.order).covariances(20)
        monkeypatch.setattr(Hankel, "to_dense", None)
        never_formed = realize(v, system.order, rules=RealizationRules(dense=1))
        np.testing.assert_allclose(never_formed.covariances(20), formed, atol=1e-9)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries_and_single_precision(self, library):
        v = to_library(real_system().covariances(14).astype("float32"), library)
        assert distance(realize(v, 3).covariances(14), to_numpy(v)) < 1e-4

    def test_lower_order_keeps_the_truncated_covariances(self):
        """The model reproduces C A^{i-1} Gbar of the truncated matrix at lags from 1 on."""
        v = real_system(outputs=4, order=6).covariances(20)
        A, Gbar, C = realization._ho_kalman(v[1:], 4, 11, 1000)
        expected = [C @ np.linalg.matrix_power(A, i) @ Gbar for i in range(20)]
        got = realize(v, 4, noise_floor="auto").covariances(20)
        np.testing.assert_allclose(got[1:], expected, atol=1e-8)

    def test_no_positive_spectrum(self):
        with pytest.raises(NotPositiveReal) as info:
            realize(not_positive_real(), 1)
        message = str(info.value)
        assert "at frequency 3.142 (radians per step)" in message
        assert "eigenvalue of their spectrum is -0.267" in message
        assert "noise_floor='auto'" in message
        enough = float(re.search(r"c of about (\S+) or more", message).group(1))
        assert enough == pytest.approx(0.267, rel=0.01)
        assert realize(not_positive_real(), 1, noise_floor=1.001 * enough).stable

    def test_noise_floor_too_low(self):
        with pytest.raises(NotPositiveReal, match="spectrum is -0.167"):
            realize(not_positive_real(), 1, noise_floor=0.1)

    def test_automatic_noise_floor_keeps_all_lags_but_zero(self):
        v = not_positive_real()
        got = realize(v, 1, noise_floor="auto").covariances(8)
        np.testing.assert_allclose(got[1:], v[1:], atol=1e-9)
        floor = got[0, 0, 0] - v[0, 0, 0]
        assert 2 / 3 - 0.4 < floor < 1.01 * (2 / 3 - 0.4)

    def test_automatic_noise_floor_finds_a_narrow_dip(self):
        """A pole at 0.999 makes a dip of the width of 0.001."""
        radius, angle = 0.999, 1.234567
        lags = np.arange(41)
        v = (-0.01 * radius**lags * np.cos(angle * lags))[:, None, None]
        v[0] = 1.0
        with pytest.raises(NotPositiveReal, match=r"at frequency 1.23[45]"):
            realize(v, 2)
        got = realize(v, 2, noise_floor="auto").covariances(40)
        np.testing.assert_allclose(got[1:], v[1:], atol=1e-7)

    def test_automatic_noise_floor_of_several_outputs(self, system):
        v = system.covariances(14)
        v[0] *= 0.3
        with pytest.raises(NotPositiveReal):
            realize(v, system.order)
        got = realize(v, system.order, noise_floor="auto").covariances(14)
        np.testing.assert_allclose(got[1:], v[1:], atol=1e-8 * np.abs(v).max())
        added = got[0] - v[0]
        np.testing.assert_allclose(added, added[0, 0] * np.eye(system.output_count), atol=1e-8)

    def test_automatic_noise_floor_adds_nothing_needless(self):
        v = driven_by_noise([[0.5]], [[0.3]], [[1.0]], [[1.0]]).covariances(8)
        np.testing.assert_allclose(realize(v, 1, noise_floor="auto").covariances(8), v, atol=1e-10)

    def test_given_noise_floor_is_added_to_lag_zero(self):
        v = real_system().covariances(14)
        got = realize(v, 3, noise_floor=0.25).covariances(14)
        np.testing.assert_allclose(got[0], v[0] + 0.25 * np.eye(4), atol=1e-9)
        np.testing.assert_allclose(got[1:], v[1:], atol=1e-9)

    def test_riccati_solver_that_fails(self, monkeypatch):
        def fails(*args, **kwargs):
            raise np.linalg.LinAlgError

        monkeypatch.setattr(realization, "solve_discrete_are", fails)
        with pytest.raises(NotPositiveReal, match=r"smallest eigenvalue of their spectrum is \d"):
            realize(real_system().covariances(14), 3)

    def test_unstable_poles(self):
        growing = (1.1 ** np.arange(12.0))[:, None, None]
        with pytest.raises(
            ValueError,
            match=r"order 1 has spectral radius 1.1, .* use a lower order, a larger mu or",
        ):
            realize(growing, 1)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"order": 0}, "order is 0, but a positive integer"),
            (
                {"covariances": white(), "order": None},
                "distinguished from noise, so no model is found",
            ),
            (
                {"order": 29},
                "order is 29, but 14 lags of 4 outputs in rows=8 .* at most 28",
            ),
            ({"order": 5, "rows": 2}, "in rows=2 determine at most 4"),
            ({"rows": 1}, "in rows=1 determine at most 0"),
            ({"rows": 20}, "in rows=20 determine at most 0"),
            ({"order": 9}, "has a lower rank: its singular value number 9 is .* lower the order"),
            ({"noise_floor": -1.0}, "noise_floor is -1.0, but a finite number of at least zero"),
            ({"noise_floor": "some"}, "noise_floor is 'some', but a number or 'auto' is expected"),
            ({"covariances": np.ones((5, 2, 3))}, r"shape \(5, 2, 3\), but \(lags \+ 1, n, n\)"),
            ({"covariances": np.full((5, 2, 2), np.nan)}, "covariances contains NaN or inf"),
            ({"covariances": np.arange(20.0).reshape(5, 2, 2)}, r"covariances\[0\] is not Hermit"),
            ({"covariances": np.zeros((9, 2, 2)), "order": 1}, "has a lower rank"),
        ],
    )
    def test_errors(self, options, says):
        usual = {"covariances": real_system().covariances(14), "order": 3}
        with pytest.raises(ValueError, match=says):
            realize(**{**usual, **options})


def recorded(seed=0, steps=50_000):
    """A system, and its outputs in unlike units, with means."""
    system = real_system(seed)
    units = np.array([1.0, 1e3, 1e-3, 20.0])
    z = system.simulate(steps=steps, rng=100 + seed, noise=0.05)
    return system, z * units + np.array([3.0, -1e4, 0.0, 7.0]), units


def from_paper(z, lags, rows, order=None):
    """The three steps by hand, of outputs of mean zero and variance one."""
    z = (z - np.mean(z, axis=0)) / np.std(z, axis=0)
    v = empirical_covariances(z, lags)
    problem = realization_problem(v, rows, lags, sampling_noise_mu(z, rows, lags))
    stop = Stop(xtol=None, rtol=None, gap=1e-3)
    result = iterate(gcgls_states(problem, 1.0, stop=stop, certify=False), problem, stop=stop)
    return realize(np.concatenate([v[:1], result.y]), result.rank, noise_floor="auto")


class TestRealizeOutputs:
    def test_a_limit_gives_one_warning(self):
        _, z, _ = recorded(steps=5000)
        with pytest.warns(ConvergenceWarning, match="^realize_outputs did not converge") as caught:
            realize_outputs(z, search=OutputRealization(max_iter=1), method="covariances")
        assert [warning.filename for warning in caught] == [__file__]

    def test_interruption_passes_through(self, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("structrank.systems.outputs.iterate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            realize_outputs(recorded(steps=500)[1])

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_system_is_found_in_any_units(self, seed):
        """4 outputs, order 3, 50000 samples: the order is found, covariances are within 15%."""
        system, z, units = recorded(seed)
        model = realize_outputs(z, method="covariances")
        assert model.order == system.order
        expected = system.covariances(20)[1:]
        got = model.covariances(20)[1:] / np.outer(units, units)
        assert distance(got, expected) < 0.15

    def test_equals_the_steps_by_hand(self):
        _, z, _ = recorded()
        by_hand = from_paper(z, 20, 10)
        sizes = np.std(z, axis=0)
        expected = by_hand.covariances(20) * np.outer(sizes, sizes)
        found = realize_outputs(z, method="covariances")
        np.testing.assert_allclose(found.covariances(20), expected, rtol=1e-6)

    def test_innovations_are_white(self):
        """The model, run backwards as a filter, whitens the record, in the units of the record."""
        _, z, units = recorded()
        model = realize_outputs(z, method="covariances")
        e, s = np.empty_like(z), np.zeros(model.order)
        for t, now in enumerate(z - np.mean(z, axis=0)):
            e[t] = now - model.C @ s
            s = model.A @ s + model.K @ e[t]
        e = e[500:] / units
        G = model.innovation_covariance / np.outer(units, units)
        np.testing.assert_allclose(e.T @ e / len(e), G, atol=0.08)
        np.testing.assert_allclose(e[1:].T @ e[:-1] / len(e), 0.0, atol=0.08)

    @pytest.mark.parametrize("gap", ["scattered", "long"])
    def test_gaps(self, gap):
        system, z, units = recorded()
        missing = np.random.default_rng(0).random(z.shape) < 0.3
        z[missing if gap == "scattered" else slice(10_000, 25_000)] = np.nan
        model = realize_outputs(z, method="covariances")
        assert model.order == system.order
        got = model.covariances(20)[1:] / np.outer(units, units)
        assert distance(got, system.covariances(20)[1:]) < 0.2

    def test_order_and_mu_that_are_given(self):
        _, z, _ = recorded(steps=5000)
        assert realize_outputs(z, order=2).order == 2
        assert realize_outputs(z, order=6, method="covariances").order == 6
        few, many = (realize_outputs(z, mu=mu, method="covariances").order for mu in (0.4, 0.05))
        assert few < many

    @pytest.mark.parametrize(
        ("outputs", "lags", "order"), [(1, 20, 11), (4, 20, 41), (2, 5, 9), (1, 2, 2)]
    )
    def test_an_order_out_of_reach_is_refused_before_any_work(
        self, outputs, lags, order, monkeypatch
    ):
        z = np.random.default_rng(0).standard_normal((500, outputs))
        monkeypatch.setattr(
            "structrank.systems.outputs.empirical_covariances",
            lambda *_: pytest.fail("work was begun"),
        )
        says = rf"order is {order}, but {lags} lags of {outputs} outputs .* at most {order - 1}:"
        with pytest.raises(ValueError, match=says) as caught:
            realize_outputs(z, order, lags=lags)
        assert ("use more lags" in str(caught.value)) == (lags < 20)

    def test_more_parameters_than_samples_are_refused(self):
        z = np.random.default_rng(0).standard_normal((40, 4))
        z[:7] = np.nan  # 132 samples are left
        says = "order is 17, which means 136 parameters .* 132 samples: lower the order to 16 or"
        with pytest.raises(ValueError, match=says):
            realize_outputs(z, 17, lags=10)
        assert realize_outputs(z, 16, lags=10).order == 16

    def test_every_smaller_mu_starts_from_the_last_solution(self, monkeypatch):
        """From cold starts, small mu take hundreds of iterations and do not reach the gap."""
        results = []

        def kept(*arguments, **options):
            results.append(iterate(*arguments, **options))
            return results[-1]

        monkeypatch.setattr("structrank.systems.outputs.iterate", kept)
        z = np.random.default_rng(44).standard_normal(31)
        z[[2, 9, 10, 17, 25]] = np.nan
        realize_outputs(z, order=8, lags=9)
        search = OutputRealization()
        assert len(results) == search.halvings
        assert all(result.gap <= search.gap for result in results)
        assert sum(result.iterations for result in results) <= 100

    @pytest.mark.parametrize(("outputs", "lags", "most"), [(2, 5, 8), (1, 2, 1)])
    def test_the_highest_order_is_within_reach(self, outputs, lags, most):
        """It may be unstable, but the lags determine it."""
        z = np.random.default_rng(0).standard_normal((500, outputs))
        try:
            assert realize_outputs(z, most, lags=lags).order == most
        except ValueError as error:
            assert "spectral radius" in str(error)  # noqa: PT017

    def test_nothing_found_with_an_order(self):
        z = np.random.default_rng(0).standard_normal(500)
        with pytest.raises(ValueError, match="cannot be distinguished .*, or pass a smaller mu$"):
            realize_outputs(z, order=1, mu=1e9)
        with pytest.raises(
            ValueError, match="cannot be distinguished .*, or pass an order or a smaller"
        ):
            realize_outputs(z, mu=1e9)

    def test_one_series(self):
        z = real_system(1, 1, 2).simulate(steps=20_000, rng=1)
        models = [
            realize_outputs(given, method="covariances") for given in (z, z[:, 0], list(z[:, 0]))
        ]
        assert {model.order for model in models} == {2}
        assert len({model.A.tobytes() for model in models}) == 1

    def test_complex_outputs(self):
        system = complex_system()
        model = realize_outputs(system.simulate(steps=50_000, rng=1), method="covariances")
        assert np.iscomplexobj(model.A)
        assert distance(model.covariances(5), system.covariances(5)) < 0.2

    def test_tables_of_pandas(self):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        _, z, _ = recorded(steps=5000)
        frame = pd.DataFrame(z, columns=list("abcd"))
        A, same = (realize_outputs(x, order=3).A for x in (z, frame))
        np.testing.assert_allclose(same, A, rtol=1e-6)
        with pytest.raises(ValueError, match="the index is irregular"):
            realize_outputs(frame.drop(index=7))

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries_and_single_precision(self, library):
        z = real_system().simulate(steps=5000).astype("float32")
        model, same = (
            realize_outputs(x, method="covariances") for x in (to_library(z, library), z)
        )
        assert distance(model.covariances(9), same.covariances(9)) < 1e-3

    @pytest.mark.parametrize("size", [1e-70, 1e70])
    def test_units_do_not_matter(self, size):
        z = real_system().simulate(steps=5000)
        model, scaled = (realize_outputs(x, method="covariances") for x in (z, size * z))
        np.testing.assert_allclose(scaled.poles, model.poles, rtol=1e-6)
        np.testing.assert_allclose(
            scaled.innovation_covariance / size**2, model.innovation_covariance, rtol=1e-6
        )

    @pytest.mark.parametrize(
        ("outputs", "options", "says"),
        [
            (np.ones((99, 2, 2)), {}, r"shape \(99, 2, 2\), but a series, or \(T, n\), one row"),
            (np.ones((99, 2)), {}, "output 0 is constant, but outputs that vary .* remove it"),
            (np.full((99, 1), 0.1), {}, "output 0 is constant"),
            (np.full((99, 2), np.nan), {}, "output 0 has 0 samples, but thousands"),
            (np.full((99, 2), np.inf), {}, "outputs contains inf"),
            (np.random.default_rng(0).random(15), {}, "20 lags need more than 20 time steps"),
            (np.random.default_rng(0).random(99), {"lags": 1}, "lags is 1, but 2 or more"),
            (np.random.default_rng(0).random(99), {"order": 0}, "order is 0, but a positive"),
            (np.random.default_rng(0).random(99), {"mu": -1.0}, "mu is -1.0, but"),
            (
                np.random.default_rng(1).random(999),
                {},
                "cannot be distinguished from sampling noise",
            ),
            (
                1e200 * real_system().simulate(steps=5000),
                {},
                "the largest sample is .* in size, but",
            ),
            (
                1e-200 * real_system().simulate(steps=5000),
                {},
                "the largest sample is .* in size, but",
            ),
            (
                real_system().simulate(steps=5000) * [1.0, 1e-200, 1.0, 1.0],
                {},
                "deviations from .*e-200 to .* leave the range of numbers: use other units",
            ),
        ],
    )
    def test_errors(self, outputs, options, says):
        with pytest.raises(ValueError, match=says):
            realize_outputs(outputs, **options)

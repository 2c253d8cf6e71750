"""The dense path of `solve`: its steps, its certificate, and problems that are hard for it."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, random_array, to_library
from conic import modes_problem

from structrank import Circulant, Hankel, LowRank, Mask, Operator, Problem, Status, Weighted, solve
from structrank.solvers import exact
from structrank.solvers.anderson import Anderson, Extrapolation
from structrank.solvers.dense import DenseMethod, Splitting, suits

ALL = {**STRUCTURES, "affine": AFFINE, "hankel-square": Hankel(11, window=6)}
running_mean = Operator(lambda y: (y + np.roll(y, 1)) / 2, lambda d: (d + np.roll(d, -1)) / 2)


def problem_of(S, dtype, kind, rng):
    weights = np.linspace(0.2, 1.5, int(np.prod(S.signal_shape))).reshape(S.signal_shape)
    measure = {"mask": None, "weights": Weighted(weights), "operator": running_mean}[kind]
    return modes_problem(S, rng, dtype, measure=measure)


def literal_threshold(Z, threshold):
    U, s, Vh = np.linalg.svd(Z, full_matrices=False)
    return (U * np.maximum(s - threshold, 0)) @ Vh


def literal_maps(problem):
    """A and Q as matrices on flat signals, and Q0."""
    S, size = problem.structure, problem.backprojection.size
    unit = np.eye(size, dtype=problem.backprojection.dtype).reshape(size, *S.signal_shape)
    A = np.stack([problem.measure.forward(e).reshape(-1) for e in unit], axis=1)
    Q = np.stack([S.linear_to_dense(e).reshape(-1) for e in unit], axis=1)
    return A, Q, S.to_dense(np.zeros(S.signal_shape, dtype=unit.dtype))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestStep:
    @pytest.mark.parametrize("kind", ["mask", "weights", "operator"])
    @pytest.mark.parametrize("name", ALL)
    def test_equals_its_definition(self, name, kind, dtype, rng):
        problem = problem_of(ALL[name], dtype, kind, rng)
        splitting = Splitting(problem, DenseMethod())
        Z, beta = random_array(rng, problem.structure.shape, dtype), 0.7
        if splitting.symmetric:
            Z = Z + Z.T
        point = splitting.step(Z, beta)
        X = literal_threshold(Z, problem.mu / beta)
        A, Q, Q0 = literal_maps(problem)
        right = A.conj().T @ problem.data.reshape(-1)
        right = right + beta * Q.conj().T @ (2 * X - Z - Q0).reshape(-1)
        y = np.linalg.solve(A.conj().T @ A + beta * Q.conj().T @ Q, right)
        np.testing.assert_allclose(point.X, X, atol=1e-12)
        np.testing.assert_allclose(point.y, y, atol=1e-11)
        gamma = problem.data.reshape(-1) - A @ y
        np.testing.assert_allclose(point.gamma.reshape(-1), gamma, atol=1e-11)
        residual = (Q @ y).reshape(X.shape) + Q0 - X
        np.testing.assert_allclose(point.residual, residual, atol=1e-11)

    @pytest.mark.parametrize("name", ["hankel", "toeplitz", "hankel-square", "affine"])
    def test_bound_comes_from_a_feasible_dual_point(self, name, dtype, rng):
        problem = problem_of(ALL[name], dtype, "mask", rng)
        splitting = Splitting(problem, DenseMethod())
        Z = splitting.lift(random_array(rng, problem.backprojection.size, dtype))
        point = splitting.step(Z, 0.7)
        multiplier = 0.7 * (Z - point.X)
        A, Q, Q0 = literal_maps(problem)
        mismatch = A.conj().T @ point.gamma - Q.conj().T @ multiplier.reshape(-1)
        correction = Q @ (mismatch / problem.structure.multiplicity.reshape(-1))
        Lambda = multiplier + correction.reshape(Z.shape)
        scales = np.linspace(0, problem.mu / np.linalg.norm(Lambda, 2), 10_001)
        slope = np.vdot(problem.data, point.gamma).real + np.vdot(Lambda, Q0).real
        values = scales * slope - scales**2 / 2 * np.linalg.norm(point.gamma) ** 2
        bound, norm = splitting._lower_bound(point.gamma, multiplier)
        assert norm == pytest.approx(np.linalg.norm(Lambda, 2), rel=1e-12)
        assert bound == pytest.approx(values.max(), rel=1e-7, abs=1e-12)

    @pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7)])
    @pytest.mark.parametrize("threshold", [1.0, 1e-5])
    def test_thresholds(self, shape, threshold, dtype, rng):
        """By a Gram matrix, and by an SVD where that is not accurate."""
        splitting = Splitting(problem_of(STRUCTURES["hankel"], dtype, "mask", rng), DenseMethod())
        Z = random_array(rng, shape, dtype)
        U, V = splitting._threshold(Z, threshold)
        np.testing.assert_allclose(U @ V.conj().T, literal_threshold(Z, threshold), atol=1e-12)


class TestChoice:
    def test_is_by_size_library_and_precision(self, rng):
        small = Hankel(9, window=5)
        assert suits(Problem(small, np.ones(9), 1.0))
        assert suits(Problem(small, np.ones(9, dtype="complex64"), 1.0, "lifted"))
        assert suits(Problem(small, np.ones(9), 1.0, running_mean))
        assert not suits(Problem(small, np.ones(9, dtype="float32"), 1.0, running_mean))
        assert not suits(Problem(Hankel(399, window=200), np.ones(399), 1.0))
        for library in ("torch", "array_api_strict"):
            assert not suits(Problem(small, to_library(np.ones(9), library), 1.0))


class TestSinglePrecision:
    @pytest.mark.parametrize("dtype", ["float32", "complex64"])
    def test_is_kept_and_certified_in_double(self, dtype, rng):
        problem = modes_problem(STRUCTURES["hankel"], rng, dtype)
        result = solve(problem, 1e-5)
        assert result.status is Status.SOLVED
        assert result.y.dtype == result.X.U.dtype == result.X.V.dtype == dtype
        double = np.result_type(dtype, np.float64)
        data, y = problem.data.astype(double), result.y.astype(double)
        loss = np.linalg.norm(problem.measure.weights * y - data) ** 2 / 2
        value = loss + problem.mu * np.linalg.norm(problem.structure.to_dense(y), "nuc")
        assert result.objective == pytest.approx(value, rel=1e-12)
        twin = Problem(problem.structure, problem.b.astype(double), problem.mu, problem.measure)
        exact_one = solve(twin, 1e-9).objective
        assert result.objective * (1 - result.gap) <= exact_one * (1 + 1e-9)
        assert result.objective >= exact_one * (1 - 1e-9)

    @pytest.mark.parametrize("seed", range(20))
    def test_nine_samples(self, seed):
        rng = np.random.default_rng(seed)
        b = np.cumsum(rng.standard_normal(9)) * 10.0 ** rng.integers(-3, 4)
        problem = Problem(Hankel(9, window=5), b.astype("float32"), 0.01 * np.max(np.abs(b)))
        result = solve(problem, 5e-3)
        assert result.status is Status.SOLVED
        assert result.iterations <= 10


class TestHardProblems:
    """Iterations are of ten steps each."""

    @pytest.mark.parametrize("share", [1.0, 0.6])
    @pytest.mark.parametrize("length", [9, 30, 60])
    def test_tiny_mu(self, length, share, rng):
        signals = (rng.standard_normal(length), np.cos(0.3 * np.arange(length)))
        for b in signals:
            seen = Mask(rng.random(length) < share)
            problem = Problem(Hankel(length, window=length // 2), b, 1e-12, seen)
            result = solve(problem)
            assert result.status is Status.SOLVED
            assert result.iterations <= 60

    @pytest.mark.parametrize("structure", [Hankel(9, window=5), Circulant(9)], ids=repr)
    def test_small_changes_of_a_large_mean(self, structure, rng):
        """Without its two safeguards, extrapolation diverges for some of these problems."""
        for mean in 10.0 ** rng.uniform(2, 5, size=30):
            b = mean + rng.standard_normal(9)
            seen = rng.random(9) < 0.7
            seen[0] = True
            problem = Problem(structure, b, 10.0 ** rng.uniform(-4, 1), Mask(seen))
            result = solve(problem, 1e-6)
            assert result.status is Status.SOLVED
            assert result.iterations <= 100

    def test_weights_of_very_different_size(self, rng):
        weights = np.geomspace(1e-3, 1, 79)
        b = np.cos(0.3 * np.arange(79)) + 0.1 * rng.standard_normal(79)
        result = solve(Problem(Hankel(79, window=40), b, 0.01, Weighted(weights)), 1e-6)
        assert result.status is Status.SOLVED
        assert result.iterations <= 30


class TestSolution:
    def test_factors_are_thin_and_near_the_structure(self, rng):
        t = np.arange(79)
        b = np.cos(0.3 * t) + 0.5 * np.cos(1.1 * t) + 0.02 * rng.standard_normal(t.size)
        result = solve(Problem(Hankel(t.size, window=40), b, 0.5), 1e-7)
        assert result.rank == 4
        assert result.X.signs is not None
        lifted = result.problem.structure.to_dense(result.y)
        np.testing.assert_allclose(result.X.to_dense(), lifted, atol=1e-3)

    def test_start_is_not_changed_and_helps(self, rng):
        problem = modes_problem(Hankel(41, window=21), rng)
        cold = solve(problem, 1e-6)
        start = LowRank(cold.X.U.copy(), cold.X.V.copy())
        warm = solve(problem, 1e-6, start=start)
        np.testing.assert_array_equal(start.U, cold.X.U)
        assert warm.iterations < cold.iterations

    def test_objective_is_that_of_thin_factors(self, rng, monkeypatch):
        problem = modes_problem(Hankel(59, window=25), rng, "complex128")
        dense = solve(problem, 1e-5)
        monkeypatch.setattr(exact, "suits", lambda problem: False)
        thin = solve(problem, 1e-5)
        assert dense.objective == pytest.approx(thin.objective, rel=1e-5)
        assert dense.status is thin.status is Status.SOLVED


class TestAnderson:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_solves_linear_maps_in_as_many_steps_as_unknowns(self, dtype, rng):
        A = random_array(rng, (4, 4), "float64")
        A, b = 0.9 * A / np.linalg.norm(A, 2), random_array(rng, (4, 1), dtype)
        Z, anderson = np.zeros((4, 1), dtype=dtype), Anderson()
        for _ in range(12):
            Z = anderson.next(Z, A @ Z + b)
        np.testing.assert_allclose(Z, np.linalg.solve(np.eye(4) - A, b), atol=1e-8)

    def test_rejected_iterates_are_replaced_by_the_last_image(self):
        anderson = Anderson()
        one = anderson.next(np.array([0.0]), np.array([1.0]))
        two = anderson.next(one, one + 0.9)
        assert two > one + 0.9
        back = anderson.next(two, two + 5.0)  # the residual has grown
        np.testing.assert_array_equal(back, one + 0.9)

    def test_reach_is_limited_where_the_residual_does_not_change(self):
        anderson, Z, reach = Anderson(), np.zeros(1), Extrapolation().reach
        for residual in (1.0, 1.0 - 1e-9, 1.0 - 2e-9):
            before, Z = Z, anderson.next(Z, Z + residual)
            assert abs(Z - before) <= 1.01 * (reach + 1)

    def test_exact_fixed_points_stay(self):
        anderson, Z = Anderson(), np.ones((2, 2))
        for residual in (0.5, 0.2, 0.1):
            anderson.next(Z, Z + residual)
        for _ in range(3):
            Z = anderson.next(Z, Z.copy())
        np.testing.assert_array_equal(Z, 1)

"""The local methods of given rank: recovery, gross errors, every step against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, DTYPES, LIBRARIES, STRUCTURES, random_array, to_library

from structrank import Hankel, Mask, Operator, Problem, Status, Stop, sinusoids
from structrank.solvers.rivals import cadzow, fiht, hsnld, projected_gradient
from structrank.solvers.rivals.cadzow import Accuracy
from structrank.solvers.rivals.cadzow import _iterates as cadzow_iterates
from structrank.solvers.rivals.hsnld import NewtonLikeSettings
from structrank.solvers.rivals.hsnld import _iterates as newton_iterates
from structrank.solvers.rivals.projected_gradient import (
    ProjectedGradientSettings,
    _gradient,
    _shortened,
    _transformed,
)
from structrank.solvers.rivals.projected_gradient import _iterates as gradient_iterates
from structrank.solvers.rivals.sampled import SampledProblem


def hsnld_of_clean_samples(problem, rank, **options):
    return hsnld(problem, rank, 0.0, **options)


METHODS = [fiht, projected_gradient, cadzow, hsnld_of_clean_samples]
SHAPES = ["hankel", "hankel-2d", "hankel-block", "toeplitz-2d", "sylvester"]


def modes_problem(shape, count, *, real=False, seen=0.5, seed=0):
    """Modes without noise, half of the samples seen, in a matrix as square as can be."""
    drawn = sinusoids(shape, count, seen=seen, snr=None, real=real, separation=1.5, rng=seed)
    window = tuple((length + 1) // 2 for length in drawn.truth.shape)
    problem = Problem(Hankel(drawn.truth.shape, window), drawn.samples, 1.0, Mask(drawn.seen))
    return problem, drawn.truth, len(drawn.modes)


def small_problem(name, rng, dtype="complex128"):
    structure = STRUCTURES[name]
    b = random_array(rng, structure.signal_shape, dtype)
    return Problem(structure, b, 1.0, Mask(rng.random(structure.signal_shape) < 0.8))


def close(a, b, tolerance=1e-9):
    return np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


def truncated(matrix, rank):
    U, s, Vh = np.linalg.svd(matrix, full_matrices=False)
    return (U[:, :rank] * s[:rank]) @ Vh[:rank]


def corrected(problem, y, step):
    seen = problem.seen
    return np.where(seen, y + step * (np.where(seen, problem.b, 0) - y), y)


def objective(problem, X, step):
    """What the methods lower, on a dense matrix."""
    y = problem.structure.average_dense(X)
    misfit = np.where(problem.seen, y - problem.b, 0)
    lifted = problem.structure.to_dense(misfit)
    apart = X - problem.structure.to_dense(y)
    return step / 2 * np.linalg.norm(lifted) ** 2 + np.linalg.norm(apart) ** 2 / 2


class TestRecovery:
    @pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
    @pytest.mark.parametrize(
        ("shape", "count", "real"), [(127, 4, False), (127, 3, True), ((16, 15), 3, False)], ids=str
    )
    def test_without_noise(self, method, shape, count, real):
        problem, truth, rank = modes_problem(shape, count, real=real)
        result = method(problem, rank, tolerance=1e-10)
        assert result.status is Status.FINISHED
        assert result.rank == rank
        assert close(result.y, truth, 1e-8)
        assert close(problem.structure.average(result.X.U, result.X.V), result.y)

    @pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
    def test_a_rank_above_the_true_one(self, method):
        problem, truth, rank = modes_problem(61, 2, seen=0.9)
        patient = Stop(max_iter=1000, xtol=None, rtol=None)
        assert close(method(problem, rank + 2, stop=patient).y, truth, 1e-3)

    @pytest.mark.parametrize(
        ("rank", "samples", "seed"),
        [
            (5, 25, (0, 5, 7)),  # the step of the paper diverges
            (20, 64, (13, 20, 64)),  # NumPy's SVD of the small matrix fails (OpenBLAS 0.3)
        ],
    )
    def test_fiht_with_few_samples_of_close_modes(self, rank, samples, seed):
        rng = np.random.default_rng(seed)
        modes = np.exp(2j * np.pi * np.outer(np.arange(127), rng.random(rank)))
        truth = modes @ np.exp(2j * np.pi * rng.random(rank))
        seen = np.zeros(127, dtype=bool)
        seen[rng.choice(127, samples, replace=False)] = True
        result = fiht(Problem(Hankel(127, 64), truth, 1.0, Mask(seen)), rank)
        assert close(result.y, truth, 1e-3)
        assert np.all(np.diff(result.history.objective) <= 1e-9 * result.history.objective[0])

    @pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
    def test_zero_data(self, method):
        result = method(Problem(Hankel(9, window=4), np.zeros(9), 1.0), 2)
        assert result.status is Status.FINISHED
        assert np.all(result.y == 0)


class TestGrossErrors:
    @pytest.mark.parametrize("seen", [1.0, 0.5])
    @pytest.mark.parametrize("size", [1.0, 10.0])
    def test_the_signals_of_the_paper(self, seen, size, rng):
        """Complex exponentials; errors are uniform, up to `size` mean moduli of both parts."""
        problem, truth, rank = modes_problem(125, 4, seen=seen)
        at = rng.choice(np.flatnonzero(problem.seen), problem.sample_count // 10, replace=False)
        samples = problem.b.copy()
        samples[at] += size * np.mean(np.abs(truth.real)) * rng.uniform(-1, 1, at.size)
        samples[at] += 1j * size * np.mean(np.abs(truth.imag)) * rng.uniform(-1, 1, at.size)
        spoiled = Problem(problem.structure, samples, 1.0, problem.measure)
        result = hsnld(spoiled, rank, 0.1, tolerance=1e-10)
        assert result.status is Status.FINISHED
        assert close(result.y, truth, 1e-8)

    def test_condition_does_not_matter(self):
        t = np.arange(125)
        steps = []
        for smallest in (1.0, 0.1):
            truth = np.exp(0.5j * t) + smallest * np.exp(2.0j * t)
            spoiled = np.where(t % 20 == 3, 5.0, truth)
            result = hsnld(Problem(Hankel(125, 63), spoiled, 1.0), 2, 0.08, tolerance=1e-9)
            assert close(result.y, truth, 1e-6)
            steps.append(result.iterations)
        assert steps[1] <= 1.5 * steps[0]

    def test_bad_share(self):
        with pytest.raises(ValueError, match="share is 0.5, but a number of at least 0"):
            hsnld(Problem(Hankel(9, window=4), np.ones(9), 1.0), 2, 0.5)


class TestStepsAgainstDenseMatrices:
    @pytest.mark.parametrize("name", SHAPES)
    def test_start_truncates_the_samples_over_their_share(self, name, rng):
        problem = small_problem(name, rng)
        sampled = SampledProblem(problem, 2)
        samples = np.where(problem.seen, problem.b, 0) / np.mean(problem.seen)
        dense = problem.structure.to_dense(samples)
        exact = sampled.truncated(samples, random_array(rng, dense.shape[1], "complex128"), 1e-13)
        assert close(exact.matrix.to_dense(), truncated(dense, 2))
        rough = sampled.start().matrix.to_dense()
        error = np.linalg.norm(rough - dense) / np.linalg.norm(truncated(dense, 2) - dense)
        assert 1 - 1e-12 <= error < 1.01

    @pytest.mark.parametrize("name", SHAPES)
    def test_fiht(self, name, rng):
        problem, step = small_problem(name, rng), None
        states = []
        fiht(problem, 2, callback=lambda state: states.append(state) or len(states) == 2)
        first, second = states
        X = first.X.to_dense()
        U, _, Vh = np.linalg.svd(X, full_matrices=False)
        left, right = U[:, :2] @ U[:, :2].conj().T, Vh[:2].conj().T @ Vh[:2]
        step = 1 / np.mean(problem.seen)
        while True:
            W = problem.structure.to_dense(corrected(problem, first.y, step))
            new = truncated(left @ W + W @ right - left @ W @ right, 2)
            if step == 1 or objective(problem, new, step) <= objective(problem, X, step):
                break
            step = max(0.7 * step, 1)
        assert close(second.X.to_dense(), new)
        assert close(second.y, problem.structure.average_dense(new))
        assert second.objective == pytest.approx(objective(problem, new, step))

    @pytest.mark.parametrize("name", SHAPES)
    def test_cadzow(self, name, rng):
        problem = small_problem(name, rng)
        states = cadzow_iterates(SampledProblem(problem, 2), 1e-6, Accuracy(largest=1e-13))
        first, second = next(states), next(states)
        new = truncated(problem.structure.to_dense(corrected(problem, first.y, 1.0)), 2)
        assert close(second.X.to_dense(), new)
        assert second.objective == pytest.approx(objective(problem, new, 1.0))

    @pytest.mark.parametrize("name", SHAPES)
    def test_hsnld(self, name, rng):
        problem, share = small_problem(name, rng), 0.2
        settings = NewtonLikeSettings(length=0.5)
        states = newton_iterates(SampledProblem(problem, 2), share, 1e-6, settings)
        first, second = next(states), next(states)
        step, count = 1 / np.mean(problem.seen), share * problem.sample_count
        samples = np.where(problem.seen, problem.b, 0)

        def largest(values, kept):
            out, order = np.zeros_like(values), np.argsort(-np.abs(values), axis=None)
            out.flat[order[: int(np.ceil(kept))]] = values.flat[order[: int(np.ceil(kept))]]
            return out

        start = step * (samples - largest(samples, count))
        assert close(first.X.to_dense(), truncated(problem.structure.to_dense(start), 2), 1e-1)
        U, V = first.X.U, first.X.V
        residual = np.where(problem.seen, samples - first.y, 0)
        errors = largest(residual, 1.5 * count)
        outside = U @ V.conj().T - problem.structure.to_dense(
            first.y + step * np.where(problem.seen, residual - errors, 0)
        )
        by_U = outside @ V @ np.linalg.inv(V.conj().T @ V)
        by_V = outside.conj().T @ U @ np.linalg.inv(U.conj().T @ U)
        assert close(second.X.U, U - 0.5 * by_U)
        assert close(second.X.V, V - 0.5 * by_V)

    @pytest.mark.parametrize("name", SHAPES)
    def test_projected_gradient(self, name, rng):
        problem = small_problem(name, rng)
        step, balance = 1 / np.mean(problem.seen), 0.25
        settings = ProjectedGradientSettings(balance, incoherence=1e6, relaxation=1.0)
        states = gradient_iterates(SampledProblem(problem, 2), 1e-6, settings)
        first, second = next(states), next(states)
        U, V = first.X.U, first.X.V
        outside = U @ V.conj().T - problem.structure.to_dense(corrected(problem, first.y, step))
        unbalanced = balance * (U.conj().T @ U - V.conj().T @ V)
        by_U = outside @ V + U @ unbalanced
        by_V = outside.conj().T @ U - V @ unbalanced
        length = np.vdot(by_U, U - second.X.U).real / np.linalg.norm(by_U) ** 2
        assert close(second.X.U, U - length * by_U)
        assert close(second.X.V, V - length * by_V)

        def value(t):
            A, B = U - t * by_U, V - t * by_V
            unbalanced = np.linalg.norm(A.conj().T @ A - B.conj().T @ B) ** 2
            return objective(problem, A @ B.conj().T, step) + balance / 4 * unbalanced

        slope = (value(1e-5 * length) - value(-1e-5 * length)) / (2e-5 * length)
        assert slope == pytest.approx(
            -(np.linalg.norm(by_U) ** 2) - np.linalg.norm(by_V) ** 2, rel=1e-5
        )
        assert value(length) < min(value(0.99 * length), value(1.01 * length))

    def test_gradient_of_factors_that_are_not_balanced(self, rng):
        problem = small_problem("hankel", rng)
        M, N = problem.structure.shape
        at = [random_array(rng, (size, 2), "complex128") for size in (M, N)]
        direction = [random_array(rng, (size, 2), "complex128") for size in (M, N)]
        sampled = SampledProblem(problem, 2)

        def value(t):
            U, V = (x + t * d for x, d in zip(at, direction, strict=True))
            unbalanced = np.linalg.norm(U.conj().T @ U - V.conj().T @ V) ** 2
            return objective(problem, U @ V.conj().T, sampled.step) + 0.25 / 4 * unbalanced

        factors = _transformed(sampled, *at)
        gradient = _gradient(sampled, factors, problem.structure.average(*at), 0.25)
        slope = sum(np.vdot(g, d).real for g, d in zip(gradient[:2], direction, strict=True))
        assert (value(1e-5) - value(-1e-5)) / 2e-5 == pytest.approx(slope, rel=1e-7)

    def test_rows_are_shortened(self, rng):
        factor = random_array(rng, (6, 2), "complex128")
        norms = np.linalg.norm(factor, axis=1)
        longest = np.median(norms)
        short = _shortened(factor, 6 * longest**2)
        np.testing.assert_allclose(np.linalg.norm(short, axis=1), np.minimum(norms, longest))
        np.testing.assert_allclose(
            short / factor, np.minimum(1, longest / norms)[:, None] + 0 * factor
        )
        assert _shortened(factor, 6 * norms.max() ** 2 * 1.01) is factor


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
class TestInterface:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_is_kept(self, method, dtype, rng):
        result = method(small_problem("hankel", rng, dtype), 2, tolerance=1e-3)
        assert result.y.dtype == result.X.U.dtype == result.X.V.dtype == dtype

    @pytest.mark.parametrize("library", LIBRARIES[1:])
    def test_array_libraries(self, method, library):
        problem, _, rank = modes_problem(31, 1)
        there = Problem(problem.structure, to_library(problem.b, library), 1.0, problem.measure)
        result = method(there, rank)
        assert type(result.y) is type(there.b)
        assert close(np.asarray(result.y), method(problem, rank).y)

    def test_limits_and_callbacks(self, method):
        problem, _, rank = modes_problem(61, 2)
        seen = []
        result = method(problem, rank, callback=lambda state: seen.append(state.rank))
        assert seen == [rank] * (result.iterations + 1)
        with pytest.warns(UserWarning, match="iteration limit"):
            assert method(problem, rank, stop=Stop(max_iter=1)).iterations == 1

    def test_bad_arguments(self, method):
        problem = Problem(Hankel(9, window=4), np.ones(9), 1.0)
        with pytest.raises(ValueError, match="rank is 5, but a matrix of shape"):
            method(problem, 5)
        with pytest.raises(ValueError, match="tolerance is 0"):
            method(problem, 2, tolerance=0)
        with pytest.raises(ValueError, match="offset"):
            method(Problem(AFFINE, np.ones(AFFINE.signal_shape), 1.0), 1)
        operator = Operator(lambda y: 2 * y, lambda d: 2 * d)
        with pytest.raises(ValueError, match="operator"):
            method(Problem(Hankel(9, window=4), np.ones(9), 1.0, operator), 2)

"""The methods on dense matrices: their optimum, their bounds, their parts."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from conftest import AFFINE, DTYPES, STRUCTURES, random_array, to_library
from conic import conic_optimum, modes_problem, relax_optimum

from structrank import Hankel, LowRank, Mask, Operator, Problem, Status, Stop, Weighted, gcgls
from structrank.solvers.rivals import (
    apg_svt,
    dadmm2,
    dppa,
    factored_admm,
    interior_point,
    padmm,
    padmm2,
    weighted_slra,
)
from structrank.solvers.rivals.accelerated_gradient import _Boxes, _Sparse
from structrank.solvers.rivals.dense import (
    Decomposition,
    DenseProblem,
    singular_values,
    threshold_singular_values,
)

TIGHT = Stop(max_iter=20000, xtol=None, rtol=None, gap=2e-5)
ON_RELAX = [padmm, padmm2, dadmm2, dppa, factored_admm]


def running_mean():
    """A measure that is not diagonal: means of neighbours."""
    return Operator(
        lambda y: (y + np.roll(y, 1)) / 2,
        lambda d: (d + np.roll(d, -1)) / 2,
    )


def differences():
    """A measure that does not see constants."""
    return Operator(lambda y: y - np.roll(y, 1), lambda d: d - np.roll(d, -1))


def relax_case(name, rng):
    if name == "everything":
        b = random_array(rng, 11, "complex128")
        return Problem(Hankel(11, window=5), b, 1.0)
    if name == "differences":
        return modes_problem(Hankel(13, window=5), rng, measure=differences())
    if name == "operator":
        return modes_problem(Hankel(13, window=5), rng, measure=running_mean())
    if name == "operator-complex":
        return modes_problem(Hankel(11, window=5), rng, "complex128", measure=running_mean())
    if name == "weights":
        weights = np.linspace(0.2, 1.5, 13)
        return modes_problem(Hankel(13, window=5), rng, measure=Weighted(weights))
    if name == "affine":
        return modes_problem(AFFINE, rng)
    kind, _, dtype = name.partition(":")
    return modes_problem(STRUCTURES[kind], rng, dtype or "float64")


CASES = [
    "hankel",
    "hankel:complex128",
    "hankel-2d",
    "hankel-block",
    "toeplitz-2d:complex128",
    "sylvester",
    "hessenberg",
    "affine",
    "weights",
    "operator",
    "operator-complex",
    "differences",
    "everything",
]


class TestOptimum:
    @pytest.mark.parametrize("name", CASES)
    def test_of_relax(self, name, rng):
        problem = relax_case(name, rng)
        optimum = relax_optimum(problem)
        for solver in ON_RELAX:
            bounds = []

            def watch(state, bounds=bounds):
                bounds.append(state.objective * (1 - state.gap))

            result = solver(problem, stop=TIGHT, callback=watch)
            assert result.status is Status.SOLVED, solver.__name__
            assert result.objective == pytest.approx(optimum, rel=1e-4), solver.__name__
            assert max(bounds) <= optimum * (1 + 1e-6), solver.__name__
            assert min(result.history.objective) >= optimum * (1 - 1e-6), solver.__name__

    @pytest.mark.parametrize("name", CASES)
    def test_of_relax_by_interior_point(self, name, rng):
        problem = relax_case(name, rng)
        result = interior_point(problem)
        assert result.status is Status.FINISHED
        assert result.objective == pytest.approx(relax_optimum(problem), rel=1e-5)
        assert 0 <= result.gap <= 1e-4  # its multiplier proves it

    @pytest.mark.parametrize("penalty", ["projection", "difference"])
    @pytest.mark.parametrize(
        ("name", "dtype"),
        [
            ("hankel", "float64"),
            ("hankel", "complex128"),
            ("hankel-block", "float64"),
            ("toeplitz-2d", "complex128"),
            ("indexed", "float64"),
            ("affine", "float64"),
        ],
    )
    def test_of_reform2(self, name, dtype, penalty, rng):
        structure = AFFINE if name == "affine" else STRUCTURES[name]
        problem = modes_problem(structure, rng, dtype)
        optimum = conic_optimum(problem, 2.0, penalty)
        result = apg_svt(problem, 2.0, penalty=penalty, stop=TIGHT)
        assert result.status is Status.SOLVED
        assert result.objective == pytest.approx(optimum, rel=1e-4)
        assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-6)
        ours = gcgls(problem, 2.0, penalty=penalty, stop=TIGHT)
        assert ours.objective == pytest.approx(result.objective, rel=1e-4)

    def test_zero_solution_is_proved_at_once(self, rng):
        problem = modes_problem(STRUCTURES["hankel"], rng, mu=1.01)
        for solver in ON_RELAX[:4]:  # those that start from zero
            result = solver(problem, stop=TIGHT)
            assert result.iterations == 0
            assert result.gap == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize("solver", ON_RELAX)
    def test_from_another_start(self, solver, rng):
        problem = relax_case("hankel", rng)
        one, other = (solver(problem, start=start, stop=TIGHT) for start in (None, np.ones(13)))
        assert one.objective == pytest.approx(other.objective, rel=1e-4)

    @pytest.mark.parametrize("kind", ["real", "complex", "offset"])
    def test_single_precision_stays_single(self, kind, rng):
        structure = AFFINE if kind == "offset" else STRUCTURES["hankel"]
        dtype = "complex64" if kind == "complex" else "float32"
        problem = modes_problem(structure, rng, dtype)
        optimum = relax_optimum(problem)
        for solver in ON_RELAX:
            result = solver(problem, stop=Stop(max_iter=2000, xtol=None, rtol=None, gap=1e-3))
            assert result.y.dtype == np.dtype(dtype), solver.__name__
            assert result.objective == pytest.approx(optimum, rel=2e-3), solver.__name__

    def test_of_reform2_with_an_operator(self, rng):
        problem = relax_case("operator", rng)
        dense, thin = (solver(problem, 1.0, stop=TIGHT) for solver in (apg_svt, gcgls))
        assert dense.objective == pytest.approx(thin.objective, rel=1e-4)

    def test_rank_of_factored_admm_is_that_of_its_matrix(self, rng):
        problem = modes_problem(STRUCTURES["hankel"], rng, mu=0.6)
        one, other = (solver(problem, stop=TIGHT) for solver in (factored_admm, padmm))
        assert one.rank == other.rank < 5

    @pytest.mark.parametrize("solver", ON_RELAX)
    def test_of_data_that_are_zero(self, solver):
        result = solver(Problem(Hankel(9, window=5), np.zeros(9), 1.0), start=np.zeros(9))
        assert result.status.converged
        assert result.objective == 0.0
        assert np.all(result.y == 0)

    def test_a_signal_that_still_moves_has_not_converged(self):
        problem = Problem(Hankel(9, window=5), np.arange(9.0), 1e3)
        stop = Stop(max_iter=5000, rtol=None)
        for solver in (padmm, padmm2, dppa):  # their X is zero from the start
            result = solver(problem, start=np.full(9, 5.0), stop=stop)
            assert result.status is Status.SMALL_STEP
            assert result.gap <= 1e-2, solver.__name__


class TestWeightedSlra:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_completes_a_signal_of_exact_rank(self, rng, dtype):
        t = np.arange(30)
        poles = np.array([0.97, 0.8]) * (np.exp([0.5j, 2j]) if dtype == "complex128" else 1)
        truth = (poles ** t[:, None]).sum(axis=1).astype(dtype)
        seen = rng.random(30) < 0.6
        seen[:3] = True
        problem = Problem(Hankel(30, window=12), np.where(seen, truth, np.nan), 1.0, Mask(seen))
        stop = Stop(max_iter=300, xtol=None, rtol=1e-9)
        result = weighted_slra(problem, 2, stop=stop)
        assert np.linalg.norm(result.y - truth) <= 1e-3 * np.linalg.norm(truth)
        assert result.history.violation[-1] <= 1e-4

    def test_stops_at_a_stationary_point(self, rng):
        problem = modes_problem(STRUCTURES["hankel"], rng)
        lam = 50.0
        result = weighted_slra(problem, 2, lam=lam, stop=Stop(3000, xtol=None, rtol=1e-14))

        def value(X):
            y = problem.structure.average_dense(X)
            residual = problem.measure.forward(y) - problem.data
            departure = X - problem.structure.to_dense(y)
            return (np.sum(residual**2) + lam * np.sum(departure**2)) / 2

        assert value(result.X.to_dense()) == pytest.approx(result.objective, rel=1e-9)
        for _ in range(20):
            dU, dV = (1e-4 * random_array(rng, F.shape) for F in (result.X.U, result.X.V))
            nearby = LowRank(result.X.U + dU, result.X.V + dV)
            assert value(nearby.to_dense()) >= result.objective * (1 - 1e-9)

    def test_claims_no_certificate(self, rng):
        problem = modes_problem(STRUCTURES["hankel"], rng)
        assert weighted_slra(problem, 2, stop=Stop(max_iter=500)).gap == 1.0


BY_GRAM = Decomposition(max_svd_entries=0)


class TestParts:
    @pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("by_gram", [False, True])
    def test_thresholding(self, rng, shape, dtype, by_gram):
        how = BY_GRAM if by_gram else Decomposition()
        Z = random_array(rng, shape, dtype)
        U, s, Vh = np.linalg.svd(Z, full_matrices=False)
        tolerance = 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-12
        for threshold in (0.5 * s[3], 1.1 * s[0]):
            expected = (U * np.maximum(s - threshold, 0)) @ Vh
            got = threshold_singular_values(Z, threshold, how)
            assert got.rank == np.count_nonzero(s > threshold)
            assert got.U.dtype == np.dtype(dtype)
            np.testing.assert_allclose(got.to_dense(), expected, atol=tolerance * s[0])
        np.testing.assert_allclose(singular_values(Z, how), s, rtol=1e3 * tolerance)

    def test_tiny_thresholds_do_without_gram_matrices(self, rng):
        U, V = (np.linalg.qr(random_array(rng, (n, 3)))[0] for n in (8, 10))
        Z = (U * [1.0, 1e-7, 1e-9]) @ V.T
        got = threshold_singular_values(Z, 1e-8, BY_GRAM)
        np.testing.assert_allclose(got.singular_values()[1], 9e-8, rtol=1e-6)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_adjoint_is_that_of_the_structure(self, structure, dtype, rng):
        b = random_array(rng, structure.signal_shape, dtype)
        dense = DenseProblem(Problem(structure, b, 1.0))
        X = random_array(rng, structure.shape, dtype)
        got = dense.adjoint(X)
        assert got.dtype == np.dtype(dtype)
        expected = structure.adjoint_dense(X)
        tolerance = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, expected, atol=tolerance * np.abs(expected).max())

    @pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "toeplitz-2d", "hankel-3d"])
    def test_differences_of_shifted_parts_are_the_sparse_matrix(self, name, rng):
        structure = STRUCTURES[name]
        boxes, sparse = _Boxes(structure.differences()), _Sparse(structure)
        X = random_array(rng, structure.shape)
        np.testing.assert_allclose(boxes.pull(X), sparse.pull(X), atol=1e-12)
        assert boxes.norm == sparse.norm

    @pytest.mark.parametrize("name", ["operator", "operator-complex", "weights"])
    def test_normal_equations(self, name, rng):
        problem = relax_case(name, rng)
        dense = DenseProblem(problem)
        right = random_array(rng, dense.backprojection.shape, dense.backprojection.dtype)
        y = dense.solve(0.3, right, np.zeros_like(right))
        again = dense.backward(dense.forward(y)) + 0.3 * dense.multiplicity * y
        np.testing.assert_allclose(again, right, atol=1e-8)

    @pytest.mark.parametrize("name", ["operator", "differences"])
    def test_norm_of_the_measure(self, name, rng):
        dense = DenseProblem(relax_case(name, rng))
        A = np.stack([dense.forward(e) for e in np.eye(13)], axis=1)
        assert 1 <= dense.measure_norm / np.linalg.norm(A, 2) ** 2 <= 1.02

    @pytest.mark.parametrize("size", [1, 2, 3, 4])
    def test_norm_of_the_measure_of_a_short_signal(self, size):
        twice = Operator(lambda y: 2 * y, lambda d: 2 * d)
        b = np.ones(size, dtype=complex)
        dense = DenseProblem(Problem(Hankel(size, window=1), b, 1.0, twice))
        assert dense.measure_norm == pytest.approx(4, rel=0.02)

    def test_gram_matrices_of_single_precision_are_double(self):
        Z = (np.ones((40, 1)) @ np.ones((1, 50)) / np.sqrt(2000)).astype(np.float32)
        assert threshold_singular_values(Z, 1e-4, BY_GRAM).rank == 1
        assert np.sum(singular_values(Z, BY_GRAM)) == pytest.approx(1, rel=1e-5)


class TestBadInput:
    @pytest.mark.parametrize("solver", [*ON_RELAX, interior_point])
    def test_other_libraries(self, solver):
        b = to_library(np.arange(5.0), "array_api_strict")
        with pytest.raises(TypeError, match="NumPy arrays only"):
            solver(Problem(Hankel(5, window=3), b, 1.0))

    @pytest.mark.parametrize("solver", [*ON_RELAX, interior_point])
    def test_no_problem(self, solver):
        with pytest.raises(TypeError, match="problem is int, but a Problem is expected"):
            solver(3)

    @pytest.mark.parametrize("solver", ON_RELAX)
    @pytest.mark.parametrize(
        ("start", "error", "says"),
        [
            (np.ones(4), ValueError, r"start has shape \(4,\)"),
            (np.full(5, np.nan), ValueError, "finite"),
            (np.ones(5) * 1j, TypeError, "start is complex"),
            (LowRank(np.ones((3, 1)), np.ones((3, 1))), TypeError, "start is a LowRank"),
        ],
    )
    def test_start(self, solver, start, error, says):
        with pytest.raises(error, match=says):
            solver(Problem(Hankel(5, window=3), np.arange(5.0), 1.0), start=start)

    @pytest.mark.parametrize("solver", ON_RELAX)
    def test_beta(self, solver):
        with pytest.raises(ValueError, match="beta is -1"):
            solver(Problem(Hankel(5, window=3), np.arange(5.0), 1.0), beta=-1)

    @pytest.mark.parametrize("solver", [padmm, padmm2, dadmm2])
    @pytest.mark.parametrize("relaxation", [0.0, 1.7, np.nan])
    def test_relaxation(self, solver, relaxation):
        with pytest.raises(ValueError, match="between 0 and 1.618"):
            solver(Problem(Hankel(5, window=3), np.arange(5.0), 1.0), relaxation=relaxation)

    @pytest.mark.parametrize("start", [np.ones((3, 3)), LowRank(*[np.ones((3, 2)) * 1j] * 2)])
    def test_matrix_start(self, start):
        problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)
        with pytest.raises(TypeError, match="start is"):
            apg_svt(problem, 1.0, start=start)
        with pytest.raises(TypeError, match="start is"):
            weighted_slra(problem, 2, start=start)

    def test_of_apg_svt(self):
        problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)
        with pytest.raises(ValueError, match="penalty is 'none'"):
            apg_svt(problem, 1.0, penalty="none")
        with pytest.raises(ValueError, match="lam is 0"):
            apg_svt(problem, 0)
        with pytest.raises(ValueError, match=r"start has shape \(2, 2\)"):
            apg_svt(problem, 1.0, start=LowRank(np.ones((2, 1)), np.ones((2, 1))))

    def test_of_weighted_slra(self):
        problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)
        with pytest.raises(ValueError, match="rank is 4, but a matrix of"):
            weighted_slra(problem, 4)
        with pytest.raises(ValueError, match="growth is 1"):
            weighted_slra(problem, 2, growth=1)
        with pytest.raises(ValueError, match="offset"):
            weighted_slra(Problem(AFFINE, np.arange(3.0), 1.0), 1)

    def test_interior_point_without_cvxpy(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cvxpy", None)
        with pytest.raises(ImportError, match=r"pip install \"structrank\[conic\]\""):
            interior_point(Problem(Hankel(5, window=3), np.arange(5.0), 1.0))

"""solve and homotopy: the optimum of (relax), bounds that hold at every iterate, their parts."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, nightly, random_array, to_library
from conic import _terms, modes_problem, relax_optimum

from structrank import (
    ConvergenceWarning,
    Hankel,
    Indexed,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Status,
    Stop,
    Weighted,
    homotopy,
    solve,
)
from structrank._array import to_numpy
from structrank.model import quartic
from structrank.model.certificate import DenseLimit, nuclear_norm_bound
from structrank.model.linalg import random_vector, top_singular_pairs
from structrank.solvers import exact, polish
from structrank.solvers.augmented import Augmented, MultiplierPenalty
from structrank.solvers.multipliers import symmetric_pairs
from structrank.solvers.polish import Polishing, polished

ALL = {
    **STRUCTURES,
    "affine": AFFINE,
    "hankel-square": Hankel(11, window=6),
    "hankel-2d-square": Hankel((5, 3), window=(3, 2)),
}
running_mean = Operator(lambda y: (y + np.roll(y, 1)) / 2, lambda d: (d + np.roll(d, -1)) / 2)


def make_problem(name, dtype, kind, rng):
    S = ALL[name]
    if kind == "mask":
        return modes_problem(S, rng, dtype)
    if kind == "operator":
        return modes_problem(S, rng, dtype, measure=running_mean)
    size = int(np.prod(S.signal_shape))
    weights = np.linspace(0.2, 1.5, size).reshape(S.signal_shape)
    return modes_problem(S, rng, dtype, measure=Weighted(weights))


SLOW = [  # for the conic solvers; the other type of number is enough every day
    ("hankel-2d", "complex128"),
    ("hankel-2d-block", "complex128"),
    ("hankel-3d", "float64"),
    ("toeplitz-2d-block", "complex128"),
]
CASES = [
    (nightly if (name, dtype) in SLOW else pytest.param)(
        name, dtype, ("mask", "weights", "operator")[(i + j) % 3]
    )
    for i, name in enumerate(ALL)
    for j, dtype in enumerate(("float64", "complex128"))
]


def use_thin_factors(monkeypatch):
    """Solve small problems as large ones are solved."""
    monkeypatch.setattr(exact, "suits", lambda problem: False)


class TestOptimum:
    @pytest.mark.parametrize(("name", "dtype", "kind"), CASES)
    def test_is_that_of_two_conic_solvers_and_every_bound_holds(
        self, name, dtype, kind, rng, monkeypatch
    ):
        problem = make_problem(name, dtype, kind, rng)
        optimum, other = relax_optimum(problem), first_order_optimum(problem)
        for dense in (True, False):
            if not dense:
                use_thin_factors(monkeypatch)
            iterates = []
            result = solve(problem, 1e-7, callback=iterates.append)
            assert result.status is Status.SOLVED
            assert result.objective == pytest.approx(optimum, rel=1e-6)
            assert result.objective == pytest.approx(other, rel=1e-6)
            for state in iterates:
                assert state.objective * (1 - state.gap) <= optimum * (1 + 1e-7)
                assert state.objective >= optimum * (1 - 1e-7)
                assert value_of_relax(problem, state.y) <= state.objective * (1 + 1e-9)
            assert value_of_relax(problem, result.y) == pytest.approx(result.objective, rel=1e-9)

    @pytest.mark.parametrize("size", [30, nightly(60)])
    def test_of_larger_matrices(self, size, rng, monkeypatch):
        """Matrices for which interior point methods take too long, compared with SCS."""
        problem = modes_problem(Hankel(2 * size - 1, window=size), rng)
        optimum = first_order_optimum(problem, 1e-8)
        for form_small_ones, gap in ((True, 3e-7), (False, 1e-5)):
            if not form_small_ones:
                monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
            iterates = []
            result = solve(problem, gap, callback=iterates.append)
            assert result.objective == pytest.approx(optimum, rel=gap + 2e-7)
            for state in iterates:
                assert state.objective * (1 - state.gap) <= optimum * (1 + 1e-7)
                assert state.objective >= optimum * (1 - 1e-7)

    @pytest.mark.parametrize("kind", ["mask", "operator"])
    @pytest.mark.parametrize("form_small_ones", [True, False])
    @pytest.mark.parametrize("name", ["hankel", nightly("hankel-2d")])
    def test_gap_is_valid_wherever_the_run_ends(
        self, name, kind, form_small_ones, rng, monkeypatch
    ):
        if not form_small_ones:
            monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        problem = make_problem(name, "complex128", kind, rng)
        optimum = relax_optimum(problem)
        for iterations in range(1, 7):
            with pytest.warns(ConvergenceWarning):
                result = solve(problem, 1e-12, max_iter=iterations)
            assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-7)
            assert optimum * (1 - 1e-7) <= value_of_relax(problem, result.y)
            assert value_of_relax(problem, result.y) <= result.objective * (1 + 1e-12)

    def test_large_matrices_are_not_formed(self, rng, monkeypatch):
        problem = plain_mask_problem(400, rng)
        dense = solve(problem, 1e-3)
        monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        monkeypatch.setattr(Hankel, "linear_to_dense", None)
        monkeypatch.setattr(Hankel, "index", None)
        result = solve(problem, 1e-3)
        assert result.status is Status.SOLVED
        assert result.objective == pytest.approx(dense.objective, rel=1e-3)

    @pytest.mark.parametrize("dense", [True, False])
    def test_zero_solution_is_proved_at_once(self, dense, rng, monkeypatch):
        if not dense:
            use_thin_factors(monkeypatch)
        problem = modes_problem(STRUCTURES["hankel"], rng, mu=1.01)
        result = solve(problem)
        assert result.iterations == 0
        assert result.gap == pytest.approx(0, abs=1e-12)
        np.testing.assert_array_equal(result.y, 0)

    @pytest.mark.parametrize("dense", [True, False])
    def test_zero_data(self, dense, monkeypatch):
        if not dense:
            use_thin_factors(monkeypatch)
        result = solve(Problem(Hankel(9, window=5), np.zeros(9), 1.0))
        assert result.objective == 0
        assert result.gap == 0

    @pytest.mark.parametrize("dense", [True, False])
    def test_start_at_the_solution(self, dense, rng, monkeypatch):
        if not dense:
            use_thin_factors(monkeypatch)
        problem = plain_mask_problem(60, rng)
        first = solve(problem, 1e-6)
        again = solve(problem, 1e-2, start=first.X)
        assert again.iterations <= 3
        assert again.objective <= first.objective * (1 + 1e-5)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    @pytest.mark.parametrize("dtype", ["float32", "complex128"])
    def test_other_array_libraries(self, library, dtype, rng, monkeypatch):
        monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        problem = modes_problem(Hankel((6, 5), window=(3, 2)), rng, dtype)
        there = Problem(
            problem.structure, to_library(problem.b, library), problem.mu, problem.measure
        )
        here, result = solve(problem, 1e-2), solve(there, 1e-2)
        assert result.status is Status.SOLVED
        assert result.objective == pytest.approx(here.objective, rel=2e-2)
        assert type(result.y) is type(there.b)
        assert result.y.dtype == there.b.dtype
        assert np.all(np.isfinite(to_numpy(result.y)))

    @pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
    @pytest.mark.parametrize("dense", [True, False])
    def test_scale_of_the_data_does_not_matter(self, scale, dense, rng, monkeypatch):
        if not dense:
            use_thin_factors(monkeypatch)
        problem = plain_mask_problem(60, rng)
        scaled = Problem(problem.structure, scale * problem.b, scale * problem.mu, problem.measure)
        one, other = solve(problem, 1e-4), solve(scaled, 1e-4)
        assert other.objective == pytest.approx(scale**2 * one.objective, rel=1e-4)
        assert abs(other.iterations - one.iterations) <= 2


def first_order_optimum(problem, tolerance=1e-7):
    """The optimal value of (relax) by SCS."""
    _, matrix, residual = _terms(problem)
    value = cp.sum_squares(residual) / 2 + problem.mu * cp.normNuc(matrix)
    program = cp.Problem(cp.Minimize(value))
    options = {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 50_000}
    return program.solve(solver=cp.SCS, **options)


def value_of_relax(problem, y):
    residual = problem.measure.forward(y) - problem.data
    nuclear_norm = np.linalg.norm(problem.structure.to_dense(y), "nuc")
    return np.linalg.norm(residual) ** 2 / 2 + problem.mu * nuclear_norm


def plain_mask_problem(length, rng):
    """Two noisy tones, half seen, with weights that make (reform2) badly conditioned."""
    t = np.arange(length)
    b = np.cos(0.31 * t) + 0.6 * np.sin(1.1 * t) + 0.1 * rng.standard_normal(length)
    seen = rng.random(length) < 0.5
    return Problem(Hankel(length, window=length // 2), b, 0.1, Mask(seen))


class TestHomotopy:
    @pytest.mark.parametrize("penalty", ["projection", "difference"])
    @pytest.mark.parametrize("name", ["hankel", "affine"])
    def test_tends_to_the_optimum(self, name, penalty, rng):
        problem = make_problem(name, "float64", "mask", rng)
        optimum = relax_optimum(problem)
        iterates = []
        inner = Stop(max_iter=500, xtol=None, rtol=None, gap=1e-4)
        lams = [1.0, 10.0, 100.0]
        result = homotopy(problem, lams, penalty=penalty, stop=inner, callback=iterates.append)
        assert result.status is Status.FINISHED
        assert result.objective == pytest.approx(optimum, rel=2e-3)
        assert result.gap <= 2e-2
        assert len(iterates) == 4
        for state in iterates:
            assert state.objective * (1 - state.gap) <= optimum * (1 + 1e-7)
            assert state.objective >= optimum * (1 - 1e-7)
        violations = result.history.violation[1:]
        assert all(b < a for a, b in itertools.pairwise(violations))


class TestProbableBound:
    """`top_singular_pairs(..., failure=...)`: above the top singular value, and closing in."""

    @staticmethod
    def top(A, steps, seed, tolerance=0.0):
        start = random_vector(A.shape[1], A, seed=seed)
        return top_singular_pairs(
            lambda v: A @ v,
            lambda u: A.conj().T @ u,
            start,
            tolerance=np.inf,
            max_steps=steps,
            failure=1e-10,
            bound_tolerance=tolerance,
        )

    @pytest.mark.parametrize(
        "values",
        [
            np.linspace(1, 0.9, 30),  # hardly any gap
            np.r_[1 + 1e-9, np.ones(29)],  # a cluster with one a little above it
            np.r_[np.ones(10), np.zeros(20)],
            np.r_[1.0, 0.999, np.full(28, 1e-3)],
            np.logspace(0, -12, 30),
            np.r_[1e-8 * np.ones(29), 1.0],
        ],
        ids=["flat", "cluster", "rank-deficient", "pair", "decay", "outlier"],
    )
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_is_never_too_low(self, values, dtype, rng):
        for seed in range(40):
            U, V = (np.linalg.qr(random_array(rng, (30, 30), dtype))[0] for _ in range(2))
            A = (U * values) @ V.conj().T
            for steps in (1, 2, 5, 12):
                top = self.top(A, steps, seed)
                assert top.upper >= values.max() * (1 - 1e-14)
                assert top.values[0] <= values.max() * (1 + 1e-13)

    def test_tends_to_the_top_singular_value(self, rng):
        A = rng.standard_normal((200, 300))
        true = np.linalg.norm(A, 2)
        excess = [self.top(A, steps, 0).upper / true - 1 for steps in (10, 20, 40, 80)]
        assert all(b < a for a, b in itertools.pairwise(excess))
        assert excess[-1] < 1e-3

    def test_stops_at_the_tolerance_asked_for(self, rng):
        A = rng.standard_normal((200, 300))
        top = self.top(A, 300, 0, tolerance=1e-2)
        assert 1 < top.upper / top.values[0] <= 1.01

    def test_zero_matrix(self):
        assert self.top(np.zeros((4, 5)), 10, 0).upper == 0


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestPolished:
    def near(self, S, dtype, rng):
        """A signal near one whose matrix has rank two, and the rows of that matrix."""
        t = np.indices(S.signal_shape)[: len(getattr(S, "lengths", (1,)))].sum(axis=0)
        y = 0.9**t + (-0.8) ** t
        V = np.linalg.svd(S.to_dense(y))[2][:2].conj().T.astype(dtype)
        return y + 1e-3 * random_array(rng, S.signal_shape, dtype), V

    @pytest.mark.parametrize("name", ["hankel", "hankel-2d", "hankel-3d", "toeplitz"])
    def test_matrix_has_the_rank_asked_for(self, name, dtype, rng):
        S = STRUCTURES[name]
        y, V = self.near(S, dtype, rng)
        z, X = polished(S, y, V)
        before, after = (np.linalg.svd(S.to_dense(x), compute_uv=False)[2] for x in (y, z))
        assert after < 0.02 * before
        assert np.linalg.norm(z - y) < 10 * np.linalg.norm(S.to_dense(y) - X.to_dense())
        assert X.rank == 2
        np.testing.assert_allclose(X.to_dense(), S.to_dense(z), atol=30 * after)

    @pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "sylvester", "affine"])
    def test_step_is_that_of_least_squares(self, name, dtype, rng):
        S, accurate = ALL[name], Polishing(cg_steps=500, cg_tolerance=1e-12)
        y = random_array(rng, S.signal_shape, dtype)
        U, _, Vh = np.linalg.svd(S.to_dense(y))
        U, V = U[:, :2], Vh[:2].conj().T

        def outside(X):
            X = X - U @ (U.conj().T @ X)
            return (X - X @ V @ V.conj().T).reshape(-1)

        unit = np.eye(y.size).reshape(y.size, *S.signal_shape)
        columns = np.stack([outside(S.linear_to_dense(e)) for e in unit], axis=1)
        z = polish._outside(S, y, U, V, accurate)
        got, full = columns @ z.reshape(-1), outside(S.to_dense(y))
        best = columns @ np.linalg.lstsq(columns, full, rcond=1e-10)[0]
        np.testing.assert_allclose(got, best, atol=1e-6 * np.linalg.norm(full))


class TestNuclearNormBound:
    @pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "sylvester", "affine"])
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_is_above_and_tight_on_the_row_space(self, name, dtype, rng, monkeypatch):
        S = ALL[name]
        y = random_array(rng, S.signal_shape, dtype)
        true = np.linalg.norm(S.to_dense(y), "nuc")
        assert nuclear_norm_bound(S, y, np.ones((S.shape[1], 1))) == pytest.approx(true)
        monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        for rank in range(1, min(S.shape)):
            guess = random_array(rng, (S.shape[1], rank), dtype)
            assert nuclear_norm_bound(S, y, guess) >= true * (1 - 1e-12)
        V = np.linalg.svd(S.to_dense(y), full_matrices=False)[2].conj().T
        assert nuclear_norm_bound(S, y, V) == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "toeplitz-2d", "indexed", "affine"])
class TestAugmented:
    """The augmented Lagrangian against its definition on dense matrices."""

    lam, weight = 1.7, 2.3

    @pytest.fixture
    def case(self, name, dtype, rng):
        S = ALL[name]
        problem = make_problem(name, dtype, "mask", rng)
        T, X, D = (LowRank(*(random_array(rng, (n, 2), dtype) for n in S.shape)) for _ in range(3))
        gamma = problem.measure.forward(random_array(rng, S.signal_shape, dtype))
        return Augmented(problem, self.lam, T, gamma, self.weight), gamma, X, D

    def departure(self, objective, X):
        """`B (X - Q0 + (T - weight Q0) / lam)`, dense."""
        S = objective.structure
        Q0 = np.zeros(S.shape) if S.offset is None else S.offset
        Z = X - Q0 + (objective.T.to_dense() - self.weight * Q0) / self.lam
        return Z - S.linear_to_dense(S.average_dense(Z))

    def multiplier(self, objective, gamma):
        """Lambda, dense."""
        S = objective.structure
        Q0 = np.zeros(S.shape) if S.offset is None else S.offset
        D = self.weight * Q0 - objective.T.to_dense()
        structured = objective.problem.measure.adjoint(gamma) / S.multiplicity
        return D + S.linear_to_dense(structured - S.average_dense(D))

    def lagrangian(self, problem, lam, Lambda, X):
        """Value without the nuclear norm, gradient, and the best y."""
        S = problem.structure
        Q0 = np.zeros(S.shape) if S.offset is None else S.offset
        right = problem.backprojection + S.adjoint_dense(lam * (X - Q0) - Lambda)
        y = right / (problem.measure.weights**2 + lam * S.multiplicity)
        residual, rest = problem.measure.forward(y) - problem.data, S.to_dense(y) - X
        value = np.linalg.norm(residual) ** 2 / 2 + np.vdot(Lambda, rest).real
        return value + lam / 2 * np.linalg.norm(rest) ** 2, -Lambda - lam * rest, y

    def test_value_of_the_penalty(self, case):
        objective, _, X, _ = case
        expected = np.linalg.norm(self.departure(objective, X.to_dense())) ** 2
        assert isinstance(objective.penalty, MultiplierPenalty)
        assert objective.penalty.value(objective.at(X)) == pytest.approx(expected, rel=1e-11)

    def test_value_up_to_a_constant(self, case):
        objective, gamma, X, D = case
        got = [objective.smooth(objective.at(Z)) for Z in (X, D)]
        Lambda, problem = self.multiplier(objective, gamma), objective.problem
        expected = [self.lagrangian(problem, self.lam, Lambda, Z.to_dense())[0] for Z in (X, D)]
        assert got[1] - got[0] == pytest.approx(expected[1] - expected[0], rel=1e-9)

    def test_gradient_and_gamma(self, case):
        objective, gamma, X, _ = case
        point, problem = objective.at(X), objective.problem
        Lambda = self.multiplier(objective, gamma)
        _, expected, y = self.lagrangian(problem, self.lam, Lambda, X.to_dense())
        got = objective.gradient(point).matmul(np.eye(X.shape[1], dtype=X.U.dtype))
        np.testing.assert_allclose(got, expected, atol=1e-11 * np.linalg.norm(expected))
        U, V = objective.factor_gradient(point)
        mu = objective.mu
        np.testing.assert_allclose(U, expected @ X.V + mu * X.U, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(V, expected.conj().T @ X.U + mu * X.V, rtol=1e-9, atol=1e-9)
        residual = problem.data - problem.measure.forward(y)
        np.testing.assert_allclose(objective.gamma(point), residual, rtol=1e-9, atol=1e-9)

    def test_quartic_along_a_line(self, case):
        objective, _, X, D = case
        line = objective.line(objective.at(X.copy()), D.U, D.V)
        for t in (-1.3, 0.0, 0.4, 2.0):
            moved = objective.at(LowRank(X.U + t * D.U, X.V + t * D.V))
            assert quartic.value(line.psi, t) == pytest.approx(objective.psi(moved), rel=1e-10)
        moved = objective.line(objective.at(X.copy()), D.U, D.V).move(0.4)
        fresh = objective.at(LowRank(X.U + 0.4 * D.U, X.V + 0.4 * D.V))
        for got, expected in zip(moved.products, fresh.products, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)

    def test_slope_and_curvature_along_X(self, case):
        objective, gamma, X, _ = case
        point, dense = objective.at(X), X.to_dense()
        slope = objective.slope_at_zero(point) + objective.curvature(point)
        Lambda = self.multiplier(objective, gamma)
        gradient = self.lagrangian(objective.problem, self.lam, Lambda, dense)[1]
        assert slope == pytest.approx(np.vdot(gradient, dense).real, rel=1e-9)

    def test_update_takes_the_gradient_for_the_multiplier(self, case):
        objective, gamma, X, _ = case
        dense, problem = X.to_dense(), objective.problem
        Lambda = self.multiplier(objective, gamma)
        Lambda = -self.lagrangian(problem, self.lam, Lambda, dense)[1]
        expected = self.lagrangian(problem, 3.1, Lambda, dense)[1]
        updated = objective.updated(objective.at(X), 3.1, 1e-13)
        gradient = updated.gradient(updated.at(X))
        got = gradient.matmul(np.eye(X.shape[1], dtype=X.U.dtype))
        np.testing.assert_allclose(got, expected, atol=1e-10 * np.linalg.norm(expected))

    def test_relaxed_update_goes_further(self, case):
        objective, gamma, X, _ = case
        dense, problem = X.to_dense(), objective.problem
        Lambda = self.multiplier(objective, gamma)
        there = -self.lagrangian(problem, self.lam, Lambda, dense)[1]
        beyond = Lambda + 1.5 * (there - Lambda)
        expected = self.lagrangian(problem, 3.1, beyond, dense)[1]
        updated = objective.updated(objective.at(X), 3.1, 1e-13, relaxation=1.5)
        gradient = updated.gradient(updated.at(X))
        got = gradient.matmul(np.eye(X.shape[1], dtype=X.U.dtype))
        np.testing.assert_allclose(got, expected, atol=1e-10 * np.linalg.norm(expected))


def test_operators_have_a_multiplier_of_the_structure_alone(rng):
    problem = make_problem("hankel", "float64", "operator", rng)
    S = problem.structure
    X, T = (LowRank(*(rng.standard_normal((n, 2)) for n in S.shape)) for _ in range(2))
    objective, plain = Augmented(problem, 1.7, T, problem.data), Penalized(problem, 1.7)
    B = T.to_dense() - S.to_dense(S.average(T.U, T.V))
    got, expected = (o.gradient(o.at(X)).matmul(np.eye(S.shape[1])) for o in (objective, plain))
    np.testing.assert_allclose(got, expected + B, atol=1e-11)


class TestBadInput:
    problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)

    @pytest.mark.parametrize(
        ("options", "error", "says"),
        [
            ({"gap": 0}, ValueError, "gap is 0, but a finite number above zero"),
            ({"gap": "small"}, ValueError, "gap is 'small'"),
            ({"max_iter": 0}, ValueError, "max_iter is 0"),
            ({"max_time": -1.0}, ValueError, "max_time is -1"),
            ({"start": np.ones((3, 3))}, TypeError, "start is ndarray, but a LowRank"),
            ({"start": LowRank(np.ones((2, 1)), np.ones((2, 1)))}, ValueError, "start has shape"),
            ({"callback": 3}, TypeError, "callback is int"),
        ],
    )
    def test_of_solve(self, options, error, says):
        with pytest.raises(error, match=says):
            solve(self.problem, **options)

    @pytest.mark.parametrize(
        ("lams", "says"),
        [
            ([], "one or more numbers"),
            ([1.0, 1.0], "numbers in increasing order"),
            ([2.0, 1.0], "numbers in increasing order"),
            ([-1.0], "lam is -1"),
        ],
    )
    def test_of_homotopy(self, lams, says):
        with pytest.raises(ValueError, match=says):
            homotopy(self.problem, lams)

    @pytest.mark.parametrize("solver", [solve, lambda p: homotopy(p, [1.0])])
    def test_no_problem(self, solver):
        with pytest.raises(TypeError, match="problem is int, but a Problem is expected"):
            solver(3)

    def test_unknown_penalty_of_homotopy(self):
        with pytest.raises(ValueError, match="penalty is 'l1'"):
            homotopy(self.problem, [1.0], penalty="l1")


class TestSymmetric:
    """Symmetric matrices are searched for in one factor."""

    def test_pairs_of_both_signs(self, rng):
        """Lanczos finds one vector for two equal singular values; its span contains both."""
        Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        A = (Q * [3.0, -3.0, 2.0, -1.0, *np.zeros(8)]) @ Q.T
        found = top_singular_pairs(lambda v: A @ v, lambda u: A.T @ u, rng.standard_normal(12), 3)
        np.testing.assert_allclose(found.values, [3, 2, 1])

        class Descent:
            matmul = staticmethod(lambda Z: -A @ Z)

        pairs = symmetric_pairs(Descent, found)
        np.testing.assert_allclose(pairs.values, [3, 3, 2])
        np.testing.assert_allclose(A @ pairs.V, pairs.U * pairs.values, atol=1e-12)
        np.testing.assert_array_equal(np.abs(pairs.U), np.abs(pairs.V))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_one_factor_all_the_way(self, rng, dtype, monkeypatch):
        use_thin_factors(monkeypatch)
        problem, widths = modes_problem(Hankel(41, window=21), rng, dtype), set()
        gradient = Penalized.factor_gradient

        def counted(self, point):
            factors = gradient(self, point)
            widths.add(len(factors))
            return factors

        monkeypatch.setattr(Penalized, "factor_gradient", counted)
        start = LowRank(*(random_array(rng, (21, 2), dtype) for _ in range(2)))
        aim = 1e-2 if dtype == "float32" else 1e-4
        result = solve(problem, aim, start=start)
        assert result.status is Status.SOLVED
        assert widths == {1}
        monkeypatch.setattr(Hankel, "symmetric", False)
        twin = solve(problem, aim)
        assert widths == {1, 2}
        assert result.objective == pytest.approx(twin.objective, rel=aim)


@pytest.mark.parametrize("shape", [(1200, 101), (101, 1200), (400, 380)])
def test_bound_of_the_nuclear_norm_holds_for_any_guess(shape, rng):
    """The bound also holds for dependent columns, and for as many columns as possible."""
    structure = Hankel(sum(shape) - 1, window=shape[0])
    y = rng.standard_normal(sum(shape) - 1)
    norm = np.sum(np.linalg.svd(structure.to_dense(y), compute_uv=False))
    for guess in (
        np.ones((shape[1], 80)),
        rng.standard_normal((shape[1], 5)),
        np.eye(shape[1])[:, :101],
    ):
        assert nuclear_norm_bound(structure, y, guess) >= norm


def test_square_structure_with_an_offset(rng):
    """Symmetric except for its offset: the same as with the index map."""
    b, offset = rng.standard_normal(9), rng.standard_normal((5, 5))
    hankel = Hankel(9, window=5)
    hankel.offset = offset
    one = solve(Problem(hankel, b, mu=0.3), gap=1e-7)
    other = solve(Problem(Indexed(Hankel(9, window=5).index(), offset), b, mu=0.3), gap=1e-7)
    assert one.objective == pytest.approx(other.objective, rel=1e-6)


def test_equal_singular_values_in_single_precision():
    """Lanczos' method ends after one step, with a bound far too large."""
    impulse = (np.arange(17) == 8).astype(np.float32)
    assert solve(Problem(Hankel(17, window=9), impulse, mu=0.1), gap=5e-3).status is Status.SOLVED


def test_zero_data_from_any_start(rng):
    problem = Problem(Hankel((5, 5), window=(3, 3)), np.zeros((5, 5)), 0.05, Weighted("lifted"))
    start = LowRank(rng.standard_normal((9, 2)), rng.standard_normal((9, 2)))
    result = solve(problem, start=start)
    assert result.status is Status.SOLVED
    assert result.objective == 0.0

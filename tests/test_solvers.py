"""GCG and GCGLS: the optimum, the rate, the descent, the certificate."""

from __future__ import annotations

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, nightly, random_array, to_library
from conic import conic_optimum, modes_problem
from literal import Literal

from benchmarks import steps as step_benchmark
from structrank import (
    ConvergenceWarning,
    Hankel,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Status,
    Stop,
    Toeplitz,
    Weighted,
    gcg,
    gcgls,
    mu_max,
    solve_many,
    structure_matrix,
)
from structrank._array import inner, to_numpy
from structrank.model.certificate import penalized_gap
from structrank.model.linalg import SingularPairs
from structrank.solvers import algorithm_1
from structrank.solvers.conditional_gradient import gcgls_states
from structrank.solvers.corrective import CorrectiveMemory, CorrectiveSteps
from structrank.solvers.driver import iterate
from structrank.solvers.gradient_state import Accuracy
from structrank.solvers.local_search import local_search
from structrank.solvers.step import NewPairs, atom, new_pairs
from structrank.structures.sparse import vec

TIGHT = Stop(max_iter=500, xtol=None, rtol=None, gap=1e-7)


CASES = [
    ("hankel", "float64"),
    ("hankel", "complex128"),
    ("hankel-2d", "float64"),
    ("hankel-block", "float64"),
    ("toeplitz", "float64"),
    ("sylvester", "float64"),
    ("circulant", "complex128"),
    ("indexed", "float64"),
    ("affine", "float64"),
    ("hessenberg", "float64"),
    ("hankel-2d-block", "float64"),
    ("toeplitz-2d", "complex128"),
]


@pytest.mark.quick
@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_optimum_equals_the_conic_solvers(name, dtype, penalty, rng):
    structure = AFFINE if name == "affine" else STRUCTURES[name]
    problem = modes_problem(structure, rng, dtype)
    optimum = conic_optimum(problem, 2.0, penalty)
    result = gcgls(problem, 2.0, penalty=penalty, stop=TIGHT)
    assert result.status is Status.SOLVED
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-6)
    literal = Literal(problem, 2.0, penalty)
    assert literal.phi(result.X.to_dense()) == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("step", ["joint", "paper"])
@pytest.mark.parametrize("dtype", ["float64", nightly("complex128")])
def test_gcg_reaches_the_conic_solvers_optimum(dtype, step, rng):
    # The printed step converges like 1/k, and fast only where the solution has rank one.
    problem = modes_problem(Hankel(7, window=3), rng, dtype, mu=0.5 if step == "joint" else 0.7)
    optimum = conic_optimum(problem, 1.0, "projection")
    result = gcg(problem, 1.0, step=step, stop=Stop(4000, xtol=None, rtol=None, gap=1e-5))
    assert result.status is Status.SOLVED
    assert result.objective == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("solver", [gcg, gcgls])
@pytest.mark.parametrize("step", ["paper", "joint"])
def test_rate_of_theorem_1(solver, step, rng):
    """`phi(X_k) - phi* <= 2 C / (k + 1)` with the constant of the proof."""
    problem = modes_problem(Hankel(15, window=7), rng)
    best = gcgls(problem, 1.0, stop=TIGHT)
    iterates = []
    start = LowRank.ones(problem.structure.shape, problem.b)
    stop = Stop(max_iter=60, xtol=None, rtol=None, gap=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver(problem, 1.0, step=step, pairs=1, start=start, stop=stop, callback=iterates.append)
    # Lipschitz constant in the Frobenius norm: 1/w on structured directions, lam on the rest.
    lipschitz, size = 1.0, best.X.nuclear_norm()
    widest = max((np.sqrt(s.X.norm_squared()) + size) ** 2 for s in iterates)
    C = max(lipschitz * widest, iterates[1].objective - best.objective)
    for k, state in enumerate(iterates[1:], start=1):
        assert state.objective - best.objective <= 2 * C / (k + 1)


@pytest.mark.quick
class TestAlgorithm1:
    """The printed algorithm, line by line, against a dense transcription."""

    @pytest.mark.parametrize("penalty", ["projection", "difference"])
    def test_iterates_without_local_search(self, rng, penalty):
        S = Hankel(11, window=5)
        problem = modes_problem(S, rng)
        literal = Literal(problem, 1.5, penalty)
        states = gcgls_states(
            problem,
            1.5,
            penalty=penalty,
            step="paper",
            pairs=1,
            search_steps=0,
            start=LowRank.ones(S.shape, problem.b),
            stop=Stop(max_iter=6, xtol=None, rtol=None, gap=1e-13),
            accuracy=Accuracy(coarsest_pair=1e-13),
        )
        iterates = list(itertools.islice(states, 7))
        X = np.ones(S.shape)
        for k in range(1, 7):
            U, _, Vh = np.linalg.svd(-literal.gradient(X))
            Z = np.outer(U[:, 0], Vh[0])
            eta = 2 / (k + 1)
            theta = minimize_h(literal, (1 - eta) * X, Z)
            X = (1 - eta) * X + theta * Z
            np.testing.assert_allclose(iterates[k].X.to_dense(), X, atol=1e-6)
            # phi, not its upper bound, is reported.
            assert iterates[k].objective == pytest.approx(literal.phi(X), rel=1e-6)

    def test_joint_step_is_never_worse_than_the_papers(self, rng):
        S = Hankel(11, window=5)
        problem = modes_problem(S, rng)
        start = gcgls(problem, 1.0, stop=TIGHT).X.scaled(0.7)
        one = {}
        for step in ("joint", "paper"):
            seen = []
            with pytest.warns(ConvergenceWarning):
                gcg(
                    problem,
                    1.0,
                    step=step,
                    start=start,
                    stop=Stop(max_iter=1, xtol=None, rtol=None),
                    callback=seen.append,
                )
            one[step] = seen[1].objective
        assert one["joint"] < one["paper"]


class TestDescent:
    """Theorem 1 asks for `psi(U_k, V_k) <= psi(U_{k-1}, V_{k-1})` after the local search."""

    STOP = Stop(max_iter=8, xtol=None, rtol=None)

    @pytest.mark.parametrize("step", ["joint", "paper"])
    @pytest.mark.parametrize("penalty", ["projection", "difference"])
    @pytest.mark.parametrize("search_steps", [1, 100])
    def test_the_objective_never_rises(self, rng, step, penalty, search_steps):
        problem = modes_problem(STRUCTURES["hankel"], rng, "complex128")
        shape = problem.structure.shape
        options = {"step": step, "penalty": penalty, "search_steps": search_steps}
        for start in (None, LowRank.ones(shape, problem.b), random_start(rng, shape)):
            states = gcgls_states(problem, 1.0, start=start, **options)
            result = iterate(states, problem, stop=self.STOP)
            objective = np.array(result.history.objective)
            assert np.all(objective[1:] <= (1 + Accuracy().pruned) * objective[:-1])

    def test_a_printed_step_that_raises_psi_gives_way_to_the_joint_one(self):
        """It removes the start, and a short search does not make up for it."""
        problem = modes_problem(STRUCTURES["hankel"], np.random.default_rng(0), "float64")
        X = gcgls(problem, 1.0, stop=Stop(xtol=None, rtol=None, gap=1e-3)).X
        printed, joint = (
            list(itertools.islice(gcgls_states(problem, 1.0, pairs=1, start=X, **options), 2))
            for options in ({"step": step, "search_steps": 1} for step in ("paper", "joint"))
        )
        np.testing.assert_array_equal(printed[1].y, joint[1].y)
        states = gcgls_states(problem, 1.0, step="paper", pairs=1, search_steps=0, start=X)
        objective, X_init = Penalized(problem, 1.0), list(itertools.islice(states, 2))[1].X
        searched = local_search(objective, X_init, max_steps=1, tolerance=0.0)
        assert X_init.rank == 1
        assert objective.psi(searched) > 1.05 * printed[0].objective

    @pytest.mark.parametrize("step", ["joint", "paper"])
    def test_a_search_that_ends_higher_is_not_accepted(self, rng, monkeypatch, step):
        def uphill(objective, X, **_):
            return X.scaled(2.0)

        monkeypatch.setattr("structrank.solvers.algorithm_1.search_in_pieces", uphill)
        problem = modes_problem(STRUCTURES["hankel"], rng, "float64")
        start = gcgls_states(problem, 1.0, search_steps=0)
        X = iterate(start, problem, stop=Stop(max_iter=20, xtol=None, rtol=None)).X
        states = gcgls_states(problem, 1.0, step=step, start=X)
        first, second = itertools.islice(states, 2)
        assert second.X is first.X


def random_start(rng, shape):
    return LowRank(*(random_array(rng, (n, 2), "complex128") for n in shape))


def minimize_h(literal, X, Z):
    """argmin over theta >= 0 of h_k by three evaluations of a parabola."""
    h = [literal.f(X + t * Z) + literal.mu * t for t in (0.0, 1.0, 2.0)]
    curvature = h[2] - 2 * h[1] + h[0]
    slope = h[1] - h[0] - curvature / 2
    return max(0.0, -slope / curvature)


@pytest.mark.quick
class TestLocalSearch:
    @pytest.mark.parametrize("penalty", ["projection", "difference"])
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "sylvester"])
    def test_psi_never_rises(self, name, dtype, penalty, rng):
        S = STRUCTURES[name]
        objective = Penalized(modes_problem(S, rng, dtype), 2.0, penalty)
        X = LowRank(*(random_array(rng, (n, 3), dtype) for n in S.shape))
        psi = [objective.psi(objective.at(X))]
        for steps in range(1, 25):
            point = local_search(objective, X, max_steps=steps, tolerance=0.0)
            psi.append(objective.psi(objective.at(point.X)))
        assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(psi))
        assert psi[-1] < 0.9 * psi[0]

    def test_ends_at_a_stationary_point_and_leaves_the_start_alone(self, rng):
        S = Hankel(41, window=20)
        objective = Penalized(modes_problem(S, rng), 2.0)
        X = LowRank(*(rng.standard_normal((n, 3)) for n in S.shape))
        before = X.U.copy(), X.V.copy()
        point = local_search(objective, X, max_steps=500, tolerance=1e-16)
        gradient = objective.factor_gradient(point)
        size = np.linalg.norm(point.U) * objective.mu
        assert np.linalg.norm(gradient[0]) + np.linalg.norm(gradient[1]) < 1e-5 * size
        np.testing.assert_array_equal(X.U, before[0])
        np.testing.assert_array_equal(X.V, before[1])

    @pytest.mark.parametrize("together", [False, True])
    def test_directions_whose_powers_underflow_end_a_search(self, together, rng):
        """At mu_max, directions are rounding errors, whose fourth powers single precision lacks."""
        S, problems = Hankel(4, window=2), []
        for size in (10.0 ** rng.uniform(-4, 0, 300)).tolist():
            b = size * random_array(rng, 4, "complex64")
            largest = mu_max(Problem(S, b, 1.0, "lifted"))
            problems.append(Problem(S, b, largest, "lifted"))
        one_by_one = (gcgls(problem, 1e-9) for problem in problems)
        results = solve_many(problems, 1e-9) if together else one_by_one
        for problem, result in zip(problems, results, strict=True):
            at_zero = inner(problem.data, problem.data) / 2
            assert result.objective == pytest.approx(at_zero, rel=1e-5)

    def test_wide_spread_of_singular_values_costs_few_steps(self, rng):
        """Amplitudes over four decades do not slow the search, because of the Gram matrices."""
        t = np.arange(256)
        amplitudes = 10.0 ** -np.arange(5)
        frequencies = (np.arange(5) + 0.3) / 5
        y = (amplitudes * np.exp(2j * np.pi * np.outer(t, frequencies))).sum(axis=1)
        S = Hankel(256, window=128)
        problem = Problem(S, y, 1e-4, Weighted("lifted", rng.random(256) < 0.6))
        result = gcgls(problem, 1.0, stop=Stop(max_iter=15, xtol=None, rtol=None, gap=1e-4))
        assert result.status is Status.SOLVED
        assert result.rank == 5


class TestSolutions:
    def test_above_mu_max_the_solution_is_zero_and_below_it_is_not(self, structure, rng):
        b = rng.standard_normal(structure.signal_shape)
        top = mu_max(Problem(structure, b, 1.0))
        above = gcgls(Problem(structure, b, 1.001 * top), 1.0)
        assert above.rank == 0
        assert above.objective == pytest.approx(np.sum(b**2) / 2)
        np.testing.assert_array_equal(above.y, 0)
        below = gcgls(Problem(structure, b, 0.99 * top), 1.0, stop=TIGHT)
        assert below.rank >= 1

    def test_optimality_conditions(self, rng):
        """At the optimum -grad f = mu U V^H on the range of X, and less elsewhere."""
        problem = modes_problem(Hankel(31, window=15), rng, "complex128")
        result = gcgls(problem, 2.0, stop=TIGHT)
        G = -Literal(problem, 2.0, "projection").gradient(result.X.to_dense()) / problem.mu
        U, _, Vh = np.linalg.svd(result.X.to_dense())
        r = result.rank
        active = U[:, :r] @ Vh[:r]
        assert np.linalg.norm(G, 2) <= 1 + 1e-5
        assert np.linalg.norm(U[:, :r].conj().T @ G @ Vh[:r].conj().T - np.eye(r)) < 1e-3
        assert np.linalg.norm(G - active, 2) <= 1 + 1e-3

    def test_recovers_missing_samples_of_few_modes(self, rng):
        t = np.arange(200)
        truth = np.cos(0.31 * t) + 0.5 * np.sin(0.77 * t)
        seen = rng.random(200) < 0.5
        b = np.where(seen, truth, np.nan)
        problem = Problem(Hankel(200, window=100), b, 0.02, Weighted("lifted", seen))
        result = gcgls(problem, 1.0, stop=Stop(xtol=None, rtol=None, gap=1e-4))
        assert result.rank == 4
        assert np.linalg.norm(result.y - truth) < 1e-2 * np.linalg.norm(truth)
        assert np.all(np.isfinite(result.y))

    def test_toeplitz_and_hankel_agree(self, rng):
        b = rng.standard_normal(21)
        one, other = (
            gcgls(Problem(kind(21, window=9), b, 0.5), 1.0, stop=TIGHT)
            for kind in (Hankel, Toeplitz)
        )
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
        np.testing.assert_allclose(one.y, other.y, atol=1e-3)

    def test_operator_measure_equals_the_mask_it_stands_for(self, rng):
        S = Hankel(31, window=15)
        seen = rng.random(31) < 0.6
        b = rng.standard_normal(31)
        places = np.flatnonzero(seen)

        def scatter(data):
            y = np.zeros(31)
            y[places] = data
            return y

        masked = gcgls(Problem(S, b, 0.3, Mask(seen)), 1.0, stop=TIGHT)
        picked = Problem(S, b[places], 0.3, Operator(lambda y: y[places], scatter))
        assert gcgls(picked, 1.0, stop=TIGHT).objective == pytest.approx(masked.objective, rel=1e-6)

    def test_affine_solution_matches_its_matrix(self, rng):
        problem = modes_problem(AFFINE, rng)
        distance = []
        for lam in (1.0, 100.0):
            result = gcgls(problem, lam, stop=Stop(xtol=None, rtol=None, gap=1e-4))
            assert result.status is Status.SOLVED
            distance.append(np.linalg.norm(AFFINE.to_dense(result.y) - result.X.to_dense()))
            assert distance[-1] == pytest.approx(min(result.history.violation), rel=0.1)
        assert distance[1] < 0.1 * distance[0]

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    @pytest.mark.parametrize("dtype", ["float32", "complex128"])
    def test_other_array_libraries(self, library, dtype, rng):
        problem = modes_problem(Hankel((9, 8), window=(4, 4)), rng, dtype)
        there = Problem(
            problem.structure, to_library(problem.b, library), problem.mu, problem.measure
        )
        stop = Stop(xtol=None, rtol=None, gap=1e-3)
        here, result = gcgls(problem, 1.0, stop=stop), gcgls(there, 1.0, stop=stop)
        assert result.objective == pytest.approx(here.objective, rel=2e-3)
        assert type(result.y) is type(there.b)
        assert result.y.dtype == there.b.dtype
        assert result.X.U.dtype == there.b.dtype
        assert np.all(np.isfinite(to_numpy(result.y)))

    @pytest.mark.parametrize("dtype", ["float32", "complex64"])
    def test_small_problems_in_single_precision_reach_a_small_gap(self, dtype, rng):
        b = (np.cos(0.4 * np.arange(41)) + 0.2 * rng.standard_normal(41)).astype(dtype)
        problem = Problem(Hankel(41, window=20), b, 1.0)
        result = gcgls(problem, 1.0, stop=Stop(max_iter=50, xtol=None, rtol=None, gap=1e-6))
        assert result.status is Status.SOLVED

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
    @pytest.mark.parametrize("solver", [gcg, gcgls])
    def test_single_precision_at_any_scale(self, solver, scale):
        rng = np.random.default_rng(0)
        S = Hankel(128, window=64)
        seen = rng.random(128) < 0.6
        b = scale * (np.cos(0.4 * np.arange(128)) + 0.1 * rng.standard_normal(128))
        objectives = []
        for dtype in ("float32", "float64"):
            problem = Problem(S, b.astype(dtype), 0.5 * scale, Weighted("lifted", seen))
            stop = Stop(60, xtol=None, rtol=None, gap=2e-2 if solver is gcgls else 0.6)
            result = solver(problem, 1.0, stop=stop)
            assert result.status is Status.SOLVED
            objectives.append(result.objective / scale**2)
        assert objectives[0] == pytest.approx(objectives[1], rel=2e-2 if solver is gcgls else 0.3)

    def test_reported_gap_keeps_what_was_asked_for(self, rng):
        problem = modes_problem(Hankel(41, window=20), rng)
        for gap in (0.5, 0.3, 0.2):
            stop = Stop(2000, xtol=None, rtol=None, gap=gap)
            assert gcg(problem, 1.0, step="paper", stop=stop).gap <= gap

    def test_single_precision_reaches_the_double_precision_optimum(self, rng):
        problem = modes_problem(Hankel(101, window=50), rng)
        single = Problem(
            problem.structure, problem.b.astype("float32"), problem.mu, problem.measure
        )
        stop = Stop(xtol=None, rtol=None, gap=1e-3)
        one, other = gcgls(problem, 1.0, stop=stop), gcgls(single, 1.0, stop=stop)
        assert other.objective == pytest.approx(one.objective, rel=1e-3)
        assert other.y.dtype == np.float32


@pytest.mark.quick
class TestStart:
    def test_warm_start_at_the_solution_stops_at_once(self, rng):
        problem = modes_problem(Hankel(31, window=15), rng)
        first = gcgls(problem, 1.0, stop=TIGHT)
        again = gcgls(problem, 1.0, start=first.X, stop=Stop(xtol=None, rtol=None, gap=1e-5))
        assert again.iterations == 0
        assert again.objective == pytest.approx(first.objective, rel=1e-9)

    def test_start_is_left_alone(self, rng):
        problem = modes_problem(Hankel(31, window=15), rng)
        start = LowRank.ones(problem.structure.shape, problem.b)
        gcgls(problem, 1.0, start=start)
        np.testing.assert_array_equal(start.U, 1)
        np.testing.assert_array_equal(start.V, 1)

    def test_b_is_left_alone(self, rng):
        problem = modes_problem(Hankel(31, window=15), rng)
        before = problem.b.copy()
        gcgls(problem, 1.0)
        np.testing.assert_array_equal(problem.b, before)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"start": LowRank(np.ones((3, 1)), np.ones((4, 1)))}, r"start has shape \(3, 4\)"),
            ({"step": "armijo"}, "'joint' or 'paper'"),
            ({"pairs": 0}, "pairs is 0"),
            ({"penalty": "l1"}, "'projection' or 'difference'"),
        ],
    )
    def test_bad_options(self, rng, options, message):
        with pytest.raises(ValueError, match=message):
            gcgls(modes_problem(Hankel(31, window=15), rng), 1.0, **options)

    def test_start_of_another_type(self, rng):
        with pytest.raises(TypeError, match="start is ndarray, but a LowRank"):
            gcgls(modes_problem(Hankel(31, window=15), rng), 1.0, start=np.ones((15, 17)))


@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize("solver", [gcg, gcgls])
def test_certified_gap_is_never_too_small(solver, penalty, rng):
    problem = modes_problem(Hankel(21, window=10), rng, "complex128")
    best = gcgls(problem, 1.0, penalty=penalty, stop=TIGHT)
    iterates = []
    stop = Stop(max_iter=30, xtol=None, rtol=None, gap=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver(problem, 1.0, penalty=penalty, pairs=1, stop=stop, callback=iterates.append)
    assert len(iterates) > 5
    for state in iterates:
        assert state.objective * (1 - state.gap) <= best.objective * (1 + 1e-9)


def test_gap_of_a_hand_made_example():
    """`1/2 (x - 3)^2 + |x|` at x = 3: the value is 3, the optimum 2.5."""
    gap = penalized_gap(smooth=0.0, nuclear_norm=3.0, slope=0.0, top_value=0.0, mu=1.0)
    assert 0.5 <= gap <= 3.0


def test_structure_matrix_agrees_with_the_reported_violation(rng):
    problem = modes_problem(Hankel(15, window=6), rng)
    result = gcgls(problem, 1.0, penalty="difference")
    Bx = structure_matrix(problem.structure) @ vec(problem.structure, result.X.to_dense())
    assert np.min(result.history.violation[1:]) <= np.linalg.norm(Bx) * (1 + 1e-6)
    assert np.linalg.norm(Bx) == pytest.approx(
        result.history.violation[int(np.argmin(result.history.objective))], rel=1e-5
    )


def test_pairs_that_the_factors_contain_are_left_out(rng):
    """Literally: by projections onto the columns of both factors."""
    X = LowRank(*(random_array(rng, (n, 3), complex) for n in (20, 15))).balanced()
    WU, WV = (np.linalg.qr(F)[0] for F in (X.U, X.V))
    inside = [W @ np.linalg.qr(random_array(rng, (3, 2), complex))[0] for W in (WU, WV)]
    apart = [np.linalg.qr(random_array(rng, (n, 2), complex))[0] for n in (20, 15)]
    U, V = (
        np.concatenate([a, b], axis=1)[:, [0, 2, 1, 3]] for a, b in zip(inside, apart, strict=True)
    )
    top = SingularPairs(U, np.array([4.0, 3.0, 2.0, 1.0]), V, np.zeros(4), 4.0)
    new = new_pairs(top, X, NewPairs(large=0))
    assert new.values.tolist() == [4.0, 3.0, 1.0]  # the first one stays
    np.testing.assert_allclose(new.U, U[:, [0, 1, 3]])
    np.testing.assert_allclose(new.V, V[:, [0, 1, 3]])
    assert new_pairs(top, X) is top  # small factors


@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
def test_pairs_are_left_out_only_before_a_local_search(monkeypatch, rng):
    S, b = Hankel(40, window=20), random_array(rng, 40, complex)
    problem = Problem(S, b, 0.3 * mu_max(Problem(S, b, 1.0)))

    def solved():
        searched = gcgls(problem, 1.0, pairs=4, stop=TIGHT)
        return searched.objective, gcg(problem, 1.0, pairs=4, stop=Stop(30, None, None, 1e-6)).y

    objective, y = solved()
    monkeypatch.setattr(algorithm_1, "new_pairs", partial(new_pairs, which=NewPairs(large=0)))
    searched, same = solved()
    assert searched == pytest.approx(objective, rel=2e-7)  # both gaps are at most 1e-7
    np.testing.assert_array_equal(same, y)


class TestCorrectiveSteps:
    def test_weights_minimise_the_upper_bound(self, rng):
        """Against the same quadratic, written out with dense matrices."""
        S = Hankel(11, window=5)
        problem = modes_problem(S, rng)
        literal = Literal(problem, 1.5, "projection")
        objective = Penalized(problem, 1.5)
        steps = CorrectiveSteps(objective, LowRank.zeros(S.shape, problem.b))
        X = LowRank.zeros(S.shape, problem.b)
        for k in range(6):
            point = objective.at(X.balanced(1e-14))
            start = np.random.default_rng(k).standard_normal(S.shape[1])
            top = objective.gradient(point).top(1, start, tolerance=1e-13)
            X = steps.step(atom(top, problem.mu, 1), top)
            parts = [a.to_dense() for a in steps.atoms]
            for i, part in enumerate(parts):
                slope = (
                    np.vdot(literal.gradient(X.to_dense()), part) + problem.mu * steps.norms[i + 1]
                )
                assert slope == pytest.approx(0.0, abs=1e-6)  # used atoms: stationary
                assert steps.weights[i + 1] > 0

    def test_memory_is_bounded_and_the_upper_bound_falls(self, rng):
        problem = modes_problem(Hankel(25, window=11), rng)
        objective = Penalized(problem, 1.0)
        X = LowRank.zeros(problem.structure.shape, problem.b)
        steps = CorrectiveSteps(objective, X, CorrectiveMemory(atoms=5))
        bounds = []
        for k in range(30):
            point = objective.at(X.balanced(1e-14))
            start = np.random.default_rng(k).standard_normal(X.shape[1])
            top = objective.gradient(point).top(1, start, tolerance=1e-10)
            X = steps.step(atom(top, problem.mu, 1), top)
            w = steps.weights
            change = w @ (steps.slopes + problem.mu * steps.norms) + w @ steps.quadratic @ w / 2
            bounds.append(inner(problem.data, problem.data) / 2 + change)
            assert objective.value(X) <= bounds[-1] * (1 + 1e-9)
            assert len(steps.atoms) <= 5
        assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(bounds))

    @pytest.mark.parametrize("pairs", [1, 3])
    def test_finds_the_optimum(self, rng, pairs):
        problem = modes_problem(Hankel((5, 4), window=(3, 2)), rng)
        best = gcgls(problem, 1.0, stop=TIGHT).objective
        states = gcgls_states(problem, 1.0, step="corrective", pairs=pairs, search_steps=0)
        value = [s.objective for s in itertools.islice(states, 150)][-1]
        assert value == pytest.approx(best, rel=2e-3)

    def test_not_together_with_a_local_search(self, rng):
        with pytest.raises(ValueError, match="step is 'corrective'"):
            gcgls(modes_problem(Hankel(11, window=5), rng), 1.0, step="corrective")


def test_the_default_step_keeps_up_with_the_printed_one():
    assert np.max(step_benchmark.ratios([10, 100], 4)) <= 1.1


@pytest.mark.nightly
def test_the_default_step_keeps_up_with_the_printed_one_in_long_runs():
    assert np.max(step_benchmark.ratios([10, 100, 1000], 24)) <= 1.1

"""The paper's C_sp, which reads the first copy of each signal entry, as an option beside C_proj."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, random_array, to_library
from conic import conic_optimum, modes_problem, relax_optimum
from literal import Literal

from structrank import (
    ConvergenceWarning,
    Hankel,
    LowRank,
    Mask,
    Penalized,
    Problem,
    Status,
    Stop,
    Structure,
    Weighted,
    gcg,
    gcgls,
    homotopy,
    mu_max,
    recovery_matrix,
    solve,
)
from structrank._array import to_numpy
from structrank.structures.grouped import GroupSums
from structrank.structures.sparse import vec

ALL = {**STRUCTURES, "affine": AFFINE}
TIGHT = Stop(max_iter=500, xtol=None, rtol=None, gap=1e-7)


@pytest.mark.parametrize("name", ALL)
class TestPlaces:
    def test_are_those_of_C_sp(self, name):
        S = ALL[name]
        X = np.arange(S.shape[0] * S.shape[1], dtype=float).reshape(S.shape)
        expected = recovery_matrix(S, "sparse") @ vec(S, X)
        np.testing.assert_array_equal(X[S.first_copies], expected.reshape(-1))

    def test_are_found_through_the_index_map_too(self, name):
        S = ALL[name]
        for got, expected in zip(S.first_copies, Structure.first_copies.func(S), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
@pytest.mark.parametrize("shape", [(9,), (3, 9)])
def test_sums_over_groups(rng, library, shape):
    groups, values = np.array([4, 0, 4, -1, 4, 2, 0, 4, 4]), rng.standard_normal(shape)
    expected = np.stack([values[..., groups == g].sum(axis=-1) for g in range(6)], axis=-1)
    got = GroupSums(groups, 6)(to_library(values, library))
    np.testing.assert_allclose(to_numpy(got), expected, rtol=1e-14)


@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "toeplitz-2d"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_array_libraries_agree_with_numpy(name, library, penalty, dtype, rng):
    S, b = STRUCTURES[name], random_array(rng, STRUCTURES[name].signal_shape, dtype)
    X, D = (LowRank(*(random_array(rng, (n, 3), dtype) for n in S.shape)) for _ in range(2))
    results = []
    for at in ("numpy", library):
        objective = Penalized(Problem(S, to_library(b, at), 0.3), 2.0, penalty, "sparse")
        X_, D_ = (LowRank(to_library(F.U, at), to_library(F.V, at)) for F in (X, D))
        psi = objective.line(objective.at(X_), D_.U, D_.V).psi
        gradient = objective.factor_gradient(objective.at(X_))
        results.append([psi, *(to_numpy(G) for G in gradient)])
    rtol = 1e-4 if dtype == "float32" else 1e-11
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * np.max(np.abs(expected)))
        assert got.dtype == expected.dtype


def test_symmetric_factors_do_not_make_the_gradient_symmetric(rng):
    S, b = Hankel(9, window=5), rng.standard_normal(9)
    U = rng.standard_normal((5, 2))
    X = LowRank(U, U * np.array([1.0, -1.0]))
    objective = Penalized(Problem(S, b, 0.3), 2.0, recovery="sparse")
    assert objective.at(X).signs is None
    G = Literal(objective.problem, 2.0, "projection", "sparse").gradient(X.to_dense())
    got = objective.factor_gradient(objective.at(X))
    np.testing.assert_allclose(got[0], G @ X.V + 0.3 * X.U, atol=1e-12)
    np.testing.assert_allclose(got[1], G.T @ X.U + 0.3 * X.V, atol=1e-12)


@pytest.mark.parametrize("measure", [None, "lifted"])
@pytest.mark.parametrize("name", ALL)
def test_mu_max_is_the_norm_of_the_gradient_at_zero(name, measure, rng):
    S = ALL[name]
    problem = Problem(S, rng.standard_normal(S.signal_shape), 1.0, measure)
    for penalty in ("projection", "difference"):
        gradient = Literal(problem, 2.0, penalty, "sparse").gradient(np.zeros(S.shape))
        got = mu_max(problem, 2.0, penalty, recovery="sparse")
        assert got == pytest.approx(np.linalg.norm(gradient, 2), rel=1e-8)


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
    ("toeplitz-2d", "complex128"),
]


@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_optimum_equals_the_conic_solvers(name, dtype, penalty, rng):
    problem = modes_problem(ALL[name], rng, dtype)
    optimum = conic_optimum(problem, 2.0, penalty, "sparse")
    result = gcgls(problem, 2.0, penalty=penalty, recovery="sparse", stop=TIGHT)
    assert result.status is Status.SOLVED
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-6)
    literal = Literal(problem, 2.0, penalty, "sparse")
    X = result.X.to_dense()
    assert literal.phi(X) == pytest.approx(result.objective, rel=1e-9)
    np.testing.assert_allclose(result.y, literal.signal(X), atol=1e-9)


@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize("solver", [gcg, gcgls])
def test_certified_gap_is_never_too_small(solver, penalty, rng):
    problem = modes_problem(Hankel(21, window=10), rng, "complex128")
    options = {"penalty": penalty, "recovery": "sparse"}
    best = gcgls(problem, 1.0, **options, stop=TIGHT)
    assert best.status is Status.SOLVED
    iterates = []
    stop = Stop(max_iter=30, xtol=None, rtol=None, gap=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver(problem, 1.0, **options, pairs=1, stop=stop, callback=iterates.append)
    assert len(iterates) > 5
    for state in iterates:
        assert state.objective * (1 - state.gap) <= best.objective * (1 + 1e-9)


@pytest.mark.parametrize("penalty", ["projection", "difference"])
def test_growing_lam_leads_to_the_same_problem(penalty, rng):
    """Both maps C agree on structured matrices, so the homotopy approaches (relax) with either."""
    problem = modes_problem(Hankel(9, window=4), rng, mu=0.3)
    optimum = relax_optimum(problem)
    stop = Stop(1000, xtol=None, rtol=None, gap=1e-4)
    lams = [1.0, 10.0, 100.0]
    result = homotopy(problem, lams, penalty=penalty, recovery="sparse", stop=stop)
    assert result.objective == pytest.approx(optimum, rel=1e-2)
    assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_needs_a_larger_lam_for_the_same_accuracy(seed):
    """The figures of the page on theory."""
    rng = np.random.default_rng(seed)
    t, S = np.arange(101), Hankel(101, window=51)
    b = np.cos(0.3 * t) + 0.7 * np.cos(1.1 * t + 1) + 0.1 * rng.standard_normal(101)
    measure = Mask(rng.random(101) < 0.6)
    problem = Problem(S, b, 0.1 * mu_max(Problem(S, b, 1.0, measure)), measure)
    exact = solve(problem, 1e-5).y
    distances = {}
    fine = {"search_steps": 300, "search_tolerance": 1e-10}
    stop = Stop(300, xtol=None, rtol=None, gap=1e-3)
    for recovery, lam in (("projection", 1.0), ("sparse", 1.0), ("sparse", 10.0)):
        y = gcgls(problem, lam, recovery=recovery, stop=stop, **fine).y
        distances[recovery, lam] = np.linalg.norm(y - exact) / np.linalg.norm(exact)
    assert 0.005 < distances["projection", 1.0] < 0.014
    assert 0.1 < distances["sparse", 1.0] < 0.37
    assert 0.01 < distances["sparse", 10.0] < 0.042


def test_a_long_signal_needs_no_matrix(rng):
    """The matrix would have 10^10 entries."""
    size = 200_001
    t = np.arange(size)
    seen = rng.random(size) < 0.5
    b = np.cos(0.3 * t) + 0.1 * rng.standard_normal(size)
    S = Hankel(size, window=100_001)
    problem = Problem(S, b, 1.0, Mask(seen))
    objective = Penalized(problem, 1e-5, recovery="sparse")
    U, V = (rng.standard_normal((n, 2)) for n in S.shape)
    point = objective.at(LowRank(U, V))
    for k in (0, 100_000, 100_001, size - 1):  # the first column, then the last row
        i, l = min(k, 100_000), max(k - 100_000, 0)
        assert point.y[k] == pytest.approx(U[i] @ V[l], rel=1e-12)
    assert np.isfinite(objective.factor_gradient(point)[0]).all()


def test_unknown_recovery(rng):
    problem = modes_problem(Hankel(9, window=4), rng)
    for call in (
        lambda: gcgls(problem, 1.0, recovery="mean"),
        lambda: Penalized(problem, 1.0, recovery="mean"),
        lambda: mu_max(problem, recovery="mean"),
    ):
        with pytest.raises(ValueError, match="recovery is 'mean', but 'projection' or 'sparse'"):
            call()


def test_weights_count(rng):
    """With weights `w` and C_sp the misfit is that of the first copies."""
    S, b, w = Hankel(9, window=4), rng.standard_normal(9), rng.random(9)
    X = LowRank(*(rng.standard_normal((n, 3)) for n in S.shape))
    objective = Penalized(Problem(S, b, 1.0, Weighted(w)), 1.0, recovery="sparse")
    first = X.to_dense()[S.first_copies]
    assert objective.at(X).loss == pytest.approx(np.sum((w * (first - b)) ** 2) / 2)

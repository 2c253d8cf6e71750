"""The penalised objective on thin factors against its dense transcription."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, random_array, to_library
from literal import Literal

from structrank import Hankel, LowRank, Mask, Penalized, Problem, Weighted, mu_max
from structrank._array import to_numpy
from structrank._array.transforms import FFTSizes
from structrank.model import quartic
from structrank.model.linalg import random_vector
from structrank.model.objective import natural_lam
from structrank.solvers.augmented import Augmented
from structrank.solvers.local_search import local_search

pytestmark = pytest.mark.quick

PENALTIES = ["projection", "difference"]
RECOVERIES = ["projection", "sparse"]
ALL = {**STRUCTURES, "affine": AFFINE}


@pytest.fixture(params=ALL)
def anything(request):
    return ALL[request.param]


def make_problem(structure, rng, dtype="float64", library="numpy", measure="mask"):
    b = random_array(rng, structure.signal_shape, dtype)
    if measure == "mask":
        seen = rng.random(structure.signal_shape) < 0.6
        seen.reshape(-1)[0] = True
        b[~seen] = np.nan
        measure = Mask(seen)
    return Problem(structure, to_library(b, library), 0.3, measure)


def make_factors(structure, rng, dtype="float64", rank=3):
    return LowRank(*(random_array(rng, (n, rank), dtype) for n in structure.shape))


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestAgainstTheDenseTranscription:
    @pytest.fixture
    def case(self, anything, rng, dtype, penalty, recovery):
        problem = make_problem(anything, rng, dtype)
        return (
            Penalized(problem, 2.0, penalty, recovery),
            Literal(problem, 2.0, penalty, recovery),
            make_factors(anything, rng, dtype),
        )

    def test_value(self, case):
        objective, literal, X = case
        dense = X.to_dense()
        assert objective.smooth(objective.at(X)) == pytest.approx(literal.f(dense), rel=1e-12)
        assert objective.value(X) == pytest.approx(literal.phi(dense), rel=1e-12)

    def test_gradient_operator(self, case):
        objective, literal, X = case
        gradient = objective.gradient(objective.at(X))
        expected = literal.gradient(X.to_dense())
        scale = np.linalg.norm(expected)
        M, N = X.shape
        got = gradient.matmul(np.eye(N, dtype=expected.dtype))
        assert np.linalg.norm(got - expected) <= 1e-12 * scale
        got = gradient.rmatmul(np.eye(M, dtype=expected.dtype))
        assert np.linalg.norm(got - expected.conj().T) <= 1e-12 * scale

    def test_top_pairs_of_a_small_gradient_by_its_decomposition(self, case):
        objective, _, X = case
        gradient = objective.gradient(objective.at(X))
        start = random_vector(X.shape[1], X.V, seed=0)
        dense, lanczos = (gradient.top(1, start, tolerance=1e-10, small=n) for n in (99, 0))
        np.testing.assert_allclose(dense.values, lanczos.values, rtol=1e-8)
        assert abs(np.vdot(dense.U[:, 0], lanczos.U[:, 0])) == pytest.approx(1, rel=1e-4)

    def test_factor_gradient(self, case):
        objective, literal, X = case
        G = literal.gradient(X.to_dense())
        U, V = objective.factor_gradient(objective.at(X))
        np.testing.assert_allclose(U, G @ X.V + 0.3 * X.U, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(V, G.conj().T @ X.U + 0.3 * X.V, rtol=1e-11, atol=1e-11)

    def test_quartic_along_a_line(self, case, rng):
        objective, literal, X = case
        D = make_factors(objective.structure, rng, X.U.dtype)
        line = objective.line(objective.at(X.copy()), D.U, D.V)
        for t in (-1.3, 0.0, 0.4, 2.0):
            moved = LowRank(X.U + t * D.U, X.V + t * D.V)
            psi = literal.f(moved.to_dense()) + 0.15 * (
                np.linalg.norm(moved.U) ** 2 + np.linalg.norm(moved.V) ** 2
            )
            assert quartic.value(line.psi, t) == pytest.approx(psi, rel=1e-10)

    def test_move_equals_a_fresh_evaluation(self, case, rng):
        objective, _, X = case
        D = make_factors(objective.structure, rng, X.U.dtype)
        moved = objective.line(objective.at(X.copy()), D.U.copy(), D.V.copy()).move(0.7)
        fresh = objective.at(LowRank(X.U + 0.7 * D.U, X.V + 0.7 * D.V))
        assert objective.psi(moved) == pytest.approx(objective.psi(fresh), rel=1e-10)
        for name in (
            "U",
            "V",
            "left",
            "right",
            "total",
            "mean",
            "y",
            "residual",
            "gram_U",
            "gram_V",
        ):
            got, expected = getattr(moved, name), getattr(fresh, name)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)

    def test_slope_and_curvature_along_X(self, case):
        objective, literal, X = case
        point = objective.at(X)
        dense = X.to_dense()
        slope = np.vdot(literal.gradient(0 * dense), dense).real
        assert objective.slope_at_zero(point) == pytest.approx(slope, rel=1e-10, abs=1e-10)
        total = np.vdot(literal.gradient(dense), dense).real
        assert slope + objective.curvature(point) == pytest.approx(total, rel=1e-10)

    def test_signal(self, case):
        objective, literal, X = case
        np.testing.assert_allclose(
            objective.signal(objective.at(X)), literal.signal(X.to_dense()), rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "toeplitz-2d"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_array_libraries_agree_with_numpy(name, library, penalty, dtype, rng):
    S = STRUCTURES[name]
    problem = make_problem(S, rng, dtype)
    X = make_factors(S, rng, dtype)
    D = make_factors(S, rng, dtype)
    objective = Penalized(problem, 2.0, penalty)
    expected = objective.line(objective.at(X.copy()), D.U, D.V).psi
    there = Problem(S, to_library(problem.b, library), 0.3, problem.measure)
    X_, D_ = (LowRank(to_library(F.U, library), to_library(F.V, library)) for F in (X, D))
    objective_ = Penalized(there, 2.0, penalty)
    point = objective_.at(X_)
    got = objective_.line(point, D_.U, D_.V).psi
    rtol = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * np.max(np.abs(expected)))
    U, V = objective_.factor_gradient(objective_.at(X_))
    U0, V0 = objective.factor_gradient(objective.at(X))
    np.testing.assert_allclose(to_numpy(U), U0, rtol=rtol, atol=rtol * np.max(np.abs(U0)))
    np.testing.assert_allclose(to_numpy(V), V0, rtol=rtol, atol=rtol * np.max(np.abs(V0)))


class OwnBlockHankel(Hankel):
    """A block structure whose B is known through its index map alone."""

    def differences(self):
        return None


@pytest.mark.parametrize("with_offset", [False, True])
def test_own_block_structure_under_the_difference_penalty(rng, with_offset):
    S = OwnBlockHankel(6, window=3, block=(2, 2))
    if with_offset:
        S.offset = rng.standard_normal(S.shape)
    problem = make_problem(S, rng)
    X = make_factors(S, rng)
    objective, literal = Penalized(problem, 2.0, "difference"), Literal(problem, 2.0, "difference")
    assert objective.value(X) == pytest.approx(literal.phi(X.to_dense()), rel=1e-12)
    got = objective.gradient(objective.at(X)).matmul(np.eye(S.shape[1]))
    np.testing.assert_allclose(got, literal.gradient(X.to_dense()), atol=1e-11)


def test_hankel_with_an_offset_under_the_difference_penalty(rng):
    S = Hankel(8, window=3)
    S.offset = rng.standard_normal(S.shape)
    problem = make_problem(S, rng)
    X = make_factors(S, rng)
    expected = Literal(problem, 2.0, "difference").phi(X.to_dense())
    assert Penalized(problem, 2.0, "difference").value(X) == pytest.approx(expected, rel=1e-12)


def test_violation_of_structured_matrices_is_not_negative(rng):
    objective = Penalized(Problem(AFFINE, rng.standard_normal(3), 1.0), 1.0)
    for _ in range(50):
        y = rng.standard_normal(3)
        point = objective.at(LowRank(AFFINE.to_dense(y), np.eye(4)))
        assert 0.0 <= point.violation_squared < 1e-12


def test_sparse_difference_penalty_needs_numpy(rng):
    problem = make_problem(STRUCTURES["circulant"], rng, library="array_api_strict")
    with pytest.raises(TypeError, match='use penalty="projection"'):
        Penalized(problem, 1.0, "difference")


class TestOfTheSearch:
    """What solvers ask an objective for, against formulas."""

    @pytest.fixture
    def case(self, rng):
        problem = make_problem(Hankel(13, window=5), rng)
        return Penalized(problem, 2.0), problem, make_factors(problem.structure, rng)

    def psi(self, problem, X):
        norms = np.linalg.norm(X.U) ** 2 + np.linalg.norm(X.V) ** 2
        return Literal(problem, 2.0, "projection").f(X.to_dense()) + problem.mu / 2 * norms

    def test_what_a_step_lowers(self, case, rng):
        objective, problem, X = case
        D = make_factors(objective.structure, rng)
        before = self.psi(problem, X)
        after = self.psi(problem, LowRank(X.U + 0.3 * D.U, X.V + 0.3 * D.V))
        assert objective.psi(objective.at(X)) == pytest.approx(before, rel=1e-12)
        line = objective.line(objective.at(X.copy()), D.U, D.V)
        assert line.decrease(0.3) == pytest.approx(before - after, rel=1e-10)

    def test_curvature_of_the_factors(self, case):
        objective, problem, X = case
        got = objective.factor_curvature(objective.at(X))
        for G, F in zip(got, (X.V, X.U), strict=True):
            np.testing.assert_allclose(G, 2.0 * F.T @ F + problem.mu * np.eye(3), rtol=1e-12)

    def test_products_of_a_moved_point(self, case, rng):
        """A multiplier T keeps `T_U^H U` and `T_V^H V`, which are linear in the step."""
        _, problem, X = case
        T, D = (make_factors(problem.structure, rng, rank=r) for r in (2, 3))
        objective = Augmented(problem, 2.0, T, problem.data)
        moved = objective.line(objective.at(X.copy()), D.U, D.V).move(0.7)
        for got, t, x, d in zip(moved.products, (T.U, T.V), (X.U, X.V), (D.U, D.V), strict=True):
            np.testing.assert_allclose(got, t.T @ (x + 0.7 * d), rtol=1e-10)

    def test_slope_violation_and_magnitude(self, case):
        objective, problem, X = case
        point, dense = objective.at(X), X.to_dense()
        slope = np.vdot(Literal(problem, 2.0, "projection").gradient(dense), dense)
        assert objective.slope(point) == pytest.approx(slope, rel=1e-10)
        S = problem.structure
        outside = dense - S.to_dense(S.average_dense(dense))
        assert objective.violation(point) == pytest.approx(np.linalg.norm(outside), rel=1e-10)
        assert objective.magnitude(point) == pytest.approx(2.0 * np.linalg.norm(dense), rel=1e-10)
        misfit = problem.data - problem.measure.forward(S.average_dense(dense))
        np.testing.assert_allclose(objective.gamma(point), misfit, atol=1e-12)

    def test_natural_lam(self, rng):
        """The data term over the lifted signal, at the signal that the samples give."""
        S = Hankel(13, window=5)
        b = random_array(rng, (13,))
        seen = np.arange(13) % 3 > 0
        z = np.where(seen, b, 0.0)
        ratio = np.sum(z**2) / np.linalg.norm(S.to_dense(z)) ** 2
        problem = Problem(S, b, 0.3, Mask(seen))
        assert natural_lam(problem) == pytest.approx(ratio, rel=1e-12)
        assert natural_lam(Problem(S, 1e-3 * b, 0.3, Mask(seen))) == pytest.approx(ratio, rel=1e-12)
        assert natural_lam(Problem(S, np.zeros(13), 0.3)) == 1.0


class TestMuMax:
    @pytest.mark.parametrize("measure", ["mask", None, "lifted"])
    def test_is_the_norm_of_the_gradient_at_zero(self, anything, rng, measure):
        problem = make_problem(anything, rng, measure=measure)
        literal = Literal(problem, 2.0, "projection")
        expected = np.linalg.norm(literal.gradient(np.zeros(anything.shape)), 2)
        assert mu_max(problem, lam=2.0) == pytest.approx(expected, rel=1e-8)

    def test_of_either_penalty_with_an_offset(self, rng):
        problem = make_problem(AFFINE, rng)
        for penalty in PENALTIES:
            literal = Literal(problem, 2.0, penalty)
            expected = np.linalg.norm(literal.gradient(np.zeros(AFFINE.shape)), 2)
            assert mu_max(problem, lam=2.0, penalty=penalty) == pytest.approx(expected, rel=1e-8)

    def test_depends_on_lam_with_an_offset(self, rng):
        with pytest.raises(ValueError, match="mu_max depends on lam"):
            mu_max(make_problem(AFFINE, rng))


@pytest.mark.parametrize(
    ("lam", "penalty"), [(0.0, "projection"), (-1.0, "projection"), (np.nan, "projection")]
)
def test_lam_not_positive(rng, lam, penalty):
    with pytest.raises(ValueError, match="lam is .* but a finite number above zero"):
        Penalized(make_problem(Hankel(9, window=4), rng), lam, penalty)


def test_unknown_penalty(rng):
    with pytest.raises(ValueError, match="'projection' or 'difference'"):
        Penalized(make_problem(Hankel(9, window=4), rng), 1.0, "none")


class TestQuartic:
    @pytest.mark.parametrize(
        ("coefficients", "expected"),
        [
            ([5, -4, 2, 0, 0], 1.0),  # a parabola
            ([0, 0, -2, 0, 1], 1.0),  # two equal minima: either
            ([1, 0.1, -2, 0, 1], -1.0123),  # the deeper one
            ([3, 0, 0, 0, 0], 0.0),  # constant
            ([0, 0, 1, 0, 0], 0.0),  # already there
            ([0, -1, 0.5, 0, 1e-320], 1.0),  # next to a parabola
            ([0, -1, 0.5, 1e-18, 0], 1.0),
        ],
    )
    def test_minimizer(self, coefficients, expected):
        t = quartic.minimizer(np.array(coefficients, dtype=float))
        assert abs(t) == pytest.approx(abs(expected), abs=1e-3)
        values = [quartic.value(np.array(coefficients), s) for s in np.linspace(-3, 3, 601)]
        assert quartic.value(np.array(coefficients), t) <= min(values) + 1e-9

    def test_a_sum_of_squares_cannot_fall_below_zero(self):
        whole = quartic.square(np.array([1e-3]), np.array([1e-15]), np.array([1e-30]))
        underflown = np.array([*whole[:4], 0.0])
        t = np.array([-1e21, 0.0, 1e12])
        assert quartic.possible(np.stack([whole] * 3), t).tolist() == [True, True, True]
        assert quartic.possible(np.stack([underflown] * 3), t).tolist() == [False, True, True]
        assert [bool(quartic.possible(c, t[0])) for c in (whole, underflown)] == [True, False]
        assert not quartic.possible(np.full(5, np.nan), 1.0)

    def test_products_under_weights(self, rng):
        x = tuple(random_array(rng, 5, "complex128") for _ in range(3))
        w = rng.random(5)
        expected = np.sum(w * np.abs(x[0] + 2 * x[1] + 4 * x[2]) ** 2)
        got = quartic.products(x, tuple(w * part for part in x))
        assert quartic.value(got, 2.0) == pytest.approx(expected)


def test_weighted_measure_is_the_weighted_misfit(rng):
    S = Hankel(9, window=4)
    b, w = rng.standard_normal(9), rng.random(9)
    X = make_factors(S, rng)
    objective = Penalized(Problem(S, b, 1.0, Weighted(w)), 1.0)
    y = S.average(X.U, X.V)
    assert objective.at(X).loss == pytest.approx(np.sum((w * (y - b)) ** 2) / 2)


SYMMETRIC = {"1d": Hankel(9, window=5), "2d": Hankel((5, 3), window=(3, 2))}


@pytest.mark.parametrize("name", [*ALL, *SYMMETRIC])
def test_which_structures_are_symmetric(name, rng):
    S = {**ALL, **SYMMETRIC}[name]
    assert S.symmetric == (name in SYMMETRIC)
    if S.symmetric:
        dense = S.to_dense(rng.standard_normal(S.signal_shape))
        np.testing.assert_array_equal(dense, dense.T)


@pytest.mark.parametrize("long", [False, True])
def test_transform_of_a_mirrored_factor(rng, long, monkeypatch):
    if long:
        monkeypatch.setattr("structrank._array.transforms.SIZES", FFTSizes(long=16))
    S, signs = Hankel(31, window=16), np.array([1.0, -1.0])
    U = random_array(rng, (16, 2))
    got = S.transform_mirrored(S.transform_left(U), signs)
    np.testing.assert_allclose(got, S.transform_right(U * signs), atol=1e-13)


@pytest.mark.parametrize("name", SYMMETRIC)
class TestSymmetric:
    """One factor instead of two, compared with the objective in both factors."""

    signs = np.array([1.0, -1.0, 1.0])

    def pair(self, S, rng, multiplier):
        problem, objectives = make_problem(S, rng), []
        T = multiplier(S, rng)
        for _ in range(2):
            objectives.append(Augmented(problem, 2.0, T, problem.data))
        objectives[1].penalty.symmetric = False
        return objectives

    def mirrored(self, S, rng):
        U = random_array(rng, (S.shape[0], 3))
        return LowRank(U, U * self.signs)

    @pytest.fixture
    def case(self, name, rng):
        S = SYMMETRIC[name]
        return *self.pair(S, rng, self.mirrored), self.mirrored(S, rng)

    def test_gradient(self, case):
        fast, slow, X = case
        point = fast.at(X)
        np.testing.assert_array_equal(point.signs, self.signs)
        assert fast.psi(point) == pytest.approx(slow.psi(slow.at(X)), rel=1e-12)
        (U,) = fast.factor_gradient(point)
        expected = slow.factor_gradient(slow.at(X))
        np.testing.assert_allclose(U, expected[0], atol=1e-12)
        np.testing.assert_allclose(U * self.signs, expected[1], atol=1e-12)
        (curvature,) = fast.factor_curvature(point)
        np.testing.assert_allclose(curvature, slow.factor_curvature(slow.at(X))[0])

    def test_line(self, case, rng):
        fast, slow, X = case
        D = random_array(rng, X.U.shape)
        line = fast.line(fast.at(X.copy()), D)
        twin = slow.line(slow.at(X.copy()), D, D * self.signs)
        np.testing.assert_allclose(line.psi, twin.psi, rtol=1e-11)
        moved, expected = line.move(0.7), twin.move(0.7)
        np.testing.assert_array_equal(moved.X.signs, self.signs)
        # These ask for the data, which a move does not compute.
        assert fast.curvature(moved) == pytest.approx(slow.curvature(expected), rel=1e-11)
        for key, value in vars(expected).items():
            if key not in ("signs", "products"):
                np.testing.assert_allclose(getattr(moved, key), value, atol=1e-11, err_msg=key)
        for got, value in zip(moved.products, expected.products, strict=True):
            np.testing.assert_allclose(got, value, atol=1e-11)

    def test_search(self, case):
        """It makes the same steps as the search in both factors, and ends at the same point."""
        fast, slow, X = case
        points = [local_search(o, X, max_steps=8, tolerance=0.0) for o in (fast, slow)]
        np.testing.assert_allclose(*(point.X.to_dense() for point in points), atol=1e-9)
        np.testing.assert_array_equal(points[0].X.signs, self.signs)

    def test_not_with_a_multiplier_that_is_not_symmetric(self, name, rng):
        S = SYMMETRIC[name]
        fast, slow = self.pair(S, rng, make_factors)
        X = self.mirrored(S, rng)
        got, expected = (o.factor_gradient(o.at(X)) for o in (fast, slow))
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_not_with_differences(self, name, rng):
        S = SYMMETRIC[name]
        objective = Penalized(make_problem(S, rng), 2.0, "difference")
        assert len(objective.factor_gradient(objective.at(self.mirrored(S, rng)))) == 2

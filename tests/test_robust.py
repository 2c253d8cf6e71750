"""solve_robust: the optimum of the joint problem, bounds that hold, outliers where they are."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, nightly, random_array, to_library
from conic import modes_problem, robust_optimum

from structrank import (
    ConvergenceWarning,
    Hankel,
    LowRank,
    Operator,
    Problem,
    Status,
    Toeplitz,
    Weighted,
    recover,
    solve,
)
from structrank._array import to_numpy
from structrank.model.certificate import DenseLimit
from structrank.solvers.huber_loss import HuberLoss
from structrank.solvers.robust import RobustAugmented, solve_robust

ALL = {**STRUCTURES, "affine": AFFINE}
running_mean = Operator(lambda y: (y + np.roll(y, 1)) / 2, lambda d: (d + np.roll(d, -1)) / 2)
CASES = [
    ("hankel", "float64", "mask"),
    ("hankel", "complex128", "operator"),
    ("hankel-2d", "float64", "weights"),
    nightly("hankel-2d", "complex128", "mask"),
    ("hankel-block", "float64", "operator"),
    ("hankel-block", "complex128", "weights"),
    ("toeplitz", "float64", "everything"),
    ("sylvester", "complex128", "mask"),
    ("affine", "float64", "weights"),
    ("affine", "complex128", "operator"),
]


def spoiled_problem(name, dtype, kind, rng):
    """A small problem with gross errors in a few samples, and a threshold."""
    S = ALL[name]
    size = int(np.prod(S.signal_shape))
    weights = Weighted(np.linspace(0.2, 1.5, size).reshape(S.signal_shape))
    measures = {"mask": None, "operator": running_mean, "weights": weights, "everything": "lifted"}
    problem = modes_problem(S, rng, dtype, measure=measures[kind])
    b, scale = problem.b.copy(), float(np.mean(np.abs(problem.b)))
    weights = problem.sample_weights
    seen = np.flatnonzero(np.ones(b.shape) if weights is None else weights)
    bad = rng.choice(seen, max(seen.size // 8, 1), replace=False)
    b.reshape(-1)[bad] += 15 * scale
    measure = None if kind == "everything" else problem.measure
    return Problem(S, b, problem.mu, measure), (0.5 if b.size > 10 else 0.1) * scale


def joint_value(problem, threshold, y, outliers):
    """The objective in y and s by its definition; outliers in the units of the samples."""
    weights = problem.sample_weights
    weights = np.ones(problem.b.shape) if weights is None else weights
    residual = problem.measure.forward(y) + weights * outliers - problem.data
    sparse = threshold * np.sum(weights**2 * np.abs(outliers))
    nuclear_norm = np.linalg.norm(problem.structure.to_dense(y), "nuc")
    return np.linalg.norm(residual) ** 2 / 2 + sparse + problem.mu * nuclear_norm


class TestOptimum:
    @pytest.mark.parametrize(("name", "dtype", "kind"), CASES)
    def test_is_the_conic_solvers_and_every_bound_holds(self, name, dtype, kind, rng):
        problem, threshold = spoiled_problem(name, dtype, kind, rng)
        optimum, outliers = robust_optimum(problem, threshold)
        iterates = []
        result = solve_robust(problem, threshold, 1e-5, callback=iterates.append)
        assert result.status is Status.SOLVED
        assert result.objective == pytest.approx(optimum, rel=1e-5)
        for state in iterates:
            assert state.objective * (1 - state.gap) <= optimum * (1 + 1e-7)
            assert state.objective >= optimum * (1 - 1e-7)
        value = joint_value(problem, threshold, result.y, result.outliers)
        assert value == pytest.approx(result.objective, rel=1e-9)
        assert np.count_nonzero(result.outliers) > 0
        weights = problem.sample_weights
        got = result.outliers if weights is None else weights * result.outliers
        np.testing.assert_allclose(got, outliers, atol=2e-2 * np.max(np.abs(outliers)))

    @pytest.mark.parametrize("kind", ["mask", "operator"])
    @pytest.mark.parametrize("form_small_ones", [True, False])
    @pytest.mark.parametrize("name", ["hankel", nightly("hankel-2d")])
    def test_gap_is_valid_wherever_the_run_ends(
        self, name, kind, form_small_ones, rng, monkeypatch
    ):
        if not form_small_ones:
            monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        problem, threshold = spoiled_problem(name, "complex128", kind, rng)
        optimum, _ = robust_optimum(problem, threshold)
        for iterations in range(1, 7):
            with pytest.warns(ConvergenceWarning):
                result = solve_robust(problem, threshold, 1e-12, max_iter=iterations)
            value = joint_value(problem, threshold, result.y, result.outliers)
            assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-7)
            assert optimum * (1 - 1e-7) <= value <= result.objective * (1 + 1e-12)

    def test_no_outliers_above_a_large_threshold(self, rng):
        problem, _ = spoiled_problem("hankel", "float64", "weights", rng)
        plain, result = solve(problem, 1e-6), solve_robust(problem, 1e3, 1e-6)
        assert result.objective == pytest.approx(plain.objective, rel=2e-6)
        np.testing.assert_array_equal(result.outliers, 0)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    @pytest.mark.parametrize("dtype", ["float32", "complex128"])
    def test_other_array_libraries(self, library, dtype, rng):
        problem, threshold = spoiled_problem("hankel-2d", dtype, "mask", rng)
        there = Problem(
            problem.structure, to_library(problem.b, library), problem.mu, problem.measure
        )
        here = solve_robust(problem, threshold, 1e-2)
        result = solve_robust(there, threshold, 1e-2)
        assert result.objective == pytest.approx(here.objective, rel=2e-2)
        for array in (result.y, result.outliers):
            assert type(array) is type(there.b)
            assert array.dtype == there.b.dtype
            assert np.all(np.isfinite(to_numpy(array)))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "affine"])
class TestQuadraticAbove:
    """`RobustAugmented` against the augmented Lagrangian, minimised over y and s literally."""

    lam, weight = 0.7, 1.3

    @pytest.fixture
    def case(self, name, dtype, rng):
        problem, threshold = spoiled_problem(name, dtype, "weights", rng)
        S = problem.structure
        T, X, D = (LowRank(*(random_array(rng, (n, 2), dtype) for n in S.shape)) for _ in range(3))
        gamma = problem.measure.forward(random_array(rng, S.signal_shape, dtype))
        loss = HuberLoss(problem, threshold)
        y = S.average(X.U, X.V)
        first = RobustAugmented(loss, self.lam, T, gamma, self.weight, y)
        return first, X, D

    def lagrangian(self, objective, X):
        """Least value over y and s, up to a constant, from thousands of sweeps over both."""
        loss, S = objective.huber, objective.structure
        w, problem = loss.weights, loss.problem
        Q0 = np.zeros(S.shape) if S.offset is None else S.offset
        D = self.weight * Q0 - objective.T.to_dense()
        structured = problem.measure.adjoint(objective.dual) / S.multiplicity
        Lambda = D + S.linear_to_dense(structured - S.average_dense(D))
        s = np.zeros_like(problem.b)
        for _ in range(5000):
            right = w * (problem.data - s) + S.adjoint_dense(self.lam * (X - Q0) - Lambda)
            y = right / (w**2 + self.lam * S.multiplicity)
            r = problem.data - w * y
            s = r * np.maximum(1 - loss.bounds / np.abs(r), 0)
        rest = S.to_dense(y) - X
        value = np.linalg.norm(r - s) ** 2 / 2 + np.sum(loss.bounds * np.abs(s))
        value += np.vdot(Lambda, rest).real + self.lam / 2 * np.linalg.norm(rest) ** 2
        return value, -Lambda - self.lam * rest, r - s

    def test_touches_with_its_gradient_and_gamma(self, case):
        objective, point = case[0].tight(case[1])
        _, gradient, gamma = self.lagrangian(objective, case[1].to_dense())
        unit = np.eye(case[1].shape[1], dtype=case[1].U.dtype)
        scale = np.linalg.norm(gradient)
        np.testing.assert_allclose(
            objective.gradient(point).matmul(unit), gradient, atol=1e-9 * scale
        )
        np.testing.assert_allclose(objective.gamma(point), gamma, atol=1e-9 * scale)
        assert np.all(np.abs(gamma) <= objective.huber.bounds * (1 + 1e-9))
        assert np.any(np.abs(gamma) >= objective.huber.bounds * (1 - 1e-9))

    def test_lies_above(self, case):
        _, X, D = case
        objective, point = case[0].tight(X)
        here, there = objective.smooth(point), self.lagrangian(objective, X.to_dense())[0]
        for t in (-2.0, -0.1, 0.1, 1.0, 5.0):
            moved = LowRank(X.U + t * D.U, X.V + t * D.V)
            above = objective.smooth(objective.at(moved)) - here
            assert above >= self.lagrangian(objective, moved.to_dense())[0] - there - 1e-8


def spoiled_tones(rng, length=120, share=0.08, dtype="float64"):
    t = np.arange(length)
    truth = np.exp(0.31j * t) + 0.6 * np.exp(1.1j * t)
    truth = truth if dtype == "complex128" else truth.real
    b = truth + 0.05 * random_array(rng, length, dtype)
    seen = rng.random(length) < 0.7
    bad = rng.choice(np.flatnonzero(seen), round(share * length), replace=False)
    b[bad] += 12 * rng.choice([-1, 1], bad.size)
    return truth, np.where(seen, b, np.nan), seen, np.sort(bad)


class TestOutliers:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_are_found_where_they_were_planted(self, dtype, rng):
        truth, b, seen, bad = spoiled_tones(rng, dtype=dtype)
        problem = Problem(Hankel(120, window=60), b, 2.0, Weighted("lifted", seen))
        result = solve_robust(problem, threshold=0.5)
        np.testing.assert_array_equal(np.flatnonzero(result.outliers), bad)
        residual = np.abs(b - result.y)
        np.testing.assert_array_equal(np.flatnonzero(residual > 0.5), bad)
        taken = np.abs(result.outliers[bad])
        np.testing.assert_allclose(taken, residual[bad] - 0.5, rtol=1e-9)
        plain = solve(problem, 1e-3)
        assert np.linalg.norm(result.y - truth) <= 0.5 * np.linalg.norm(plain.y - truth)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_threshold_is_estimated(self, dtype, rng):
        truth, b, seen, bad = spoiled_tones(rng, dtype=dtype)
        problem = Problem(Hankel(120, window=60), b, 0.8, Weighted("lifted", seen))
        result = solve_robust(problem)
        noise = 0.05 * np.sqrt(2 if dtype == "complex128" else 1)
        assert 1.5 * noise <= result.threshold <= 4.5 * noise
        assert set(bad) <= set(np.flatnonzero(result.outliers))
        assert np.linalg.norm(result.y - truth) <= 0.15 * np.linalg.norm(truth)
        assert f"residuals above {result.threshold:.3g}" in repr(result)

    def test_estimate_scales_with_the_data(self, rng):
        _, b, seen, _ = spoiled_tones(rng)
        H, measure = Hankel(120, window=60), Weighted("lifted", seen)
        one, other = (solve_robust(Problem(H, s * b, s, measure)) for s in (1.0, 1e3))
        assert other.threshold == pytest.approx(1e3 * one.threshold, rel=1e-3)


def test_residuals_far_below_the_threshold():
    """The threshold over them leaves the range of numbers."""
    b = np.array([1e-320, 3.0, 0.0, -2.0, 1e-300])
    loss = HuberLoss(Problem(Hankel(5, window=3), b, 1.0, Weighted([1, 1, 0, 1, 1])), 0.5)
    residual = loss.problem.residual(np.zeros(5))
    expected = [1, np.sqrt(0.5 / 3), 1, 0.5, 1]
    np.testing.assert_allclose(loss.factors(residual, 0.0), expected)
    np.testing.assert_allclose(np.abs(loss.outliers(np.zeros(5))), [0, 2.5, 0, 1.5, 0])


def test_samples_far_beyond_the_threshold(rng):
    """The loss is almost linear there: a lam that suits squares never comes to an end."""
    problem = Problem(Toeplitz(7, window=6), 1e9 * rng.standard_normal(7), mu=1e-3)
    result = solve_robust(problem, threshold=913.0, max_iter=20)
    assert result.status is Status.SOLVED


class TestBadInput:
    problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0)

    @pytest.mark.parametrize(
        ("options", "error", "says"),
        [
            ({"threshold": 0}, ValueError, "threshold is 0, but a finite number above zero"),
            ({"threshold": np.nan}, ValueError, "threshold is nan"),
            ({"threshold": 1.0, "gap": -1}, ValueError, "gap is -1"),
            ({"threshold": 1.0, "max_iter": 0}, ValueError, "max_iter is 0"),
            ({"threshold": 1.0, "start": 3}, TypeError, "start is int, but a LowRank"),
            ({"threshold": 1.0, "callback": 3}, TypeError, "callback is int"),
        ],
    )
    def test_of_solve_robust(self, options, error, says):
        with pytest.raises(error, match=says):
            solve_robust(self.problem, **options)

    def test_no_problem(self):
        with pytest.raises(TypeError, match="problem is int, but a Problem is expected"):
            solve_robust(3, 1.0)

    def test_nothing_to_estimate_from(self):
        b = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
        with pytest.raises(ValueError, match="half of the residuals are zero"):
            solve_robust(Problem(Hankel(5, window=3), b, 1.0))


def test_more_zeros_than_other_samples():
    """The noise that most residuals show is zero: weights stay numbers."""
    samples = np.zeros(13)
    samples[[1, 3, 4, 5, 11]] = -4.278, -1.292, 3.915, -6.1e-5, -4.278
    found = recover(samples, robust=True, effort="fast")
    assert np.isfinite(found.signal).all()

"""solve_within and solve_trusted: their optima, bounds that hold, samples met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, nightly, random_array, to_library
from conic import least_nuclear_norm, modes_problem, trusted_optimum

from structrank import (
    ConvergenceWarning,
    Hankel,
    Indexed,
    LowRank,
    Mask,
    Operator,
    Problem,
    Status,
    Weighted,
    solve,
)
from structrank._array import to_numpy
from structrank.model.certificate import DenseLimit
from structrank.solvers.augmented import Augmented
from structrank.solvers.constrained import MuSearch, solve_within
from structrank.solvers.trusted import TrustedAugmented, solve_trusted

ALL = {**STRUCTURES, "affine": AFFINE}
running_mean = Operator(lambda y: (y + np.roll(y, 1)) / 2, lambda d: (d + np.roll(d, -1)) / 2)


def make_problem(name, dtype, kind, rng):
    S = ALL[name]
    weights = np.linspace(0.2, 1.5, int(np.prod(S.signal_shape))).reshape(S.signal_shape)
    measure = {"mask": None, "operator": running_mean, "weights": Weighted(weights)}[kind]
    return modes_problem(S, rng, dtype, measure=measure)


def distance(problem, y):
    return np.linalg.norm(problem.measure.forward(y) - problem.data)


def nuclear_norm(problem, y):
    return np.linalg.norm(problem.structure.to_dense(y), "nuc")


class TestWithin:
    @pytest.mark.parametrize(
        ("name", "dtype", "kind", "share"),
        [
            ("hankel", "float64", "mask", 0.1),
            ("hankel", "complex128", "weights", 0.6),
            ("hankel-2d", "float64", "weights", 0.2),
            nightly("hankel-2d", "complex128", "operator", 0.7),
            ("hankel-block", "float64", "mask", 0.6),
            ("toeplitz", "complex128", "operator", 0.5),
            ("affine", "float64", "weights", 0.1),
        ],
    )
    def test_is_the_conic_solvers(self, name, dtype, kind, share, rng):
        problem = make_problem(name, dtype, kind, rng)
        delta = share * np.linalg.norm(problem.data)
        least = least_nuclear_norm(problem, delta)
        result = solve_within(problem, delta, 1e-7, rtol=1e-5)
        assert distance(problem, result.y) == pytest.approx(delta, rel=1e-5)
        assert nuclear_norm(problem, result.y) == pytest.approx(least, rel=2e-5)
        bound = (result.objective * (1 - result.gap) - delta**2 / 2) / result.problem.mu
        assert least * (1 - 1e-4) <= bound <= least * (1 + 1e-6)

    def test_default_tolerance_and_start(self, rng):
        problem = make_problem("hankel-2d", "float64", "mask", rng)
        delta = 0.3 * np.linalg.norm(problem.data)
        result = solve_within(problem, delta)
        assert distance(problem, result.y) == pytest.approx(delta, rel=1e-3)
        assert result.gap <= 1e-4
        again = solve(result.problem, 1e-6)
        assert distance(problem, again.y) == pytest.approx(delta, rel=5e-2)
        warm = solve_within(problem, delta, start=result.X)
        assert warm.problem.mu == pytest.approx(result.problem.mu, rel=5e-2)

    def test_mu_of_the_problem_does_not_matter(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        other = Problem(problem.structure, problem.b, 100 * problem.mu, problem.measure)
        one, two = solve_within(problem, 1.0), solve_within(other, 1.0)
        assert one.problem.mu == two.problem.mu

    def test_inaccurate_distances_are_made_accurate(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        delta = 0.3 * np.linalg.norm(problem.data)
        result = solve_within(problem, delta, gap=0.3, rtol=1e-4)
        assert distance(problem, result.y) == pytest.approx(delta, rel=1e-4)

    def test_stops_after_max_iter(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        with pytest.warns(ConvergenceWarning, match="solve_within did not converge"):
            result = solve_within(problem, 0.1, 1e-9, max_iter=1)
        assert result.status is Status.MAX_ITERATIONS

    def test_stops_after_max_time(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        with pytest.warns(ConvergenceWarning, match="solve_within did not converge"):
            result = solve_within(problem, 0.1, 1e-9, max_time=1e-6)
        assert result.status is Status.MAX_TIME

    def test_warns_after_too_many_values_of_mu(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        with pytest.warns(ConvergenceWarning, match="after 1 values of mu the distance is"):
            solve_within(problem, 0.1, rtol=1e-9, search=MuSearch(solves=1))

    def test_zero_signal_is_within(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        with pytest.raises(ValueError, match="the zero signal is within delta"):
            solve_within(problem, np.linalg.norm(problem.data))

    def test_data_that_the_measure_cannot_produce(self):
        sums = Operator(
            lambda y: np.stack([np.cumsum(y), np.cumsum(y)]),
            lambda d: np.cumsum(np.sum(d, axis=0)[::-1])[::-1],
        )
        b = np.stack([np.arange(6.0), 1 - np.arange(6.0)])
        with pytest.raises(ValueError, match="the measure cannot produce such data"):
            solve_within(Problem(Hankel(6, window=3), b, 1.0, sums), 1.0)

    def test_offset_for_which_no_distance_is_large(self):
        S = Indexed([[0, 1], [1, -1]], offset=np.array([[0.0, 0.0], [0.0, 1.0]]))
        with pytest.raises(ValueError, match="a larger one does not lower the nuclear norm"):
            solve_within(Problem(S, np.array([1.0, 2.0]), 1.0), 100.0)


def some_trusted(problem, rng, share=0.4):
    weights = np.flatnonzero(problem.sample_weights)
    trusted = np.zeros(problem.b.size, dtype=bool)
    trusted[rng.choice(weights, max(round(share * weights.size), 1), replace=False)] = True
    return trusted.reshape(problem.b.shape)


class TestTrusted:
    @pytest.mark.parametrize(
        ("name", "dtype", "kind"),
        [
            ("hankel", "float64", "mask"),
            ("hankel", "complex128", "weights"),
            ("hankel-2d", "float64", "weights"),
            ("hankel-2d", "complex128", "mask"),
            ("hankel-block", "float64", "mask"),
            ("sylvester-shifts", "complex128", "weights"),
            ("affine", "float64", "weights"),
            ("affine", "complex128", "weights"),
        ],
    )
    def test_is_the_conic_solvers_and_every_bound_holds(self, name, dtype, kind, rng):
        problem = make_problem(name, dtype, kind, rng)
        trusted = some_trusted(problem, rng)
        optimum = trusted_optimum(problem, trusted)
        iterates = []
        result = solve_trusted(problem, trusted, 1e-6, callback=iterates.append)
        assert result.status is Status.SOLVED
        assert result.objective == pytest.approx(optimum, rel=1e-5)
        for state in iterates:
            assert state.objective * (1 - state.gap) <= optimum * (1 + 1e-7)
            assert state.objective >= optimum * (1 - 1e-7)
            np.testing.assert_array_equal(state.y[trusted], problem.b[trusted])
        value = distance(problem, result.y) ** 2 / 2 + problem.mu * nuclear_norm(problem, result.y)
        assert value == pytest.approx(result.objective, rel=1e-9)
        assert result.objective > solve(problem, 1e-4).objective

    @pytest.mark.parametrize("form_small_ones", [True, False])
    @pytest.mark.parametrize("name", ["hankel", nightly("hankel-2d")])
    def test_gap_is_valid_wherever_the_run_ends(self, name, form_small_ones, rng, monkeypatch):
        if not form_small_ones:
            monkeypatch.setattr(DenseLimit, "allows", lambda *_: False)
        problem = make_problem(name, "complex128", "mask", rng)
        trusted = some_trusted(problem, rng)
        optimum = trusted_optimum(problem, trusted)
        for iterations in range(1, 7):
            with pytest.warns(ConvergenceWarning):
                result = solve_trusted(problem, trusted, 1e-12, max_iter=iterations)
            loss = distance(problem, result.y) ** 2 / 2
            value = loss + problem.mu * nuclear_norm(problem, result.y)
            assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-7)
            assert optimum * (1 - 1e-7) <= value <= result.objective * (1 + 1e-12)

    def test_is_solve_with_the_trusted_samples_in_the_offset(self, rng):
        problem = make_problem("hankel", "float64", "mask", rng)
        trusted = some_trusted(problem, rng)
        index = problem.structure.index()
        fixed = trusted[index]
        places = np.cumsum(~trusted) - 1
        S = Indexed(np.where(fixed, -1, places[index]), np.where(fixed, problem.b[index], 0.0))
        rest = Mask(problem.measure.weights[~trusted] > 0)
        other = solve(Problem(S, problem.b[~trusted], problem.mu, rest), 1e-7)
        result = solve_trusted(problem, trusted, 1e-7)
        assert result.objective == pytest.approx(other.objective, rel=1e-6)
        np.testing.assert_allclose(result.y[~trusted], other.y, atol=2e-3)

    def test_all_trusted_is_completion(self, rng):
        S = Hankel(30, window=15)
        t = np.arange(30)
        truth = 0.95**t + np.cos(0.9 * t)
        seen = t % 3 > 0
        problem = Problem(S, np.where(seen, truth, np.nan), 1.0, Mask(seen))
        result = solve_trusted(problem, seen, 1e-5)
        assert result.history.loss[-1] == 0
        np.testing.assert_array_equal(result.y[seen], truth[seen])
        np.testing.assert_allclose(result.y, truth, atol=2e-2)

    def test_weights_of_trusted_samples_do_not_matter(self, rng):
        problem = make_problem("hankel", "float64", "weights", rng)
        trusted = some_trusted(problem, rng)
        heavy = Weighted(np.where(trusted, 30.0, problem.measure.weights))
        other = Problem(problem.structure, problem.b, problem.mu, heavy)
        one, two = solve_trusted(problem, trusted, 1e-7), solve_trusted(other, trusted, 1e-7)
        assert two.objective == pytest.approx(one.objective, rel=1e-6)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    @pytest.mark.parametrize("dtype", ["float32", "complex128"])
    def test_other_array_libraries(self, library, dtype, rng):
        problem = make_problem("hankel-2d", dtype, "mask", rng)
        trusted = some_trusted(problem, rng)
        there = Problem(
            problem.structure, to_library(problem.b, library), problem.mu, problem.measure
        )
        here = solve_trusted(problem, trusted, 1e-2)
        result = solve_trusted(there, to_library(trusted, library), 1e-2)
        assert result.objective == pytest.approx(here.objective, rel=2e-2)
        assert type(result.y) is type(there.b)
        assert result.y.dtype == there.b.dtype
        np.testing.assert_array_equal(to_numpy(result.y)[trusted], problem.b[trusted])

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize("name", ["hankel", "hankel-2d-block", "affine"])
    def test_augmented_is_the_limit_of_growing_weights(self, name, dtype, rng):
        problem = make_problem(name, dtype, "weights", rng)
        trusted, S = some_trusted(problem, rng), problem.structure
        T, X = (LowRank(*(random_array(rng, (n, 2), dtype) for n in S.shape)) for _ in range(2))
        multiplier = random_array(rng, S.signal_shape, dtype)
        weights = problem.measure.weights
        limit = TrustedAugmented(problem, trusted, 0.7, T, multiplier / weights, 1.3)
        heavy = np.where(trusted, 1e6, weights)
        strict = Problem(S, problem.b, problem.mu, Weighted(heavy))
        near = Augmented(strict, 0.7, T, multiplier / heavy, 1.3)
        unit = np.eye(S.shape[1], dtype=dtype)
        got, expected = (o.gradient(o.at(X)).matmul(unit) for o in (limit, near))
        np.testing.assert_allclose(got, expected, atol=1e-8 * np.linalg.norm(expected))
        got, expected = weights * limit.gamma(limit.at(X)), heavy * near.gamma(near.at(X))
        np.testing.assert_allclose(got, expected, atol=1e-8 * np.linalg.norm(expected))


class TestBadInput:
    problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0, Mask(np.arange(5) != 2))

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"delta": 0}, "delta is 0, but a finite number above zero"),
            ({"delta": 1.0, "gap": -1}, "gap is -1"),
            ({"delta": 1.0, "rtol": np.inf}, "rtol is inf"),
            ({"delta": 1.0, "max_iter": 0}, "max_iter is 0"),
            ({"delta": 1.0, "max_time": -2}, "max_time is -2"),
        ],
    )
    def test_of_solve_within(self, options, says):
        with pytest.raises(ValueError, match=says):
            solve_within(self.problem, **options)

    @pytest.mark.parametrize(
        ("trusted", "error", "says"),
        [
            (np.ones(5), TypeError, "trusted has dtype float64, but a boolean"),
            (
                np.ones(4, dtype=bool),
                ValueError,
                r"trusted has shape \(4,\), but b has shape \(5,\)",
            ),
            (np.ones(5, dtype=bool), ValueError, "1 trusted samples are not seen"),
            (np.zeros(5, dtype=bool), ValueError, "trusted contains no True"),
        ],
    )
    def test_of_solve_trusted(self, trusted, error, says):
        with pytest.raises(error, match=says):
            solve_trusted(self.problem, trusted)

    def test_trusted_samples_of_an_operator(self):
        problem = Problem(Hankel(5, window=3), np.arange(5.0), 1.0, running_mean)
        with pytest.raises(TypeError, match="the measure is an operator"):
            solve_trusted(problem, np.ones(5, dtype=bool))

    @pytest.mark.parametrize("solver", [solve_within, solve_trusted])
    def test_no_problem(self, solver):
        with pytest.raises(TypeError, match="problem is int, but a Problem is expected"):
            solver(3, 1.0)

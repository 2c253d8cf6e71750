"""Bounds that are claimed: never above an objective that is attained, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import AFFINE, nightly, random_array

from benchmarks import certificates
from structrank import (
    ConvergenceWarning,
    Hankel,
    LowRank,
    Mask,
    Penalized,
    Problem,
    Status,
    Stop,
    Toeplitz,
    gcg,
    gcgls,
    homotopy,
    mu_max,
    recover,
    select_mu,
    solve,
    solve_robust,
    solve_trusted,
    solve_within,
)
from structrank.model.certificate import (
    DenseLimit,
    convexity_bound,
    dual_bound,
    nuclear_norm_bound,
    penalized_gap,
)
from structrank.model.linalg import top_singular_pairs
from structrank.model.objective import natural_lam
from structrank.model.starts import RandomStarts
from structrank.solvers.proven import Proof, _room, proven_norm


@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
def test_no_bound_of_any_iterate_is_false(capsys):
    assert certificates.check_bounds(400, first=2008) == 0
    assert "0 above" in capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
def test_no_bound_of_thirty_thousand_iterates_is_false():
    assert certificates.check_bounds(30_000, first=0) == 0


@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
@pytest.mark.parametrize(("seed", "gap"), [(1, 5e-2), *(nightly(seed, 1e-3) for seed in range(8))])
def test_a_printed_run_that_ends_by_its_gap_is_that_good(seed, gap):
    rng = np.random.default_rng(seed)
    S = Hankel(25, window=11)
    t = np.arange(25)
    b = np.cos(rng.uniform(0, np.pi) * t) + 0.5 * rng.standard_normal(25)
    problem = Problem(S, b, 0.1 * mu_max(Problem(S, b, 1.0)))
    stop = Stop(5000, xtol=None, rtol=None, gap=gap)
    rough = gcg(problem, 1.0, step="paper", pairs=1, stop=stop)
    fine = gcgls(problem, 1.0, stop=Stop(500, xtol=None, rtol=None, gap=1e-8))
    assert rough.gap >= 1 - fine.objective / rough.objective
    if rough.status is Status.SOLVED:
        assert 1 - fine.objective / rough.objective <= gap


class TestWarmStarts:
    """A guess beside the Gaussian start: the bound keeps its probability."""

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize("weight", [0.0, 1.0, 100.0])
    def test_fails_no_more_often_than_it_says(self, dtype, weight):
        rng = np.random.default_rng(0)
        failure, trials, failures = 0.1, 400, 0
        U, V = (np.linalg.qr(random_array(rng, (40, 40), dtype))[0] for _ in range(2))
        values = np.r_[1.0, np.linspace(0.9, 0.1, 39)]
        A = (U * values) @ V.conj().T
        for _ in range(trials):
            # The worst guess: it has no part along the top vector.
            start = random_array(rng, 40, dtype) + weight * np.sqrt(40) * V[:, 1]
            top = top_singular_pairs(
                lambda v: A @ v, lambda u: A.conj().T @ u, start, max_steps=3, failure=failure
            )
            failures += top.upper < 1 - 1e-12
        deviation = np.sqrt(trials * failure * (1 - failure))
        assert failures <= trials * failure + 3 * deviation


class TestAdversaries:
    """Data that are orthogonal to the starts of a fixed seed, or of another run."""

    @pytest.mark.parametrize("method", ["solve", "gcgls", "gcg", "homotopy", "robust", "trusted"])
    def test_data_built_against_the_starts_do_not_fool(self, method):
        S = Hankel(19, window=10)
        innocent = Problem(S, np.ones(19, dtype=complex), 0.1)
        zero = LowRank.zeros(S.shape, innocent.b)
        b = certificates.against(RandomStarts(innocent, zero).draw(), S)
        problem = Problem(S, b, 0.1)
        stop = Stop(200, xtol=None, rtol=None, gap=1e-2)
        run = {
            "solve": lambda: solve(problem, 1e-2),
            "gcgls": lambda: gcgls(problem, 1.0, stop=stop),
            "gcg": lambda: gcg(problem, 1.0, stop=stop),
            "homotopy": lambda: homotopy(problem, [1.0, 10.0]),
            "robust": lambda: solve_robust(problem, 5.0, 1e-2),
            "trusted": lambda: solve_trusted(problem, np.arange(19) == 0, 1e-2),
        }[method]
        result = run()
        assert result.rank >= 1
        assert np.linalg.norm(result.y - b) < 0.5 * np.linalg.norm(b)

    def test_a_start_that_the_data_are_orthogonal_to_would_fool(self):
        S = Hankel(79, window=40)
        start = np.random.default_rng(0).standard_normal(40) + 0j
        b = certificates.against(start, S)
        gradient = Penalized(Problem(S, b, 0.1), 1.0)
        top = gradient.gradient(gradient.at(LowRank.zeros(S.shape, b))).top(
            1, start, tolerance=1e-3, failure=1e-10
        )
        dense = np.linalg.norm(S.to_dense(b / S.multiplicity), 2)
        assert top.values[0] < dense  # what the random starts protect from


class TestRandomness:
    S = Hankel(25, window=12)
    b = np.cos(0.4 * np.arange(25)) + 0.3 * np.random.default_rng(1).standard_normal(25)
    problem = Problem(S, b, 0.5, Mask(np.arange(25) % 3 > 0))

    @pytest.mark.parametrize("rng", [0, 7])
    def test_an_integer_repeats_a_run(self, rng):
        one, two = (solve(self.problem, rng=rng) for _ in range(2))
        assert np.array_equal(one.y, two.y)
        assert one.history.gap == two.history.gap

    def test_other_seeds_data_and_starts_draw_other_vectors(self):
        zero = LowRank.zeros(self.S.shape, self.b)
        base = RandomStarts(self.problem, zero).draw()
        seen = Mask(np.arange(25) % 3 > 0)
        scaled = Problem(self.S, 1e70 * self.b, 0.5e70, seen)
        assert np.allclose(base, RandomStarts(scaled, zero).draw())
        moved = Problem(self.S, self.b + 0.01 * (np.arange(25) == 4), 0.5, seen)
        others = [
            RandomStarts(self.problem, zero, rng=1),
            RandomStarts(moved, zero),
            RandomStarts(self.problem, LowRank.ones(self.S.shape, self.b)),
            RandomStarts(Problem(self.S, self.b, 0.6), zero),
            RandomStarts(Problem(self.S, self.b, 0.5), zero),
            RandomStarts(self.problem, zero, rng=None),
        ]
        assert all(not np.allclose(base, other.draw()) for other in others)

    @pytest.mark.parametrize("rng", [None, np.random.default_rng(3), 5])
    def test_every_solver_takes_it(self, rng):
        stop = Stop(200, xtol=None, rtol=None, gap=1e-3)
        for result in (
            solve(self.problem, 1e-3, rng=rng),
            gcg(self.problem, 1.0, stop=Stop(), rng=rng),
            gcgls(self.problem, 1.0, stop=stop, rng=rng),
            homotopy(self.problem, [1.0, 10.0], rng=rng),
            solve_robust(self.problem, 1.0, rng=rng),
            solve_trusted(self.problem, np.arange(25) == 1, rng=rng),
            solve_within(self.problem, 1.0, rng=rng),
        ):
            assert np.all(np.isfinite(result.y))


def test_a_gap_that_cannot_be_reached_is_reported():
    """Rounding alone is larger: the run ends at its limit and says how good the solution is."""
    b = np.cos(0.4 * np.arange(30)) + 0.1 * np.random.default_rng(0).standard_normal(30)
    with pytest.warns(ConvergenceWarning, match=r"did not converge: .* within .*% of the optimum"):
        result = solve(Problem(Hankel(30, window=15), b, 1.0), gap=1e-17, max_iter=50)
    assert result.status is Status.MAX_ITERATIONS
    assert 1e-17 < result.gap < 1e-12


def test_the_gap_of_a_run_without_one_is_proven_at_its_end():
    problem = TestRandomness.problem
    result = gcgls(problem, 1.0)
    fine = gcgls(problem, 1.0, stop=Stop(500, xtol=None, rtol=None, gap=1e-9))
    true = 1 - fine.objective / result.objective
    assert true - 1e-9 <= result.gap <= max(3 * true, 1e-3) + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_recover_and_select_mu_show_are_proven(seed):
    rng = np.random.default_rng(seed)
    samples = np.cos(0.4 * np.arange(60)) + 0.3 * rng.standard_normal(60)
    samples[rng.random(60) < 0.3] = np.nan
    result = recover(samples, kind="convex").result
    lam = natural_lam(result.problem)
    fine = gcgls(result.problem, lam, stop=Stop(500, xtol=None, rtol=None, gap=1e-9))
    assert 1 - fine.objective / result.objective <= result.gap < 2e-3
    chosen = select_mu(result.problem)
    fine = gcgls(chosen.result.problem, lam, stop=Stop(500, xtol=None, rtol=None, gap=1e-9))
    assert 1 - fine.objective / chosen.result.objective <= chosen.result.gap < 2e-3


@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(4))
def test_proof_ends_as_soon_as_it_is_good_enough_or_hopeless(kind, seed):
    S = Hankel(120, window=60)
    b = random_array(np.random.default_rng(seed), 120, kind)
    problem = Problem(S, b, 0.3 * mu_max(Problem(S, b, 1.0)))
    rough = gcgls(problem, 1.0, stop=Stop(3, xtol=None, rtol=None, gap=1e-2))
    objective = Penalized(problem, 1.0)
    gradient = objective.gradient(objective.at(rough.X))
    true = np.linalg.norm(gradient.matmul(np.eye(S.shape[1], dtype=kind)), 2)

    def proven(enough):
        lanczos = Proof(dense=DenseLimit(0))  # no matrix is formed
        start = RandomStarts(problem, rough.X, seed).draw()
        options = {"mu": problem.mu, "tolerance": 1e-3, "enough": enough, "proof": lanczos}
        return proven_norm(gradient, rough.X, start, **options)

    best = proven(None)
    assert best >= true
    assert true <= proven(1.1 * best) <= 1.1 * best
    assert proven(0.98 * true) >= true
    assert proven(0.1 * true) == np.inf


@pytest.mark.parametrize("unit", [1.0, 1e-60])
@pytest.mark.parametrize("beside", [0.0, 1e-20, 0.3])
def test_room_is_what_the_other_blocks_leave(beside, unit):
    norms = unit * np.array([[0.5, beside], [beside, 0.0]])
    room = _room(norms, unit) / unit
    assert np.linalg.norm([[0.5, beside], [beside, room]], 2) == pytest.approx(1.0)
    assert _room(norms, 0.4 * unit) == 0.0


def test_samples_of_any_unit_are_solved_in_as_many_iterations(rng):
    S = Hankel(700, window=350)  # too large for a matrix
    y = 2 * np.cos(0.3 * np.arange(700)) + rng.standard_normal(700)

    def solved(unit):
        b = unit * y
        problem = Problem(S, b, 0.3 * mu_max(Problem(S, b, 1.0)))
        return gcgls(problem, 1.0, stop=Stop(10, None, None, gap=1e-3))

    usual, small = solved(1.0), solved(2.0**-200)
    assert small.iterations == usual.iterations
    assert small.gap == pytest.approx(usual.gap, rel=1e-6)


@pytest.mark.parametrize("top_value", [0.0, 0.2, 0.5, 0.8, 3.0])
@pytest.mark.parametrize("slope", [-2.0, 0.3, 4.0])
@pytest.mark.parametrize("smooth", [0.0, 0.3, 0.7])
class TestFormulas:
    """The bounds of the docstrings, by trying all scales."""

    mu, nuclear_norm = 0.5, 1.3

    def scales(self, top_value):
        largest = self.mu / top_value if top_value else 100.0
        return np.linspace(0, largest, 100_001)

    def test_dual_bound(self, smooth, slope, top_value):
        s, alignment, square = self.scales(top_value), 2 * smooth - slope, 2 * smooth
        expected = np.max(s * alignment - s**2 / 2 * square)
        if smooth == 0:  # the residual is zero, and so is its alignment, but for rounding
            alignment, expected = 0.0, 0.0
        got = dual_bound(alignment=alignment, norm_squared=square, top_value=top_value, mu=self.mu)
        assert got == pytest.approx(expected, abs=1e-4)

    def test_convexity_bound(self, smooth, slope, top_value):
        got = convexity_bound(smooth=smooth, slope=slope, top_value=top_value, mu=self.mu)
        assert got == pytest.approx((smooth - slope) * min(1.0, self.scales(top_value)[-1]))

    def test_penalized_gap(self, smooth, slope, top_value):
        numbers = {"smooth": smooth, "slope": slope, "top_value": top_value, "mu": self.mu}
        dual = {"alignment": 2 * smooth - slope, "norm_squared": 2 * smooth}
        best = dual_bound(**dual, top_value=top_value, mu=self.mu)
        phi = smooth + self.mu * self.nuclear_norm
        got = penalized_gap(**numbers, nuclear_norm=self.nuclear_norm)
        assert got == pytest.approx(max(phi - max(best, 0.0), 0.0), abs=1e-12)

    def test_the_best_dual_bound_is_the_largest(self, smooth, slope, top_value):
        if -slope > top_value * self.nuclear_norm or (smooth == 0 and slope != 0):
            return  # not the numbers of an objective
        dual = {"alignment": 2 * smooth - slope, "norm_squared": 2 * smooth}
        best = max(dual_bound(**dual, top_value=top_value, mu=self.mu), 0.0)
        phi = smooth + self.mu * self.nuclear_norm
        tangent = smooth - slope - max(0, top_value - self.mu) * phi / self.mu
        convexity = convexity_bound(smooth=smooth, slope=slope, top_value=top_value, mu=self.mu)
        assert tangent <= convexity + 1e-12 <= best + 2e-12


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("S", [Hankel(9, window=4), Toeplitz(9, window=6), AFFINE], ids=repr)
def test_the_bound_of_the_nuclear_norm_is_its_formula(S, dtype, rng):
    y = random_array(rng, S.signal_shape, dtype)
    guess = random_array(rng, (S.shape[1], 2), dtype)
    Q = S.to_dense(y)
    W = np.linalg.qr(Q @ guess)[0]
    inside = W.conj().T @ Q
    largest = min(S.shape[0] - 2, S.shape[1])
    literal = np.linalg.norm(inside, "nuc")
    literal += np.sqrt(largest) * np.linalg.norm(Q - W @ inside)
    got = nuclear_norm_bound(S, y, guess, limit=DenseLimit(0))
    assert literal <= got <= literal * (1 + 1e-6)
    small = nuclear_norm_bound(S, y, guess, limit=DenseLimit(Q.size))
    assert small == pytest.approx(np.linalg.norm(Q, "nuc"))
    assert nuclear_norm_bound(S, y, guess, limit=DenseLimit(Q.size - 1)) == got

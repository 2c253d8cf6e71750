"""Losses that are not quadratic: their bounds, the optimum, the descent, the certificate."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from conftest import AFFINE, STRUCTURES, random_array, to_library
from conic import loss_optimum, modes_problem
from literal import Literal

from structrank import (
    ConvergenceWarning,
    Hankel,
    Huber,
    Logistic,
    LowRank,
    Mask,
    Operator,
    Problem,
    Status,
    Stop,
    Weighted,
    gcgls,
    gcgls_loss,
    mu_max,
)
from structrank._array import to_numpy
from structrank.model.majorant import Majorant, Misfit
from structrank.solvers.local_search import local_search, search_in_pieces

ALL = {**STRUCTURES, "affine": AFFINE}
TIGHT = Stop(max_iter=500, xtol=None, rtol=None, gap=1e-5)
LOSSES = [Huber(0.3), Logistic()]


def loss_problem(structure, loss, rng, dtype="float64", measure="mask", share=0.15):
    """Binary samples for a logistic loss; gross errors in a fifth of the others."""
    problem = modes_problem(structure, rng, dtype)
    b = np.array(problem.b)
    if isinstance(loss, Logistic):
        b = np.sign(b)
    else:
        b = b + (rng.random(b.shape) < 0.2) * 3 * random_array(rng, b.shape, dtype)
    measure = problem.measure if measure == "mask" else measure
    lam = 1.0 if structure.offset is not None else None
    return Problem(
        structure, b, share * mu_max(Problem(structure, b, 1.0, measure), lam, loss=loss), measure
    )


def value(problem, loss, lam, penalty, X, recovery="projection"):
    """The objective at a dense X from the literal transcription."""
    literal = Literal(problem, lam, penalty, recovery)
    y = literal.signal(X)
    literal.problem = Problem(problem.structure, y, problem.mu)  # without misfit
    nuclear = problem.mu * np.linalg.norm(X, "nuc")
    return Misfit(problem, loss).value(y) + literal.f(X) + nuclear


@pytest.mark.parametrize(
    ("loss", "dtype"),
    [(Huber(0.3), "float64"), (Huber(0.3), "complex128"), (Logistic(), "float64")],
)
class TestElementwise:
    @pytest.fixture
    def numbers(self, loss, dtype, rng):
        binary = isinstance(loss, Logistic)
        b = rng.choice([-1.0, 1.0], 200) if binary else random_array(rng, 200, dtype)
        scale = 10 ** rng.uniform(-3, 1, 200)
        return scale * random_array(rng, 200, dtype), b

    def test_slopes_are_derivatives(self, loss, numbers, dtype):
        z, b = numbers
        step = 1e-6
        got = (loss.values(z + step, b) - loss.values(z - step, b)) / (2 * step)
        np.testing.assert_allclose(loss.slopes(z, b).real, got, atol=1e-5)
        if dtype == "complex128":
            got = (loss.values(z + 1j * step, b) - loss.values(z - 1j * step, b)) / (2 * step)
            np.testing.assert_allclose(loss.slopes(z, b).imag, got, atol=1e-5)

    def test_quadratics_are_upper_bounds(self, loss, numbers, rng, dtype):
        z, b = numbers
        assert np.all(loss.curvatures(z, b) > 0)
        for scale in (1e-3, 0.1, 1.0, 30.0):
            d = scale * random_array(rng, z.shape, dtype)
            slope = (np.conj(loss.slopes(z, b)) * d).real
            bound = loss.values(z, b) + slope + loss.curvatures(z, b) / 2 * np.abs(d) ** 2
            assert np.all(loss.values(z + d, b) <= bound + 1e-14 * (1 + scale**2))

    def test_curvatures_are_below_the_lipschitz_constant(self, loss, numbers, dtype):
        limit = 1 / 4 if isinstance(loss, Logistic) else 1.0
        assert np.all(loss.curvatures(*numbers) <= limit * (1 + 1e-15))


def test_logistic_loss_does_not_overflow():
    z, b = np.array([1e4, -1e4, 0.0]), np.ones(3)
    np.testing.assert_allclose(Logistic().values(z, b), [0.0, 1e4, np.log(2)])
    np.testing.assert_allclose(Logistic().slopes(z, b), [0.0, -1.0, -0.5])
    np.testing.assert_allclose(Logistic().curvatures(z, b), [5e-5, 5e-5, 0.25])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_array_libraries_agree_with_numpy(loss, library, rng):
    z, b = rng.standard_normal(20), rng.choice([-1.0, 1.0], 20)
    for name in ("values", "slopes", "curvatures"):
        got = getattr(loss, name)(to_library(z, library), to_library(b, library))
        np.testing.assert_allclose(to_numpy(got), getattr(loss, name)(z, b), rtol=1e-13)


@pytest.mark.parametrize("recovery", ["projection", "sparse"])
@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["hankel", "hankel-block", "sylvester", "affine"])
class TestMajorant:
    @pytest.fixture
    def case(self, name, loss, penalty, recovery, rng):
        problem = loss_problem(ALL[name], loss, rng)
        X = LowRank(*(rng.standard_normal((n, 2)) for n in problem.structure.shape))
        bound = Majorant.at_matrix(problem, loss, 2.0, penalty, recovery, X=X)
        return problem, X, bound, lambda X: value(problem, loss, 2.0, penalty, X, recovery)

    def test_touches_at_its_matrix(self, case):
        _, X, bound, phi = case
        assert bound.value(X) == pytest.approx(phi(X.to_dense()), rel=1e-12)

    def test_has_the_gradient_there(self, case, rng):
        problem, X, bound, phi = case
        G = bound.gradient(bound.at(X)).matmul(np.eye(X.shape[1]))
        dense, D, step = X.to_dense(), rng.standard_normal(X.shape), 1e-6

        def f(matrix):
            return phi(matrix) - problem.mu * np.linalg.norm(matrix, "nuc")

        got = (f(dense + step * D) - f(dense - step * D)) / (2 * step)
        assert np.vdot(G, D) == pytest.approx(got, rel=1e-5, abs=1e-6)

    def test_is_an_upper_bound_elsewhere(self, case, rng):
        _, X, bound, phi = case
        for scale in (0.1, 1.0, 10.0):
            D = LowRank(*(scale * rng.standard_normal((n, 1)) for n in X.shape))
            other = X.appended(D)
            assert phi(other.to_dense()) <= bound.value(other) * (1 + 1e-12)


BOTH = ("projection", "difference")
CASES = [
    *[
        ("hankel", dtype, Huber(0.3), *maps)
        for dtype in ("float64", "complex128")
        for maps in itertools.product(BOTH, ("projection", "sparse"))
    ],
    *[
        ("hankel", "float64", Logistic(), *maps)
        for maps in itertools.product(BOTH, ("projection", "sparse"))
    ],
    ("hankel-2d", "float64", Huber(0.3), "projection", "projection"),
    ("hankel-block", "complex128", Huber(0.3), "projection", "sparse"),
    ("circulant", "complex128", Huber(0.3), "projection", "sparse"),
    ("affine", "float64", Huber(0.3), "difference", "projection"),
    ("affine", "float64", Huber(0.3), "projection", "sparse"),
    ("hankel-2d", "float64", Logistic(), "difference", "sparse"),
    ("toeplitz", "float64", Logistic(), "projection", "projection"),
    ("sylvester", "float64", Logistic(), "projection", "sparse"),
    ("indexed", "float64", Logistic(), "difference", "projection"),
]


@pytest.mark.parametrize(("name", "dtype", "loss", "penalty", "recovery"), CASES)
def test_optimum_equals_the_conic_solvers(name, dtype, loss, penalty, recovery, rng):
    problem = loss_problem(ALL[name], loss, rng, dtype)
    optimum = loss_optimum(problem, loss, 2.0, penalty, recovery)
    result = gcgls_loss(problem, loss, 2.0, penalty=penalty, recovery=recovery, stop=TIGHT)
    assert result.status is Status.SOLVED
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.objective * (1 - result.gap) <= optimum * (1 + 1e-6)
    direct = value(problem, loss, 2.0, penalty, result.X.to_dense(), recovery)
    assert direct == pytest.approx(result.objective, rel=1e-9)


def measures(structure, rng):
    weights = rng.uniform(0.3, 2.0, structure.signal_shape)
    matrix = rng.standard_normal((9, int(np.prod(structure.signal_shape))))
    return {
        "everything": None,
        "weights": Weighted(weights, rng.random(weights.shape) < 0.8),
        "operator": Operator(lambda y: matrix @ y, lambda data: matrix.T @ data),
    }


@pytest.mark.parametrize("measure", ["everything", "weights", "operator"])
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_for_every_measure(loss, measure, rng):
    S = STRUCTURES["hankel"]
    chosen = measures(S, rng)[measure]
    b = rng.standard_normal(9 if measure == "operator" else 13)
    b = np.sign(b) if isinstance(loss, Logistic) else b
    mu = 0.2 * mu_max(Problem(S, b, 1.0, chosen), loss=loss)
    problem = Problem(S, b, mu, chosen)
    result = gcgls_loss(problem, loss, 1.0, stop=TIGHT)
    optimum = loss_optimum(problem, loss, 1.0, "projection")
    assert result.objective == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_high_threshold_gives_the_squares(dtype, rng):
    problem = modes_problem(Hankel(21, window=10), rng, dtype)
    squares = gcgls(problem, 1.0, stop=TIGHT)
    huber = gcgls_loss(problem, Huber(100.0), 1.0, stop=TIGHT)
    assert huber.objective == pytest.approx(squares.objective, rel=TIGHT.gap)
    np.testing.assert_allclose(huber.y, squares.y, atol=1e-3)


@pytest.mark.parametrize("penalty", ["projection", "difference"])
@pytest.mark.parametrize("loss", LOSSES)
class TestDescent:
    def test_psi_never_rises(self, loss, penalty, rng):
        problem = loss_problem(Hankel(31, window=15), loss, rng)
        X = LowRank(*(rng.standard_normal((n, 3)) for n in problem.structure.shape))
        objective = Majorant.at_matrix(problem, loss, 1.0, penalty, X=X)
        psi = []
        for _ in range(30):
            objective, point = objective.tight(X)
            psi.append(objective.psi(point))
            bound_before = objective.psi(point)
            moved = local_search(objective, X, max_steps=2, tolerance=0.0)
            assert objective.psi(moved) <= bound_before * (1 + 1e-12)
            X = moved.X
        assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(psi))
        assert psi[-1] < 0.9 * psi[0]

    def test_search_in_pieces_goes_below_one_search(self, loss, penalty, rng):
        problem = loss_problem(Hankel(31, window=15), loss, rng)
        X = LowRank(*(rng.standard_normal((n, 3)) for n in problem.structure.shape))
        objective = Majorant.at_matrix(problem, loss, 1.0, penalty, X=X)
        values = []
        for piece in (50, 10):
            found = search_in_pieces(objective, X, max_steps=50, piece=piece, tolerance=0.0)
            tight, point = objective.tight(found)
            values.append(tight.psi(point))
        assert values[1] < values[0]

    def test_objective_never_rises(self, loss, penalty, rng):
        problem = loss_problem(Hankel(31, window=15), loss, rng)
        start = LowRank.ones(problem.structure.shape, problem.b)
        result = gcgls_loss(problem, loss, 1.0, penalty=penalty, start=start, stop=TIGHT)
        assert result.iterations >= 2
        for before, after in itertools.pairwise(result.history.objective):
            assert after <= before * (1 + 1e-12)


@pytest.mark.parametrize("recovery", ["projection", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "options",
    [{}, {"step": "paper", "pairs": 1}, {"search_steps": 0}, {"search_steps": 3, "pairs": 1}],
)
def test_certified_gap_is_never_too_small(loss, recovery, options, rng):
    problem = loss_problem(Hankel(21, window=10), loss, rng)
    best = gcgls_loss(problem, loss, 1.0, recovery=recovery, stop=TIGHT)
    assert best.status is Status.SOLVED
    iterates = []
    stop = Stop(max_iter=12, xtol=None, rtol=None, gap=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        gcgls_loss(
            problem, loss, 1.0, recovery=recovery, stop=stop, callback=iterates.append, **options
        )
    assert len(iterates) > 2
    for state in iterates:
        assert state.objective * (1 - state.gap) <= best.objective * (1 + 1e-9)
        direct = value(problem, loss, 1.0, "projection", state.X.to_dense(), recovery)
        assert state.objective == pytest.approx(direct, rel=1e-9)
        assert state.loss == pytest.approx(Misfit(problem, loss).value(state.y), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_printed_steps_reach_the_optimum(loss, rng):
    """Algorithm 1 as printed, with the quadratic upper bound for a general f."""
    problem = loss_problem(Hankel(7, window=3), loss, rng, share=0.7)
    best = gcgls_loss(problem, loss, 1.0, stop=TIGHT)
    stop = Stop(1000, xtol=None, rtol=None, gap=1e-2)
    printed = gcgls_loss(problem, loss, 1.0, step="paper", pairs=1, search_steps=0, stop=stop)
    assert printed.status is Status.SOLVED
    assert printed.objective == pytest.approx(best.objective, rel=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_is_the_solution_from_mu_max_on(loss, rng):
    problem = loss_problem(Hankel(21, window=10), loss, rng)
    top = mu_max(problem, loss=loss)
    for factor, rank in ((1.001, 0), (0.9, 1)):
        at = Problem(problem.structure, problem.b, factor * top, problem.measure)
        assert min(gcgls_loss(at, loss, 1.0, stop=TIGHT).rank, 1) == rank


def test_gross_errors_do_not_matter(rng):
    t = np.arange(101)
    truth = np.cos(0.4 * t)
    b = truth + 0.01 * rng.standard_normal(101)
    b[::9] += 5.0
    S = Hankel(101, window=51)
    errors = {}
    for name, solved in {
        "huber": lambda p: gcgls_loss(p, Huber(0.05), 10.0, stop=TIGHT),
        "squares": lambda p: gcgls(p, 10.0, stop=TIGHT),
    }.items():
        y = solved(Problem(S, b, 1.0, "lifted")).y
        errors[name] = np.linalg.norm(y - truth) / np.linalg.norm(truth)
    assert errors["huber"] < 0.05 < 0.3 < errors["squares"]


def test_array_library_and_precision_are_kept(rng):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    b = rng.choice([-1.0, 1.0], 21)
    S, stop = Hankel(21, window=10), Stop(xtol=None, rtol=None, gap=1e-2)
    expected = gcgls_loss(Problem(S, b, 0.3), Logistic(), 1.0, stop=stop)
    problem = Problem(S, torch.asarray(b, dtype=torch.float32), 0.3)
    result = gcgls_loss(problem, Logistic(), 1.0, stop=stop)
    assert result.y.dtype == torch.float32
    assert result.objective == pytest.approx(expected.objective, rel=1e-2)


def test_missing_samples_may_be_nan(rng):
    problem = loss_problem(Hankel(21, window=10), Logistic(), rng)
    b = np.where(problem.seen, problem.b, np.nan)
    holed = Problem(problem.structure, b, problem.mu, Mask(problem.seen))
    one, other = (gcgls_loss(p, Logistic(), 1.0, stop=TIGHT) for p in (problem, holed))
    assert one.objective == other.objective


class TestErrors:
    problem = Problem(Hankel(9, window=5), np.cos(np.arange(9.0)), 0.1)

    @pytest.mark.parametrize("b", [np.cos(np.arange(9.0)), np.ones(9, dtype=complex)])
    def test_logistic_needs_binary_samples(self, b):
        with pytest.raises(ValueError, match=r"other than \+1 and -1"):
            gcgls_loss(Problem(Hankel(9, window=5), b, 0.1), Logistic(), 1.0)

    @pytest.mark.parametrize("threshold", [0.0, -1.0, np.inf, "a"])
    def test_threshold(self, threshold):
        with pytest.raises(ValueError, match="threshold is .* but a finite number above zero"):
            Huber(threshold)

    @pytest.mark.parametrize(
        ("options", "kind", "says"),
        [
            ({"loss": "huber"}, TypeError, "loss is str, but a Loss"),
            ({"lam": 0.0}, ValueError, "lam is 0.0"),
            ({"step": "armijo"}, ValueError, "'joint' or 'paper'"),
            ({"pairs": 0}, ValueError, "pairs is 0"),
            ({"search_steps": -1}, ValueError, "search_steps is -1"),
            ({"penalty": "l1"}, ValueError, "'projection' or 'difference'"),
            ({"recovery": "mean"}, ValueError, "'projection' or 'sparse'"),
        ],
    )
    def test_options(self, options, kind, says):
        arguments = {"loss": Huber(1.0), "lam": 1.0, **options}
        with pytest.raises(kind, match=says):
            gcgls_loss(self.problem, **arguments)

"""Many problems or signals at once: the same as one by one, and every gap proven."""

from __future__ import annotations

import copy
import signal

import numpy as np
import pytest
from conftest import nightly, to_library

from structrank import (
    ConvergenceWarning,
    Hankel,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Problems,
    Result,
    Status,
    Stop,
    Toeplitz,
    Weighted,
    _processes,
    gcgls,
    mu_max,
    recover,
    recover_many,
    solve_many,
)
from structrank._array import orthonormal_rows, to_numpy
from structrank.model import quartic
from structrank.model.stack import Stack, balanced, distances
from structrank.model.stack_line import StackLine
from structrank.model.stack_pairs import top_pairs
from structrank.model.starts import StackStarts
from structrank.signals import each_signal
from structrank.solvers import many
from structrank.solvers.stack_proof import prove_gaps, relative_gaps

STOP = Stop(xtol=None, rtol=None, gap=1e-3)
STRUCTURES = [
    pytest.param(Hankel(40, window=18), True, id="complex"),
    pytest.param(Hankel(40, window=20), False, id="real"),
    pytest.param(Toeplitz(30, window=12), True, id="Toeplitz"),
    pytest.param(Hankel((9, 8), window=(4, 5)), True, id="two axes"),
]


def modes(shape, rng, rank=2, is_complex=True):
    y = np.zeros(shape, dtype=complex)
    for _ in range(rank):
        grids = np.meshgrid(*map(np.arange, shape), indexing="ij")
        angle = sum(2 * np.pi * rng.random() * t for t in grids)
        y = y + rng.uniform(1, 2) * np.exp(1j * (angle + 2 * np.pi * rng.random()))
    return y if is_complex else y.real


def some_problems(structure, is_complex=True, count=5, seed=0, mu=(1.0, 4.0)):
    """Problems with their own gaps, samples and mu."""
    rng = np.random.default_rng(seed)
    problems = []
    for _ in range(count):
        y = modes(structure.signal_shape, rng, is_complex=is_complex)
        seen = rng.random(y.shape) < rng.uniform(0.5, 1.0)
        b = np.where(seen, y + 0.1 * rng.standard_normal(y.shape), np.nan)
        problems.append(Problem(structure, b, rng.uniform(*mu), Weighted("lifted", seen)))
    return problems


def some_factors(stack, rank=3, seed=1):
    rng = np.random.default_rng(seed)
    M, N = stack.kernel.shape
    U, W = (rng.standard_normal((len(stack), rank, size)) for size in (M, N))
    if np.iscomplexobj(stack.data):
        U = U + 1j * rng.standard_normal(U.shape)
        W = W + 1j * rng.standard_normal(W.shape)
    return U, W


def lowrank(stack, U, W, i):
    return LowRank(U[i].T, stack.kernel.columns_of(W[i]))


class OwnHankel(Hankel):
    """It may have products of its own, so it does not stack."""


# -- one by one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("structure", "is_complex"), STRUCTURES)
def test_many_problems_have_the_results_of_one_by_one(structure, is_complex):
    problems = some_problems(structure, is_complex)
    together = solve_many(problems, 1.0, stop=STOP)
    assert len(together) == len(problems)
    for problem, result in zip(problems, together, strict=True):
        alone = gcgls(problem, 1.0, stop=Stop(xtol=None, rtol=None, gap=1e-7))
        assert isinstance(result, Result)
        assert result.status is Status.SOLVED
        assert result.rank == alone.rank
        assert result.gap <= 1e-3
        assert alone.objective * (1 - 1e-7) <= result.objective * (1 + 1e-12)
        assert result.objective * (1 - result.gap) <= alone.objective
        # What is returned is one thing: the factors have this objective and this signal.
        objective = Penalized(problem, 1.0)
        np.testing.assert_allclose(objective.value(result.X), result.objective, rtol=1e-9)
        signal = objective.signal(objective.at(result.X))
        np.testing.assert_allclose(result.y, signal, atol=1e-9)
        assert result.history.objective[-1] == result.objective
        assert len(result.history.gap) == len(result.history.time) == result.iterations + 1
    np.testing.assert_array_equal(together.y[2], together[2].y)
    assert together.rank.tolist() == [result.rank for result in together]
    assert together[-1].objective == together.objective[-1]
    assert [r.objective for r in together[1:3]] == together.objective[1:3].tolist()


@pytest.mark.parametrize("options", [{"batch": 2}, nightly({"batch": 4, "workers": 2})])
def test_results_do_not_depend_on_batches_or_processes(options):
    problems = some_problems(Hankel(30, window=12), count=9)
    whole = solve_many(problems, 1.0, stop=STOP)
    parts = solve_many(problems, 1.0, stop=STOP, **options)
    np.testing.assert_allclose(parts.objective, whole.objective, rtol=1e-6)
    assert parts.rank.tolist() == whole.rank.tolist()
    assert [r.iterations for r in parts] == [r.iterations for r in whole]


def test_processes_need_joblib_and_numpy(monkeypatch):
    problem = Problem(Hankel(9, 5), to_library(np.ones(9), "array_api_strict"), 1.0)
    with pytest.raises(TypeError, match="processes are for arrays of NumPy"):
        solve_many([problem], 1.0, workers=2)
    monkeypatch.setattr(_processes, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="parallel"):
        solve_many([Problem(Hankel(9, 5), np.ones(9), 1.0)], 1.0, workers=2)
    with pytest.raises(ImportError, match="parallel"):
        recover_many([np.ones(9)], workers=2)


def test_one_hard_problem_among_easy_ones():
    """The others leave when they are finished, and it goes on alone."""
    structure = Hankel(40, window=20)
    easy = some_problems(structure, mu=(6.0, 8.0), count=5)
    hard = some_problems(structure, mu=(0.05, 0.06), count=1, seed=3)
    results = solve_many([*easy[:2], *hard, *easy[2:]], 0.1, stop=STOP)
    iterations = [result.iterations for result in results]
    assert iterations[2] > max(iterations[:2] + iterations[3:])
    alone = gcgls(hard[0], 0.1, stop=STOP)
    assert results[2].gap <= 1e-3
    assert abs(results[2].objective / alone.objective - 1) <= 1e-3


@pytest.mark.parametrize(("length", "window"), [(20, 8), (18, 4), (4, 2), (4, 3), (3, 1)])
def test_nothing_to_find(length, window):
    """mu above the largest: zero is proven at once. Data of zeros: zero as well."""
    structure = Hankel(length, window)
    zeros = Problem(structure, np.zeros(length, dtype=complex), 1.0)
    results = solve_many([*some_problems(structure, mu=(900, 999), count=2), zeros], 1.0, stop=STOP)
    assert results.rank.tolist() == [0, 0, 0]
    assert [result.iterations for result in results] == [0, 0, 0]
    assert not np.any(results.y)


def test_single_precision():
    problems = some_problems(Hankel(40, window=20), count=4)
    single = [
        Problem(p.structure, p.b.astype(np.complex64), p.mu, Weighted("lifted", p.seen))
        for p in problems
    ]
    stop = Stop(xtol=None, rtol=None, gap=1e-2)
    together = solve_many(single, 1.0, stop=stop)
    assert together.y.dtype == together[0].X.U.dtype == np.complex64
    best = [gcgls(p, 1.0, stop=STOP).objective * (1 - 1e-3) for p in problems]
    assert np.all(together.gap <= 1e-2)
    assert np.all(together.objective * (1 - together.gap) <= np.array(best) / (1 - 1e-3) + 1e-4)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(library):
    problems = some_problems(Hankel(30, window=12), count=4)
    there = [
        Problem(
            p.structure,
            to_library(np.where(p.seen, p.b, 0), library),
            p.mu,
            Weighted(p.measure.weights),
        )
        for p in problems
    ]
    together, numpy = solve_many(there, 1.0, stop=STOP), solve_many(problems, 1.0, stop=STOP)
    assert type(together.y) is type(together[0].X.U) is type(there[0].b)
    np.testing.assert_allclose(together.objective, numpy.objective, rtol=1e-6)
    np.testing.assert_allclose(to_numpy(together.y), numpy.y, atol=1e-3)
    assert together.rank.tolist() == numpy.rank.tolist()


# -- signals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, nightly(2)])
def test_many_signals_have_the_recoveries_of_a_loop(workers):
    rng = np.random.default_rng(0)
    signals = np.array([modes((60,), rng) + 0.1 * rng.standard_normal(60) for _ in range(3)])
    signals[:, 20:25] = np.nan
    options = {"kind": "refit", "rank": 2}
    alone = [recover(signal, **options) for signal in signals]
    found = recover_many(signals, workers=workers, **options)
    assert len(found) == 3
    for one, other in zip(alone, found, strict=True):
        np.testing.assert_allclose(other.signal, one.signal, atol=1e-12)
        np.testing.assert_allclose(other.stderr, one.stderr, atol=1e-12)
        assert other.rank == one.rank
    assert found[0].result.gap < 0.01  # the convex solution can still be asked for


def test_many_signals_are_a_stack_or_a_sequence():
    pandas = pytest.importorskip("pandas")
    for samples in (np.ones(5), pandas.DataFrame(np.ones((5, 2))), 3.0, "signal"):
        with pytest.raises(ValueError, match="a sequence of signals is expected"):
            recover_many(samples)
    with pytest.raises(ValueError, match="empty"):
        recover_many([])
    with pytest.raises(TypeError, match="one for all"):
        recover_many(np.ones((2, 5)), rng=np.random.default_rng(0))


# -- stopping -----------------------------------------------------------------------------------


def test_the_stopping_rule_of_the_paper_has_a_certificate():
    problems = some_problems(Hankel(30, window=12), count=4)
    for problem, result in zip(problems, solve_many(problems, 1.0), strict=True):
        assert result.status in (Status.SMALL_CHANGE, Status.SMALL_STEP)
        best = gcgls(problem, 1.0, stop=STOP)
        assert result.objective * (1 - result.gap) <= best.objective
        assert result.gap < 0.1


def test_a_limit_warns_once_and_proves_what_it_can():
    problems = some_problems(Hankel(30, window=12), mu=(0.3, 0.4), count=3)
    stop = Stop(max_iter=1, xtol=None, rtol=None, gap=1e-6)
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems did not converge") as caught:
        results = solve_many(problems, 1.0, stop=stop)
    assert len(caught) == 1
    for problem, result in zip(problems, results, strict=True):
        assert result.status is Status.MAX_ITERATIONS
        assert result.iterations == 1
        best = gcgls(problem, 1.0, stop=STOP).objective
        assert result.objective * (1 - result.gap) <= best
        assert result.gap < 1


@pytest.mark.parametrize(
    ("problems", "error", "text"),
    [
        ([], ValueError, "empty"),
        ([np.ones(3)], TypeError, r"problems\[0\] is ndarray"),
        (
            [Problem(Hankel(9, window=5), np.ones(9), 1.0), Problem(Hankel(8, 4), np.ones(8), 1.0)],
            ValueError,
            r"problems\[1\] has the structure Hankel\(\(8,\)",
        ),
        (
            [Problem(Hankel(9, 5), np.ones(9), 1.0), Problem(Hankel(9, 5), 1j * np.ones(9), 1.0)],
            TypeError,
            "complex128",
        ),
        (
            [Problem(Hankel(9, 5), np.ones(9), 1.0, Operator(lambda y: 2 * y, lambda d: 2 * d))],
            ValueError,
            "operator",
        ),
        ([Problem(Hankel(9, 5, (1, 2)), np.ones((9, 1, 2)), 1.0)], ValueError, "without blocks"),
        ([Problem(OwnHankel(9, window=5), np.ones(9), 1.0)], ValueError, "without blocks"),
    ],
)
def test_problems_that_do_not_stack(problems, error, text):
    with pytest.raises(error, match=text):
        solve_many(problems, 1.0)


# -- slow twins ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("structure", "is_complex"), STRUCTURES)
def test_objectives_gradients_and_lines_are_those_of_single_problems(structure, is_complex):
    problems = some_problems(structure, is_complex, count=3)
    stack = Stack.of(problems, 0.7)
    U, W = some_factors(stack)
    DU, DW = some_factors(stack, seed=2)
    point, steps = stack.at(U, W), np.array([0.1, -0.3, 0.0])
    figures, (GU, GW) = stack.figures(point), stack.factor_gradient(point)
    gradient = stack.gradient(point)
    images, coimages = gradient.matmul(DW), gradient.rmatmul(DU)
    tops = np.array([3.0, 30.0, 300.0])
    gaps = relative_gaps(figures, tops, 0.0)
    singles = []
    for i, problem in enumerate(problems):
        objective = Penalized(problem, 0.7)
        at_X = objective.at(lowrank(stack, U, W, i))
        singles.append((objective, at_X))
        np.testing.assert_allclose(figures.psi[i], objective.psi(at_X))
        np.testing.assert_allclose(figures.slope[i], objective.slope(at_X))
        np.testing.assert_allclose(figures.curvature[i], objective.curvature(at_X))
        np.testing.assert_allclose(gaps[i], objective.gap(at_X, tops[i]) / objective.psi(at_X))
        for_U, for_V = objective.factor_gradient(objective.at(lowrank(stack, U, W, i)))
        np.testing.assert_allclose(GU[i].T, for_U, atol=1e-8)
        np.testing.assert_allclose(stack.kernel.columns_of(GW[i]), for_V, atol=1e-8)
        single = objective.gradient(at_X)
        direction = lowrank(stack, DU, DW, i)
        np.testing.assert_allclose(images[i].T, single.matmul(direction.V), atol=1e-8)
        coimage = stack.kernel.columns_of(coimages[i])
        np.testing.assert_allclose(coimage, single.rmatmul(direction.U), atol=1e-8)
    line = StackLine(stack, stack.at(U.copy(), W.copy()), DU.copy(), DW.copy())
    polynomials = line.psi.copy()
    moved = stack.figures(line.move(stack, steps)).psi
    for i, (objective, at_X) in enumerate(singles):
        direction = lowrank(stack, DU, DW, i)
        single = objective.line(at_X, direction.U, direction.V)
        np.testing.assert_allclose(polynomials[i], single.psi, atol=1e-8)
        np.testing.assert_allclose(moved[i], quartic.value(single.psi, steps[i]))


def test_minimizers_are_those_of_single_polynomials():
    rng = np.random.default_rng(0)
    c = rng.standard_normal((300, 5))
    c[:, 2], c[:, 4] = np.abs(c[:, 2]), np.abs(c[:, 4]) * 10.0 ** rng.uniform(-20, 0, 300)
    c[:, 3] *= np.sqrt(c[:, 4])
    change = np.concatenate([np.zeros((300, 1)), c[:, 1:]], axis=1)
    for row, t in zip(change, quartic.minimizers(c), strict=True):
        least = quartic.value(row, quartic.minimizer(row))
        assert quartic.value(row, t) <= least + 1e-12 * abs(least)
    assert quartic.minimizers(np.array([[1.0, 0, 0, 0, 0], [0, np.nan, 1, 1, 1]])).tolist() == [
        0,
        0,
    ]


def test_balanced_factors_and_distances():
    stack = Stack.of(some_problems(Hankel(12, window=5), count=3), 1.0)
    U, W = some_factors(stack)
    U[1, 2] = W[1, 2] = 0  # a column of padding
    BU, BW, ranks = balanced(U, W, 1e-10)
    assert ranks.tolist() == [3, 2, 3]
    for i in range(3):
        X, B = lowrank(stack, U, W, i), lowrank(stack, BU, BW, i)
        np.testing.assert_allclose(B.to_dense(), X.to_dense(), atol=1e-12)
        np.testing.assert_allclose(B.U.conj().T @ B.U, B.V.conj().T @ B.V, atol=1e-12)
        half = (np.linalg.norm(B.U) ** 2 + np.linalg.norm(B.V) ** 2) / 2
        np.testing.assert_allclose(half, X.nuclear_norm())
    other = some_factors(stack, rank=2, seed=5)
    apart = distances(stack.at(U, W), stack.at(*other))
    for i in range(3):
        expected = lowrank(stack, U, W, i).distance(lowrank(stack, *other, i))
        np.testing.assert_allclose(apart[i], expected)


def test_orthonormal_rows_by_gram_matrices():
    """GPUs take this way: also with columns of zeros, and of very different size."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2, 4, 20)) + 1j * rng.standard_normal((2, 4, 20))
    rows[0, 1], rows[1, 2] = 0, 1e-6 * rows[1, 2]
    Q, R = (part.numpy() for part in orthonormal_rows(torch.asarray(rows)))
    np.testing.assert_allclose(R @ Q, rows, atol=1e-12)
    for rows_of_Q, squares in zip(Q, ([0, 1, 1, 1], [1, 1, 1, 1]), strict=True):
        found = np.linalg.eigvalsh(rows_of_Q @ rows_of_Q.conj().T)
        np.testing.assert_allclose(found, squares, atol=1e-12)


def test_top_pairs_are_those_of_dense_matrices():
    problems = some_problems(Hankel(24, window=10), count=4)
    stack = Stack.of(problems, 1.0)
    point = stack.at(*some_factors(stack))
    start = np.repeat(StackStarts(stack).draw(), 4, axis=0)
    tolerances = np.array([1e-9, 1e-2, 1e-9, 1e-2])
    pairs = top_pairs(stack.gradient(point), start, 3, tolerances)
    for i, problem in enumerate(problems):
        objective = Penalized(problem, 1.0)
        gradient = objective.gradient(objective.at(lowrank(stack, point.U, point.W, i)))
        dense = gradient.matmul(np.eye(15, dtype=complex))
        values = np.linalg.svd(dense, compute_uv=False)
        np.testing.assert_allclose(pairs.values[i, 0], values[0], rtol=tolerances[i])
        image = dense @ pairs.W[i, 0].conj()
        np.testing.assert_allclose(image, pairs.values[i, 0] * pairs.U[i, 0], atol=1e-9)


@pytest.mark.parametrize("is_complex", [True, False])
def test_no_gap_is_claimed_beyond_the_norm_of_the_dense_gradient(is_complex):
    """A gap just below the true one is never proven; one a little above it is."""
    problems = some_problems(Hankel(40, window=20), is_complex, count=6)
    rough = Stop(max_iter=2, xtol=None, rtol=None, gap=1e-9)
    with pytest.warns(ConvergenceWarning):
        results = solve_many(problems, 1.0, stop=rough)
    stack = Stack.of(problems, 1.0)
    rank = max(results.rank)
    U, W = (np.zeros((6, rank, size), stack.data.dtype) for size in stack.kernel.shape)
    truth = []
    for i, result in enumerate(results):
        U[i, : result.rank], W[i, : result.rank] = result.X.U.T, result.X.V.conj().T
        objective = Penalized(problems[i], 1.0)
        point = objective.at(result.X)
        dense = objective.gradient(point).matmul(np.eye(21, dtype=stack.data.dtype))
        norm = np.linalg.norm(dense, 2)
        norms = max(norm, problems[i].mu), norm
        truth.append([objective.gap(point, top) / objective.psi(point) for top in norms])
    point = stack.at(U, W)
    gradient, figures = stack.gradient(point), stack.figures(point)
    truth, least = np.transpose(truth)

    def proven(wanted):
        return prove_gaps(gradient, figures, StackStarts(stack).draw(), wanted)

    assert np.all(np.isinf(proven(truth * (1 - 1e-6))))
    wide = 3 * truth + 1e-4
    found = proven(wide)
    assert np.all((found <= wide) | np.isinf(found))
    assert np.all(found >= truth * (1 - 1e-9))
    assert np.count_nonzero(np.isfinite(found)) >= 4  # columns on their way to zero are in the way
    assert np.all(results.gap >= least * (1 - 1e-9))


# -- Ctrl-C -----------------------------------------------------------------------------------


def interrupting(count):
    """Tasks of several processes, without processes: Ctrl-C after some, the last ones first."""

    def finished(task, items, workers):
        assert workers == 2
        for i in list(reversed(range(len(items))))[:count]:
            yield i, task(copy.deepcopy(items[i]))  # a worker has a copy
        raise KeyboardInterrupt

    return finished


def test_ctrl_c_with_several_processes_returns_finished_problems(monkeypatch):
    problems = some_problems(Hankel(30, window=12), count=6)
    whole = solve_many(problems, 1.0, stop=STOP, batch=2)
    monkeypatch.setattr(many, "finished", interrupting(2))
    parts = solve_many(problems, 1.0, stop=STOP, batch=2, workers=2)
    assert parts.status[:2] == [Status.INTERRUPTED] * 2
    assert parts.status[2:] == whole.status[2:]
    np.testing.assert_array_equal(parts.y[2:], whole.y[2:])
    assert parts[0].rank == 0
    assert parts[0].gap == 1
    monkeypatch.setattr(many, "finished", interrupting(0))
    assert set(solve_many(problems, 1.0, stop=STOP, workers=2).status) == {Status.INTERRUPTED}


def test_ctrl_c_with_several_processes_returns_finished_signals(monkeypatch):
    t = np.arange(40)
    signals = np.where(t % 9 == 4, np.nan, np.stack([0.9**t, 0.8**t, 0.95**t]))
    monkeypatch.setattr(each_signal, "finished", interrupting(2))
    found = recover_many(signals, rank=1, workers=2)
    assert [one.status.name for one in found] == ["INTERRUPTED", "FINISHED", "FINISHED"]
    np.testing.assert_array_equal(found[0].signal, signals[0])
    np.testing.assert_allclose(found[2].signal, 0.95**t, atol=1e-6)
    assert "interrupted" in repr(found[0])
    monkeypatch.setattr(each_signal, "finished", interrupting(0))
    with pytest.raises(KeyboardInterrupt):
        recover_many(signals, rank=1, workers=2)


@pytest.mark.nightly
def test_ctrl_c_reaches_a_pool_of_processes():
    pytest.importorskip("joblib")
    signals = np.random.default_rng(0).standard_normal((200, 300)).cumsum(axis=1)
    before = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 20.0)
    try:
        found = recover_many(signals, workers=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    statuses = [one.status for one in found]
    assert len(found) == 200
    assert Status.INTERRUPTED in statuses
    assert Status.FINISHED in statuses


class TestProblems:
    """Many problems as arrays: the same as a list of them."""

    def arrays(self, count=6):
        listed = some_problems(Hankel(40, window=18), count=count)
        b = np.array([np.where(problem.seen, problem.b, np.nan) for problem in listed])
        weights = np.array([problem.sample_weights for problem in listed])
        return listed, b, weights, np.array([problem.mu for problem in listed])

    @pytest.mark.parametrize("library", ["numpy", "torch"])
    def test_same_results_as_a_list(self, library):
        listed, b, weights, mu = self.arrays()
        problems = Problems(
            listed[0].structure, to_library(b, library), mu, Weighted(weights, ~np.isnan(b))
        )
        alone = solve_many(listed, lam=1.0, stop=STOP)
        together = solve_many(problems, lam=1.0, stop=STOP, batch=4)
        assert together.rank.tolist() == alone.rank.tolist()
        assert np.allclose(together.objective, alone.objective, rtol=1e-6)
        assert np.allclose(to_numpy(together.y), alone.y, atol=1e-3)
        assert together[5].problem.sample_count == listed[5].sample_count
        assert np.allclose(mu_max(problems), [mu_max(each) for each in listed], rtol=1e-8)
        for given in ({"lam": 2.0}, {"penalty": "difference"}, {"recovery": "sparse"}):
            with pytest.raises(ValueError, match=f"{next(iter(given))}=.* is for one Problem"):
                mu_max(problems, **given)

    def test_a_problem_is_that_of_a_list(self):
        listed, b, weights, mu = self.arrays()
        problems = Problems(listed[0].structure, b, mu, Weighted(weights))
        assert len(problems) == 6
        assert len(problems[1:3]) == 2
        assert mu_max(problems[:0]).shape == (0,)
        with pytest.raises(ValueError, match="problems is empty"):
            solve_many(problems[:0], lam=1.0)
        for one, other in zip(problems[1:], listed[1:], strict=True):
            assert one.mu == other.mu
            assert repr(one) == repr(other)
            assert np.array_equal(one.data, other.data)
        lifted = Problems(listed[0].structure, np.where(weights > 0, b, 0), 1.0, "lifted")
        assert np.allclose(lifted[0].sample_weights ** 2, listed[0].structure.multiplicity)
        assert np.array_equal(Problems(lifted.structure, lifted.b, 1.0)[2].data, lifted.b[2])

    def test_bad_input_names_the_problem(self):
        H, b = Hankel(9, window=5), np.ones((3, 9))
        hidden = np.ones((3, 9), dtype=bool)
        hidden[2] = False
        with pytest.raises(ValueError, match="problem 1: b contains NaN"):
            Problems(H, np.where(np.arange(3)[:, None] == 1, np.nan, b), 1.0)
        with pytest.raises(ValueError, match="problem 2: all samples are missing"):
            Problems(H, b, 1.0, Mask(hidden))
        with pytest.raises(ValueError, match="problem 0: the largest sample"):
            Problems(H, 1e100 * b, 1.0)
        with pytest.raises(ValueError, match=r"b has shape \(9,\).*\(problems, 9\)"):
            Problems(H, b[0], 1.0)
        with pytest.raises(ValueError, match="mu has shape"):
            Problems(H, b, [1.0, 2.0])
        with pytest.raises(ValueError, match="mu contains"):
            Problems(H, b, 0.0)
        with pytest.raises(ValueError, match="seen has shape"):
            Problems(H, b, 1.0, Mask(np.ones(8, dtype=bool)))
        with pytest.raises(TypeError, match="operators"):
            Problems(H, b, 1.0, (np.cumsum, np.cumsum))
        with pytest.raises(IndexError):
            Problems(H, b, 1.0)[3]

"""Which mu and which rank: paths, noise levels, and the three ways to choose."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from conftest import nightly

from structrank import (
    Circulant,
    ConvergenceWarning,
    Hankel,
    Indexed,
    LowRank,
    Mask,
    Modes,
    Problem,
    Result,
    Status,
    Stop,
    Toeplitz,
    Weighted,
    choose_rank,
    gcgls,
    mu_max,
    noise_mu,
    path,
    recover,
    refit,
    select_mu,
    solve,
)
from structrank.modal.refitting import fit_at_rank
from structrank.model.objective import natural_lam
from structrank.selection import mu_path, ranks
from structrank.selection.holdout import clearly_better, random_parts, squared_errors
from structrank.selection.mu_path import solve_at
from structrank.selection.mu_search import MuSearch
from structrank.selection.ranks import least_information, refit_if_possible
from structrank.signals.problems import hankel_problem
from structrank.solvers.state import History

METHODS = ["noise", "holdout", "information"]


def tones(n=40):
    t = np.arange(n)
    return np.cos(0.6 * t) + 0.5 * np.cos(1.4 * t + 0.5)


def noisy(y, sigma, seed=0):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal(y.shape)
    if np.iscomplexobj(y):
        e = (e + 1j * rng.standard_normal(y.shape)) / np.sqrt(2)
    return y + sigma * e


def lifted(b, seen=None, window=None):
    S = Hankel(len(b), window=window or len(b) // 2)
    return Problem(S, b, 1.0, "lifted" if seen is None else Weighted("lifted", seen))


# -- path ---------------------------------------------------------------------------------


def test_path_goes_down_and_its_ranks_up():
    problem = lifted(tones())
    results = path(problem, lam=1.0)
    mus = [r.problem.mu for r in results]
    np.testing.assert_allclose(mus, mu_max(problem, 1.0) * np.geomspace(1, 0.01, 12))
    ranks = [r.rank for r in results]
    assert ranks[0] == 0
    assert ranks[-1] == 4
    assert ranks == sorted(ranks)
    assert all(r.status is Status.SOLVED and r.gap <= 1e-3 for r in results)


@pytest.mark.parametrize("lam", [None, 1.0])
def test_path_ends_where_a_cold_start_does(lam):
    problem, mus = lifted(noisy(tones(30), 0.1)), [2.0, 20.0, 6.0]
    results = path(problem, mus, lam=lam, gap=1e-4)
    assert [r.problem.mu for r in results] == [20.0, 6.0, 2.0]
    for warm in results:
        stop = Stop(200, xtol=None, rtol=None, gap=1e-5)
        cold = solve(warm.problem, 1e-5) if lam is None else gcgls(warm.problem, lam, stop=stop)
        assert warm.objective == pytest.approx(cold.objective, rel=2e-4)
        assert warm.gap <= 1e-4


def interrupting(monkeypatch, solve, iterate):
    """Ctrl-C in one of the solves, counted from zero, and there at one of its iterates."""
    original, solves = mu_path.gcgls_states, count()

    def interrupted(states, chosen):
        for k, state in enumerate(states):
            if chosen and k == iterate:
                raise KeyboardInterrupt
            yield state

    def gcgls_states(*arguments, **options):
        return interrupted(original(*arguments, **options), next(solves) == solve)

    monkeypatch.setattr(mu_path, "gcgls_states", gcgls_states)


@pytest.mark.parametrize("iterate", [0, 1])
def test_ctrl_c_returns_the_solutions_that_are_done(monkeypatch, iterate):
    interrupting(monkeypatch, 2, iterate)
    results = path(lifted(tones()), [30.0, 10.0, 3.0, 1.0], lam=1.0)
    assert [r.problem.mu for r in results] == [30.0, 10.0]


@pytest.mark.parametrize("iterate", [0, 1])
def test_ctrl_c_before_anything_is_done_is_passed_on(monkeypatch, iterate):
    interrupting(monkeypatch, 0, iterate)
    with pytest.raises(KeyboardInterrupt):
        path(lifted(tones()), [3.0], lam=1.0)


@pytest.mark.parametrize("iterate", [0, 1])
def test_ctrl_c_ends_a_selection(monkeypatch, iterate):
    interrupting(monkeypatch, 1, iterate)
    with pytest.raises(KeyboardInterrupt):
        select_mu(lifted(noisy(tones(), 0.1)), "information")


def test_path_warns_once():
    problem = lifted(noisy(tones(), 0.1), np.arange(40) % 3 > 0)
    with pytest.warns(ConvergenceWarning, match="path did not converge for 2 of 3") as record:
        results = path(problem, [1e3, 3.0, 1.0], lam=1.0, gap=1e-9, max_iter=1)
    assert [r.status.converged for r in results] == [True, False, False]
    assert len(record) == 1
    assert record[0].filename == __file__


def test_path_refuses_what_it_cannot_use():
    with pytest.raises(TypeError, match="a Problem is expected"):
        path(3)
    with pytest.raises(ValueError, match="mus is empty"):
        path(lifted(tones()), [])
    with pytest.raises(ValueError, match="mu is -1"):
        path(lifted(tones()), [1.0, -1.0])
    with pytest.raises(ValueError, match="lam is 0"):
        path(lifted(tones()), [1.0], lam=0)
    with pytest.raises(ValueError, match="gap is 0"):
        path(lifted(tones()), [1.0], gap=0)


def test_natural_lam_is_one_for_lifted_weights_and_follows_the_scale():
    assert natural_lam(lifted(tones())) == pytest.approx(1.0)
    S, b = Hankel(20, window=10), tones(20)
    plain = natural_lam(Problem(S, b, 1.0))
    assert 1 / 10 < plain < 1
    tripled = Problem(S, 3 * b, 1.0, (lambda y: 3 * y, lambda d: 3 * d))
    assert natural_lam(tripled) == pytest.approx(9 * plain)
    assert natural_lam(Problem(S, 0 * b, 1.0)) == 1.0


# -- the mu that noise calls for ----------------------------------------------------------


def test_noise_mu_is_the_largest_gradient_of_noise():
    S, rng = Hankel(20, window=8), np.random.default_rng(5)
    problem = Problem(S, np.zeros(20), 1.0, Mask(np.arange(20) % 3 > 0))
    tops = []
    for _ in range(3):
        e = rng.standard_normal(20) * (np.arange(20) % 3 > 0) / S.multiplicity
        tops.append(np.linalg.svd(S.to_dense(e), compute_uv=False)[0])
    assert noise_mu(problem, 0.3, rng=5) == pytest.approx(1.05 * 0.3 * max(tops), rel=1e-3)
    assert noise_mu(problem, 0.3, draws=1, margin=2.0, rng=5) == pytest.approx(
        0.6 * tops[0], rel=1e-3
    )


def test_noise_mu_with_operators():
    S, A = Hankel(20, window=10), np.random.default_rng(1).standard_normal((15, 20))
    problem = Problem(S, np.zeros(15), 1.0, (lambda y: A @ y, lambda d: A.T @ d))
    e = np.random.default_rng(0).standard_normal(15)
    literal = np.linalg.svd(S.to_dense(A.T @ e / S.multiplicity), compute_uv=False)[0]
    assert noise_mu(problem, 1.0, draws=1, margin=1.0) == pytest.approx(literal, rel=1e-3)


def test_noise_alone_is_below_noise_mu():
    mu = noise_mu(lifted(np.zeros(40)), 0.2, margin=1.5)
    for seed in range(10, 20):
        problem = lifted(noisy(np.zeros(40), 0.2, seed))
        assert mu_max(problem, 1.0) < mu < 3 * mu_max(problem, 1.0)


def test_noise_mu_refuses_what_it_cannot_use():
    problem = lifted(tones())
    with pytest.raises(TypeError, match="a Problem is expected"):
        noise_mu(None, 1.0)
    for options in ({"sigma": 0}, {"sigma": 1, "margin": -1}, {"sigma": 1, "draws": 0}):
        with pytest.raises(ValueError, match="is expected"):
            noise_mu(problem, **options)


# -- the choice ---------------------------------------------------------------------------

PLANE = Modes([[0.1, 0.3], [-0.1, -0.3]], [[0.02, 0.0], [0.02, 0.0]], [0.5j, -0.5j])
SIGNALS = {
    "real": (Hankel(32, window=16), tones(32), 4),
    "complex damped": (
        Hankel(24, window=12),
        Modes([0.1, -0.25], [0.02, 0.05], [1.0, 1.0]).signal(24),
        2,
    ),
    "plane": (Hankel((8, 9), window=(4, 4)), PLANE.signal((8, 9)).real, 2),
    "channels": (
        Toeplitz(16, window=8, block=(2, 1)),
        np.multiply.outer(np.exp(0.5j * np.arange(16)), [[1.0], [2j]]),
        1,
    ),
}
LONG_SEARCHES = [("real", "holdout"), ("plane", "holdout")]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (nightly if (name, method) in LONG_SEARCHES else pytest.param)(name, method)
        for name in SIGNALS
        for method in METHODS
    ],
)
def test_rank_and_noise_are_found(name, method):
    structure, y, rank = SIGNALS[name]
    seen = np.random.default_rng(2).random(y.shape) < 0.8
    b = np.where(seen, noisy(y, 0.1, seed=3), np.nan)
    chosen = select_mu(Problem(structure, b, 1.0, Weighted("lifted", seen)), method, folds=2)
    assert chosen.method == method
    assert chosen.rank == chosen.refit.rank == rank
    assert chosen.sigma == chosen.refit.sigma == pytest.approx(0.1, rel=0.3)
    assert chosen.mu == chosen.result.problem.mu
    assert chosen.mu in [mu for mu, _, _ in chosen.considered]
    assert np.linalg.norm(chosen.refit.y - y) < 0.12 * np.linalg.norm(y)
    assert np.linalg.norm(chosen.refit.y - y) < np.linalg.norm(chosen.result.y - y)


@pytest.mark.parametrize("method", METHODS)
def test_pure_noise_has_rank_zero(method):
    chosen = select_mu(lifted(noisy(np.zeros(20), 1.0, seed=4)), method, folds=2)
    assert chosen.rank == 0
    assert chosen.sigma == pytest.approx(1.0, rel=0.4)
    assert np.all(chosen.refit.y == 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("b", "rank"),
    [(np.ones(12), 1), (np.cos(0.9 * np.arange(12)), 2), (np.zeros(12), 0)],
    ids=["constant", "tone", "zeros"],
)
def test_without_noise(b, rank, method):
    chosen = select_mu(lifted(b), method, folds=2)
    assert chosen.rank == rank
    assert chosen.sigma < 1e-4
    np.testing.assert_allclose(chosen.refit.y, b, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", [2, 5])
def test_very_few_samples(method, number):
    b = tones(16)
    seen = np.zeros(16, dtype=bool)
    seen[np.random.default_rng(0).choice(16, number, replace=False)] = True
    chosen = select_mu(lifted(b, seen), method, folds=2)
    assert np.all(np.isfinite(chosen.refit.y))
    assert chosen.refit.parameters < max(number, 1)
    assert np.abs(chosen.refit.y).max() < 10


@pytest.mark.parametrize("method", ["noise", "information"])
def test_a_trend_with_a_season(method):
    """The season is much smaller than the trend: a search must not end before it."""
    t = np.arange(36)
    b = 5 + 0.1 * t + np.cos(2 * np.pi * t / 12)
    chosen = select_mu(lifted(noisy(b, 0.05)), method)
    assert chosen.rank in (3, 4)
    assert np.abs(chosen.refit.y - b).max() < 0.3


@pytest.mark.parametrize("scale", [1e-74, 1e74])
@pytest.mark.parametrize("method", ["noise", "information"])
def test_ends_of_the_range_of_samples(scale, method):
    b = noisy(tones(), 0.1)
    assert select_mu(lifted(scale * b), method).rank == select_mu(lifted(b), method).rank


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(scale):
    one, other = (select_mu(lifted(c * noisy(tones(), 0.1))) for c in (1.0, scale))
    assert one.rank == other.rank == 4
    assert other.sigma == pytest.approx(scale * one.sigma, rel=1e-3)


@pytest.mark.parametrize("method", ["noise", "information"])
def test_single_precision(method):
    chosen = select_mu(lifted(noisy(tones(), 0.1).astype(np.float32)), method)
    assert chosen.rank == 4
    assert chosen.refit.y.dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_operators(method):
    A = np.random.default_rng(1).standard_normal((30, 24))
    y = Modes([0.1], [0.02], [1.0]).signal(24)
    b = noisy(A @ y, 0.3)
    problem = Problem(Hankel(24, window=12), b, 1.0, (lambda x: A @ x, lambda d: A.T @ d))
    chosen = select_mu(problem, method, folds=2)
    assert chosen.rank == 1
    assert chosen.sigma == pytest.approx(0.3, rel=0.3)


def test_general_structure():
    rng = np.random.default_rng(3)
    y = (rng.standard_normal((8, 2)) @ rng.standard_normal((2, 12))).reshape(-1)
    S = Indexed(np.arange(96).reshape(8, 12))
    chosen = select_mu(Problem(S, noisy(y, 0.05), 1.0, Mask(rng.random(96) < 0.9)))
    assert chosen.rank == 2
    assert chosen.sigma == pytest.approx(0.05, rel=0.3)


def test_known_noise():
    problem = lifted(noisy(tones(), 0.1))
    chosen = select_mu(problem, sigma=0.1)
    assert chosen.mu == pytest.approx(noise_mu(problem, 0.1))
    assert (chosen.sigma, chosen.rank, len(chosen.considered)) == (0.1, 4, 1)


def test_the_seed_decides():
    problem = lifted(noisy(tones(), 0.3))
    one, two, other = (select_mu(problem, rng=seed) for seed in (1, 1, 2))
    assert one.considered == two.considered
    assert one.mu != other.mu
    np.testing.assert_array_equal(one.refit.y, two.refit.y)


def test_refuses_what_it_cannot_use():
    problem = lifted(tones(), np.arange(40) < 3)
    with pytest.raises(TypeError, match="a Problem is expected"):
        select_mu(None)
    with pytest.raises(ValueError, match="'noise', 'holdout' or 'information'"):
        select_mu(problem, "magic")
    with pytest.raises(ValueError, match="method 'holdout' does not use it"):
        select_mu(problem, "holdout", sigma=1.0)
    with pytest.raises(ValueError, match="sigma is -1"):
        select_mu(problem, sigma=-1.0)
    with pytest.raises(ValueError, match="lam is 0"):
        select_mu(problem, lam=0)
    for folds in (1, 4):
        with pytest.raises(ValueError, match="from 2 to the number of samples, 3"):
            select_mu(problem, "holdout", folds=folds)
    with pytest.raises(TypeError, match="a Result is expected"):
        choose_rank(problem)


def test_warns_only_if_the_chosen_solution_has_not_converged():
    problem = lifted(noisy(tones(80), 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select_mu(problem)
    limits = MuSearch(max_iter=1, gap=1e-9)
    text = "select_mu did not converge: its convex solution stopped at its iteration limit"
    with pytest.warns(ConvergenceWarning, match=text) as record:
        select_mu(problem, search=limits)
    assert len(record) == 1
    assert record[0].filename == __file__


def test_progress_bar_is_silent_unless_asked_for(capsys):
    problem = lifted(noisy(tones(20), 0.1))
    select_mu(problem)
    path(problem, [5.0], lam=1.0)
    assert capsys.readouterr().err == ""
    select_mu(problem, progress=True)
    path(problem, [5.0], lam=1.0, progress=True)
    shown = capsys.readouterr().err
    assert "select mu by noise" in shown
    assert "path" in shown


# -- holding out --------------------------------------------------------------------------


def test_parts_are_disjoint_and_cover_what_is_seen():
    seen = np.arange(30) % 4 > 0
    parts = random_parts(lifted(np.zeros(30), seen), 4, rng=1)
    np.testing.assert_array_equal(np.sum(parts, axis=0), seen)
    sizes = [part.sum() for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_held_out_samples_are_not_used():
    A = np.random.default_rng(1).standard_normal((5, 6, 12))
    pair = (
        lambda y: np.tensordot(A, y, 1),
        lambda d: np.tensordot(d, A, 2),
    )
    b = np.random.default_rng(2).standard_normal((5, 6))
    problem = Problem(Hankel(12, window=6), b, 1.0, pair)
    part = random_parts(problem, 3, rng=0)[0]
    kept = problem.without(part)
    np.testing.assert_array_equal(kept.b, b[~part])
    y = np.arange(12.0)
    np.testing.assert_allclose(kept.measure.forward(y), pair[0](y)[~part])
    np.testing.assert_allclose(kept.backprojection, pair[1](np.where(part, 0.0, b)))
    np.testing.assert_allclose(squared_errors(problem, part, y), (pair[0](y) - b)[part] ** 2)
    for measure in (None, "lifted"):
        problem = Problem(Hankel(12, window=6), y, 1.0, measure)
        part = random_parts(problem, 3, rng=0)[0]
        weights = 1.0 if measure is None else np.sqrt(problem.structure.multiplicity)
        np.testing.assert_allclose(problem.without(part).measure.weights, weights * ~part)


def test_better_is_more_than_chance():
    errors = np.array([1.0, 2.0, 3.0, 4.0])
    assert clearly_better(errors - 0.1, errors)
    assert not clearly_better(errors, errors)
    assert not clearly_better(errors + np.array([0.5, -0.6, 0.5, -0.6]), errors)


# -- the rank -----------------------------------------------------------------------------


def result_with(problem, y, rank):
    U, s, Vh = np.linalg.svd(problem.structure.to_dense(y), full_matrices=False)
    X = LowRank(U[:, :rank] * np.sqrt(s[:rank]), Vh[:rank].conj().T * np.sqrt(s[:rank]))
    return Result(y, X, rank, 1.0, 0.0, Status.SOLVED, History(), problem)


def test_choose_rank_takes_the_least_criterion():
    b = noisy(tones(), 0.1)
    result = result_with(replace(lifted(b), mu=1.0), b, 8)
    chosen = choose_rank(result)
    fits = [refit(result, rank) for rank in range(1, 9)]
    assert chosen.rank == 4 == min(fits, key=lambda fit: fit.information).rank
    fit = fits[3]
    literal = 40 * np.log(fit.residual_squared / 40) + (8 + 4) * np.log(40) * 40 / (40 - 8 - 1)
    assert fit.information == pytest.approx(literal)


def test_choose_rank_does_not_let_a_mode_grow_into_a_gap():
    """A mode that fits the noise of the last samples would blow up in the unseen tail."""
    t = np.arange(60)
    seen = t < 30
    b = np.where(seen, noisy(np.cos(0.6 * t), 0.05), np.nan)
    growing = np.cos(0.6 * t) + 1e-9 * np.exp(0.55 * t)
    b = b + 1e-9 * np.exp(0.55 * t) * seen
    problem = replace(lifted(b, seen), mu=1.0)
    result = replace(result_with(problem, growing, 3), y=np.cos(0.6 * t))
    assert fit_at_rank(result, 3).stderr.max() > 2
    chosen = choose_rank(result)
    assert chosen.rank < 3
    assert np.abs(chosen.y).max() < 2


def test_choose_rank_goes_down_as_far_as_it_has_to():
    """Five samples and five large singular values: only rank 0 to 2 leave a number free."""
    b = np.where(np.arange(20) % 4 == 0, noisy(np.zeros(20), 1.0), np.nan)
    problem = replace(lifted(b, ~np.isnan(b)), mu=1e-6)
    chosen = choose_rank(result_with(problem, noisy(np.zeros(20), 1.0, 1), 9))
    assert chosen.parameters < 5


@pytest.mark.parametrize("kind", ["real", "complex", "channels", "image"])
def test_least_information_is_below_that_of_every_fit(kind, rng):
    shape = {"channels": (30, 2), "image": (8, 7)}.get(kind, (30,))
    t = np.arange(np.prod(shape)).reshape(shape)
    b = np.cos(0.4 * t) + rng.standard_normal(shape)
    structure = {
        "channels": Hankel(30, window=10, block=(2, 1)),
        "image": Hankel((8, 7), window=(4, 4)),
    }.get(kind, Hankel(30, window=15))
    b = b.reshape(structure.signal_shape) * (np.exp(0.3j) if kind == "complex" else 1.0)
    result = gcgls(Problem(structure, b, 0.5, measure="lifted"), lam=1.0)
    least = least_information(result.problem)
    fits = [refit_if_possible(result, rank, None, np.inf) for rank in range(5)]
    bounds = [(least[fit.rank], fit.information) for fit in fits if fit is not None]
    assert len(bounds) >= 2
    assert all(bound <= information + 1e-9 for bound, information in bounds)
    assert bounds[0][1] - bounds[0][0] < b.size * np.log(b.size) * (2 if kind == "complex" else 1)


def test_least_information_needs_all_samples():
    b = np.ones(9)
    assert least_information(Problem(Hankel(9, window=5), b, 1.0)).size == 6
    some = Problem(Hankel(9, window=5), b, 1.0, Mask(np.arange(9) != 3))
    assert least_information(some).size == 0
    assert least_information(Problem(Circulant(9), b, 1.0)).size == 0


@pytest.mark.parametrize("place", [7, 14, 20])
def test_ranks_that_cannot_win_are_not_fitted(place, monkeypatch):
    """A unit impulse: up to 42 fits of many modes took seconds."""
    fitted = []

    def counted(result, rank, **options):
        fitted.append(rank)
        return fit_at_rank(result, rank, **options)

    monkeypatch.setattr(ranks, "fit_at_rank", counted)
    impulse = np.zeros(30)
    impulse[place] = 1.0
    assert recover(impulse).rank == 0
    assert sum(rank > 0 for rank in fitted) <= 15


# -- how it shows itself ------------------------------------------------------------------


def test_report_in_terminal_and_notebook():
    chosen = select_mu(lifted(noisy(tones(20), 0.1)), sigma=0.1)
    assert repr(chosen).startswith("Selection\n  problem       Problem(Hankel")
    assert "noise         0.1 (sigma)" in repr(chosen)
    html = chosen._repr_html_()
    assert html.startswith("<table><caption>structrank selection</caption>")
    assert chosen.result._repr_html_().startswith("<table><caption>structrank result</caption>")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exact_samples_of_a_short_signal_are_solved_at_a_tiny_mu(seed):
    truth = 2 + np.cos(0.4 * np.arange(24))
    samples = truth.round(6)
    samples[np.random.default_rng(seed).choice(24, 5, replace=False)] = np.nan
    result = solve_at(hankel_problem(samples), 2e-6, None, lam=1.0)
    assert result.status.converged
    assert result.rank == 3
    np.testing.assert_allclose(result.y, truth, atol=1e-3)

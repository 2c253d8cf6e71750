"""What can be found about one signal, and which estimate predicts samples that were left out."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from tqdm.auto import tqdm

from .._array import Array, to_numpy
from ..holdout import left_out, without
from ..local_search import local_search
from ..lowrank import LowRank
from ..modes import NoModes
from ..objective import Penalized, mu_max, natural_lam
from ..path import solve_at
from ..problem import Problem, positive
from ..refit import Refit, refit
from ..run import ConvergenceWarning, Result, uninterrupted
from ..selection import Selection, choose_rank, select_mu
from ..structures.base import positive_int

GAP, ROUGH = 1e-3, 3e-2  # certified gaps: of a few modes, and of solutions of high rank
MAX_ITER = 50
FACTOR = 0.5  # from one mu to the next
LEAST_MU = 1e-9  # over mu_max
LEAST_SHARE = 1e-4  # of the mu chosen, at which to look for a rank that is given
RANKS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 90, 128)  # looked at without shrinkage
RISEN = 1.2  # squared error over the least one, from where on higher ranks are worse
LOOSE = 0.3  # price of a departure from the structure there, over that of the data
SEARCH_STEPS = 100
FEW_VALUES = 200_000  # of a signal, for which several parts are left out in turn
ENOUGH, MOST_PARTS = 150, 3  # samples left out in all, in at most so many parts
SMALLEST_GAIN = 0.05  # in the squared error, for which to go on to a smaller mu
CLEARLY = 0.9  # better, in the squared error


class Estimates:
    """The convex solution and the refit of one problem, and how well they predict.

    Parameters
    ----------
    problem : Problem
        With samples of the signal; its own mu does not matter.
    rank : int or None
        Number of modes, if known.
    sigma : float or None
        Standard deviation of the noise, if known.
    undamped : bool
        The modes are known to be undamped.
    seed : int
        Of the noise drawn, and of the samples left out.
    """

    def __init__(
        self, problem: Problem, *, rank: int | None, sigma: float | None, undamped: bool, seed: int
    ) -> None:
        self.problem = problem
        self.rank = None if rank is None else positive_int(rank, "rank")
        self.sigma = None if sigma is None else positive(sigma, "sigma")
        self.undamped, self.rng, self.seed = undamped, np.random.default_rng(seed), seed
        self.lam, self.top = natural_lam(problem), mu_max(problem)
        self.selection: Selection | None = None
        self.fit: Refit | None = None
        self.fixed: tuple[int, Array] = (0, problem.backprojection)
        self.prediction_error = np.inf
        seen = int(np.count_nonzero(to_numpy(problem.measure.weights)))
        # A rank that explains nothing.
        self.too_high = min(seen // 4, 3 * min(problem.structure.shape) // 4)

    def solve_and_refit(self, mu: float | None, *, progress: bool) -> None:
        """The solution and its refit, for a mu that is given or chosen."""
        if mu is None:
            self.selection = select_mu(
                self.problem, sigma=self.sigma, seed=self.seed, progress=progress
            )
            self.result, self.fit = self.selection.result, self.selection.refit
        else:
            self.result = self._solve(self.problem, positive(mu, "mu"), None)
            self.fit = choose_rank(self.result, self.sigma)
        rank = self.fit.rank
        if self.rank is not None:
            rank, self.result = self.rank, of_rank(self.result, self.rank)
        if rank and (self.rank is not None or self.undamped):
            self.fit = self._refit(self.result, rank)

    def solve_by_prediction(self, mu: float | None, *, progress: bool) -> str:
        """The convex solution, or one of fixed rank from there, whichever predicts better.

        With the mu, or the rank, that predicts samples left out best. Returns which.
        """
        several = int(np.prod(self.problem.b.shape)) <= FEW_VALUES
        parts = [left_out(self.problem, self.rng) for _ in range(MOST_PARTS if several else 1)]
        training = [without(self.problem, part) for part in parts]
        with tqdm(desc="predict samples left out", disable=not progress) as bar:
            best = FACTOR * self.top if mu is None else positive(mu, "mu")
            results = [self._solve(problem, best, None, ROUGH) for problem in training]
            error = self._error(parts, [result.y for result in results])
            if mu is None:
                best, error = self._lowered(best, error, parts, training, results, ROUGH, bar)
                results = [self._solve(problem, best, None, ROUGH) for problem in training]
            self.result = self._solve(self.problem, best, results[0], ROUGH)
            least = min(result.rank for result in [self.result, *results])
            found: dict[int, float] = {}
            for rank in [r for r in RANKS if r <= least]:
                signals = [unshrunk(p, r.X, rank) for p, r in zip(training, results, strict=True)]
                found[rank] = self._error(parts, signals)
                bar.update()
                if found[rank] > RISEN * min(found.values()):
                    break
        rank = min(found, key=lambda r: found[r], default=0)
        if not rank or found[rank] > error:
            self.prediction_error = float(np.sqrt(error))
            return "convex"
        self.prediction_error = float(np.sqrt(found[rank]))
        self.fixed = rank, unshrunk(self.problem, self.result.X, rank)
        return "fixed rank"

    def better(self, kind: str) -> str:
        """Which estimate predicts samples that are left out better, unless the kind is given.

        On the way the convex solution gets the mu that predicts best.
        """
        if kind == "refit":
            return kind
        parts = [left_out(self.problem, self.rng)]
        count = int(np.count_nonzero(parts[0]))
        for _ in range(min(ENOUGH // count, MOST_PARTS - 1)):
            parts.append(left_out(self.problem, self.rng))
        training = [without(self.problem, part) for part in parts]
        mu = self.result.problem.mu
        results = [self._solve(problem, mu, self.result) for problem in training]
        convex = self._error(parts, [result.y for result in results])
        refitted = np.inf
        if kind == "auto":
            refitted = self._error(parts, [self._refit_or_nothing(result) for result in results])
            if refitted <= CLEARLY * convex:
                return "refit"
        if self.selection is not None:  # else mu is given
            mu, convex = self._lowered(mu, convex, parts, training, results, GAP, None)
        if refitted <= convex:
            return "refit"
        self.prediction_error = float(np.sqrt(convex))
        if mu < self.result.problem.mu:
            self.result = self._solve(self.problem, mu, self.result)
        return "convex"

    def estimate(self, kind: str) -> tuple[Array, Array]:
        """The signal and its standard errors."""
        if kind == "fixed rank":
            return self.fixed[1], 0 * abs(self.fixed[1]) + self.prediction_error
        if kind == "convex" or self.fit is None:
            return self.result.y, 0 * abs(self.result.y) + self.prediction_error
        if self.fit.rank == 0:  # no signal was told apart from the noise, which may hide one
            return self.fit.y, 0 * abs(self.fit.y) + (self.fit.sigma or 0.0)
        errors = self.fit.stderr if self.fit.sigma is not None else 0 * abs(self.fit.y) + np.inf
        return self.fit.y, errors

    def rank_of(self, kind: str) -> int:
        """The rank of an estimate."""
        if kind == "refit" and self.fit is not None:
            return self.fit.rank
        return self.fixed[0] if kind == "fixed rank" else self.result.rank

    def _lowered(
        self,
        mu: float,
        error: float,
        parts: list[np.ndarray],
        training: list[Problem],
        results: list[Result],
        gap: float,
        bar: tqdm | None,
    ) -> tuple[float, float]:
        """A smaller mu, as long as predictions get better by it; and their error."""
        while results[0].rank < self.too_high and mu > LEAST_MU * self.top:
            results = [
                self._solve(problem, FACTOR * mu, result, gap)
                for problem, result in zip(training, results, strict=True)
            ]
            lower = self._error(parts, [result.y for result in results])
            if bar is not None:
                bar.update()
            if lower > (1 - SMALLEST_GAIN) * error:
                break
            mu, error = FACTOR * mu, lower
        return mu, error

    def _solve(self, problem: Problem, mu: float, start: Result | None, gap: float = GAP) -> Result:
        return _solution(problem, mu, start, self.lam, gap)

    def _refit(self, result: Result, rank: int) -> Refit:
        return refit(result, rank, sigma=self.sigma, undamped=self.undamped)

    def _refit_or_nothing(self, result: Result) -> Array:
        """The refit of the rank chosen, as far as there is one."""
        rank = min(0 if self.fit is None else self.fit.rank, result.rank)
        try:
            return self._refit(result, rank).y if rank else 0 * result.y
        except NoModes:
            return 0 * result.y

    def _error(self, parts: list[np.ndarray], signals: list[Array]) -> float:
        """Mean square of the errors over parts of the samples, each with a signal of its own."""
        errors = [
            np.abs(to_numpy(y - self.problem.b))[part] ** 2
            for part, y in zip(parts, signals, strict=True)
        ]
        return float(np.mean(np.concatenate(errors)))


def of_rank(result: Result, rank: int) -> Result:
    """A solution whose rank is at least the one asked for, found by lowering mu."""
    shape = result.problem.structure.shape
    if rank > min(shape):
        raise NoModes(
            f"rank is {rank}, but the Hankel matrix is {shape[0]} x {shape[1]}: take a smaller rank"
        )
    lam, lowest = natural_lam(result.problem), LEAST_SHARE * result.problem.mu
    while result.rank < rank:
        if result.problem.mu < lowest:
            raise NoModes(
                f"rank is {rank}, but rank {result.rank} meets the samples already: take that"
            )
        result = _solution(result.problem, FACTOR * result.problem.mu, result, lam, GAP)
    return result


def _solution(problem: Problem, mu: float, start: Result | None, lam: float, gap: float) -> Result:
    X = None if start is None else start.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only the last one matters
        result = solve_at(problem, mu, X, lam=lam, gap=gap, max_iter=MAX_ITER)
    return uninterrupted(result)


def unshrunk(problem: Problem, X: LowRank, rank: int) -> Array:
    """The signal of a matrix of fixed rank near the structure, without the nuclear norm.

    Local search on (reform2) with next to no mu, from the leading part of a convex solution.
    """
    X = X.balanced(0.0)
    objective = Penalized(
        replace(problem, mu=LEAST_MU * mu_max(problem)), LOOSE * natural_lam(problem)
    )
    leading = LowRank(X.U[:, :rank], X.V[:, :rank])
    return local_search(objective, leading, max_steps=SEARCH_STEPS, tolerance=1e-4).y

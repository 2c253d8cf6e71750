"""What can be found about one signal, and which estimate predicts samples that were left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array import Array, like, to_numpy
from .._checks import positive, positive_int
from ..modal.modes import NoModes
from ..modal.refit_result import Refit
from ..modal.refitting import refit
from ..model.objective import mu_max, natural_lam
from ..model.problem import Problem
from ..selection.holdout import clearly_better, held_out_parts
from ..selection.mu import Selection, select_mu
from ..selection.mu_path import solve_at
from ..selection.noise import noise_mu
from ..selection.ranks import choose_rank
from ..solvers.driver import ConvergenceWarning, Result
from .windows import LocalFits, best_local_fits

GAP, ROUGH = 1e-3, 3e-2  # certified gaps: of a few modes, and of solutions of high rank
FACTOR = 0.5  # from one mu to the next
LEAST_MU = 1e-9  # over mu_max
LOWEST = 0.1  # the same, for large signals
LEAST_SHARE = 1e-4  # of the mu chosen, at which to look for a rank that is given
SHORT, PARTS = 4096, 5  # values of a signal of which several parts are left out in turn
SMALLEST_GAIN = 0.025  # in the error, for which to go on to a smaller mu
CLEARLY = 0.95  # of the error: better than the fit of the modes

Residuals = dict[Any, np.ndarray]  # of each `Setting` of a local fit, and of "convex"


class Estimates:
    """The convex solution, the refit and the local fits of one problem, and how they predict.

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
    rng : int or numpy.random.Generator
        Of the noise drawn, and of the samples left out.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        rank: int | None,
        sigma: float | None,
        undamped: bool,
        rng: int | np.random.Generator,
    ) -> None:
        self.problem = problem
        self.rank = None if rank is None else positive_int(rank, "rank")
        self.sigma = None if sigma is None else positive(sigma, "sigma")
        self.undamped, self.rng = undamped, rng
        self.lam, self.top = natural_lam(problem), mu_max(problem)
        self.selection: Selection | None = None
        self.fit: Refit | None = None
        self.average: tuple[int, Array] = (0, problem.backprojection)
        self.prediction_error: np.ndarray | float = np.inf
        # A rank that explains nothing.
        self.too_high = min(problem.sample_count // 4, 3 * min(problem.structure.shape) // 4)

    def solve_and_refit(self, mu: float | None, *, progress: bool) -> None:
        """The solution and its refit, for a mu that is given or chosen."""
        if mu is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the result says it
                self.selection = select_mu(
                    self.problem, sigma=self.sigma, rng=self.rng, progress=progress
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
        """The average of the local fits that predict best; for signals too large for modes.

        The convex solution comes along, for the mu that noise of the size of the errors calls
        for, within a tenth and a half of `mu_max`. If mu is given, it competes. Returns which
        estimate predicts best.
        """
        parts, training = self._left_out()
        with tqdm(desc="predict samples left out", disable=not progress) as bar:
            local = best_local_fits(self.problem, parts, bar)
        residuals: Residuals = {**local.residuals}
        if mu is not None:
            results = [self._solve(p, positive(mu, "mu"), None, ROUGH) for p in training]
            residuals["convex"] = self._residual(parts, results)
        close = _about_best(residuals)
        level = _size(np.mean([residuals[name] for name in close], axis=0))
        if mu is None:
            needed = noise_mu(self.problem, level, rng=self.rng) if level else 0.0
            mu = max(min(needed, FACTOR * self.top), LOWEST * self.top)
        self.result = self._solve(self.problem, mu, None, ROUGH)
        return self._averaged(local, residuals, close)

    def better(self, kind: str, *, progress: bool) -> str:
        """Which estimate predicts samples that are left out better, unless the kind is given.

        The fit of the modes, unless another one is clearly better. On the way the convex solution
        gets the mu that predicts best.
        """
        if kind == "refit":
            return kind
        parts, training = self._left_out()
        mu = self.result.problem.mu
        results = [self._solve(problem, mu, self.result) for problem in training]
        convex = self._residual(parts, results)
        if kind == "convex":
            self.prediction_error = _size(self._lowered(convex, parts, results))
            return kind
        fits = [self._refit_or_convex(result) for result in results]
        refitted = self._residual(parts, fits)
        with tqdm(desc="predict samples left out", disable=not progress) as bar:
            local = best_local_fits(self.problem, parts, bar)
        residuals: Residuals = {**local.residuals, "convex": convex}
        close = _about_best(residuals)
        errors = np.abs(np.mean([residuals[name] for name in close], axis=0))
        past = np.abs(refitted)
        if not clearly_better(errors, past) or np.mean(errors) > CLEARLY * np.mean(past):
            return "refit"
        if "convex" in close:
            residuals["convex"] = self._lowered(convex, parts, results)
            close = _about_best(residuals)
        return self._averaged(local, residuals, close)

    def _averaged(self, local: LocalFits, residuals: Residuals, close: list[Any]) -> str:
        """The average of some estimates, and what to call it."""
        residual = np.mean([residuals[name] for name in close], axis=0)
        self.prediction_error = local.prediction_error(residual)
        if close == ["convex"]:
            return "convex"
        fits = [local.fit(name) for name in close if name != "convex"]
        signals = [fit.y for fit in fits] + [to_numpy(self.result.y)] * ("convex" in close)
        y = like(np.mean(signals, axis=0), self.problem.backprojection)
        self.average = max(fit.rank for fit in fits), y
        return "average"

    def estimate(self, kind: str) -> tuple[Array, Array]:
        """The signal and its standard errors."""
        if kind == "average":
            return self.average[1], self._everywhere(self.prediction_error)
        if kind == "convex" or self.fit is None:
            return self.result.y, self._everywhere(self.prediction_error)
        if self.fit.rank == 0:  # no signal was told apart from the noise, which may hide one
            return self.fit.y, self._everywhere(self.fit.sigma or 0.0)
        errors = self.fit.stderr if self.fit.sigma is not None else self._everywhere(np.inf)
        return self.fit.y, errors

    def _everywhere(self, error: np.ndarray | float) -> Array:
        """An error in the shape of the signal."""
        return 0 * abs(self.result.y) + like(np.asarray(error), self.result.y, real=True)

    def rank_of(self, kind: str) -> int:
        """The rank of an estimate."""
        if kind == "refit" and self.fit is not None:
            return self.fit.rank
        return self.average[0] if kind == "average" else self.result.rank

    def _left_out(self) -> tuple[list[np.ndarray], list[Problem]]:
        """Parts of the samples, and the problems without them."""
        several = int(np.prod(self.problem.b.shape)) <= SHORT
        rng = np.random.default_rng(self.rng)
        parts = held_out_parts(self.problem, rng, PARTS if several else 1)
        return parts, [self.problem.without(part) for part in parts]

    def _residual(self, parts: list[np.ndarray], found: Sequence[Result | Refit]) -> np.ndarray:
        """What is predicted for the samples left out, less what they are."""
        return np.concatenate(
            [to_numpy(f.y - self.problem.b)[part] for part, f in zip(parts, found, strict=True)]
        )

    def _lowered(
        self, residual: np.ndarray, parts: list[np.ndarray], results: list[Result]
    ) -> np.ndarray:
        """Solve with a smaller mu, as long as predictions get better by it; what is left of them.

        Not if mu is given.
        """
        mu = self.result.problem.mu
        while (
            self.selection is not None
            and results[0].rank < self.too_high
            and mu > LEAST_MU * self.top
        ):
            results = [self._solve(r.problem, FACTOR * mu, r) for r in results]
            lower = self._residual(parts, results)
            if np.mean(np.abs(lower)) > (1 - SMALLEST_GAIN) * np.mean(np.abs(residual)):
                break
            mu, residual = FACTOR * mu, lower
        if mu < self.result.problem.mu:
            self.result = self._solve(self.problem, mu, self.result)
        return residual

    def _solve(self, problem: Problem, mu: float, start: Result | None, gap: float = GAP) -> Result:
        return solve_at(problem, mu, start, lam=self.lam, gap=gap)

    def _refit(self, result: Result, rank: int) -> Refit:
        return refit(result, rank, sigma=self.sigma, undamped=self.undamped)

    def _refit_or_convex(self, result: Result) -> Refit | Result:
        """The refit of the rank chosen, as far as there is one."""
        rank = min(0 if self.fit is None else self.fit.rank, result.rank)
        try:
            return self._refit(result, rank) if rank else result
        except NoModes:
            return result


def _about_best(residuals: Residuals) -> list[Any]:
    """The estimates that predict no worse than the best one, but for chance.

    By their absolute errors, as a few large samples would decide about squares.
    """
    errors = {name: np.abs(residual) for name, residual in residuals.items()}
    best = min(errors.values(), key=np.mean)
    return [name for name, error in errors.items() if not clearly_better(best, error)]


def _size(residual: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.abs(residual) ** 2)))


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
        result = solve_at(result.problem, FACTOR * result.problem.mu, result, lam=lam, gap=GAP)
    return result

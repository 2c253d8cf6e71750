"""The three ways to search for mu: by the noise level, by held-out samples, by information."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import epsilon
from .._watch import tell, time_is_up
from ..modal.refit_result import Refit
from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..solvers.result import Result
from .holdout import clearly_better, random_parts, squared_errors
from .mu_path import solve_at
from .noise import noise_level, noise_mu, root_mean_square
from .ranks import choose_rank, refit_if_possible, unshrunk_scale


@dataclass(frozen=True)
class MuSearch:
    """Settings of `select_mu`; set by hand, checked with benchmarks.selection."""

    gap: float = 1e-3  # certified gap of every solution: enough to choose a rank by
    max_iter: int = 50  # iterations per solution
    largest: float = 0.5  # first mu over mu_max at most, if the noise level is not known
    rounds: int = 10  # estimates of the noise level at most
    same: float = 0.03  # two mu that differ by less, relatively, are the same
    short: int = 400  # signals of at most so many values get a look at a smaller mu
    probe: float = 0.5  # that smaller mu, over the one found
    clear_gain: float = 10.0  # in the information criterion: a fit at the smaller mu is better
    factor: float = 0.7  # from one mu of a path to the next
    deepest: float = 1e-3  # last mu of a path over mu_max, at least
    gain: float = 1.0  # in the information criterion, by which a smaller mu has to be better
    patience: int = 3  # mu in a row without a better fit, before a path ends


class Candidates:
    """The solutions and refits of one problem, for one mu after another.

    Parameters
    ----------
    problem : Problem
        Its own mu is not used.
    lam : float
        Price of a departure from the structure in the problems that are solved.
    search : MuSearch
    bar : tqdm
        Progress bar; it advances with every solution.
    """

    def __init__(self, problem: Problem, lam: float, search: MuSearch, bar: Any) -> None:
        self.problem, self.lam, self.search, self.bar = problem, lam, search, bar
        self.top = mu_max(problem, lam) or 1.0  # all samples may be zero
        self.considered: list[tuple[float, int, float]] = []

    def solve(self, mu: float, start: Result | None, problem: Problem | None = None) -> Result:
        """The solution for one mu, started from another solution."""
        self.bar.set_postfix(mu=f"{mu:.3g}", refresh=False)
        self.bar.update()
        return solve_at(
            self.problem if problem is None else problem,
            mu,
            start,
            lam=self.lam,
            gap=self.search.gap,
            max_iter=self.search.max_iter,
        )

    def by_noise(self, sigma: float | None, rng: int | np.random.Generator) -> tuple[Result, Refit]:
        """The fixed point of mu -> solution -> refit -> noise level -> mu."""
        search, unit = self.search, noise_mu(self.problem, 1.0, rng=rng)
        largest = min(unit * root_mean_square(self.problem) or self.top, search.largest * self.top)
        mu = unit * sigma if sigma else largest
        floor = self.top * epsilon(self.problem.backprojection) ** 0.5
        start: Result | None = None
        for _ in range(search.rounds):
            start = result = self.solve(mu, start)
            fit = choose_rank(result, sigma)
            self.considered.append((mu, fit.rank, noise_level(fit)))
            tell(f"select mu: {mu:.3g}, rank {fit.rank}, noise {noise_level(fit):.3g}")
            if time_is_up():
                break
            needed = max(unit * noise_level(fit), floor)
            if sigma is not None or needed == floor:
                break  # at the floor the fit meets the samples exactly: there is no more to find
            if abs(needed / mu - 1) < search.same:
                better = self._below(result, fit)
                if better is None:
                    break
                needed = max(unit * noise_level(better), floor)
            mu = needed
        return result, fit

    def _below(self, result: Result, fit: Refit) -> Refit | None:
        """A clearly better fit of slightly higher rank at a smaller mu, if there is one.

        The part of the signal that was not fitted counts as noise, and can keep mu so high that it
        is never fitted, above all in short signals. In long signals a smaller mu takes too long.
        """
        if np.prod(self.problem.b.shape) > self.search.short:
            return None
        further = self.solve(self.search.probe * result.problem.mu, result)
        for rank in (fit.rank + 1, fit.rank + 2):
            if rank <= further.rank:
                other = refit_if_possible(further, rank, None, unshrunk_scale(further))
                goal = fit.information - self.search.clear_gain
                if other is not None and other.information < goal:
                    return other
        return None

    def by_information(self) -> tuple[Result, Refit]:
        """The smallest information criterion along a path."""
        result: Result | None = None
        best: tuple[Result, Refit] | None = None
        since = 0  # values of mu without a better fit
        for mu in self._mus():
            result = self.solve(mu, result)
            fit = choose_rank(result)
            self.considered.append((mu, fit.rank, fit.information))
            if best is None or fit.information < best[1].information - self.search.gain:
                best, since = (result, fit), 0
            elif result.rank > best[1].rank:  # otherwise there was nothing new to fit
                since += 1
            if since == self.search.patience:
                break
        assert best is not None  # there is at least one mu
        return best

    def by_holdout(self, folds: int, rng: int | np.random.Generator) -> tuple[Result, Refit]:
        """The smallest error on held-out samples, along a path."""
        parts = random_parts(self.problem, folds, rng)
        training = [self.problem.without(part) for part in parts]
        starts: list[Result | None] = [None] * folds
        best_mu, best, since, rank_then = 0.0, np.zeros(0), 0, 0
        for mu in self._mus():
            results = [self.solve(mu, *pair) for pair in zip(starts, training, strict=True)]
            fits = [choose_rank(result) for result in results]
            errors = np.concatenate(
                [
                    squared_errors(self.problem, part, fit.y)
                    for part, fit in zip(parts, fits, strict=True)
                ]
            )
            self.considered.append((mu, fits[0].rank, float(np.sum(errors))))
            rank = max(result.rank for result in results)
            if best_mu == 0 or clearly_better(errors, best):
                best_mu, best, since, rank_then = mu, errors, 0, rank
            elif rank > rank_then:  # otherwise there was nothing new to fit
                since += 1
            if since == self.search.patience:
                break
            starts = list(results)
        result = self.solve(best_mu, None)
        return result, choose_rank(result)

    def _mus(self) -> Iterator[float]:
        mu = self.top
        while mu > self.search.deepest * self.top:
            mu *= self.search.factor
            yield mu

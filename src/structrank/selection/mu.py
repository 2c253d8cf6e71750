"""No knobs: which mu, and with it which rank, from the data alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from tqdm.auto import tqdm

from .._array import epsilon, is_complex, like, to_numpy
from .._checks import positive, positive_int
from ..modal.refitting import Refit
from ..model.measure import Weighted
from ..model.objective import mu_max, natural_lam
from ..model.problem import Problem
from ..solvers.driver import ConvergenceWarning, Result, uninterrupted
from ..views.summary import Summary
from .holdout import clearly_better, parts_of, squared_errors
from .mu_path import solve_at
from .ranks import choose_rank, noise_level, refitted, unshrunk_scale

METHODS = ("noise", "holdout", "information")
GAP = 1e-3  # certified, of the solutions looked at
MAX_ITER = 50
ROUNDS = 10  # of estimating the noise anew
SHORT = 400  # samples, for which to look further
PROBE, CLEAR_GAIN = 0.5, 10.0  # a mu to look further at, over the last; in the criterion
SAME = 0.03  # two mu that differ by less, relatively, are the same
FACTOR = 0.7  # from one mu of a path to the next
DEEPEST = 1e-3  # last mu of a path over the first, at most
PATIENCE = 3  # mu in a row that bring nothing better, before a path ends


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Summary):
    """The choice of mu and rank, and what follows from it; what `select_mu` returns.

    Attributes
    ----------
    method : str
        How the choice was made.
    mu : float
    rank : int
        The choice of `choose_rank` at that mu.
    sigma : float or None
        Standard deviation of the noise.
    result : Result
        The convex solution for that mu.
    refit : Refit
        The fit of that rank, without shrinkage.
    considered : list of tuple
        Each mu that was looked at, the rank found there, and the criterion: noise level,
        held-out error or information criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, select_mu
    >>> b = 3 * 0.9 ** np.arange(40) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> chosen = select_mu(Problem(Hankel(40, window=20), b, mu=1.0, measure="lifted"))
    >>> chosen.rank, len(chosen.refit.modes), round(chosen.sigma, 2)
    (1, 1, 0.08)
    """

    method: str
    mu: float
    rank: int
    sigma: float | None
    result: Result
    refit: Refit
    considered: list[tuple[float, int, float]]

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("problem", repr(self.result.problem)),
            ("method", self.method),
            ("mu", f"{self.mu:.6g}"),
            ("rank", str(self.rank)),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("considered", f"{len(self.considered)} values of mu"),
        ]


def noise_mu(
    problem: Problem,
    sigma: float,
    *,
    draws: int = 3,
    margin: float = 1.05,
    rng: int | np.random.Generator = 0,
) -> float:
    """The mu that noise calls for: a margin above what noise alone puts into the gradient.

    The solution is zero for `mu` above the top singular value of the gradient at zero. For data of
    pure noise it ought to be zero, so mu must exceed what noise of that level, measured in the same
    way, brings about: here the largest `mu_max` of a few draws.

    Parameters
    ----------
    problem : Problem
        Its own mu and samples do not matter, but for their data type.
    sigma : float
        Standard deviation of the noise in a sample, above zero; complex noise is circular.
    draws : int
        Number of signals drawn.
    margin : float
        Factor on the largest value. Larger ones, 1.5 for example, leave fewer modes that fit
        noise and shrink the others more.
    rng : int or numpy.random.Generator

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, Weighted, noise_mu
    >>> seen = np.arange(200) % 3 > 0
    >>> measure = Weighted("lifted", seen)
    >>> problem = Problem(Hankel(200, window=100), np.zeros(200), mu=1.0, measure=measure)
    >>> print(f"{noise_mu(problem, sigma=0.1):.2f}")
    2.09
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}, but a Problem is expected")
    sigma, margin = positive(sigma, "sigma"), positive(margin, "margin")
    rng, shape = np.random.default_rng(rng), tuple(problem.b.shape)
    largest = 0.0
    for _ in range(positive_int(draws, "draws")):
        noise = rng.standard_normal(shape)
        if is_complex(problem.b):
            noise = (noise + 1j * rng.standard_normal(shape)) / np.sqrt(2)
        largest = max(largest, mu_max(replace(problem, b=like(noise, problem.b))))
    return margin * sigma * largest


def select_mu(
    problem: Problem,
    method: str = "noise",
    *,
    sigma: float | None = None,
    folds: int = 5,
    lam: float | None = None,
    rng: int | np.random.Generator = 0,
    progress: bool = False,
) -> Selection:
    """Choose mu and the rank from the data.

    - "noise": mu is `noise_mu` of the noise level sigma. If sigma is not known, start from a large
      one, solve, refit, estimate sigma from what the refit leaves, and go on until it stands
      still.
    - "holdout": along a path of mu, solve and refit without a part of the samples,
      and take the mu whose refits predict these parts best; a smaller mu has to be better by more
      than the standard error.
    - "information": along a path of mu, refit, and take the fit with the least
      `Refit.information`.

    The rank is always the choice of `choose_rank` at that mu. Ctrl-C ends the search
    without a result.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter. Lifted weights are best.
    method : {"noise", "holdout", "information"}
    sigma : float, optional
        Standard deviation of the noise, if known; for "noise".
    folds : int
        Number of parts for "holdout".
    lam : float, optional
        Of the penalised problems that are solved. Default: where data and structure weigh
        the same, 1 for lifted weights.
    rng : int or numpy.random.Generator
        Of the noise drawn, and of the parts.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, select_mu
    >>> rng = np.random.default_rng(0)
    >>> b = np.cos(0.3 * np.arange(100)) + 0.1 * rng.standard_normal(100)
    >>> chosen = select_mu(Problem(Hankel(100, window=50), b, mu=1.0, measure="lifted"))
    >>> chosen.rank, round(chosen.sigma, 1)
    (2, 0.1)
    """
    chosen = search_mu(
        problem, method, sigma=sigma, folds=folds, lam=lam, rng=rng, progress=progress
    )
    if not chosen.result.status.converged:
        warnings.warn(f"select_mu: {chosen.result.message}", ConvergenceWarning, 2)
    return chosen


def search_mu(
    problem: Problem,
    method: str = "noise",
    *,
    sigma: float | None = None,
    folds: int = 5,
    lam: float | None = None,
    rng: int | np.random.Generator = 0,
    progress: bool = False,
) -> Selection:
    """Choose mu and the rank as `select_mu` does, without its warning: for inner use."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}, but a Problem is expected")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, but one of {', '.join(METHODS)} is expected")
    if sigma is not None:
        sigma = positive(sigma, "sigma")
        if method != "noise":
            raise ValueError(f"sigma is given, but method {method!r} does not use it")
    lam = natural_lam(problem) if lam is None else positive(lam, "lam")
    with tqdm(desc=f"select mu by {method}", disable=not progress) as bar:
        search = _Search(problem, lam, bar)
        if method == "noise":
            return search.by_noise(sigma, rng)
        if method == "holdout":
            return search.by_holdout(positive_int(folds, "folds"), rng)
        return search.by_information()


class _Search:
    """What the ways to choose share: one problem, its solutions and refits."""

    def __init__(self, problem: Problem, lam: float, bar: tqdm) -> None:
        self.problem, self.lam, self.bar = problem, lam, bar
        self.top = mu_max(problem, lam) or 1.0  # all samples may be zero
        self.considered: list[tuple[float, int, float]] = []

    def solve(self, mu: float, start: Result | None, problem: Problem | None = None) -> Result:
        """The solution for one mu, started from another."""
        self.bar.set_postfix(mu=f"{mu:.3g}", refresh=False)
        self.bar.update()
        X = None if start is None else start.X
        problem = self.problem if problem is None else problem
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # only the last one matters
            result = solve_at(problem, mu, X, lam=self.lam, gap=GAP, max_iter=MAX_ITER)
        return uninterrupted(result)

    def selection(self, method: str, result: Result, fit: Refit) -> Selection:
        """The choice made."""
        return Selection(
            method, result.problem.mu, fit.rank, fit.sigma, result, fit, self.considered
        )

    def by_noise(self, sigma: float | None, rng: int | np.random.Generator) -> Selection:
        """The fixed point of mu -> solution -> refit -> noise level -> mu."""
        unit = noise_mu(self.problem, 1.0, rng=rng)
        largest = min(unit * _rms(self.problem) or self.top, self.top / 2)
        mu = unit * sigma if sigma else largest
        floor = self.top * epsilon(self.problem.backprojection) ** 0.5
        start: Result | None = None
        for _ in range(ROUNDS):
            start = result = self.solve(mu, start)
            fit = choose_rank(result, sigma)
            self.considered.append((mu, fit.rank, noise_level(fit)))
            needed = max(unit * noise_level(fit), floor)
            if sigma is not None or needed == floor:
                break  # at the floor the samples are met exactly: there is no more to find
            if abs(needed / mu - 1) < SAME:
                better = self._below(result, fit)
                if better is None:
                    break
                needed = max(unit * noise_level(better), floor)
            mu = needed
        return self.selection("noise", result, fit)

    def _below(self, result: Result, fit: Refit) -> Refit | None:
        """A clearly better fit of slightly higher rank that a smaller mu lets through, if any.

        What was not fitted can make for so much noise that mu stays above it, above all in short
        signals; in long ones a smaller mu takes long.
        """
        if np.prod(self.problem.b.shape) > SHORT:
            return None
        further = self.solve(PROBE * result.problem.mu, result)
        for rank in (fit.rank + 1, fit.rank + 2):
            if rank <= further.rank:
                other = refitted(further, rank, None, unshrunk_scale(further))
                if other is not None and other.information < fit.information - CLEAR_GAIN:
                    return other
        return None

    def by_information(self) -> Selection:
        """The least information criterion along a path."""
        result: Result | None = None
        best: tuple[Result, Refit] | None = None
        since = 0
        for mu in self._mus():
            result = self.solve(mu, result)
            fit = choose_rank(result)
            self.considered.append((mu, fit.rank, fit.information))
            if best is None or fit.information < best[1].information - 1:
                best, since = (result, fit), 0
            elif result.rank > best[1].rank:  # more was on offer
                since += 1
            if since == PATIENCE:
                break
        assert best is not None  # there is at least one mu
        return self.selection("information", *best)

    def by_holdout(self, folds: int, rng: int | np.random.Generator) -> Selection:
        """The least error on samples left out, along a path."""
        parts = parts_of(self.problem, folds, rng)
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
            elif rank > rank_then:  # else there was nothing new to fit
                since += 1
            if since == PATIENCE:
                break
            starts = list(results)
        result = self.solve(best_mu, None)
        return self.selection("holdout", result, choose_rank(result))

    def _mus(self) -> Iterator[float]:
        mu = self.top
        while mu > DEEPEST * self.top:
            mu *= FACTOR
            yield mu


def _rms(problem: Problem) -> float:
    """Root mean square of the samples."""
    b = to_numpy(problem.b)
    if isinstance(problem.measure, Weighted):
        b = b[to_numpy(problem.measure.weights) > 0]
    return float(np.sqrt(np.mean(np.abs(b) ** 2)))

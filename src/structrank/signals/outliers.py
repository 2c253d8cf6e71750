"""Gross errors among the samples: find them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import instance_of
from ..model.effective_rank import SingularValueLimits, effective_rank
from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..model.scale import deviation_by_median
from ..selection.noise import noise_mu
from ..solvers.driver import iterate
from ..solvers.result import Result
from ..solvers.robust import robust_states
from ..solvers.stopping import Stop
from .caller import warn_caller


@dataclass(frozen=True)
class OutlierSearch:
    """How gross errors are searched for.

    The values were chosen by hand; `benchmarks.outliers` and the tests check what they give.

    Attributes
    ----------
    threshold : float
        Threshold of the robust loss, in standard deviations of the noise. As in `solve_robust`.
    far : float
        An outlier is more than this many standard deviations away. Gaussian noise is once in
        16,000 samples.
    gap, max_iter : float, int
        Relative distance from the optimum at which a robust solve stops, and its largest number of
        iterations. A rough solution is enough.
    rounds : int
        Largest number of noise levels tried in one pass.
    patience : int
        The pass ends after so many levels in a row that are not better.
    fall : float
        Largest ratio of one noise level to the next.
    still : float
        Once there is a signal, the pass ends if the noise falls to no less than this share.
    found : float
        There is a signal once the noise is below this share of the samples.
    largest_mu : float
        Largest mu over `mu_max`.
    passes : int
        Largest number of passes, each without the outliers of the one before.
    many : float
        There is another pass if more than this share are outliers.
    largest_share : float
        Largest share of outliers that is trusted.
    largest_model : float
        Largest number of parameters over good samples that is trusted.
    exact : float
        Noise below this share of the samples may be the solver's own error.
    tails, chance : float
        Largest ratio of root mean square to deviation by median that is trusted as noise, and what
        chance adds to it over the square root of the number of samples.
    """

    threshold: float = 2.0
    far: float = 4.0
    gap: float = 1e-2
    max_iter: int = 30
    rounds: int = 10
    patience: int = 3
    fall: float = 0.5
    still: float = 0.75
    found: float = 0.5
    largest_mu: float = 0.5
    passes: int = 3
    many: float = 0.25
    largest_share: float = 1 / 3
    largest_model: float = 0.5
    exact: float = 1e-2
    tails: float = 1.15
    chance: float = 1.5


def find_outliers(
    problem: Problem,
    *,
    rng: int | np.random.Generator = 0,
    search: OutlierSearch = OutlierSearch(),
) -> NDArray:
    """Find the samples that are gross errors: far from where the others say they should be.

    It solves with the robust loss of `solve_robust` for lower and lower noise levels, which set
    both mu and the threshold, and takes the level with the least information criterion. Outliers
    are samples more than four standard deviations away there, by the median of the residuals. If
    there are many, others may hide behind them, so it searches again without them.

    This works with gross errors in a quarter of the samples, often in a third and more. It warns if
    more than a third are found, or if the residuals of the others do not look like noise around a
    few modes, as when many were missed. Errors of the size of the signal can escape both.

    Parameters
    ----------
    problem : Problem
        With samples of a signal and a Hankel structure; lifted weights are best. Its own mu does
        not matter.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    search : OutlierSearch
        Limits and tolerances of the search.

    Returns
    -------
    ndarray of bool
        True at the outliers, in the shape of `problem.b`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, find_outliers
    >>> samples = np.cos(0.3 * np.arange(120))
    >>> samples += 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> samples[[30, 77]] = 5.0, -7.0
    >>> problem = Problem(Hankel(120, window=60), samples, mu=1.0, measure="lifted")
    >>> np.flatnonzero(find_outliers(problem))
    array([30, 77])
    """
    outliers, doubt = search_outliers(problem, rng=rng, search=search)
    if doubt is not None:
        warn_caller(f"find_outliers: {doubt}")
    return outliers


def search_outliers(
    problem: Problem,
    *,
    rng: int | np.random.Generator = 0,
    search: OutlierSearch = OutlierSearch(),
) -> tuple[NDArray, str | None]:
    """Find outliers as `find_outliers` does, and say why they may be wrong instead of warning.

    Parameters
    ----------
    problem : Problem
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    search : OutlierSearch

    Returns
    -------
    outliers : ndarray of bool
    doubt : str or None
        Why the outliers cannot be trusted, if there is a reason.
    """
    _check_problem(problem)
    instance_of(search, OutlierSearch, "search")
    unit = noise_mu(problem, 1.0, rng=rng)
    structure: Any = problem.structure
    places = tuple(range(len(structure.lengths)))
    seen = problem.seen & np.any(problem.seen & (to_numpy(problem.b) != 0), axis=places)
    outliers = np.zeros(seen.shape, dtype=bool)
    level: _Level | None = None
    for _ in range(search.passes):
        at = seen & ~outliers
        level = _best_level(problem.without(outliers), unit, at, search)
        if level is None:
            break
        outliers[at] = level.far
        if np.mean(level.far) <= search.many:
            break
    doubt = _doubt(float(np.sum(outliers) / np.sum(seen)), level, search)
    return outliers & np.any(seen & ~outliers, axis=places), doubt  # a channel keeps its only one


def _check_problem(problem: Problem) -> None:
    """Raise an error unless the problem has samples of a signal and a structure with windows."""
    instance_of(problem, Problem, "problem")
    if not hasattr(problem.structure, "lengths"):
        raise ValueError(
            f"the problem has the structure {problem.structure!r}, but a Hankel or Toeplitz "
            "structure is expected"
        )
    if problem.sample_weights is None:
        raise ValueError(
            "the problem is measured by an operator, but samples of the signal are expected: None, "
            "Mask, Weighted or 'lifted' as its measure"
        )


def _doubt(share: float, level: _Level | None, search: OutlierSearch) -> str | None:
    """Say why outliers cannot be trusted, if there is a reason."""
    reason = None if level is None else level.doubt
    if share > search.largest_share:
        reason = "more than a third cannot be distinguished from the signal reliably"
    if reason is None:
        return None
    return (
        f"{share:.0%} of the samples were taken for gross errors, but {reason}: the result may be "
        "wrong. Check it, and pass samples that are known to be wrong as NaN."
    )


def _best_level(
    problem: Problem, unit: float, seen: NDArray, search: OutlierSearch
) -> _Level | None:
    """Return the level with the least information criterion; None if most samples are zero."""
    samples, top = to_numpy(problem.b)[seen], mu_max(problem)
    first = last = sigma = deviation_by_median(samples)
    result: Result | None = None
    best: _Level | None = None
    since = 0
    for _ in range(search.rounds):
        if sigma == 0:
            break
        priced = replace(problem, mu=min(unit * sigma, search.largest_mu * top))
        result = _solve_robust(priced, sigma, result, search)
        level = _Level(result, samples, samples - to_numpy(result.y)[seen], search)
        if best is None or level.information < best.information:
            best, since = level, 0
        else:
            since += 1
        # Before the signal is found, a level may well be no better than the one before.
        found = best.noise < search.found * first
        if since == search.patience or (found and (since or level.noise > search.still * last)):
            break
        last, sigma = level.noise, min(level.noise, search.fall * sigma)
    return best


class _Level:
    """What the solution for one noise level leaves of the samples."""

    def __init__(
        self, result: Result, samples: NDArray, residual: NDArray, search: OutlierSearch
    ) -> None:
        self.search = search
        self.noise = deviation_by_median(residual)
        self.exact = self.noise < search.exact * deviation_by_median(samples)
        self.far = np.abs(residual) > search.far * self.noise
        self.spreads = [_root_mean_square(residual[part]) for part in (~self.far, self.far)]
        self.parts = 2 if np.iscomplexobj(residual) else 1
        self.good = self.parts * int(np.count_nonzero(~self.far))
        structure: Any = result.problem.structure
        channels = int(np.prod(structure.signal_shape)) // int(np.prod(structure.lengths))
        self.rank = effective_rank(result.X, result.problem.mu, SingularValueLimits().certain)
        self.parameters = self.parts * self.rank * (len(structure.lengths) + channels)

    @property
    def information(self) -> float:
        """The criterion of a refit, with good samples and outliers as noise of two levels."""
        left = self.good - self.parameters - 1
        if left < 1:
            return np.inf
        near, far = np.log(np.maximum(self.spreads, np.finfo(float).tiny))
        misfit = self.good * near + self.parts * np.count_nonzero(self.far) * far
        price = np.log(self.good) * self.good / left
        return float(2 * misfit + (self.parameters + self.rank) * price)

    @property
    def doubt(self) -> str | None:
        """Why the outliers cannot be trusted, if there is a reason."""
        if self.parameters > self.search.largest_model * self.good:
            return "the others do not follow a few modes"
        ratio = self.search.tails + self.search.chance / np.sqrt(self.good)
        if not self.exact and self.spreads[0] > ratio * self.noise:
            return "the residuals of the others do not look like noise"
        return None


def _root_mean_square(values: NDArray) -> float:
    return float(np.sqrt(np.mean(np.abs(values) ** 2))) if values.size else 0.0


def _solve_robust(
    problem: Problem, sigma: float, start: Result | None, search: OutlierSearch
) -> Result:
    """Return a rough solution of the robust problem, which need not have converged."""
    X = None if start is None else start.X
    stop = Stop(search.max_iter, xtol=None, rtol=None, gap=search.gap)
    states = robust_states(problem, search.threshold * sigma, search.gap, start=X)
    return iterate(states, problem, stop=stop)

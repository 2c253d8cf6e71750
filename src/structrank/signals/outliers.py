"""Gross errors among the samples: which ones they are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._array import to_numpy
from ..model.effective_rank import SingularValueLimits, effective_rank
from ..model.objective import mu_max
from ..model.problem import Problem
from ..model.scale import deviation_by_median
from ..selection import noise_mu
from ..solvers import RobustResult, solve_robust
from ..solvers.driver import ConvergenceWarning, uninterrupted

ROUNDS = 10  # noise levels looked at
PATIENCE = 3  # of them in a row that bring nothing better; then the search ends
STANDS_STILL = 0.75  # a noise level above this share of the last, once there is a signal
THRESHOLD = 2.0  # of the robust loss, in standard deviations of the noise
FAR = 4.0  # an outlier is this many of them away
PASSES, MANY = 3, 0.25  # another pass if more than this share are outliers
LARGEST_SHARE = 1 / 3  # of outliers, that can be trusted
LARGEST_MODEL = 0.5  # parameters over good samples
EXACT = 1e-2  # noise below this share of the samples may be the solver's
TAILS, CHANCE = 1.15, 1.5  # root mean square over deviation by median; what chance adds to it


def find_outliers(problem: Problem, *, rng: int | np.random.Generator = 0) -> np.ndarray:
    """Which samples are gross errors: far from where the others say they should be.

    Solves with the robust loss of `solve_robust` for lower and lower noise levels, which set both
    mu and the threshold, and takes the level with the least information criterion. Outliers are
    more than four standard deviations off there, by the median of what is left. If there are many,
    others may hide behind them: then it looks again without them.

    This stands up to gross errors in a quarter of the samples, often in a third and more. A warning
    is given if more than a third are found, or if what is left does not look like noise around a
    few modes, as where many were not found. Errors of the signal's own size can escape both.

    Parameters
    ----------
    problem : Problem
        With samples of the signal, such as `hankel_problem` makes. Its own mu does not matter.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu.

    Returns
    -------
    ndarray of bool, in the signal's shape

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.outliers import find_outliers
    >>> from structrank.signals.recovery import hankel_problem
    >>> samples = np.cos(0.3 * np.arange(120))
    >>> samples += 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> samples[[30, 77]] = 5.0, -7.0
    >>> np.flatnonzero(find_outliers(hankel_problem(samples)))
    array([30, 77])
    """
    unit = noise_mu(problem, 1.0, rng=rng)
    structure: Any = problem.structure
    places = tuple(range(len(structure.lengths)))
    seen = to_numpy(problem.measure.weights) > 0
    seen &= np.any(seen & (to_numpy(problem.b) != 0), axis=places)  # channels that are not dead
    outliers = np.zeros(seen.shape, dtype=bool)
    for _ in range(PASSES):
        at = seen & ~outliers
        level = _best_level(problem.without(outliers), unit, at)
        if level is None:
            break
        outliers[at] = level.far
        if np.mean(level.far) <= MANY:
            break
    share = np.sum(outliers) / np.sum(seen)
    doubt = None if level is None else level.doubt
    if share > LARGEST_SHARE:
        doubt = "more than a third cannot be told from the signal for sure"
    if doubt is not None:
        warnings.warn(
            f"{share:.0%} of the samples were taken for gross errors, but {doubt}: the result may "
            "be wrong. Have a look at it, and pass samples that are known to be wrong as NaN.",
            stacklevel=3,
        )
    return outliers & np.any(seen & ~outliers, axis=places)  # a channel keeps its only samples


def _best_level(problem: Problem, unit: float, seen: np.ndarray) -> _Level | None:
    """The level with the least information criterion; None if most samples are zero."""
    samples, top = to_numpy(problem.b)[seen], mu_max(problem)
    first = last = sigma = deviation_by_median(samples)
    result: RobustResult | None = None
    best: _Level | None = None
    since = 0
    for _ in range(ROUNDS):
        if sigma == 0:
            break
        result = _robust(replace(problem, mu=min(unit * sigma, top / 2)), sigma, result)
        level = _Level(result, samples, samples - to_numpy(result.y)[seen])
        if best is None or level.information < best.information:
            best, since = level, 0
        else:
            since += 1
        # Before the signal is found, a level may well be no better than the one before.
        found = best.noise < first / 2
        if since == PATIENCE or (found and (since or level.noise > STANDS_STILL * last)):
            break
        last, sigma = level.noise, min(level.noise, sigma / 2)
    return best


class _Level:
    """What the solution for one noise level leaves of the samples."""

    def __init__(self, result: RobustResult, samples: np.ndarray, residual: np.ndarray) -> None:
        self.noise = deviation_by_median(residual)
        self.exact = self.noise < EXACT * deviation_by_median(samples)
        self.far = np.abs(residual) > FAR * self.noise
        self.spreads = [_root_mean_square(residual[part]) for part in (~self.far, self.far)]
        self.parts = 2 if np.iscomplexobj(residual) else 1
        self.good = self.parts * int(np.count_nonzero(~self.far))
        structure: Any = result.problem.structure
        channels = int(np.prod(structure.signal_shape)) // int(np.prod(structure.lengths))
        self.rank = effective_rank(result.X, result.problem.mu, SingularValueLimits().certain)
        self.parameters = self.parts * self.rank * (len(structure.lengths) + channels)

    @property
    def information(self) -> float:
        """As of a refit, with good samples and outliers as Gaussian noise of a level each."""
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
        if self.parameters > LARGEST_MODEL * self.good:
            return "the others do not follow a few modes"
        if not self.exact and self.spreads[0] > (TAILS + CHANCE / np.sqrt(self.good)) * self.noise:
            return "what the fit leaves of the others does not look like noise"
        return None


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.abs(values) ** 2))) if values.size else 0.0


def _robust(problem: Problem, sigma: float, start: RobustResult | None) -> RobustResult:
    X = None if start is None else start.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a good guess is enough here
        result = solve_robust(problem, THRESHOLD * sigma, gap=1e-2, start=X, max_iter=30)
    uninterrupted(result)
    return result

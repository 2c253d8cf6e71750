"""Gross errors among the samples: which ones they are."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .._array import to_numpy
from ..objective import mu_max
from ..problem import Problem
from ..run import ConvergenceWarning, uninterrupted
from ..selection import noise_mu
from ..solvers import RobustResult, solve_robust
from ..spread import deviation_by_median

ROUNDS = 10  # of estimating the noise anew
STANDS_STILL = 0.9  # a noise level above this share of the last
THRESHOLD = 2.0  # of the robust loss, in standard deviations of the noise
FAR = 4.0  # an outlier is this many of them away


def find_outliers(problem: Problem, *, seed: int = 0) -> np.ndarray:
    """Which samples are gross errors: far from where the others say they should be.

    As `select_mu` does, but with the robust loss of `solve_robust`: start from a large noise level,
    solve, estimate the level anew by the median of what is left, until it stands still. Outliers
    are then more than four standard deviations off.

    Parameters
    ----------
    problem : Problem
        With samples of the signal, such as `hankel_problem` makes. Its own mu does not matter.
    seed : int
        Of the noise drawn to find mu.

    Returns
    -------
    ndarray of bool, in the signal's shape

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications.outliers import find_outliers
    >>> from structrank.applications.recovery import hankel_problem
    >>> samples = np.cos(0.3 * np.arange(120))
    >>> samples += 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> samples[[30, 77]] = 5.0, -7.0
    >>> np.flatnonzero(find_outliers(hankel_problem(samples)))
    array([30, 77])
    """
    seen = to_numpy(problem.measure.weights) > 0
    samples = np.where(seen, to_numpy(problem.b), 0.0)
    unit, top = noise_mu(problem, 1.0, seed=seed), mu_max(problem)
    sigma, result = deviation_by_median(samples[seen]), None
    for _ in range(ROUNDS):
        if sigma == 0:
            break
        result = _robust(replace(problem, mu=min(unit * sigma, top / 2)), sigma, result)
        left = deviation_by_median((samples - to_numpy(result.y))[seen])
        if left > STANDS_STILL * sigma:
            break
        sigma = left
    if result is None:
        return np.zeros(seen.shape, dtype=bool)
    return seen & (np.abs(samples - to_numpy(result.y)) > FAR * sigma)


def _robust(problem: Problem, sigma: float, start: RobustResult | None) -> RobustResult:
    X = None if start is None else start.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a good guess is enough here
        result = solve_robust(problem, THRESHOLD * sigma, gap=1e-2, start=X, max_iter=30)
    uninterrupted(result)
    return result

"""Fit the samples again at a fixed rank, which removes the shrinkage of the nuclear norm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._array import to_numpy
from .._checks import flag, instance_of, positive_int
from ..model.lowrank import LowRank
from ..model.measure import Weighted
from ..model.problem import Problem
from ..model.sample_range import SampleRange
from ..solvers.result import Result
from ..solvers.stopping import ConvergenceWarning
from .esprit import find_modes, has_modes
from .factored_refit import FactoredFitting, refit_factors
from .fit import LevenbergMarquardt
from .modal_refit import refit_modes
from .modes import NoModes
from .refit_result import (
    Refit,
    noise_deviation,
    number_count,
    relative_violation,
    residual_squared,
)


@dataclass(frozen=True)
class Runaway:
    """When a fit is not trusted where nothing is seen, and what is tried instead; set by hand.

    Attributes
    ----------
    largest_ratio : float
        Largest value of the signal over the largest sample, unless it is certain.
    absurd : float
        Such a ratio from which on it is not certain: squares leave the range of numbers.
    factor : float
        From one rank to the next lower one that is tried.
    """

    largest_ratio: float = 10.0
    absurd: float = 1e100
    factor: float = 0.7

    def holds(self, fit: Refit) -> bool:
        """Return whether unseen values are far larger than the samples, and uncertain."""
        if fit.modes is None or np.all(fit.problem.seen):
            return False
        scale = float(np.max(np.abs(to_numpy(fit.problem.b)[fit.problem.seen])))
        ratio = float(np.max(np.abs(to_numpy(fit.y)))) / (scale or 1.0)
        if ratio <= self.largest_ratio or fit.sigma is None or ratio > self.absurd:
            return ratio > self.largest_ratio
        return float(np.max(to_numpy(fit.stderr))) > scale


def refit(
    result: Result,
    rank: int | None = None,
    *,
    weights: Any = None,
    sigma: float | None = None,
    undamped: bool = False,
) -> Refit:
    """Fit the samples by a structured matrix of fixed rank, without the solver's shrinkage.

    `min_y  ||weights (y - b)||^2  subject to  rank Q(y) <= rank`, by a local method that starts
    from the result. For Hankel and Toeplitz structures it fits the modes, which meets the
    structure exactly. For others it fits the factors, with multipliers for the structure. Modes
    that would grow far beyond the samples where nothing is seen are held undamped, and if that is
    not enough, fewer are fitted: a solution that has not converged has modes that fit noise.

    Parameters
    ----------
    result : Result
    rank : int, optional
        Default: the rank of the result.
    weights : array, optional
        Weights of the samples: one over their standard deviations, up to a common factor.
        Default: all seen samples count the same, whatever the weights of the problem, which is
        best if the noise has one level.
    sigma : float, optional
        Standard deviation of the noise, if known. Default: estimate it.
    undamped : bool
        The modes are known to be undamped; only for structures with modes.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> y = 0.9 ** np.arange(30.0)
    >>> result = gcgls(Problem(Hankel(30, window=15), y, mu=0.5, measure="lifted"), lam=1.0)
    >>> shrunk, fitted = result.y, refit(result).y
    >>> bool(abs(shrunk - y).max() > 0.05), bool(abs(fitted - y).max() < 1e-6)
    (True, True)
    """
    instance_of(result, Result, "result")
    rank = result.rank if rank is None else positive_int(rank, "rank")
    if rank > result.rank:
        raise ValueError(
            f"rank is {rank}, but the result has rank {result.rank}: pass at most that, or solve "
            "with a smaller mu"
        )
    if sigma is not None:
        sigma = SampleRange().checked_sigma(sigma, result.problem.b)
    flag(undamped, "undamped")
    fit = bounded_fit(result, rank, weights=weights, sigma=sigma, undamped=undamped)
    if not fit.converged:
        warnings.warn(
            "refit reached its iteration limit before converging, with a relative structure "
            f"violation of {fit.relative_violation:.1g}: pass another rank, or solve with a "
            "smaller mu first",
            ConvergenceWarning,
            stacklevel=2,
        )
    return fit


def fit_at_rank(
    result: Result,
    rank: int,
    *,
    weights: Any = None,
    sigma: float | None = None,
    undamped: bool = False,
    method: LevenbergMarquardt = LevenbergMarquardt(),
    fitting: FactoredFitting = FactoredFitting(),
) -> Refit:
    """`refit` without a warning, for use inside other functions: look at `Refit.converged`.

    Parameters
    ----------
    result : Result
    rank : int
        From zero to the rank of the result.
    weights, sigma, undamped
        As for `refit`.
    method : LevenbergMarquardt
        Numerical settings of the fit of modes.
    fitting : FactoredFitting
        Numerical settings of the fit of factors.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls
    >>> from structrank.modal.refitting import fit_at_rank
    >>> y = 0.9 ** np.arange(30.0)
    >>> result = gcgls(Problem(Hankel(30, window=15), y, mu=0.5, measure="lifted"), lam=1.0)
    >>> [fit_at_rank(result, rank).parameters for rank in (0, 1)]
    [0, 2]
    """
    problem = reweighted(result.problem, weights)
    if rank == 0:
        return _zero(problem, sigma)
    if has_modes(problem.structure):
        modes = find_modes(result, rank)
        return refit_modes(problem, modes, sigma=sigma, undamped=undamped, method=method)
    if undamped:
        raise ValueError(f"{problem.structure!r} has no modes, so undamped does not apply")
    X = result.X.balanced(0.0)
    start = LowRank(X.U[:, :rank], X.V[:, :rank])
    return refit_factors(problem, start, sigma=sigma, fitting=fitting)


def bounded_fit(
    result: Result,
    rank: int,
    *,
    weights: Any = None,
    sigma: float | None = None,
    undamped: bool = False,
    runaway: Runaway = Runaway(),
) -> Refit:
    """Fit a rank as `fit_at_rank` does, without modes that grow where nothing is seen.

    A solution that has not converged has modes that fit noise. Over long gaps they may grow to any
    size. Then all modes are held undamped; if that does not help, fewer modes are fitted.

    Parameters
    ----------
    result : Result
    rank : int
        From zero to the rank of the result.
    weights, sigma, undamped
        As for `refit`.
    runaway : Runaway

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls
    >>> from structrank.modal.refitting import bounded_fit
    >>> y = 0.9 ** np.arange(30.0)
    >>> result = gcgls(Problem(Hankel(30, window=15), y, mu=0.5, measure="lifted"), lam=1.0)
    >>> bool(np.allclose(bounded_fit(result, 1).y, y))
    True
    """
    first = fit_at_rank(result, rank, weights=weights, sigma=sigma, undamped=undamped)
    if not runaway.holds(first):
        return first
    for fewer in _ranks(rank, runaway.factor):
        for still in (undamped, True):
            if (fewer, still) == (rank, undamped):
                continue
            try:
                fit = fit_at_rank(result, fewer, weights=weights, sigma=sigma, undamped=still)
            except NoModes:
                continue
            if not runaway.holds(fit):
                return fit
    return fit_at_rank(result, 0, weights=weights, sigma=sigma)


def _ranks(rank: int, factor: float) -> Iterator[int]:
    """The rank itself, and lower ones."""
    while rank:
        yield rank
        rank = int(factor * rank)


def reweighted(problem: Problem, weights: Any = None) -> Problem:
    """The problem with equal or given weights of the seen samples."""
    if problem.sample_weights is None:
        if weights is not None:
            raise ValueError(
                "weights are given, but an operator measures: multiply its result and b by them"
            )
        return problem
    seen = problem.seen
    return replace(problem, measure=Weighted(seen * 1.0 if weights is None else weights, seen))


def _zero(problem: Problem, sigma: float | None) -> Refit:
    """The fit of rank 0: the zero signal, unless the structure has an offset."""
    structure = problem.structure
    X = LowRank.zeros(structure.shape, problem.backprojection)
    y = structure.average(X.U, X.V)
    square, numbers = residual_squared(problem, y), number_count(problem)
    return Refit(
        y=y,
        X=X,
        rank=0,
        residual_squared=square,
        sigma=noise_deviation(problem, square, numbers, sigma),
        parameters=0,
        sample_count=numbers,
        relative_violation=relative_violation(structure, X, y),
        modes=None,
        problem=problem,
        unit_errors=partial(np.zeros, structure.signal_shape),
    )

"""Which rank a solution has: the choice among its refits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray, inner, singular_values, to_numpy
from .._checks import instance_of
from .._watch import tell, time_is_up
from ..modal.modes import NoModes
from ..modal.refit_result import Refit, information_criterion, number_count
from ..modal.refitting import fit_at_rank
from ..model.certificate import DenseLimit
from ..model.effective_rank import SingularValueLimits, effective_rank
from ..model.problem import Problem
from ..solvers.result import Result


@dataclass(frozen=True)
class RankSearch:
    """Which ranks `choose_rank` tries; set by hand, checked with benchmarks.selection."""

    below: int = 2  # ranks below the number of certain singular values that are always tried
    above: int = 2  # ranks above that number
    few_modes: int = 20  # so many modes are always possible
    samples_per_mode: int = 4  # beyond these, more modes than one per so many samples fit anything


def choose_rank(
    result: Result, sigma: float | None = None, *, search: RankSearch = RankSearch()
) -> Refit:
    """The refit with the smallest information criterion, among ranks near that of a solution.

    Singular values above mu count as found, those below a hundredth of mu as rounding errors.
    Lower ranks are tried as long as they are better. Three kinds of ranks are not chosen: ranks
    that leave a value of the signal less certain than the scale of the signal, for example because
    a mode grows into a gap; ranks with as many parameters as samples; and more modes than both 20
    and a quarter of the samples.

    Parameters
    ----------
    result : Result
    sigma : float, optional
        Standard deviation of the noise, if known.
    search : RankSearch
        Which ranks to try.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, choose_rank, gcgls
    >>> b = 3 * 0.9 ** np.arange(40) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> result = gcgls(Problem(Hankel(40, window=20), b, mu=0.5, measure="lifted"), lam=1.0)
    >>> result.rank > 1, choose_rank(result).rank
    (True, 1)
    """
    instance_of(result, Result, "result")
    problem, X = result.problem, result.X
    found = effective_rank(X, problem.mu, SingularValueLimits().certain)
    most = effective_rank(X, problem.mu)
    if problem.structure.has_modes:
        most = min(most, max(search.few_modes, problem.sample_count // search.samples_per_mode))
        found = min(found, most)
    scale = unshrunk_scale(result)
    zero = refit_if_possible(result, 0, sigma, scale)
    assert zero is not None  # rank 0 is always possible
    least = least_information(problem)
    best: Refit | None = None
    for rank in range(min(found + search.above, most), -1, -1):
        if 0 < rank < least.size and least[rank] > zero.information:
            continue
        if rank < found - search.below and best is not None and best.rank > rank + 1:
            break
        fit = refit_if_possible(result, rank, sigma, scale) if rank else zero
        if fit is not None and (best is None or fit.information <= best.information):
            best = fit
        if fit is not None:
            tell(f"refit of rank {rank}: information {fit.information:.4g}")
        if best is not None and time_is_up():
            break
    assert best is not None  # at least rank 0 was tried
    return best


def least_information(problem: Problem, limit: DenseLimit = DenseLimit()) -> NDArray:
    """Lower bounds of the information of fits of rank 0, 1, ... if all samples are seen.

    A signal y of few modes has a matrix of low rank. So `sum_t w_t |b_t - y_t|^2`, with the
    multiplicities w, is at least the sum of the squares of the other singular values of `Q(b)`. A
    mode of rank one has at least 1.5 parameters, as a pair of undamped ones has three in a real
    signal. Without such a bound, the array is empty.
    """
    structure = problem.structure
    if problem.sample_weights is None or not np.all(problem.seen):
        return np.zeros(0)
    if not structure.has_modes or not limit.allows(structure):
        return np.zeros(0)
    b = to_numpy(problem.b)
    squares = singular_values(to_numpy(structure.to_dense(problem.b))) ** 2
    rest = np.append(np.cumsum(squares[::-1])[::-1], 0.0) / np.max(structure.multiplicity)
    size = float(np.sum(np.abs(b) ** 2))
    numbers = number_count(problem)
    complex_ones = numbers // problem.sample_count
    return np.array(
        [
            information_criterion(
                float(square),
                size,
                numbers=numbers,
                parameters=3 * rank * complex_ones // 2,
                rank=rank,
            )
            for rank, square in enumerate(rest)
        ]
    )


def unshrunk_scale(result: Result) -> float:
    """The largest value of the solution, scaled to fit the samples best."""
    image = result.problem.measure.forward(result.y)
    square = inner(image, image)
    if square == 0:
        return np.inf
    return float(np.max(np.abs(to_numpy(result.y)))) * inner(image, result.problem.data) / square


def refit_if_possible(result: Result, rank: int, sigma: float | None, scale: float) -> Refit | None:
    """The refit of a rank, or None if the rank is too high for the data.

    It is too high if there are not more samples than parameters, if the fit does not converge, or
    if values of the signal are less certain than the scale of the signal, for example because a
    mode grows into a gap.
    """
    try:
        fit = fit_at_rank(result, rank, sigma=sigma)
    except NoModes:
        return None
    if not fit.converged:
        return None
    if rank and (fit.parameters >= fit.sample_count or np.max(to_numpy(fit.stderr)) > scale):
        return None
    return fit

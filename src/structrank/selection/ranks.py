"""Which rank a solution has, and how much noise its refit leaves."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .._array import inner, to_numpy
from ..modal.modes import NoModes, has_modes
from ..modal.refitting import Refit, refit
from ..model.measure import Weighted
from ..model.scale import deviation_by_median
from ..solvers.driver import ConvergenceWarning, Result

LEAST_LEVEL = 0.05  # of the noise by the median, as a share of that by the root mean square
NOTHING = 1e-2  # singular values below this share of mu are rounding
BELOW, ABOVE = 2, 2  # ranks looked at around the number of singular values above mu
FEW = 20  # modes; more than this, and than a quarter of the samples, explain nothing


def choose_rank(result: Result, sigma: float | None = None) -> Refit:
    """The refit with the least information criterion, of ranks near that of a solution.

    Singular values above mu count as found, those below a hundredth of it as rounding. Lower ranks
    are looked at as long as they are better. Ranks that leave a value of the signal less certain
    than its scale, as where a mode grows into a gap, are not taken, nor more modes than
    20 and than a quarter of the samples.

    Parameters
    ----------
    result : Result
    sigma : float, optional
        Standard deviation of the noise, if known.

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
    if not isinstance(result, Result):
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    values = result.X.singular_values() / result.problem.mu
    found, most = int(np.sum(values > 1)), int(np.sum(values > NOTHING))
    if has_modes(result.problem.structure):
        most = min(most, max(FEW, result.problem.sample_count // 4))
        found = min(found, most)
    scale = unshrunk_scale(result)
    best: Refit | None = None
    for rank in range(min(found + ABOVE, most), -1, -1):
        if rank < found - BELOW and best is not None and best.rank > rank + 1:
            break
        fit = refitted(result, rank, sigma, scale)
        if fit is not None and (best is None or fit.information <= best.information):
            best = fit
    assert best is not None  # rank 0 is always possible
    return best


def unshrunk_scale(result: Result) -> float:
    """The largest value of the solution, scaled to fit the samples best."""
    image = result.problem.measure.forward(result.y)
    square = inner(image, image)
    if square == 0:
        return np.inf
    return float(np.max(np.abs(to_numpy(result.y)))) * inner(image, result.problem.data) / square


def refitted(result: Result, rank: int, sigma: float | None, scale: float) -> Refit | None:
    """A refit of a rank that may be too high for the data; then None.

    It is too high if there are no more samples than parameters, or if values of
    the signal are known less well than to the scale of the signal, as where a mode grows into a
    gap.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            fit = refit(replace(result, rank=rank), rank=rank or None, sigma=sigma)
        except (NoModes, ConvergenceWarning):
            return None
    if rank and (fit.parameters >= fit.samples or np.max(to_numpy(fit.stderr)) > scale):
        return None
    return fit


def noise_level(fit: Refit) -> float:
    """Standard deviation of the noise that a fit leaves, by root mean square or by median.

    The smaller one: the median hardly sees what was not fitted if that is short, such as the first
    samples of a decay.
    """
    residual = to_numpy(fit.problem.data - fit.problem.measure.forward(fit.y)).reshape(-1)
    if isinstance(fit.problem.measure, Weighted):
        residual = residual[to_numpy(fit.problem.measure.weights).reshape(-1) > 0]
    freedom = max(fit.samples - fit.parameters, 1) / fit.samples
    level = deviation_by_median(residual) / np.sqrt(freedom)
    sigma = fit.sigma or 0.0
    return min(max(level, LEAST_LEVEL * sigma), sigma)

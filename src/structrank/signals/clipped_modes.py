"""Modes of a series whose clipped samples are only known to lie beyond a level.

The likelihood is that of the Tobit model: a clipped sample counts with the probability of its
inequality. It is maximised by the EM algorithm: in turn, clipped samples are replaced by their
means given the inequality, and modes are fitted to all samples.

References
----------
.. [1] T. Amemiya, "Tobit models: a survey", Journal of Econometrics 24(1-2), 1984.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray, to_numpy
from ..modal.greedy import greedy_modes
from ..modal.modes import Modes
from ..modal.standard_errors import ErrorPropagation
from ..selection.whiteness import is_white
from .clipped_series import Clipping
from .fitted_modes import FittedModes, derivatives, fit_from
from .problems import hankel_problem


@dataclass(frozen=True)
class Turns:
    """How long the likelihood is maximised; set by hand.

    Attributes
    ----------
    most : int
        Turns at most.
    accuracy : float
        They end when no clipped sample moves by more than this share of the noise.
    most_modes : int
        Modes that are searched in the samples as they are, at most, which bounds the time.
    rounding : float
        Noise below this share of the samples is rounding.
    """

    most: int = 100
    accuracy: float = 1e-2
    most_modes: int = 12
    rounding: float = 1e-6


class ClippedModes(FittedModes):
    """A sum of modes given samples and inequalities."""

    def explains(self, values: NDArray, clipping: Clipping) -> bool:
        """Whether samples that are not clipped leave nothing but white noise."""
        seen = ~np.isnan(values) & ~clipping.all
        residual = np.where(seen, values - self.signal, 0.0)
        return is_white(residual[:, None], seen[:, None])


def fit_clipped_modes(
    values: NDArray,
    clipping: Clipping,
    modes: Modes | None,
    sigma: float | None = None,
    turns: Turns = Turns(),
    *,
    exactly: bool = False,
) -> ClippedModes | None:
    """Fit modes to a series with clipped samples.

    They start from given modes, and from as many or fewer that are found in the samples as they
    are. An information criterion decides.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    clipping : Clipping
    modes : Modes or None
        Modes that were found without the clipped samples, if any. Dampings of zero stay zero.
    sigma : float, optional
        Standard deviation of the noise, if known.
    turns : Turns
    exactly : bool
        The number of modes is known.

    Returns
    -------
    ClippedModes or None
        None if there is nothing to start from.
    """
    problem, most = hankel_problem(values), turns.most_modes
    undamped, starts = False, []
    if modes is not None:
        undamped, starts = bool(np.all(modes.dampings == 0)), [modes]
        most = min(len(modes), most)
    for rank in [most] if exactly else range(1, most + 1):
        other = greedy_modes(problem, rank=rank, undamped=undamped)
        starts += [] if other is None else [other]
    if not starts:
        return None
    found = [_from_start(values, clipping, start, sigma, turns) for start in starts]
    return min(found, key=lambda one: _information(one, values, clipping, turns))


def _information(found: ClippedModes, values: NDArray, clipping: Clipping, turns: Turns) -> float:
    """The information criterion of a fit: the smaller, the better."""
    noise = max(found.sigma, turns.rounding * float(np.nanstd(values)), np.finfo(float).tiny)
    price = np.log(np.count_nonzero(~np.isnan(values)))
    parameters = found.rows.shape[1] + len(found.modes)  # as `Refit.information` counts them
    return float(parameters * price - 2 * clipping.loglikelihood(values, found.signal, noise))


def _from_start(
    values: NDArray, clipping: Clipping, modes: Modes, sigma: float | None, turns: Turns
) -> ClippedModes:
    """Fit modes by the EM algorithm, from given ones."""
    length, at, seen = len(values), clipping.all, ~np.isnan(values)
    signal = modes.signal(length).real
    rest = (values - signal)[seen & ~at]
    noise = float(np.sqrt(np.mean(rest**2))) if sigma is None else sigma
    before = np.full(length, np.inf)
    for _ in range(turns.most):
        filled, spread = clipping.moments(signal, np.full(length, max(noise, 1e-300)))
        filled = np.where(at, filled, values)
        if np.all(np.abs(filled - before)[at] <= turns.accuracy * noise):
            break
        before, (fit, modes) = filled, fit_from(filled, modes, sigma)
        signal = to_numpy(fit.y)
        if sigma is None:  # as in the fit, less the parameters
            square = np.sum((filled - signal)[seen] ** 2) + np.sum(spread[at] ** 2)
            noise = float(np.sqrt(square / max(np.count_nonzero(seen) - fit.parameters, 1)))
    rows = derivatives(modes, length)
    # What a clipped sample says about its mean: the second derivative of its log-likelihood.
    share = np.where(at, 1 - (spread / max(noise, 1e-300)) ** 2, 1.0)
    propagation = ErrorPropagation(np.sqrt(np.maximum(share, 0.0))[seen, None] * rows[seen])
    stderr = propagation.errors(rows, noise)
    return ClippedModes(signal, stderr, noise, modes, rows, propagation)

"""Modes of a series whose clipped samples are only known to lie beyond a level.

The likelihood is that of the Tobit model: a clipped sample counts with the probability of its
inequality. It is maximised by turns (expectation and maximisation): clipped samples are replaced by
their means given the inequality, and modes are fitted to all samples.

References
----------
.. [1] T. Amemiya, "Tobit models: a survey", Journal of Econometrics 24(1-2), 1984.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray, to_numpy
from ..modal.greedy import greedy_modes
from ..modal.model import ModalModel
from ..modal.modes import Modes
from ..modal.standard_errors import ErrorPropagation
from .backtesting import fit_ahead
from .clipped_series import Clipping
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
    """

    most: int = 100
    accuracy: float = 1e-2


@dataclass(frozen=True, eq=False)
class ClippedModes:
    """A sum of modes given samples and inequalities.

    Attributes
    ----------
    signal, stderr : ndarray
    sigma : float
        Standard deviation of the noise.
    modes : Modes
    rows : ndarray, shape (samples, parameters)
        Derivatives of the signal by the parameters.
    propagation : ErrorPropagation
    """

    signal: NDArray
    stderr: NDArray
    sigma: float
    modes: Modes
    rows: NDArray
    propagation: ErrorPropagation

    @property
    def deviation(self) -> NDArray:
        """Standard deviation of a new sample from the signal."""
        return np.asarray(np.hypot(self.stderr, self.sigma))

    def draws(self, left: NDArray, n: int, rng: np.random.Generator) -> NDArray:
        """Joint draws of the signal to first order, NaN where it is left as it is."""
        noise = rng.standard_normal((self.propagation.count, n))
        errors = self.propagation.draws(self.rows, noise).T
        size = np.where(np.isfinite(self.stderr), self.stderr, 0.0)
        return np.where(left, np.nan, self.signal + size * errors)


def fit_clipped_modes(
    values: NDArray,
    clipping: Clipping,
    modes: Modes,
    sigma: float | None = None,
    turns: Turns = Turns(),
) -> ClippedModes:
    """Fit modes to a series with clipped samples.

    They start from given modes, and from as many that are found in the samples as they are. The
    likelihood decides.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    clipping : Clipping
    modes : Modes
        Modes that were found without the clipped samples. Dampings of zero stay zero.
    sigma : float, optional
        Standard deviation of the noise, if known.
    turns : Turns

    Returns
    -------
    ClippedModes
    """
    undamped = bool(np.all(modes.dampings == 0))
    other = greedy_modes(hankel_problem(values), rank=len(modes), undamped=undamped)
    starts = [modes] if other is None else [modes, other]
    found = [_from_start(values, clipping, start, sigma, turns) for start in starts]
    return max(
        found, key=lambda one: clipping.loglikelihood(values, one.signal, max(one.sigma, 1e-300))
    )


def _from_start(
    values: NDArray, clipping: Clipping, modes: Modes, sigma: float | None, turns: Turns
) -> ClippedModes:
    """Fit modes by turns, from given ones."""
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
        before, still = filled, modes.dampings[:, 0] == 0
        fit = fit_ahead(filled, length, modes, sigma=sigma, undamped=still)
        assert fit.modes is not None  # it was started from modes
        modes, signal = fit.modes, to_numpy(fit.y)
        if sigma is None:  # as in the fit, less the parameters
            square = np.sum((filled - signal)[seen] ** 2) + np.sum(spread[at] ** 2)
            noise = float(np.sqrt(square / max(np.count_nonzero(seen) - fit.parameters, 1)))
    model = ModalModel.of(modes, (length,), real=True, undamped=modes.dampings[:, 0] == 0)
    rows = model.rows((np.arange(length), np.zeros(length, dtype=int)))[1]
    # What a clipped sample says about its mean: the second derivative of its log-likelihood.
    share = np.where(at, 1 - (spread / max(noise, 1e-300)) ** 2, 1.0)
    propagation = ErrorPropagation(np.sqrt(np.maximum(share, 0.0))[seen, None] * rows[seen])
    stderr = propagation.errors(rows, noise)
    return ClippedModes(signal, stderr, noise, modes, rows, propagation)

"""Modes fitted to one real series: derivatives, standard errors and draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from ..modal.model import ModalModel
from ..modal.modes import Modes
from ..modal.refit_result import Refit
from ..modal.standard_errors import ErrorPropagation
from .backtesting import fit_ahead


@dataclass(frozen=True, eq=False)
class FittedModes:
    """A series as a sum of modes, and perhaps of something else.

    Attributes
    ----------
    signal, stderr : ndarray
    sigma : float
        Standard deviation of the noise.
    modes : Modes
    rows : ndarray, shape (samples, parameters)
        Derivatives of the signal by all parameters.
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

    def part_errors(self, modes: Modes) -> NDArray | None:
        """Standard errors of the sum of some modes; None if one of them was not fitted."""
        model = modal_model(self.modes, len(self.signal))
        own = model.rows_of(modes)
        if own is None:
            return None
        part = np.flatnonzero(model.parameters_of(own))
        return self.propagation.only(part).errors(self.rows[:, part], self.sigma)


def modal_model(modes: Modes, length: int) -> ModalModel:
    """The parameters of modes of a real series; dampings of zero stay zero."""
    return ModalModel.of(modes, (length,), real=True, undamped=modes.dampings[:, 0] == 0)


def derivatives(modes: Modes, length: int) -> NDArray:
    """Derivatives of a sum of modes by their parameters, of shape (length, parameters)."""
    places = np.arange(length), np.zeros(length, dtype=int)
    return modal_model(modes, length).rows(places)[1]


def fit_from(values: NDArray, modes: Modes, sigma: float | None = None) -> tuple[Refit, Modes]:
    """Fit modes to a series from given ones; dampings of zero stay zero."""
    still = modes.dampings[:, 0] == 0
    fit = fit_ahead(values, len(values), modes, sigma=sigma, undamped=still)
    assert fit.modes is not None  # it was started from modes
    return fit, fit.modes

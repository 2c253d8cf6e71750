"""Standard errors: from noise in the samples to noise in what was fitted to them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from .._array import NDArray, svd


@dataclass(frozen=True)
class Determinacy:
    """When numbers count as not determined by the samples; all limits follow from rounding."""

    least: float = 1e-154  # smaller Jacobians are zero: their squares leave the range of numbers
    no_influence: float = 1e-100  # columns of the Jacobian below this share of the largest are zero
    singular: float = 1e-12  # singular values below this share of the largest are rounding errors
    undetermined: float = 1e-6  # largest share of a number that may depend on free parameters
    negligible: float = 1e-30  # influence on a value, over that on the samples, that is none


class ErrorPropagation:
    """Propagate noise in the samples to numbers that depend on fitted parameters.

    Parameters
    ----------
    jacobian : ndarray, shape (numbers, parameters)
        Real. How the samples depend on the parameters, or the triangle of its QR decomposition.
    determinacy : Determinacy
        When a parameter counts as not determined.

    Examples
    --------
    The mean of four numbers has half the error of each; their difference is not determined:

    >>> import numpy as np
    >>> from structrank.modal.standard_errors import ErrorPropagation
    >>> propagation = ErrorPropagation(np.full((4, 2), 0.5))
    >>> propagation.errors(np.array([[0.5, 0.5], [0.5, -0.5]]))
    array([0.5, inf])
    """

    def __init__(self, jacobian: NDArray, determinacy: Determinacy = Determinacy()) -> None:
        scale = np.linalg.norm(jacobian, axis=0)
        most = np.max(scale, initial=0.0)
        if most <= determinacy.least:
            jacobian, most = np.zeros_like(jacobian), 1.0
        self.scale = np.where(scale > determinacy.no_influence * most, scale, most)
        _, s, Vh = svd(np.asarray(np.linalg.qr(jacobian / self.scale, mode="r")))
        count = int(np.count_nonzero(s > determinacy.singular * np.max(s, initial=0.0)))
        self.determined, self.free = Vh[:count].T / s[:count], Vh[count:].T
        self.determinacy = determinacy

    def errors_of_values(self, rows: NDArray) -> NDArray:
        """Errors of values in the units of the samples; one that is next to zero is determined."""
        return self.errors(rows, least=self.determinacy.negligible)

    def errors(self, rows: NDArray, noise: float = 1.0, least: float = 0.0) -> NDArray:
        """Standard errors of numbers with these derivatives; inf if they are not determined.

        Less influence of free parameters than `least` counts as none.
        """
        sizes = []
        for scale in (1.0, self.scale):  # so that no quotient and no square leaves the range
            rows = rows / scale
            sizes.append(np.max(np.abs(rows), axis=1, initial=1.0))
            rows = rows / sizes[-1][:, None]
        size, freely, errors = (
            np.linalg.norm(x, axis=1) for x in (rows, rows @ self.free, rows @ self.determined)
        )
        known = freely <= np.maximum(self.determinacy.undetermined * size, least)
        with np.errstate(over="ignore"):  # an error beyond the range of numbers is infinite
            errors = noise * errors * sizes[0] * sizes[1]
        return np.where(known, errors, np.inf)

    def only(self, part: NDArray) -> ErrorPropagation:
        """The same for numbers that depend on some of the parameters alone."""
        own = copy(self)
        own.scale, own.determined, own.free = (
            x[part] for x in (self.scale, self.determined, self.free)
        )
        return own

    def draws(self, rows: NDArray, noise: NDArray) -> NDArray:
        """Joint errors of numbers with these derivatives, over their standard errors.

        Parameters
        ----------
        rows : ndarray, shape (numbers, parameters)
        noise : ndarray, shape (self.count, draws)
            White, of variance one: one number for each direction that is determined.

        Returns
        -------
        ndarray, shape (numbers, draws)
            NaN where a number is not determined, zero where it has no error.
        """
        errors = self.errors(rows)[:, None]
        moved = (rows / self.scale) @ self.determined @ noise
        return np.where(np.isinf(errors), np.nan, moved / np.where(errors > 0, errors, 1.0))

    @property
    def count(self) -> int:
        """Number of directions of the parameters that are determined."""
        return int(self.determined.shape[1])

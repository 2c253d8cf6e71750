"""What samples say of a short series, by the covariances of its values: with few calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lapack

from .._array import NDArray
from .covariances import SampleCovariances, seasonal_covariance
from .model import Components


class ConditionedSeries:
    """A series given its samples: the smoother by dense covariances.

    With the covariance K of the samples, the white noise in them has the mean v K^-1 y and the
    variances v - v^2 diag(K^-1), where v is its variance. Values that are not seen follow from
    their covariances with the samples. Samples that are held out follow from K^-1 alone: without
    the part p, their mean is y_p - (K^-1)_pp^-1 (K^-1 y)_p, and their covariance is (K^-1)_pp^-1.

    Parameters
    ----------
    components : Components
    parameters : ndarray
        In the order of `Components.names`.
    y : ndarray
        Series of mean zero and deviation one, NaN where missing.
    noise : ndarray or None
        Standard deviation of the noise of every sample, for components whose noise is measured.

    Raises
    ------
    ValueError
        If the covariances are not positive definite, by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.dense_smoothing import ConditionedSeries
    >>> from structrank.components.model import Components
    >>> walk = Components(samples=3, drifts=("level",))
    >>> given = ConditionedSeries(walk, np.log([1e-6, 1.0]), np.array([0.0, np.nan, 1.0]))
    >>> given.mean().round(3), given.variance().round(3)
    (array([0. , 0.5, 1. ]), array([0. , 0.5, 0. ]))
    """

    def __init__(
        self,
        components: Components,
        parameters: NDArray,
        y: NDArray,
        noise: NDArray | None = None,
    ) -> None:
        self._components, self._parameters, self.y = components, parameters, y
        self.seen = ~np.isnan(y)
        white = np.exp(parameters[0]) if noise is None else noise**2
        self._noise = np.broadcast_to(white, y.shape)
        whole = SampleCovariances(components, np.zeros(len(y)), noise)
        self._covariance = whole.covariance(parameters)
        self._precision = _inverse(self._covariance[np.ix_(self.seen, self.seen)])
        self._weighted = self._precision @ y[self.seen]

    def mean(self) -> NDArray:
        """Mean of the series without its white noise, at all times."""
        seen, mean = self.seen, np.empty(len(self.y))
        mean[seen] = self.y[seen] - self._noise[seen] * self._weighted
        mean[~seen] = self._covariance[np.ix_(~seen, seen)] @ self._weighted
        return mean

    def variance(self) -> NDArray:
        """Variance of the series without its white noise, at all times.

        Where nothing is seen it follows from the inverse of all covariances. A difference of
        covariances would be small beside them, and have few digits.
        """
        seen, noise, variance = self.seen, self._noise, np.empty(len(self.y))
        variance[seen] = noise[seen] - noise[seen] ** 2 * np.diag(self._precision)
        if not np.all(seen):
            missing = _inverse(_inverse(self._covariance)[np.ix_(~seen, ~seen)])
            variance[~seen] = np.diag(missing) - noise[~seen]
        return np.maximum(variance, 0.0)

    def with_noise(self, noise: float) -> tuple[NDArray, NDArray]:
        """Mean and variance at seen samples, zero elsewhere, if noise has this variance.

        The covariances of the samples stay what they are.

        Parameters
        ----------
        noise : float
        """
        mean, variance = np.zeros((2, len(self.y)))
        mean[self.seen] = self.y[self.seen] - noise * self._weighted
        variance[self.seen] = np.maximum(noise - noise**2 * np.diag(self._precision), 0.0)
        return mean, variance

    def season(self) -> NDArray:
        """Mean of the sum of all seasons, at all times."""
        covariance = seasonal_covariance(self._components, self._parameters, len(self.y))
        return np.asarray(covariance[:, self.seen] @ self._weighted)

    def held_out(self, parts: Sequence[NDArray]) -> list[tuple[NDArray, NDArray]]:
        """Mean and variance of the series without noise where parts of the samples are held out.

        Parameters
        ----------
        parts : sequence of ndarray of bool
            Samples that are held out, in turn; only such that are seen.

        Returns
        -------
        list of tuple of ndarray
            For each part, the means and variances at its samples.
        """
        found = []
        for part in parts:
            inside = part[self.seen]
            covariance = _inverse(self._precision[np.ix_(inside, inside)])
            mean = self.y[part] - covariance @ self._weighted[inside]
            found.append((mean, np.maximum(np.diag(covariance) - self._noise[part], 0.0)))
        return found


def _inverse(matrix: NDArray) -> NDArray:
    """Inverse of a positive definite matrix."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        raise ValueError("the covariances of the samples are not positive definite")
    lower = lapack.dpotri(factor, lower=1)[0]  # zero above the diagonal
    return np.asarray(lower + lower.T - np.diag(np.diag(lower)))

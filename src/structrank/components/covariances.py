"""The likelihood of a short series by the covariances of its samples: dense, and with few calls."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._array import NDArray
from .autoregression import autoregression, autoregression_slopes
from .model import Components, Season


class SampleCovariances:
    """Covariances of the samples of a series as a function of its components' parameters.

    They are a sum of fixed matrices times variances, and a Toeplitz matrix for the autoregressive
    part. For n samples, value and gradient take about n^3 operations in three calls of LAPACK: for
    short series much less time than a filter, whose time is that of its many small steps.

    Parameters
    ----------
    components : Components
    y : ndarray
        Series of mean zero and deviation one, NaN where missing.
    noise : ndarray or None
        Standard deviation of the noise of every sample, for components whose noise is measured.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.covariances import SampleCovariances
    >>> from structrank.components.model import Components
    >>> walk = Components(samples=3, drifts=("level",))
    >>> value, gradient = SampleCovariances(walk, np.array([0.0, 1.0, 1.5])).score(np.zeros(2))
    >>> round(value, 3), gradient.round(3)
    (-5.236, array([-0.506, -0.229]))
    """

    def __init__(self, components: Components, y: NDArray, noise: NDArray | None = None) -> None:
        self.components = components
        at = np.flatnonzero(~np.isnan(y))
        self.y, self.count = y[at], len(at)
        self.lags = np.abs(at[:, None] - at)
        self.longest = max(len(y), components.order + 1)
        earlier = np.minimum(at[:, None], at)
        self.fixed = _first_states(components, at, self.lags)
        if noise is not None:
            self.fixed[np.diag_indices(self.count)] += noise[at] ** 2
        parts = [] if components.measured else [np.eye(self.count)]
        parts += [_drift(components, name, earlier, self.lags) for name in components.drifts]
        self.parts = np.array(parts).reshape(len(parts), self.count**2)

    def covariance(self, parameters: NDArray) -> NDArray:
        """Covariances of the samples.

        Parameters
        ----------
        parameters : ndarray
            In the order of `Components.names`.
        """
        return self._covariance(parameters)[0]

    def score(self, parameters: NDArray) -> tuple[float, NDArray]:
        """Log-likelihood of the samples, and its gradient.

        Parameters
        ----------
        parameters : ndarray
            In the order of `Components.names`.

        Raises
        ------
        ValueError
            If the covariances are not positive definite, by rounding.
        """
        count, order = len(self.parts), self.components.order
        variances, own = np.exp(parameters[:count]), parameters[count:]
        covariance, row, by_lag = self._covariance(parameters)
        value, change = value_and_change(covariance, self.y)
        gradient = variances * (self.parts @ change.ravel())
        if order:
            sums = np.bincount(self.lags.ravel(), change.ravel(), minlength=self.longest)
            by_row, by_covariance = _through_recursion(sums, row, by_lag)
            row_slopes, _, slopes = autoregression_slopes(own)
            gradient = np.append(gradient, row_slopes @ by_row + slopes @ by_covariance)
        return value, gradient

    def _covariance(self, parameters: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Covariances of the samples; coefficients and covariances of the autoregressive part."""
        count = len(self.parts)
        variances, own = np.exp(parameters[:count]), parameters[count:]
        covariance = self.fixed + (variances @ self.parts).reshape(self.fixed.shape)
        row = by_lag = np.zeros(0)
        if self.components.order:
            row, _, covariances = autoregression(np.exp(own[0]), np.tanh(own[1:]))
            by_lag = _continued(row, covariances, self.longest)
            covariance += np.take(by_lag, self.lags)
        return covariance, row, by_lag


def seasonal_covariance(components: Components, parameters: NDArray, length: int) -> NDArray:
    """Covariances of the seasons of a series, at all of its times.

    Parameters
    ----------
    components : Components
    parameters : ndarray
        In the order of `Components.names`.
    length : int
        Number of times.
    """
    at = np.arange(length)
    earlier, lags = np.minimum(at[:, None], at), np.abs(at[:, None] - at)
    values = dict(zip(components.names, parameters, strict=True))
    found = np.zeros((length, length))
    for name, season in components.seasons.items():
        drift = np.exp(values[name]) if name in components.drifts else 0.0
        found += (components.first.season**2 + drift * earlier) * _turned(season, lags)
    return found


def value_and_change(covariance: NDArray, y: NDArray) -> tuple[float, NDArray]:
    """Log-likelihood of samples, and its derivatives by the entries of their covariances.

    Parameters
    ----------
    covariance : ndarray
        It is overwritten.
    y : ndarray

    Raises
    ------
    ValueError
        If the covariances are not positive definite, by rounding.
    """
    factor, failed = lapack.dpotrf(covariance.T, lower=1, overwrite_a=1)  # in the order of LAPACK
    if failed:
        raise ValueError("the covariances of the samples are not positive definite")
    weighted = lapack.dpotrs(factor, y, lower=1)[0]
    logdet = 2 * float(np.sum(np.log(np.diag(factor))))
    value = -0.5 * float(len(y) * np.log(2 * np.pi) + logdet + y @ weighted)
    inverse = lapack.dpotri(factor, lower=1)[0]  # zero above the diagonal
    change = np.outer(weighted, weighted)
    change -= inverse
    change -= inverse.T
    change[np.diag_indices(len(y))] += np.diag(inverse)
    change *= 0.5
    return value, change


def _first_states(components: Components, at: NDArray, lags: NDArray) -> NDArray:
    """Covariances of what follows from the first states alone."""
    first = components.first
    found = np.full(lags.shape, first.level**2)
    if components.slope:
        found += (first.slope / components.samples) ** 2 * np.outer(at, at)
    for season in components.seasons.values():
        found += first.season**2 * _turned(season, lags)
    return found


def _drift(components: Components, name: str, earlier: NDArray, lags: NDArray) -> NDArray:
    """Covariances of what follows from a drift of variance one.

    The level is the sum of as many steps as there were; the sum of its own steps, each times the
    time since, if they are those of the slope.
    """
    if name == "level":
        return earlier.astype(float)
    if name == "slope":
        squares = (earlier - 1) * earlier * (2 * earlier - 1) / 6
        return np.asarray(squares + lags * earlier * (earlier - 1) / 2)
    return np.asarray(earlier * _turned(components.seasons[name], lags))


def _turned(season: Season, lags: NDArray) -> NDArray:
    """Sum of the cosines of the harmonics of a season."""
    by_lag = np.arange(int(np.max(lags, initial=0)) + 1)[:, None]
    cosines = np.cos(2 * np.pi / season.period * by_lag * np.array(season.harmonics))
    return np.asarray(np.sum(cosines, axis=1)[lags])


def _recursion(row: NDArray, length: int) -> NDArray:
    """Bands of the equations that each covariance follows from those before, the first apart."""
    order = len(row)
    bands = np.zeros((length, order + 1)).T  # for LAPACK
    bands[0] = 1.0
    for j, coefficient in enumerate(row, start=1):
        bands[j, order - j :] = -coefficient
    return bands


def _continued(row: NDArray, covariances: NDArray, length: int) -> NDArray:
    """Covariances at all lags: each follows from those before, by the coefficients."""
    known = np.zeros((length, 1))
    known[: len(row), 0] = covariances
    return np.asarray(lapack.dtbtrs(_recursion(row, length), known, uplo="L", diag="U")[0][:, 0])


def _through_recursion(sums: NDArray, row: NDArray, by_lag: NDArray) -> tuple[NDArray, NDArray]:
    """Derivatives by the coefficients and the first covariances, from those by all of them."""
    order, length = len(row), len(by_lag)
    bands = _recursion(row, length)
    found = lapack.dtbtrs(bands, sums[:, None], uplo="L", trans="T", diag="U")[0][:, 0]
    later = found[order:]
    by_row = np.array([later @ by_lag[order - k : length - k] for k in range(1, order + 1)])
    return by_row, found[:order]

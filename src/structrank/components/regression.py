"""Regressors beside the components of a series: coefficients by generalised least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from ..io.saved_results import Saved, savable
from ..systems.chunks import Records
from ..systems.smoothing import Moments, smoothed
from ..views.summary import Summary
from .conditioning import gaussian
from .likelihood import ComponentFit
from .mixture import FittedSeries
from .search import fit_series


@dataclass(frozen=True)
class RegressionSearch:
    """How coefficients and components are found together; set by hand.

    Attributes
    ----------
    rounds : int
        Times that components are found for what the regressors leave, at most.
    settled : float
        Coefficients that change by less than this share of their standard errors have settled.
    """

    rounds: int = 3
    settled: float = 0.2


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class Regression(Summary, Saved):
    """What regressors add to a series: coefficients with standard errors.

    Attributes
    ----------
    names : tuple of str
        One name per regressor.
    coefficients : ndarray
    covariance : ndarray
        Of the coefficients.
    values : ndarray, shape (samples, regressors)
        The regressors.
    fitted : FittedSeries
        The components of what the regressors leave.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.regression import fit_regression
    >>> rng = np.random.default_rng(0)
    >>> price = rng.standard_normal(60)
    >>> sales = np.cumsum(rng.standard_normal(60)) - 3 * price
    >>> found = fit_regression(sales, price[:, None], ("price",))
    >>> bool(abs(found.coefficients[0] + 3) < 4 * found.stderr[0])
    True
    """

    names: tuple[str, ...]
    coefficients: NDArray
    covariance: NDArray
    values: NDArray
    fitted: FittedSeries

    @property
    def stderr(self) -> NDArray:
        """Standard errors of the coefficients."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def effect(self) -> NDArray:
        """What the regressors add to every sample."""
        return np.asarray(self.values @ self.coefficients)

    def directions(self, samples: NDArray, values: NDArray) -> NDArray:
        """How the estimate of a series changes with each coefficient.

        The components explain a part of the regressors; what is left changes the estimate.

        Parameters
        ----------
        samples : ndarray
            NaN where missing.
        values : ndarray, shape (samples, regressors)
        """
        seen = ~np.isnan(samples)
        columns = values - np.mean(values[seen], axis=0)
        explained = np.zeros_like(columns)
        for weight, fit in zip(self.fitted.weights, self.fitted.fits, strict=True):
            found = _moments(fit, columns, seen, self.fitted.noise)
            shown = fit.components.matrices(fit.parameters)[0][0]
            explained += weight * np.einsum("j,tjk->tk", shown, found.states[..., 0])
        return np.asarray(columns - explained)

    def errors(self, directions: NDArray) -> NDArray:
        """Standard errors of a series from those of the coefficients.

        Parameters
        ----------
        directions : ndarray, shape (samples, regressors)
            How the series changes with each coefficient.
        """
        variances = np.einsum("ti,ij,tj->t", directions, self.covariance, directions)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))

    def _rows(self) -> list[tuple[str, str]]:
        numbers = zip(self.names, self.coefficients, self.stderr, strict=True)
        return [(name, f"{value:.4g} +- {error:.2g}") for name, value, error in numbers]

    def text(self) -> str:
        """The coefficients in one line, for summaries."""
        return ", ".join(f"{name}: {value}" for name, value in self._rows())


def fit_regression(
    y: NDArray,
    values: NDArray,
    names: Sequence[str],
    *,
    periods: Sequence[float] = (),
    noise: NDArray | None = None,
    search: RegressionSearch = RegressionSearch(),
) -> Regression:
    """Fit regressors and components together, in turn, until the coefficients have settled.

    Parameters
    ----------
    y : ndarray
        One real series, NaN where missing.
    values : ndarray, shape (samples, regressors)
        Not missing, not constant, not collinear.
    names : sequence of str
    periods : sequence of float
        Known seasons, in samples.
    noise : ndarray, optional
        Standard deviation of the noise of every sample, if it is known.
    search : RegressionSearch

    Returns
    -------
    Regression
    """
    seen = ~np.isnan(y)
    sizes = np.std(values[seen], axis=0)
    columns = (values - np.mean(values[seen], axis=0)) / sizes
    steps = np.diff(columns[seen], axis=0)  # a level that drifts hides less of them
    start = np.linalg.lstsq(steps, np.diff(y[seen]), rcond=None)[0]
    for _ in range(search.rounds):
        fitted = fit_series(y - columns @ start, periods=periods, noise=noise)
        coefficients, covariance = generalised_least_squares(y, columns, fitted)
        moved = np.abs(coefficients - start) / np.sqrt(np.diag(covariance))
        start = coefficients
        if np.max(moved) < search.settled:
            break
    covariance = covariance / np.outer(sizes, sizes)
    return Regression(tuple(names), coefficients / sizes, covariance, values, fitted)


def generalised_least_squares(
    y: NDArray, columns: NDArray, fitted: FittedSeries
) -> tuple[NDArray, NDArray]:
    """Coefficients and their covariance, averaged over the fits of a series.

    The filter of a fit turns samples and regressors into innovations, which are white, so that
    plain least squares are right for them.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    columns : ndarray, shape (samples, regressors)
    fitted : FittedSeries
        Of what the regressors leave.

    Returns
    -------
    coefficients : ndarray
    covariance : ndarray
    """
    seen = ~np.isnan(y)
    both = np.column_stack([y - fitted.offset, columns]) / fitted.scale
    means, covariances = [], []
    for fit in fitted.fits:
        white = _moments(fit, both, seen, fitted.noise).innovations[seen, 0, :, 0]
        _, triangle = np.linalg.qr(white[:, 1:])
        inverse = np.linalg.inv(triangle)
        means.append(np.linalg.lstsq(white[:, 1:], white[:, 0], rcond=None)[0])
        covariances.append(inverse @ inverse.T)
    mean = fitted.weights @ np.array(means)
    apart = np.array(means) - mean
    spread = np.array(covariances) + apart[:, :, None] * apart[:, None, :]
    return np.asarray(mean), np.asarray(np.tensordot(fitted.weights, spread, 1))


def _moments(fit: ComponentFit, columns: NDArray, seen: NDArray, noise: NDArray | None) -> Moments:
    """Filter and smooth several columns that share the gaps of a series."""
    data = np.where(seen[:, None], columns, 0.0)
    model = gaussian(fit.components, fit.parameters, noise)
    return smoothed(model, Records(data[:, None, :, None], seen[:, None, None], None))

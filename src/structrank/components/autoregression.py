"""Autoregressive processes by their partial autocorrelations."""

from __future__ import annotations

import numpy as np

from .._array import NDArray


def autoregression(
    variance: complex | NDArray, partial: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Matrices of an autoregressive process, or of several, by the Levinson recursion.

    They are analytic functions of the arguments, so complex steps give exact derivatives.

    Parameters
    ----------
    variance : float, complex or ndarray, shape (...)
        Of the process.
    partial : ndarray, shape (..., order)
        Partial autocorrelations, between -1 and 1. The process is stable for all of them.

    Returns
    -------
    row, error, covariances : ndarray
        Coefficients of the past values, variance of the prediction error (of shape (...)), and
        covariances at the lags zero to order - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.autoregression import autoregression
    >>> row, error, covariances = autoregression(1.0, np.array([0.5]))
    >>> row, float(error), covariances
    (array([0.5]), 0.75, array([1.]))
    """
    error = np.asarray(variance)[..., None]
    row, covariances = partial[..., :0], error
    for k in range(partial.shape[-1]):
        reflection = partial[..., k : k + 1]
        following = np.sum(row * covariances[..., :0:-1], axis=-1, keepdims=True)
        covariances = np.concatenate([covariances, following + reflection * error], axis=-1)
        row = np.concatenate([row - reflection * row[..., ::-1], reflection], axis=-1)
        error = error * (1 - reflection**2)
    return row, np.asarray(error[..., 0]), covariances[..., :-1]


def autoregression_slopes(parameters: NDArray, step: float = 1e-20) -> tuple[NDArray, ...]:
    """Derivatives of what `autoregression` returns, by complex steps.

    Parameters
    ----------
    parameters : ndarray
        Logarithm of the variance, then inverse hyperbolic tangents of the partial autocorrelations.
    step : float
        Small enough that its square vanishes.

    Returns
    -------
    row, error, covariances : ndarray
        With one more axis before the others, for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.autoregression import autoregression_slopes
    >>> autoregression_slopes(np.array([0.0, 0.0]))[0]
    array([[0.],
           [1.]])
    """
    moved = parameters + 1j * step * np.eye(len(parameters))
    found = autoregression(np.exp(moved[:, 0]), np.tanh(moved[:, 1:]))
    return tuple(part.imag / step for part in found)


def burg(values: NDArray, most: int, largest: float = 0.9999) -> tuple[NDArray, NDArray]:
    """Partial autocorrelations by Burg's method, and the variance of the errors for each order.

    Parameters
    ----------
    values : ndarray
        Without gaps.
    most : int
        The highest order.
    largest : float
        Bound of a partial autocorrelation, for values without noise.
    """
    ahead = values - np.mean(values)
    back, partial = ahead, []
    errors = [float(np.mean(ahead**2))]
    for _ in range(most):
        ahead, back = ahead[1:], back[:-1]
        power = float(np.sum(ahead**2 + back**2))
        reflection = 2 * float(ahead @ back) / power if power > 0 else 0.0
        reflection = float(np.clip(reflection, -largest, largest))
        ahead, back = ahead - reflection * back, back - reflection * ahead
        partial.append(reflection)
        errors.append(errors[-1] * (1 - reflection**2))
    return np.array(partial), np.array(errors)

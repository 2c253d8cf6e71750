"""Modes and regressors fitted together by least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray, to_numpy
from ..components.regression import Regression
from ..modal.modes import Modes
from ..modal.refit_result import information_criterion
from ..modal.standard_errors import ErrorPropagation
from .fitted_modes import FittedModes, derivatives, fit_from, modal_model


@dataclass(frozen=True)
class JointSteps:
    """Steps of Gauss and Newton for modes and coefficients.

    Attributes
    ----------
    most : int
        Steps at most. Set by hand: starts are near the optimum.
    settled : float
        Coefficients that change by less than this share of their standard errors have settled.
    """

    most: int = 20
    settled: float = 1e-4


@dataclass(frozen=True, eq=False)
class JointFit(FittedModes):
    """A series as a sum of modes and regressors.

    Attributes
    ----------
    regression : Regression
    information : float
        Information criterion: the smaller, the better.
    """

    regression: Regression
    information: float


def fit_jointly(
    values: NDArray,
    modes: Modes,
    regression: Regression,
    sigma: float | None = None,
    steps: JointSteps = JointSteps(),
) -> JointFit:
    """Fit modes and regressors to a series together, from where each of them is.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    modes : Modes
        Dampings of zero stay zero.
    regression : Regression
        Coefficients to start from.
    sigma : float, optional
        Standard deviation of the noise, if known.
    steps : JointSteps

    Returns
    -------
    JointFit
    """
    X, beta, seen = regression.values, regression.coefficients, ~np.isnan(values)
    k = len(beta)
    for _ in range(steps.most):
        modes, signal, rows = _refitted(values - X @ beta, modes)
        rows, signal = np.concatenate([rows, X], axis=1), signal + X @ beta
        rest = (values - signal)[seen]
        propagation = ErrorPropagation(rows[seen])
        freedom = max(np.count_nonzero(seen) - rows.shape[1], 1)
        noise = float(np.sqrt(rest @ rest / freedom)) if sigma is None else sigma
        own = np.eye(rows.shape[1])[-k:] / propagation.scale @ propagation.determined
        covariance = noise**2 * own @ own.T
        step = np.linalg.lstsq(rows[seen], rest, rcond=None)[0][-k:]
        if np.all(np.abs(step) <= steps.settled * np.sqrt(np.diag(covariance))):
            break
        beta = beta + step
    found = replace(regression, coefficients=beta, covariance=covariance)
    stderr = propagation.errors(rows, noise)
    information = information_criterion(
        float(rest @ rest),
        float(values[seen] @ values[seen]),
        numbers=len(rest),
        parameters=rows.shape[1],
        rank=len(modes),
    )
    return JointFit(signal, stderr, noise, modes, rows, propagation, found, information)


def _refitted(values: NDArray, modes: Modes) -> tuple[Modes, NDArray, NDArray]:
    """Modes fitted from given ones, their sum, and its derivatives by their parameters."""
    length = len(values)
    if len(modes) == 0:
        return modes, np.zeros(length), np.zeros((length, 0))
    fit, modes = fit_from(values, modes)
    return modes, to_numpy(fit.y), derivatives(modes, length)


def without_idle_modes(values: NDArray, joint: JointFit, sigma: float | None = None) -> JointFit:
    """Leave out modes that only made up for a first error of the coefficients.

    Parameters
    ----------
    values : ndarray
        One real series, NaN where missing.
    joint : JointFit
    sigma : float, optional
        Standard deviation of the noise, if known.

    Returns
    -------
    JointFit
        With as many modes as the information criterion asks for.
    """
    while len(joint.modes):
        model = modal_model(joint.modes, len(values))
        rows = np.arange(len(model.paired))
        fits = [
            fit_jointly(values, model.only(rows[rows != k]).to_modes(), joint.regression, sigma)
            for k in rows
        ]
        best = min(fits, key=lambda fit: fit.information)
        if best.information >= joint.information:
            break
        joint = best
    return joint

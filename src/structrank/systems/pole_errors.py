"""Uncertainty of poles: the information of a likelihood or of least squares, the delta method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from .integrators import own_part
from .maximum_likelihood import MaximumLikelihood
from .output_error import OutputError
from .simulation import covariance_root


@dataclass(frozen=True)
class InformationRules:
    """Steps and tolerances of second derivatives.

    Attributes
    ----------
    step : float
        Step of the differences of gradients, in approximate standard deviations. Set by hand: the
        third derivative changes a second one by about a thousandth.
    least : float
        Second derivatives, in units of the approximate ones, are at least this. Set by hand: a
        direction that the samples hardly determine gets a large variance, not a negative one.
    rank : float
        Singular values below this share of the largest count as zero. Rounding.
    square : float
        Eigenvalues of products `J^T J` below this share of the largest count as zero. Rounding.
    """

    step: float = 1e-3
    least: float = 1e-4
    rank: float = 1e-10
    square: float = 1e-12


def pole_covariances(
    fit: MaximumLikelihood | OutputError,
    theta: NDArray,
    rules: InformationRules = InformationRules(),
) -> tuple[NDArray, NDArray]:
    """Poles, and the covariance of the logarithm of each.

    For maximum likelihood, the observed information is the matrix of second derivatives at the
    maximum, from differences of the exact gradient. For least squares, the covariance of the
    parameters is that of linear regression on the derivatives of the outputs, with white noise of
    the variances that the outputs show. A change of the basis of the states changes no outputs, so
    these directions are left out: the poles do not depend on them.

    Parameters
    ----------
    fit : MaximumLikelihood or OutputError
    theta : ndarray
        Parameters of its optimum.
    rules : InformationRules

    Returns
    -------
    poles : ndarray, shape (n,)
        In the order of `numpy.linalg.eig`.
    covariances : ndarray, shape (n, 2, 2)
        Of the real and the imaginary part of `log(pole)`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> from structrank.systems.maximum_likelihood import MaximumLikelihood
    >>> from structrank.systems.pole_errors import pole_covariances
    >>> truth = StateSpace([[0.8]], None, [[1.0]], None, K=[[0.5]], innovation_covariance=[[1.0]])
    >>> y = truth.simulate(steps=5000)
    >>> fit = MaximumLikelihood([np.zeros((5000, 0))], [y], order=1, stationary=True)
    >>> poles, covariances = pole_covariances(fit, fit.maximize(fit.parameters(truth)))
    >>> poles.round(1), np.sqrt(covariances[:, 0, 0]).round(2)
    (array([0.8]), array([0.02]))
    """
    k = fit.integrators
    if isinstance(fit, OutputError):
        A, changes = fit.split(theta)[0], _regression(fit, theta, rules)
    else:
        A, changes = fit.split(theta)["A"], _likely_changes(fit, theta, rules)
    own = own_part(A, k)
    poles, V = np.linalg.eig(own)
    changes = changes[:, : len(own), : len(own)]
    spread = np.einsum("in,knm,mi->ik", np.linalg.inv(V), changes, V) / poles[:, None]
    parts = np.stack([spread.real, spread.imag], axis=1)
    covariances = parts @ parts.transpose(0, 2, 1)
    if not k:
        return poles, covariances
    ordered = np.linalg.eig(A)[0]
    nearest = np.argmin(np.abs(ordered[:, None] - np.append(poles, np.ones(k))), axis=1)
    return ordered, np.concatenate([covariances, np.zeros((k, 2, 2))])[nearest]


def _likely_changes(fit: MaximumLikelihood, theta: NDArray, rules: InformationRules) -> NDArray:
    """Changes of A (k, n, n) for independent errors of variance one, by the likelihood."""
    directions = _identified(fit, theta, rules)
    slope = fit.value_and_gradient(theta)[1]
    slopes = [_slope_change(fit, theta, slope, rules.step * d) for d in directions]
    information = np.array(slopes) @ directions.T / rules.step
    values, vectors = np.linalg.eigh((information + information.T) / 2)
    root = vectors / np.sqrt(np.maximum(values, rules.least))  # root root^T is the covariance
    return np.array([fit.split(d)["A"] for d in root.T @ directions])


def _regression(problem: OutputError, theta: NDArray, rules: InformationRules) -> NDArray:
    """The same by least squares, where the outputs may have different variances."""
    J, residual = problem.jacobian(theta) * problem.free, problem.residual(theta)
    scale = np.linalg.norm(J, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    J = J / scale
    values, vectors = np.linalg.eigh(J.T @ J)
    used = values > rules.square * values[-1]
    V = vectors[:, used] / np.sqrt(values[used])  # J V has orthonormal columns
    output = np.nonzero(problem.seen)[1]
    squares = residual[: len(output)] ** 2
    left = max(1 - np.count_nonzero(used) / len(residual), 1 / len(residual))
    counts = np.maximum(np.bincount(output), 1)
    variances = np.bincount(output, weights=squares) / (counts * left)
    guessed = np.full(len(residual) - len(output), np.mean(squares))
    noise = np.concatenate([variances[output], guessed])
    Q = J @ V
    root = V @ covariance_root(Q.T @ (noise[:, None] * Q)) / scale[:, None]
    return np.array([problem.split(change)[0] for change in root.T])


def _slope_change(fit: MaximumLikelihood, theta: NDArray, slope: NDArray, step: NDArray) -> NDArray:
    """Change of the gradient along a step; backwards if the step leaves the stable systems."""
    value, there = fit.value_and_gradient(theta + step)
    if np.isfinite(value):
        return there - slope
    return slope - fit.value_and_gradient(theta - step)[1]


def _identified(fit: MaximumLikelihood, theta: NDArray, rules: InformationRules) -> NDArray:
    """Directions that change the likelihood, one per row, of about one standard deviation each."""
    free = fit.free
    without_effect = _changes_of_basis(fit, theta)
    # Only those count that leave the fixed parameters as they are.
    U, s, _ = np.linalg.svd(without_effect[:, ~free])
    kept = U[:, np.count_nonzero(s > rules.rank * np.max(np.abs(without_effect))) :]
    _, s, Vh = np.linalg.svd(kept.T @ without_effect[:, free])
    basis = Vh[np.count_nonzero(s > rules.rank * s[0]) :].T
    metric = fit.metric(theta)[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(basis.T @ metric @ basis)
    values = np.maximum(values, rules.rank * values[-1])
    directions = np.zeros((len(values), theta.size))
    directions[:, free] = (basis @ vectors / np.sqrt(values)).T
    return directions


def _changes_of_basis(fit: MaximumLikelihood, theta: NDArray) -> NDArray:
    """Directions without effect: `x -> (I + h E) x`, for all E with one entry, and shifts of x."""
    parts, n = fit.split(theta), fit.order
    rows = []
    for one in (1.0, 1j) if fit.dtype.kind == "c" else (1.0,):
        for entry in np.eye(n * n, dtype=fit.dtype):
            E = one * entry.reshape(n, n)
            change = {k: np.zeros(shape, dtype=fit.dtype) for k, shape in fit.shapes.items()}
            A, B, C, K = (parts[name] for name in "ABCK")
            starts = parts["x0"] @ E.T
            change.update(A=E @ A - A @ E, B=E @ B, C=-C @ E, K=E @ K, x0=starts)
            rows.append(fit.joined(change))
    constant = all(u.shape[1] and np.all(u[:, -1] == 1) for u in fit.inputs)
    # A constant input makes up for all shifts, an offset for the start of the last integrator.
    for e in np.eye(n)[0 if constant else n - 1 if fit.integrators else n :]:
        change = {k: np.zeros(shape, dtype=fit.dtype) for k, shape in fit.shapes.items()}
        change["x0"][:] = e
        if constant:
            change["B"][:, -1], change["D"][:, -1] = e - parts["A"] @ e, -parts["C"] @ e
        else:
            change["output_offset"] = -parts["C"] @ e
        rows.append(fit.joined(change))
    return np.array(rows)

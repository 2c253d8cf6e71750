"""Expected second derivatives of the likelihood of a system in innovation form.

Gaps are taken to be filled by their means given the samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray
from .prediction_errors import error_slopes
from .recursion import adjoint, spectral_radius_of

if TYPE_CHECKING:
    from .maximum_likelihood import MaximumLikelihood


def expected_information(fit: MaximumLikelihood, theta: NDArray) -> NDArray:
    """Second derivatives of the negative log-likelihood with respect to all parameters."""
    parts = fit.split(theta)
    G = fit.covariance(parts)
    A, K = parts["A"], parts["K"]
    if not spectral_radius_of(A - K @ parts["C"]) < 1:
        K = np.zeros_like(K)
    whiten = np.linalg.inv(np.linalg.cholesky(G))
    total: Any = 0.0
    sizes = np.zeros(len(G))
    for i, (u, y) in enumerate(fit.filled(theta)):
        start = np.zeros(fit.order) if fit.stationary else parts["x0"][i]
        errors, J = error_slopes({**parts, "K": K, "x0": start}, u, y)
        sizes = sizes + np.sum(np.abs(errors @ whiten.T) ** 2, axis=0)
        J = np.where(np.isnan(fit.outputs[i])[..., None], 0.0, J)
        J = (whiten @ J).reshape(-1, J.shape[-1])
        total = total + _expanded(fit, adjoint(J) @ J, i)
    return np.asarray(total + np.diag(_root_information(fit, G, sizes)))


def _expanded(fit: MaximumLikelihood, hessian: NDArray, record: int) -> NDArray:
    """Second derivatives for all parameters, from those of one record without the root."""
    starts = np.zeros(fit.shapes["x0"], dtype=bool)
    starts[record : record + 1] = True
    parts = {k: np.ones(shape, dtype=bool) for k, shape in fit.shapes.items()}
    parts.update(x0=starts, root=np.zeros(fit.shapes["root"], dtype=bool))
    into = np.concatenate([parts[name].reshape(-1) for name in fit.shapes])
    used = hessian[: np.count_nonzero(into), : np.count_nonzero(into)]
    whole = np.zeros((into.size, into.size), dtype=fit.dtype)
    whole[np.ix_(into, into)] = used
    if fit.dtype.kind == "f":
        return whole
    pairs = np.array([[whole.real, -whole.imag], [whole.imag, whole.real]])
    return pairs.transpose(2, 0, 3, 1).reshape(2 * into.size, 2 * into.size)


def _root_information(fit: MaximumLikelihood, G: NDArray, sizes: NDArray) -> NDArray:
    """Rough second derivatives for the root of G, from sums of squared errors over G."""
    p = len(G)
    parts: dict[str, NDArray] = {k: np.zeros(s) for k, s in fit.shapes.items()}
    counts = np.maximum(sizes, fit.seen_count / p)
    entries = np.tile((counts / np.diag(G).real)[:, None], (1, p))
    np.fill_diagonal(entries, 2 * counts)
    parts["root"] = entries + (1j * entries if fit.dtype.kind == "c" else 0)
    return fit.joined(parts)

"""Polishing: from a nearly structured matrix to a signal whose matrix has low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array, add_rotated, array_namespace, gram, inner, like, rotate, svd, to_numpy
from ..model.lowrank import LowRank
from ..structures import Structure


@dataclass(frozen=True)
class Polishing:
    """Accuracy of the polishing; the values were chosen on `benchmarks.certified`."""

    newton_steps: int = 2  # number of Newton steps
    cg_steps: int = 4  # largest number of conjugate gradient steps per Newton step
    cg_tolerance: float = 1e-2  # fraction of the residual at which conjugate gradients stop
    clear: float = 0.5  # smallest singular value of X to keep, over X's distance to the structure


def polished(
    structure: Structure, y: Array, V: Array, polishing: Polishing = Polishing()
) -> tuple[Array, LowRank]:
    """Find a signal near `y` whose matrix has approximately rank r, and return that matrix too.

    This is Newton's method for `(I - P_U) Q(y) (I - P_V) = 0`, where P_U and P_V project onto the
    leading r singular vectors of the current Q(y). Each step solves a least squares problem for the
    change of y. Its normal equations are `Q^* P Q z = Q^* P Q(y)`, where P projects onto the
    matrices orthogonal to both the columns U and the rows V. Scaled by the multiplicities, they
    are well conditioned on their range.

    Parameters
    ----------
    structure : Structure
    y : array, shape `structure.signal_shape`
    V : array, shape (N, r)
        Columns whose span approximates that of the leading rows of `Q(y)`.
    polishing : Polishing
        Accuracy.

    Returns
    -------
    y : array
    X : LowRank
        The part of `Q(y)` in the span of its leading singular vectors.

    Examples
    --------
    A geometric sequence with an error at one place:

    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.solvers.polish import polished
    >>> S, y = Hankel(9, window=5), 0.5 ** np.arange(9.0)
    >>> y[4] += 0.01
    >>> z, X = polished(S, y, 0.5 ** np.arange(5.0)[:, None])
    >>> values = np.linalg.svd(S.to_dense(z), compute_uv=False)
    >>> bool(values[1] < 1e-6)
    True
    """
    U, s, V = _leading(structure, y, V)
    for _ in range(polishing.newton_steps):
        y = y - _outside(structure, y, U, V, polishing)
        U, s, V = _leading(structure, y, V)
    roots = np.diag(np.sqrt(s))
    return y, LowRank(rotate(U, roots), rotate(V, roots))


def _leading(structure: Structure, y: Array, V: Array) -> tuple[Array, np.ndarray, Array]:
    """Compute leading singular vectors and values of `Q(y)` by one step of subspace iteration."""
    linalg = array_namespace(y).linalg
    U, _ = linalg.qr(structure.matmul(y, V))
    V, R = linalg.qr(structure.rmatmul(y, U))
    left, s, right = svd(to_numpy(R).conj().T)
    return rotate(U, left), s, rotate(V, right.conj().T)


def _outside(structure: Structure, y: Array, U: Array, V: Array, polishing: Polishing) -> Array:
    """Solve `Q^* P Q z = Q^* P Q(y)` by conjugate gradients."""
    S, weights = structure, like(structure.multiplicity.astype(float), y, real=True)
    left, right = S.transform_left(U), S.transform_right(V)

    def without_tangent(total: Array, image_V: Array, image_U: Array) -> Array:
        """Compute `Q^* P Z` from `Q^* Z`, `Z V` and `Z^H U`."""
        rest = add_rotated(image_V, U, -gram(U, image_V))
        return total - S.adjoint_transformed(
            (S.transform_left(rest), right), (left, S.transform_right(image_U))
        )

    def normal(z: Array) -> Array:
        signal = S.transform_signal(z)
        return without_tangent(
            weights * z, S.matmul_transformed(signal, right), S.rmatmul_transformed(signal, left)
        )

    total = weights * y
    if S.offset is not None:
        total = total + S.adjoint_dense(like(S.offset, y))
    residual = without_tangent(total, S.matmul(y, V), S.rmatmul(y, U))
    z, direction = 0.0 * y, residual / weights
    square = first = inner(residual, direction)
    for _ in range(polishing.cg_steps):
        image = normal(direction)
        curvature = inner(direction, image)
        if curvature <= 0:
            break
        z = z + (square / curvature) * direction
        residual = residual - (square / curvature) * image
        scaled = residual / weights
        previous, square = square, inner(residual, scaled)
        if square <= polishing.cg_tolerance**2 * first:
            break
        direction = scaled + (square / previous) * direction
    return z

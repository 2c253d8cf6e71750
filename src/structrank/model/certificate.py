"""Bounds on how far an iterate can be from the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import (
    Array,
    array_namespace,
    epsilon,
    inner,
    is_complex,
    like,
    singular_values,
    to_numpy,
)
from ..structures import Structure
from .linalg import Rounding


@dataclass(frozen=True)
class DenseLimit:
    """Which matrices are small enough to be formed and decomposed."""

    max_entries: int = 100_000  # decomposing larger matrices takes longer than bounding them

    def allows(self, structure: Structure) -> bool:
        """Whether the matrix of a structure is small enough."""
        return structure.shape[0] * structure.shape[1] <= self.max_entries


def penalized_gap(
    *, smooth: float, nuclear_norm: float, slope: float, top_value: float, mu: float
) -> float:
    """Bound `phi(X) - phi*` from above for the penalised problem (reform2).

    It uses a lower bound on the optimum. With `d` the right-hand side of the least-squares problem
    f and `rho` its residual, `s rho` is feasible for the dual `max <d, nu> - 1/2 ||nu||^2` subject
    to `||K^* nu||_2 <= mu` for `0 <= s <= mu / top_value`. The best s is never worse than
    `convexity_bound`.

    Parameters
    ----------
    smooth : float
        `f(X)`.
    nuclear_norm : float
        `||X||_*`.
    slope : float
        `<grad f(X), X>`.
    top_value : float
        Top singular value of `grad f(X)`, or an upper bound of that value.
    mu : float

    Returns
    -------
    float

    Examples
    --------
    The minimum of `1/2 (x - 3)^2 + |x|` is at x = 2, where the gap is zero:

    >>> from structrank.model.certificate import penalized_gap
    >>> penalized_gap(smooth=0.5, nuclear_norm=2.0, slope=-2.0, top_value=1.0, mu=1.0)
    0.0
    """
    lower = dual_bound(
        alignment=2 * smooth - slope, norm_squared=2 * smooth, top_value=top_value, mu=mu
    )
    return max(smooth + mu * nuclear_norm - max(lower, 0.0), 0.0)


def convexity_bound(*, smooth: float, slope: float, top_value: float, mu: float) -> float:
    """Bound the optimum of `f(X) + mu ||X||_*` from below, for any convex f of at least zero.

    By duality, `phi* >= -f^*(s grad f)` for the conjugate f^* and `s = min(1, mu / top_value)`.
    Here `f^*(grad f) = <grad f, X> - f(X)`, and f^* is convex with `f^*(0) <= 0`, so that
    `phi* >= s (f(X) - <grad f, X>)`.

    Parameters
    ----------
    smooth, slope, top_value, mu : float
        As for `penalized_gap`.

    Returns
    -------
    float

    Examples
    --------
    The minimum of `log(1 + exp(-x)) + |x| / 4` is 0.5623, at x = log 3:

    >>> from structrank.model.certificate import convexity_bound
    >>> numbers = {"smooth": np.log(4 / 3), "slope": -np.log(3) / 4}
    >>> round(float(convexity_bound(**numbers, top_value=0.25, mu=0.25)), 4)
    0.5623
    """
    return (smooth - slope) * (mu / top_value if top_value > mu else 1.0)


def dual_bound(*, alignment: float, norm_squared: float, top_value: float, mu: float) -> float:
    """Bound the optimum from below by a dual pair that is feasible after scaling.

    The dual of the original problem (relax) is `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>`
    subject to `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`; Q0 is the structure's offset.
    A pair that satisfies the equation also satisfies the inequality after scaling by at most
    `mu / ||Lambda||_2`. The best such scale is known in closed form.

    Parameters
    ----------
    alignment : float
        `<b, gamma> + <Lambda, Q0>`.
    norm_squared : float
        `||gamma||^2`.
    top_value : float
        `||Lambda||_2`, or an upper bound of that norm.
    mu : float

    Returns
    -------
    float

    Examples
    --------
    The dual of `1/2 (x - 3)^2 + |x|` is `max 3 g - g^2 / 2` subject to `|g| <= 1`:

    >>> from structrank.model.certificate import dual_bound
    >>> dual_bound(alignment=3 * 2.0, norm_squared=2.0**2, top_value=2.0, mu=1.0)
    2.5
    """
    scale = max(alignment / norm_squared, 0.0) if norm_squared > 0 else 1.0
    scale = min(scale, mu / top_value) if top_value > 0 else scale
    return scale * alignment - scale**2 / 2 * norm_squared


def nuclear_norm_bound(
    structure: Structure,
    y: Array,
    guess: Array,
    *,
    limit: DenseLimit = DenseLimit(),
    rounding: Rounding = Rounding(),
) -> float:
    """Bound `||Q(y)||_*` from above, without forming the matrix if it is large.

    For any orthonormal columns W the norm is at most `||W^H Q||_* + sqrt(n) ||Q - W W^H Q||_F`,
    where n is the largest rank of the second matrix, `min(M - r, N)`. Here W spans
    `Q(y) @ guess`. Small matrices are decomposed, which gives the norm itself.

    Parameters
    ----------
    structure : Structure
    y : array
    guess : array, shape (N, r)
        Columns whose span approximates that of the rows of `Q(y)`.
    limit : DenseLimit
        Which matrices are decomposed.
    rounding : Rounding
        Allowance for rounding errors.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.model.certificate import nuclear_norm_bound
    >>> round(nuclear_norm_bound(Hankel(3, window=2), np.ones(3), np.ones((2, 1))), 6)
    2.0
    """
    M, N = structure.shape
    if limit.allows(structure):
        dense = to_numpy(structure.to_dense(y))
        if structure.symmetric and not is_complex(y):
            return float(np.sum(np.abs(np.linalg.eigvalsh(dense))))
        return float(np.sum(singular_values(dense)))
    linalg = array_namespace(y).linalg
    W, _ = linalg.qr(structure.matmul(y, guess))
    R = linalg.qr(structure.rmatmul(y, W))[1]
    inside = singular_values(to_numpy(R).astype(complex))
    total = inner(y, like(structure.multiplicity.astype(float), y, real=True) * y)
    if structure.offset is not None:
        offset = like(structure.offset, y)
        total += inner(offset, offset) + 2 * inner(structure.adjoint_dense(offset), y)
    rest = max(total - float(np.sum(inside**2)), 0.0)
    rest += rounding.sums * epsilon(y) * total
    return float(np.sum(inside) + np.sqrt(min(M - W.shape[1], N) * rest))

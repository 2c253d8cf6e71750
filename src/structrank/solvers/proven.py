"""Top singular pairs of a gradient, with an upper bound that is as good as proven."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

from .._array import Array, NDArray, array_namespace, conj, epsilon, gram, like, to_numpy
from ..model.certificate import DenseLimit
from ..model.gradient import Gradient
from ..model.linalg import Rounding, SingularPairs, top_singular_pairs
from ..model.lowrank import LowRank


@dataclass(frozen=True)
class Proof:
    """What the bounds of a run promise, and how much work they may take."""

    failure: float = 1e-10  # probability that one bound of a top singular value is too low
    lanczos_steps: int = 300  # largest number of Lanczos steps for one bound
    rounding: Rounding = field(default_factory=Rounding)
    dense: DenseLimit = field(default_factory=DenseLimit)  # smaller matrices may be formed


def proven_top(
    gradient: Gradient, start: Array, count: int, tolerance: float, proof: Proof = Proof()
) -> SingularPairs:
    """Compute top singular pairs of `-grad f(X)`, with a proven upper bound of the first value.

    Equal singular values can end the Lanczos method before its bound is tight. In this case the
    matrix is formed, if it is small.

    Parameters
    ----------
    gradient : Gradient
    start : array
        A standard Gaussian vector, plus any vector that does not depend on it.
    count : int
        Number of pairs wanted.
    tolerance : float
        Relative accuracy of the bound that is aimed at.
    proof : Proof
    """
    top = gradient.top(
        count,
        start,
        tolerance=np.inf,
        max_steps=proof.lanczos_steps,
        failure=proof.failure,
        bound_tolerance=tolerance,
    )
    if top.upper > (1 + tolerance) * top.values[0] and proof.dense.allows(gradient.structure):
        top = top._replace(upper=min(top.upper, _dense_norm(gradient, start, proof)))
    return top


def proven_norm(
    gradient: Gradient,
    X: LowRank,
    start: Array,
    *,
    mu: float,
    tolerance: float,
    enough: float | None = None,
    proof: Proof = Proof(),
) -> float:
    """Bound the norm of the gradient near a solution, where it has many singular values near mu.

    They slow the Lanczos method down, but their singular vectors are about those of X. In
    bases of its columns and rows, and of what is orthogonal to them, the
    gradient has four blocks. The norm of the matrix of their norms is a bound. Three of them are
    thin; only the last one, which has no such cluster, takes a Lanczos run. A small matrix is
    formed instead.

    Parameters
    ----------
    gradient : Gradient
    X : LowRank
        Balanced: its factors have orthogonal columns.
    start : array
        A standard Gaussian vector, plus any vector that does not depend on it.
    mu : float
        A last block below this needs no better bound.
    tolerance : float
        Relative accuracy of the bound that is aimed at.
    enough : float, optional
        A bound up to this is good enough. If the thin blocks alone exceed it, the bound is
        infinite.
    proof : Proof
    """
    if proof.dense.allows(gradient.structure):
        return _dense_norm(gradient, start, proof)
    if X.rank == 0:
        return proven_top(gradient, start, 1, tolerance, proof).upper
    factors = X.U, X.V
    lengths = [np.sqrt(np.diag(gram(F, F)).real) for F in factors]  # of the columns
    scales = [like(length[:, None] ** -2, start) for length in lengths]

    def outside(side: int, x: Array) -> Array:
        xp = array_namespace(x)
        inside = conj(xp.matmul(factors[side].T, conj(x)))
        return x - xp.matmul(factors[side], inside * scales[side])

    image = gradient.matmul(X.V)
    corner = np.linalg.norm(gram(X.U, image) / np.outer(*lengths), 2)
    below = _norm(outside(0, image), lengths[1])
    del image  # its memory is needed
    beside = _norm(outside(1, gradient.rmatmul(X.U)), lengths[0])
    norms = np.array([[corner, beside], [below, 0.0]])
    safety = 1 + proof.rounding.norms * epsilon(start)
    room = mu if enough is None else _room(norms, enough / safety)
    if room <= 0:
        return np.inf
    far = gradient.outside()
    rest = top_singular_pairs(  # from a start orthogonal to X.V, all its vectors stay orthogonal
        lambda v: outside(0, far.matmul(v[:, None]))[:, 0],
        lambda u: outside(1, far.rmatmul(u[:, None]))[:, 0],
        outside(1, start[:, None])[:, 0],
        tolerance=np.inf,
        max_steps=proof.lanczos_steps,
        failure=proof.failure,
        bound_tolerance=tolerance,
        low_enough=room,
        too_large=np.inf if enough is None else room,
    )
    norms[1, 1] = rest.upper
    return float(np.linalg.norm(norms, 2)) * safety


def _norm(block: Array, lengths: NDArray) -> float:
    """The norm of a thin matrix whose columns are divided by lengths."""
    squares = gram(block, block) / np.outer(lengths, lengths)
    root: float = float(np.linalg.norm(squares, 2)) ** 0.5
    return root


def _room(norms: NDArray, limit: float) -> float:
    """How large the last entry of a 2 x 2 matrix may be for a norm of at most `limit`, or 0."""

    def excess(share: float) -> float:  # brentq is exact to 2e-12, so the unit is the limit
        return float(np.linalg.norm([norms[0], [norms[1, 0], share * limit]], 2)) - limit

    if excess(1.0) <= 0:  # nothing is beside the last entry, up to rounding
        return limit
    return limit * float(brentq(excess, 0.0, 1.0)) if excess(0.0) < 0 else 0.0


def _dense_norm(gradient: Gradient, reference: Array, proof: Proof) -> float:
    """The norm of a small gradient, from its matrix."""
    unit = like(np.eye(gradient.structure.shape[1]), reference)
    norm = float(np.linalg.norm(to_numpy(gradient.matmul(unit)), 2))
    return norm * (1 + proof.rounding.norms * epsilon(reference))

"""Local search on psi(U, V): L-BFGS with the exact minimiser along every line."""

from __future__ import annotations

from typing import NamedTuple

from .._array import add_scaled, inner, inverse, rotate
from ..model import quartic
from ..model.lowrank import LowRank
from ..model.objective import Penalized, Point
from ..model.penalties import Factors


class Update(NamedTuple):
    """One step `s = length * direction`, and how the gradient changed."""

    direction: Factors
    length: float
    change: Factors
    product: float  # <s, change>


def local_search(objective: Penalized, X: LowRank, *, max_steps: int, tolerance: float) -> Point:
    """Lower `psi(U, V)` from given factors, line 6 of Algorithm 1; psi never rises.

    The search direction is that of L-BFGS with one update. It starts from the inverse of the
    curvature, `lam V^H V + mu` in the directions of U and `lam U^H U + mu` in those of V, so that
    the spread of the singular values does not matter. The step is the exact minimiser of a quartic
    polynomial, so there are no trial steps. Longer memories did not save time.

    Parameters
    ----------
    objective : Penalized
    X : LowRank
        Where to start.
    max_steps : int
        Largest number of steps.
    tolerance : float
        Stop when a step lowers psi by at most this fraction of psi.

    Returns
    -------
    Point
    """
    point = objective.at(X.copy())
    update: Update | None = None
    gradient = objective.factor_gradient(point)
    for _ in range(max_steps):
        direction = _ascent(gradient, update, objective, point)
        line = objective.line(point, *direction)
        length = quartic.minimizer(line.psi)
        if length == 0.0:
            break
        point = line.move(length)
        # In single precision, rounding can make psi negative.
        if line.decrease(length) <= tolerance * abs(objective.psi(point)):
            break
        # The new gradient is orthogonal to the direction, because the step was exact.
        product = -length * _inner(gradient, direction)
        previous, gradient = gradient, objective.factor_gradient(point)
        # Both parts of the update have their signs flipped, which saves a copy.
        change = _added(previous, -1.0, gradient)
        # Forget the update if the curvature along the step is not positive.
        update = Update(direction, -length, change, product) if product > 0 else None
    return point


def search_in_pieces(
    objective: Penalized, X: LowRank, *, max_steps: int, piece: int, tolerance: float
) -> LowRank:
    """Lower psi by local searches; if there are several, the objective is made tight before each.

    Parameters
    ----------
    objective : Penalized
        Its `tight` gives the quadratic upper bound that a search lowers.
    X : LowRank
        Where to start.
    max_steps : int
        Largest number of steps.
    piece : int
        Largest number of steps per search.
    tolerance : float
        Stop when the steps of a search lower psi by at most this fraction of psi, on average.

    Returns
    -------
    LowRank
    """
    if piece >= max_steps:
        return local_search(objective, X, max_steps=max_steps, tolerance=tolerance).X
    for _ in range(0, max_steps, piece):
        objective, point = objective.tight(X)
        before = objective.psi(point)
        point = local_search(objective, X, max_steps=piece, tolerance=tolerance)
        X, after = point.X, objective.psi(point)
        if before - after <= piece * tolerance * after:
            break
    return X


def _ascent(
    gradient: Factors, update: Update | None, objective: Penalized, point: Point
) -> Factors:
    """Multiply the gradient by the inverse Hessian of L-BFGS.

    With one update, the first loop of the recursion does nothing: after an exact step the gradient
    has no component along the step.
    """
    curvatures = objective.factor_curvature(point)
    z: Factors = tuple(rotate(g, inverse(H)) for g, H in zip(gradient, curvatures, strict=True))
    if update is None:
        return z
    share = -_inner(update.change, z) / update.product
    return _added(z, share * update.length, update.direction)


def _inner(a: Factors, b: Factors) -> float:
    return sum(inner(x, y) for x, y in zip(a, b, strict=True))


def _added(a: Factors, scale: float, b: Factors) -> Factors:
    return tuple(add_scaled(x, scale, y) for x, y in zip(a, b, strict=True))

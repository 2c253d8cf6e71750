"""Descent on psi(U, V): L-BFGS with the exact minimiser along every line."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from .._array import add_scaled, inner, rotate
from ..model import quartic
from ..model.lowrank import LowRank
from ..model.objective import Penalized, Point
from ..model.penalties import Factors


class Update(NamedTuple):
    """One step `s = length * direction` and the change of the gradient it made."""

    direction: Factors
    length: float
    change: Factors
    product: float  # <s, change>


def local_search(
    objective: Penalized,
    X: LowRank,
    *,
    max_steps: int,
    tolerance: float,
    memory: int = 1,
) -> Point:
    """Line 6 of Algorithm 1: lower `psi(U, V)` from given factors; it never rises.

    The search direction is that of L-BFGS, started from the inverse of the curvature
    `lam V^H V + mu` in the directions of U and `lam U^H U + mu` in those of V, which makes
    it blind to the spread of the singular values. The step is the exact
    minimiser of a quartic polynomial, so there are no trial steps.

    Parameters
    ----------
    objective : Penalized
    X : LowRank
        Where to start.
    max_steps : int
        Largest number of steps.
    tolerance : float
        Stop once a step lowers psi by at most this share of it.
    memory : int
        Number of updates L-BFGS keeps, at least one. With exact steps and a good initial
        matrix, longer memories were not seen to save time.

    Returns
    -------
    Point
    """
    point = objective.at(X.copy())
    updates: deque[Update] = deque(maxlen=memory)
    gradient = objective.factor_gradient(point)
    for _ in range(max_steps):
        direction = _ascent(gradient, updates, objective, point)
        line = objective.line(point, *direction)
        length = quartic.minimizer(line.psi)
        if length == 0.0:
            break
        point = line.move(length)
        # In single precision rounding can make psi negative.
        if line.decrease(length) <= tolerance * abs(objective.psi(point)):
            break
        # The new gradient is orthogonal to the direction, as the step was exact.
        product = -length * _inner(gradient, direction)
        previous, gradient = gradient, objective.factor_gradient(point)
        # Both halves of the update with their signs turned, which saves a copy.
        change = _added(previous, -1.0, gradient)
        if product > 0:
            updates.append(Update(direction, -length, change, product))
        else:  # the least value lies uphill at first
            updates.clear()
    return point


def _ascent(
    gradient: Factors, updates: deque[Update], objective: Penalized, point: Point
) -> Factors:
    """The two-loop recursion of L-BFGS: its inverse Hessian times the gradient."""
    q = gradient if len(updates) < 2 else tuple(g + 0.0 for g in gradient)
    shares = [0.0] if updates else []  # an exact step leaves the gradient no part along it
    for u in reversed(list(updates)[:-1]):
        share = u.length * _inner(u.direction, q) / u.product
        q = _added(q, -share, u.change)
        shares.append(share)
    curvatures = objective.factor_curvature(point)
    z: Factors = tuple(rotate(g, np.linalg.inv(H)) for g, H in zip(q, curvatures, strict=True))
    for u, share in zip(updates, reversed(shares), strict=True):
        z = _added(z, (share - _inner(u.change, z) / u.product) * u.length, u.direction)
    return z


def _inner(a: Factors, b: Factors) -> float:
    return sum(inner(x, y) for x, y in zip(a, b, strict=True))


def _added(a: Factors, scale: float, b: Factors) -> Factors:
    return tuple(add_scaled(x, scale, y) for x, y in zip(a, b, strict=True))

"""Local search on psi(U, V): L-BFGS with the exact minimiser along every line."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from .._array import add_scaled, array_namespace, in_single_precision, inner, inverse, rotate
from ..model import quartic
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.penalties import Factors


class Update(NamedTuple):
    """One step `s = length * direction`, and the gradient before it."""

    direction: Factors
    length: float
    gradient: Factors
    product: float  # <s, change of the gradient>


@dataclass(frozen=True)
class SearchMemory:
    """What is kept between two steps.

    Attributes
    ----------
    single_from : int
        Entries of a factor from which on the last gradient is kept in single precision. It only
        shapes the next direction, and the step along that is exact. Where factors are smaller,
        memory does not matter.
    """

    single_from: int = 2**20

    def kept(self, gradient: Factors) -> Factors:
        """The gradient, as it is kept while a line is searched."""
        if prod(gradient[0].shape) < self.single_from:
            return gradient
        return tuple(in_single_precision(g) for g in gradient)


def local_search(
    objective: Penalized,
    X: LowRank,
    *,
    max_steps: int,
    tolerance: float,
    overwrite: bool = False,
    memory: SearchMemory = SearchMemory(),
) -> Point:
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
    overwrite : bool
        Whether the memory of X may be used. Its columns have to be contiguous.
    memory : SearchMemory
        What is kept between two steps.

    Returns
    -------
    Point
    """
    point = objective.at(X if overwrite else X.copy())
    point.data = None  # not needed here
    update: Update | None = None
    gradient = objective.factor_gradient(point)
    for _ in range(max_steps):
        direction, update = _ascent(gradient, update, objective, point), None
        slope, gradient = _inner(gradient, direction), memory.kept(gradient)
        line = objective.line(point, *direction)
        length = quartic.minimizer(line.psi)
        if length == 0.0 or not quartic.possible(line.psi, length):
            break
        point, decrease = line.move(length), line.decrease(length)
        del line  # frees the transforms of the direction
        # In single precision, rounding can make psi negative.
        if decrease <= tolerance * abs(objective.psi(point)):
            break
        # The new gradient is orthogonal to the direction, because the step was exact.
        product = -length * slope
        # Forget the update if the curvature along the step is not positive.
        update = Update(direction, length, gradient, product) if product > 0 else None
        gradient = objective.factor_gradient(point)
    return point


def search_in_pieces(
    objective: Penalized,
    X: LowRank,
    *,
    max_steps: int,
    piece: int,
    tolerance: float,
    overwrite: bool = False,
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
    overwrite : bool
        Whether the memory of X may be used. Its columns have to be contiguous.

    Returns
    -------
    LowRank
    """
    if piece >= max_steps:
        return local_search(
            objective, X, max_steps=max_steps, tolerance=tolerance, overwrite=overwrite
        ).X
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
    along_change = _along_change(gradient, update, z)
    return _added(z, -along_change / update.product * update.length, update.direction)


def _along_change(gradient: Factors, update: Update, z: Factors) -> float:
    """Compute `<change of the gradient, z>`; the memory of the last gradient is used."""
    last = update.gradient
    if last[0].dtype == gradient[0].dtype:  # the difference first: it has less rounding
        return -_inner(_added(last, -1.0, gradient), z)
    xp = array_namespace(z[0])
    before = sum(inner(xp.astype(g, x.dtype), x) for g, x in zip(last, z, strict=True))
    return _inner(gradient, z) - before


def _inner(a: Factors, b: Factors) -> float:
    return sum(inner(x, y) for x, y in zip(a, b, strict=True))


def _added(a: Factors, scale: float, b: Factors) -> Factors:
    return tuple(add_scaled(x, scale, y) for x, y in zip(a, b, strict=True))

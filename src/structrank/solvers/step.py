"""Lines 3 and 4 of Algorithm 1: which atom to add to X, and the weights of both, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array, NDArray, gram, rotate
from ..model.linalg import SingularPairs
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized


class StepPlane:
    """The upper bound `f(a X + theta Z) + mu (a ||X||_* + theta)` of phi, for a step to Z.

    It is quadratic in the weights a and theta.
    """

    def __init__(self, objective: Penalized, point: Point, Z: LowRank, top: SingularPairs) -> None:
        at_Z = objective.at(Z)
        shares = np.diag(at_Z.gram_U).real  # weights of the singular pairs in Z
        slope_Z = -float(np.dot(shares, top.values[: Z.rank]))  # <grad f(X), Z>
        linear_X, linear_Z = objective.slope_at_zero(point), objective.slope_at_zero(at_Z)
        self.linear = np.array(
            [linear_X + objective.mu * point.half_norms, linear_Z + objective.mu]
        )
        curvature_X, curvature_Z = objective.curvature(point), objective.curvature(at_Z)
        mixed = slope_Z - linear_Z
        self.quadratic = np.array([[curvature_X, mixed], [mixed, curvature_Z]])

    def paper(self, a: float) -> tuple[float, float]:
        """Return `theta_k = argmin h_k`, eqs. (theta) and (h_theta), for `a = 1 - eta_k`."""
        slope = self.linear[1] + a * self.quadratic[0, 1]
        return a, _ratio(-slope, self.quadratic[1, 1])

    def joint(self) -> tuple[float, float]:
        """Find the a and theta of at least zero that minimise the bound."""
        candidates = [
            (0.0, _ratio(-self.linear[1], self.quadratic[1, 1])),
            (_ratio(-self.linear[0], self.quadratic[0, 0]), 0.0),
        ]
        if np.linalg.det(self.quadratic) > 0:
            both = np.linalg.solve(self.quadratic, -self.linear)
            if np.all(both >= 0):
                candidates.append((float(both[0]), float(both[1])))
        return min(candidates, key=self.value)

    def value(self, step: tuple[float, float]) -> float:
        """Evaluate the upper bound, up to a constant."""
        x = np.array(step)
        return float(x @ self.linear + x @ self.quadratic @ x / 2)


def atom(top: SingularPairs, mu: float, pairs: int) -> LowRank:
    """Build Z_k from the singular pairs with values above mu, with nuclear norm one."""
    excess = np.maximum(top.values[:pairs] - mu, 0.0)
    if excess[0] == 0.0:
        excess[0] = 1.0
    use = int(np.count_nonzero(excess))
    roots = np.sqrt(excess[:use] / np.sum(excess))
    return LowRank(rotate(top.U[:, :use], np.diag(roots)), rotate(top.V[:, :use], np.diag(roots)))


@dataclass(frozen=True)
class NewPairs:
    """Which singular pairs are new.

    Attributes
    ----------
    known : float
        Share of both vectors of a pair in the columns of U and V, from which on X contains the
        pair. Shares near a solution are above 0.98, those of new pairs below 0.1.
    large : int
        Entries of a factor from which on such pairs are left out. They save a few iterations where
        the rank is high; of smaller factors, memory does not matter.
    """

    known: float = 0.9
    large: int = 2**19


def new_pairs(top: SingularPairs, X: LowRank, which: NewPairs = NewPairs()) -> SingularPairs:
    """The first singular pair, and those that large factors of X do not contain already.

    Near a solution, the gradient has singular pairs like those of X with values near mu. A local
    search follows them in the factors as they are; more columns would cost memory.

    Parameters
    ----------
    top : SingularPairs
    X : LowRank
        Balanced: its factors have orthogonal columns.
    which : NewPairs
    """
    if X.rank == 0 or max(X.shape) * X.rank < which.large:
        return top
    new = np.minimum(_shares(X.U, top.U), _shares(X.V, top.V)) < which.known
    new[0] = True
    if np.all(new):
        return top
    chosen = np.eye(len(new))[:, new]
    return SingularPairs(
        rotate(top.U, chosen), top.values[new], rotate(top.V, chosen), top.residuals[new], top.upper
    )


def _shares(F: Array, vectors: Array) -> NDArray:
    """Squared norms of what vectors of norm one have in the span of orthogonal columns."""
    norms = np.diag(gram(F, F)).real
    return np.asarray(np.sum(np.abs(gram(F, vectors)) ** 2 / norms[:, None], axis=0))


def _ratio(numerator: float, denominator: float) -> float:
    """Divide if both numbers are above zero, else return zero."""
    return numerator / denominator if numerator > 0 and denominator > 0 else 0.0

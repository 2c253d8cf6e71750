"""The paper's method taken literally: dense gradient, sparse B and C, O(MN) a step.

Offers what `structrank.Penalized` offers to Algorithm 1 and to the local search, so that both run
the same lines of code and differ in the cost of the objective alone. NumPy, real.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrank import LowRank, Penalized, Problem, Structure, recovery_matrix, structure_matrix
from structrank.model import quartic
from structrank.model.linalg import top_singular_pairs
from structrank.structures.sparse import unvec, vec


@dataclass
class LiteralPoint:
    """Factors of X, X itself, and what goes with it."""

    U: np.ndarray
    V: np.ndarray
    gram_U: np.ndarray
    gram_V: np.ndarray
    residual: np.ndarray  # A(C x) - b
    image: np.ndarray  # B x
    loss: float
    violation_squared: float

    @property
    def X(self) -> LowRank:
        return LowRank(self.U, self.V)

    @property
    def half_norms(self) -> float:
        return (np.trace(self.gram_U) + np.trace(self.gram_V)) / 2

    def without_transforms(self) -> LiteralPoint:
        """Itself: there are no transforms."""
        return self


class LiteralGradient:
    """grad f(X) as a dense matrix."""

    def __init__(self, structure: Structure, matrix: np.ndarray) -> None:
        self.structure, self.matrix = structure, matrix

    def matmul(self, Z: np.ndarray) -> np.ndarray:
        return self.matrix @ Z

    def rmatmul(self, Z: np.ndarray) -> np.ndarray:
        return self.matrix.T @ Z

    def top(self, count: int, start: np.ndarray, **options: float):
        G = self.matrix
        return top_singular_pairs(lambda v: -(G @ v), lambda u: -(u @ G), start, count, **options)

    def outside(self) -> LiteralGradient:
        """Itself: nothing is left out that a projection would remove."""
        return self


class Literal:
    """(reform2) with the paper's B, on dense matrices."""

    # What does not depend on how X is stored:
    exact, tight, loss = Penalized.exact, Penalized.tight, Penalized.loss
    slope, gap, magnitude = Penalized.slope, Penalized.gap, Penalized.magnitude

    def __init__(self, problem: Problem, lam: float) -> None:
        self.problem, self.structure = problem, problem.structure
        self.mu, self.lam = problem.mu, lam
        self.B, self.C = structure_matrix(problem.structure), recovery_matrix(problem.structure)
        self.target = problem.data

    def _maps(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A(C x) and B x."""
        x = vec(self.structure, X)
        y = (self.C @ x).reshape(self.structure.signal_shape)
        return self.problem.measure.forward(y), self.B @ x

    def at(self, X: LowRank) -> LiteralPoint:
        data, image = self._maps(X.U @ X.V.T)
        residual = data - self.target
        return LiteralPoint(
            X.U,
            X.V,
            X.U.T @ X.U,
            X.V.T @ X.V,
            residual,
            image,
            np.vdot(residual, residual) / 2,
            np.vdot(image, image),
        )

    def smooth(self, point: LiteralPoint) -> float:
        return point.loss + self.lam / 2 * point.violation_squared

    def violation(self, point: LiteralPoint) -> float:
        return float(np.sqrt(point.violation_squared))

    def psi(self, point: LiteralPoint) -> float:
        return self.smooth(point) + self.mu * point.half_norms

    def signal(self, point: LiteralPoint) -> np.ndarray:
        x = vec(self.structure, point.U @ point.V.T)
        return (self.C @ x).reshape(self.structure.signal_shape)

    def curvature(self, point: LiteralPoint) -> float:
        data = point.residual + self.target
        return np.vdot(data, data) + self.lam * point.violation_squared

    def slope_at_zero(self, point: LiteralPoint) -> float:
        return -np.vdot(self.target, point.residual + self.target)

    def gradient(self, point: LiteralPoint) -> LiteralGradient:
        back = self.problem.measure.adjoint(point.residual)
        n = self.structure.shape[1] // self.structure.block_column().shape[1]
        x = self.C.T @ back.reshape(-1, n) + self.lam * (self.B.T @ point.image)
        return LiteralGradient(self.structure, unvec(self.structure, x))

    def factor_gradient(self, point: LiteralPoint) -> tuple[np.ndarray, np.ndarray]:
        G = self.gradient(point).matrix
        U, V = G @ point.V + self.mu * point.U, G.T @ point.U + self.mu * point.V
        return np.asfortranarray(U), np.asfortranarray(V)

    def factor_curvature(self, point: LiteralPoint) -> tuple[np.ndarray, np.ndarray]:
        ridge = self.mu * np.eye(len(point.gram_U))
        return self.lam * point.gram_V + ridge, self.lam * point.gram_U + ridge

    def line(self, point: LiteralPoint, DU: np.ndarray, DV: np.ndarray) -> LiteralLine:
        return LiteralLine(self, point, DU, DV)


class LiteralLine:
    """psi along a line, from the images of the three matrices of the expansion."""

    def __init__(self, objective: Literal, p: LiteralPoint, DU: np.ndarray, DV: np.ndarray) -> None:
        self.point, self.DU, self.DV = p, DU, DV
        self.data1, self.image1 = objective._maps(p.U @ DV.T + DU @ p.V.T)
        self.data2, self.image2 = objective._maps(DU @ DV.T)
        self.loss = quartic.square(p.residual, self.data1, self.data2) / 2
        self.violation_squared = quartic.square(p.image, self.image1, self.image2)
        self.gram_U = quartic.gram_line(p.U, DU, p.gram_U)
        self.gram_V = quartic.gram_line(p.V, DV, p.gram_V)
        norms = quartic.traces(self.gram_U) + quartic.traces(self.gram_V)
        self.psi = self.loss + objective.lam / 2 * self.violation_squared + objective.mu / 2 * norms

    def decrease(self, t: float) -> float:
        return -quartic.value(np.concatenate([[0.0], self.psi[1:]]), t)

    def move(self, t: float) -> LiteralPoint:
        p = self.point
        return LiteralPoint(
            p.U + t * self.DU,
            p.V + t * self.DV,
            sum(t**i * G for i, G in enumerate(self.gram_U)),
            sum(t**i * G for i, G in enumerate(self.gram_V)),
            p.residual + t * self.data1 + t**2 * self.data2,
            p.image + t * self.image1 + t**2 * self.image2,
            quartic.value(self.loss, t),
            max(quartic.value(self.violation_squared, t), 0.0),
        )

"""A point, with what the objective has computed there, and the objective along a line from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._array import Array, add_scaled, like
from . import quartic
from .lowrank import LowRank

if TYPE_CHECKING:
    from .objective import Penalized


@dataclass
class Point:
    """Factors of X, with the quantities that the objective has computed from them."""

    U: Array  # M x r
    V: Array  # N x r
    left: Array  # transformed U; None where it is not needed
    right: Array  # transformed V; the same
    total: Array  # Q*(X), the sum over all copies
    mean: Array  # C_proj X, the mean over all copies
    y: Array  # C X; the same array as the mean if C is C_proj
    data: Array | None  # A y; None where nobody has asked for it
    residual: Array  # A y - b
    gram_U: np.ndarray  # U^H U
    gram_V: np.ndarray  # V^H V
    products: tuple[np.ndarray, ...]  # small matrices that the penalty keeps
    signs: np.ndarray | None = None  # V = U diag(signs), if X and the structure are symmetric
    loss: float = 0.0  # 1/2 ||A y - b||^2
    violation_squared: float = 0.0  # ||B (X - Q0)||^2

    @property
    def X(self) -> LowRank:
        return LowRank(self.U, self.V)

    def without_transforms(self) -> Point:
        """Free the memory of the transformed factors, which only a local search needs."""
        self.left = self.right = None
        return self

    @property
    def half_norms(self) -> float:
        """`(||U||^2 + ||V||^2) / 2`, at least the nuclear norm of X."""
        return float(np.trace(self.gram_U).real + np.trace(self.gram_V).real) / 2


class Line:
    """psi along a line in the factors: a polynomial of degree four in the step.

    It costs the transforms of the direction and two inverse transforms of signals. A move along
    the line costs no transforms, because transforms are linear.
    """

    def __init__(self, objective: Penalized, point: Point, DU: Array, DV: Array | None) -> None:
        self.point, self.DU = point, DU
        self.signs = point.signs if DV is None else None
        S, scale = objective.structure, objective.inverse_multiplicity
        forward = objective.measure.forward
        self.left = S.transform_left(DU)
        self.gram_U = quartic.gram_line(point.U, DU, point.gram_U)
        if self.signs is None:
            self.DV, self.right = DV, S.transform_right(DV)
            self.total1 = S.adjoint_transformed((point.left, self.right), (self.left, point.right))
            self.gram_V = quartic.gram_line(point.V, DV, point.gram_V)
        else:
            signs = self.signs
            self.DV = DU * like(signs, DU)
            self.right = S.transform_mirrored(self.left, signs)
            self.total1 = 2 * S.adjoint_transformed((point.left, self.right))
            self.gram_V = quartic.mirrored(self.gram_U, signs)
        self.total2, self.scale = S.adjoint_transformed((self.left, self.right)), scale
        self.products = objective.penalty.products(DU, self.DV, self.signs)
        self.violation_squared = objective.penalty.along(self)
        recovered = objective.recovery.signal
        self.y1 = recovered(self.total1 * scale, (point.U, self.DV), (DU, point.V))
        self.data1, self.averaged = forward(self.y1), point.y is point.mean
        self.y1 = None if self.averaged else self.y1
        self.y2 = recovered(self.total2 * scale, (DU, self.DV))
        self.data2 = forward(self.y2)
        self.y2 = None if self.averaged else self.y2
        self.loss = quartic.square(point.residual, self.data1, self.data2) / 2
        norms = quartic.traces(self.gram_U) + quartic.traces(self.gram_V)
        self.psi = self.loss + objective.lam / 2 * self.violation_squared + objective.mu / 2 * norms

    def means(self) -> Iterator[Array]:
        """Generate the means over all copies, for the powers of the step; they are not kept."""
        yield self.point.mean
        yield self.total1 * self.scale
        yield self.total2 * self.scale

    def decrease(self, t: float) -> float:
        """Compute by how much a step of `t` lowers psi."""
        return -quartic.value(np.concatenate([[0.0], self.psi[1:]]), t)

    def move(self, t: float) -> Point:
        """Return the point at step `t`. Overwrites the point where the line started."""
        p = self.point
        G, H = self.gram_U, self.gram_V
        U = add_scaled(p.U, t, self.DU)
        total = add_scaled(add_scaled(p.total, t, self.total1), t**2, self.total2)
        mean = total * self.scale
        return Point(
            U,
            add_scaled(p.V, t, self.DV) if self.signs is None else U * like(self.signs, U),
            add_scaled(p.left, t, self.left),
            add_scaled(p.right, t, self.right),
            total,
            mean,
            mean if self.averaged else add_scaled(add_scaled(p.y, t, self.y1), t**2, self.y2),
            None,
            add_scaled(add_scaled(p.residual, t, self.data1), t**2, self.data2),
            G[0] + t * G[1] + t**2 * G[2],
            H[0] + t * H[1] + t**2 * H[2],
            tuple(a + t * b for a, b in zip(p.products, self.products, strict=True)),
            self.signs,
            quartic.value(self.loss, t),
            max(quartic.value(self.violation_squared, t), 0.0),
        )

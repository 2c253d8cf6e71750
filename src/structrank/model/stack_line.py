"""The objectives of many problems along lines in their factors."""

from __future__ import annotations

import numpy as np

from .._array import Array, NDArray, array_namespace, conj, grams, inners, to_numpy, transposed
from . import quartic
from .stack import Stack, StackPoint, traces


class StackLine:
    """psi of every problem along a line in the factors: polynomials of degree four."""

    def __init__(self, stack: Stack, point: StackPoint, DU: Array, DW: Array) -> None:
        self.point, self.DU, self.DW = point, DU, DW
        kernel = stack.kernel
        self.left, self.right = kernel.left(DU), kernel.right(DW)
        self.total1 = kernel.adjoint((point.left, self.right), (self.left, point.right))
        self.total2 = kernel.adjoint((self.left, self.right))
        self.data1 = stack.scaled_weights * self.total1
        self.data2 = stack.scaled_weights * self.total2
        self.gram_U = _gram_line(point.U, DU, point.gram_U)
        self.gram_W = _gram_line(point.W, DW, point.gram_W)
        self.psi = self._polynomials(stack)

    def _polynomials(self, stack: Stack) -> NDArray:
        """The coefficients of psi, shape (problems, 5)."""
        xp, p = array_namespace(self.DU), self.point
        totals = (p.total, self.total1, self.total2)
        means = tuple(stack.inverse * total for total in totals)
        residuals = (p.residual, self.data1, self.data2)
        parts = (
            *_products(residuals, residuals),
            *_products(totals, means),
            *(inners(conj(G), H) for G in self.gram_U for H in self.gram_W),
            *(traces(G) + traces(H) for G, H in zip(self.gram_U, self.gram_W, strict=True)),
        )
        loss, structured, norms, norms_of_factors = np.split(
            to_numpy(xp.stack(parts)).astype(float), [5, 10, 19]
        )
        norm_squared = np.zeros_like(loss)
        for k in range(9):
            norm_squared[k // 3 + k % 3] += norms[k]
        psi: NDArray = loss / 2 + stack.lam / 2 * (norm_squared - structured)
        psi[:3] += stack.mu / 2 * norms_of_factors
        return np.ascontiguousarray(psi.T)

    def lowers(self, t: NDArray, tolerances: NDArray) -> NDArray:
        """Whether steps `t` lower psi by more than some fractions of psi."""
        change = t * quartic.values(self.psi[:, 1:], t)
        # In single precision, rounding can make psi negative.
        return np.asarray(-change > tolerances * np.abs(self.psi[:, 0] + change))

    def move(self, stack: Stack, t: NDArray) -> StackPoint:
        """Return the points at steps `t`, one per problem.

        Overwrites the points where the lines started. DU and DW become the steps.
        """
        p, step = self.point, stack.spread(t)
        self.DU *= step
        self.DW *= step
        self.left *= step
        self.right *= step
        p.U += self.DU
        p.W += self.DW
        p.left += self.left
        p.right += self.right
        flat = step[:, 0, :]
        G, H = self.gram_U, self.gram_W
        return StackPoint(
            p.U,
            p.W,
            p.left,
            p.right,
            p.total + flat * (self.total1 + flat * self.total2),
            p.residual + flat * (self.data1 + flat * self.data2),
            G[0] + step * (G[1] + step * G[2]),
            H[0] + step * (H[1] + step * H[2]),
        )


def _products(x: tuple[Array, ...], y: tuple[Array, ...]) -> tuple[Array, ...]:
    """Expand `<x0 + t x1 + t^2 x2, y0 + t y1 + t^2 y2>`, where `<xi, yj> = <xj, yi>`."""
    return (
        inners(x[0], y[0]),
        2 * inners(x[0], y[1]),
        2 * inners(x[0], y[2]) + inners(x[1], y[1]),
        2 * inners(x[1], y[2]),
        inners(x[2], y[2]),
    )


def _gram_line(A: Array, D: Array, gram_A: Array) -> tuple[Array, Array, Array]:
    """Expand the Gram matrices of `A + t D`: return those of the powers 1, t and t^2."""
    cross = grams(A, D)
    return gram_A, cross + conj(transposed(cross)), grams(D, D)

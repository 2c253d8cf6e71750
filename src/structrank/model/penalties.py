"""Two penalties on departures from the structure: ||BX||^2 for two matrices B.

Both are zero exactly for structured matrices. A penalty contributes two parts to the gradient of
the objective: a structured part, given by a signal, and a part R that is applied to thin matrices.
Along a line in the factors the penalty is a polynomial of degree four.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from array_api_compat import device
from array_api_extra import at

from .._array import (
    Array,
    add_rotated,
    add_scaled,
    array_namespace,
    conj,
    inner,
    is_numpy_array,
    like,
)
from ..structures import Structure, structure_matrix, unvec, vec
from ..structures.base import Slices
from .lowrank import LowRank
from .quartic import gram_line, products, square, trace_product

if TYPE_CHECKING:
    from .line import Line, Point

Factors = tuple[Array, ...]  # U and V, or U alone if V is U times signs


class Penalty(ABC):
    """A penalty `||B (X - Q0)||^2` on departures from the structure with offset Q0."""

    symmetric = False  # whether the gradient at a symmetric real X is symmetric

    @abstractmethod
    def quadratic(self, point: Point) -> float:
        """Compute `||B X||^2`, without the offset."""

    @abstractmethod
    def linear(self, point: Point) -> float:
        """Compute `-<B Q0, B X>`."""

    @abstractmethod
    def value(self, point: Point) -> float:
        """Compute `||B (X - Q0)||^2`."""

    @abstractmethod
    def remainder(self, point: Point) -> Remainder:
        """Return the part R of half the gradient that is applied to thin matrices."""

    def add_signal(self, g: Array, point: Point, lam: float) -> Array:
        """Add `lam` times the signal of the structured part of half the gradient to `g`."""
        return g

    def add_factor_products(self, totals: Factors, point: Point, lam: float, mu: float) -> Factors:
        """Add `lam R V + mu U` and `lam R^H U + mu V`; only the first if the point has signs."""
        R = self.remainder(point)
        return (
            totals[0] + lam * R.matmul(point.V) + mu * point.U,
            totals[1] + lam * R.rmatmul(point.U) + mu * point.V,
        )

    @abstractmethod
    def along(self, line: Line) -> np.ndarray:
        """Compute the coefficients of the penalty along a line."""

    def products(self, U: Array, V: Array, signs: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Return small matrices, linear in U and V, that a point keeps for the penalty."""
        return ()


class ProjectionPenalty(Penalty):
    """`||X - P X||^2`, the squared distance to the structured matrices: B = I - P."""

    def __init__(self, structure: Structure, reference: Array) -> None:
        self.symmetric = structure.symmetric
        self.offset, self.constant = None, 0.0  # ||B Q0||^2
        if structure.offset is not None:
            # The part of Q0 that no signal can produce; the signal accounts for the other part.
            offset = like(structure.offset, reference)
            self.offset = offset - structure.linear_to_dense(structure.average_dense(offset))
            self.constant = inner(self.offset, self.offset)

    def quadratic(self, point: Point) -> float:
        """Compute `||B X||^2`, without the offset."""
        norm = float(np.sum(point.gram_U * point.gram_V.T).real)
        return max(norm - inner(point.mean, point.total), 0.0)

    def linear(self, point: Point) -> float:
        """Compute `-<B Q0, B X>`."""
        if self.offset is None:
            return 0.0
        return -inner(point.U, array_namespace(point.U).matmul(self.offset, point.V))

    def value(self, point: Point) -> float:
        """Compute `||B (X - Q0)||^2`."""
        return max(self.quadratic(point) + 2 * self.linear(point) + self.constant, 0.0)

    def add_signal(self, g: Array, point: Point, lam: float) -> Array:
        """Add the signal of the structured part, `-lam Q(C_proj X)`, to `g`."""
        return add_scaled(g, -lam, point.mean)

    def remainder(self, point: Point) -> Remainder:
        """Return R = X - Q0, which is applied to thin matrices."""
        return point.X if self.offset is None else Shifted(point.X, self.offset)

    def add_factor_products(self, totals: Factors, point: Point, lam: float, mu: float) -> Factors:
        """Add `lam R V + mu U` and `lam R^H U + mu V`; only the first if the point has signs."""
        ridge = mu * np.eye(point.gram_U.shape[0])
        sides = (point.U, point.gram_V), (point.V, point.gram_U)
        sums = tuple(
            add_rotated(total, F, lam * G + ridge)
            for total, (F, G) in zip(totals, sides, strict=False)
        )
        if self.offset is not None:
            xp = array_namespace(point.U)
            U = sums[0] - lam * xp.matmul(self.offset, point.V)
            V = sums[1] - lam * xp.matmul(conj(self.offset).T, point.U)
            return U, V
        return sums

    def along(self, line: Line) -> np.ndarray:
        """Compute the coefficients of the penalty along a line."""
        coefficients = trace_product(line.gram_U, line.gram_V)
        p = line.point
        coefficients -= products(line.means(), (p.total, line.total1, line.total2))
        coefficients[0] += self.constant
        if self.offset is not None:
            xp = array_namespace(line.DU)
            QV, QD = xp.matmul(self.offset, p.V), xp.matmul(self.offset, line.DV)
            U, D = p.U, line.DU
            coefficients[0] -= 2 * inner(U, QV)
            coefficients[1] -= 2 * (inner(D, QV) + inner(U, QD))
            coefficients[2] -= 2 * inner(D, QD)
        return coefficients


class ShiftedDifferencePenalty(Penalty):
    """The paper's B for Hankel and Toeplitz: differences of neighbouring copies.

    For every box of differences, `B X` is the difference of two shifted copies of `U V^H`: a
    matrix of rank 2r that is never multiplied out.
    """

    def __init__(self, structure: Structure, reference: Array) -> None:
        differences = structure.differences()
        assert differences is not None
        self.row_grid, self.column_grid, self.boxes = differences

    def _images(self, U: Array, V: Array) -> list[LowRank]:
        """Compute `B (U V^H)`: one low-rank matrix per box."""
        xp = array_namespace(U)

        def side_by_side(
            F: Array, grid: tuple[int, ...], plus: Slices, minus: Slices, sign: float
        ) -> Array:
            return xp.concat([_cut(F, grid, plus), sign * _cut(F, grid, minus)]).T

        return [
            LowRank(
                side_by_side(U, self.row_grid, b.rows_plus, b.rows_minus, -1.0),
                side_by_side(V, self.column_grid, b.columns_plus, b.columns_minus, 1.0),
            )
            for b in self.boxes
        ]

    def quadratic(self, point: Point) -> float:
        """Compute `||B X||^2`."""
        return max(sum(image.norm_squared() for image in self._images(point.U, point.V)), 0.0)

    value = quadratic

    def linear(self, point: Point) -> float:
        """Return zero: there is no offset."""
        return 0.0

    def remainder(self, point: Point) -> Remainder:
        """Return R = B^T B X, which is applied to thin matrices."""
        return _ShiftedRemainder(self, self._images(point.U, point.V))

    def along(self, line: Line) -> np.ndarray:
        """Compute the coefficients of the penalty along a line."""
        images = self._images(line.point.U, line.point.V)
        directions = self._images(line.DU, line.DV)
        return sum(
            (
                trace_product(gram_line(X.U, D.U), gram_line(X.V, D.V))
                for X, D in zip(images, directions, strict=True)
            ),
            start=np.zeros(5),
        )


class SparseDifferencePenalty(Penalty):
    """The paper's B for any structure, as a sparse matrix: O(MN) memory, NumPy arrays only."""

    def __init__(self, structure: Structure, reference: Array) -> None:
        if not is_numpy_array(reference):
            raise TypeError(
                f'penalty="difference" with {structure!r} uses sparse matrices and expects a NumPy '
                f'array, but b is {type(reference).__name__}; use penalty="projection"'
            )
        self.structure = structure
        self.B = structure_matrix(structure)
        offset = np.zeros(structure.shape) if structure.offset is None else structure.offset
        self.B_offset = self.B @ vec(structure, offset)

    def _image(self, U: Array, V: Array) -> Array:
        return self.B @ vec(self.structure, U @ conj(V).T)

    def quadratic(self, point: Point) -> float:
        """Compute `||B X||^2`, without the offset."""
        image = self._image(point.U, point.V)
        return inner(image, image)

    def linear(self, point: Point) -> float:
        """Compute `-<B Q0, B X>`."""
        return -inner(self._image(point.U, point.V), self.B_offset.astype(point.U.dtype))

    def value(self, point: Point) -> float:
        """Compute `||B (X - Q0)||^2`."""
        image = self._image(point.U, point.V) - self.B_offset
        return inner(image, image)

    def remainder(self, point: Point) -> Remainder:
        """Return R = B^T B (X - Q0), which is applied to thin matrices."""
        R = self.B.T @ (self._image(point.U, point.V) - self.B_offset)
        return _Dense(unvec(self.structure, R).astype(point.U.dtype))

    def along(self, line: Line) -> np.ndarray:
        """Compute the coefficients of the penalty along a line."""
        U, V, DU, DV = line.point.U, line.point.V, line.DU, line.DV
        first = self._image(U, DV) + self._image(DU, V)
        return square(self._image(U, V) - self.B_offset, first, self._image(DU, DV))


class Remainder(Protocol):
    """The unstructured part R of a penalty's gradient, as a linear map."""

    def matmul(self, Z: Array) -> Array: ...

    def rmatmul(self, Z: Array) -> Array: ...


class _Dense:
    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def matmul(self, Z: Array) -> Array:
        return array_namespace(Z).matmul(self.matrix, Z)

    def rmatmul(self, Z: Array) -> Array:
        return array_namespace(Z).matmul(conj(self.matrix).T, Z)


class Shifted:
    """A low-rank matrix minus a constant dense matrix."""

    def __init__(self, X: LowRank, offset: Array) -> None:
        self.X, self.offset = X, _Dense(offset)

    def matmul(self, Z: Array) -> Array:
        return self.X.matmul(Z) - self.offset.matmul(Z)

    def rmatmul(self, Z: Array) -> Array:
        return self.X.rmatmul(Z) - self.offset.rmatmul(Z)


class _ShiftedRemainder:
    """The linear map `B^T (B X)`, from the low-rank images of the boxes."""

    def __init__(self, penalty: ShiftedDifferencePenalty, images: list[LowRank]) -> None:
        self.penalty, self.images = penalty, images

    def matmul(self, Z: Array) -> Array:
        moves = [
            (b.columns_plus, b.rows_plus, b.columns_minus, b.rows_minus, image.matmul)
            for b, image in zip(self.penalty.boxes, self.images, strict=True)
        ]
        return _shift_and_add(Z, self.penalty.column_grid, self.penalty.row_grid, moves)

    def rmatmul(self, Z: Array) -> Array:
        moves = [
            (b.rows_plus, b.columns_plus, b.rows_minus, b.columns_minus, image.rmatmul)
            for b, image in zip(self.penalty.boxes, self.images, strict=True)
        ]
        return _shift_and_add(Z, self.penalty.row_grid, self.penalty.column_grid, moves)


def _shift_and_add(
    Z: Array,
    source: tuple[int, ...],
    target: tuple[int, ...],
    moves: Sequence[tuple[Slices, Slices, Slices, Slices, Callable[[Array], Array]]],
) -> Array:
    """Apply the product of every box to a cut of Z, and sum the results on both sides."""
    xp = array_namespace(Z)
    out = xp.zeros((Z.shape[1], *target), dtype=Z.dtype, device=device(Z))
    for from_plus, to_plus, from_minus, to_minus, product in moves:
        for origin, place, sign in ((from_plus, to_plus, 1.0), (from_minus, to_minus, -1.0)):
            image = sign * product(_cut(Z, source, origin).T).T
            where: Any = (slice(None), *place, ...)
            out = at(out)[where].add(xp.reshape(image, out[where].shape))
    return xp.reshape(out, (Z.shape[1], prod(target))).T


def _cut(F: Array, grid: tuple[int, ...], slices: Slices) -> Array:
    """Select the rows of F in a box of the grid, as the columns of (r, rows)."""
    xp = array_namespace(F)
    box = xp.reshape(F.T, (F.shape[1], *grid))[(slice(None), *slices, ...)]
    return xp.reshape(box, (F.shape[1], prod(box.shape[1:])))

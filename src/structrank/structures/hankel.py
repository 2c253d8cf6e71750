"""Hankel matrices: one class for one or several dimensions and for blocks."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .._array import (
    Array,
    array_namespace,
    conj,
    fft,
    fft_length,
    ifft,
    ifft_of_product,
    like,
    sum_of_products,
)
from .._checks import positive_ints
from .base import Box, Differences, Structure


class Hankel(Structure):
    """N-fold block-Hankel matrix: `Q(y)[(i, a), (l, c)] = y[i + l, a, c]`.

    `i` and `l` run over N-dimensional windows, `a` and `c` over the rows and columns of
    a block. Products use FFTs of about the length of the signal.

    Parameters
    ----------
    signal_shape : int or tuple of int
        Length of the signal along each shifted axis.
    window : int or tuple of int
        Number of rows of the matrix along each axis. The number of columns is
        `signal_shape - window + 1`.
    block : tuple of two ints, optional
        Shape (m, n) of a sample, if samples are matrices. The signal then has shape
        `signal_shape + block`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> Hankel(4, window=2).to_dense(np.array([1.0, 2.0, 3.0, 4.0]))
    array([[1., 2., 3.],
           [2., 3., 4.]])
    >>> Hankel((101, 101), window=(8, 8)).shape
    (64, 8836)
    >>> Hankel((120,), window=21, block=(20, 20)).signal_shape
    (120, 20, 20)
    """

    def __init__(
        self,
        signal_shape: int | tuple[int, ...],
        window: int | tuple[int, ...],
        block: tuple[int, int] | None = None,
    ) -> None:
        self.lengths = positive_ints(signal_shape, "signal_shape")
        self.window = positive_ints(window, "window")
        if len(self.window) != len(self.lengths):
            raise ValueError(
                f"window has {len(self.window)} entries and signal_shape has "
                f"{len(self.lengths)}, but one entry per axis is expected in both"
            )
        for w, length in zip(self.window, self.lengths, strict=True):
            if w > length:
                raise ValueError(
                    f"window is {self.window}, but the signal has lengths {self.lengths}: "
                    "a window can be at most as long as the signal along each axis"
                )
        self.block = None if block is None else positive_ints(block, "block")
        if self.block is not None and len(self.block) != 2:
            raise ValueError(f"block is {block!r}, but two integers (m, n) are expected")
        self.columns = tuple(L - w + 1 for L, w in zip(self.lengths, self.window, strict=True))
        m, n = self.block or (1, 1)
        self.shape = (prod(self.window) * m, prod(self.columns) * n)
        self.signal_shape = self.lengths + (self.block or ())

    def __repr__(self) -> str:
        block = f", block={self.block}" if self.block else ""
        return f"{type(self).__name__}({self.lengths}, window={self.window}{block})"

    def key(self) -> tuple[Any, ...]:
        return (self.lengths, self.window, self.block)

    def block_column(self) -> Hankel:
        if self.block is None or self.block[1] == 1:
            return self
        return type(self)(self.lengths, self.window, (self.block[0], 1))

    @property
    def symmetric(self) -> bool:
        """Whether there are as many rows as columns along every axis, and no blocks."""
        return self.block is None and self.window == self.columns and self.offset is None

    @property
    def has_modes(self) -> bool:
        """True without blocks, and for blocks of one row or one column: its channels."""
        return min(self.block or (1, 1)) == 1

    @property
    def column_starts(self) -> tuple[np.ndarray, ...]:
        """For each axis, the place in the signal of every column's first row."""
        return tuple(np.arange(size) for size in self.columns)

    def index(self) -> np.ndarray:
        m, n = self.block or (1, 1)
        sites = np.arange(prod(self.lengths)).reshape(self.lengths)
        starts = np.meshgrid(*self.column_starts, indexing="ij")
        site = sites[
            tuple(
                i.reshape(-1)[:, None] + l.reshape(-1)[None, :]
                for i, l in zip(np.indices(self.window), starts, strict=True)
            )
        ]
        inside = np.arange(m * n).reshape(m, n)
        index: np.ndarray = site[:, None, :, None] * (m * n) + inside[:, None, :]
        return index.reshape(self.shape)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        counts = None
        for length, rows, columns in zip(self.lengths, self.window, self.columns, strict=True):
            most = min(rows, columns)
            ramp, along = np.arange(1, most + 1), np.full(length, most)
            along[:most], along[length - most :] = ramp, ramp[::-1]
            counts = along if counts is None else np.multiply.outer(counts, along)
        assert counts is not None  # there is at least one axis
        if self.block is None:
            return counts
        counts = np.broadcast_to(counts[..., None, None], (*self.lengths, *self.block))
        return counts.reshape(self.signal_shape).copy()

    @cached_property
    def first_copies(self) -> tuple[np.ndarray, np.ndarray]:
        # Along each axis a column determines the row. The copy in the smallest column is the first.
        axes = range(len(self.lengths))
        columns = [self._first_columns(axis) for axis in axes]
        rows = [np.arange(self.lengths[i]) - self.column_starts[i][columns[i]] for i in axes]
        row = np.ravel_multi_index(np.meshgrid(*rows, indexing="ij"), self.window)
        column = np.ravel_multi_index(np.meshgrid(*columns, indexing="ij"), self.columns)
        m, n = self.block or (1, 1)
        inside = np.indices((m, n))
        return (
            (row.reshape(-1, 1, 1) * m + inside[0]).reshape(-1),
            (column.reshape(-1, 1, 1) * n + inside[1]).reshape(-1),
        )

    def _first_columns(self, axis: int) -> np.ndarray:
        """The first column with a copy of each entry, along one axis."""
        return np.maximum(np.arange(self.lengths[axis]) - self.window[axis] + 1, 0)

    def differences(self) -> Differences:
        everything = slice(None), slice(None)
        boxes = []
        for axis in range(len(self.lengths)):
            # Outer axes: all blocks. Inner axes: one copy of each entry of a block.
            inner = product(*[self._spanning] * (len(self.lengths) - axis - 1))
            for choice in inner:
                along = [everything] * axis, list(choice)
                plus = along[0] + [self._neighbours[0]] + along[1]
                minus = along[0] + [self._neighbours[1]] + along[1]
                boxes.append(
                    Box(
                        tuple(rows for rows, _ in plus),
                        tuple(columns for _, columns in plus),
                        tuple(rows for rows, _ in minus),
                        tuple(columns for _, columns in minus),
                    )
                )
        m, n = self.block or (1, 1)
        return Differences((*self.window, m), (*self.columns, n), tuple(boxes))

    # Rows and columns of neighbouring copies along an axis, and of one copy of each entry.
    _neighbours = ((slice(1, None), slice(0, -1)), (slice(0, -1), slice(1, None)))
    _spanning = ((slice(None), slice(0, 1)), (slice(-1, None), slice(1, None)))

    # -- products: transformed factors have shape (r, frequencies..., block size) ---------

    @cached_property
    def _fft_lengths(self) -> tuple[int, ...]:
        return tuple(fft_length(length) for length in self.lengths)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.lengths) + 1))

    def transform_signal(self, y: Array) -> Array:
        return fft(y, self._fft_lengths, tuple(range(len(self.lengths))))

    def transform_left(self, U: Array) -> Array:
        return fft(self._fold(U, self.window, 0), self._fft_lengths, self._axes)

    def transform_right(self, V: Array) -> Array:
        return fft(self._fold(V, self.columns, 1), self._fft_lengths, self._axes, mirrored=True)

    def transform_mirrored(self, left: Array, signs: np.ndarray) -> Array:
        xp = array_namespace(left)
        mirrored = xp.conj(left)
        mirrored *= xp.reshape(like(signs, left, real=True), (-1, *(1,) * len(self.lengths)))
        return mirrored

    def matmul_transformed(self, signal: Array, right: Array) -> Array:
        if self.block is None:
            return self._unfold(ifft_of_product(signal, right, self._fft_lengths, self.window))
        spectrum = self._block_product(signal, right)
        return self._unfold(ifft(spectrum, self._fft_lengths, self._axes), self.window)

    def rmatmul_transformed(self, signal: Array, left: Array) -> Array:
        if self.block is None:
            return self._unfold(
                ifft_of_product(conj(signal), left, self._fft_lengths, self.columns, mirrored=True)
            )
        spectrum = self._block_product(_swap_last(conj(signal)), left)
        folded = ifft(spectrum, self._fft_lengths, self._axes, mirrored=True)
        return self._unfold(folded, self.columns)

    def adjoint_transformed(self, *pairs: tuple[Array, Array]) -> Array:
        if self.block is None:
            spectrum = sum_of_products(*pairs[0])
            for left, right in pairs[1:]:
                spectrum += sum_of_products(left, right)
        else:
            spectrum = self._block_outer(*pairs[0])
            for left, right in pairs[1:]:
                spectrum += self._block_outer(left, right)
        y = ifft(spectrum, self._fft_lengths, tuple(range(len(self.lengths))))
        return y[(*(slice(0, length) for length in self.lengths), ...)]

    def _fold(self, F: Array, grid: tuple[int, ...], side: int) -> Array:
        """Reshape (rows, r) to (r, grid..., block size)."""
        width = () if self.block is None else (self.block[side],)
        return array_namespace(F).reshape(F.T, (F.shape[1], *grid, *width))

    def _unfold(self, folded: Array, grid: tuple[int, ...] | None = None) -> Array:
        """Cut (r, grid..., block size) to the grid, and reshape it to (rows, r)."""
        cut = () if grid is None else tuple(slice(0, size) for size in grid)
        inside = folded[(slice(None), *cut, ...)]
        return array_namespace(folded).reshape(inside, (folded.shape[0], prod(inside.shape[1:]))).T

    def _block_product(self, signal: Array, factor: Array) -> Array:
        """Multiply, at every frequency, the (a, c) block of the signal by the (c, r) factor."""
        xp = array_namespace(signal)
        frequencies = signal.shape[:-2]
        blocks = xp.reshape(signal, (-1, *signal.shape[-2:]))
        columns = xp.reshape(factor, (factor.shape[0], prod(frequencies), factor.shape[-1]))
        out = xp.matmul(xp.permute_dims(columns, (1, 0, 2)), _swap_last(blocks))
        return xp.reshape(
            xp.permute_dims(out, (1, 0, 2)), (factor.shape[0], *frequencies, blocks.shape[1])
        )

    def _block_outer(self, left: Array, right: Array) -> Array:
        """Multiply, at every frequency, the (a, r) left factor by the (r, c) right factor."""
        xp = array_namespace(left)
        frequencies, flat = left.shape[1:-1], (left.shape[0], prod(left.shape[1:-1]))
        L = xp.permute_dims(xp.reshape(left, (*flat, left.shape[-1])), (1, 2, 0))
        R = xp.permute_dims(xp.reshape(conj(right), (*flat, right.shape[-1])), (1, 0, 2))
        out = xp.matmul(L, R)
        return xp.reshape(out, (*frequencies, left.shape[-1], right.shape[-1]))


def _swap_last(x: Array) -> Array:
    axes = tuple(range(x.ndim - 2))
    return array_namespace(x).permute_dims(x, (*axes, x.ndim - 1, x.ndim - 2))

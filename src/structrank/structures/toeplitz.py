"""Toeplitz matrices: Hankel matrices with the columns in reverse order."""

from __future__ import annotations

import numpy as np

from .._array import Array, array_namespace
from .hankel import Hankel


class Toeplitz(Hankel):
    """N-fold block-Toeplitz matrix: `Q(y)[(i, a), (l, c)] = y[i - l + columns - 1, a, c]`.

    The signal runs from the top right corner to the bottom left one.

    Parameters
    ----------
    signal_shape : int or tuple of int
        Length of the signal along each shifted axis.
    window : int or tuple of int
        Number of rows of the matrix along each axis. The number of columns is
        `signal_shape - window + 1`.
    block : tuple of two ints, optional
        Shape (m, n) of a sample, if samples are matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Toeplitz
    >>> Toeplitz(4, window=2).to_dense(np.array([1.0, 2.0, 3.0, 4.0]))
    array([[3., 2., 1.],
           [4., 3., 2.]])
    """

    _neighbours = ((slice(0, -1), slice(0, -1)), (slice(1, None), slice(1, None)))
    _spanning = ((slice(None), slice(0, 1)), (slice(0, 1), slice(1, None)))

    @property
    def symmetric(self) -> bool:
        """Always false: the transpose reverses the signal."""
        return False

    @property
    def column_starts(self) -> tuple[np.ndarray, ...]:
        return tuple(places[::-1] for places in super().column_starts)

    def _first_columns(self, axis: int) -> np.ndarray:
        return np.maximum(self.columns[axis] - 1 - np.arange(self.lengths[axis]), 0)

    def transform_right(self, V: Array) -> Array:
        return super().transform_right(self._reversed(V))

    def rmatmul_transformed(self, signal: Array, left: Array) -> Array:
        return self._reversed(super().rmatmul_transformed(signal, left))

    def _reversed(self, V: Array) -> Array:
        xp = array_namespace(V)
        return self._unfold(xp.flip(self._fold(V, self.columns, 1), axis=self._axes), self.columns)

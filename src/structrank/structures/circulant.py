"""Circulant matrices."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, conj, fft, ifft, sum_of_products
from .._checks import positive_int
from .base import Structure


class Circulant(Structure):
    """Circulant matrix with first column y: `Q(y)[i, l] = y[(i - l) mod n]`.

    Parameters
    ----------
    n : int
        Length of the signal, 3 or more; the matrix is n x n.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Circulant
    >>> Circulant(3).to_dense(np.array([1.0, 2.0, 3.0]))
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """

    def __init__(self, n: int) -> None:
        self.n = positive_int(n, "n")
        if self.n < 3:
            raise ValueError(f"n is {n}, but Circulant expects 3 or more; use Indexed instead")
        self.shape = (self.n, self.n)
        self.signal_shape = (self.n,)

    def __repr__(self) -> str:
        return f"Circulant({self.n})"

    def key(self) -> tuple[Any, ...]:
        return (self.n,)

    def index(self) -> np.ndarray:
        i = np.arange(self.n)
        return (i[:, None] - i) % self.n

    @cached_property
    def multiplicity(self) -> np.ndarray:
        return np.full(self.n, self.n)

    @cached_property
    def first_copies(self) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(self.n), np.zeros(self.n, dtype=int)

    def transform_signal(self, y: Array) -> Array:
        return fft(y, (self.n,), (0,))

    def transform_left(self, U: Array) -> Array:
        return fft(U.T, (self.n,), (1,))

    def transform_right(self, V: Array) -> Array:
        return fft(V.T, (self.n,), (1,))

    def matmul_transformed(self, signal: Array, right: Array) -> Array:
        return ifft(signal * right, (self.n,), (1,)).T

    def rmatmul_transformed(self, signal: Array, left: Array) -> Array:
        return ifft(conj(signal) * left, (self.n,), (1,)).T

    def adjoint_transformed(self, *pairs: tuple[Array, Array]) -> Array:
        return ifft(sum(sum_of_products(*pair) for pair in pairs), (self.n,), (0,))

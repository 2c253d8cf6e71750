"""Sylvester (resultant) matrices of several polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, array_namespace, conj, fft, fft_length, ifft, sum_of_products
from .._checks import positive_int, positive_ints
from .base import Structure


class Sylvester(Structure):
    """Shifted copies of polynomials' coefficients, stacked: `Q(y)[(i, s), l] = p_i[l - s]`.

    The signal contains the coefficients of all polynomials, one polynomial after the other.
    For two polynomials of degrees (n, m), `m` shifts of the first give the square resultant matrix.
    With `m - d + 1` shifts this is the generalised Sylvester matrix, which loses rank exactly if
    the common divisor has degree d or more.

    Parameters
    ----------
    degrees : sequence of int
        Degree of each polynomial, two or more of them.
    shifts : int, optional
        Number of shifted copies of the first polynomial. Default: the degree of the second
        polynomial, which gives the resultant. The other polynomials get as many copies as fill
        the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Sylvester
    >>> Sylvester((2, 1)).to_dense(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    array([[1., 2., 3.],
           [4., 5., 0.],
           [0., 4., 5.]])
    >>> Sylvester((4, 3), shifts=2).shape
    (5, 6)
    """

    def __init__(self, degrees: Sequence[int], shifts: int | None = None) -> None:
        self.degrees = positive_ints(degrees, "degrees")
        if len(self.degrees) < 2:
            raise ValueError(f"degrees is {degrees!r}, but at least two polynomials are expected")
        first = self.degrees[1] if shifts is None else positive_int(shifts, "shifts")
        width = first + self.degrees[0]
        self.shifts = tuple(width - d for d in self.degrees)
        if min(self.shifts) < 1:
            raise ValueError(
                f"shifts is {first}, but a polynomial of degree {max(self.degrees)} needs at least "
                f"{max(self.degrees) - self.degrees[0] + 1}"
            )
        self.shape = (sum(self.shifts), width)
        self.signal_shape = (sum(self.degrees) + len(self.degrees),)

    def __repr__(self) -> str:
        return f"Sylvester({self.degrees}, shifts={self.shifts[0]})"

    def key(self) -> tuple[Any, ...]:
        return (self.degrees, self.shifts)

    def index(self) -> np.ndarray:
        blocks, start = [], 0
        for degree, shifts in zip(self.degrees, self.shifts, strict=True):
            power = np.arange(self.shape[1]) - np.arange(shifts)[:, None]
            blocks.append(np.where((power >= 0) & (power <= degree), start + power, -1))
            start += degree + 1
        return np.concatenate(blocks)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        return np.repeat(self.shifts, [degree + 1 for degree in self.degrees])

    @cached_property
    def first_copies(self) -> tuple[np.ndarray, np.ndarray]:
        sizes = [degree + 1 for degree in self.degrees]
        starts = np.cumsum(self.shifts) - self.shifts  # the first row of every polynomial
        return np.repeat(starts, sizes), np.concatenate([np.arange(size) for size in sizes])

    # -- products: transformed left factors have shape (polynomials, r, frequencies) ------

    @property
    def _fft_length(self) -> int:
        return fft_length(self.shape[1])

    def transform_signal(self, y: Array) -> Array:
        parts = _split(y, [d + 1 for d in self.degrees])
        return array_namespace(y).stack(
            [fft(part, (self._fft_length,), (0,), mirrored=True) for part in parts]
        )

    def transform_left(self, U: Array) -> Array:
        parts = _split(U, self.shifts)
        return array_namespace(U).stack([fft(part.T, (self._fft_length,), (1,)) for part in parts])

    def transform_right(self, V: Array) -> Array:
        return fft(V.T, (self._fft_length,), (1,))

    def matmul_transformed(self, signal: Array, right: Array) -> Array:
        out = ifft(signal[:, None, :] * right, (self._fft_length,), (2,))
        return array_namespace(out).concat(
            [out[i, :, :s].T for i, s in enumerate(self.shifts)], axis=0
        )

    def rmatmul_transformed(self, signal: Array, left: Array) -> Array:
        spectrum = array_namespace(left).sum(conj(signal)[:, None, :] * left, axis=0)
        return ifft(spectrum, (self._fft_length,), (1,))[:, : self.shape[1]].T

    def adjoint_transformed(self, *pairs: tuple[Array, Array]) -> Array:
        xp = array_namespace(pairs[0][0])
        parts = []
        for i, degree in enumerate(self.degrees):
            spectrum = sum(sum_of_products(right, left[i, ...]) for left, right in pairs)
            parts.append(conj(ifft(spectrum, (self._fft_length,), (0,)))[: degree + 1])
        return xp.concat(parts)


def _split(x: Array, sizes: Sequence[int]) -> list[Array]:
    ends = np.cumsum(sizes)
    return [x[int(end) - size : int(end), ...] for end, size in zip(ends, sizes, strict=True)]

"""Products with many Hankel matrices of one shape at once."""

from __future__ import annotations

from math import prod

from .._array import Array, array_namespace, conj, fft, fft_length, ifft
from .base import Structure
from .hankel import Hankel
from .toeplitz import Toeplitz


class HankelStack:
    """Hankel matrices of a stack of signals, as products with stacks of thin factors.

    Signals have shape (problems, n), factors (problems, r, M) or (problems, r, N): columns are
    rows here, so that transforms run along memory. A matrix is `X = sum_k u_k w_k^T`, where w is
    the conjugate of V, so that both factors are transformed alike. Toeplitz matrices are Hankel
    matrices with reversed columns: only `columns_of` knows.

    Parameters
    ----------
    structure : Hankel
        One or several axes, no blocks.
    """

    def __init__(self, structure: Hankel) -> None:
        self.lengths, self.window, self.columns = (
            structure.lengths,
            structure.window,
            structure.columns,
        )
        self.shape = structure.shape
        self.reversed = isinstance(structure, Toeplitz)
        self.fft_lengths = tuple(fft_length(length) for length in self.lengths)

    @classmethod
    def of(cls, structure: Structure) -> HankelStack:
        """Return the products for a structure, or raise an error if there are none."""
        plain = type(structure) in (Hankel, Toeplitz)
        if not plain or structure.block is not None:  # type: ignore[attr-defined]
            raise ValueError(
                f"the structure is {structure!r}, but Hankel or Toeplitz without blocks is "
                "expected: use gcgls in a loop"
            )
        return cls(structure)  # type: ignore[arg-type]

    def signals(self, y: Array) -> Array:
        """Transform signals (problems, n)."""
        return self._transform(y, self.lengths)

    def left(self, U: Array) -> Array:
        """Transform left factors (problems, r, M)."""
        return self._transform(U, self.window)

    def right(self, W: Array) -> Array:
        """Transform right factors (problems, r, N)."""
        return self._transform(W, self.columns)

    def adjoint(self, *pairs: tuple[Array, Array]) -> Array:
        """Sum all copies of every signal entry, of the sum of some `left right^T`."""
        xp = array_namespace(pairs[0][0])
        spectrum = xp.sum(pairs[0][0] * pairs[0][1], axis=1)
        for left, right in pairs[1:]:
            spectrum += xp.sum(left * right, axis=1)
        return self._inverse(spectrum, self.lengths)

    def matmul(self, signals: Array, right: Array) -> Array:
        """Multiply the matrices of transformed signals by `conj(w_k)`."""
        return self._correlated(signals, right, self.window)

    def rmatmul(self, signals: Array, left: Array) -> Array:
        """Multiply the transposed matrices of transformed signals by `conj(u_k)`."""
        return self._correlated(signals, left, self.columns)

    def columns_of(self, W: Array) -> Array:
        """The columns of V for one problem, (N, r), from (r, N)."""
        xp = array_namespace(W)
        V = conj(W)
        if self.reversed:
            grid = xp.reshape(V, (V.shape[0], *self.columns))
            V = xp.reshape(xp.flip(grid, axis=self._axes), V.shape)
        return V.T

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.lengths) + 1))

    def _transform(self, x: Array, grid: tuple[int, ...]) -> Array:
        xp = array_namespace(x)
        outer = x.shape[:-1]
        spectra = fft(xp.reshape(x, (prod(outer), *grid)), self.fft_lengths, self._axes)
        return xp.reshape(spectra, (*outer, prod(spectra.shape[1:])))

    def _correlated(self, signals: Array, factors: Array, grid: tuple[int, ...]) -> Array:
        """Invert `signals * conj(factors)`, without a conjugated copy of the factors."""
        return conj(self._inverse(conj(signals)[:, None, :] * factors, grid, mirrored=True))

    def _inverse(self, spectra: Array, grid: tuple[int, ...], *, mirrored: bool = False) -> Array:
        xp = array_namespace(spectra)
        outer = spectra.shape[:-1]
        *head, last = self.fft_lengths
        whole = prod(self.fft_lengths) == spectra.shape[-1]
        frequencies = (*head, last if whole else last // 2 + 1)
        folded = xp.reshape(spectra, (prod(outer), *frequencies))
        x = ifft(folded, self.fft_lengths, self._axes, mirrored=mirrored)
        inside = x[(slice(None), *(slice(0, size) for size in grid))]
        return xp.reshape(inside, (*outer, prod(grid)))

"""Complex FFTs in one dimension, computed as two FFTs of half the length.

This pays for signals that are zero-padded to about twice their length. With h = n / 2 and `x` split
into its first and second half, a and b, the even frequencies are the DFT of `a + b` and the odd
ones that of `(a - b) exp(-2 pi i j / n)`, both of length h. A factor of a Hankel matrix fills about
half of the padded length, so b is nearly empty: few zeros are written or transformed, and the
shorter transforms stay in the cache. The even frequencies come first in the spectrum; products of
spectra do not depend on this order. The functions work on NumPy arrays, along the last axis, row
by row, on as many threads as `scipy.fft.set_workers` allows.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .long_fft import assign, dft, for_each, inverse_dft
from .namespace import NDArray


def fft(x: NDArray, length: int, *, mirrored: bool = False) -> NDArray:
    """Compute the zero-padded DFT of every row; `mirrored` flips the sign of the exponent."""
    half = length // 2
    rows = x.reshape(-1, x.shape[-1])
    twiddle = _twiddle(length, x.dtype.char, mirrored)
    spectra = np.empty((len(rows), 2, half), dtype=x.dtype)
    size = min(rows.shape[1], half)

    def one_row(k: int) -> None:
        even, odd = spectra[k]
        first, second = rows[k, :size], rows[k, size:]
        even[:size] = first
        np.multiply(first, twiddle[:size], out=odd[:size])
        spectra[k, :, size:] = 0
        even[: second.size] += second
        odd[: second.size] -= second * twiddle[: second.size]
        assign(spectra[k], dft(spectra[k], axis=1, mirrored=mirrored))

    for_each(one_row, range(len(rows)))
    return spectra.reshape(*x.shape[:-1], length)


def ifft_of_product(
    signal: NDArray, factor: NDArray, length: int, size: int, *, mirrored: bool = False
) -> NDArray:
    """Invert `fft` at `signal * factor`, row by row, and return the first `size` entries."""
    half = length // 2
    rows = factor.reshape(-1, 2, half)
    signal = signal * signal.real.dtype.type(0.5)
    signal = signal.reshape(2, half) if signal.ndim else signal
    out = np.empty((len(rows), size), dtype=np.result_type(signal.dtype, factor.dtype))
    twiddle = _twiddle(length, out.dtype.char, not mirrored)
    left, rest = min(size, half), max(size - half, 0)

    def one_row(k: int) -> None:
        even, odd = inverse_dft(signal * rows[k], axis=1, mirrored=mirrored)
        odd *= twiddle
        np.add(even[:left], odd[:left], out=out[k, :left])
        np.subtract(even[:rest], odd[:rest], out=out[k, left:])

    for_each(one_row, range(len(rows)))
    return out.reshape(*factor.shape[:-1], size)


@lru_cache(maxsize=4)
def _twiddle(length: int, dtype: str, mirrored: bool) -> NDArray:
    sign = 2j if mirrored else -2j
    table: NDArray = np.exp(sign * np.pi / length * np.arange(length // 2))
    return table.astype(dtype, copy=False)

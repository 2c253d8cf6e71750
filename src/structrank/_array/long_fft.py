"""FFTs in one dimension that are too long for the cache, as two passes of short FFTs.

With n = n1 n2, index j = j1 n2 + j2 and frequency k = k1 + n1 k2, the DFT is n2 transforms of
length n1, a multiplication by `exp(-2 pi i k1 j2 / n)`, and n1 transforms of length n2. The
frequencies stay in the order (k1, k2); products of spectra do not depend on it. For a real signal,
only k1 <= n1 / 2 is stored. The functions work on NumPy arrays, along the last axis, row by row,
on as many threads as `scipy.fft.set_workers` allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import scipy.fft

from .namespace import NDArray


def fft(x: NDArray, length: int, *, mirrored: bool = False) -> NDArray:
    """Compute the zero-padded DFT of every row; `mirrored` flips the sign of the exponent."""
    n1, n2 = _factors(length)
    real = x.dtype.kind != "c"
    kept = n1 // 2 + 1 if real else n1
    twiddle = _twiddle(n1, n2, np.result_type(x.dtype, np.complex64).char, mirrored)[:kept]
    rows = x.reshape(-1, x.shape[-1])
    spectra = np.empty((rows.shape[0], kept, n2), dtype=twiddle.dtype)

    def one_row(k: int) -> None:
        padded = np.empty((n1, n2), dtype=x.dtype) if real else spectra[k]
        flat = padded.reshape(-1)
        flat[: rows.shape[1]] = rows[k]
        flat[rows.shape[1] :] = 0
        if real:
            columns = scipy.fft.rfft(padded, axis=0)
            columns = np.conj(columns, out=columns) if mirrored else columns
        else:
            columns = dft(padded, axis=0, mirrored=mirrored)
        columns = np.multiply(columns, twiddle, out=spectra[k])
        assign(spectra[k], dft(columns, axis=1, mirrored=mirrored))

    for_each(one_row, range(rows.shape[0]))
    return spectra.reshape(*x.shape[:-1], kept * n2)


def ifft_of_product(
    signal: NDArray, factor: NDArray, length: int, size: int, *, mirrored: bool = False
) -> NDArray:
    """Invert `fft` at `signal * factor`, row by row, and return the first `size` entries."""
    n1, n2 = _factors(length)
    kept = factor.shape[-1] // n2
    real = kept != n1
    dtype = np.result_type(signal.dtype, factor.dtype)
    twiddle = _twiddle(n1, n2, dtype.char, not mirrored)[:kept]
    rows = factor.reshape(-1, kept, n2)
    signal = signal.reshape(kept, n2) if signal.ndim else signal
    out = np.empty((rows.shape[0], size), dtype=signal.real.dtype if real else dtype)

    def one_row(k: int) -> None:
        columns = inverse_dft(signal * rows[k], axis=1, mirrored=mirrored)
        columns *= twiddle
        if real:
            columns = np.conj(columns, out=columns) if mirrored else columns
            columns = scipy.fft.irfft(columns, n1, axis=0, overwrite_x=True)
        else:
            columns = inverse_dft(columns, axis=0, mirrored=mirrored)
        out[k] = columns.reshape(-1)[:size]

    for_each(one_row, range(rows.shape[0]))
    return out.reshape(*factor.shape[:-1], size)


def dft(x: NDArray, *, axis: int, mirrored: bool) -> NDArray:
    """Compute the unscaled DFT with either sign of the exponent. May overwrite x."""
    spectrum: NDArray
    if mirrored:
        spectrum = scipy.fft.ifft(x, axis=axis, norm="forward", overwrite_x=True)
    else:
        spectrum = scipy.fft.fft(x, axis=axis, overwrite_x=True)
    return spectrum


def inverse_dft(x: NDArray, *, axis: int, mirrored: bool) -> NDArray:
    """Invert `dft`. May overwrite x."""
    signal: NDArray
    if mirrored:
        signal = scipy.fft.fft(x, axis=axis, norm="forward", overwrite_x=True)
    else:
        signal = scipy.fft.ifft(x, axis=axis, overwrite_x=True)
    return signal


def assign(target: NDArray, result: NDArray) -> None:
    """Copy the result, unless the transform was made in place."""
    if not np.may_share_memory(target, result):
        target[...] = result


def for_each(task: Callable[[int], None], items: Iterable[int]) -> None:
    """Run a task for every item, on as many threads as `scipy.fft.set_workers` allows."""
    workers = scipy.fft.get_workers()
    if workers == 1:
        for item in items:
            task(item)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(task, items))


def can_split(length: int, *, max_ratio: int = 64) -> bool:
    """Whether the length has two factors whose ratio is at most `max_ratio`.

    With a larger ratio one of the two passes is nearly as long as the whole transform.
    """
    n1, n2 = _factors(length)
    return n1 >= 3 and n2 <= max_ratio * n1


@lru_cache
def _factors(length: int) -> tuple[int, int]:
    """Return the largest divisor n1 of the length up to its square root, and length / n1."""
    n1 = max(d for d in range(1, int(length**0.5) + 1) if length % d == 0)
    return n1, length // n1


@lru_cache(maxsize=4)
def _twiddle(n1: int, n2: int, dtype: str, mirrored: bool) -> NDArray:
    sign = 2j if mirrored else -2j
    table: NDArray = np.exp(sign * np.pi / (n1 * n2) * np.arange(n1)[:, None] * np.arange(n2))
    return table.astype(dtype, copy=False)

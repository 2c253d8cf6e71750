"""FFTs: `scipy.fft` or faster ones of our own for NumPy arrays, the array API for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
import scipy.fft
from array_api_compat import device, is_jax_array

from . import halved_fft, long_fft
from .namespace import Array, NDArray, array_namespace, conj, is_complex, is_numpy_array


@dataclass(frozen=True)
class FFTSizes:
    """From which lengths on our own FFTs are used; where they got faster than `scipy.fft`."""

    halved: int = 2**17  # two complex FFTs of half the length are faster than one
    long: int = 2**19  # two passes of short FFTs are faster than one long FFT
    by_row: int = 2**20  # entries of a stack from which on rows are transformed one by one: memory
    row: int = 2**16  # entries of such a row; shorter ones do not fill a GPU


SIZES = FFTSizes()


def fft(x: Array, lengths: Sequence[int], axes: Sequence[int], *, mirrored: bool = False) -> Array:
    """Compute the zero-padded DFT over `axes`; half of the spectrum if `x` is real.

    `mirrored` flips the sign of the exponent: this transforms the reversed signal. The order of
    the frequencies depends only on the lengths, so spectra can be multiplied.
    """
    options: dict[str, Any] = {}
    module = array_namespace(x).fft
    if axes[0] == 1 and _by_row(x):
        rows = (fft(x[k : k + 1, ...], lengths, axes, mirrored=mirrored) for k in range(x.shape[0]))
        return _stacked(rows, x.shape[0])
    if is_numpy_array(x):
        own = _own_transforms(x, lengths, axes, real=not is_complex(x))
        if own is not None:
            return own.fft(x, lengths[0], mirrored=mirrored)
        module = scipy.fft
        if is_complex(x):  # pad here, so that the transform can be made in place
            x, options["overwrite_x"] = _zero_padded(x, lengths, axes), True
    if not is_complex(x):
        spectrum = _transform(module, "rfft", x, lengths, axes)
        return conj(spectrum) if mirrored else spectrum
    if mirrored:
        return _transform(module, "ifft", x, lengths, axes, norm="forward", **options)
    return _transform(module, "fft", x, lengths, axes, **options)


def ifft(
    spectrum: Array, lengths: Sequence[int], axes: Sequence[int], *, mirrored: bool = False
) -> Array:
    """Invert `fft` with the same arguments. May overwrite the spectrum.

    The result is real if the last of `axes` has the size of half a spectrum. Lengths along this
    axis must be 3 or more, since below 3 a half and a whole spectrum have the same size.
    """
    options: dict[str, Any] = {}
    module = array_namespace(spectrum).fft
    real = spectrum.shape[axes[-1]] != lengths[-1]
    if is_numpy_array(spectrum):
        own = _own_transforms(spectrum, lengths, axes, real=real)
        if own is not None:
            one = np.ones((), dtype=spectrum.dtype)
            return own.ifft_of_product(one, spectrum, lengths[0], lengths[0], mirrored=mirrored)
        module, options["overwrite_x"] = scipy.fft, True
    if real:
        spectrum = conj(spectrum) if mirrored else spectrum
        return _transform(module, "irfft", spectrum, lengths, axes, **options)
    if mirrored:
        return _transform(module, "fft", spectrum, lengths, axes, norm="forward", **options)
    return _transform(module, "ifft", spectrum, lengths, axes, **options)


def _transform(
    module: Any, name: str, x: Array, lengths: Sequence[int], axes: Sequence[int], **options: Any
) -> Array:
    """Call a transform of a library; transforms over one axis have less overhead."""
    if len(axes) == 1:
        return getattr(module, name)(x, n=lengths[0], axis=axes[0], **options)
    return getattr(module, name + "n")(x, s=tuple(lengths), axes=tuple(axes), **options)


def ifft_of_product(
    signal: Array,
    factors: Array,
    lengths: Sequence[int],
    sizes: Sequence[int],
    *,
    mirrored: bool = False,
) -> Array:
    """Compute `ifft(signal * factors)` for a stack of factors; keep the first `sizes` entries."""
    axes = range(1, len(lengths) + 1)
    if is_numpy_array(factors):
        own = _own_transforms(factors, lengths, axes, real=factors.shape[-1] != lengths[-1])
        if own is not None:
            return own.ifft_of_product(signal, factors, lengths[0], sizes[0], mirrored=mirrored)
    cut = (slice(None), *(slice(0, size) for size in sizes))
    if not _by_row(factors):
        return ifft(signal * factors, lengths, axes, mirrored=mirrored)[cut]
    rows = (
        ifft(signal * factors[k : k + 1, ...], lengths, axes, mirrored=mirrored)[cut]
        for k in range(factors.shape[0])
    )
    return _stacked(rows, factors.shape[0])


def _by_row(stack: Array) -> bool:
    """Whether the rows of a stack are transformed one by one, to save memory.

    Other libraries than SciPy need several copies of what they transform. Arrays of JAX cannot be
    changed in place, so rows could not be put together without a copy.
    """
    row = prod(stack.shape[1:])
    large = stack.shape[0] > 1 and row >= SIZES.row and stack.shape[0] * row >= SIZES.by_row
    return large and not is_numpy_array(stack) and not is_jax_array(stack)


def _stacked(rows: Iterator[Array], count: int) -> Array:
    """Put rows of shape (1, ...) together, as they are made."""
    first = next(rows)
    xp = array_namespace(first)
    shape = (count, *first.shape[1:])
    stack = xp.empty(shape, dtype=first.dtype, device=device(first))
    stack[0:1, ...] = first
    for k, row in enumerate(rows, start=1):
        stack[k : k + 1, ...] = row
    return stack


def _zero_padded(x: NDArray, lengths: Sequence[int], axes: Sequence[int]) -> NDArray:
    shape = list(x.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    padded = np.zeros(shape, dtype=x.dtype)
    padded[tuple(slice(0, size) for size in x.shape)] = x
    return padded


def _own_transforms(
    x: NDArray, lengths: Sequence[int], axes: Sequence[int], *, real: bool
) -> ModuleType | None:
    """Choose which of our own transforms to use for `x`, or None for `scipy.fft`.

    `real` says whether the signals are real; `x` itself can be a spectrum.
    """
    if len(axes) > 1 or axes[0] != x.ndim - 1:
        return None
    length = lengths[0]
    if length >= SIZES.long and long_fft.can_split(length):
        return long_fft
    if length >= SIZES.halved and length % 2 == 0 and not real:
        return halved_fft
    return None


def fft_length(size: int) -> int:
    """Return a length of at least `size`, and at least 3, for which FFTs are fast."""
    return int(scipy.fft.next_fast_len(max(size, 3), real=True))

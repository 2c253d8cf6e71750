"""Array namespaces, FFTs and the few kernels that differ by back end.

The only module that knows which array library it is working with. NumPy arrays go
through `scipy.fft` (so `scipy.fft.set_workers` and `scipy.fft.set_backend` apply) and
BLAS; every other library through its own array API namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import scipy.fft
from array_api_compat import array_namespace as namespace_of
from array_api_compat import (
    device,
    is_array_api_obj,
    is_cupy_array,
    is_jax_array,
    is_numpy_namespace,
)
from array_api_compat import numpy as numpy_namespace
from scipy.linalg import get_blas_funcs

from . import _halved_fft, _long_fft

Array = Any
"""An array of any library that follows the Python array API standard."""


HALVED = 2**17  # from here on two complex FFTs of half the length are faster than one
LONG = 2**19  # from here on two passes of short FFTs are faster than one
_PIECE = 2**16  # complex numbers that a few of fit into the cache of a core


def array_namespace(*arrays: Array) -> Any:
    """The array API namespace of the arrays; the usual case without a search."""
    if all(type(x) is np.ndarray for x in arrays):
        return numpy_namespace
    return namespace_of(*arrays)


def is_numpy_array(x: Any) -> bool:
    """Whether `x` is a NumPy array."""
    return isinstance(x, np.ndarray)


def as_array(x: Any) -> Array:
    """`x` itself if it is an array of a supported library, else as a NumPy array."""
    return x if is_array_api_obj(x) else np.asarray(x)


def is_complex(x: Array) -> bool:
    """Whether `x` has a complex data type."""
    if is_numpy_array(x):
        return bool(x.dtype.kind == "c")
    return bool(array_namespace(x).isdtype(x.dtype, "complex floating"))


def is_floating(x: Array) -> bool:
    """Whether `x` is real or complex, in single or double precision."""
    if isinstance(x.dtype, np.dtype):
        return x.dtype in (np.float32, np.float64, np.complex64, np.complex128)
    xp = array_namespace(x)
    return x.dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128)


def real_dtype(x: Array) -> Any:
    """Data type of the real part of `x`."""
    return array_namespace(x).real(x).dtype if is_complex(x) else x.dtype


def epsilon(x: Array) -> float:
    """Machine epsilon of the data type of `x`."""
    return float(array_namespace(x).finfo(x.dtype).eps)


def conj(x: Array) -> Array:
    """Complex conjugate; `x` itself if it is real."""
    return array_namespace(x).conj(x) if is_complex(x) else x


def like(values: np.ndarray | Sequence[Any], reference: Array, *, real: bool = False) -> Array:
    """`values` moved to the library, device and data type of `reference`.

    With `real`, to the data type of its real part.
    """
    xp = array_namespace(reference)
    values = np.asarray(values)
    if values.dtype.kind in "fc":
        dtype = real_dtype(reference) if real else reference.dtype
    elif values.dtype.kind == "b":
        dtype = xp.bool
    else:
        dtype = xp.int64
    if is_numpy_namespace(xp):
        return values.astype(dtype, copy=False)
    return xp.asarray(np.array(values), dtype=dtype, device=device(reference))


def with_precision(values: np.ndarray, reference: Array) -> Array:
    """Real or complex `values` in the library, device and precision of `reference`."""
    xp = array_namespace(reference)
    single = real_dtype(reference) == xp.float32
    kinds = (np.complex64, np.complex128) if values.dtype.kind == "c" else (np.float32, np.float64)
    values = values.astype(kinds[0 if single else 1], copy=False)
    return values if is_numpy_namespace(xp) else xp.asarray(values, device=device(reference))


def to_numpy(x: Array) -> np.ndarray:
    """`x` as a NumPy array on the host."""
    if is_numpy_array(x):
        return x
    if hasattr(x, "resolve_conj"):  # torch
        x = x.detach().resolve_conj().resolve_neg().cpu()
    elif is_cupy_array(x):
        return np.asarray(x.get())
    elif is_jax_array(x):
        return np.asarray(x)
    return np.asarray(np.from_dlpack(x) if hasattr(x, "__dlpack__") else x)


def fft(x: Array, lengths: Sequence[int], axes: Sequence[int], *, mirrored: bool = False) -> Array:
    """Zero-padded DFT over `axes`; half a spectrum if `x` is real.

    `mirrored` turns the sign of the exponent: the transform of the signal run backwards. The
    order of the frequencies depends on the lengths alone: spectra can be multiplied.
    """
    options: dict[str, Any] = {}
    module = array_namespace(x).fft
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
    """Inverse of `fft` with the same arguments. May overwrite the spectrum.

    The result is real when the last of `axes` holds half a spectrum, so lengths there
    have to be 3 or more: below that a half and a whole spectrum have the same size.
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
    """A transform of a library; those over one axis have less to look at first."""
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
    """`ifft(signal * factors)` for a stack of factors, cut to the first `sizes` entries."""
    axes = range(1, len(lengths) + 1)
    if is_numpy_array(factors):
        own = _own_transforms(factors, lengths, axes, real=factors.shape[-1] != lengths[-1])
        if own is not None:
            return own.ifft_of_product(signal, factors, lengths[0], sizes[0], mirrored=mirrored)
    product = ifft(signal * factors, lengths, axes, mirrored=mirrored)
    return product[(slice(None), *(slice(0, size) for size in sizes))]


def _zero_padded(x: np.ndarray, lengths: Sequence[int], axes: Sequence[int]) -> np.ndarray:
    shape = list(x.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    padded = np.zeros(shape, dtype=x.dtype)
    padded[tuple(slice(0, size) for size in x.shape)] = x
    return padded


def _own_transforms(
    x: np.ndarray, lengths: Sequence[int], axes: Sequence[int], *, real: bool
) -> ModuleType | None:
    """Which of our own transforms to use for `x`, of signals that are real or not, if any."""
    if len(axes) > 1 or axes[0] != x.ndim - 1:
        return None
    length = lengths[0]
    if length >= LONG and _long_fft.can_split(length):
        return _long_fft
    if length >= HALVED and length % 2 == 0 and not real:
        return _halved_fft
    return None


def fft_length(size: int) -> int:
    """A length of at least `size`, and 3, for which FFTs are fast."""
    return int(scipy.fft.next_fast_len(max(size, 3), real=True))


def sum_of_products(left: Array, right: Array) -> Array:
    """`sum_k left[k] * conj(right[k])` of complex arrays over the first axis."""
    if not is_numpy_array(left):
        return array_namespace(left).sum(left * conj(right), axis=0)
    if left.size <= _PIECE:
        terms = np.conj(right)
        terms *= left
        return np.add.reduce(terms, axis=0)
    total = np.empty(left.shape[1:], dtype=left.dtype)
    flat, rows = total.reshape(-1), (left.reshape(len(left), -1), right.reshape(len(right), -1))
    for start in range(0, flat.size, _PIECE):  # in pieces that stay in the cache
        part = flat[start : start + _PIECE]
        l, r = (x[:, start : start + _PIECE] for x in rows)
        np.conj(r[0], out=part)
        part *= l[0]
        term = np.empty_like(part)
        for k in range(1, len(l)):
            np.conj(r[k], out=term)
            term *= l[k]
            part += term
    return total


def inner(x: Array, y: Array) -> float:
    """Real inner product `Re <x, y>` over all entries."""
    if is_numpy_array(x) and is_numpy_array(y):  # small problems spend their time here
        return float(np.vdot(*((x, y) if x.ndim == 1 else _flattened(x, y))).real)
    xp = array_namespace(x, y)
    product = xp.vecdot(*_flattened(x, y))
    return float(xp.real(product) if is_complex(product) else product)


def add_scaled(y: Array, scale: float, x: Array) -> Array:
    """`y + scale * x`, in the memory of `y` where the library allows it."""
    scale = float(scale)
    if is_numpy_array(y) and y.dtype == x.dtype and y.strides == x.strides:
        flat_y, flat_x = _flattened(y, x)
        if np.shares_memory(flat_y, y):
            _blas("axpy", y.dtype)(flat_x, flat_y, a=scale)
            return y
    y += x if scale == 1.0 else scale * x
    return y


@lru_cache
def _blas(name: str, dtype: np.dtype) -> Any:
    """A function of BLAS for a data type."""
    return get_blas_funcs(name, dtype=dtype)


def _flattened(x: Array, y: Array) -> tuple[Array, Array]:
    """Both as vectors in one order, without copies where both are laid out alike."""
    if is_numpy_array(x) and is_numpy_array(y) and x.strides == y.strides:
        return x.ravel(order="K"), y.ravel(order="K")
    xp = array_namespace(x, y)
    return xp.reshape(x, (-1,)), xp.reshape(y, (-1,))


def _columns_contiguous(*arrays: np.ndarray) -> bool:
    return all(x.flags.f_contiguous for x in arrays)


def gram(A: Array, B: Array) -> np.ndarray:
    """The small matrix `A^H B`, on the host in double precision."""
    if is_numpy_array(A) and A.dtype == B.dtype and _columns_contiguous(A, B):
        if A is B and is_complex(A):  # one triangle is enough; real ones are soon multiplied
            upper = _blas("herk", A.dtype)(1.0, A, trans=2)
            product = upper + np.triu(upper, 1).conj().T
        else:
            product = _blas("gemm", A.dtype)(1.0, A, B, trans_a=2)  # no conjugated copy
    else:
        product = to_numpy(array_namespace(A, B).matmul(conj(A).T, B))
    return product.astype(np.complex128 if np.iscomplexobj(product) else np.float64)


def add_rotated(total: Array, A: Array, small: np.ndarray) -> Array:
    """`total + A @ small` for a tall `A`, in the memory of `total` where the library allows it."""
    if is_numpy_array(A) and A.dtype == total.dtype and _columns_contiguous(A, total):
        gemm = _blas("gemm", A.dtype)
        return gemm(1.0, A, like(small, A), beta=1.0, c=total, overwrite_c=True)
    rotated = rotate(A, small)
    rotated += total
    return rotated


def rotate(A: Array, small: np.ndarray) -> Array:
    """`A @ small` for a tall `A`, with the columns of the result contiguous in memory."""
    xp = array_namespace(A)
    return xp.matmul(like(small, A).T, A.T).T

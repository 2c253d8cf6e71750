"""Sums and products of arrays: BLAS for NumPy arrays, the array API for the others."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from scipy.linalg import get_blas_funcs

from .long_sums import gram_of_pieces, inner_of_pieces, is_long_single
from .namespace import (
    Array,
    NDArray,
    array_namespace,
    conj,
    is_complex,
    is_numpy_array,
    like,
    to_numpy,
)


def sum_of_products(left: Array, right: Array, *, piece: int = 2**16, large: int = 2**26) -> Array:
    """Compute `sum_k left[k] * conj(right[k])` for complex arrays.

    Large NumPy arrays are summed in pieces of this many numbers, a few of which fit into the cache
    of a core. Other large arrays are summed one after the other, to save memory.
    """
    if not is_numpy_array(left):
        if math.prod(left.shape) <= large:
            return array_namespace(left).sum(left * conj(right), axis=0)
        total = left[0, ...] * conj(right[0, ...])
        for k in range(1, left.shape[0]):
            total += left[k, ...] * conj(right[k, ...])
        return total
    if left.size <= piece:
        terms = np.conj(right)
        terms *= left
        return np.add.reduce(terms, axis=0)
    total = np.empty(left.shape[1:], dtype=left.dtype)
    flat, rows = total.reshape(-1), (left.reshape(len(left), -1), right.reshape(len(right), -1))
    for start in range(0, flat.size, piece):
        part = flat[start : start + piece]
        l, r = (x[:, start : start + piece] for x in rows)
        np.conj(r[0], out=part)
        part *= l[0]
        term = np.empty_like(part)
        for k in range(1, len(l)):
            np.conj(r[k], out=term)
            term *= l[k]
            part += term
    return total


def inner(x: Array, y: Array) -> float:
    """Compute the real inner product `Re <x, y>` over all entries."""
    if is_long_single(x, math.prod(x.shape)):
        return inner_of_pieces(*_flattened(x, y))
    if is_numpy_array(x) and is_numpy_array(y):  # small problems spend their time here
        return float(np.vdot(*((x, y) if x.ndim == 1 else _flattened(x, y))).real)
    xp = array_namespace(x, y)
    product = getattr(xp, "vdot", xp.vecdot)(*_flattened(x, y))  # vecdot may copy a conjugate
    return float(xp.real(product) if is_complex(product) else product)


def add_scaled(y: Array, scale: float, x: Array) -> Array:
    """Compute `y + scale * x`, in the memory of `y` where the library allows it."""
    scale = float(scale)
    if is_numpy_array(y) and y.dtype == x.dtype and y.strides == x.strides:
        flat_y, flat_x = _flattened(y, x)
        if np.shares_memory(flat_y, y):
            _blas("axpy", y.dtype)(flat_x, flat_y, a=scale)
            return y
    if is_torch_array(y) and y.dtype == x.dtype:
        return y.add_(x, alpha=scale)  # one pass over the memory
    y += x if scale == 1.0 else scale * x
    return y


@lru_cache
def _blas(name: str, dtype: np.dtype[Any]) -> Any:
    """Return the BLAS function for a data type."""
    return get_blas_funcs(name, dtype=dtype)


def _flattened(x: Array, y: Array) -> tuple[Array, Array]:
    """Flatten both arrays in the same order, without a copy if their memory layouts agree."""
    if is_numpy_array(x) and is_numpy_array(y) and x.strides == y.strides:
        return x.ravel(order="K"), y.ravel(order="K")
    xp = array_namespace(x, y)
    if _column_by_column(x) and _column_by_column(y):
        x, y = x.T, y.T
    return xp.reshape(x, (-1,)), xp.reshape(y, (-1,))


def _column_by_column(x: Array) -> bool:
    """Whether the columns of a matrix lie in memory one after the other, as far as is known."""
    if x.ndim != 2:
        return False
    if hasattr(x, "flags"):  # CuPy
        return bool(x.flags.f_contiguous)
    return hasattr(x, "stride") and x.stride(0) == 1  # PyTorch


def _columns_contiguous(*arrays: NDArray) -> bool:
    return all(x.flags.f_contiguous for x in arrays)


def gram(A: Array, B: Array) -> NDArray:
    """Compute the small matrix `A^H B`, on the host in double precision."""
    product: NDArray
    if 0 in (A.shape[1], B.shape[1]):  # BLAS complains about empty matrices
        return np.zeros((A.shape[1], B.shape[1]), np.complex128 if is_complex(A) else np.float64)
    if A.dtype == B.dtype and is_long_single(A, A.shape[0]):
        return gram_of_pieces(A, B)
    if is_numpy_array(A) and A.dtype == B.dtype and _columns_contiguous(A, B):
        if A is B and is_complex(A):  # one triangle is enough; it does not pay for real ones
            upper = _blas("herk", A.dtype)(1.0, A, trans=2)
            product = upper + np.triu(upper, 1).conj().T
        else:
            product = _blas("gemm", A.dtype)(1.0, A, B, trans_a=2)  # no conjugated copy
    else:
        adjoint = A.mH if hasattr(A, "mH") else conj(A).T  # PyTorch makes no copy of it
        product = to_numpy(array_namespace(A, B).matmul(adjoint, B))
    return product.astype(np.complex128 if np.iscomplexobj(product) else np.float64)


def add_rotated(total: Array, A: Array, small: NDArray) -> Array:
    """Compute `total + A @ small` for a tall `A`, in the memory of `total` where possible."""
    if is_numpy_array(A) and A.dtype == total.dtype and _columns_contiguous(A, total):
        gemm = _blas("gemm", A.dtype)
        return gemm(1.0, A, like(small, A), beta=1.0, c=total, overwrite_c=True)
    rotated = rotate(A, small)
    rotated += total
    return rotated


def rotate(A: Array, small: NDArray) -> Array:
    """Compute `A @ small` for a tall `A`; columns of the result are contiguous in memory."""
    xp = array_namespace(A)
    return xp.matmul(like(small, A).T, A.T).T

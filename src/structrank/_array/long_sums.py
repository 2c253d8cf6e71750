"""Sums of many numbers in single precision, whose pieces are added in double precision.

The penalty is a difference of two squares of nearly the same size. For a million samples, sums in
single precision alone lose all of its digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import is_cupy_array, is_jax_array, is_torch_array

from .namespace import (
    Array,
    NDArray,
    array_namespace,
    conj,
    in_double_precision,
    is_complex,
    is_numpy_array,
    to_numpy,
)


@dataclass(frozen=True)
class SumPieces:
    """How many numbers are added in single precision, and how many are held at a time."""

    short: int = 2**12  # its rounding, about 10 epsilons, is random: the mean over pieces has less
    large: int = 2**26  # as in `sum_of_products`, to save memory


PIECES = SumPieces()


def is_long_single(x: Array, length: int) -> bool:
    """Whether sums over this many numbers of `x` are made in pieces."""
    if length <= PIECES.short:
        return False
    if is_numpy_array(x):
        return x.dtype.char in "fF"
    xp = array_namespace(x)
    return x.dtype in (xp.float32, xp.complex64)


def inner_of_pieces(x: Array, y: Array) -> float:
    """Compute `Re <x, y>` of two flat arrays."""
    if is_numpy_array(x) or (is_torch_array(x) and x.device.type == "cpu"):
        x, y = to_numpy(x), to_numpy(y)
        whole = x.size - x.size % PIECES.short
        rows = (z[:whole].reshape(-1, PIECES.short) for z in (x, y))
        sums = array_namespace(x).vecdot(*rows).real
        return float(np.sum(sums, dtype=float) + np.vdot(x[whole:], y[whole:]).real)
    xp, total = array_namespace(x, y), 0.0
    x, y = _real_parts(x), _real_parts(y)
    for start in range(0, x.shape[0], PIECES.large):
        part = slice(start, min(start + PIECES.large, x.shape[0]))
        total += float(xp.sum(x[part] * y[part], dtype=xp.float64))
    return total


def gram_of_pieces(A: Array, B: Array) -> NDArray:
    """Compute `A^H B` for two tall matrices."""
    xp, rows = array_namespace(A, B), A.shape[0]
    whole = rows - rows % PIECES.short
    parts = [_adjoint_times(*(_split(F[:whole, :]) for F in (A, B)))]
    if whole < rows:
        parts.append(_adjoint_times(*(F[None, whole:, :] for F in (A, B))))
    double = xp.complex128 if is_complex(A) else xp.float64
    sums: NDArray = np.sum([to_numpy(xp.sum(part, axis=0, dtype=double)) for part in parts], axis=0)
    return sums


def gram_in_double(A: Array) -> NDArray:
    """Compute `A^H A` of a tall matrix in double precision; few rows are converted at a time."""
    total, step = np.zeros(()), max(PIECES.large // (4 * max(A.shape[1], 1)), 1)
    for start in range(0, A.shape[0], step):
        part = in_double_precision(A[start : min(start + step, A.shape[0]), :])
        total = total + to_numpy(_adjoint_times(part[None, :, :], part[None, :, :]))[0]
    return total


def _split(F: Array) -> Array:
    """Cut a tall matrix (M, r) to (pieces, rows, r), without a copy if columns are contiguous."""
    xp = array_namespace(F)
    folded = xp.reshape(F.T, (F.shape[1], -1, PIECES.short))
    return xp.permute_dims(folded, (1, 2, 0))


def _adjoint_times(A: Array, B: Array) -> Array:
    xp = array_namespace(A, B)
    adjoint = A.mH if is_torch_array(A) else xp.permute_dims(conj(A), (0, 2, 1))
    return xp.matmul(adjoint, B)


def _real_parts(x: Array) -> Array:
    """Real and imaginary parts as one flat array, without a copy where the library allows it."""
    if not is_complex(x):
        return x
    xp = array_namespace(x)
    if is_torch_array(x):
        return xp.reshape(xp.view_as_real(x.resolve_conj()), (-1,))
    if is_cupy_array(x) or is_jax_array(x):
        return x.view(xp.float32)
    return xp.concat([xp.real(x), xp.imag(x)])

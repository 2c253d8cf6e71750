"""Stacks of small matrices, the first axis for the problem: products and decompositions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from array_api_compat import is_torch_array

from .namespace import Array, NDArray, array_namespace, conj, is_complex, is_numpy_array, like


def inners(x: Array, y: Array) -> Array:
    """Compute the real inner products `Re <x[p], y[p]>` of two stacks."""
    xp = array_namespace(x, y)
    flat = (x.shape[0], -1)
    if is_torch_array(x):  # two kernels over the memory, without a conjugated copy
        parts = [xp.view_as_real(z.resolve_conj()) if is_complex(z) else z for z in (x, y)]
        return xp.sum(xp.reshape(parts[0] * parts[1], flat), axis=1)
    products = xp.vecdot(xp.reshape(x, flat), xp.reshape(y, flat))
    return xp.real(products) if is_complex(products) else products


def grams(A: Array, B: Array) -> Array:
    """Compute `<A[p, j], B[p, k]>` for two stacks of rows."""
    xp = array_namespace(A, B)
    if is_torch_array(A):  # a conjugated copy of the small result, not of A
        return conj(xp.matmul(A, B.mH))
    return xp.matmul(conj(A), transposed(B))


def transposed(x: Array) -> Array:
    """Swap rows and columns of every matrix of a stack."""
    return array_namespace(x).permute_dims(x, (0, 2, 1))


def chosen(x: Array, places: NDArray) -> Array:
    """Take some entries of the first axis."""
    return all_chosen((x,), places)[0]


def all_chosen(arrays: Iterable[Array], places: NDArray) -> list[Array]:
    """Take some entries of the first axis of arrays on one device, with one copy of the places."""
    arrays = list(arrays)
    if all(is_numpy_array(x) for x in arrays):
        return [x[places] for x in arrays]
    index = like(places, arrays[0])
    return [array_namespace(x).take(x, index, axis=0) for x in arrays]


def joined(parts: Sequence[Array], places: Sequence[NDArray]) -> Array:
    """Join parts of a stack, each of which holds some places of the first axis, in order."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(places))
    return chosen(array_namespace(*parts).concat(parts), order)


def orthonormal_rows(rows: Array) -> tuple[Array, Array]:
    """Return Q and R with `rows[p] = R[p] @ Q[p]` and orthonormal rows in Q.

    NumPy uses LAPACK. GPUs decompose one tall matrix at a time, so the others use the small Gram
    matrices, twice: the first pass leaves errors of at most 1% in the directions that matter.
    """
    xp = array_namespace(rows)
    if is_numpy_array(rows):
        Q, R = np.linalg.qr(transposed(rows))
        return transposed(Q), transposed(R)
    first, Q = _by_gram_matrix(rows)
    second, Q = _by_gram_matrix(Q)
    return Q, xp.matmul(first, second)


def _by_gram_matrix(rows: Array) -> tuple[Array, Array]:
    """Return R and Q as `orthonormal_rows`; rows of Q without a direction are zero."""
    xp = array_namespace(rows)
    values, vectors = xp.linalg.eigh(grams(rows, rows))  # conj(rows) rows^T = E diag(values) E^H
    tiny = xp.finfo(values.dtype).eps * values[:, -1:]
    use = values > tiny
    roots = xp.sqrt(xp.where(use, values, xp.ones_like(values)))
    zeros = xp.zeros_like(roots)
    E = conj(vectors)
    R = E * xp.where(use, roots, zeros)[:, None, :]
    inverse = transposed(vectors) * xp.where(use, 1 / roots, zeros)[:, :, None]
    return R, xp.matmul(inverse, rows)

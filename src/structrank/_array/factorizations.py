"""Decompositions of small matrices that do not fail: on the host, or stacks of them anywhere."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .long_sums import gram_in_double
from .namespace import Array, NDArray, array_namespace, is_numpy_array, to_numpy
from .products import rotate


def svd(matrix: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Compute the singular value decomposition `U diag(s) Vh`, with square U and Vh.

    NumPy's driver, gesdd, fails for some finite matrices of nearly low rank. Then a slower one is
    used, gesvd, which does not.
    """
    try:
        U, s, Vh = np.linalg.svd(matrix)
    except np.linalg.LinAlgError:
        U, s, Vh = scipy.linalg.svd(matrix, lapack_driver="gesvd", check_finite=False)
    return U, s, Vh


def singular_values(matrix: NDArray) -> NDArray:
    """Compute the singular values, largest first; as `svd`, it does not fail."""
    try:
        return np.linalg.svd(matrix, compute_uv=False)
    except np.linalg.LinAlgError:
        return svd(matrix)[1]


def orthonormal_columns(A: Array, *, tall: int = 2**16) -> tuple[Array, NDArray, NDArray]:
    """Return Q, T and R with `A = (Q T) R`, where `Q T` has orthonormal columns or zeros.

    T and R are small, on the host. Arrays of other libraries than NumPy with at least `tall` rows
    are decomposed by their Gram matrices, in double precision and twice: GPUs take much longer for
    Householder's method. The first pass leaves errors of at most 1% in directions that matter.
    """
    if is_numpy_array(A) or A.shape[0] < tall or not A.shape[1]:
        Q, R = array_namespace(A).linalg.qr(A)
        return Q, np.eye(Q.shape[1]), to_numpy(R)
    mix, first = _by_gram_matrix(gram_in_double(A))
    Q = rotate(A, mix)
    mix, second = _by_gram_matrix(gram_in_double(Q))
    return Q, mix, second @ first


def _by_gram_matrix(G: NDArray) -> tuple[NDArray, NDArray]:
    """Return T and R so that `A T` is orthonormal and `A T R = A`, for the Gram matrix of A."""
    values, vectors = np.linalg.eigh(G)
    use = values > np.finfo(float).eps * values[-1]
    roots = np.sqrt(np.where(use, values, 1.0))
    return vectors * (use / roots), (use * roots)[:, None] * vectors.conj().T


def svd_stack(matrices: Array) -> tuple[Array, Array, Array]:
    """Decompose every matrix of a stack, as `svd` does one, but with thin U and Vh."""
    linalg = array_namespace(matrices).linalg
    try:
        U, s, Vh = linalg.svd(matrices, full_matrices=False)
    except np.linalg.LinAlgError:
        parts = [svd(matrix) for matrix in matrices]
        k = min(matrices.shape[1:])
        U, s, Vh = (np.stack(part) for part in zip(*parts, strict=True))
        U, Vh = U[:, :, :k], Vh[:, :k, :]
    return U, s, Vh


def inverse(matrix: NDArray) -> NDArray:
    """Invert a small Hermitian matrix; the pseudoinverse if it is singular."""
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrix, hermitian=True)

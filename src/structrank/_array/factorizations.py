"""Decompositions of small matrices that do not fail: on the host, or stacks of them anywhere."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .namespace import Array, NDArray, array_namespace


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

"""Decompositions of small matrices on the host that do not fail."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .namespace import NDArray


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

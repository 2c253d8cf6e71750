"""Roots of covariances as free parameters: lower triangular, with the logarithm of the diagonal."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from .recursion import adjoint


def log_root(G: NDArray, floor: float) -> NDArray:
    """The parameters of G, whose eigenvalues are raised to at least `floor**2`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.log_roots import log_root, lower
    >>> L = lower(log_root(np.array([[4.0, 2.0], [2.0, 2.0]]), 1e-5))
    >>> L.round(6)
    array([[2., 0.],
           [1., 1.]])
    """
    values, vectors = np.linalg.eigh(G)
    lifted = np.sqrt(np.maximum(values, floor**2))
    R = np.asarray(np.linalg.qr(adjoint(vectors * lifted), mode="r"))
    root = adjoint(R) * (np.diag(R) / np.abs(np.diag(R)))
    np.fill_diagonal(root, np.log(np.abs(np.diag(root))))
    return root


def lower(root: NDArray) -> NDArray:
    """Lower triangular L with `L L^H = G`, from the parameters of G."""
    L = np.tril(root, -1)
    np.fill_diagonal(L, np.exp(np.diag(root).real))
    return L

"""The directions in which a structured signal can move while its matrix keeps its rank."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from .._array import NDArray, to_numpy
from ..model.lowrank import LowRank
from ..structures import Structure


@dataclass(frozen=True)
class TangentSearch:
    """How `tangent_basis` finds the eigenvectors to the eigenvalue one."""

    tolerance: float = 1e-6  # distance from one, and residuals, below this are rounding errors
    direct_size: int = 400  # largest signal for a full eigenvalue decomposition; set by hand
    min_steps: int = 10  # subspace iterations before eigenvalues are trusted; set by hand
    max_steps: int = 300  # largest number of subspace iterations; set by hand
    undecided: float = 0.5  # eigenvalues above this may still grow to one; set by hand
    extra_vectors: int = 2  # beyond twice the rank: some vectors must lie outside the space


Projection = Callable[[NDArray], NDArray]


def tangent_basis(
    structure: Structure, X: LowRank, search: TangentSearch = TangentSearch()
) -> NDArray:
    """Signals z that span the tangent space at a structured X: `(I - P_U) Q(z) (I - P_V) = 0`.

    They are the eigenvectors to the eigenvalue one of `z -> C (P_T Q(z))`, where P_T keeps what
    lies in the columns or rows of X. This eigenvalue is multiple, and mostly far above the others.
    For long signals subspace iteration finds it, with twice as many vectors each time until they
    span all of its eigenvectors.

    Parameters
    ----------
    structure : Structure
    X : LowRank
        A matrix of the structure.
    search : TangentSearch
        Numerical settings.

    Returns
    -------
    ndarray, shape (size of the signal, number of directions)

    Examples
    --------
    A geometric sequence has two parameters:

    >>> import numpy as np
    >>> from structrank import Hankel, LowRank
    >>> from structrank.modal.tangent import tangent_basis
    >>> powers = 0.5 ** np.arange(4.0)[:, None]
    >>> tangent_basis(Hankel(7, window=4), LowRank(powers, powers)).shape
    (7, 2)
    """
    U, V = (np.linalg.qr(to_numpy(F) * np.float64(1))[0] for F in (X.U, X.V))
    structure = copy(structure)
    structure.offset = None  # directions depend only on the linear part
    size = int(np.prod(structure.signal_shape))
    root = np.sqrt(structure.multiplicity.astype(float)).reshape(-1, 1)

    def projected(Z: NDArray) -> NDArray:
        images = []
        for z in (Z / root).T:
            signal = z.reshape(structure.signal_shape)
            left, right = structure.matmul(signal, V), structure.rmatmul(signal, U)
            left = left - U @ (U.conj().T @ left)
            images.append(structure.adjoint(left, V) + structure.adjoint(U, right))
        columns: NDArray = np.stack(images, axis=-1).reshape(size, -1) / root
        return columns

    basis: NDArray
    if size <= search.direct_size:
        values, vectors = np.linalg.eigh(projected(np.eye(size, dtype=U.dtype)))
        basis = vectors[:, values > 1 - search.tolerance] / root
    else:
        count = 2 * X.rank + search.extra_vectors
        basis = _by_subspace_iteration(projected, size, count, U.dtype, search) / root
    return basis


def _by_subspace_iteration(
    projected: Projection, size: int, count: int, dtype: np.dtype, search: TangentSearch
) -> NDArray:
    """Orthonormal eigenvectors to the eigenvalue one, from `count` random vectors or more."""
    rng = np.random.default_rng(0)
    while True:
        count = min(count, size)
        Z = np.linalg.qr(rng.standard_normal((size, count)).astype(dtype))[0]
        for k in range(search.max_steps):
            image = projected(Z)
            values, vectors = np.linalg.eigh(Z.conj().T @ image)
            residual = np.linalg.norm(image @ vectors - (Z @ vectors) * values, axis=0)
            inside = values > 1 - search.tolerance
            undecided = (values > search.undecided) & (residual > search.tolerance)
            # The largest first, as images near zero are nothing but rounding errors.
            Z, inside = np.linalg.qr((image @ vectors)[:, ::-1])[0], inside[::-1]
            if k >= search.min_steps and not np.any(undecided):
                break
        if count == size or not np.all(inside):
            return Z[:, inside]
        count *= 2

"""In which directions a structured signal can move while its matrix keeps its rank."""

from __future__ import annotations

from copy import copy

import numpy as np

from .._array import to_numpy
from ..model.lowrank import LowRank
from ..structures import Structure

TOLERANCE = 1e-6  # of the eigenvalue one
DIRECT = 400  # signals up to this size have all eigenvectors worked out
MIN_STEPS, MAX_STEPS = 10, 300  # of subspace iteration


def tangent_basis(structure: Structure, X: LowRank) -> np.ndarray:
    """Signals z that span the tangent space at a structured X: `(I - P_U) Q(z) (I - P_V) = 0`.

    They are the eigenvectors to the eigenvalue one of `z -> C (P_T Q(z))`, where P_T keeps what
    lies in the columns or rows of X. It is a multiple eigenvalue, and mostly far above the
    others: for long signals subspace iteration finds it, with more and more vectors until it
    has all.

    Parameters
    ----------
    structure : Structure
    X : LowRank
        A matrix of the structure.

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
    structure.offset = None  # directions know only the linear part
    size = int(np.prod(structure.signal_shape))
    root = np.sqrt(structure.multiplicity.astype(float)).reshape(-1, 1)

    def projected(Z: np.ndarray) -> np.ndarray:
        images = []
        for z in (Z / root).T:
            signal = z.reshape(structure.signal_shape)
            left, right = structure.matmul(signal, V), structure.rmatmul(signal, U)
            left = left - U @ (U.conj().T @ left)
            images.append(structure.adjoint(left, V) + structure.adjoint(U, right))
        return np.stack(images, axis=-1).reshape(size, -1) / root

    if size <= DIRECT:
        values, vectors = np.linalg.eigh(projected(np.eye(size, dtype=U.dtype)))
        return vectors[:, values > 1 - TOLERANCE] / root

    rng, count = np.random.default_rng(0), 2 * X.rank + 2
    while True:
        count = min(count, size)
        Z = np.linalg.qr(rng.standard_normal((size, count)).astype(U.dtype))[0]
        for k in range(MAX_STEPS):
            image = projected(Z)
            values, vectors = np.linalg.eigh(Z.conj().T @ image)
            residual = np.linalg.norm(image @ vectors - (Z @ vectors) * values, axis=0)
            inside = values > 1 - TOLERANCE
            undecided = (values > 0.5) & (residual > TOLERANCE)
            # The largest first: images near zero hold nothing but rounding errors.
            Z, inside = np.linalg.qr((image @ vectors)[:, ::-1])[0], inside[::-1]
            if k >= MIN_STEPS and not np.any(undecided):
                break
        if count == size or not np.all(inside):
            return Z[:, inside] / root
        count *= 2

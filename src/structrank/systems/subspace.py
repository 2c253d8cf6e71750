"""Dynamics of a system by a subspace method: MOESP with past inputs and outputs as instruments."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from ..structures import Hankel
from .recursion import spectral_radius_of


def observability(u: NDArray, y: NDArray, window: int) -> tuple[NDArray, NDArray]:
    """Directions of future outputs that past data explain and future inputs do not.

    Returns
    -------
    U, s : ndarray
        The directions as columns, and how strong they are.
    """
    blocks = [
        _block_hankel(part, window) for part in (u[window:], u[:-window], y[:-window], y[window:])
    ]
    R = np.asarray(np.linalg.qr(np.concatenate(blocks).T, mode="r")).T
    inputs, outputs = len(blocks[0]), len(blocks[-1])
    U, s, _ = np.linalg.svd(R[-outputs:, inputs:-outputs], full_matrices=False)
    return U, s


def dynamics(directions: NDArray, output_count: int, radius: float) -> tuple[NDArray, NDArray]:
    """A and C of a system with about this observability matrix and no pole beyond a radius."""
    shifted, rest = directions[output_count:], directions[:-output_count]
    A = np.linalg.lstsq(rest, shifted, rcond=None)[0]
    return bounded(A, radius), directions[:output_count]


def bounded(A: NDArray, radius: float) -> NDArray:
    """A with poles beyond a radius moved inside: reflected on the unit circle, and shortened."""
    poles, vectors = np.linalg.eig(A)
    radii = np.abs(poles)
    if not np.any(radii > radius):
        return A
    wanted = np.minimum(np.where(radii > radius, 1 / radii, radii), radius)
    A = np.linalg.solve(vectors.T, (vectors * (poles * wanted / radii)).T).T.real
    return A * min(1.0, radius / spectral_radius_of(A))  # if the vectors are nearly dependent


def _block_hankel(z: NDArray, window: int) -> NDArray:
    dense = Hankel(len(z), window=window, block=(z.shape[1], 1)).to_dense(z[..., None])
    return np.asarray(dense)

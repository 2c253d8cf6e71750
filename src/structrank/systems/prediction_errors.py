"""Derivatives of one-step prediction errors with respect to the matrices of a system."""

from __future__ import annotations

import numpy as np
from scipy.fft import fft, ifft, irfft, next_fast_len, rfft

from .._array import NDArray
from .recursion import free_responses, state_sequence


def prediction_errors(parts: dict[str, NDArray], u: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Predicted states, and errors of one-step predictions of y (no gaps) with the gain K."""
    A, B, C, D, K = (parts[name] for name in "ABCDK")
    signal = y - u @ D.T - parts["output_offset"]
    states = state_sequence(A - K @ C, parts["x0"], u @ B.T + signal @ K.T)
    return states, signal - states @ C.T


def error_slopes(parts: dict[str, NDArray], u: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Errors (samples, p) and their derivatives: shape (samples, p, parameters).

    The parameters are the entries of A, B, C, D, K, the offsets and the first state. A change of
    `x_{t+1}` passes to later errors through `-C (A - K C)^k`. These are convolutions, all computed
    with one set of FFTs.
    """
    C, K = parts["C"], parts["K"]
    (steps, p), n, m = y.shape, C.shape[1], u.shape[1]
    states, errors = prediction_errors(parts, u, y)
    z = np.concatenate([states, u, errors, np.ones((steps, 1))], axis=1)
    free = free_responses(parts["A"] - K @ C, C, steps)
    length = next_fast_len(2 * steps)
    forward, back = (fft, ifft) if np.iscomplexobj(z) or np.iscomplexobj(free) else (rfft, irfft)
    products = forward(free, length, axis=0)[..., None] * forward(z, length, axis=0)[:, None, None]
    driven = np.zeros((steps, p, n, z.shape[1]), dtype=np.result_type(free, z))
    driven[1:] = back(products, length, axis=0, overwrite_x=True)[: steps - 1]
    # A change of C, D or the offsets also drives the states, by -K.
    shown = -np.einsum("taij,ib->tabj", driven, K) + np.einsum("ab,tj->tabj", np.eye(p), z)
    blocks = [
        driven[..., :n],
        driven[..., n : n + m],
        shown[..., :n],
        shown[..., n : n + m],
        driven[..., n + m : n + m + p],
        shown[..., -1:],
        free[..., None],
    ]
    return errors, -np.concatenate([block.reshape(steps, p, -1) for block in blocks], axis=2)

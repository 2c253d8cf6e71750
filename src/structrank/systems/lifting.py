"""Several samples as one: `(y_t, ..., y_{t+b-1}, x_{t+b}) = H x_t + G drive + noise`.

A filter with b samples per step needs a product with the whole covariance of the states only every
b samples.
"""

from __future__ import annotations

import numpy as np

from .._array import NDArray


def lifted(H: NDArray, W: NDArray, outputs: int, b: int) -> tuple[NDArray, NDArray, NDArray]:
    """H, the noise covariance W, and G, of b samples from those of one sample.

    The drives `(d_t, ..., d_{t+b-1})` are what is added to each next state.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.lifting import lifted
    >>> H, W, G = lifted(np.array([[1.0], [0.5]]), np.eye(2), outputs=1, b=2)
    >>> H[:, 0]
    array([1.  , 0.5 , 0.25])
    >>> W
    array([[1.  , 0.  , 0.  ],
           [0.  , 2.  , 0.5 ],
           [0.  , 0.5 , 1.25]])
    >>> G
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 1. ]])
    """
    q, d = H.shape
    rows = np.eye(d, dtype=H.dtype)
    noise = np.zeros((d, d), dtype=np.result_type(H, W))
    drives = np.zeros((d, 0), dtype=H.dtype)
    for i in range(b):
        known = i * outputs
        step = np.eye(known + q, known + d, dtype=H.dtype)
        step[known:, known:] = H
        rows, noise, drives = step @ rows, step @ noise @ step.conj().T, step @ drives
        noise[known:, known:] += W
        drives = np.concatenate([drives, np.eye(known + q, d, -known - outputs)], axis=1)
    return rows, noise, drives

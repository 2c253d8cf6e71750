"""Filters whose errors grow if they start from a state that is known exactly.

Such a filter takes noise of the outputs for noise of the states, or sees a state that grows without
noise. An innovation form whose `A - K C` has an eigenvalue outside the unit circle is one: its
covariance zero stays zero, but any other covariance settles at a larger one, from which errors
decay [1]_.

References
----------
.. [1] S. W. Chan, G. C. Goodwin, K. S. Sin, "Convergence properties of the Riccati difference
   equation in optimal filtering of nonstabilizable systems", IEEE Transactions on Automatic Control
   29(2), 1984.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_discrete_are

from .._array import NDArray
from .recursion import adjoint, spectral_radius_of

GROWTH = 1e4  # errors that grow less than this over a record leave enough digits
EXACT = 1e-12  # share of the settled covariance that a first state has which is known exactly


def settled(H: NDArray, W: NDArray, outputs: int, samples: int) -> NDArray | None:
    """About the covariance given the past at which a filter without gaps settles, if errors grow.

    None: they do not grow much over the samples, or nothing in the outputs shows them. Modes that
    grow more slowly, such as integrators, count as stable.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.settled import settled
    >>> settled(np.array([[1.0], [0.9]]), np.array([[1.0, 2.0], [2.0, 4.0]]), 1, 1000).round(1)
    array([[0.2]])
    >>> settled(np.array([[1.0], [0.9]]), np.array([[1.0, 0.5], [0.5, 0.25]]), 1, 1000)
    """
    C, A, R, S = H[:outputs], H[outputs:], W[:outputs, :outputs], W[outputs:, :outputs]
    gain = S @ np.linalg.pinv(R, hermitian=True) if np.any(S) else np.zeros_like(S)
    closed, log_radius = A - gain @ C, math.log(GROWTH) / samples
    if not np.all(np.isfinite(closed)) or spectral_radius_of(closed) <= math.exp(log_radius):
        return None
    Q = W[outputs:, outputs:] - gain @ adjoint(S)
    damped = math.exp(-0.5 * log_radius) * closed
    try:
        P = solve_discrete_are(adjoint(damped), adjoint(C), 0.5 * (Q + adjoint(Q)), R)
    except (np.linalg.LinAlgError, ValueError):
        return None
    return np.asarray(0.5 * (P + adjoint(P)))

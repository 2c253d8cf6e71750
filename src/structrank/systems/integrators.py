"""Systems with integrators: poles that are exactly one.

With k integrators, A has the form

    [ own  0 ]
    [  *   N ]

where N, of size k, is lower triangular with a diagonal of ones. Every real system with k poles at
one has this form for some basis of its states. The other poles are those of `own`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._array import NDArray
from .recursion import predicting_gain, spectral_radius_of
from .state_space import StateSpace
from .subspace import bounded


def free_entries(order: int, integrators: int) -> NDArray:
    """Which entries of A may change: a matrix of bool.

    Examples
    --------
    >>> from structrank.systems.integrators import free_entries
    >>> free_entries(3, 2).astype(int)
    array([[1, 0, 0],
           [1, 0, 0],
           [1, 1, 0]])
    """
    own = order - integrators
    free = np.ones((order, order), dtype=bool)
    free[:, own:] = False
    free[own:, own:] = np.tri(integrators, k=-1, dtype=bool)
    return free


def own_part(A: NDArray, integrators: int) -> NDArray:
    """The block of A whose poles are not those of integrators."""
    own = len(A) - integrators
    return A[:own, :own]


def own_radius(A: NDArray, integrators: int) -> float:
    """Largest absolute value of a pole that is no integrator; zero if there are none."""
    own = own_part(A, integrators)
    return spectral_radius_of(own) if len(own) else 0.0


def with_integrators(A: NDArray, integrators: int, radius: float) -> tuple[NDArray, NDArray]:
    """A system near `x' = A x` with integrators, and its basis Q: the new states are `Q^T x`.

    The state that changes least in a step becomes an integrator; then the same for the others. The
    poles that are left stay below the radius.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.integrators import with_integrators
    >>> A, _ = with_integrators(np.array([[0.98, 0.1], [0.0, 0.5]]), 1, radius=0.99)
    >>> A[:, 1]
    array([0., 1.])
    """
    n = len(A)
    Q, turned = np.eye(n), A.copy()
    for own in range(n - 1, n - 1 - integrators, -1):
        block = turned[: own + 1, : own + 1]
        basis = np.eye(n)
        # The last right singular vector is that of the least change; it becomes the last state.
        basis[: own + 1, : own + 1] = np.linalg.svd(block - np.eye(own + 1))[2].T
        Q, turned = Q @ basis, basis.T @ turned @ basis
        turned[: own + 1, own] = 0.0
        turned[own, own] = 1.0
    own = n - integrators
    if own:
        turned[:own, :own] = bounded(turned[:own, :own], radius)
    return turned, Q


def integrating(
    model: StateSpace, integrators: int, radius: float, gains: tuple[float, ...]
) -> StateSpace:
    """A system near another one, with integrators; its gain K is lowered until it predicts."""
    A, Q = with_integrators(model.A, integrators, radius)
    B, C, K = Q.T @ model.B, model.C @ Q, Q.T @ model.K
    return replace(model, A=A, B=B, C=C, K=predicting_gain(A, C, K, gains))


def around_operating_point(model: StateSpace) -> StateSpace:
    """The system whose last input is one, as a system with one input less and offsets.

    The inputs u0 and states x of the operating point satisfy `x = A x + B u0 + b`, where b is the
    column of B for the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> from structrank.systems.integrators import around_operating_point
    >>> tank = StateSpace([[1.0]], [[0.1, -0.2]], [[1.0]], [[0.0, 5.0]])
    >>> around_operating_point(tank).input_offset
    array([2.])
    """
    B, b = model.B[:, :-1], model.B[:, -1]
    D, d = model.D[:, :-1], model.D[:, -1]
    n = model.order
    found = np.linalg.lstsq(np.concatenate([np.eye(n) - model.A, -B], axis=1), b, rcond=1e-12)[0]
    x, u = found[:n], found[n:]
    return replace(
        model,
        B=B,
        D=D,
        x0=None if model.x0 is None else model.x0 - x,
        input_offset=u,
        output_offset=model.output_offset + model.C @ x + D @ u + d,
    )


def with_constant(u: NDArray) -> NDArray:
    """Inputs, and one more that is one: a constant drives integrators."""
    return np.concatenate([u, np.ones((len(u), 1))], axis=1)

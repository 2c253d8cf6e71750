"""The state recursion `x_{t+1} = A x_t + drive_t`: states, responses, spectral radius."""

from __future__ import annotations

import numpy as np

from .._array import NDArray


def state_sequence(A: NDArray, start: NDArray, drive: NDArray) -> NDArray:
    """States of `x_{t+1} = A x_t + drive_t` from `x_0 = start`, one row per step.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.recursion import state_sequence
    >>> state_sequence(np.array([[0.5]]), np.array([4.0]), np.zeros((3, 1)))[:, 0]
    array([4., 2., 1.])

    Several sequences at the same time have axes between steps and states.
    """
    states = np.concatenate([start[None], drive[:-1]])
    # After the pass with lag k, states[t] is the sum of A^j states[t - j] over all j < 2 k.
    lag, power = 1, A
    negligible = np.finfo(float).eps ** 2  # a power of A below this changes no digit of a state
    while lag < len(states) and np.linalg.norm(power) > negligible:
        states[lag:] += states[:-lag] @ power.T
        lag, power = 2 * lag, power @ power
    return states


def free_responses(A: NDArray, C: NDArray, steps: int) -> NDArray:
    """Outputs `C A^t` of a system without inputs: shape (steps, outputs, states)."""
    responses = np.empty((steps, *C.shape), dtype=np.result_type(A, C))
    responses[:1] = C
    known, power = 1, A
    while known < steps:
        more = min(known, steps - known)
        responses[known : known + more] = responses[:more] @ power
        known, power = known + more, power @ power
    return responses


def markov_parameters(A: NDArray, B: NDArray, C: NDArray, D: NDArray, steps: int) -> NDArray:
    """Impulse response `D, C B, C A B, ...`: shape (steps, outputs, inputs)."""
    return np.concatenate([D[None], free_responses(A, C, steps - 1) @ B])


def spectral_radius_of(A: NDArray) -> float:
    """Largest absolute value of an eigenvalue."""
    return float(np.max(np.abs(np.linalg.eigvals(A))))


def predicting_gain(A: NDArray, C: NDArray, K: NDArray, shares: tuple[float, ...]) -> NDArray:
    """The largest share of the gain K with which the predictor `A - K C` is stable, times K."""
    return next(g * K for g in shares if not g or spectral_radius_of(A - g * K @ C) < 1)


def adjoint(M: NDArray) -> NDArray:
    """Conjugate transpose."""
    return M.conj().T

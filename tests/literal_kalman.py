"""The Kalman filter and smoother as in a textbook, sample by sample: the twin of the fast one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Literal:
    loglikelihood: float
    states: np.ndarray
    covariances: np.ndarray
    innovations: np.ndarray


def dagger(M):
    return M.conj().T


def solve(M, rhs):
    """Gaussian elimination, which also works in extended precision."""
    M, x = np.array(M), np.array(rhs)
    n = len(M)
    for i in range(n):
        pivot = i + np.argmax(np.abs(M[i:, i]))
        M[[i, pivot]], x[[i, pivot]] = M[[pivot, i]], x[[pivot, i]]
        for j in range(i + 1, n):
            factor = M[j, i] / M[i, i]
            M[j] -= factor * M[i]
            x[j] -= factor * x[i]
    for i in reversed(range(n)):
        x[i] = (x[i] - M[i, i + 1 :] @ x[i + 1 :]) / M[i, i]
    return x


def cholesky(M):
    L = np.zeros_like(M)
    for i in range(len(M)):
        L[i, i] = np.sqrt((M[i, i] - L[i, :i] @ L[i, :i].conj()).real)
        for j in range(i + 1, len(M)):
            L[j, i] = (M[j, i] - L[j, :i] @ L[i, :i].conj()) / L[i, i]
    return L


def literal_smoother(A, C, Q, R, S, m, P, y, Bu=None, dtype=None):
    """Filter, then the fixed-interval smoother of de Jong. y has NaN where missing.

    A and Q may have a leading axis, one matrix per step.
    """
    dtype = dtype or np.result_type(A, C, y)
    A, C, Q, R, S, m, P = (np.asarray(x).astype(dtype) for x in (A, C, Q, R, S, m, P))
    T, p = y.shape
    half = 1.0 if np.iscomplexobj(np.zeros(1, dtype)) else 0.5
    likelihood, tape = 0.0, []
    innovations = np.full((T, p), np.nan, dtype=dtype)
    for t in range(T):
        At, Qt = (A[t], Q[t]) if A.ndim == 3 else (A, Q)
        o = ~np.isnan(y[t])
        Co, v = C[o], y[t, o] - C[o] @ m
        F = Co @ P @ dagger(Co) + R[np.ix_(o, o)]
        gain = dagger(solve(F, dagger(At @ P @ dagger(Co) + S[:, o]))) if o.any() else At[:, :0]
        if o.any():
            L = cholesky(F)
            innovations[t, o] = solve(L, v)
            logdet = 2 * np.sum(np.log(np.diag(L).real))
            quadratic = np.sum(np.abs(innovations[t, o]) ** 2)
            likelihood -= half * (logdet + quadratic + o.sum() * np.log(np.pi / half))
        closed = At - gain @ Co
        tape.append((m, P, Co, F, v, closed, o))
        m = At @ m + gain @ v + (0 if Bu is None else Bu[t])
        P = At @ P @ dagger(closed) + Qt - S[:, o] @ dagger(gain)
        P = (P + dagger(P)) / 2
    r, N = np.zeros_like(m), np.zeros_like(P)
    states, covariances = [], []
    for m, P, Co, F, v, closed, o in reversed(tape):
        r, N = dagger(closed) @ r, dagger(closed) @ N @ closed
        if o.any():
            r, N = r + dagger(Co) @ solve(F, v), N + dagger(Co) @ solve(F, Co)
        states.append(m + P @ r)
        covariances.append(P - P @ N @ P)
    return Literal(
        float(likelihood), np.array(states[::-1]), np.array(covariances[::-1]), innovations
    )

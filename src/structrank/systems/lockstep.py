"""Kalman filter and smoother of many stretches of a record at the same time.

The stretches are the last axis of every array: a step costs a few products with all stretches as
columns, so Python loops over the steps of one stretch, not over samples. A step treats the outputs
`y_t` and the next state together,

    (y_t, x_{t+1}) = H x_t + noise of covariance W,   H = [C; A],   W = [[R, S^H], [S, Q]],

and conditions on one seen output after the other. So any entry may be missing, W may be singular,
and no matrix is inverted. Means have several columns, which share covariances: data, draws, or
directions of an unknown first state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray

ROUNDING = 1e-15  # a variance below this part of its own, before conditioning, is rounding


@dataclass(frozen=True)
class Stretches:
    """Data of n stretches of L steps, with q = p + d rows in H.

    Shapes: H (q, d) or (L, n, q, d); W (q, q) or (L, n, q, q); y (L, p, c, n), zero where missing;
    seen (L, p, n); drive (L, d, c, n) or None.
    """

    H: NDArray
    W: NDArray
    y: NDArray
    seen: NDArray
    drive: NDArray | None

    def at(self, step: int) -> tuple[NDArray, NDArray]:
        """H and W of one step; W with the stretches last."""
        H = self.H if self.H.ndim == 2 else self.H[step]
        W = self.W[..., None] if self.W.ndim == 2 else np.moveaxis(self.W[step], 0, -1)
        return H, W


@dataclass(frozen=True)
class Tape:
    """What a filter pass saw: one entry per step, stretches last.

    `variances` f (L, p, n) and `errors` (L, p, k, n) are those of one output given the past and the
    outputs before it: predicted less seen. f is infinite where the output is missing. `end` has the
    mean columns and the covariance after the last step. Only a pass that keeps all has the lists:
    predicted mean columns and covariances of the states, gains (q, p, n) below the diagonal, rows
    `[covariance, mean columns]` of the outputs (p, q + k, n), and their covariance with the states.
    """

    variances: NDArray
    errors: NDArray
    end: tuple[NDArray, NDArray]
    means: list[NDArray]
    covariances: list[NDArray]
    gains: list[NDArray]
    outputs: list[NDArray]
    crossed: list[NDArray]


def times(G: NDArray, X: NDArray) -> NDArray:
    """G X for every stretch: G (q, d) or (n, q, d), X (d, c, n)."""
    d, c, n = X.shape
    if G.ndim == 2:
        product: NDArray = np.matmul(G, X.reshape(d, c * n))
        return product.reshape(len(G), c, n)
    return np.ascontiguousarray(np.moveaxis(G @ np.moveaxis(X, -1, 0), 0, -1))


def sandwich(G: NDArray, X: NDArray) -> NDArray:
    """G X G^H for every stretch."""
    return right(G, times(G, X))


def right(G: NDArray, X: NDArray) -> NDArray:
    """X G^H for every stretch."""
    if G.ndim == 2:
        return np.asarray(np.matmul(G.conj(), X))
    return times(G.conj(), X.transpose(1, 0, 2)).transpose(1, 0, 2)


def hermitian(X: NDArray) -> NDArray:
    """Hermitian part of every stretch's matrix."""
    other = X.transpose(1, 0, 2)
    return np.asarray(0.5 * (X + (other.conj() if np.iscomplexobj(X) else other)))


class _Joint:
    """The array `[covariance, mean columns]` of `(y_t, x_{t+1})`, in memory that is used again."""

    def __init__(self, data: Stretches, columns: int, dtype: np.dtype[Any]) -> None:
        (_, p, n), (q, d) = data.seen.shape, data.H.shape[-2:]
        self.data, self.sizes = data, (p, q, d, n)
        self._flat = np.empty((q, (q + columns) * n), dtype=dtype)
        self._half = np.ones((q, (d + 1) * n), dtype=dtype)
        self.X = self._flat.reshape(q, q + columns, n)
        self.product = np.empty_like(self.X[:p])
        self.shared = data.H.ndim == data.W.ndim == 2  # by all steps
        if self.shared:
            # W is added by the product: H and a column of W, times half and a row of ones.
            rows = np.broadcast_to(data.H.conj(), (q, q, d))
            self._right = np.concatenate([rows, data.W[:, :, None]], axis=2)

    def predict(self, step: int, m: NDArray, P: NDArray) -> NDArray:
        """Fill the array with the prediction from the state; return H P."""
        (p, q, d, n), (H, W) = self.sizes, self.data.at(step)
        half = self._half.reshape(q, d + 1, n)
        if self.shared:
            np.matmul(H, P.reshape(d, d * n), out=self._half[:, : d * n])
            np.matmul(self._right, half, out=self.X[:, :q])
            np.matmul(H, m.reshape(d, -1), out=self._flat[:, q * n :])
        else:
            half[:, :d] = times(H, P)
            self.X[:, :q] = right(H, half[:, :d]) + W
            self.X[:, q:] = times(H, m)
        if self.data.drive is not None:
            driven = self.X[p:, q : q + self.data.y.shape[2]]
            np.add(driven, self.data.drive[step], out=driven)
        return half[:, :d]

    def eliminate(self, step: int) -> NDArray:
        """Condition on the seen outputs of a step, one after the other; return their variances."""
        (p, q, _, n), X = self.sizes, self.X
        errors = X[:p, q : q + self.data.y.shape[2]]
        np.subtract(errors, self.data.y[step], out=errors)
        variances = np.empty((p, n))
        least = ROUNDING * np.einsum("iin->in", X[:p, :p]).real
        least = np.where(self.data.seen[step], least, np.inf)
        for j in range(p):
            outputs, rest, f = slice(j + 1, p), slice(j + 1, None), X[j, j].real
            f = np.where(f > least[j], f, np.inf)
            variances[j] = f
            gain, others = X[outputs, j], X[outputs, rest]
            np.divide(gain, f, out=gain)
            change = np.multiply(gain[:, None], X[j, rest], out=self.product[outputs, rest])
            np.subtract(others, change, out=others)
        # All states at once, stretches first: a product of small matrices per stretch.
        gains = np.divide(X[:p, p:q].conj(), variances[:, None])
        X[p:, :p] = gains.swapaxes(0, 1)
        left, rows = (np.ascontiguousarray(x.transpose(2, 0, 1)) for x in (gains, X[:p, p:]))
        change = np.matmul(left.swapaxes(1, 2), rows).transpose(1, 2, 0)
        np.subtract(X[p:, p:], change, out=X[p:, p:])
        return variances


def filtered(data: Stretches, m: NDArray, P: NDArray, *, keep: bool = False) -> Tape:
    """Filter all stretches from mean columns m (d, k, n) and covariances P (d, d, n).

    The first columns of m belong to the columns of the data. The others are directions: they have
    no data and no drive. An output that the outputs before it determine counts as missing.

    A step is Gaussian elimination of the outputs in the array `[covariance, mean less data]`.
    """
    (steps, p, n), k = data.seen.shape, m.shape[1]
    q = p + len(m)
    joint = _Joint(data, k, m.dtype)
    variances = np.empty((steps, p, n))
    errors = np.empty((steps, p, k, n), dtype=m.dtype)
    kept: list[list[NDArray]] = [[] for _ in range(5)]
    for t in range(steps):
        half = joint.predict(t, m, P)
        outputs = joint.X[:p].copy() if keep else None
        variances[t] = joint.eliminate(t)
        errors[t] = joint.X[:p, q:]
        if outputs is not None:
            new = (m, P, joint.X[:, :p].copy(), outputs, half[:p].copy())
            for values, value in zip(kept, new, strict=True):
                values.append(value)
        m, P = joint.X[p:, q:].copy(), hermitian(joint.X[p:, p:q])
    return Tape(variances, errors, (m, P), *kept)


Visit = Callable[[int, NDArray, NDArray, NDArray, NDArray], None]


def adjoint_pass(
    data: Stretches, tape: Tape, r: NDArray, N: NDArray, visit: Visit
) -> tuple[NDArray, NDArray]:
    """Walk back over the steps with the derivative of the log-likelihood with respect to means.

    `r` (d, k, n) and `N` (d, d, n) are the derivative and its covariance for the state after the
    last step. `visit(t, zeta, Nz, r, N)` gets those for `(y_t, x_{t+1})` and for `x_t`. Returned
    are r and N for the first state.
    """
    p, q = data.seen.shape[1], data.seen.shape[1] + len(r)
    for t in reversed(range(len(data.seen))):
        H, _ = data.at(t)
        zeta = np.empty((q, *r.shape[1:]), dtype=r.dtype)
        Nz = np.empty((q, q, r.shape[2]), dtype=r.dtype)
        zeta[p:], Nz[p:, p:] = r, N
        for j in reversed(range(p)):
            rest, weight = slice(j + 1, None), 1 / tape.variances[t, j]
            gain = tape.gains[t][rest, j]
            conj = gain.conj()
            product = np.einsum("ijn,jn->in", Nz[rest, rest], gain)
            zeta[j] = -weight * tape.errors[t, j] - np.einsum("in,icn->cn", conj, zeta[rest])
            Nz[rest, j], Nz[j, rest] = -product, -product.conj()
            Nz[j, j] = weight + np.einsum("in,in->n", conj, product)
        back = H.conj().swapaxes(-1, -2)
        r, N = times(back, zeta), hermitian(sandwich(back, Nz))
        visit(t, zeta, Nz, r, N)
    return r, N


def variances_left(own: NDArray, rows: NDArray, N: NDArray, directions: NDArray) -> NDArray:
    """Diagonals of `own - rows N rows^H`, plus the squares of the directions: shape (a, n).

    Shapes: own (a, n), rows (a, b, n), N (b, b, n), directions (a, k, n).
    """
    a, b = (np.ascontiguousarray(np.moveaxis(X, -1, 0)) for X in (rows, N))
    known = np.sum((a @ b) * a.conj(), axis=2).real.T
    return np.asarray(own.real - known + np.sum(np.abs(directions) ** 2, axis=1))

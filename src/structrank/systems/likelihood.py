"""Log-likelihood of a linear Gaussian system, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from .boundaries import Boundaries
from .chunks import Chunks, Gaussian, Records
from .lockstep import Stretches, Tape, adjoint_pass, right
from .second_pass import SecondPass


def log_likelihood(model: Gaussian, records: Records) -> NDArray:
    """Log-likelihood of each record and each column of data: shape (M, c).

    Where the start is diffuse, it is the limit for a growing covariance `kappa I` of k states, plus
    `k / 2 log kappa` (k log kappa for complex numbers).
    """
    boundaries = Boundaries(Chunks(model, records))
    boundaries.check_determined()
    return boundaries.loglikelihood


@dataclass(frozen=True)
class Score:
    """Log-likelihood of all records and its derivatives.

    For complex arrays, a derivative G means that the value changes by `Re sum(conj(G) dX)`. `H` and
    `W` have the shapes of the model's. `joint` (T, q, M) belongs to numbers that are added to the
    outputs and to the next state of one sample.
    """

    value: float
    H: NDArray
    W: NDArray
    mean: NDArray
    covariance: NDArray
    joint: NDArray


def value_and_gradient(model: Gaussian, records: Records) -> Score:
    """Log-likelihood of one column of data, summed over the records, and its gradient.

    By Fisher's identity, derivatives are expectations given the samples. They need neither the
    inverse of W nor derivatives of the filter [1]_.

    References
    ----------
    .. [1] S. J. Koopman, N. Shephard, "Exact score for time series models in state space form",
       Biometrika 79(4), 1992.
    """
    second = SecondPass(model, records)
    M, (q, d), T = second.chunks.shape[2], model.H.shape[-2:], second.chunks.samples
    dtype, stacked = second.chunks.dtype, max(model.H.ndim, model.W.ndim) == 3
    shape = (T,) if stacked else ()
    dH, dW = (np.zeros((*shape, q, k, *((M,) if stacked else ())), dtype=dtype) for k in (d, q))
    joint = np.empty((T, q, M), dtype=dtype)
    for group, data, tape, r, N in second:
        sums = _Sums(data, tape)
        adjoint_pass(data, tape, r, N, sums.visit)
        second.write(sums.joint, group, joint)
        if stacked:
            second.write(np.stack(sums.H[::-1]), group, dH)
            second.write(np.stack(sums.W[::-1]), group, dW)
        else:
            dH, dW = dH + sum(sums.H), dW + sum(sums.W)
    if stacked:
        dH, dW = dH.sum(axis=-1), dW.sum(axis=-1)
        dH = dH if model.H.ndim == 3 else dH.sum(axis=0)
        dW = dW if model.W.ndim == 3 else dW.sum(axis=0)
    r0, N0 = _first(second.boundaries)
    dP = np.einsum("mi,mj->ij", r0, r0.conj()) - N0
    value, factor = float(np.sum(second.boundaries.loglikelihood)), np.iscomplexobj(joint) + 1
    scaled = (factor * x for x in (dH, 0.5 * dW, r0.sum(axis=0), 0.5 * dP, joint))
    return Score(value, *scaled)


def _first(boundaries: Boundaries) -> tuple[NDArray, NDArray]:
    """R (M, d) of the first states, and the sum of their N."""
    r, N = boundaries.future[0][0], boundaries.future[1][0]
    directions = r[..., 1:] @ boundaries.delta.root
    other = np.einsum("mik,mjk->ij", directions, directions.conj())
    return boundaries.total(r)[..., 0], np.asarray(N.sum(axis=0) - other)


class _Sums:
    """Derivatives with respect to H and (twice) W: one per step, last first.

    If H or W changes with time, the stretches stay apart on the last axis.
    """

    def __init__(self, data: Stretches, tape: Tape) -> None:
        self.data, self.tape = data, tape
        steps, _, n = data.seen.shape
        self.apart = max(data.H.ndim, data.W.ndim) > 2
        self.joint = np.empty((steps, data.H.shape[-2], n), dtype=tape.errors.dtype)
        self.H: list[NDArray] = []
        self.W: list[NDArray] = []

    def visit(self, t: int, zeta: NDArray, Nz: NDArray, r: NDArray, N: NDArray) -> None:
        """Add one step."""
        P, (H, _) = self.tape.covariances[t], self.data.at(t)
        states = self.tape.means[t] + np.einsum("ijn,jkn->ikn", P, r)
        crossed = right(H, P)
        self.joint[t] = zeta[:, 0]
        if self.apart:
            self.H.append(_products(zeta, states) - _products(Nz, crossed))
            self.W.append(_products(zeta, zeta) - Nz)
        else:
            zeta, other = zeta.reshape(len(zeta), -1), Nz.reshape(len(zeta), -1)
            states, crossed = states.reshape(len(P), -1), crossed.reshape(len(P), -1)
            self.H.append(zeta @ states.conj().T - other @ crossed.conj().T)
            self.W.append(zeta @ zeta.conj().T - Nz.sum(axis=2))


def _products(X: NDArray, Y: NDArray) -> NDArray:
    """X Y^H for every stretch."""
    return np.asarray(np.einsum("ikn,jkn->ijn", X, Y.conj()))

"""Means and variances of states and outputs given all samples: the fixed-interval smoother."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from .._array import NDArray
from .boundaries import DETERMINED, Boundaries, Unknown
from .chunks import Chunks, Gaussian, Records, adjoint
from .lockstep import Stretches, Tape, adjoint_pass, filtered, right, times, variances_left
from .second_pass import SecondPass


@dataclass(frozen=True)
class Moments:
    """Means (T, ., c, M) and variances (T, ., M) given all samples.

    `signals` are the outputs without noise. `outputs` are the samples where they are seen, and
    otherwise their mean, with the noise in the variance. `innovations` have variance one; they are
    NaN where a sample is missing or the past does not predict it.
    """

    states: NDArray
    state_variances: NDArray
    signal_variances: NDArray
    outputs: NDArray
    output_variances: NDArray
    innovations: NDArray

    @classmethod
    def empty(cls, samples: int, p: int, d: int, c: int, M: int, dtype: np.dtype) -> Moments:
        """Arrays to fill in."""
        return cls(
            np.empty((samples, d, c, M), dtype=dtype),
            np.empty((samples, d, M)),
            np.empty((samples, p, M)),
            np.empty((samples, p, c, M), dtype=dtype),
            np.empty((samples, p, M)),
            np.empty((samples, p, c, M), dtype=dtype),
        )


def smoothed(model: Gaussian, records: Records) -> Moments:
    """Means and variances of states and outputs, given all samples of their record."""
    second = SecondPass(model, records)
    sizes = (second.chunks.shape[0], model.states, second.chunks.shape[1])
    moments = Moments.empty(
        second.chunks.samples, *sizes, second.chunks.shape[2], second.chunks.dtype
    )
    for group, data, tape, r, N in second:
        part = Moments.empty(len(data.seen), *sizes, data.seen.shape[2], second.chunks.dtype)
        part.innovations[:] = _innovations(second.boundaries, group, data, tape)
        adjoint_pass(data, tape, r, N, _Visit(data, tape, part))
        for field in fields(Moments):
            second.write(getattr(part, field.name), group, getattr(moments, field.name))
    np.copyto(moments.outputs, records.y, where=records.seen[:, :, None])
    np.copyto(moments.output_variances, 0.0, where=records.seen)
    return moments


@dataclass(frozen=True)
class _Visit:
    """Fills in the moments of one step after the other."""

    data: Stretches
    tape: Tape
    moments: Moments

    def __call__(self, t: int, zeta: NDArray, Nz: NDArray, r: NDArray, N: NDArray) -> None:
        P, crossed, (H, _) = self.tape.covariances[t], self.tape.crossed[t], self.data.at(t)
        p, c, q, into = len(crossed), self.data.y.shape[2], len(zeta), self.moments
        states = self.tape.means[t] + np.einsum("ijn,jkn->ikn", P, r)
        into.states[t] = states[:, :c]
        into.state_variances[t] = variances_left(np.einsum("iin->in", P), P, N, states[:, c:])
        C = H[..., :p, :]
        own, signals = np.einsum("iin->in", right(C, crossed)), times(C, states[:, c:])
        into.signal_variances[t] = variances_left(own, crossed, N, signals)
        rows = self.tape.outputs[t]
        outputs = rows[:, q:] + np.einsum("iqn,qkn->ikn", rows[:, :q], zeta)
        into.outputs[t] = outputs[:, :c]
        own = np.einsum("iin->in", rows[:, :p])
        into.output_variances[t] = variances_left(own, rows[:, :q], Nz, outputs[:, c:])


def _innovations(boundaries: Boundaries, group: slice, data: Stretches, tape: Tape) -> NDArray:
    """Errors of predictions from the past, divided by their standard deviation."""
    c, M = boundaries.chunks.shape[1:]
    seen = np.where(data.seen, 1.0, np.nan)[:, :, None]
    values = -seen * tape.errors[:, :, :c] / np.sqrt(tape.variances)[:, :, None]
    unsure = max(0, min(boundaries.unsure, group.stop) - group.start) * M
    if unsure:
        f = tape.variances[..., :unsure]
        known = _with_the_past(boundaries, tape.errors[..., :unsure], f)
        values[..., :unsure] = seen[..., :unsure] * known
    return values


def _with_the_past(boundaries: Boundaries, errors: NDArray, f: NDArray) -> NDArray:
    """Innovations of the first chunks, whose errors depend on what the past says about delta."""
    c, M = boundaries.chunks.shape[1:]
    steps, p, _, n = errors.shape
    errors, f = _in_time(errors, M), _in_time(f[:, :, None], M)
    data, directions = errors[..., None, :c], errors[..., None, c:]
    past = _from_the_past(boundaries, data, directions, f[..., None])
    spread = directions @ past.root
    variance = f + np.sum(np.abs(spread) ** 2, axis=-1)
    values = -(data + directions @ past.mean)[..., 0, :] / np.sqrt(variance)
    values[past.smallest < DETERMINED] = np.nan
    back = values.reshape(M, n // M, steps, p, c).transpose(2, 3, 4, 1, 0)
    return np.ascontiguousarray(back).reshape(steps, p, c, n)


def _in_time(X: NDArray, records: int) -> NDArray:
    """(steps, a, b, chunks * records) -> (records, samples * a, b)."""
    steps, a, b, n = X.shape
    parts = X.reshape(steps, a, b, n // records, records)
    return parts.transpose(4, 3, 0, 1, 2).reshape(records, -1, b)


def _from_the_past(
    boundaries: Boundaries, data: NDArray, directions: NDArray, f: NDArray
) -> Unknown:
    """What the samples before each one say about epsilon, where delta = mean + root epsilon."""
    root, mean = boundaries.delta.root[:, None], boundaries.delta.mean[:, None]
    weight = adjoint(root) * boundaries.start.precision
    # Information of the prior, and of each sample.
    precision = np.concatenate([weight @ root, adjoint(directions) @ (directions / f)], axis=1)
    eta = np.concatenate([-weight @ mean, -adjoint(directions) @ (data / f)], axis=1)
    return Unknown.of(np.cumsum(precision, axis=1)[:, :-1], np.cumsum(eta, axis=1)[:, :-1])


def predicted_states(model: Gaussian, records: Records) -> NDArray:
    """Means (T, d, M) of the states given the samples before them, for one column of data.

    They are NaN where these samples do not determine the first state.
    """
    second = SecondPass(model, records)
    p, _, M = second.chunks.shape
    states = np.empty((second.chunks.samples, model.states, M), dtype=second.chunks.dtype)
    for group, _, tape, *_ in second:
        means = np.stack(tape.means)
        values = means[:, :, 0]
        unsure = max(0, min(second.boundaries.unsure, group.stop) - group.start) * M
        if unsure:
            errors = _in_time(tape.errors[..., :unsure], M)[..., None, :]
            f = _in_time(tape.variances[:, :, None, :unsure], M)[..., None]
            past = _from_the_past(second.boundaries, errors[..., :1], errors[..., 1:], f)
            # What is known before the first output of each sample.
            known = np.where((past.smallest < DETERMINED)[..., None], np.nan, past.mean[..., 0])
            known = known[:, ::p].reshape(M, -1, len(means), known.shape[-1])
            known = known.transpose(2, 3, 1, 0).reshape(len(means), -1, unsure)
            values[..., :unsure] += np.einsum("tikn,tkn->tin", means[:, :, 1:, :unsure], known)
        second.write(values, group, states)
    return states


def last_state(model: Gaussian, records: Records) -> tuple[NDArray, NDArray]:
    """Mean (d,) and covariance of the state after the last sample of one record."""
    chunks = Chunks(model, records)
    boundaries = Boundaries(chunks)
    boundaries.check_determined()
    last = slice(chunks.count - 1, chunks.count)
    data, steps = chunks.stretches(last), chunks.samples - last.start * chunks.length
    H, W = (X if X.ndim == 2 else X[:steps] for X in (data.H, data.W))
    drive = None if data.drive is None else data.drive[:steps]
    rest = Stretches(H, W, data.y[:steps], data.seen[:steps], drive)
    m, P = (X[..., 0] for X in filtered(rest, *boundaries.begin(last)).end)
    return m[:, 0], P + m[:, 1:] @ adjoint(m[:, 1:])

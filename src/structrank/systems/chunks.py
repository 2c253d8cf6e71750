"""A record as chunks that are filtered side by side, and the joint distribution of their ends.

Each chunk is filtered from a covariance of its own, `nominal`, with the mean as a linear function
of an unknown shift s of the first state. What remains of the chunk is an element: the
log-likelihood as a quadratic of s, and mean and covariance of the state at its end. A loop over
chunks, not over samples, then finds the state at each boundary given the past, and the derivative
of the likelihood of the future.

The first state is `mean + U delta` plus noise of covariance `nominal`. `delta` has a prior of
`precision` one, or zero where the start is diffuse. All chunks stay linear in delta; its
information is summed up over the record, so neither diffuse starts nor large ones lose digits.

References
----------
.. [1] D. G. Lainiotis, "Partitioned linear estimation algorithms: discrete case", IEEE Transactions
   on Automatic Control 20(2), 1975.
.. [2] P. de Jong, "The diffuse Kalman filter", Annals of Statistics 19(2), 1991.
.. [3] S. Särkkä, Á. F. García-Fernández, "Temporal parallelization of Bayesian smoothers", IEEE
   Transactions on Automatic Control 66(1), 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from .._array import NDArray
from .lifting import lifted
from .lockstep import Stretches, Tape, filtered
from .settled import EXACT, settled


@dataclass(frozen=True)
class Chunking:
    """Sizes of chunks, by time and memory on records of 10^3 to 10^6 samples, 4 to 20 states.

    Parameters
    ----------
    longest : int
        Most samples of a chunk. Longer ones save no time.
    entries : int
        Most entries of the covariances of the chunks that are filtered side by side: as many as
        fit into a cache of the second level.
    """

    longest: int = 256
    entries: int = 2**15

    def block(self, states: int, outputs: int) -> int:
        """Samples per step of the first pass: about as many outputs as half of the states."""
        return max(1, round(max(states / 2, 6 if states > 6 else 4) / outputs))

    def length(self, samples: int, block: int, states: int) -> int:
        """Samples of a chunk: about as many as there are chunks; more if there are many states."""
        best = round((0.6 + 0.04 * states) * math.sqrt(samples))
        return block * max(1, min(self.longest, best) // block)

    def side_by_side(self, states: int, records: int) -> int:
        """Number of chunks of each record that are filtered together."""
        return max(1, self.entries // (max(states, 4) ** 2 * records))


@dataclass(frozen=True)
class Gaussian:
    """A linear system with Gaussian noise: `(y_t, x_{t+1}) = H x_t + noise`.

    H has shape (q, d) or (T, q, d) and W shape (q, q) or (T, q, q), outputs before states. The
    first state has the given mean and covariance, and is diffuse where `diffuse` is true; those
    rows of the covariance are zero.
    """

    H: NDArray
    W: NDArray
    mean: NDArray
    covariance: NDArray
    diffuse: NDArray

    @property
    def states(self) -> int:
        """Number of states d."""
        return len(self.mean)


@dataclass(frozen=True)
class Records:
    """Records of one system: y (T, p, c, M), zero where missing; seen (T, p, M).

    There are M records and c columns of data that share the gaps. drive (T, d, c, M), or None, is
    added to the next state.
    """

    y: NDArray
    seen: NDArray
    drive: NDArray | None


def adjoint(X: NDArray) -> NDArray:
    """Conjugate transpose of every matrix of a stack."""
    return X.conj().swapaxes(-1, -2)


class Chunks:
    """The chunks of some records.

    Where errors of a filter grow that starts from an exact state, rounding would decide. Then what
    is known of the first state exactly has a variance that is not to be seen beside later ones.
    """

    def __init__(self, model: Gaussian, records: Records, sizes: Chunking = Chunking()) -> None:
        samples, p, c, M = records.y.shape
        shared = model.H.ndim == model.W.ndim == 2
        self.settled = settled(model.H, model.W, p, samples) if shared else None
        if self.settled is not None:
            rounding = EXACT * self.settled * np.outer(~model.diffuse, ~model.diffuse)
            model = replace(model, covariance=model.covariance + rounding)
        self.model, self.samples, self.shape = model, samples, (p, c, M)
        self.block = sizes.block(model.states, p) if shared else 1
        self.length = sizes.length(samples, self.block, model.states)
        self.count = -(-samples // self.length)
        self.together = sizes.side_by_side(model.states, M)
        self.dtype = np.result_type(model.H, records.y)
        self._y, self._seen = self._cut(records.y), self._cut(records.seen)
        self._drive = None if records.drive is None else self._cut(records.drive)
        self._H, self._W = (X if X.ndim == 2 else self._cut(X) for X in (model.H, model.W))
        self._lifted = lifted(model.H, model.W, p, self.block) if shared else None

    def _cut(self, values: NDArray) -> NDArray:
        """(T, ...) -> (chunks, steps, ...), with zeros after the last sample."""
        extra = self.count * self.length - len(values)
        padded = np.concatenate([values, np.zeros((extra, *values.shape[1:]), dtype=values.dtype)])
        return padded.reshape(self.count, self.length, *values.shape[1:])

    def groups(self, start: int = 0) -> list[slice]:
        """Chunks that are filtered together, in order, from the given one on."""
        stops = [*range(start + self.together, self.count, self.together), self.count]
        return [slice(a, b) for a, b in zip([start, *stops], stops, strict=False) if a < b]

    def stretches(self, group: slice) -> Stretches:
        """The data of a group; the stretches are its chunks times the records."""

        def last(values: NDArray) -> NDArray:
            part = np.moveaxis(values[group], 0, -2)
            return np.ascontiguousarray(part).reshape(*part.shape[:-2], -1)

        def repeated(X: NDArray) -> NDArray:
            return X if X.ndim == 2 else np.repeat(X[group].swapaxes(0, 1), self.shape[2], axis=1)

        drive = None if self._drive is None else last(self._drive)
        return Stretches(
            repeated(self._H), repeated(self._W), last(self._y), last(self._seen), drive
        )

    def blocks(self, group: slice) -> Stretches:
        """The same data with several samples per step."""
        data = self.stretches(group)
        if self._lifted is None:
            return data
        H, W, G = self._lifted
        steps, outputs = self.length // self.block, self.block * self.shape[0]
        y = data.y.reshape(steps, outputs, *data.y.shape[2:])
        seen = data.seen.reshape(steps, outputs, -1)
        if data.drive is None:
            return Stretches(H, W, y, seen, None)
        moved = (G @ data.drive.reshape(steps, G.shape[1], -1)).reshape(
            steps, -1, *data.drive.shape[2:]
        )
        y = np.where(seen[:, :, None], y - moved[:, :outputs], 0)
        return Stretches(H, W, y, seen, moved[:, outputs:])

    def stacked(self, values: NDArray) -> NDArray:
        """(a, b, stretches) -> (chunks, records, a, b)."""
        a, b, _ = values.shape
        return np.ascontiguousarray(
            np.moveaxis(values.reshape(a, b, -1, self.shape[2]), (2, 3), (0, 1))
        )

    def stretched(self, values: NDArray) -> NDArray:
        """(chunks, records, a, b) -> (a, b, stretches)."""
        part = np.moveaxis(values, (0, 1), (2, 3))
        return np.ascontiguousarray(part).reshape(*part.shape[:2], -1)

    def warm(self, group: slice) -> NDArray:
        """Covariances (d, d, n) that a filter reaches from zero in the d samples before a chunk.

        The true covariance given the past is at least as large. The first chunk gets zero. Where
        errors grow from there, all chunks get the covariance at which the filter settles.
        """
        d, M = self.model.states, self.shape[2]
        if self.settled is not None:
            count = (group.stop - group.start) * M
            return np.repeat(self.settled[..., None].astype(self.dtype), count, axis=2)
        before = slice(max(group.start - 1, 0), max(group.stop - 1, 0))
        if before.start == before.stop:
            return np.zeros((d, d, M), dtype=self.dtype)
        data, steps = self.blocks(before), slice(-d // self.block, None)
        H, W = (X if X.ndim == 2 else X[steps] for X in (data.H, data.W))
        zero = np.zeros((d, d, data.seen.shape[2]), dtype=self.dtype)
        bare = Stretches(H, W, data.y[steps, :, :0], data.seen[steps], None)
        P = filtered(bare, zero[:, :0], zero).end[1]
        return np.concatenate([zero[..., :M], P], axis=2) if group.start == 0 else P


@dataclass(frozen=True)
class Start:
    """The first state: covariance `nominal`, directions U, prior precision of delta."""

    nominal: NDArray
    U: NDArray
    precision: NDArray

    @classmethod
    def of(cls, model: Gaussian, reached: NDArray) -> Start:
        """The first state, where `reached` is a typical covariance given the past.

        What the covariance has beyond that becomes part of U. Then noise that is tiny beside the
        first covariance loses no digits.
        """
        free = model.diffuse
        nominal = np.array(model.covariance)
        nominal[np.ix_(free, free)] = reached[np.ix_(free, free)]
        U = np.eye(model.states, dtype=reached.dtype)[:, free]
        known = np.ix_(~free, ~free)
        values, vectors = np.linalg.eigh(model.covariance[known] - reached[known])
        scale = np.max(np.abs(values), initial=0.0)
        if scale > 0 and values[0] >= -1e-12 * scale:
            nominal[known] = reached[known]
            more = np.zeros((model.states, len(values)), dtype=reached.dtype)
            more[~free] = vectors * np.sqrt(np.maximum(values, 0))
            U = np.concatenate([U, more[:, values > 0]], axis=1)
        diffuse = np.count_nonzero(free)
        return cls(nominal, U, (np.arange(U.shape[1]) >= diffuse).astype(float))


@dataclass(frozen=True)
class Elements:
    """Chunks as functions of a shift s of their first state, from the covariance `nominal`.

    `-2 log-likelihood = constant + ||root s + cross||^2` (without -2 but - for complex numbers);
    the state at the end has the mean `b + Phi s` and covariance C. `J = root^H root` and
    `eta = -root^H cross`. Arrays start with (chunks, records).
    """

    nominal: NDArray
    constant: NDArray
    root: NDArray
    cross: NDArray
    b: NDArray
    Phi: NDArray
    C: NDArray
    J: NDArray
    eta: NDArray

    def at(self, index: int | slice) -> Elements:
        """Some of the chunks."""
        return Elements(*(getattr(self, field.name)[index] for field in fields(self)))

    def followed_by(self, more: Elements) -> Elements:
        """These chunks and then others."""
        names = [field.name for field in fields(self)]
        return Elements(*(np.concatenate([getattr(self, a), getattr(more, a)]) for a in names))

    @classmethod
    def of(cls, chunks: Chunks) -> tuple[Elements, Start]:
        """Filter all chunks once."""
        d, (_, c, M) = chunks.model.states, chunks.shape
        parts = []
        start = None
        for group in chunks.groups():
            P = chunks.warm(group)
            if start is None:
                typical = P[..., M:].mean(axis=-1) if P.shape[2] > M else P[..., 0]
                start = Start.of(chunks.model, typical)
                P[..., :M] = start.nominal[..., None]
            m = np.zeros((d, c + d, P.shape[2]), dtype=chunks.dtype)
            m[:, c:] = np.eye(d)[..., None]
            data = chunks.blocks(group)
            tape = filtered(data, m, P)
            m, C = tape.end
            parts.append((P, *cls._quadratic(data, tape, c), m[:, :c], m[:, c:], C))
        assert start is not None
        values = [chunks.stacked(np.concatenate(x, axis=-1)) for x in zip(*parts, strict=True)]
        nominal, constant, root, cross, b, Phi, C = values
        J, eta = adjoint(root) @ root, -adjoint(root) @ cross
        return cls(nominal, constant, root, cross, b, Phi, C, J, eta), start

    @staticmethod
    def _quadratic(data: Stretches, tape: Tape, c: int) -> tuple[NDArray, NDArray, NDArray]:
        """Constant, root and cross of each stretch, by orthogonal elimination of the shift.

        The errors of the tape are overwritten.
        """
        f, v = tape.variances, tape.errors
        unseen = np.isinf(f)
        if np.any(data.seen & unseen):
            raise ValueError(
                "the noise is singular: the model predicts some seen outputs without any error; "
                "give the outputs noise R, the variance of their measurement errors: for exact "
                "samples about 1e-12 times their variance"
            )
        steps, p, k, n = v.shape
        d, rows = k - c, v.reshape(steps * p, k, n)
        rows *= (1 / np.sqrt(f)).reshape(steps * p, 1, n)
        if steps * p < d:
            rows = np.concatenate([rows, np.zeros((d - steps * p, k, n))])
        # Columns from the last to the first: directions before data.
        triangle: NDArray = np.asarray(np.linalg.qr(rows[:, ::-1].transpose(2, 0, 1), mode="r"))
        triangle = np.moveaxis(triangle, 0, -1)
        logs = np.sum(np.log(np.where(unseen, 1.0, f)), axis=(0, 1))
        real = 1 if np.iscomplexobj(v) else 2
        logs += np.count_nonzero(data.seen, axis=(0, 1)) * np.log(real * np.pi)
        rest = np.sum(np.abs(triangle[d:, : d - 1 : -1]) ** 2, axis=0)
        return (logs + rest)[None], triangle[:d, d - 1 :: -1], triangle[:d, : d - 1 : -1]

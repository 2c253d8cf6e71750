"""The states at the boundaries of chunks, given the past and given the whole record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._array import NDArray
from .chunks import Chunks, Elements, adjoint

DETERMINED = 1e-13  # a smaller eigenvalue of information that is scaled to ones is rounding
FEW = 6  # chunks that a loop visits in less time than joining them takes
SURE = 1e-4  # a chunk starts from the past alone if all eigenvalues are above this


@dataclass(frozen=True)
class Unknown:
    """What is known about delta: `mean` (..., k, c), `root` with `root root^H` its covariance.

    `smallest` is the least eigenvalue of the information scaled to a diagonal of one (or its root).
    It is zero, up to rounding, if a direction is not determined.
    """

    mean: NDArray
    root: NDArray
    smallest: NDArray

    @classmethod
    def of(cls, precision: NDArray, eta: NDArray) -> Unknown:
        """From the precision and the precision times the mean."""
        diagonal = np.einsum("...ii->...i", precision).real
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))[..., None]
        values, vectors = np.linalg.eigh(precision / (scale * scale.swapaxes(-1, -2)))
        smallest = np.min(values, axis=-1, initial=1.0)
        inverse = 1 / np.sqrt(np.maximum(values, DETERMINED))
        root = vectors * inverse[..., None, :] / scale
        return cls(root @ (adjoint(root) @ eta), root, smallest)

    @classmethod
    def nothing(cls, records: int, c: int) -> Unknown:
        """Without delta, for some records."""
        return cls(np.zeros((records, 0, c)), np.zeros((records, 0, 0)), np.ones(records))


def starts(elements: Elements, state: NDArray) -> NDArray:
    """States at the first samples of all chunks, given the past.

    A state is `[covariance, mean columns]`. Many chunks are joined in pairs first: then the loop is
    over few chunks, and the states between the two of a pair follow in one step.
    """
    count = len(elements.J)
    if count <= FEW:
        visited = [state]
        for i in range(count - 1):
            visited.append(advanced(elements.at(i), visited[-1]))
        return np.stack(visited)
    first, second = elements.at(slice(0, count - 1, 2)), elements.at(slice(1, count, 2))
    pairs = joined(first, second)
    if count % 2:
        pairs = pairs.followed_by(elements.at(slice(count - 1, None)))
    states = np.empty((count, *state.shape), dtype=state.dtype)
    states[::2] = starts(pairs, state)
    states[1::2] = advanced(first, states[: count - 1 : 2])
    return states


def advanced(e: Elements, state: NDArray) -> NDArray:
    """The state after a chunk from that before it: condition on the chunk, then move to its end."""
    d, c = e.J.shape[-1], e.eta.shape[-1]
    shift, means = state[..., :d] - e.nominal, state[..., d:].copy()
    means[..., :c] += shift @ e.eta
    after = np.concatenate([shift @ adjoint(e.Phi), means], axis=-1)
    after = e.Phi @ np.linalg.solve(np.eye(d) + shift @ e.J, after)
    P = after[..., :d] + e.C
    after[..., :d] = 0.5 * (P + adjoint(P))
    after[..., d : d + c] += e.b
    return after


def joined(one: Elements, two: Elements) -> Elements:
    """Pairs of chunks as single ones; their constants are not needed."""
    d = one.J.shape[-1]
    shift = one.C - two.nominal
    inverse = np.linalg.inv(np.eye(d) + shift @ two.J)
    moved, weight = two.Phi @ inverse, two.J @ inverse
    J = one.J + adjoint(one.Phi) @ (0.5 * (weight + adjoint(weight))) @ one.Phi
    eta = one.eta + adjoint(inverse @ one.Phi) @ (two.eta - two.J @ one.b)
    b = two.b + moved @ (one.b + shift @ two.eta)
    C = two.C + moved @ shift @ adjoint(two.Phi)
    return replace(one, J=J, eta=eta, b=b, Phi=moved @ one.Phi, C=C)


class Boundaries:
    """States at the first sample of each chunk, given the past, as functions of delta.

    Arrays start with (chunks, records). `m` (d, c), `U` (d, k) and `P` (d, d) describe the state
    `m + U delta` plus noise of covariance P; `past[i]` is what the chunks before i say about delta.
    """

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self.elements, self.start = Elements.of(chunks)
        self._forward()
        self._likelihood()

    def _forward(self) -> None:
        """The state at the start of each chunk, and what the loop over chunks has found."""
        e, d, c = self.elements, self.chunks.model.states, self.chunks.shape[1]
        M, k = self.chunks.shape[2], self.start.U.shape[1]
        first = np.empty((M, d, d + c + k), dtype=e.J.dtype)
        first[..., :d] = self.start.nominal
        first[..., d : d + c], first[..., d + c :] = self.chunks.model.mean[:, None], self.start.U
        states = starts(e, first)
        self.P, self.means = states[..., :d], states[..., d:]
        self.shift = self.P - e.nominal

    def _likelihood(self) -> None:
        """What the record says about delta, and the log-likelihood.

        The quadratic part is a sum of squares at the most likely delta, which orthogonal
        elimination finds. So nothing cancels, however small the noise is.
        """
        e, (_, c, M), k = self.elements, self.chunks.shape, self.start.U.shape[1]
        spread = e.root @ self.shift @ adjoint(e.root)
        try:
            factor = np.linalg.cholesky(np.eye(spread.shape[-1]) + 0.5 * (spread + adjoint(spread)))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "the noise is nearly singular, so that rounding decides: give the outputs more "
                "noise R, for exact samples about 1e-12 times their variance"
            ) from error
        # Errors of the chunks in standard deviations, as functions of delta: (chunks, M, d, c + k).
        errors = e.root @ self.means
        errors[..., :c] += e.cross
        errors = np.linalg.solve(factor, errors)
        logs = 2 * np.sum(np.log(np.einsum("...ii->...i", factor).real), axis=(0, -1))
        total = np.sum(e.constant[..., 0, :], axis=0) + logs[:, None]
        self.delta, information = self._final(errors) if k else (Unknown.nothing(M, c), 0.0)
        squares = np.abs(errors[..., :c] + errors[..., c:] @ self.delta.mean) ** 2
        prior = self.start.precision[:, None] * np.abs(self.delta.mean) ** 2
        total += np.sum(squares, axis=(0, 2)) + np.sum(prior, axis=1) + information
        self.loglikelihood: NDArray = -total if np.iscomplexobj(e.J) else -0.5 * total

    def _final(self, errors: NDArray) -> tuple[Unknown, NDArray]:
        """Delta given the whole record, and the logarithm of its information, (M, 1)."""
        c, k = self.chunks.shape[1], self.start.U.shape[1]
        rows = np.roll(errors, -c, axis=-1)
        rows = rows.swapaxes(0, 1).reshape(rows.shape[1], -1, k + c)
        prior = np.zeros((len(rows), k, k + c), dtype=rows.dtype)
        prior[..., :k] = np.diag(np.sqrt(self.start.precision))
        triangle = np.asarray(np.linalg.qr(np.concatenate([prior, rows], axis=1), mode="r"))
        R, data = triangle[:, :k, :k], triangle[:, :k, k:]
        size = np.linalg.norm(R, axis=1, keepdims=True)
        smallest = np.linalg.svd(R / np.where(size > 0, size, 1.0), compute_uv=False)[:, -1]
        root = np.linalg.inv(np.where(smallest[:, None, None] > DETERMINED, R, np.eye(k)))
        logs = -2 * np.sum(np.log(np.abs(np.einsum("mii->mi", root))), axis=1, keepdims=True)
        return Unknown(-root @ data, root, smallest), logs

    @cached_property
    def _own(self) -> tuple[NDArray, NDArray, NDArray]:
        """Derivative and information of each chunk's own log-likelihood for its first means.

        With them, the map from the mean at its start to the mean at its end.
        """
        e, c = self.elements, self.chunks.shape[1]
        inverse = np.linalg.inv(np.eye(e.J.shape[-1]) + self.shift @ e.J)
        errors = e.root @ self.means
        errors[..., :c] += e.cross
        gradient = -adjoint(e.root @ inverse) @ errors
        weight = e.J @ inverse
        return gradient, 0.5 * (weight + adjoint(weight)), e.Phi @ inverse

    @cached_property
    def past(self) -> tuple[NDArray, NDArray]:
        """Information about delta of the chunks before each one, and after the last."""
        c, (gradient, information, _) = self.chunks.shape[1], self._own
        U = self.means[..., c:]
        precision, eta = adjoint(U) @ information @ U, adjoint(U) @ gradient[..., :c]
        prior = np.diag(self.start.precision) + np.zeros_like(precision[:1])
        precision = np.cumsum(np.concatenate([prior, precision]), axis=0)
        return precision, np.cumsum(np.concatenate([np.zeros_like(eta[:1]), eta]), axis=0)

    def check_determined(self) -> None:
        """Raise an error if the record leaves a direction of a diffuse start open."""
        if np.any(self.delta.smallest < DETERMINED):
            raise ValueError(
                "the samples do not determine the first state, which is unknown: more samples are "
                "expected, or pass x0 and x0_covariance"
            )

    @cached_property
    def unsure(self) -> int:
        """Number of chunks at the start whose past does not determine delta well."""
        if not self.start.U.shape[1]:
            return 0
        known = Unknown.of(*(x[1:-1] for x in self.past)).smallest
        sure = np.all(known > SURE, axis=1)
        return 1 + (int(np.argmax(sure)) if np.any(sure) else len(sure))

    @cached_property
    def future(self) -> tuple[NDArray, NDArray]:
        """Derivatives r (d, c + k) and covariances N (d, d) of the future's log-likelihood.

        They belong to the mean of the state at the start of each chunk, given delta, and after the
        last one.
        """
        gradient, information, moves = self._own
        moved = adjoint(moves)
        r, N = np.zeros_like(gradient[0]), np.zeros_like(information[0])
        rs, Ns = [r], [N]
        for i in reversed(range(self.chunks.count)):
            r = gradient[i] + moved[i] @ r
            N = information[i] + moved[i] @ N @ adjoint(moved[i])
            rs.append(r)
            Ns.append(0.5 * (N + adjoint(N)))
            N = Ns[-1]
        return np.stack(rs[::-1]), np.stack(Ns[::-1])

    def begin(self, group: slice) -> tuple[NDArray, NDArray]:
        """Mean columns and covariances at the start of the chunks, for a filter pass.

        Chunks that are not sure of delta get the data's column for the final estimate of delta, and
        a column for each direction of its remaining error. The others know delta from the past.
        """
        c = self.chunks.shape[1]
        means, P = self.means[group], self.P[group]
        m, U = means[..., :c], means[..., c:]
        past = Unknown.of(*(x[:-1][group] for x in self.past))
        directions = U @ past.root
        collapsed = m + U @ past.mean, P + directions @ adjoint(directions)
        if group.start >= self.unsure:
            return self.chunks.stretched(collapsed[0]), self.chunks.stretched(collapsed[1])
        open_ = (np.arange(len(m)) + group.start < self.unsure)[:, None, None, None]
        columns = np.concatenate([m + U @ self.delta.mean, U @ self.delta.root], axis=-1)
        other = np.concatenate([collapsed[0], np.zeros_like(U)], axis=-1)
        columns, P = np.where(open_, columns, other), np.where(open_, P, collapsed[1])
        return self.chunks.stretched(columns), self.chunks.stretched(P)

    def finish(self, group: slice) -> tuple[NDArray, NDArray]:
        """R and N at the ends of the chunks, for the columns and covariances of `begin`."""
        c = self.chunks.shape[1]
        after = slice(group.start + 1, group.stop + 1)
        r, N = self.future[0][after], self.future[1][after]
        data, directions = self.total(r), r[..., c:] @ self.delta.root
        total = N - directions @ adjoint(directions)
        if group.start >= self.unsure:
            return self.chunks.stretched(data), self.chunks.stretched(total)
        open_ = (np.arange(len(r)) + group.start < self.unsure)[:, None, None, None]
        columns = np.concatenate([data, np.where(open_, directions, 0)], axis=-1)
        return self.chunks.stretched(columns), self.chunks.stretched(np.where(open_, N, total))

    def total(self, r: NDArray) -> NDArray:
        """The data's columns of r, at the final estimate of delta."""
        c = self.chunks.shape[1]
        return np.asarray(r[..., :c] + r[..., c:] @ self.delta.mean)

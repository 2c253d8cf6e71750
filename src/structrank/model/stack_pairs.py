"""Top singular pairs of many matrices at once, known only by their products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from array_api_compat import device
from array_api_extra import at

from .._array import (
    Array,
    NDArray,
    all_chosen,
    array_namespace,
    conj,
    epsilon,
    grams,
    inners,
    joined,
    like,
    to_numpy,
    transposed,
)
from .linalg import Lanczos

Product = Callable[[Array], Array]


@dataclass(frozen=True)
class Checks:
    """When the accuracy of many pairs is checked; values that took the least time on 512 samples.

    They change the time that a run takes, not its result.
    """

    least: int = 2  # fewest steps between two checks, whose decompositions cost as much as a step
    later: int = 4  # the next check is at least 1/4 later
    leave: float = 0.5  # finished problems leave when this share is finished


class StackPairs(NamedTuple):
    """Leading singular pairs of every matrix, largest first; rows, padded with zeros."""

    U: Array  # problems x count x M
    values: NDArray  # problems x count
    W: Array  # problems x count x N, the conjugates of the right vectors
    residuals: NDArray  # of the first pairs

    @property
    def likely_top(self) -> NDArray:
        """The first values plus their residuals: probably above the top values, not surely."""
        return self.values[:, 0] + self.residuals

    def chosen(self, places: NDArray) -> StackPairs:
        """The pairs of some problems."""
        U, W = all_chosen((self.U, self.W), places)
        return StackPairs(U, self.values[places], W, self.residuals[places])


class ProjectedPairs(NamedTuple):
    """Leading singular pairs of the small matrices of a Lanczos process, as rows."""

    left: Array
    values: NDArray
    right: Array
    residuals: NDArray


class Matrices(Protocol):
    """Many matrices, known by their products with rows (problems, 1, size)."""

    def matmul(self, W: Array) -> Array:
        """Compute `A conj(w)`."""

    def rmatmul(self, U: Array) -> Array:
        """Compute `A^T conj(u)`."""

    def chosen(self, places: NDArray) -> Self:
        """Some of the matrices."""


class StackLanczos:
    """Golub-Kahan-Lanczos bidiagonalisation of many matrices in lockstep, as in `linalg`.

    Vectors are rows of shape (problems, 1, size). The right ones are conjugated: `matmul` computes
    `A conj(w)`, `rmatmul` computes `A^T conj(u)`.
    """

    def __init__(self, start: Array, lanczos: Lanczos = Lanczos()) -> None:
        xp = array_namespace(start)
        self.lanczos, self.eps = lanczos, epsilon(start)
        self.left: Array = None
        self.right: Array = None
        tiny = float(np.finfo(np.float32).tiny)
        self.rest = start / xp.clip(_norms(start), tiny, None)
        self.alphas: list[Array] = []
        self.betas: list[Array] = []
        self.largest = xp.zeros_like(_norms(start))

    @property
    def steps(self) -> int:
        return len(self.alphas)

    def step(self, matmul: Product, rmatmul: Product) -> None:
        """Add one vector to both bases of every problem."""
        self.right = self._appended(self.right, self.rest)
        u, alpha = self._normalised(self._orthogonal(self.left, matmul(self.rest)))
        self.left = self._appended(self.left, u)
        self.rest, beta = self._normalised(self._orthogonal(self.right, rmatmul(u)))
        self.alphas.append(alpha[:, 0, 0])
        self.betas.append(beta[:, 0, 0])

    def _normalised(self, vectors: Array) -> tuple[Array, Array]:
        """Divide by the norms, and return these; what is only rounding becomes zero."""
        xp = array_namespace(vectors)
        norms = _norms(vectors)
        self.largest = xp.maximum(self.largest, norms)
        use = norms > self.lanczos.rounding.sums * self.eps * self.largest
        norms = xp.where(use, norms, xp.zeros_like(norms))
        inverse = xp.where(use, 1 / xp.where(use, norms, xp.ones_like(norms)), norms)
        return vectors * inverse, norms

    def _appended(self, rows: Array, vector: Array) -> Array:
        """Write a vector behind the others, into memory that grows in pieces."""
        xp, k = array_namespace(vector), self.steps
        if rows is None or k == rows.shape[1]:
            shape = (vector.shape[0], max(self.lanczos.rows, k), vector.shape[2])
            more = xp.zeros(shape, dtype=vector.dtype, device=device(vector))
            rows = more if rows is None else xp.concat([rows, more], axis=1)
        return at(rows)[:, k, :].set(vector[:, 0, :])

    def _orthogonal(self, rows: Array, vector: Array) -> Array:
        """Subtract the part in the span of a basis; twice, which is enough."""
        if rows is None:
            return vector
        xp = array_namespace(vector)
        used = rows[:, : self.steps + 1, :]
        for _ in range(2):
            vector = vector - xp.matmul(conj(grams(vector, used)), used)
        return vector

    def chosen(self, places: NDArray) -> StackLanczos:
        """The processes of some problems."""
        whole = (self.rest, self.left, self.right, self.largest)
        parts = all_chosen((*whole, *self.alphas, *self.betas), places)
        part = StackLanczos(parts[0], self.lanczos)
        part.rest, part.left, part.right, part.largest = parts[:4]
        part.alphas, part.betas = parts[4 : 4 + self.steps], parts[4 + self.steps :]
        return part

    def projected(self, count: int) -> ProjectedPairs:
        """Compute the leading pairs of the small matrices B."""
        xp, k = array_namespace(self.rest), self.steps
        alphas, betas = xp.stack(self.alphas, axis=1), xp.stack(self.betas, axis=1)
        diagonal, above = (like(np.eye(k, k=shift), alphas) for shift in (0, 1))
        B = alphas[:, :, None] * diagonal + betas[:, :, None] * above
        # The squares lose digits of small values only, and are decomposed faster.
        squares, vectors = xp.linalg.eigh(xp.matmul(transposed(B), B))
        first = k - min(count, k)
        values = xp.sqrt(xp.clip(xp.flip(squares[:, first:], axis=1), 0.0, None))
        right = xp.flip(transposed(vectors[:, :, first:]), axis=1)
        inverse = xp.where(values > 0, 1 / xp.where(values > 0, values, 1 + values), values)
        left = inverse[:, :, None] * xp.matmul(right, transposed(B))
        residuals = self.betas[-1] * xp.abs(left[:, 0, -1])
        return ProjectedPairs(left, to_numpy(values), right, to_numpy(residuals))

    def pairs(self, small: ProjectedPairs) -> StackPairs:
        """Return these pairs in the original coordinates."""
        xp, k = array_namespace(self.rest), self.steps
        U, W = (
            xp.matmul(xp.astype(mix, rows.dtype), rows[:, :k, :])
            for mix, rows in ((small.left, self.left), (small.right, self.right))
        )
        return StackPairs(U, small.values, W, small.residuals)


def top_pairs(
    matrices: Matrices,
    start: Array,
    count: int,
    tolerances: NDArray,
    *,
    max_steps: int = 60,
    checks: Checks = Checks(),
) -> StackPairs:
    """Compute leading singular pairs of every matrix, as `top_singular_pairs` does for one.

    Parameters
    ----------
    matrices : Matrices
    start : array, shape (problems, 1, N)
    count : int
        Number of pairs wanted.
    tolerances : ndarray, shape (problems,)
        Largest residual of the first pairs, relative to their values.
    max_steps : int
        Largest dimension of the bases.
    checks : Checks
    """
    process, places = StackLanczos(start), np.arange(start.shape[0])
    finished: list[tuple[NDArray, StackPairs]] = []
    next_check = min(count, max_steps)
    while places.size:
        process.step(matrices.matmul, matrices.rmatmul)
        if process.steps < next_check:
            continue
        small = process.projected(count)
        accurate = small.residuals <= tolerances[places] * small.values[:, 0]
        done = accurate | (process.steps >= max_steps)
        next_check = process.steps + max(checks.least, process.steps // checks.later)
        next_check = min(next_check, max_steps)
        if np.mean(done) < checks.leave:
            continue
        left, kept = np.flatnonzero(done), np.flatnonzero(~done)
        finished.append((places[left], process.pairs(small).chosen(left)))
        places = places[kept]
        if places.size:
            process, matrices = process.chosen(kept), matrices.chosen(kept)
    where, parts = zip(*finished, strict=True)
    U, values, W, residuals = (joined(arrays, where) for arrays in zip(*parts, strict=True))
    return StackPairs(U, values, W, residuals)


def _norms(vectors: Array) -> Array:
    """Norms of rows (problems, 1, size), as (problems, 1, 1)."""
    xp = array_namespace(vectors)
    return xp.sqrt(inners(vectors, vectors))[:, None, None]

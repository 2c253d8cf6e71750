"""Proven gaps of many problems at once: the bound of `proven.py` and `gradient_state.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from .._array import (
    Array,
    NDArray,
    all_chosen,
    array_namespace,
    conj,
    grams,
    inners,
    is_complex,
    to_numpy,
)
from ..model.stack import StackFigures, StackGradient
from ..model.stack_pairs import StackLanczos
from .proven import Proof


def relative_gaps(figures: StackFigures, top_values: NDArray, rounding: float) -> NDArray:
    """The gaps of (reform2) over the objectives, as `Penalized.gap` for one problem.

    Parameters
    ----------
    figures : StackFigures
        Of balanced factors.
    top_values : ndarray
        Top singular values of the gradients, or upper bounds of them.
    rounding : float
        Rounding errors of a gradient, relative to the terms that cancel in it.
    """
    f, mu = figures.smooth, figures.mu
    top = top_values + rounding * figures.lam * np.sqrt(np.maximum(figures.norm_squared, 0.0))
    phi, at_zero = figures.psi, f - figures.slope
    with np.errstate(divide="ignore", invalid="ignore"):
        feasible = np.where(top > 0, mu / top, np.inf)
        best = np.where(f > 0, np.maximum((2 * f - figures.slope) / (2 * f), 0.0), 1.0)
    scale = np.minimum(best, feasible)
    bounds = (
        at_zero - phi / mu * np.maximum(top - mu, 0.0),
        at_zero * np.minimum(feasible, 1.0),
        scale * (2 * f - figures.slope) - scale**2 * f,
        np.zeros_like(phi),
    )
    gaps = np.maximum(phi - np.maximum.reduce(bounds), 0.0)
    return np.where(phi > 0, gaps / np.where(phi > 0, phi, 1.0), 0.0)


def prove_gaps(
    gradient: StackGradient,
    figures: StackFigures,
    noise: Array,
    wanted: NDArray,
    proof: Proof = Proof(),
) -> NDArray:
    """Prove a gap of at most `wanted` per problem, where that is possible; others are infinite.

    In orthonormal bases of the columns and rows of X, and of what is orthogonal to them, a
    gradient has four blocks, three of them thin; see `proven_norm`. The norms of these leave room
    for that of the last one, s. It is enough to know that s is below the room: a polynomial p of
    the Lanczos method with `p(s^2) <= 1 / |<start, v>|` is evaluated there, by the recursion of its
    tridiagonal matrix. It grows beyond its largest root, so that a value too large for a random
    start proves the bound.

    Parameters
    ----------
    gradient : StackGradient
        At balanced factors.
    figures : StackFigures
        Of the same points.
    noise : array, shape (1, 1, N)
        A Gaussian vector that does not depend on the gradients.
    wanted : ndarray
    proof : Proof
    """
    eps = float(np.finfo(to_numpy(gradient.U[:1, :1, :1]).real.dtype).eps)
    safety, rounding = 1 + proof.rounding.norms * eps, proof.rounding.sums * eps
    enough = _largest(
        lambda norms: relative_gaps(figures, norms, rounding) <= wanted, figures.mu, 2 * figures.mu
    )
    bases = _Bases.of(gradient)
    thin = _thin_norms(gradient, bases)
    room = _largest(
        lambda last: _norms_of_two(*thin, last) <= enough / safety, np.zeros_like(enough), enough
    )
    gaps = np.full(enough.size, np.inf)
    places = np.flatnonzero((enough > 0) & (room > 0))
    if places.size:
        outside = _Outside(gradient, bases).chosen(places)
        below = _last_blocks_below(outside, noise, room[places] / safety, proof)
        places = places[below]
        norms = safety * _norms_of_two(*thin, room)
        gaps[places] = relative_gaps(figures, norms, rounding)[places]
    return gaps


def _largest(
    holds: Callable[[NDArray], NDArray], low: NDArray, high: NDArray, *, halvings: int = 30
) -> NDArray:
    """The largest numbers between two for which a condition holds; zero where there is none.

    It holds up to some number, and not beyond. The numbers are found by halving the intervals.
    """
    start, whole = holds(low), holds(high)
    for _ in range(halvings):
        middle = (low + high) / 2
        good = holds(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(start, np.where(whole, high, low), 0.0)


def _norms_of_two(a: NDArray, b: NDArray, c: NDArray, d: NDArray) -> NDArray:
    """Norms of the 2 x 2 matrices [[a, b], [c, d]]."""
    squares, determinant = a**2 + b**2 + c**2 + d**2, a * d - b * c
    root = np.sqrt(np.maximum(squares**2 - 4 * determinant**2, 0.0))
    norms: NDArray = np.sqrt((squares + root) / 2)
    return norms


@dataclass(frozen=True)
class _Bases:
    """Orthonormal rows that span the columns and the rows of every X, padded with zeros."""

    U: Array
    W: Array

    @classmethod
    def of(cls, gradient: StackGradient) -> _Bases:
        """Divide balanced factors by their norms; zeros stay."""
        xp = array_namespace(gradient.U)
        norms = [xp.linalg.vector_norm(F, axis=2, keepdims=True) for F in (gradient.U, gradient.W)]
        left, right = (xp.where(norm > 0, norm, xp.ones_like(norm)) for norm in norms)
        return cls(gradient.U / left, gradient.W / right)

    def chosen(self, places: NDArray) -> _Bases:
        return _Bases(*all_chosen((self.U, self.W), places))


def _without(basis: Array, rows: Array) -> Array:
    """Project rows away from orthonormal ones."""
    xp = array_namespace(rows)
    return rows - xp.matmul(conj(grams(rows, basis)), basis)


def _thin_norms(gradient: StackGradient, bases: _Bases) -> tuple[NDArray, NDArray, NDArray]:
    """Norms of the three thin blocks: the corner, what is beside it, what is below it."""
    xp = array_namespace(bases.U)
    image, coimage = gradient.matmul(bases.W), gradient.rmatmul(bases.U)
    corner = grams(bases.U, image)
    below, beside = _without(bases.U, image), _without(bases.W, coimage)
    squares = (xp.linalg.eigvalsh(grams(F, F))[:, -1] for F in (corner, beside, below))
    first, second, third = (np.sqrt(np.maximum(to_numpy(s).astype(float), 0.0)) for s in squares)
    return first, second, third


class _Outside:
    """The last blocks: gradients between the spaces orthogonal to the columns and rows of X."""

    def __init__(self, gradient: StackGradient, bases: _Bases) -> None:
        self.bases, self.gradient = bases, replace(gradient, lam=0.0)  # projected away is lam X

    def matmul(self, W: Array) -> Array:
        return _without(self.bases.U, self.gradient.matmul(W))

    def rmatmul(self, U: Array) -> Array:
        return _without(self.bases.W, self.gradient.rmatmul(U))

    def chosen(self, places: NDArray) -> _Outside:
        return _Outside(self.gradient.chosen(places), self.bases.chosen(places))


def _last_blocks_below(matrices: _Outside, noise: Array, limits: NDArray, proof: Proof) -> NDArray:
    """Whether the norms of the matrices are proven to be below some limits."""
    xp = array_namespace(noise)
    start = _without(matrices.bases.W, xp.tile(noise, (limits.size, 1, 1)))
    lengths = np.sqrt(to_numpy(inners(start, start)).astype(float))
    rare = np.sqrt(2 * proof.failure) if is_complex(noise) else proof.failure * np.sqrt(np.pi / 2)
    process, places = StackLanczos(start), np.arange(limits.size)
    proven = np.zeros(limits.size, dtype=bool)
    test = _Polynomials.of(limits**2, rare / np.maximum(lengths, np.finfo(float).tiny))
    M, N = matrices.gradient.kernel.shape
    for _ in range(min(proof.lanczos_steps, M + 1, N)):  # then the bases are complete
        process.step(matrices.matmul, matrices.rmatmul)
        test = test.continued(*(to_numpy(x[-1]) for x in (process.alphas, process.betas)))
        proven[places] = test.below
        kept = np.flatnonzero(~test.below & ~test.above)
        if not kept.size:
            break
        if kept.size <= places.size / 2:
            process, matrices = process.chosen(kept), matrices.chosen(kept)
            test, places = test.chosen(kept), places[kept]
    return proven


@dataclass(frozen=True)
class _Polynomials:
    """The polynomials p of the Lanczos method, `prod (t - roots) / prod couplings`, at one t each.

    The roots are the eigenvalues of a tridiagonal matrix T. The factors `q` of the triangular
    decomposition of `t - T` are all positive if and only if t is above all roots.
    """

    t: NDArray
    log_rare: NDArray  # logarithm of how small <start, v> may be, over the norm of the start
    q: NDArray
    beta: NDArray
    coupling: NDArray
    log_p: NDArray
    below: NDArray  # whether the top singular value squared is proven to be below t
    above: NDArray  # whether it is above

    @classmethod
    def of(cls, t: NDArray, rare: NDArray) -> _Polynomials:
        zeros, false = np.zeros_like(t), np.zeros(t.size, dtype=bool)
        return cls(t, np.log(rare), np.ones_like(t), zeros, zeros, zeros, false, false)

    def continued(self, alpha: NDArray, beta: NDArray) -> _Polynomials:
        """The polynomials after one more step of the Lanczos method."""
        alpha, beta = alpha.astype(float), beta.astype(float)
        q = self.t - alpha**2 - self.beta**2 - self.coupling**2 / self.q
        coupling = alpha * beta
        above = ~self.below & (self.above | (q <= 0))
        q = np.where(q > 0, q, 1.0)
        end = coupling <= 0  # the basis contains the top pair
        growth = np.log(q) - np.log(np.where(end, 1.0, coupling))
        log_p = self.log_p + np.where(end, np.inf, growth)
        below = self.below | (~above & (log_p + self.log_rare >= 0))
        return _Polynomials(self.t, self.log_rare, q, beta, coupling, log_p, below, above)

    def chosen(self, places: NDArray) -> _Polynomials:
        return _Polynomials(*(getattr(self, field.name)[places] for field in fields(self)))

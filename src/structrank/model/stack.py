"""Many penalised problems (reform2) of one shape: values, gradients, values along lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from array_api_compat import device

from .._array import (
    Array,
    NDArray,
    all_chosen,
    array_namespace,
    conj,
    epsilon,
    grams,
    in_single_precision,
    inners,
    is_complex,
    like,
    orthonormal_rows,
    svd_stack,
    to_numpy,
    transposed,
)
from ..structures.hankel_stack import HankelStack
from .problem import Problem
from .problems import Problems
from .recoveries import inverse_multiplicity
from .sample_range import SampleRange


@dataclass
class StackPoint:
    """Factors of every X, with the quantities that the objectives have computed from them.

    Factors are padded with zero rows to the largest rank of the stack.
    """

    U: Array  # problems x r x M
    W: Array  # problems x r x N, the conjugate of V
    left: Array  # transformed U
    right: Array  # transformed W
    total: Array  # Q*(X), the sums over all copies
    residual: Array  # A C X - b
    gram_U: Array  # U^H U
    gram_W: Array  # W^H W

    def chosen(self, places: NDArray) -> StackPoint:
        """The points of some problems."""
        parts = (getattr(self, field.name) for field in fields(self))
        return StackPoint(*all_chosen(parts, places))


class Stack:
    """The objective `psi(U, V)` of `Penalized`, for many problems with one structure.

    Weighted samples, the projections B and C. Small numbers, one per problem, are NumPy arrays in
    double precision; everything else stays in the library and on the device of the data.

    Parameters
    ----------
    kernel : HankelStack
    data, weights : array, shape (problems, n)
        Right-hand sides and weights of the samples, zero where they are missing.
    mu : ndarray, shape (problems,)
    lam : float
    inverse : array, shape (n,)
        One over the multiplicities.
    """

    def __init__(
        self,
        kernel: HankelStack,
        data: Array,
        weights: Array,
        mu: NDArray,
        lam: float,
        inverse: Array,
    ) -> None:
        self.kernel, self.data, self.weights = kernel, data, weights
        self.mu, self.lam, self.inverse = mu, lam, inverse
        self.eps = epsilon(data)
        self.scaled_weights = weights * inverse  # of A C_proj, as a map of sums over copies
        self.price = self.spread(mu)

    @classmethod
    def of(cls, problems: Sequence[Problem], lam: float) -> Stack:
        """Stack problems with the same structure, whose measures are weights."""
        if isinstance(problems, Problems):
            structure, xp = problems.structure, array_namespace(problems.b)
            data, weights, mu = problems.data, problems.weights, problems.mu
        else:
            structure, xp = problems[0].structure, array_namespace(problems[0].data)
            data = xp.stack([problem.data for problem in problems])
            weights = xp.stack([problem.sample_weights for problem in problems])
            mu = np.array([problem.mu for problem in problems])
        inverse = xp.reshape(inverse_multiplicity(structure, data), (-1,))
        data, weights = (xp.reshape(x, (len(problems), -1)) for x in (data, weights))
        return cls(HankelStack.of(structure), data, weights, mu, lam, inverse)

    def __len__(self) -> int:
        return self.mu.size

    def chosen(self, places: NDArray) -> Stack:
        """Some of the problems, in order."""
        if places.size == len(self):
            return self
        data, weights = all_chosen((self.data, self.weights), places)
        return Stack(self.kernel, data, weights, self.mu[places], self.lam, self.inverse)

    def sizes(self) -> NDArray:
        """The largest size of the data of each problem, as a power of four, whose root is exact."""
        largest = to_numpy(array_namespace(self.data).max(abs(self.data), axis=1)).astype(float)
        return np.where(largest > 0, 4.0 ** (np.frexp(largest)[1] // 2), 1.0)

    def divided(self, sizes: NDArray) -> Stack:
        """The problems whose solutions are those of these, divided by their sizes."""
        data = self.data / self.spread(sizes)[:, 0, :]
        return Stack(self.kernel, data, self.weights, self.mu / sizes, self.lam, self.inverse)

    def check(self, problems: Sequence[Problem], first: int) -> None:
        """Raise the error of `gcgls` if lam, or a mu of the problems from `first` on, is bad."""
        limits = SampleRange()
        limits.check_lam(self.lam, self.data)
        sizes = to_numpy(array_namespace(self.data).max(abs(self.weights * self.data), axis=1))
        for i in np.flatnonzero(~limits.mu_in_range(self.mu, sizes.astype(float), self.data)):
            try:
                limits.check_mu(problems[int(i)].mu, problems[int(i)].backprojection)
            except ValueError as error:
                raise ValueError(f"problem {first + i}: {error}") from error

    @property
    def fits_single_precision(self) -> NDArray:
        """Which problems have numbers of the sizes that single precision allows, data apart."""
        most = SampleRange().single
        weights = to_numpy(array_namespace(self.data).max(self.weights, axis=1))
        fits = (1 / most <= weights) & (weights <= most) & (self.mu <= most**2)
        return np.asarray(fits & (1 / most**2 <= self.lam <= most**2))

    def in_single_precision(self) -> Stack:
        """The same problems with numbers of half the size, for steps that may be rough."""
        data, weights, inverse = map(in_single_precision, (self.data, self.weights, self.inverse))
        return Stack(self.kernel, data, weights, self.mu, self.lam, inverse)

    def spread(self, numbers: NDArray) -> Array:
        """One number per problem as an array that multiplies stacks of factors."""
        return like(numbers.astype(float), self.data, real=True)[:, None, None]

    # -- values -------------------------------------------------------------------------

    def zero(self) -> StackPoint:
        """The points X = 0, with one column of zeros."""
        xp = array_namespace(self.data)
        one = xp.zeros_like(self.data[:, None, :1])
        M, N = self.kernel.shape
        return self.at(xp.tile(one, (1, 1, M)), xp.tile(one, (1, 1, N)))

    def at(self, U: Array, W: Array) -> StackPoint:
        """Compute everything about the matrices that values and gradients need."""
        left, right = self.kernel.left(U), self.kernel.right(W)
        total = self.kernel.adjoint((left, right))
        residual = self.scaled_weights * total - self.data
        return StackPoint(U, W, left, right, total, residual, grams(U, U), grams(W, W))

    def figures(self, point: StackPoint) -> StackFigures:
        """Compute the values of the parts of the objectives."""
        xp = array_namespace(point.U)
        forward = self.scaled_weights * point.total  # residual + data would lose small ones
        parts = (
            inners(point.residual, point.residual) / 2,
            inners(conj(point.gram_U), point.gram_W),
            inners(point.total * self.inverse, point.total),
            (traces(point.gram_U) + traces(point.gram_W)) / 2,
            inners(self.data, forward),
            inners(forward, forward),
        )
        return StackFigures(self.mu, self.lam, *to_numpy(xp.stack(parts)).astype(float))

    # -- gradients ----------------------------------------------------------------------

    def gradient(self, point: StackPoint) -> StackGradient:
        """Return every `grad f(X)` as an operator."""
        return StackGradient(self.kernel, self.lam, self._signals(point), point.U, point.W)

    def factor_gradient(self, point: StackPoint) -> tuple[Array, Array]:
        """Compute the gradients of psi with respect to U and W."""
        xp, signals = array_namespace(point.U), self._signals(point)
        for_U, for_W = self.curvatures(point)
        GU = self.kernel.matmul(signals, point.right) + xp.matmul(for_U, point.U)
        GW = self.kernel.rmatmul(signals, point.left) + xp.matmul(for_W, point.W)
        return GU, GW

    def curvatures(self, point: StackPoint) -> tuple[Array, Array]:
        """Second derivatives of psi, `lam V^H V + mu` and `lam U^H U + mu`, to multiply rows by."""
        xp = array_namespace(point.U)
        unit = xp.eye(point.U.shape[1], dtype=point.U.dtype, device=device(point.U))
        ridge = self.price * unit
        return self.lam * point.gram_W + ridge, self.lam * point.gram_U + ridge

    def _signals(self, point: StackPoint) -> Array:
        """Compute g, transformed, of `grad f(X) = Q(g) + lam X`."""
        g = self.scaled_weights * point.residual - self.lam * (self.inverse * point.total)
        return self.kernel.signals(g)


@dataclass(frozen=True)
class StackFigures:
    """Numbers of one point per problem, from which objectives and gaps are computed."""

    mu: NDArray
    lam: float
    loss: NDArray
    norm_squared: NDArray  # ||X||_F^2
    structured: NDArray  # ||P X||_F^2
    half_norms: NDArray  # (||U||^2 + ||V||^2) / 2: the nuclear norm of balanced factors
    alignment: NDArray  # <b, A C X>
    forward_squared: NDArray  # ||A C X||^2

    @property
    def violation_squared(self) -> NDArray:
        """`||B X||^2`."""
        squares: NDArray = np.maximum(self.norm_squared - self.structured, 0.0)
        return squares

    @property
    def smooth(self) -> NDArray:
        """`f(X)`."""
        smooth: NDArray = self.loss + self.lam / 2 * self.violation_squared
        return smooth

    @property
    def psi(self) -> NDArray:
        """`f(X) + mu (||U||^2 + ||V||^2) / 2`."""
        psi: NDArray = self.smooth + self.mu * self.half_norms
        return psi

    @property
    def curvature(self) -> NDArray:
        """Second derivative of f along X."""
        curvature: NDArray = self.forward_squared + self.lam * self.violation_squared
        return curvature

    @property
    def slope(self) -> NDArray:
        """`<grad f(X), X>`."""
        return self.curvature - self.alignment

    def chosen(self, places: NDArray) -> StackFigures:
        """The numbers of some problems."""
        parts = [getattr(self, field.name) for field in fields(self)[2:]]
        return StackFigures(self.mu[places], self.lam, *(part[places] for part in parts))


@dataclass(frozen=True)
class StackGradient:
    """The matrices `Q(g) + lam X`, never formed, as products with stacks of rows."""

    kernel: HankelStack
    lam: float
    signals: Array  # g, transformed
    U: Array
    W: Array

    def matmul(self, W: Array) -> Array:
        """Compute `grad f(X) conj(w_k)`."""
        product = self.kernel.matmul(self.signals, self.kernel.right(W))
        if self.lam == 0:
            return product
        return product + self.lam * array_namespace(W).matmul(grams(W, self.W), self.U)

    def rmatmul(self, U: Array) -> Array:
        """Compute `grad f(X)^T conj(u_k)`."""
        product = self.kernel.rmatmul(self.signals, self.kernel.left(U))
        if self.lam == 0:
            return product
        return product + self.lam * array_namespace(U).matmul(grams(U, self.U), self.W)

    def chosen(self, places: NDArray) -> StackGradient:
        """The gradients of some problems."""
        parts = all_chosen((self.signals, self.U, self.W), places)
        return StackGradient(self.kernel, self.lam, *parts)


def traces(G: Array) -> Array:
    """Traces of Hermitian matrices."""
    xp = array_namespace(G)
    diagonal = xp.linalg.diagonal(G)
    return xp.sum(xp.real(diagonal) if is_complex(G) else diagonal, axis=-1)


def balanced(U: Array, W: Array, tolerance: float = 0.0) -> tuple[Array, Array, NDArray]:
    """Rewrite every matrix with orthogonal factors, as `LowRank.balanced`; also return the ranks.

    Singular values of at most `tolerance` times the largest of their matrix are dropped.
    """
    xp = array_namespace(U)
    (QU, RU), (QW, RW) = orthonormal_rows(U), orthonormal_rows(W)
    left, s, right = svd_stack(xp.matmul(transposed(RU), RW))
    keep = s > tolerance * s[:, :1]
    ranks = np.count_nonzero(to_numpy(keep), axis=1)
    roots = xp.sqrt(xp.where(keep, s, xp.zeros_like(s)))[:, : max(int(ranks.max()), 1), None]
    most = roots.shape[1]
    U = xp.matmul(roots * transposed(left)[:, :most, :], QU)
    return U, xp.matmul(roots * right[:, :most, :], QW), ranks


def distances(a: StackPoint, b: StackPoint) -> NDArray:
    """Frobenius norms of the differences of the matrices."""
    xp = array_namespace(a.U)
    _, RU = orthonormal_rows(xp.concat([a.U, -b.U], axis=1))
    _, RW = orthonormal_rows(xp.concat([a.W, b.W], axis=1))
    difference = xp.matmul(transposed(RU), RW)
    norms: NDArray = np.sqrt(to_numpy(inners(difference, difference)).astype(float))
    return norms

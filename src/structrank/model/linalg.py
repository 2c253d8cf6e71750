"""Top singular pairs of a matrix that is known only by its products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from array_api_compat import device
from array_api_extra import at

from .._array import (
    Array,
    NDArray,
    array_namespace,
    conj,
    epsilon,
    inner,
    is_complex,
    is_numpy_array,
    like,
    singular_values,
    svd,
)
from .large_vectors import gaussian

Product = Callable[[Array], Array]


@dataclass(frozen=True)
class Rounding:
    """Allowances for rounding errors, in machine epsilons.

    Both leave a margin above the few epsilons that sums and decompositions usually lose.
    """

    sums: float = 10.0  # relative to the terms of a sum or an inner product
    norms: float = 100.0  # relative to a singular value from LAPACK or the Lanczos method


@dataclass(frozen=True)
class Lanczos:
    """Settings of the Lanczos method: common choices that change its time, not its result."""

    first_check: int = 4  # steps before the accuracy is checked for the first time
    checks: int = 32  # with `failure`, which makes a check expensive, the next is 1/32 later
    cancelled: float = 0.5  # orthogonalise again if less of the norm is left ("twice is enough")
    rows: int = 16  # vectors that a new basis has memory for
    rounding: Rounding = Rounding()


class SingularPairs(NamedTuple):
    """Leading singular pairs `A v_i = s_i u_i`, largest first.

    `residuals[i]` is `||A^H u_i - s_i v_i||`: some singular value of A differs from `values[i]` by
    at most this much. `upper` is an upper bound of the top singular value that fails with a known
    probability, or infinity if no bound was asked for.
    """

    U: Array
    values: NDArray
    V: Array
    residuals: NDArray
    upper: float

    @property
    def likely_top(self) -> float:
        """The first value plus its residual: probably above the top singular value, not surely."""
        return float(self.values[0] + self.residuals[0])


def top_singular_pairs(
    matmul: Product,
    rmatmul: Product,
    start: Array,
    count: int = 1,
    *,
    checked: int = 1,
    tolerance: float = 1e-3,
    max_steps: int = 60,
    failure: float | None = None,
    bound_tolerance: float = np.inf,
    low_enough: float = 0.0,
    too_large: float = np.inf,
    lanczos: Lanczos = Lanczos(),
) -> SingularPairs:
    """Compute leading singular pairs by Golub-Kahan-Lanczos bidiagonalisation.

    Both bases are kept orthogonal. The method stops when the residuals of the checked pairs and the
    distance of `upper` from the first value are small.

    With `failure`, `upper` is below the top singular value s with at most this probability over
    the random part of the start. The next vector of the right basis, `p(A^H A) start` for a known
    polynomial p, has norm one, so `|p(s^2)| <= 1 / |<start, v>|` for the top vector v. A random
    start is rarely that orthogonal to v, and p grows beyond its roots, the squares of `values`: s
    cannot be far above them. See J. L. M. van Dorsselaer, M. E. Hochstenbach and H. A. van der
    Vorst, "Computing probabilistic bounds for extreme eigenvalues of symmetric matrices with the
    Lanczos method", SIAM J. Matrix Anal. Appl. 22 (2000).

    Parameters
    ----------
    matmul, rmatmul : callable
        Products `A @ v` and `A^H @ u` with vectors.
    start : array, shape (N,)
        First vector of the right basis. A random vector finds the top pair with
        probability one. Adding a good guess to it makes the method faster. With `failure` it has
        to be a standard Gaussian vector plus any vector that does not depend on it.
    count : int
        Number of pairs wanted. Fewer are returned if the matrix has a lower rank.
    checked : int
        Number of leading pairs whose residuals have to be small, at most `count`.
    tolerance : float
        Largest residual of these pairs, relative to the first value.
    max_steps : int
        Largest dimension of the bases.
    failure : float, optional
        Probability that `upper` is too low. Without it there is no bound.
    bound_tolerance : float
        By how much `upper` may exceed the first value, relative to that value. Infinity takes the
        bound that is there when the pair is accurate, at no cost.
    low_enough : float
        A bound below this is accurate enough.
    too_large : float
        The method also stops when the first value exceeds this.
    lanczos : Lanczos
        Settings of the method.

    Returns
    -------
    SingularPairs

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.linalg import top_singular_pairs
    >>> A = np.diag([3.0, 2.0, 1.0])
    >>> top = top_singular_pairs(lambda v: A @ v, lambda u: A.T @ u, np.ones(3), tolerance=1e-9)
    >>> float(round(top.values[0], 9))
    3.0
    """
    process = _Bidiagonalisation(matmul, rmatmul, start, lanczos)
    next_check = max(count, lanczos.first_check)
    while True:
        process.step()
        done = process.complete or process.steps >= max_steps
        if not done and process.steps < next_check:
            continue
        first, residual = process.first_and_residual(checked)
        done = done or first > too_large
        next_check = process.steps + 1
        if not done and residual > tolerance * first:
            continue
        upper = np.inf if failure is None else process.bound(start, failure)
        wanted = max((1 + bound_tolerance) * first, low_enough)
        if done or bound_tolerance == np.inf or upper <= wanted:
            return process.pairs(count, upper)
        next_check += process.steps // lanczos.checks


def dense_pairs(matrix: NDArray, count: int, rounding: Rounding = Rounding()) -> SingularPairs:
    """Compute leading singular pairs of a small matrix by its decomposition.

    Parameters
    ----------
    matrix : ndarray
    count : int
        Number of pairs wanted; all of them if there are fewer.
    rounding : Rounding

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.linalg import dense_pairs
    >>> dense_pairs(np.diag([3.0, 2.0, 1.0]), 2).values
    array([3., 2.])
    """
    U, values, Vh = svd(matrix)
    upper = float(values[0]) * (1 + rounding.norms * float(np.finfo(matrix.dtype).eps))
    kept = min(count, len(values))
    U, values, V = U[:, :kept], values[:kept], Vh[:kept].conj().T
    residuals = np.linalg.norm(matrix.conj().T @ U - V * values, axis=0)
    return SingularPairs(U, values, V, residuals, upper)


def random_vector(size: int, reference: Array, seed: int) -> Array:
    """Draw a Gaussian vector in the library, device and dtype of `reference`."""
    return gaussian(size, reference, np.random.default_rng(seed))


class _Bidiagonalisation:
    """The matrix A in two orthonormal bases, in which it is upper bidiagonal."""

    def __init__(self, matmul: Product, rmatmul: Product, start: Array, lanczos: Lanczos) -> None:
        self.matmul, self.rmatmul, self.lanczos = matmul, rmatmul, lanczos
        self.left, self.right = _Basis(lanczos), _Basis(lanczos)
        self.alphas: list[float] = []  # the diagonal
        self.betas: list[float] = []  # above the diagonal; the last one leads out of the bases
        self.epsilon = epsilon(start)
        self.rest = start / max(_norm(start), np.finfo(float).tiny)
        self.complete = False  # whether the bases span everything that the start leads to

    @property
    def steps(self) -> int:
        return len(self.alphas)

    def step(self) -> None:
        """Add one vector to each basis."""
        v = self.rest / self.betas[-1] if self.betas else self.rest
        self.right.append(v)
        u = self.left.orthogonal(self.matmul(v))
        alpha = _norm(u)
        largest = max([*self.alphas, *self.betas, alpha])
        negligible = self.lanczos.rounding.sums * self.epsilon * largest
        if alpha <= negligible:  # the left basis is complete
            alpha, u = 0.0, 0.0 * u
        else:
            u = u / alpha
        self.left.append(u)
        self.rest = self.right.orthogonal(self.rmatmul(u))
        self.alphas.append(alpha)
        self.betas.append(_norm(self.rest))
        self.complete = min(alpha, self.betas[-1]) <= negligible

    def first_and_residual(self, checked: int) -> tuple[float, float]:
        """Return the first singular value and the largest residual of the checked pairs."""
        _, values, _, residuals = self._svd()
        return float(values[0]), float(np.max(residuals[:checked]))

    def bound(self, start: Array, failure: float) -> float:
        """Return a bound of the top singular value that fails with a known probability."""
        values = singular_values(self._projected())
        couplings = np.array(self.alphas) * np.array(self.betas)
        safety = 1 + self.lanczos.rounding.norms * self.epsilon
        return _probable_bound(values, couplings, start, failure, safety)

    def pairs(self, count: int, upper: float) -> SingularPairs:
        """Return the leading pairs of the projected matrix, in the original coordinates."""
        P, values, Qh, residuals = self._svd()
        keep = min(count, self.steps)
        return SingularPairs(
            self.left.combine(P[:, :keep]),
            values[:keep],
            self.right.combine(Qh[:keep].T),
            residuals[:keep],
            upper,
        )

    def _svd(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Compute the SVD of the projected matrix, and the residuals of its pairs."""
        P, values, Qh = svd(self._projected())
        return P, values, Qh, self.betas[-1] * np.abs(P[-1])

    def _projected(self) -> NDArray:
        return np.diag(self.alphas) + np.diag(self.betas[:-1], 1)


def _probable_bound(
    values: NDArray, couplings: NDArray, start: Array, failure: float, safety: float
) -> float:
    """Bound that the top singular value exceeds with a probability of at most `failure`.

    The polynomial is `prod (t - values^2) / prod couplings`. The part of the start along the top
    vector is Gaussian, around whatever mean. It is below d with a probability of at most
    `d sqrt(2 / pi)` if it is real and `d^2 / 2` if it is complex. `safety` is a factor for rounding
    errors.
    """
    least = (2 * failure) ** 0.5 if is_complex(start) else failure * (np.pi / 2) ** 0.5
    rare = least / _norm(start)
    top = float(values[0])
    if np.any(couplings <= 0):  # the basis contains the top pair
        return safety * top
    roots = (values / top) ** 2
    enough = np.sum(np.log(couplings / top**2)) - np.log(rare)
    # The unknown is the logarithm of how far the square of the bound lies above that of the first
    # value. The logarithm of p grows at least `values.size` times as fast as the unknown.
    widest, rounds, points = 37.0, 3, 33  # exp(-37) is about machine epsilon
    low, high = -widest, max(widest, enough / values.size)
    for _ in range(rounds):
        grid = np.linspace(low, high, points)
        growth = np.sum(np.log(np.exp(grid)[:, None] + (1 - roots)), axis=1)
        place = min(int(np.searchsorted(growth, enough)), points - 1)
        low, high = grid[max(place - 1, 0)], grid[place]
    return safety * top * float(np.sqrt(1 + np.exp(high)))


def _norm(x: Array) -> float:
    return float(np.sqrt(inner(x, x)))


class _Basis:
    """Orthonormal vectors, stored as rows of an array that doubles when it is full."""

    def __init__(self, lanczos: Lanczos) -> None:
        self.lanczos, self.count = lanczos, 0
        self.rows: Array = None

    def append(self, vector: Array) -> None:
        xp = array_namespace(vector)
        if self.rows is None or self.count == self.rows.shape[0]:
            shape = (max(self.lanczos.rows, self.count), vector.shape[0])
            more = xp.zeros(shape, dtype=vector.dtype, device=device(vector))
            self.rows = more if self.rows is None else xp.concat([self.rows, more])
        if is_numpy_array(vector):
            self.rows[self.count] = vector
        else:
            self.rows = at(self.rows)[self.count, :].set(vector)
        self.count += 1

    def orthogonal(self, vector: Array) -> Array:
        """Subtract from `vector` its part in the span of the basis."""
        if self.count == 0:
            return vector
        xp = array_namespace(vector)
        rows = self.rows[: self.count, :]
        before = _norm(vector)
        for _ in range(2):  # the second pass only if the first one cancelled most of the vector
            coefficients = conj(xp.matmul(rows, conj(vector)))
            vector = vector - xp.matmul(coefficients, rows)
            after = _norm(vector)
            if after > self.lanczos.cancelled * before:
                break
            before = after
        return vector

    def combine(self, coefficients: NDArray) -> Array:
        """Multiply the basis by a small matrix, and return the columns."""
        xp = array_namespace(self.rows)
        rows = self.rows[: self.count, :]
        return xp.matmul(like(coefficients, rows).T, rows).T

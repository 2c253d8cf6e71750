"""Top singular pairs of a matrix known by its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from array_api_compat import device
from array_api_extra import at

from .._array import Array, array_namespace, conj, epsilon, inner, is_complex, is_numpy_array, like

Product = Callable[[Array], Array]


class SingularPairs(NamedTuple):
    """Leading singular pairs `A v_i = s_i u_i`, largest first.

    `residuals[i]` is `||A^H u_i - s_i v_i||`: some singular value of A lies within it of
    `values[i]`. `upper` is above the top singular value: the first value plus its
    residual, which is evidence, or a bound that fails with a known probability.
    """

    U: Array
    values: np.ndarray
    V: Array
    residuals: np.ndarray
    upper: float


def top_singular_pairs(
    matmul: Product,
    rmatmul: Product,
    start: Array,
    count: int = 1,
    *,
    tolerance: float = 1e-3,
    max_steps: int = 60,
    failure: float | None = None,
) -> SingularPairs:
    """Leading singular pairs by Golub-Kahan-Lanczos bidiagonalisation.

    Both bases are kept orthogonal. Stops when `upper` exceeds the first singular value by
    at most `tolerance` times itself; the further pairs are as good as they then are.

    With `failure`, `upper` is below the top singular value s with at most this probability over a
    Gaussian start. The next vector of the right basis, `p(A^H A) start` for a known polynomial p,
    has norm one, so `|p(s^2)| <= 1 / |<start, v>|` for the top vector v. Random starts are rarely
    that orthogonal to v, and beyond its roots, the squares of `values`, p grows: s cannot be far
    above them. See J. L. M. van Dorsselaer, M. E. Hochstenbach and H. A. van der Vorst, "Computing
    probabilistic bounds for extreme eigenvalues of symmetric matrices with the Lanczos method",
    SIAM J. Matrix Anal. Appl. 22 (2000).

    Parameters
    ----------
    matmul, rmatmul : callable
        Products `A @ v` and `A^H @ u` with vectors.
    start : array, shape (N,)
        First vector of the right basis. A random one finds the top pair with
        probability one; add a good guess to it to get there sooner.
    count : int
        Number of pairs wanted; fewer come back if the matrix has a lower rank.
    tolerance : float
        By how much `upper` may exceed the first singular value, relatively.
    max_steps : int
        Largest dimension of the bases.
    failure : float, optional
        Probability with which `upper` may be too low. Needs a random start.

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
    tiny = epsilon(start)
    left, right = _Basis(), _Basis()
    alphas: list[float] = []
    betas: list[float] = []
    look = max(count, 4)  # at which step to see how good the pairs are
    v = start / max(_norm(start), np.finfo(float).tiny)
    right.append(v)
    u = matmul(v)
    while True:
        alpha = _norm(u)
        negligible = 10 * tiny * max([*alphas, *betas, alpha])
        if alpha <= negligible:  # the left basis is complete
            alpha, u = 0.0, 0.0 * u
        else:
            u = u / alpha
        alphas.append(alpha)
        left.append(u)
        v = right.orthogonal(rmatmul(u))
        beta = _norm(v)
        steps = len(alphas)
        done = min(alpha, beta) <= negligible or steps >= max_steps
        if done or steps >= look:
            if failure is None:
                _, values, _, residuals = _bidiagonal_svd(alphas, betas, beta)
                upper, look = float(values[0] + residuals[0]), steps + 1
            else:
                values = np.linalg.svd(_bidiagonal(alphas, betas), compute_uv=False)
                couplings = np.array(alphas) * np.array([*betas, beta])
                upper = _probable_bound(values, couplings, start, failure)
                look = steps + 1 + steps // 8
            if done or upper <= (1 + tolerance) * values[0]:
                break
        v = v / beta
        betas.append(beta)
        right.append(v)
        u = left.orthogonal(matmul(v))
    P, values, Qh, residuals = _bidiagonal_svd(alphas, betas, beta)
    keep = min(count, steps)
    return SingularPairs(
        left.combine(P[:, :keep]),
        values[:keep],
        right.combine(Qh[:keep].T),
        residuals[:keep],
        upper,
    )


def random_vector(size: int, reference: Array, seed: int) -> Array:
    """Gaussian vector in the library, device and dtype of `reference`."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(size)
    if is_complex(reference):
        values = values + 1j * rng.standard_normal(size)
    return like(values, reference)


def _bidiagonal_svd(
    alphas: list[float], betas: list[float], beta: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """SVD of the projected matrix, and the residuals of its pairs."""
    P, values, Qh = np.linalg.svd(_bidiagonal(alphas, betas))
    return P, values, Qh, beta * np.abs(P[-1])


def _bidiagonal(alphas: list[float], betas: list[float]) -> np.ndarray:
    return np.diag(alphas) + np.diag(betas, 1)


def _probable_bound(
    values: np.ndarray, couplings: np.ndarray, start: Array, failure: float
) -> float:
    """What the top singular value exceeds with a probability of at most `failure`.

    The polynomial is `prod (t - values^2) / prod couplings`. A coordinate of a random unit vector
    of n numbers is below d with a probability of at most `d sqrt(2 n / pi)` if they are real
    and `n d^2` if they are complex.
    """
    size = start.shape[0]
    rare = (failure / size) ** 0.5 if is_complex(start) else failure * (np.pi / 2 / size) ** 0.5
    top, safety = float(values[0]), 1 + 100 * epsilon(start)  # for rounding
    if np.any(couplings <= 0):  # the basis holds the top pair
        return safety * top
    roots = (values / top) ** 2
    enough = np.sum(np.log(couplings / top**2)) - np.log(rare)
    # Logarithms of how far a square lies above the first: growth is at least their multiple.
    low, high = -37.0, max(37.0, enough / values.size)
    for _ in range(3):
        grid = np.linspace(low, high, 33)
        growth = np.sum(np.log(np.exp(grid)[:, None] + (1 - roots)), axis=1)
        place = min(int(np.searchsorted(growth, enough)), 32)
        low, high = grid[max(place - 1, 0)], grid[place]
    return safety * top * float(np.sqrt(1 + np.exp(high)))


def _norm(x: Array) -> float:
    return float(np.sqrt(inner(x, x)))


class _Basis:
    """Orthonormal vectors as the rows of an array that doubles when it is full."""

    def __init__(self) -> None:
        self.count = 0
        self.rows: Array = None

    def append(self, vector: Array) -> None:
        xp = array_namespace(vector)
        if self.rows is None or self.count == self.rows.shape[0]:
            more = xp.zeros(
                (max(16, self.count), vector.shape[0]), dtype=vector.dtype, device=device(vector)
            )
            self.rows = more if self.rows is None else xp.concat([self.rows, more])
        if is_numpy_array(vector):
            self.rows[self.count] = vector
        else:
            self.rows = at(self.rows)[self.count, :].set(vector)
        self.count += 1

    def orthogonal(self, vector: Array) -> Array:
        """`vector` without its part in the span of the basis."""
        xp = array_namespace(vector)
        rows = self.rows[: self.count, :]
        before = _norm(vector)
        for _ in range(2):  # again only where the first pass cancelled most of the vector
            coefficients = conj(xp.matmul(rows, conj(vector)))
            vector = vector - xp.matmul(coefficients, rows)
            after = _norm(vector)
            if after > 0.5 * before:
                break
            before = after
        return vector

    def combine(self, coefficients: np.ndarray) -> Array:
        """Basis times a small matrix, as columns."""
        xp = array_namespace(self.rows)
        rows = self.rows[: self.count, :]
        return xp.matmul(like(coefficients, rows).T, rows).T

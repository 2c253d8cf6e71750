"""Polynomials with a common divisor of given degree that are nearest to given polynomials."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import convolution_matrix

from .._array import NDArray
from ..model.largest_mu import mu_max
from ..model.measure import Weighted
from ..model.problem import Problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate
from ..solvers.result import Result
from ..structures import Sylvester


@dataclass(frozen=True)
class DivisorSearch:
    """Sizes and tolerances of `approximate_gcd`.

    Attributes
    ----------
    jump : float
        Least ratio of consecutive errors that decides the degree. Set by hand: random errors of
        neighbouring degrees differ by less.
    exact : float
        Errors below this share of the coefficients are rounding.
    refused : float
        Probability that noise alone makes the test refuse the right degree. Set by hand.
    steps : int
        Iteration limit of a fit. Set by hand.
    halvings : int
        Lengths tried per step, each half of the one before. Set by hand: down to 1/2048.
    tolerance : float
        A fit ends once a step lowers the error by at most this share. About the square root of the
        machine precision.
    mu : float
        Weight of the nuclear norm when missing coefficients are filled, as a share of the weight
        above which the solution is zero. Set by hand: coefficients are nearly exact.
    """

    jump: float = 20.0
    exact: float = 1e-13
    refused: float = 1e-4
    steps: int = 30
    halvings: int = 12
    tolerance: float = 1e-7
    mu: float = 1e-3


class NearestDivisors:
    """Nearest polynomials with a common divisor, for each degree, computed when asked for.

    Parameters
    ----------
    polynomials : list of ndarray
        Coefficients, NaN where missing.
    weights : ndarray
        Weight of the change of each polynomial.
    search : DivisorSearch

    Attributes
    ----------
    filling : Result or None
        The convex solution that filled missing coefficients, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.divisor_fit import DivisorSearch, NearestDivisors
    >>> p, q = np.array([2.0, -3.0, 1.0]), np.array([3.0, -4.0, 1.0])
    >>> nearest = NearestDivisors([p, q], np.ones(2), DivisorSearch())
    >>> divisor, cofactors = nearest.at(1)
    >>> (divisor / divisor[-1]).round(6)
    array([-1.,  1.])
    """

    def __init__(self, polynomials: list[NDArray], weights: NDArray, search: DivisorSearch) -> None:
        self.polynomials, self.weights, self.search = polynomials, weights, search
        self.filled, self.filling = _filled(polynomials, search.mu)
        self.missing = sum(int(np.count_nonzero(np.isnan(p))) for p in polynomials)
        self._known: dict[int, tuple[NDArray, list[NDArray]]] = {}

    def at(self, degree: int) -> tuple[NDArray, list[NDArray]]:
        """Divisor and cofactors."""
        if degree == 0:
            return np.ones(1, dtype=self.filled[0].dtype), self.filled
        if degree not in self._known:
            cofactors = _null_cofactors(self.filled, degree)
            divisor = _common_divisor(self.filled, cofactors, self.weights)
            cofactors = [_quotient(p, divisor) for p in self.filled]
            self._known[degree] = self._refined(divisor, cofactors)
        return self._known[degree]

    def error(self, degree: int) -> float:
        """Weighted norm of the change of the coefficients."""
        return float(np.linalg.norm(self._residual(*self.at(degree))))

    def freedom(self, degree: int) -> int:
        """Equations less unknowns: each polynomial after the first must share all k roots."""
        return (len(self.polynomials) - 1) * degree - self.missing

    def _refined(self, divisor: NDArray, cofactors: list[NDArray]) -> tuple[NDArray, list[NDArray]]:
        """Gauss-Newton on divisor and cofactors; a step that is too long is halved."""
        ends = np.cumsum([divisor.size, *(w.size for w in cofactors)])[:-1]
        residual = self._residual(divisor, cofactors)
        for _ in range(self.search.steps):
            J = self._jacobian(divisor, cofactors)
            # lstsq gives the shortest step, which keeps the scale between divisor and cofactors.
            step = np.linalg.lstsq(J, -residual, rcond=None)[0]
            here = np.concatenate([divisor, *cofactors])
            value = np.linalg.norm(residual)
            for length in 0.5 ** np.arange(self.search.halvings):
                trial_divisor, *trial_cofactors = np.split(here + length * step, ends)
                trial = self._residual(trial_divisor, trial_cofactors)
                if np.linalg.norm(trial) < value:
                    break
            else:
                break
            divisor, cofactors, residual = trial_divisor, trial_cofactors, trial
            if value - np.linalg.norm(residual) <= self.search.tolerance * value:
                break
        return divisor, cofactors

    def _residual(self, divisor: NDArray, cofactors: list[NDArray]) -> NDArray:
        """Weighted change of the coefficients; zero where a coefficient is missing."""
        changes = [
            weight * (np.convolve(divisor, w) - p)
            for weight, w, p in zip(self.weights, cofactors, self.polynomials, strict=True)
        ]
        return np.asarray(np.nan_to_num(np.concatenate(changes)))

    def _jacobian(self, divisor: NDArray, cofactors: list[NDArray]) -> NDArray:
        """Derivatives of the residual."""
        rows = [p.size for p in self.polynomials]
        columns = [divisor.size, *(w.size for w in cofactors)]
        J = np.zeros((sum(rows), sum(columns)), dtype=divisor.dtype)
        row, column = 0, divisor.size
        for weight, w, p in zip(self.weights, cofactors, self.polynomials, strict=True):
            here = slice(row, row + p.size)
            J[here, : divisor.size] = weight * convolution_matrix(w, divisor.size)
            J[here, column : column + w.size] = weight * convolution_matrix(divisor, w.size)
            row, column = row + p.size, column + w.size
        J[np.isnan(np.concatenate(self.polynomials))] = 0.0
        return J


def _null_cofactors(polynomials: list[NDArray], degree: int) -> list[NDArray]:
    """Cofactors w with `w_1 p_i = w_i p_1` as nearly as possible.

    A pair of them is the left null vector of a Sylvester matrix.
    """
    first, *others = polynomials
    sizes = [p.size - degree for p in polynomials]
    starts = np.cumsum([0, *sizes])
    blocks = []
    for k, p in enumerate(others, start=1):
        pair = Sylvester((first.size - 1, p.size - 1), shifts=sizes[k])
        shifted = pair.to_dense(np.concatenate([first, p]))
        block = np.zeros((starts[-1], pair.shape[1]), dtype=first.dtype)
        block[starts[k] : starts[k + 1]] = -shifted[: sizes[k]]
        block[: sizes[0]] = shifted[sizes[k] :]
        blocks.append(block)
    U = np.linalg.svd(np.concatenate(blocks, axis=1))[0]
    return np.split(U[:, -1].conj(), starts[1:-1])


def _common_divisor(
    polynomials: list[NDArray], cofactors: list[NDArray], weights: NDArray
) -> NDArray:
    """The divisor that best turns the cofactors into the polynomials."""
    size = polynomials[0].size - cofactors[0].size + 1
    products = [
        weight * convolution_matrix(w, size) for weight, w in zip(weights, cofactors, strict=True)
    ]
    right = [weight * p for weight, p in zip(weights, polynomials, strict=True)]
    divisor = np.linalg.lstsq(np.concatenate(products), np.concatenate(right), rcond=None)[0]
    norm = np.linalg.norm(divisor)
    if norm == 0:  # the cofactors explain nothing, as for equal monomials
        divisor[-1] = 1.0
        return np.asarray(divisor)
    return np.asarray(divisor / norm)


def _quotient(polynomial: NDArray, divisor: NDArray) -> NDArray:
    """The cofactor that is best for a given divisor."""
    products = convolution_matrix(divisor, polynomial.size - divisor.size + 1)
    return np.asarray(np.linalg.lstsq(products, polynomial, rcond=None)[0])


def _filled(polynomials: list[NDArray], mu: float) -> tuple[list[NDArray], Result | None]:
    """Fill missing coefficients so that the Sylvester matrix has a small nuclear norm."""
    whole = np.concatenate(polynomials)
    missing = np.isnan(whole)
    if not np.any(missing):
        return polynomials, None
    first, *others = sorted(polynomials, key=lambda p: -p.size)
    degrees = [p.size - 1 for p in polynomials]
    structure = Sylvester(degrees, shifts=first.size + others[0].size - 2 - degrees[0])
    problem = Problem(structure, whole, 1.0, Weighted("lifted", ~missing))
    problem = replace(problem, mu=mu * mu_max(problem))
    result = iterate(gcgls_states(problem, 1.0, certify=False), problem)
    whole = np.where(missing, result.y, whole)
    return np.split(whole, np.cumsum([p.size for p in polynomials])[:-1]), result

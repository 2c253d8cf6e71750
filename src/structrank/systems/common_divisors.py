"""Approximate greatest common divisors of polynomials with noisy coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import convolution_matrix
from scipy.stats import chi2

from .._array import as_array, to_numpy
from ..model.measure import Weighted
from ..model.objective import mu_max
from ..model.problem import Problem
from ..solvers import gcgls
from ..solvers.driver import uninterrupted
from ..structures import Sylvester

_GAP = 20.0  # least ratio of consecutive errors that tells a degree
_EXACT = 1e-13  # errors below this share of the coefficients are rounding
_SURE = 1e-4  # probability that noise alone makes the test refuse a true divisor
_STEPS = 30  # of a fit, at most


@dataclass(frozen=True, eq=False, repr=False)
class CommonDivisor:
    """Polynomials with an exact common divisor, near to the ones given.

    All coefficients have the lowest power first, as in `numpy.polynomial`.

    Attributes
    ----------
    divisor : ndarray
        The common divisor, with leading coefficient one.
    cofactors : tuple of ndarray
        One a polynomial: `polynomials[i]` is the product of the divisor and `cofactors[i]`.
    polynomials : tuple of ndarray
        The polynomials with that divisor that are nearest to the ones given.
    backward_error : float
        Root of the summed squared distances between these and the ones given, each
        relative to the norm of the polynomial given.

    Examples
    --------
    >>> from structrank import approximate_gcd
    >>> found = approximate_gcd([2.0, -3.0, 1.0], [3.0, -4.0, 1.0])
    >>> found.degree, found.roots.round(6)
    (1, array([1.]))
    """

    divisor: np.ndarray
    cofactors: tuple[np.ndarray, ...]
    polynomials: tuple[np.ndarray, ...]
    backward_error: float

    @property
    def degree(self) -> int:
        """Degree of the divisor."""
        return self.divisor.size - 1

    @property
    def roots(self) -> np.ndarray:
        """Roots of the divisor."""
        return np.polynomial.polynomial.polyroots(self.divisor)

    def __repr__(self) -> str:
        return (
            f"CommonDivisor(degree {self.degree} of {len(self.cofactors)} polynomials, "
            f"backward error {self.backward_error:.2g})"
        )


def approximate_gcd(
    *polynomials: Any, degree: int | None = None, noise: Any = None
) -> CommonDivisor:
    """Find the greatest common divisor of polynomials whose coefficients are not exact.

    For each degree k the cofactors are first read from the smallest singular vector of the
    Sylvester matrix of that degree, which loses rank exactly when there is a common divisor of
    degree k. Gauss-Newton steps on divisor and cofactors then make the change of the
    coefficients as small as it gets.

    The degree is the largest one that passes a test. With known noise: the change is no larger
    than the noise makes it, with a probability of 1e-4 to refuse the right one. Without: a jump.
    The change for one degree more is at least 20 times as large, and larger than at any other
    jump. Noise of more than about a thousandth hides it: pass `noise` or `degree` then.

    Parameters
    ----------
    *polynomials : array
        Coefficients, real or complex, lowest power first as in `numpy.polynomial`. Two polynomials
        or more. NaN where a coefficient is missing; the leading one must be there.
    degree : int, optional
        Degree of the divisor, if it is known.
    noise : float or sequence of float, optional
        Standard deviation of the coefficients' errors, of all polynomials or of each. By
        default unknown, and the same for all relative to their norms.

    Returns
    -------
    CommonDivisor

    Examples
    --------
    >>> import numpy as np
    >>> from numpy.polynomial.polynomial import polyfromroots
    >>> from structrank import approximate_gcd
    >>> p = polyfromroots([0.5, -1.5, 2.0])
    >>> q = polyfromroots([0.5, -1.5, -0.7, 0.1])
    >>> rng = np.random.default_rng(0)
    >>> found = approximate_gcd(p + 1e-6 * rng.standard_normal(4), q)
    >>> found.degree, np.sort(found.roots).round(4)
    (2, array([-1.5,  0.5]))
    """
    given = [_coefficients(values, k) for k, values in enumerate(polynomials)]
    if len(given) < 2:
        raise ValueError(f"there are {len(given)} polynomials, but two or more are expected")
    most = min(p.size for p in given) - 1
    if degree is not None and (
        isinstance(degree, bool) or not isinstance(degree, (int, np.integer))
    ):
        raise TypeError(f"degree is {degree!r}, but an integer is expected")
    if degree is not None and not 0 <= degree <= most:
        raise ValueError(
            f"degree is {degree}, but a number from 0 to {most}, the least degree of the "
            "polynomials, is expected"
        )
    norms = np.array([_norm(p) for p in given])
    sigmas = norms if noise is None else _noises(noise, len(given))
    # Without noise nothing but a common scale of the polynomials is known.
    scaled = [p / norm for p, norm in zip(given, norms, strict=True)]
    weights = norms / sigmas
    fits = _Fits(scaled, weights)
    if degree is None:
        degree = _degree_by_noise(fits, most) if noise is not None else _degree_by_jump(fits, most)
    divisor, quotients = fits.at(int(degree))
    lead = divisor[-1]
    cofactors = tuple(w * lead * norm for w, norm in zip(quotients, norms, strict=True))
    divisor = divisor / lead
    nearest = tuple(np.convolve(divisor, w) for w in cofactors)
    changes = [
        np.sqrt(np.nansum(np.abs((p - near) / norm) ** 2))
        for p, near, norm in zip(given, nearest, norms, strict=True)
    ]
    return CommonDivisor(divisor, cofactors, nearest, float(np.linalg.norm(changes)))


def _norm(polynomial: np.ndarray) -> float:
    """Euclidean norm of the coefficients that are seen, whatever their size."""
    largest = np.nanmax(np.abs(polynomial))
    return float(largest * np.sqrt(np.nansum(np.abs(polynomial / largest) ** 2)))


class _Fits:
    """Nearest polynomials with a common divisor of each degree, worked out when asked for."""

    def __init__(self, polynomials: list[np.ndarray], weights: np.ndarray) -> None:
        self.polynomials, self.weights = polynomials, weights
        self.filled = _filled(polynomials)
        self.missing = sum(int(np.count_nonzero(np.isnan(p))) for p in polynomials)
        self._known: dict[int, tuple[np.ndarray, list[np.ndarray]]] = {}

    def at(self, degree: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Divisor and cofactors."""
        if degree == 0:
            return np.ones(1, dtype=self.filled[0].dtype), self.filled
        if degree not in self._known:
            cofactors = _null_cofactors(self.filled, degree)
            divisor = _common_divisor(self.filled, cofactors, self.weights)
            cofactors = [_quotient(p, divisor) for p in self.filled]
            self._known[degree] = _refined(self.polynomials, self.weights, divisor, cofactors)
        return self._known[degree]

    def error(self, degree: int) -> float:
        """Weighted norm of the change of the coefficients."""
        divisor, cofactors = self.at(degree)
        return float(np.linalg.norm(_residual(self.polynomials, self.weights, divisor, cofactors)))

    def freedom(self, degree: int) -> int:
        """Equations less unknowns: each polynomial after the first must share all k roots."""
        return (len(self.polynomials) - 1) * degree - self.missing


def _degree_by_noise(fits: _Fits, most: int) -> int:
    """The largest degree whose change is no larger than the noise makes it."""
    parts = 2 if np.iscomplexobj(fits.filled[0]) else 1  # real numbers a coefficient
    for degree in range(most, 0, -1):
        freedom = parts * fits.freedom(degree)
        if freedom > 0 and parts * fits.error(degree) ** 2 <= chi2.isf(_SURE, freedom):
            return degree
    return 0


def _degree_by_jump(fits: _Fits, most: int) -> int:
    """The degree after which the error, a degree of freedom, jumps most."""
    degrees = [k for k in range(1, most + 1) if fits.freedom(k) > 0]
    if not degrees:
        return 0
    changes = np.array([fits.error(k) for k in degrees])
    # What has a divisor of degree k has one of every lower degree, for no larger a change.
    changes = np.minimum.accumulate(changes[::-1])[::-1]
    errors = [
        max(change / np.sqrt(fits.freedom(k)), _EXACT)
        for k, change in zip(degrees, changes, strict=True)
    ]
    jumps = [after / error for error, after in zip(errors, [*errors[1:], 1.0], strict=True)]
    return degrees[int(np.argmax(jumps))] if max(jumps) >= _GAP else 0


def _null_cofactors(polynomials: list[np.ndarray], degree: int) -> list[np.ndarray]:
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
    polynomials: list[np.ndarray], cofactors: list[np.ndarray], weights: np.ndarray
) -> np.ndarray:
    """The divisor that best turns the cofactors into the polynomials."""
    size = polynomials[0].size - cofactors[0].size + 1
    products = [
        weight * convolution_matrix(w, size) for weight, w in zip(weights, cofactors, strict=True)
    ]
    right = [weight * p for weight, p in zip(weights, polynomials, strict=True)]
    divisor = np.linalg.lstsq(np.concatenate(products), np.concatenate(right), rcond=None)[0]
    return divisor / np.linalg.norm(divisor)


def _quotient(polynomial: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """The cofactor that is best for a given divisor."""
    products = convolution_matrix(divisor, polynomial.size - divisor.size + 1)
    return np.linalg.lstsq(products, polynomial, rcond=None)[0]


def _refined(
    polynomials: list[np.ndarray],
    weights: np.ndarray,
    divisor: np.ndarray,
    cofactors: list[np.ndarray],
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Gauss-Newton on divisor and cofactors, with halved steps where a whole one is too far."""
    ends = np.cumsum([divisor.size, *(w.size for w in cofactors)])[:-1]
    residual = _residual(polynomials, weights, divisor, cofactors)
    for _ in range(_STEPS):
        J = _jacobian(polynomials, weights, divisor, cofactors)
        # Of all steps the shortest: the scale between divisor and cofactors is left alone.
        step = np.linalg.lstsq(J, -residual, rcond=None)[0]
        here = np.concatenate([divisor, *cofactors])
        value = np.linalg.norm(residual)
        for length in 0.5 ** np.arange(12):
            trial_divisor, *trial_cofactors = np.split(here + length * step, ends)
            trial = _residual(polynomials, weights, trial_divisor, trial_cofactors)
            if np.linalg.norm(trial) < value:
                break
        else:
            break
        divisor, cofactors, residual = trial_divisor, trial_cofactors, trial
        if value - np.linalg.norm(residual) <= 1e-7 * value:
            break
    return divisor, cofactors


def _residual(
    polynomials: list[np.ndarray],
    weights: np.ndarray,
    divisor: np.ndarray,
    cofactors: list[np.ndarray],
) -> np.ndarray:
    """Weighted change of the coefficients that are there."""
    changes = [
        weight * (np.convolve(divisor, w) - p)
        for weight, w, p in zip(weights, cofactors, polynomials, strict=True)
    ]
    return np.nan_to_num(np.concatenate(changes))


def _jacobian(
    polynomials: list[np.ndarray],
    weights: np.ndarray,
    divisor: np.ndarray,
    cofactors: list[np.ndarray],
) -> np.ndarray:
    rows = [p.size for p in polynomials]
    columns = [divisor.size, *(w.size for w in cofactors)]
    J = np.zeros((sum(rows), sum(columns)), dtype=divisor.dtype)
    row, column = 0, divisor.size
    for weight, w, p in zip(weights, cofactors, polynomials, strict=True):
        here = slice(row, row + p.size)
        J[here, : divisor.size] = weight * convolution_matrix(w, divisor.size)
        J[here, column : column + w.size] = weight * convolution_matrix(divisor, w.size)
        row, column = row + p.size, column + w.size
    J[np.isnan(np.concatenate(polynomials))] = 0.0
    return J


def _filled(polynomials: list[np.ndarray]) -> list[np.ndarray]:
    """Missing coefficients such that the Sylvester matrix has the least nuclear norm."""
    whole = np.concatenate(polynomials)
    missing = np.isnan(whole)
    if not np.any(missing):
        return polynomials
    first, *others = sorted(polynomials, key=lambda p: -p.size)
    degrees = [p.size - 1 for p in polynomials]
    structure = Sylvester(degrees, shifts=first.size + others[0].size - 2 - degrees[0])
    problem = Problem(structure, whole, 1.0, Weighted("lifted", ~missing))
    problem = replace(problem, mu=1e-3 * mu_max(problem))
    whole = np.where(missing, uninterrupted(gcgls(problem, lam=1.0)).y, whole)
    return np.split(whole, np.cumsum([p.size for p in polynomials])[:-1])


def _coefficients(values: Any, position: int) -> np.ndarray:
    """A polynomial's coefficients, without leading zeros."""
    p = to_numpy(as_array(values))
    name = f"polynomial {position}"
    if p.dtype.kind not in "fciu":
        raise TypeError(f"{name} has dtype {p.dtype}, but real or complex numbers are expected")
    if p.ndim != 1 or not p.size:
        raise ValueError(f"{name} has shape {p.shape}, but a vector of coefficients is expected")
    if np.any(np.isinf(p)):
        raise ValueError(f"{name} holds inf, but finite numbers are expected")
    used = np.flatnonzero(p != 0)
    if not used.size:
        raise ValueError(f"{name} is zero, which every polynomial divides: leave it out")
    p = p[: used[-1] + 1].astype(np.result_type(p.dtype, float))
    if np.isnan(p[-1]):
        raise ValueError(
            f"{name} has NaN as its leading coefficient (the last), which fixes its degree: pass "
            "the coefficients up to the last that is known"
        )
    return p


def _noises(noise: Any, count: int) -> np.ndarray:
    """A standard deviation for each polynomial."""
    sigmas = np.asarray(noise)
    if sigmas.dtype.kind not in "fiu" or sigmas.shape not in ((), (count,)):
        raise ValueError(
            f"noise is {noise!r}, but a number, or {count} of them, one a polynomial, is expected"
        )
    if not np.all((sigmas > 0) & np.isfinite(sigmas)):
        raise ValueError(f"noise is {noise!r}, but finite numbers above zero are expected")
    return np.broadcast_to(sigmas.astype(float), (count,))

"""Approximate greatest common divisors of polynomials with noisy coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from .._array import NDArray, as_array, to_numpy
from ..io.saved_results import Saved, savable
from ..model.sample_range import SampleRange
from ..solvers.driver import warn_if_limited
from .divisor_fit import DivisorSearch, NearestDivisors


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class CommonDivisor(Saved):
    """Polynomials with an exact common divisor, near to given polynomials.

    All coefficients have the lowest power first, as in `numpy.polynomial`.

    Attributes
    ----------
    divisor : ndarray
        The common divisor, with leading coefficient one.
    cofactors : tuple of ndarray
        One per polynomial: `polynomials[i]` is the product of the divisor and `cofactors[i]`.
    polynomials : tuple of ndarray
        The polynomials with this divisor that are nearest to the given ones.
    backward_error : float
        Root of the summed squared distances between these and the given polynomials. Each distance
        is relative to the norm of the given polynomial.

    Examples
    --------
    >>> from structrank import approximate_gcd
    >>> found = approximate_gcd([2.0, -3.0, 1.0], [3.0, -4.0, 1.0])
    >>> found.degree, found.roots.round(6)
    (1, array([1.]))
    """

    divisor: NDArray
    cofactors: tuple[NDArray, ...]
    polynomials: tuple[NDArray, ...]
    backward_error: float

    @property
    def degree(self) -> int:
        """Degree of the divisor."""
        return self.divisor.size - 1

    @property
    def roots(self) -> NDArray:
        """Roots of the divisor."""
        return np.polynomial.polynomial.polyroots(self.divisor)

    def __repr__(self) -> str:
        return (
            f"CommonDivisor(degree {self.degree} of {len(self.cofactors)} polynomials, "
            f"backward error {self.backward_error:.2g})"
        )


def approximate_gcd(
    *polynomials: Any,
    degree: int | None = None,
    noise: Any = None,
    search: DivisorSearch = DivisorSearch(),
) -> CommonDivisor:
    """Find the greatest common divisor of polynomials whose coefficients are not exact.

    For each degree k, the smallest singular vector of the Sylvester matrix of this degree gives
    first cofactors. The matrix loses rank exactly when there is a common divisor of degree k. Then
    Gauss-Newton steps on divisor and cofactors make the change of the coefficients as small as
    possible.

    If the noise is known, the degree is the largest one whose change the noise explains. The test
    refuses the right degree with a probability of 1e-4. If the noise is not known, the degree is
    found by a jump: the change for one degree more is at least 20 times as large, and this ratio is
    the largest of all degrees. Noise of more than about a thousandth hides the jump: pass `noise`
    or `degree` then.

    Parameters
    ----------
    *polynomials : array
        Coefficients of two or more polynomials, real or complex, lowest power first as in
        `numpy.polynomial`. NaN where a coefficient is missing; the leading one must be given.
    degree : int, optional
        Degree of the divisor, if it is known.
    noise : float or sequence of float, optional
        Standard deviation of the errors of the coefficients: one number for all polynomials, or
        one per polynomial. Default: not known, and the same for all relative to their norms.
    search : DivisorSearch, optional
        Sizes and tolerances.

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
    kind = complex if any(map(np.iscomplexobj, given)) else float
    given = [p.astype(kind) for p in given]
    most = min(p.size for p in given) - 1
    _check_degree(degree, most)
    norms = np.array([_norm(p) for p in given])
    sigmas = norms if noise is None else _noises(noise, len(given))
    with np.errstate(over="ignore"):
        weights = norms / sigmas
    if np.any(np.isinf(weights)) or not all(map(SampleRange().includes, weights)):
        raise ValueError(
            f"noise is {noise!r}, but finite numbers between 1e-75 and 1e75 times the norms of the "
            "coefficients are expected"
        )
    scaled = [_divided(p, norm) for p, norm in zip(given, norms, strict=True)]
    fits = NearestDivisors(scaled, weights, search)
    if degree is None:
        degree = _degree_by_jump(fits, most) if noise is None else _degree_by_noise(fits, most)
    if fits.filling is not None:
        warn_if_limited(fits.filling, "approximate_gcd")
    divisor, quotients = fits.at(int(degree))
    lead = divisor[-1]
    if lead == 0 or not SampleRange().includes(lead):  # the norm of all is one
        raise ValueError(
            f"the leading coefficient of the common divisor of degree {int(degree)} is zero within "
            "rounding: remove leading coefficients that are tiny beside the others, or pass a "
            "smaller degree"
        )
    cofactors = tuple(w * lead * norm for w, norm in zip(quotients, norms, strict=True))
    divisor = divisor / lead
    nearest = tuple(np.convolve(divisor, w) for w in cofactors)
    changes = [
        np.sqrt(np.nansum(np.abs(_divided(p - near, norm)) ** 2))
        for p, near, norm in zip(given, nearest, norms, strict=True)
    ]
    return CommonDivisor(divisor, cofactors, nearest, float(np.linalg.norm(changes)))


def _check_degree(degree: object, most: int) -> None:
    """Raise an error unless the degree is None or an integer from 0 to `most`."""
    if degree is None:
        return
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)):
        raise TypeError(f"degree is {degree!r}, but an integer is expected")
    if not 0 <= degree <= most:
        raise ValueError(
            f"degree is {degree}, but a number from 0 to {most}, the least degree of the "
            "polynomials, is expected"
        )


def _norm(polynomial: NDArray) -> float:
    """Euclidean norm of the given coefficients, without overflow."""
    largest = np.nanmax(np.abs(polynomial))
    return float(largest * np.sqrt(np.nansum(np.abs(_divided(polynomial, float(largest))) ** 2)))


def _divided(values: NDArray, norm: float) -> NDArray:
    """Divide by a norm so small that its inverse may overflow."""
    root = 2.0 ** -(math.frexp(norm)[1] // 2)
    return np.asarray(values * root * root / (norm * root * root))


def _degree_by_noise(fits: NearestDivisors, most: int) -> int:
    """The largest degree whose change the noise explains."""
    parts = 2 if np.iscomplexobj(fits.filled[0]) else 1  # real numbers per coefficient
    for degree in range(most, 0, -1):
        freedom = parts * fits.freedom(degree)
        if freedom <= 0:
            continue
        largest = chdtri(freedom, fits.search.refused)  # of a chi-square variable
        if parts * fits.error(degree) ** 2 <= largest:
            return degree
    return 0


def _degree_by_jump(fits: NearestDivisors, most: int) -> int:
    """The degree after which the error per degree of freedom jumps most."""
    degrees = [k for k in range(1, most + 1) if fits.freedom(k) > 0]
    if not degrees:
        return 0
    changes = np.array([fits.error(k) for k in degrees])
    # A common divisor of degree k includes one of each lower degree, so errors grow with k.
    changes = np.minimum.accumulate(changes[::-1])[::-1]
    errors = [
        max(change / np.sqrt(fits.freedom(k)), fits.search.exact)
        for k, change in zip(degrees, changes, strict=True)
    ]
    jumps = [after / error for error, after in zip(errors, [*errors[1:], 1.0], strict=True)]
    return degrees[int(np.argmax(jumps))] if max(jumps) >= fits.search.jump else 0


def _coefficients(values: Any, position: int) -> NDArray:
    """Coefficients of a polynomial, without leading zeros."""
    p = to_numpy(as_array(values))
    name = f"polynomial {position}"
    if p.dtype.kind not in "fciu":
        raise TypeError(f"{name} has dtype {p.dtype}, but real or complex numbers are expected")
    if p.ndim != 1 or not p.size:
        raise ValueError(f"{name} has shape {p.shape}, but a vector of coefficients is expected")
    if np.any(np.isinf(p)):
        raise ValueError(f"{name} contains inf, but finite numbers are expected")
    used = np.flatnonzero(p != 0)
    if not used.size:
        raise ValueError(f"{name} is zero, and every polynomial divides zero: remove it")
    p = p[: used[-1] + 1]
    if np.isnan(p[-1]):
        raise ValueError(
            f"{name} has NaN as its leading coefficient (the last), but this one sets the degree: "
            "pass the coefficients up to the last known one"
        )
    return p


def _noises(noise: Any, count: int) -> NDArray:
    """A standard deviation for each polynomial."""
    sigmas = np.asarray(noise)
    if sigmas.dtype.kind not in "fiu" or sigmas.shape not in ((), (count,)):
        raise ValueError(
            f"noise is {noise!r}, but a number, or {count} numbers, one per polynomial, is expected"
        )
    if not np.all((sigmas > 0) & np.isfinite(sigmas)):
        raise ValueError(f"noise is {noise!r}, but finite numbers above zero are expected")
    return np.broadcast_to(sigmas.astype(float), (count,))

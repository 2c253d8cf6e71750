"""The sizes that samples may have, so that their powers can be computed: the same everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, NDArray, array_namespace, epsilon, real_dtype
from .._checks import positive


@dataclass(frozen=True)
class SampleRange:
    """The largest size of a sample, and the inverse of the smallest.

    Solvers compute fourth powers of the samples.

    Parameters
    ----------
    single : float
        Limit in single precision. From rounding: its fourth power, 1e36, stays below 3.4e38.
    double : float
        Limit in double precision. From rounding: its fourth power, 1e300, stays below 1.8e308.
    lifted : float
        Products of weight and sample may be larger by this factor: lifted weights are roots of
        numbers of copies. In double precision, fourth powers stay below the same number.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.sample_range import SampleRange
    >>> [SampleRange().includes(1e20 * np.ones(3, dtype)) for dtype in ("float32", "float64")]
    [False, True]
    """

    single: float = 1e9
    double: float = 1e75
    lifted: float = 30.0

    def includes(self, values: Array) -> bool:
        """Return whether the largest of some values is zero or in range; NaN does not count."""
        most, largest = self._limit(values), largest_size(values)
        return largest == 0 or 1 / most <= largest <= most

    def in_range(self, sizes: NDArray, values: Array) -> NDArray:
        """Whether each of some sizes is zero or in the range of values like these."""
        most = self._limit(values)
        return np.asarray((sizes == 0) | ((1 / most <= sizes) & (sizes <= most)))

    def check(self, values: Array) -> None:
        """Raise a ValueError unless the largest of some values is zero or in range."""
        self._check(values, self._limit(values), "sample")

    def check_covariances(self, values: Array) -> None:
        """Raise a ValueError unless covariances are in the square of their range."""
        self._check(values, self.double**2, "covariance")

    def _check(self, values: Array, most: float, name: str) -> None:
        largest = largest_size(values)
        if not (largest == 0 or 1 / most <= largest <= most):
            raise ValueError(
                f"the largest {name} is {largest:.3g} in size, but {1 / most:g} to {most:g} is "
                f"expected, so that its powers can be computed: divide the {name}s by "
                f"{largest:.0e} first"
            )

    def check_weights(self, weights: Array, samples: Array) -> None:
        """Raise a ValueError unless weights are in the range of samples."""
        self._check_weighted(weights, self._limit(samples), "weight")

    def check_weighted_samples(self, data: Array, samples: Array) -> None:
        """Raise a ValueError unless weighted samples are in range."""
        self._check_weighted(
            data, self.lifted * self._limit(samples), "product of weight and sample"
        )

    def _check_weighted(self, values: Array, most: float, name: str) -> None:
        largest = largest_size(values)
        if not (largest == 0 or 1 / most <= largest <= most):
            raise ValueError(
                f"the largest {name} is {largest:.3g} in size, but {1 / most:g} to {most:g} is "
                "expected, so that its powers can be computed: multiply all weights by a number, "
                "and mu by its square"
            )

    def check_smallest_weight(self, weights: NDArray) -> None:
        """Raise a ValueError if a weight is so small that its square is zero."""
        least = float(np.min(weights[weights > 0], initial=np.inf))
        if least < 1 / self.double:
            raise ValueError(
                f"the smallest weight above zero is {least:.3g}, but {1 / self.double:g} or more "
                "is expected: pass zero where a sample does not count"
            )

    def check_threshold(self, threshold: float, samples: Array) -> None:
        """Raise a ValueError unless a threshold of residuals is in range, and above rounding."""
        least = max(1 / self.double, epsilon(samples) * largest_size(samples))
        most = self.single**2 if is_single(samples) else self.double
        if not least <= threshold <= most:
            raise ValueError(
                f"threshold is {threshold:.3g}, but {least:.3g} (below it is rounding) to "
                f"{most:g} is expected for these samples"
            )

    def checked_sigma(self, sigma: Any, samples: Array) -> float:
        """Return a standard deviation of noise as a float; raise a ValueError if out of range."""
        value, most = positive(sigma, "sigma"), self._limit(samples)
        if not 1 / self.double <= value <= most:
            raise ValueError(
                f"sigma is {value:.3g}, but {1 / self.double:g} to {most:g} is expected, so that "
                "its powers can be computed"
            )
        return value

    def check_lam(self, lam: float, samples: Array) -> None:
        """Raise a ValueError unless the weight of the penalty is in range."""
        most = self.single**2 if is_single(samples) else self.double
        if not 1 / most <= lam <= most:
            raise ValueError(
                f"lam is {lam:.3g}, but {1 / most:g} to {most:g} is expected, so that products "
                "with it can be computed"
            )

    def check_mu(self, mu: float, backprojection: Array, most_of_each: float = math.inf) -> None:
        """Raise a ValueError if mu is too large, or below the rounding of `A^* b`.

        A loss that is linear for large residuals counts at most `most_of_each` of a sample.
        """
        size = min(largest_size(backprojection), most_of_each)
        least, most = self._limits_of_mu(size, backprojection)
        if not least <= mu <= most:
            raise ValueError(
                f"mu is {mu:.3g}, but {least:.3g} (below it is rounding of these samples) to "
                f"{most:g} is expected: mu_max tells above which mu the solution is zero"
            )

    def mu_in_range(self, mu: NDArray, sizes: NDArray, values: Array) -> NDArray:
        """Whether each mu passes `check_mu`, for the largest sizes of signals like these values."""
        least, most = self._limits_of_mu(sizes, values)
        return np.asarray((least <= mu) & (mu <= most))

    def _limits_of_mu(self, sizes: Any, values: Array) -> tuple[Any, float]:
        most = self._limit(values) ** 2
        return np.maximum(epsilon(values) * sizes, 1 / most), most

    def _limit(self, values: Array) -> float:
        return self.single if is_single(values) else self.double


def is_single(values: Array) -> bool:
    """Whether values are in single precision."""
    return bool(real_dtype(values) == array_namespace(values).float32)


def largest_size(values: Array) -> float:
    """Return the largest modulus of some values; those that are not finite do not count."""
    xp = array_namespace(values)
    with np.errstate(over="ignore"):
        sizes = xp.abs(values)
    sizes = xp.where(xp.isfinite(values), sizes, xp.zeros_like(sizes))
    return float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0

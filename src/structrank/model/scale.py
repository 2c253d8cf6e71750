"""The size of noise beside gross errors: its standard deviation, and how to tell them apart."""

from __future__ import annotations

import numpy as np

from .._array import NDArray


class TwoLevels:
    """Residuals as noise of two levels: that of good samples, and gross errors.

    Parameters
    ----------
    residual : ndarray
    noise : float
        Standard deviation of the noise.
    far : float
        Gross errors are more than this many standard deviations away.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.scale import TwoLevels
    >>> TwoLevels(np.array([0.1, -0.2, 9.0]), noise=0.2, far=4.0).far
    array([False, False,  True])
    """

    def __init__(self, residual: np.ndarray, noise: float, far: float) -> None:
        self.noise = noise
        self.far = np.abs(residual) > far * noise
        self.spreads = [_root_mean_square(residual[part]) for part in (~self.far, self.far)]
        self.parts = 2 if np.iscomplexobj(residual) else 1
        self.good = self.parts * int(np.count_nonzero(~self.far))

    def information(self, parameters: int, rank: int) -> float:
        """Compute the information criterion of a refit, with both levels of noise."""
        left = self.good - parameters - 1
        if left < 1:
            return float(np.inf)
        near, far = np.log(np.maximum(self.spreads, np.finfo(float).tiny))
        misfit = self.good * near + self.parts * np.count_nonzero(self.far) * far
        price = np.log(self.good) * self.good / left
        return float(2 * misfit + (parameters + rank) * price)


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.abs(values) ** 2))) if values.size else 0.0


def deviation_by_median(residuals: np.ndarray) -> float:
    """Estimate the standard deviation of Gaussian noise from the median of its modulus.

    Outliers hardly change the median. Complex noise is assumed to be circular.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.scale import deviation_by_median
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> noise[:500] = 1e6
    >>> round(deviation_by_median(noise), 1)
    1.1
    """
    unit_median = 0.674489750196  # median of the modulus of real Gaussian noise of deviation one
    if np.iscomplexobj(residuals):
        unit_median = np.sqrt(np.log(2))
    return float(np.median(np.abs(residuals)) / unit_median)


def is_rounded(values: NDArray, digits: int = 7) -> bool:
    """Whether no number has more decimal digits than recorded ones usually have.

    Digits are counted from the first one of each number, or from that of the largest number, with
    one more. What is rounded has noise, of the size of its last digit.

    Parameters
    ----------
    values : ndarray
    digits : int
        The usual largest number of digits.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.scale import is_rounded
    >>> is_rounded(np.array([0.1, 2.35e-5, -1200.0])), is_rounded(np.array([1 / 3]))
    (True, False)
    """
    numbers = np.stack([np.real(values), np.imag(values)]).astype(float)
    sizes = np.abs(numbers[numbers != 0])
    if not sizes.size:
        return True
    first = np.floor(np.log10(sizes))
    with np.errstate(over="ignore", invalid="ignore"):  # numbers far below normal ones
        own, common = (sizes * 10.0**p for p in (digits - 1 - first, digits - np.max(first)))
        pairs = [np.abs(scaled - np.rint(scaled)) for scaled in (own, common)]
    return any(np.all(rest < 1e-6) for rest in pairs)  # far above the rounding of doubles

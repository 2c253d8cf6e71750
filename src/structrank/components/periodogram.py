"""The strongest frequency in samples at any times: a periodogram by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._array import NDArray


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies that are tried.

    Attributes
    ----------
    oversampling : int
        Frequencies per cycle over the span of the series. Mathematics: peaks are that wide.
    beyond : float
        Highest frequency over that of two samples per cycle on average. Irregular times show more.
    short : float
        Quantile of the steps that two samples per cycle must not fall below. Taste.
    most : int
        Frequencies at most, which bounds the time.
    """

    oversampling: int = 6
    beyond: float = 3.0
    short: float = 0.1
    most: int = 50000

    def frequencies(self, times: NDArray) -> NDArray:
        """Angular frequencies from a cycle over the span on."""
        span, steps = float(times[-1] - times[0]), np.diff(times)
        mean = span / len(steps)
        step = max(float(np.quantile(steps, self.short)), mean / self.beyond)
        count = min(int(self.oversampling * span / (2 * step)), self.most)
        grid = np.arange(self.oversampling, max(count, 2 * self.oversampling) + 1)
        return np.asarray(2 * np.pi * grid / (self.oversampling * span))


def strongest_frequency(
    times: NDArray,
    y: NDArray,
    noise: NDArray | None = None,
    known: Sequence[float] = (),
    grid: FrequencyGrid = FrequencyGrid(),
) -> float:
    """Angular frequency of the sinusoid that explains most of what known ones leave.

    A line and the known sinusoids are fitted first. What is left is fitted by one sinusoid of each
    frequency (the periodogram of Lomb and Scargle).

    Parameters
    ----------
    times, y : ndarray
        In increasing order, without gaps.
    noise : ndarray, optional
        Standard deviation of the noise of every sample, up to a factor.
    known : sequence of float
        Angular frequencies.
    grid : FrequencyGrid

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.periodogram import strongest_frequency
    >>> times = np.sort(50 * np.random.default_rng(0).random(60))
    >>> y = np.cos(2 * times) + 0.3 * np.cos(0.8 * times)
    >>> round(strongest_frequency(times, y), 1), round(strongest_frequency(times, y, None, [2]), 1)
    (2.0, 0.8)
    """
    weights = np.ones(len(y)) if noise is None else 1 / noise
    angles = np.outer(times, known)
    columns = np.column_stack([np.ones(len(y)), times, np.cos(angles), np.sin(angles)])
    columns = weights[:, None] * columns
    rest = weights * y - columns @ np.linalg.lstsq(columns, weights * y, rcond=None)[0]
    frequencies = grid.frequencies(times)
    rows = max(1, 2**22 // len(times))
    power = np.concatenate(
        [
            _power(times, rest, weights, frequencies[k : k + rows])
            for k in range(0, len(frequencies), rows)
        ]
    )
    return float(frequencies[int(np.argmax(power))])


def _power(times: NDArray, rest: NDArray, weights: NDArray, frequencies: NDArray) -> NDArray:
    """Squares that a sinusoid of each frequency explains."""
    waves = weights[:, None] * np.exp(1j * np.outer(times, frequencies))
    a, b = rest @ waves.real, rest @ waves.imag
    aa, bb = np.sum(waves.real**2, axis=0), np.sum(waves.imag**2, axis=0)
    ab = np.sum(waves.real * waves.imag, axis=0)
    determinant = np.maximum(aa * bb - ab**2, 1e-9 * aa * bb + np.finfo(float).tiny)
    return np.asarray((bb * a**2 - 2 * ab * a * b + aa * b**2) / determinant)

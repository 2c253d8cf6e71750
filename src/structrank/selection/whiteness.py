"""Tests whether a fit leaves nothing but white noise, and whether that is Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft

from .._array import NDArray


@dataclass(frozen=True)
class WhitenessTest:
    """Limits of `is_white`."""

    lags: int = 20  # of a signal with one axis; taste
    lags_per_axis: int = 4  # of a signal with several axes, forwards and backwards; taste
    chance: float = 1e-2  # of white noise to have so large a correlation at some lag; taste
    deviations: float = 2.0  # by which the sum of squared correlations may exceed its mean; taste
    # Share of the variance that correlations may explain in any case. One in 25 long records of
    # white noise exceeds the limits above by chance, with less than other estimates could use.
    relevant: float = 5e-3


def variation(samples: NDArray, seen: NDArray) -> float:
    """Return the variance of samples, or half of the mean square of their steps if that is less.

    It is the part of the variance that slow changes do not explain. The steps are those from one
    seen sample to the next, along the axis where they are smallest.

    Parameters
    ----------
    samples : ndarray, shape (samples..., channels)
        Any finite number where nothing was seen.
    seen : ndarray of bool

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.selection.whiteness import variation
    >>> seen = np.ones((4, 1), dtype=bool)
    >>> [variation(np.array(y)[:, None], seen) for y in ([1.0, -1, 1, -1], [0.0, 1, 2, 3])]
    [1.0, 0.5]
    """
    found = [float(np.var(samples[seen]))]
    for axis in range(samples.ndim - 1):
        rows, at = (np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]) for x in (samples, seen))
        steps = np.concatenate([np.diff(row[there]) for row, there in zip(rows, at, strict=True)])
        if steps.size:
            found.append(float(np.mean(np.abs(steps) ** 2)) / 2)
    return min(found)


def is_white(residual: NDArray, seen: NDArray, test: WhitenessTest = WhitenessTest()) -> bool:
    """Whether the correlations between residuals at small distances are those of white noise.

    Parameters
    ----------
    residual : ndarray, shape (samples..., channels)
        Any finite number where nothing was seen.
    seen : ndarray of bool
    test : WhitenessTest

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.selection.whiteness import is_white
    >>> noise = np.random.default_rng(0).standard_normal((200, 1))
    >>> seen = np.ones((200, 1), dtype=bool)
    >>> is_white(noise, seen), is_white(np.cumsum(noise, axis=0), seen)
    (True, False)
    """
    axes = tuple(range(residual.ndim - 1))
    shape = [scipy.fft.next_fast_len(2 * residual.shape[axis]) for axis in axes]
    unit = np.sqrt(np.mean(np.abs(residual[seen]) ** 2))
    values = np.where(seen, residual, 0.0) / unit

    def sums(part: NDArray) -> NDArray:
        """Sums of products of values at a distance, over all channels."""
        power = np.sum(np.abs(scipy.fft.fftn(part, shape, axes=axes)) ** 2, axis=-1)
        return np.asarray(scipy.fft.ifftn(power))

    at = _lags(residual.shape[:-1], test)
    counts = np.maximum(np.round(sums(seen * 1.0)[at].real), 1.0)
    squares = np.abs(sums(values)[at]) ** 2 / counts
    if np.iscomplexobj(residual):  # each has the exponential distribution, with mean one
        largest, variance = np.log(squares.size / test.chance), 1.0
    else:  # each has the chi-squared distribution of one degree of freedom
        largest, variance = 2 * np.log(2 * squares.size / test.chance), 2.0
    chance = test.deviations * np.sqrt(variance)
    explained = np.sum((squares - 1) / counts) + chance * np.linalg.norm(1 / counts)
    expected = np.sum(squares) <= squares.size + chance * np.sqrt(squares.size)
    return bool(explained <= test.relevant or (np.max(squares) <= largest and expected))


@dataclass(frozen=True)
class TailTest:
    """Limits of `has_gaussian_tails`."""

    deviations: float = 2.5  # of the fourth moment from that of Gaussian noise; taste


def has_gaussian_tails(residual: NDArray, test: TailTest = TailTest()) -> bool:
    """Whether the mean fourth power of residuals is that of Gaussian noise, circular if complex.

    It is larger if there are gross errors among the residuals, and smaller if they have two levels.

    Parameters
    ----------
    residual : ndarray
    test : TailTest

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.selection.whiteness import has_gaussian_tails
    >>> noise = np.random.default_rng(0).standard_normal(200)
    >>> [has_gaussian_tails(part) for part in (noise, np.sign(noise), noise**3)]
    [True, False, False]
    """
    squares = np.abs(residual) ** 2
    ratio = np.mean(squares**2) / np.mean(squares) ** 2
    # Expected value and variance of the ratio, for many samples.
    expected, variance = (2.0, 4.0) if np.iscomplexobj(residual) else (3.0, 24.0)
    return bool(abs(ratio - expected) <= test.deviations * np.sqrt(variance / residual.size))


def _lags(shape: tuple[int, ...], test: WhitenessTest) -> tuple[NDArray, ...]:
    """One of each two opposite distances between samples, as places in an array of all."""
    if len(shape) == 1:
        return (np.arange(1, min(test.lags, shape[0] - 1) + 1),)
    reach = [min(test.lags_per_axis, size - 1) for size in shape]
    steps = [np.arange(-most, most + 1) for most in reach]
    grid = np.stack(np.meshgrid(*steps, indexing="ij")).reshape(len(shape), -1)
    return tuple(grid[:, grid.shape[1] // 2 + 1 :])

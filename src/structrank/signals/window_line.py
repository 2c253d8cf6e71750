"""The windows inside a series: their covariance, and banded equations for the signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.linalg import get_lapack_funcs

from .._array import NDArray


@dataclass(frozen=True)
class LineWork:
    """When the covariance of windows is a plain product of matrices.

    Attributes
    ----------
    product : float
        Largest number of multiplications of such a product. With more, cumulative sums take less
        time; measured for 50 to 1000 samples and windows of 4 to 128.
    """

    product: float = 8e6


class LineWindows:
    """All windows of a series, shifted by one sample from each to the next.

    Sums over windows are cumulative sums along diagonals of m x m matrices, as neighbours differ
    in their first and last sample only. So a covariance takes `length * m` operations, and the
    equations are banded.

    Parameters
    ----------
    b : ndarray, shape (length, channels)
        Samples, zero where missing.
    seen : ndarray of bool, same shape
    window : tuple of int
        m, the samples of a window.
    work : LineWork
    """

    def __init__(
        self, b: NDArray, seen: NDArray, window: tuple[int, ...], work: LineWork = LineWork()
    ) -> None:
        self._work = work
        self.b = b.astype(np.result_type(b, float))
        self.trust = seen.astype(float)
        self.window = m = window[0]
        t, length = np.arange(len(b)), len(b)
        self._edges = np.flatnonzero((t < m - 1) | (t > length - m))
        self._last = np.minimum(self._edges + 1, m)
        self._first = np.maximum(self._edges - (length - m), 0)
        lag, column = np.indices((m, m))
        self._inside = (lag + column < m)[:, :, None, None]
        self._row, self._column = np.minimum(lag + column, m - 1), column
        self._right = (self.trust * self.b).reshape(-1)
        (self._solve,) = get_lapack_funcs(("pbsv",), (self.b,))

    def covariance(self, y: NDArray) -> NDArray:
        """Return the mean of `q q^H` over the windows q, samples before channels."""
        (length, channels), m = y.shape, self.window
        count = length - m + 1
        if count * (m * channels) ** 2 <= self._work.product:
            step = y.strides[0]
            shape, strides = (count, m, channels), (step, step, y.strides[1])
            windows = as_strided(y, shape, strides, writeable=False).reshape(count, -1)
            return np.asarray(windows.T @ windows.conj() / count)
        lagged = np.stack([y[k : k + count].T @ y[:count].conj() for k in range(m)])
        head, tail = y[: m - 1].reshape(-1), y[count:].reshape(-1)
        changes = np.zeros((m, channels, m, channels), dtype=y.dtype)
        change = np.outer(tail, tail.conj()) - np.outer(head, head.conj())
        changes[1:, :, 1:] = change.reshape(m - 1, channels, m - 1, channels)
        sums = lagged[:, None] + np.cumsum(self._diagonals(changes), axis=1)
        total = np.zeros_like(changes)
        lower = self._inside[:, :, 0, 0]
        total[self._row[lower], :, self._column[lower], :] = sums[lower]
        square = np.tril(total.reshape(m * channels, -1))
        return np.asarray((square + np.tril(square, -1).conj().T) / count)

    def solved(self, weights: NDArray, y: NDArray, steps: int, residual: float) -> NDArray:
        """Return the y with the least `sum trust |y - b|^2 + sum q^H weights q / m`."""
        bands = self._bands(weights)
        bands[0] += self.trust.reshape(-1)
        y, failed = self._solve(bands, self._right, lower=True, overwrite_ab=True)[1:]
        if failed:
            raise np.linalg.LinAlgError("the equations of local fits are not positive definite")
        return np.asarray(y.reshape(self.b.shape))

    def _diagonals(self, blocks: NDArray) -> NDArray:
        """Return the lower diagonals of m x m blocks as rows, filled up with zeros."""
        return np.asarray(self._inside * blocks[self._row, :, self._column, :])

    def _bands(self, weights: NDArray) -> NDArray:
        """Return the lower diagonals of the sum of the weights over all windows, over m."""
        (length, channels), m = self.b.shape, self.window
        sums = np.zeros((m, m + 1, channels, channels), dtype=weights.dtype)
        blocks = weights.reshape(m, channels, m, channels) / m
        np.cumsum(self._diagonals(blocks), axis=1, out=sums[:, 1:])
        bands = np.zeros((length * channels, m * channels), dtype=weights.dtype).T  # for LAPACK
        for a in range(channels):
            for c in range(channels):
                first = int(a < c)  # on the diagonal of blocks only their lower part
                at = bands[first * channels + a - c :: channels, c::channels][: m - first]
                there = sums[first:, :, a, c]
                at[:] = there[:, -1:]
                at[:, self._edges] = there[:, self._last] - there[:, self._first]
        return bands

    def with_margin(self, y: NDArray) -> NDArray:
        return y

    def cut(self, y: NDArray) -> NDArray:
        return y

"""Fill gaps and remove noise by what short windows of a signal have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solveh_banded

from .._array import NDArray
from .._checks import positive, positive_ints


@dataclass(frozen=True)
class WindowFitting:
    """How far `fit_windows` takes its steps.

    Chosen on draws of the recordings of `benchmarks.real_data`, unless a line says otherwise.

    Attributes
    ----------
    max_steps : int
        Largest number of steps of a thorough fit.
    cg_steps : int
        Largest number of conjugate gradient steps in each of them.
    few_steps : int
        Largest number of steps of a fit that is not thorough.
    few_cg_steps : int
        Largest number of conjugate gradient steps in each of them.
    still : float
        The steps end when the signal changes by less than this, relatively.
    cg_residual : float
        Conjugate gradients end when this share of the residual is left.
    piece : int
        Number of windows of a series whose products are formed together, for memory.
    """

    max_steps: int = 15
    cg_steps: int = 20
    few_steps: int = 10
    few_cg_steps: int = 3
    still: float = 2e-3
    cg_residual: float = 3e-2
    piece: int = 4096


class LocalFit(NamedTuple):
    """A signal and its rank: eigenvalues of the covariance of its windows above the noise."""

    y: NDArray
    rank: int


def fit_windows(
    samples: NDArray,
    window: int | tuple[int, ...],
    share: float,
    *,
    start: NDArray | None = None,
    thorough: bool = True,
    fitting: WindowFitting = WindowFitting(),
) -> LocalFit:
    """Find the signal near the samples whose short windows have the least log-determinant.

    `min_y  ||y - b||^2 / delta + N / m  log det(Q(y) Q(y)^H / N + delta I)`

    Q(y) is the Hankel matrix whose N columns are the windows of the signal, each of m samples. The
    logarithm is closer to the rank than the nuclear norm is, but not convex. Read as a likelihood,
    it says that windows are drawn from a normal distribution whose covariance is found along with
    the signal. So the fit also suits series without exact modes, whose swings come and go. Each
    step replaces the logarithm by its tangent and solves the least squares problem that is left,
    so the objective never rises. M. Fazel, H. Hindi and S. Boyd, "Log-det heuristic for matrix
    rank minimization", Proc. American Control Conference (2003).

    Nothing larger than the covariance of a window is formed. Along one axis the equations are
    banded and solved directly. Along several axes windows also wrap around the edges, over a margin
    where nothing is seen. The equations are convolutions then, solved by FFTs and conjugate
    gradients.

    Parameters
    ----------
    samples : ndarray, shape (lengths..., channels)
        NaN where missing. Channels share windows.
    window : int or tuple of int
        Samples of a window along each axis.
    share : float
        delta, the variance of the noise, relative to the variance of the samples.
    start : ndarray, optional
        A signal to start from. Default: the mean of each channel in the gaps. As the problem is
        not convex, a solution for a larger share is a better start.
    thorough : bool
        Whether to continue to convergence. With few and rough steps, values that the samples hardly
        determine stay small, which is better where most of a signal is missing. This makes a
        difference for several axes only.
    fitting : WindowFitting
        Limits and tolerances of the steps.

    Returns
    -------
    LocalFit

    Examples
    --------
    Swings that come and go, with a gap:

    >>> import numpy as np
    >>> from structrank.signals.logdet import fit_windows
    >>> rng, y = np.random.default_rng(0), np.zeros((300, 1))
    >>> for t in range(2, 300):
    ...     y[t] = 1.8 * y[t - 1] - 0.95 * y[t - 2] + rng.standard_normal()
    >>> samples = y.copy()
    >>> samples[100:104] = np.nan
    >>> filled = fit_windows(samples, 16, 1e-4).y
    >>> error, size = (np.linalg.norm(x[100:104]) for x in (filled - y, y))
    >>> bool(error < 0.5 * size)
    True
    """
    window, share = positive_ints(window, "window"), positive(share, "share")
    _check_window(window, samples.shape)
    seen = ~np.isnan(samples)
    places = tuple(range(samples.ndim - 1))
    mean = np.sum(np.where(seen, samples, 0), axis=places) / np.sum(seen, axis=places)
    b = np.where(seen, samples - mean, 0)
    delta = share * float(np.sum(np.abs(b) ** 2) / np.count_nonzero(seen))
    if delta == 0:  # constant channels
        return LocalFit(b + mean, 0)
    windows = (_Line if len(window) == 1 else _Torus)(b, seen, window, delta, fitting)
    y = windows.b if start is None else windows.with_margin(start - mean)
    cg_steps = fitting.cg_steps if thorough else fitting.few_cg_steps
    for _ in range(fitting.max_steps if thorough else fitting.few_steps):
        covariance = windows.covariance(y)
        noisy = covariance + delta * np.eye(len(covariance))
        weights = np.linalg.inv(noisy)
        before, y = y, windows.solved((weights + weights.conj().T) / 2, y, cg_steps)
        if np.linalg.norm(y - before) <= fitting.still * np.linalg.norm(y):
            break
    rank = int(np.sum(np.linalg.eigvalsh(windows.covariance(y)) > delta))
    return LocalFit((windows.cut(y) + mean).astype(samples.dtype), rank)


def _check_window(window: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise an error unless a window fits into samples of a shape."""
    if len(window) != len(shape) - 1 or any(w > n for w, n in zip(window, shape[:-1], strict=True)):
        raise ValueError(
            f"window is {window}, but for samples of shape {shape} (the last axis holds "
            "channels) one number for each other axis, at most its length, is expected"
        )


class _Line:
    """The windows inside a series, and banded equations."""

    def __init__(
        self,
        b: NDArray,
        seen: NDArray,
        window: tuple[int, ...],
        delta: float,
        fitting: WindowFitting = WindowFitting(),
    ) -> None:
        self.b = b.astype(np.result_type(b, float))
        self.window, self.piece = window[0], fitting.piece
        self.trust = seen / delta

    def covariance(self, y: NDArray) -> NDArray:
        """Return the mean of `q q^H` over the windows q, samples before channels."""
        windows = sliding_window_view(y, self.window, axis=0)
        total = np.zeros((), dtype=y.dtype)
        for first in range(0, len(windows), self.piece):
            Q = windows[first : first + self.piece].transpose(0, 2, 1)
            Q = Q.reshape(-1, self.window * y.shape[1])
            total = total + Q.T @ Q.conj()
        return total / len(windows)

    def solved(self, weights: NDArray, y: NDArray, steps: int) -> NDArray:
        """Return the y with the least `||y - b||^2 / delta + sum q^H weights q / m`."""
        bands = self._bands(weights) / self.window
        bands[0] += self.trust.reshape(-1)
        right = (self.trust * self.b).reshape(-1).astype(bands.dtype)
        y = solveh_banded(bands, right, lower=True, overwrite_ab=True, check_finite=False)
        return y.reshape(self.b.shape)

    def _bands(self, weights: NDArray) -> NDArray:
        """Return the lower diagonals of the sum of the weights over all windows."""
        (length, channels), m = self.b.shape, self.window
        blocks = weights.reshape(m, channels, m, channels)
        bands = np.zeros((m * channels, length * channels), dtype=weights.dtype)
        for k in range(m):
            along = np.arange(m - k)
            sums = np.cumsum(blocks[along + k, :, along, :], axis=0)
            sums = np.concatenate([np.zeros_like(sums[:1]), sums])
            t = np.arange(length - k)
            first, last = np.maximum(t - (length - m), 0), np.minimum(t + 1, m - k)
            there = sums[last] - sums[first]
            for a in range(channels):
                for c in range(channels if k else a + 1):
                    columns = slice(c, (length - k) * channels, channels)
                    bands[k * channels + a - c, columns] = there[:, a, c]
        return bands

    def with_margin(self, y: NDArray) -> NDArray:
        return y

    def cut(self, y: NDArray) -> NDArray:
        return y


class _Torus:
    """Windows that wrap around the edges of a signal with a margin, and convolutions."""

    def __init__(
        self,
        b: NDArray,
        seen: NDArray,
        window: tuple[int, ...],
        delta: float,
        fitting: WindowFitting = WindowFitting(),
    ) -> None:
        self.cg_residual = fitting.cg_residual
        lengths, self.channels = b.shape[:-1], b.shape[-1]
        self.grid = tuple(
            scipy.fft.next_fast_len(n + w - 1, real=not np.iscomplexobj(b))
            for n, w in zip(lengths, window, strict=True)
        )
        self.axes = tuple(range(len(lengths)))
        self.inside = tuple(slice(0, length) for length in lengths)
        self.b = np.zeros((*self.grid, self.channels), dtype=b.dtype)
        self.b[self.inside] = b
        self.trust = np.zeros(self.b.shape, dtype=b.real.dtype)
        self.trust[self.inside] = seen / delta
        at = np.indices(window).reshape(len(window), -1)
        self.places = at.shape[1]
        self.lags = tuple((x[:, None] - x) % size for x, size in zip(at, self.grid, strict=True))

    def covariance(self, y: NDArray) -> NDArray:
        """Return the mean of `q q^H` over the windows q, from correlations of the signal."""
        spectrum, rows = self._fft(y), []
        for a in range(self.channels):
            lagged = self._ifft(spectrum[..., a, None] * spectrum.conj())[self.lags]
            rows.append(lagged)
        size = self.places * self.channels
        total = np.stack(rows, axis=1).reshape(size, size)
        return np.asarray(total.astype(np.result_type(y, float)) / np.prod(self.grid))

    def solved(self, weights: NDArray, y: NDArray, steps: int) -> NDArray:
        """Return the y with about the least `||y - b||^2 / delta + sum q^H weights q / m`."""
        blocks = weights.reshape(self.places, self.channels, self.places, self.channels)
        filters = np.zeros((*self.grid, self.channels, self.channels), dtype=weights.dtype)
        np.add.at(filters, self.lags, blocks.transpose(0, 2, 1, 3) / self.places)
        transfer = self._fft(filters.astype(y.dtype))

        def normal(x: NDArray) -> NDArray:
            return self.trust * x + self._ifft((transfer @ self._fft(x)[..., None])[..., 0])

        residual = self.trust * self.b - normal(y)
        direction, square = residual, np.vdot(residual, residual).real
        first = square
        for _ in range(steps):
            if square <= self.cg_residual**2 * first:
                break
            image = normal(direction)
            step = square / np.vdot(direction, image).real
            y, residual = y + step * direction, residual - step * image
            before, square = square, np.vdot(residual, residual).real
            direction = residual + (square / before) * direction
        return y

    def with_margin(self, y: NDArray) -> NDArray:
        out = np.zeros_like(self.b)
        out[self.inside] = y
        return out

    def cut(self, y: NDArray) -> NDArray:
        return y[self.inside]

    def _fft(self, y: NDArray) -> NDArray:
        transform = scipy.fft.fftn if np.iscomplexobj(self.b) else scipy.fft.rfftn
        return np.asarray(transform(y, axes=self.axes))

    def _ifft(self, spectrum: NDArray) -> NDArray:
        if np.iscomplexobj(self.b):
            return np.asarray(scipy.fft.ifftn(spectrum, axes=self.axes))
        return np.asarray(scipy.fft.irfftn(spectrum, self.grid, axes=self.axes))

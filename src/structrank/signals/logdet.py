"""Gaps filled and noise removed by what short windows of a signal have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solveh_banded

from .._checks import positive, positive_ints

MAX_STEPS, CG_STEPS = 15, 20  # and of conjugate gradients in each
FEW_STEPS, FEW_CG_STEPS = 10, 3  # where the end is to be early
STILL = 2e-3  # relative change of the signal below which the steps end
ENOUGH = 3e-2  # of the residual is left when conjugate gradients stop
PIECE = 4096  # windows of a series looked at together


class LocalFit(NamedTuple):
    """A signal and its rank: eigenvalues of the covariance of its windows above the noise."""

    y: np.ndarray
    rank: int


def fit_windows(
    samples: np.ndarray,
    window: int | tuple[int, ...],
    share: float,
    *,
    start: np.ndarray | None = None,
    thorough: bool = True,
    max_steps: int = MAX_STEPS,
) -> LocalFit:
    """The signal near the samples whose short windows have the least log-determinant.

    `min_y  ||y - b||^2 / delta + N / m  log det(Q(y) Q(y)^H / N + delta I)`

    Q(y) is the Hankel matrix whose N columns are the windows of the signal, each of m places. The
    logarithm is a sharper stand-in for the rank than the nuclear norm, but not convex; read as a
    likelihood, windows are drawn from a normal distribution whose covariance is found along with
    the signal, so that series without exact modes, whose swings come and go, are met as well. Each
    step puts the tangent of the logarithm in its place and solves the least squares problem that
    is left: the objective never rises. M. Fazel, H. Hindi and S. Boyd, "Log-det heuristic for
    matrix rank minimization", Proc. American Control Conference (2003).

    Nothing larger than the covariance of a window is formed. Along one axis the equations are
    banded and solved directly. Along several, windows also reach around the edges, over a margin
    where nothing is seen: then the equations are convolutions, and FFTs and conjugate gradients
    solve them.

    Parameters
    ----------
    samples : ndarray, shape (lengths..., channels)
        NaN where missing. Channels share windows.
    window : int or tuple of int
        Places of a window along each axis.
    share : float
        delta, the variance of the noise, over that of the samples in all.
    start : ndarray, optional
        A signal to start from. Default: the mean of each channel in the gaps. As the problem is
        not convex, a solution for a larger share is a better one.
    thorough : bool
        Whether to go on to the end. Few and rough steps leave small what the samples say little
        about, which is better where most of a signal is missing. For several axes only.
    max_steps : int
        Largest number of steps.

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
    if len(window) != samples.ndim - 1 or any(
        w > n for w, n in zip(window, samples.shape[:-1], strict=True)
    ):
        raise ValueError(
            f"window is {window}, but for samples of shape {samples.shape} (the last axis holds "
            "channels) one number for each other axis, at most its length, is expected"
        )
    seen = ~np.isnan(samples)
    places = tuple(range(samples.ndim - 1))
    mean = np.sum(np.where(seen, samples, 0), axis=places) / np.sum(seen, axis=places)
    b = np.where(seen, samples - mean, 0)
    delta = share * float(np.sum(np.abs(b) ** 2) / np.count_nonzero(seen))
    if delta == 0:  # constant channels
        return LocalFit(b + mean, 0)
    windows = (_Line if len(window) == 1 else _Torus)(b, seen, window, delta)
    y = windows.b if start is None else windows.with_margin(start - mean)
    inner = CG_STEPS if thorough else FEW_CG_STEPS
    for _ in range(max_steps if thorough else min(max_steps, FEW_STEPS)):
        covariance = windows.covariance(y)
        noisy = covariance + delta * np.eye(len(covariance))
        weights = np.linalg.inv(noisy)
        before, y = y, windows.solved((weights + weights.conj().T) / 2, y, inner)
        if np.linalg.norm(y - before) <= STILL * np.linalg.norm(y):
            break
    rank = int(np.sum(np.linalg.eigvalsh(windows.covariance(y)) > delta))
    return LocalFit((windows.cut(y) + mean).astype(samples.dtype), rank)


class _Line:
    """The windows inside a series, and banded equations."""

    def __init__(
        self, b: np.ndarray, seen: np.ndarray, window: tuple[int, ...], delta: float
    ) -> None:
        self.b = b.astype(np.result_type(b, float))
        self.window = window[0]
        self.trust = seen / delta

    def covariance(self, y: np.ndarray) -> np.ndarray:
        """Mean of `q q^H` over the windows q, places first."""
        windows = sliding_window_view(y, self.window, axis=0)
        total = np.zeros((), dtype=y.dtype)
        for first in range(0, len(windows), PIECE):
            Q = (
                windows[first : first + PIECE]
                .transpose(0, 2, 1)
                .reshape(-1, self.window * y.shape[1])
            )
            total = total + Q.T @ Q.conj()
        return total / len(windows)

    def solved(self, weights: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
        """The y with the least `||y - b||^2 / delta + sum q^H weights q / m`."""
        bands = self._bands(weights) / self.window
        bands[0] += self.trust.reshape(-1)
        right = (self.trust * self.b).reshape(-1).astype(bands.dtype)
        y = solveh_banded(bands, right, lower=True, overwrite_ab=True, check_finite=False)
        return y.reshape(self.b.shape)

    def _bands(self, weights: np.ndarray) -> np.ndarray:
        """Diagonals of the sum over all windows of the weights put there, lower ones."""
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

    def with_margin(self, y: np.ndarray) -> np.ndarray:
        return y

    def cut(self, y: np.ndarray) -> np.ndarray:
        return y


class _Torus:
    """Windows that reach around the edges of a signal with a margin, and convolutions."""

    def __init__(
        self, b: np.ndarray, seen: np.ndarray, window: tuple[int, ...], delta: float
    ) -> None:
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

    def covariance(self, y: np.ndarray) -> np.ndarray:
        """Mean of `q q^H` over the windows q, places first: the values of the correlations."""
        spectrum, rows = self._fft(y), []
        for a in range(self.channels):
            lagged = self._ifft(spectrum[..., a, None] * spectrum.conj())[self.lags]
            rows.append(lagged)
        size = self.places * self.channels
        total = np.stack(rows, axis=1).reshape(size, size)
        return total.astype(np.result_type(y, float)) / np.prod(self.grid)

    def solved(self, weights: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
        """The y with about the least `||y - b||^2 / delta + sum q^H weights q / m`."""
        blocks = weights.reshape(self.places, self.channels, self.places, self.channels)
        filters = np.zeros((*self.grid, self.channels, self.channels), dtype=weights.dtype)
        np.add.at(filters, self.lags, blocks.transpose(0, 2, 1, 3) / self.places)
        transfer = self._fft(filters.astype(y.dtype))

        def normal(x: np.ndarray) -> np.ndarray:
            return self.trust * x + self._ifft((transfer @ self._fft(x)[..., None])[..., 0])

        residual = self.trust * self.b - normal(y)
        direction, square = residual, np.vdot(residual, residual).real
        first = square
        for _ in range(steps):
            if square <= ENOUGH**2 * first:
                break
            image = normal(direction)
            step = square / np.vdot(direction, image).real
            y, residual = y + step * direction, residual - step * image
            before, square = square, np.vdot(residual, residual).real
            direction = residual + (square / before) * direction
        return y

    def with_margin(self, y: np.ndarray) -> np.ndarray:
        out = np.zeros_like(self.b)
        out[self.inside] = y
        return out

    def cut(self, y: np.ndarray) -> np.ndarray:
        return y[self.inside]

    def _fft(self, y: np.ndarray) -> np.ndarray:
        transform = scipy.fft.fftn if np.iscomplexobj(self.b) else scipy.fft.rfftn
        return transform(y, axes=self.axes)

    def _ifft(self, spectrum: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(self.b):
            return scipy.fft.ifftn(spectrum, axes=self.axes)
        return scipy.fft.irfftn(spectrum, self.grid, axes=self.axes)

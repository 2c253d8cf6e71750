"""Windows of a signal with several axes: covariance and equations by Fourier transforms."""

from __future__ import annotations

from math import prod

import numpy as np
import scipy.fft

from .._array import NDArray


class TorusWindows:
    """All windows of a signal with a margin, also those that wrap around its edges.

    The covariance of a window then depends on lags between its samples only, and the equations
    are convolutions. Both need Fourier transforms at the few lags of a window, which are products
    with thin matrices. No window is formed. Signals hold channels first here, for faster FFTs.

    Parameters
    ----------
    b : ndarray, shape (lengths..., channels)
        Samples, zero where missing.
    seen : ndarray of bool, same shape
    window : tuple of int
        Samples of a window along each axis.
    """

    def __init__(self, b: NDArray, seen: NDArray, window: tuple[int, ...]) -> None:
        lengths, self.channels = b.shape[:-1], b.shape[-1]
        self._real = not np.iscomplexobj(b)
        self.grid = tuple(
            scipy.fft.next_fast_len(n + w - 1, real=self._real)
            for n, w in zip(lengths, window, strict=True)
        )
        self._axes = tuple(range(1, len(self.grid) + 1))
        self._inside = (slice(None), *(slice(0, length) for length in lengths))
        self.b = np.zeros((self.channels, *self.grid), dtype=b.dtype)
        self.b = self.with_margin(b)
        self.trust = self.with_margin(seen.astype(b.real.dtype)).real
        at = np.indices(window).reshape(len(window), -1)
        self._places = at.shape[1]
        self._lags = tuple(2 * w - 1 for w in window)
        lags = tuple(x[:, None] - x + w - 1 for x, w in zip(at, window, strict=True))
        self._lag = np.ravel_multi_index(lags, self._lags)
        self._pairs = list(zip(*np.tril_indices(self.channels), strict=True))
        self._waves = [_waves(n, w) for n, w in zip(self.grid, window, strict=True)]
        if self._real:  # half of the frequencies, each with its conjugate but the first and last
            size = self.grid[-1]
            self._waves[-1] = self._waves[-1][: size // 2 + 1]
            self._twice = np.full(size // 2 + 1, 2.0)
            self._twice[:: size // 2 if size % 2 == 0 else size] = 1.0

    def covariance(self, y: NDArray) -> NDArray:
        """Return the mean of `q q^H` over the windows q, samples before channels."""
        spectrum = self._fft(y).astype(complex) / prod(self.grid)
        first, second = np.transpose(self._pairs)
        lagged = spectrum[first] * spectrum[second].conj()
        if self._real:
            lagged *= self._twice
        for waves in reversed(self._waves):
            lagged = np.moveaxis(lagged @ waves, -1, 1)
        lagged = (lagged.real if self._real else lagged).reshape(len(first), -1)
        shape = (self._places, self.channels, self._places, self.channels)
        out = np.empty(shape, dtype=lagged.dtype)
        for (a, c), values in zip(self._pairs, lagged, strict=True):
            out[:, a, :, c] = values[self._lag]
            if a != c:
                out[:, c, :, a] = values[self._lag].conj().T
        return out.reshape(self._places * self.channels, -1)

    def solved(self, weights: NDArray, y: NDArray, steps: int, residual: float) -> NDArray:
        """Return the y with about the least `sum trust |y - b|^2 + sum q^H weights q / m`.

        By conjugate gradients from y, until a share of the residual is left or steps are made.
        """
        transfer = self._transfer(weights)

        def normal(x: NDArray) -> NDArray:
            spectrum = self._fft(x)
            image = transfer[:, 0] * spectrum[0]
            for c in range(1, self.channels):
                image += transfer[:, c] * spectrum[c]
            return self.trust * x + self._ifft(image)

        left = self.trust * self.b - normal(y)
        direction, square = left, np.vdot(left, left).real
        enough = residual**2 * square
        for _ in range(steps):
            if square <= enough:
                break
            image = normal(direction)
            step = square / np.vdot(direction, image).real
            y, left = y + step * direction, left - step * image
            before, square = square, np.vdot(left, left).real
            direction = left + (square / before) * direction
        return y

    def _transfer(self, weights: NDArray) -> NDArray:
        """Return the convolution `sum q^H weights q / m` at every frequency, for channel pairs."""
        m, size = self._places, prod(self._lags)
        blocks = weights.reshape(m, self.channels, m, self.channels) / m
        lag, filters = self._lag.reshape(-1), []
        for a, c in self._pairs:
            block = blocks[:, a, :, c].reshape(-1)
            sums = np.bincount(lag, block.real, size)
            filters.append(sums if self._real else sums + 1j * np.bincount(lag, block.imag, size))
        spectra = np.reshape(filters, (len(filters), *self._lags))
        for waves in self._waves:
            spectra = np.moveaxis(spectra, 1, -1) @ waves.conj().T
        shape = (self.channels, self.channels, *spectra.shape[1:])
        out = np.empty(shape, dtype=np.result_type(self.b, np.complex64))
        for (a, c), values in zip(self._pairs, spectra, strict=True):
            out[a, c], out[c, a] = values, values.conj()
        return out

    def with_margin(self, y: NDArray) -> NDArray:
        """Return a signal as it is held here: channels first, zeros in the margin."""
        out = np.zeros_like(self.b)
        out[self._inside] = np.moveaxis(y, -1, 0)
        return out

    def cut(self, y: NDArray) -> NDArray:
        """Return a signal without its margin, channels last."""
        return np.moveaxis(y[self._inside], 0, -1)

    def _fft(self, y: NDArray) -> NDArray:
        transform = scipy.fft.rfftn if self._real else scipy.fft.fftn
        return np.asarray(transform(y, axes=self._axes))

    def _ifft(self, spectrum: NDArray) -> NDArray:
        if self._real:
            return np.asarray(scipy.fft.irfftn(spectrum, self.grid, axes=self._axes))
        return np.asarray(scipy.fft.ifftn(spectrum, axes=self._axes))


def _waves(size: int, window: int) -> NDArray:
    """Return `exp(2 pi i f l / size)` for all frequencies f and the lags l of a window."""
    lags = np.arange(1 - window, window)
    return np.asarray(np.exp(2j * np.pi * np.outer(np.arange(size), lags) / size))

"""Fill gaps and remove noise by what short windows of a signal have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from .._array import NDArray
from .._checks import positive, positive_ints
from .window_line import LineWindows
from .window_torus import TorusWindows


@dataclass(frozen=True)
class WindowFitting:
    """How far `fit_windows` takes its steps.

    Chosen on draws of the recordings of `benchmarks.real_data`, unless a line says otherwise.

    Attributes
    ----------
    max_steps, max_steps_in_space : int
        Largest number of steps of a thorough fit: of a series, and with several axes
        (`benchmarks.space`).
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
    rounding : float
        Least noise over the sum of all variances of a window. Rounding: its covariance may have
        negative eigenvalues of this size.
    """

    max_steps: int = 15
    max_steps_in_space: int = 30
    cg_steps: int = 20
    few_steps: int = 10
    few_cg_steps: int = 3
    still: float = 2e-3
    cg_residual: float = 1e-1
    rounding: float = 1e-14


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
    so the objective does not rise. M. Fazel, H. Hindi and S. Boyd, "Log-det heuristic for matrix
    rank minimization", Proc. American Control Conference (2003).

    Nothing larger than the covariance of a window is formed. Along one axis the equations are
    banded and solved directly (`LineWindows`). Along several axes windows also wrap around the
    edges, over a margin where nothing is seen. The equations are convolutions then, solved by FFTs
    and conjugate gradients (`TorusWindows`), and many steps are needed. So each one starts from a
    signal that is extrapolated from the last two, as in Nesterov's method, and the objective may
    rise. The extrapolation starts anew after a step that turns back from the last one. That is
    sooner than by the rule of B. O'Donoghue and E. Candes, "Adaptive restart for accelerated
    gradient schemes", Found. Comput. Math. 15 (2015), by which errors in recorded k-space are
    larger (`benchmarks.space`).

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
    descent = WindowDescent(samples, window, start=start, thorough=thorough, fitting=fitting)
    for _ in range(descent.max_steps):
        if descent.step(share) <= fitting.still:
            break
    return descent.fit(share)


class WindowDescent:
    """The steps of `fit_windows`, one at a time, whose noise may change from one to the next.

    Parameters
    ----------
    samples, window, start, thorough, fitting
        Those of `fit_windows`.

    Attributes
    ----------
    max_steps : int
        Largest number of steps for the same noise.
    """

    def __init__(
        self,
        samples: NDArray,
        window: tuple[int, ...],
        *,
        start: NDArray | None = None,
        thorough: bool = True,
        fitting: WindowFitting = WindowFitting(),
    ) -> None:
        _check_window(window, samples.shape)
        seen = ~np.isnan(samples)
        places = tuple(range(samples.ndim - 1))
        self._mean = np.sum(np.where(seen, samples, 0), axis=places) / np.sum(seen, axis=places)
        b = np.where(seen, samples - self._mean, 0)
        self._scale = float(np.sqrt(np.sum(np.abs(b) ** 2) / np.count_nonzero(seen)))
        b = b / self._scale if self._scale else b
        kind: type[LineWindows | TorusWindows] = LineWindows
        if len(window) > 1:  # conjugate gradients end far above the rounding of single precision
            kind, b = TorusWindows, b.astype(np.complex64 if np.iscomplexobj(b) else np.float32)
        self._dtype, self._fitting = samples.dtype, fitting
        self._windows = windows = kind(b, seen, window)
        double = np.result_type(windows.b, float)
        self._factor, self._invert = get_lapack_funcs(("potrf", "potri"), dtype=double)
        scaled = None if start is None else (start - self._mean) / (self._scale or 1.0)
        self._y = windows.b if scaled is None else windows.with_margin(scaled)
        self._before, self._since = self._y, 0  # the signal before it; steps since a restart
        self._extrapolates = len(window) > 1
        self._cg_steps = fitting.cg_steps if thorough else fitting.few_cg_steps
        most = fitting.max_steps if len(window) == 1 else fitting.max_steps_in_space
        self.max_steps = most if thorough else fitting.few_steps

    @property
    def y(self) -> NDArray:
        """The signal."""
        y = np.multiply(
            self._scale, self._windows.cut(self._y), dtype=np.result_type(self._y, float)
        )
        return np.asarray(y + self._mean, dtype=self._dtype)

    def step(self, share: float) -> float:
        """Make a step for a share of noise, and return the relative change of the signal."""
        if self._scale == 0:  # constant channels
            return 0.0
        fitting, at = self._fitting, self._y
        if self._extrapolates:
            last = self._y - self._before
            at = at + self._since / (self._since + 3) * last
        weights = self._weights(at, share)
        y = self._windows.solved(weights, at, self._cg_steps, fitting.cg_residual)
        turned = self._extrapolates and np.vdot(y - at, last).real < 0
        self._since = 0 if turned else self._since + 1
        self._before, self._y = self._y, y
        size = float(np.linalg.norm(y))
        return float(np.linalg.norm(y - self._before)) / size if size else 0.0

    def fit(self, share: float) -> LocalFit:
        """Return the signal and its rank for a share of noise."""
        if self._scale == 0:
            return LocalFit(self.y, 0)
        values = np.linalg.eigvalsh(self._windows.covariance(self._y))
        return LocalFit(self.y, int(np.sum(values > share)))

    def _weights(self, y: NDArray, delta: float) -> NDArray:
        """Return `delta (Q Q^H / N + delta I)^-1`: the tangent, in units of the misfit."""
        noisy = self._windows.covariance(y)
        least = self._fitting.rounding * float(np.trace(noisy).real)
        np.einsum("ii->i", noisy)[:] += max(delta, least)
        factor = self._factor(noisy, lower=True)[0]
        lower = delta * self._invert(factor, lower=True)[0]  # zero above
        whole = lower + lower.conj().T
        np.einsum("ii->i", whole)[:] -= np.diag(lower)
        return np.asarray(whole)


def _check_window(window: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise an error unless a window fits into samples of a shape."""
    if len(window) != len(shape) - 1 or any(w > n for w, n in zip(window, shape[:-1], strict=True)):
        raise ValueError(
            f"window is {window}, but for samples of shape {shape} (the last axis holds "
            "channels) one number for each other axis, at most its length, is expected"
        )

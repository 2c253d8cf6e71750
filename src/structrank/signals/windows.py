"""Fits by short windows of one signal: which windows, how much noise, and how well they predict."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d
from tqdm.auto import tqdm

from .._array import to_numpy
from ..model.problem import Problem
from ..selection.holdout import clearly_better
from .logdet import LocalFit, fit_windows

ALONG_A_LINE, IN_SPACE = (4, 8, 16, 32, 64, 128), (4, 8, 16)  # places of a window along each axis
MOST_ROWS = 800  # of the covariance of a window
MOST_WORK = 3e8  # of the equations of a series: its values, times the rows squared
SHARES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of the noise in the variance, in falling order
NEIGHBOURHOOD = 20  # samples: standard deviation of the weights with which sizes are taken
MOST_UNEVEN = 10.0  # ratio of the sizes along a series beyond which it is evened out
FAR = 1e-9  # share of the mean that counts anywhere
RISEN = 1.05  # error over the least one with the same window, from where on less noise is worse


class Setting(NamedTuple):
    """The window of a local fit, whether it goes on to the end, and the share of the noise."""

    window: tuple[int, ...]
    thorough: bool
    share: float


class LocalFits:
    """The local fits of one problem, each without some parts of the samples in turn.

    Parameters
    ----------
    problem : Problem
        With samples of the signal.
    parts : list of ndarray of bool
        Samples to be left out.
    bar : tqdm
        Progress.
    evened : bool
        Divide the signal by the square root of its size around each place (`local_scale`): its
        windows are more alike then, and errors are allowed to grow with it.

    Attributes
    ----------
    residuals : dict
        Of each setting, what it predicts for the samples left out less what they are.
    """

    def __init__(
        self, problem: Problem, parts: list[np.ndarray], bar: tqdm, *, evened: bool = False
    ) -> None:
        structure: Any = problem.structure
        self.signal_shape, self.samples = structure.signal_shape, _samples(problem)
        self.scale = local_scale(self.samples) if evened else np.ones(1)
        self.residuals: dict[Setting, np.ndarray] = {}
        places = [part.reshape(self.samples.shape) for part in parts]
        self._training = [_Training(self.samples, at, evened) for at in places]
        ends = (True,) if len(structure.lengths) == 1 else (False, True)
        for window in local_windows(structure.lengths, self.samples.shape[-1]):
            errors = [self._predict(window, thorough, bar) for thorough in ends]
            ends = (ends[int(np.argmin(errors))],)  # larger windows want the same

    def _predict(self, window: tuple[int, ...], thorough: bool, bar: tqdm) -> float:
        """Fit with less and less noise, as long as predictions get better; the least error."""
        least = np.inf
        starts: Sequence[np.ndarray | None] = [None] * len(self._training)
        for share in SHARES:
            fits = [
                fit_windows(training.samples, window, share, start=start, thorough=thorough).y
                for training, start in zip(self._training, starts, strict=True)
            ]
            residual = np.concatenate(
                [training.residual(y) for training, y in zip(self._training, fits, strict=True)]
            )
            starts = fits
            self.residuals[Setting(window, thorough, share)] = residual
            bar.update()
            error = float(np.mean(np.abs(residual)))
            least = min(least, error)
            if error > RISEN * least:
                break
        return least

    def prediction_error(self, residual: np.ndarray) -> np.ndarray:
        """Root mean square of what was left of predictions, for every value of the signal."""
        shape = self.samples.shape
        scales = [np.broadcast_to(t.scale, shape)[t.left_out] for t in self._training]
        size = np.sqrt(np.mean(np.abs(residual / np.concatenate(scales)) ** 2))
        return np.broadcast_to(size * self.scale, shape).reshape(self.signal_shape)

    def fit(self, setting: Setting) -> LocalFit:
        """The fit to all samples, in the shape of the signal."""
        start, window, thorough = None, setting.window, setting.thorough
        samples = self.samples / self.scale
        for share in SHARES[: SHARES.index(setting.share) + 1]:
            found = fit_windows(samples, window, share, start=start, thorough=thorough)
            start = found.y
        return LocalFit((self.scale * found.y).reshape(self.signal_shape), found.rank)


class _Training:
    """Samples without some of them, evened out if asked for."""

    def __init__(self, samples: np.ndarray, left_out: np.ndarray, evened: bool) -> None:
        kept = np.where(left_out, np.nan, samples)
        self.left_out, self.truth = left_out, samples[left_out]
        self.scale = local_scale(kept) if evened else np.ones(1)
        self.samples = kept / self.scale

    def residual(self, y: np.ndarray) -> np.ndarray:
        """What a fit predicts for the samples left out, less what they are."""
        return (self.scale * y)[self.left_out] - self.truth


def best_local_fits(problem: Problem, parts: list[np.ndarray], bar: tqdm) -> LocalFits:
    """The local fits, of a series that is much larger in some places than in others evened out.

    Unless it is clearly better as it is. The few large samples at the start of a decay often do
    not follow it, and would rule the fit.
    """
    fits = LocalFits(problem, parts, bar)
    if not fits.residuals or not _is_uneven(fits.samples):
        return fits
    evened = LocalFits(problem, parts, bar, evened=True)
    return fits if clearly_better(_squares(fits), _squares(evened)) else evened


def _squares(fits: LocalFits) -> np.ndarray:
    """The squared errors of the fit with the least absolute error."""
    return np.abs(min(fits.residuals.values(), key=lambda r: np.mean(np.abs(r)))) ** 2


def _samples(problem: Problem) -> np.ndarray:
    """The samples, NaN where missing; the last axis holds channels."""
    structure: Any = problem.structure
    seen = to_numpy(problem.measure.weights) > 0
    shape = (*structure.lengths, prod(structure.block or (1, 1)))
    return np.where(seen, to_numpy(problem.b), np.nan).reshape(shape)


def _is_uneven(samples: np.ndarray) -> bool:
    """Whether this is a series that is much larger in some places than in others."""
    if samples.ndim > 2:
        return False
    scale = local_scale(samples)[np.any(~np.isnan(samples), axis=-1)]
    return bool(np.max(scale) ** 2 > MOST_UNEVEN * np.min(scale) ** 2)


def local_scale(samples: np.ndarray) -> np.ndarray:
    """The square root of the size of a series around each place, the same for all channels.

    Parameters
    ----------
    samples : ndarray, shape (length, channels)
        NaN where missing.

    Returns
    -------
    ndarray, shape (length, 1)
    """
    seen = ~np.isnan(samples)
    sizes = _around(np.where(seen, np.abs(samples) ** 2, 0)) / _around(seen)
    return np.where(sizes > 0, sizes, 1.0) ** 0.25  # all or none are zero


def _around(values: np.ndarray) -> np.ndarray:
    """Mean over a neighbourhood along the first axis, and far from all values over all of it."""
    total = np.sum(values, axis=-1, keepdims=True, dtype=float)
    smooth = gaussian_filter1d(total, NEIGHBOURHOOD, axis=0, mode="nearest")
    return smooth + FAR * np.mean(total)


def local_windows(lengths: tuple[int, ...], channels: int) -> list[tuple[int, ...]]:
    """Windows to try for a signal, the smallest first; none for a very short one.

    Short enough for the covariance to be known well: there are many more windows than rows. In
    space each is at least twice the one before.
    """
    if len(lengths) == 1:
        sizes = [(w,) for w in ALONG_A_LINE if w <= lengths[0] // 4]
        values = lengths[0] * channels
        return [
            w
            for w in sizes
            if w[0] * channels <= MOST_ROWS and values * (w[0] * channels) ** 2 <= MOST_WORK
        ]
    found = {largest_window(lengths, channels, most) for most in IN_SPACE}
    windows = sorted((window for window in found if window is not None), reverse=True)
    kept = windows[:1]
    for window in windows[1:]:
        if 2 * prod(window) <= prod(kept[0]):
            kept.insert(0, window)
    return kept


def largest_window(
    lengths: tuple[int, ...], channels: int, most: int, rows: int = MOST_ROWS
) -> tuple[int, ...] | None:
    """The largest window of at most so many places along each axis, and so many values in all."""
    for size in range(most, 1, -1):
        window = tuple(min(size, length // 2) for length in lengths)
        if prod(window) * channels <= rows:
            return window
    return None

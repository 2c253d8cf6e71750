"""Fits by short windows of one signal: which windows, how much noise, and how well they predict."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from .._array import to_numpy
from ..logdet import LocalFit, fit_windows
from ..problem import Problem

ALONG_A_LINE, IN_SPACE = (4, 8, 16, 32, 64, 128), (4, 8, 16)  # places of a window along each axis
MOST_ROWS = 600  # of the covariance of a window
MOST_WORK = 3e8  # of the equations of a series: its values, times the rows squared
SHARES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of the noise in the variance, in falling order
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

    Attributes
    ----------
    residuals : dict
        Of each setting, what it predicts for the samples left out less what they are.
    """

    def __init__(self, problem: Problem, parts: list[np.ndarray], bar: tqdm) -> None:
        structure: Any = problem.structure
        self.shape = (*structure.lengths, prod(structure.block or (1, 1)))
        seen = to_numpy(problem.measure.weights) > 0
        self.samples = np.where(seen, to_numpy(problem.b), np.nan).reshape(self.shape)
        self.signal_shape = structure.signal_shape
        self.residuals: dict[Setting, np.ndarray] = {}
        places = [part.reshape(self.shape) for part in parts]
        training = [np.where(part, np.nan, self.samples) for part in places]
        windows = local_windows(structure.lengths, self.shape[-1])
        ends = (True,) if len(structure.lengths) == 1 else (False, True)
        for window, thorough in product(windows, ends):
            least = np.inf
            starts: list[np.ndarray | None] = [None] * len(parts)
            for share in SHARES:
                fits = [
                    fit_windows(samples, window, share, start=start, thorough=thorough).y
                    for samples, start in zip(training, starts, strict=True)
                ]
                residual = np.concatenate(
                    [(y - self.samples)[at] for y, at in zip(fits, places, strict=True)]
                )
                self.residuals[Setting(window, thorough, share)] = residual
                bar.update()
                error, starts = float(np.mean(np.abs(residual))), list(fits)
                least = min(least, error)
                if error > RISEN * least:
                    break

    def fit(self, setting: Setting) -> LocalFit:
        """The fit to all samples, in the shape of the signal."""
        start, window, thorough = None, setting.window, setting.thorough
        for share in SHARES[: SHARES.index(setting.share) + 1]:
            found = fit_windows(self.samples, window, share, start=start, thorough=thorough)
            start = found.y
        return LocalFit(found.y.reshape(self.signal_shape), found.rank)


def local_windows(lengths: tuple[int, ...], channels: int) -> list[tuple[int, ...]]:
    """Windows to try for a signal, the smallest first; none for a very short one.

    Short enough for the covariance to be known well: there are many more windows than rows.
    """
    if len(lengths) == 1:
        sizes = [(w,) for w in ALONG_A_LINE if w <= lengths[0] // 4]
        values = lengths[0] * channels
        return [
            w
            for w in sizes
            if w[0] * channels <= MOST_ROWS and values * (w[0] * channels) ** 2 <= MOST_WORK
        ]
    windows = [largest_window(lengths, channels, most) for most in IN_SPACE]
    return sorted({window for window in windows if window is not None})


def largest_window(
    lengths: tuple[int, ...], channels: int, most: int, rows: int = MOST_ROWS
) -> tuple[int, ...] | None:
    """The largest window of at most so many places along each axis, and so many values in all."""
    for size in range(most, 1, -1):
        window = tuple(min(size, length // 2) for length in lengths)
        if prod(window) * channels <= rows:
            return window
    return None

"""Simple rules that forecast a series: the last value, its drift, the last season, smoothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from .._array import NDArray

Rule = Callable[[NDArray, int], NDArray]


@dataclass(frozen=True)
class SmoothingGrid:
    """Constants of exponential smoothing that are tried, and averaged by how they predict.

    Attributes
    ----------
    level, slope, damping, season : tuple of float
        Shares of an error that change the level, the slope and the season, and the factor by which
        the slope shrinks per step. They cover what fits of such models find; a finer grid changes
        forecasts of 25 series by less than their averages differ.
    first : int
        Samples that the first states are fitted to, at least.
    cycles : int
        Seasons that they are fitted to, at least.
    """

    level: tuple[float, ...] = (0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)
    slope: tuple[float, ...] = (0.0, 0.03, 0.1, 0.25, 0.5)
    damping: tuple[float, ...] = (0.8, 0.9, 0.95, 0.98)
    season: tuple[float, ...] = (0.0, 0.05, 0.15, 0.4)
    first: int = 10
    cycles: int = 3

    def constants(self, period: int) -> NDArray:
        """All combinations, one per column; without a season its share is zero."""
        season = self.season if period > 1 else (0.0,)
        return np.array(list(product(self.level, self.slope, self.damping, season))).T


def simple_rules(period: int) -> dict[str, Rule]:
    """Rules that anybody would try, by their names.

    Parameters
    ----------
    period : int
        Samples of one season; 1 for none.
    """
    rules: dict[str, Rule] = {"naive": naive, "drift": drift}
    rules["damped trend"] = partial(damped_trend, period=period)
    if period > 1:
        rules["seasonal naive"] = partial(seasonal, period=period)
    return rules


def naive(y: NDArray, steps: int) -> NDArray:
    """The last value.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    steps : int
    """
    return np.full(steps, y[~np.isnan(y)][-1])


def drift(y: NDArray, steps: int) -> NDArray:
    """The line through the first and the last value.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    steps : int
    """
    at = np.flatnonzero(~np.isnan(y))
    slope = (y[at[-1]] - y[at[0]]) / max(at[-1] - at[0], 1)
    return np.asarray(y[at[-1]] + slope * (np.arange(1, steps + 1) + len(y) - 1 - at[-1]))


def seasonal(y: NDArray, steps: int, period: int) -> NDArray:
    """The last value seen at each phase; the last value of all where none was.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    steps : int
    period : int
    """
    seen = np.flatnonzero(~np.isnan(y))
    last = np.full(period, y[seen[-1]])
    last[seen % period] = y[seen]  # later values overwrite earlier ones
    return np.asarray(last[np.arange(len(y), len(y) + steps) % period])


def damped_trend(
    y: NDArray, steps: int, period: int = 1, grid: SmoothingGrid = SmoothingGrid()
) -> NDArray:
    """Exponential smoothing of level, slope and season; the slope fades.

    Smoothings with many constants predict every sample from those before. Their forecasts are
    averaged with the weights that follow from the squares of these errors.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    steps : int
    period : int
        Samples of one season; 1 for none.
    grid : SmoothingGrid

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.forecast_rules import damped_trend
    >>> damped_trend(np.tile([1.0, 5.0, 3.0], 8), 3, period=3).round(3)
    array([1., 5., 3.])
    """
    shares, slopes, damping, seasons = grid.constants(period)
    first_level, first_slope, pattern = _first_states(y, period, grid)
    level, slope = np.full(len(shares), first_level), np.full(len(shares), first_slope)
    season = np.repeat(pattern[:, None], len(shares), axis=1)
    squares = np.zeros(len(shares))
    for t, value in enumerate(y):
        slope = damping * slope
        level = level + slope
        if np.isnan(value):
            continue
        error = value - level - season[t % period]
        squares += error**2
        level = level + shares * error
        slope = slope + shares * slopes * error
        season[t % period] += seasons * (1 - shares) * error
    seen = int(np.sum(~np.isnan(y)))
    numbers = np.sum([shares < 1, slopes > 0, seasons > 0], axis=0)
    criterion = seen * np.log(squares + np.finfo(float).tiny) + 2 * numbers
    weights = np.exp((np.min(criterion) - criterion) / 2)
    ahead = np.cumsum(damping ** np.arange(1, steps + 1)[:, None], axis=0)
    found = level + ahead * slope + season[np.arange(len(y), len(y) + steps) % period]
    return np.asarray(found @ weights / np.sum(weights))


def _first_states(y: NDArray, period: int, grid: SmoothingGrid) -> tuple[float, float, NDArray]:
    """Level and slope before the first sample, and the season, by least squares.

    The season is zero at phases that are not seen, and everywhere if none is seen twice.
    """
    seen = np.flatnonzero(~np.isnan(y))[: max(grid.first, grid.cycles * period)]
    phases = seen % period
    if len(np.unique(phases)) == len(seen):
        phases = np.zeros_like(seen)
    counts = np.bincount(phases, minlength=period)
    times, values = (
        np.bincount(phases, x, minlength=period) / np.maximum(counts, 1)
        for x in (seen + 1.0, y[seen])
    )
    along = seen + 1.0 - times[phases]
    slope = along @ (y[seen] - values[phases]) / (along @ along or 1.0)
    levels = values - slope * times
    level = np.mean(levels[counts > 0])
    return float(level), float(slope), np.where(counts > 0, levels - level, 0.0)

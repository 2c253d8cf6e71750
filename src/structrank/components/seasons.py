"""Seasons of a series, found from its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from .model import Season


@dataclass(frozen=True)
class SeasonSearch:
    """Which seasons are tried; set by hand.

    Attributes
    ----------
    cycles : int
        A season is seen so many times, at least.
    longest : int
        The longest season, which bounds the time.
    seen : int
        Samples of every part of a season, at least.
    passes : int
        Passes of pattern and moving average.
    harmonics : int
        Harmonics at most, those of the largest amplitudes.
    part : float
        A part of the best period is taken instead if its gain is at least this share of the best.
    constant : float
        Squares below this share are rounding.
    """

    cycles: int = 3
    longest: int = 400
    seen: int = 2
    passes: int = 2
    harmonics: int = 12
    part: float = 0.8
    constant: float = 1e-12


@dataclass(frozen=True)
class FoundSeason:
    """A season, and how much the samples speak for it.

    Attributes
    ----------
    season : Season
    gain : float
        Twice the gain of the log-likelihood beside a moving average, less the price of the
        pattern by the Bayesian information criterion.
    """

    season: Season
    gain: float


def find_seasons(y: NDArray, search: SeasonSearch = SeasonSearch()) -> list[FoundSeason]:
    """Seasons that a series may have, the most likely first.

    A moving average over one period is free of the season. What is left is averaged over equal
    phases: the classical decomposition, for every period.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    search : SeasonSearch

    Returns
    -------
    list of FoundSeason
        Without those that show no harmonic at all.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.seasons import find_seasons
    >>> y = np.arange(60) % 7 + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> find_seasons(y)[0].season.period
    7
    """
    found = []
    for period in range(2, min(len(y) // search.cycles, search.longest) + 1):
        candidate = _decomposed(y, period, search)
        if candidate is not None:
            found.append(candidate)
    found.sort(key=lambda candidate: -candidate.gain)
    parts = [
        part
        for part in found
        if found[0].season.period % part.season.period == 0
        and part.gain >= search.part * found[0].gain > 0
    ]
    first = min(parts, key=lambda part: part.season.period, default=None)
    return found if first is None else [first, *(f for f in found if f is not first)]


def _decomposed(y: NDArray, period: int, search: SeasonSearch) -> FoundSeason | None:
    """Decompose a series with one period."""
    seen, phase = ~np.isnan(y), np.arange(len(y)) % period
    count = np.bincount(phase[seen], minlength=period)
    if np.min(count) < search.seen:
        return None
    pattern = np.zeros(period)
    for _ in range(search.passes):
        rest = y - _moving_average(y - pattern[phase], period)
        means = np.bincount(phase[seen], rest[seen], minlength=period) / count
        pattern = means - np.mean(means)
    samples = int(np.sum(count))
    before = float(np.sum((y - _moving_average(y, period))[seen] ** 2))
    if before <= search.constant * float(np.sum(y[seen] ** 2)):
        return None
    after = max(float(np.sum((rest - pattern[phase])[seen] ** 2)), search.constant * before)
    price = np.log(samples)
    gain = samples * np.log(before / after) - (period - 1) * price
    power = np.abs(np.fft.rfft(pattern) / period) ** 2 * samples * samples / after
    largest = np.argsort(-power[1:])[: search.harmonics] + 1
    harmonics = tuple(sorted(int(k) for k in largest if power[k] > price))
    return FoundSeason(Season(period, harmonics), float(gain)) if harmonics else None


def _moving_average(y: NDArray, period: int) -> NDArray:
    """Centred average over one period, of the samples that are seen."""
    weights = np.ones(period + 1 - period % 2)
    if period % 2 == 0:
        weights[[0, -1]] = 0.5
    seen = ~np.isnan(y)
    total, count = (np.convolve(x, weights, "same") for x in (np.where(seen, y, 0.0), 1.0 * seen))
    return np.asarray(total / np.maximum(count, 0.5))

"""Seasons of a series, found from its samples."""

from __future__ import annotations

from collections.abc import Sequence
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
    tried : int
        Harmonics of a known season that are tried at most, which bounds the time.
    samples_per_column : int
        Samples for each number of such a fit, at least.
    """

    cycles: int = 3
    longest: int = 400
    seen: int = 2
    passes: int = 2
    harmonics: int = 12
    part: float = 0.8
    constant: float = 1e-12
    tried: int = 60
    samples_per_column: int = 3


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


def known_seasons(
    y: NDArray, periods: Sequence[float], search: SeasonSearch = SeasonSearch()
) -> tuple[Season, ...]:
    """Harmonics of known seasons that a series shows.

    All harmonics of all seasons are fitted together to what a moving average over the longest
    season leaves. A harmonic that two seasons have belongs to the shorter one. The first harmonic
    of a season is always kept, unless a shorter one has it.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    periods : sequence of float
        In samples.
    search : SeasonSearch

    Returns
    -------
    tuple of Season
        From short to long.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.seasons import known_seasons
    >>> t = np.arange(120)
    >>> y = np.cos(2 * np.pi * t / 4) + np.cos(2 * np.pi * t * 3 / 20)
    >>> known_seasons(y + 0.1 * np.random.default_rng(0).standard_normal(120), [20, 4])
    (Season(period=4, harmonics=(1,)), Season(period=20, harmonics=(1, 3)))
    """
    seen, t = ~np.isnan(y), np.arange(len(y))
    lines = _lines(sorted(periods), len(y), int(np.sum(seen)), search)
    angles = 2 * np.pi * np.outer(t, [harmonic / period for period, harmonic in lines])
    columns = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    pattern = np.zeros(len(y))
    for _ in range(search.passes):
        rest = y - _moving_average(y - pattern, round(max(periods)))
        found = np.linalg.lstsq(columns[seen], rest[seen], rcond=1e-6)[0]
        pattern = columns @ found
    samples = int(np.sum(seen))
    noise = float(np.mean((rest - pattern)[seen] ** 2)) + search.constant
    power = samples / 2 * np.sum(found.reshape(2, -1) ** 2, axis=0) / noise
    seasons = []
    for period in sorted(periods):
        own = sorted(
            (k for k, line in enumerate(lines) if line[0] == period), key=lambda k: -power[k]
        )
        kept = {lines[k][1] for k in own[: search.harmonics] if power[k] > 2 * np.log(samples)}
        kept |= {lines[k][1] for k in own if lines[k][1] == 1}
        if kept:
            seasons.append(Season(period, tuple(sorted(kept))))
    return tuple(seasons)


def _lines(
    periods: Sequence[float], length: int, samples: int, search: SeasonSearch
) -> list[tuple[float, int]]:
    """Periods and harmonics of the lines of seasons, without those that are not distinguishable."""
    most = samples // (2 * search.samples_per_column * len(periods))
    lines: list[tuple[float, int]] = []
    for period in periods:
        for harmonic in range(1, max(1, min(int(period / 2), search.tried, most)) + 1):
            apart = (abs(harmonic / period - other / one) for one, other in lines)
            if min(apart, default=1.0) > 0.5 / length:
                lines.append((period, harmonic))
    return lines


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

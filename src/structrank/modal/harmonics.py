"""Which oscillations belong together: trends, seasons with their harmonics, single oscillations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from ..io.sampling import Sampling

TREND, SEASON, OSCILLATION = "trend", "season", "oscillation"


@dataclass(frozen=True)
class Grouping:
    """When oscillations belong together.

    Attributes
    ----------
    trend_cycles : float
        An oscillation with fewer cycles in the record belongs to the trend. Mathematics: less than
        one cycle does not repeat.
    season_cycles : float
        Fewest cycles of a season in the record. Taste: with fewer, harmonics are met by chance.
    deviations : float
        Largest distance from a multiple of the fundamental, in standard errors. Taste.
    drift : float
        Distance that is always allowed, in cycles over the record. Taste: the phases then differ by
        less than a tenth of a turn at the end.
    most : int
        Highest harmonic. Taste: higher ones are met by chance.
    """

    trend_cycles: float = 1.0
    season_cycles: float = 2.0
    deviations: float = 4.0
    drift: float = 0.1
    most: int = 20


@dataclass(frozen=True, eq=False)
class OscillationGroup:
    """Oscillations that belong together.

    Attributes
    ----------
    kind : {"trend", "season", "oscillation"}
    frequency : float
        Of the fundamental, in cycles per sample; zero for the trend.
    rows : list of int
        The oscillations, by increasing frequency.
    """

    kind: str
    frequency: float
    rows: list[int]


def group_oscillations(
    frequencies: NDArray,
    errors: NDArray | None,
    length: int,
    sampling: Sampling | None = None,
    grouping: Grouping = Grouping(),
) -> list[OscillationGroup]:
    """Find the trend, seasons and single oscillations of a series.

    A season is an oscillation with some of its harmonics, or one whose period is a year, a week
    or a day. The fundamental with most harmonics is taken first.

    Parameters
    ----------
    frequencies : ndarray, shape (r,)
        Cycles per sample, not negative.
    errors : ndarray or None
        Their standard errors; inf if unknown.
    length : int
        Number of samples.
    sampling : Sampling, optional
        Tells which periods are a year, a week or a day.
    grouping : Grouping

    Returns
    -------
    list of OscillationGroup
        The trend first, then by increasing frequency.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.modal.harmonics import group_oscillations
    >>> found = group_oscillations(np.array([0.0, 0.1, 0.23, 0.2]), None, 200)
    >>> [(group.kind, group.rows) for group in found]
    [('trend', [0]), ('season', [1, 3]), ('oscillation', [2])]
    """
    f = np.asarray(frequencies, dtype=float)
    spread = np.zeros(len(f)) if errors is None else np.where(np.isfinite(errors), errors, 0.0)
    slow = f * length < grouping.trend_cycles
    groups = [OscillationGroup(TREND, 0.0, _sorted(np.flatnonzero(slow), f))] if slow.any() else []
    left = np.flatnonzero(~slow)
    calendar = calendar_frequencies(sampling)
    while len(left):
        starts = [(f[k], spread[k], 2) for k in left if f[k] * length >= grouping.season_cycles]
        starts += [(c, 0.0, 1) for c in calendar if c * length >= grouping.season_cycles]
        members = [
            (_harmonics(start, error, f[left], spread[left], length, grouping), fewest, start)
            for start, error, fewest in starts
        ]
        seasons = [(which, start) for which, few, start in members if which.sum() >= few]
        if not seasons:
            break
        which, start = max(seasons, key=lambda season: (season[0].sum(), season[1] in calendar))
        groups.append(OscillationGroup(SEASON, float(start), _sorted(left[which], f)))
        left = left[~which]
    groups += [OscillationGroup(OSCILLATION, float(f[k]), [int(k)]) for k in left]
    return sorted(groups, key=lambda group: group.frequency)


def calendar_frequencies(sampling: Sampling | None) -> list[float]:
    """Cycles per sample of a year, a week and a day, where the calendar is known.

    Parameters
    ----------
    sampling : Sampling or None

    Examples
    --------
    >>> from structrank.io.sampling import Sampling
    >>> from structrank.modal.harmonics import calendar_frequencies
    >>> [round(f, 6) for f in calendar_frequencies(Sampling.of_seconds(86400))]
    [0.002738, 0.142857]
    """
    days = None if sampling is None else sampling.days
    if days is None:
        return []
    periods = (Sampling.year_days, 7.0, 1.0)
    return [days / period for period in periods if days / period <= 0.5]


def _harmonics(
    start: float,
    error: float,
    f: NDArray,
    spread: NDArray,
    length: int,
    grouping: Grouping,
) -> NDArray:
    """Which frequencies are multiples of a fundamental."""
    k = np.clip(np.round(f / start), 1, grouping.most)
    allowed = grouping.deviations * np.hypot(spread, k * error)
    # Half of the distance between multiples is met by all frequencies.
    allowed = np.minimum(np.maximum(allowed, grouping.drift / length), 0.1 * start)
    return np.asarray(np.abs(f - k * start) <= allowed)


def _sorted(rows: Sequence[int] | NDArray, f: NDArray) -> list[int]:
    return sorted((int(k) for k in rows), key=lambda k: f[k])

"""Which components a series needs: a few structures, from cheap to costly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._array import NDArray
from .._watch import time_is_up
from .autoregression import burg
from .likelihood import ComponentFit, LikelihoodSearch, most_likely
from .mixture import FittedSeries
from .model import Components, Season
from .seasons import SeasonSearch, find_seasons, known_seasons

Seasons = tuple[Season, ...]


@dataclass(frozen=True)
class ComponentSearch:
    """What is tried; set by hand on simulated and real series.

    Attributes
    ----------
    stretch : int
        Longest stretch of a series that parameters are fitted to, which bounds the time.
    cycles : int
        Known seasons that fit into that stretch, at least.
    change : float
        By how much the log-likelihood of one sample is less in the whole series than in that
        stretch, at most: else parameters are fitted to another stretch as well. Chance changes it
        by a tenth of that, and noise of a quarter more by all of it.
    doubtful, certain : float
        Gain of a season from which on it is tried, and from which on nothing else is.
    most_order : int
        Highest order of the autoregressive part.
    samples_per_order : int
        Samples for each order, at least.
    steps : int
        Iterations of a fit with a longer autoregressive part, which has many parameters, and of the
        second start of a trend, unless it is better than the first by then. With 40 for the former,
        series of 300 to 720 samples take half as long again, with 1.01 (single samples) and 0.97
        (blocks) of the errors in gaps (six series).
    passes : int
        Times that gaps are filled and the autoregressive part is found anew.
    slack : float
        Fits are kept whose criterion exceeds the best one by less.
    starts : dict of str to float
        Logarithms of variances to start from, for a series of deviation one.
    """

    stretch: int = 1000
    cycles: int = 3
    change: float = 0.2
    doubtful: float = -6.0
    certain: float = 20.0
    most_order: int = 20
    samples_per_order: int = 8
    steps: int = 12
    passes: int = 2
    slack: float = 10.0
    starts: dict[str, float] = field(
        default_factory=lambda: {
            "white": -2.0,
            "level": -3.0,
            "slope": -9.0,
            "season": -8.0,
            "second season": -8.0,
            "autoregression": -1.5,
            "pacf 1": 1.0,
        }
    )


def fit_series(
    y: NDArray,
    search: ComponentSearch = ComponentSearch(),
    *,
    periods: Sequence[float] = (),
    noise: NDArray | None = None,
) -> FittedSeries:
    """Find the components of a series with gaps.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    search : ComponentSearch
    periods : sequence of float
        Known seasons, at most two, in samples. Default: search for one. Fits without them compete,
        as a series may not show the season that its calendar suggests.
    noise : ndarray, optional
        Standard deviation of the noise of every sample. Default: one that is fitted for all.

    Returns
    -------
    FittedSeries

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components import fit_series
    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal(100))
    >>> fit_series(walk).fits[0].components.season is None
    True
    """
    offset, scale = float(np.nanmean(y)), float(np.nanstd(y)) or 1.0
    whole = _Series((y - offset) / scale, None if noise is None else noise / scale)
    known = known_seasons(whole.y, periods) if periods else None
    part = fitted_part(y, periods, search)
    series = whole.part(part)
    tried = _seasons(series.y, search) if known is None else [known, ()]
    fits = _fits_with(series, tried, search)
    if len(series.y) < len(y):
        fits = _over_all(whole, part, fits, tried, search)
    fits.sort(key=lambda fit: fit.information)
    kept = [fit for fit in fits if fit.information <= fits[0].information + search.slack]
    return FittedSeries(kept, offset, scale, noise=whole.noise)


@dataclass(frozen=True, eq=False)
class _Series:
    """A series of mean zero and deviation one, and the noise of its samples if it is known."""

    y: NDArray
    noise: NDArray | None

    def part(self, part: slice) -> _Series:
        """A stretch of it, which keeps the offset and the scale of the whole."""
        return _Series(self.y[part], None if self.noise is None else self.noise[part])

    def fitted(
        self,
        components: Components,
        start: dict[str, float],
        search: LikelihoodSearch = LikelihoodSearch(),
    ) -> ComponentFit:
        return most_likely(components, self.y, start, search, noise=self.noise)

    def components(self, seasons: Seasons, **parts: Any) -> Components:
        """Components of this series with one season, two, or none."""
        season, second = (*seasons, None, None)[:2]
        measured = self.noise is not None
        return Components(len(self.y), season=season, second=second, measured=measured, **parts)


def fitted_part(
    y: NDArray, periods: Sequence[float] = (), search: ComponentSearch = ComponentSearch()
) -> slice:
    """The stretch of a series that parameters are fitted to: the one with most samples.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    periods : sequence of float
        Known seasons, in samples.
    search : ComponentSearch
    """
    longest = max(search.stretch, round(search.cycles * max(periods, default=0)))
    return stretch_with_most(~np.isnan(y), longest)


def stretch_with_most(seen: NDArray, longest: int) -> slice:
    """The stretch of at most so many times with most samples.

    Parameters
    ----------
    seen : ndarray
        Number of samples at every time.
    longest : int
    """
    if len(seen) <= longest:
        return slice(None)
    before = np.concatenate([[0], np.cumsum(seen)])
    first = int(np.argmax(before[longest:] - before[:-longest]))
    return slice(first, first + longest)


def _seasons(y: NDArray, search: ComponentSearch) -> list[Seasons]:
    """Seasons to try; none of them, one, or the same with twice the period."""
    found = find_seasons(y, SeasonSearch())
    if not found or found[0].gain < search.doubtful:
        return [()]
    best = found[0].season
    if found[0].gain < search.certain:
        return [(), (best,)]
    double = [f.season for f in found if f.season.period == 2 * best.period and f.gain > 0]
    if double and any(harmonic % 2 for harmonic in double[0].harmonics):
        return [(best,), (double[0],)]
    return [(best,)]


def _over_all(
    whole: _Series,
    part: slice,
    fits: list[ComponentFit],
    tried: Sequence[Seasons],
    search: ComponentSearch,
) -> list[ComponentFit]:
    """Fits to a stretch with their likelihoods for the series; of another stretch if they differ.

    What is likely for a stretch may not be for the series: a straight line that bends later.
    """
    found = [fit.over(whole.y, whole.noise) for fit in fits]
    differs = max(map(_of_one, found)) < max(map(_of_one, fits)) - search.change
    if differs and not time_is_up():
        beyond = ~np.isnan(whole.y)
        beyond[part] = False
        other = whole.part(stretch_with_most(beyond, part.stop - part.start))
        found += [fit.over(whole.y, whole.noise) for fit in _fits_with(other, tried, search)]
    return found


def _of_one(fit: ComponentFit) -> float:
    """The log-likelihood of one sample."""
    return fit.loglikelihood / max(fit.seen, 1)


def _fits_with(
    series: _Series, tried: Sequence[Seasons], search: ComponentSearch
) -> list[ComponentFit]:
    """The fits with each of the seasons that are tried; at least one until time is up."""
    fits: list[ComponentFit] = []
    for fit in (fit for seasons in tried for fit in _fits(series, seasons, search)):
        fits.append(fit)
        if time_is_up():
            break
    return fits


def _fits(series: _Series, seasons: Seasons, search: ComponentSearch) -> Iterator[ComponentFit]:
    """Fit trends with a short autoregressive part, and a longer one with and without a trend.

    The likelihood of trends often has two maxima, so they start rough and smooth. The second fit
    ends after a few steps unless it is better than the first by then.
    """
    trend = series.components(seasons, slope=True, order=1)
    seasonal = tuple(trend.seasons)
    trend = replace(trend, drifts=("level", "slope", *seasonal))
    rough = series.fitted(trend, search.starts)
    yield rough
    start = {**search.starts, "white": -6.0, "level": -6.0, "slope": -4.0}
    few = LikelihoodSearch(steps=search.steps)
    smooth = series.fitted(trend, start, few)
    if smooth.loglikelihood > rough.loglikelihood:
        smooth = series.fitted(smooth.components, smooth.values)
    yield smooth
    best = min(rough, smooth, key=lambda fit: fit.information)
    begin = _autoregressive(series, best, seasons, search)
    longer = series.fitted(begin.components, begin.values, few)
    yield longer
    level = replace(begin.components, drifts=("level", *seasonal))
    values = {**search.starts, **begin.values, **longer.values, "level": -7.0}
    yield series.fitted(level, values, few)


def _autoregressive(
    series: _Series, fit: ComponentFit, seasons: Seasons, search: ComponentSearch
) -> ComponentFit:
    """Start of a longer autoregressive part: Burg's method on the series with its gaps filled."""
    samples = int(np.sum(~np.isnan(series.y)))
    most = int(min(search.most_order, max(samples // search.samples_per_order, 2)))
    orders = np.arange(most + 1)
    price = 2 * orders * samples / np.maximum(samples - orders - 2, 1)
    for _ in range(search.passes):
        rest = fit.given(series.y, series.noise).filled_rest()
        partial, errors = burg(rest, most)
        order = max(int(np.argmin(samples * np.log(np.maximum(errors, 1e-12)) + price)), 2)
        components = series.components(seasons, order=order)
        components = replace(components, drifts=tuple(components.seasons))
        values = {**search.starts, "white": -7.0, "autoregression": np.log(np.var(rest) + 1e-6)}
        values |= {f"pacf {k + 1}": np.arctanh(0.995 * r) for k, r in enumerate(partial[:order])}
        parameters = np.array([values[name] for name in components.names])
        fit = ComponentFit(components, parameters, -np.inf, samples)
    return fit

"""Real series and what is removed from them, for `benchmarks.series`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[2] / "shared" / "data" / "series"


@dataclass(frozen=True)
class Removal:
    """What is removed from a series.

    Attributes
    ----------
    random : float
        Share of single samples.
    blocks, block : float
        Share of samples in blocks, and length of one block over that of the series.
    shortest_block : int
        Smallest length of a block.
    kept : int
        Samples at each end that are never removed.
    future : float
        Share to forecast where there is no season.
    seasons : int
        Seasons to forecast where there is one.
    shortest_past : float
        Smallest share of the series before a forecast.
    """

    random: float = 0.3
    blocks: float = 0.2
    block: float = 0.05
    shortest_block: int = 3
    kept: int = 2
    future: float = 0.15
    seasons: int = 2
    shortest_past: float = 0.4


@dataclass(frozen=True)
class Series:
    """A series, and the season that a person would name; 1 for none."""

    name: str
    values: np.ndarray
    season: int


@dataclass(frozen=True)
class Case:
    """A series with some of its samples removed.

    Attributes
    ----------
    task : {"random", "blocks", "forecast"}
    series : Series
    draw : int
    samples : ndarray
        NaN where removed; for a forecast, the samples before it.
    truth : ndarray
        The values that were removed, in their order.
    removed : ndarray of bool
        Where they were; for a forecast, the steps with a known value.
    scale : float
        What errors are divided by: for gaps the deviation of the removed values from the mean of
        the others, for forecasts the mean error of the seasonal naive method in the past.
    """

    task: str
    series: Series
    draw: int
    samples: np.ndarray
    truth: np.ndarray
    removed: np.ndarray
    scale: float

    @property
    def key(self) -> str:
        return f"{self.task} {self.series.name} {self.draw}"

    def error(self, values: np.ndarray) -> float:
        """Return the error of values for the whole series, or for all steps of a forecast."""
        difference = np.asarray(values, dtype=float)[self.removed] - self.truth
        if self.task == "forecast":
            return float(np.mean(np.abs(difference)) / self.scale)
        return float(np.sqrt(np.mean(difference**2)) / self.scale)


def read_all(data: Path) -> Iterator[Series]:
    """Yield the series of a folder with a manifest, if it is there, CO2 and sunspots."""
    import statsmodels.api as sm

    manifest = data / "MANIFEST.md"
    for line in manifest.read_text().splitlines() if manifest.exists() else []:
        found = re.match(r"\| (\S+)\.csv \|[^|]*\| (\d+) \|", line)
        if found:
            values = np.genfromtxt(data / f"{found[1]}.csv", skip_header=1, delimiter=",")
            yield Series(found[1], values, int(found[2]))
    weekly = sm.datasets.co2.load_pandas().data["co2"]
    yield Series("co2", weekly.resample("MS").mean().to_numpy(), 12)
    yearly = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    yield Series("sunspots", yearly.to_numpy(), 1)


def with_gaps(series: Series, task: str, draw: int, how: Removal = Removal()) -> Case:
    """Remove single samples, or blocks of them."""
    n = len(series.values)
    rng = np.random.default_rng([draw, n])
    removed = np.zeros(n, dtype=bool)
    if task == "random":
        inner = np.arange(how.kept, n - how.kept)
        removed[rng.choice(inner, int(how.random * n), replace=False)] = True
    else:
        width = max(how.shortest_block, round(how.block * n))
        while np.count_nonzero(removed) < how.blocks * n:
            first = rng.integers(how.kept, n - how.kept - width + 1)
            removed[first : first + width] = True
    samples = np.where(removed, np.nan, series.values)
    removed &= ~np.isnan(series.values)
    truth = series.values[removed]
    scale = float(np.sqrt(np.mean((truth - np.nanmean(samples)) ** 2)))
    return Case(task, series, draw, samples, truth, removed, scale)


def before(series: Series, draw: int, how: Removal = Removal()) -> Case | None:
    """Return a series before one of its forecasts; None if too little is left of it."""
    n, season = len(series.values), series.season
    ahead = how.seasons * season if season > 1 else max(int(how.future * n), 1)
    end = n - (draw + 1) * ahead
    if end < how.shortest_past * n:
        return None
    past, future = series.values[:end], series.values[end : end + ahead]
    steps = np.abs(past[season:] - past[:-season])
    seen = ~np.isnan(future)
    return Case("forecast", series, draw, past, future[seen], seen, float(np.nanmean(steps)))


def cases(series: Series, task: str, draws: int) -> list[Case]:
    """Return the cases of a series for one task."""
    if task == "forecast":
        found = [before(series, draw) for draw in range(draws)]
        return [case for case in found if case is not None]
    return [with_gaps(series, task, draw) for draw in range(draws)]

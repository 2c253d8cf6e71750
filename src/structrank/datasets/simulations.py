"""Simulated signals whose truth is known: series, decays, seismic traces, a table of sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray
from .._checks import not_negative, positive_int, random_generator
from ..io.containers import required_pandas


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated record.

    Attributes
    ----------
    samples : ndarray
        With noise.
    truth : ndarray
        Without noise.
    dt : float or None
        Seconds between samples.
    about : dict
        What it was made of.

    Examples
    --------
    >>> from structrank.datasets import decay
    >>> decay(64, rng=1)
    Simulation(64 of complex128: frequencies, dampings, amplitudes)
    """

    samples: NDArray
    truth: NDArray
    dt: float | None
    about: dict[str, Any]

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.samples.shape))
        return f"Simulation({shape} of {self.samples.dtype}: {', '.join(self.about)})"


def season_with_trend(
    length: int = 240,
    period: int = 12,
    *,
    noise: float = 0.3,
    rng: int | np.random.Generator = 0,
) -> Simulation:
    """A series with a trend, a season with two harmonics, and white noise: sales, for example.

    Parameters
    ----------
    length : int
        Number of samples.
    period : int
        Samples of one season.
    noise : float
        Standard deviation of the noise.
    rng : int or numpy.random.Generator
        Seed for the phases and the noise.

    Returns
    -------
    Simulation
        `about` has the parts of the truth, "trend" and "season".

    Examples
    --------
    >>> from structrank.datasets import season_with_trend
    >>> sales = season_with_trend(120, rng=1)
    >>> sales.samples.shape, list(sales.about)
    ((120,), ['trend', 'season'])
    """
    rng, t = random_generator(rng), np.arange(positive_int(length, "length"))
    turns = 2 * np.pi * t / positive_int(period, "period")
    phases = rng.uniform(0, 2 * np.pi, 2)
    trend = 10 + 0.02 * t + 1.5 * np.exp(-t / 60)
    season = 2 * np.cos(turns + phases[0]) + 0.8 * np.cos(2 * turns + phases[1])
    return _noisy(trend + season, noise, rng, None, {"trend": trend, "season": season})


def decay(
    length: int = 256,
    lines: int = 5,
    *,
    noise: float = 0.02,
    dt: float = 1e-3,
    rng: int | np.random.Generator = 0,
) -> Simulation:
    """A complex decay of several lines with noise, as of nuclear magnetic resonance.

    Parameters
    ----------
    length : int
        Number of samples.
    lines : int
        Number of damped sinusoids.
    noise : float
        Standard deviation of the noise, relative to an amplitude of one.
    dt : float
        Seconds between samples.
    rng : int or numpy.random.Generator
        Seed for the lines and the noise.

    Returns
    -------
    Simulation
        `about` has frequencies (cycles per sample), dampings (per sample) and amplitudes.

    Examples
    --------
    >>> from structrank import frequencies
    >>> from structrank.datasets import decay
    >>> len(frequencies(decay(128, lines=2, rng=3).samples))
    2
    """
    rng, t = random_generator(rng), np.arange(positive_int(length, "length"))
    count = positive_int(lines, "lines")
    places = (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count - 0.5
    dampings = rng.uniform(1.0, 4.0, count) / len(t)
    amplitudes = rng.uniform(0.4, 1.0, count) * np.exp(0.3j)
    truth = np.exp(np.outer(t, 2j * np.pi * places - dampings)) @ amplitudes
    about = {"frequencies": places, "dampings": dampings, "amplitudes": amplitudes}
    return _noisy(truth, noise, rng, dt, about)


def seismic_gather(
    traces: int = 60,
    samples: int = 400,
    *,
    noise: float = 0.1,
    dt: float = 0.004,
    rng: int | np.random.Generator = 0,
) -> Simulation:
    """Seismic traces: reflections from seven layers, of hyperbolic shape, with noise.

    Parameters
    ----------
    traces : int
        Number of traces, 25 m apart.
    samples : int
        Samples of each trace.
    noise : float
        Standard deviation of the noise, relative to that of the reflections.
    dt : float
        Seconds between samples.
    rng : int or numpy.random.Generator
        Seed for the layers and the noise.

    Returns
    -------
    Simulation
        Of shape (traces, samples). `about` has the times (s) at which the layers reflect without
        offset, and their velocities (m/s).

    Examples
    --------
    >>> from structrank.datasets import seismic_gather
    >>> seismic_gather(20, 100).samples.shape
    (20, 100)
    """
    rng = random_generator(rng)
    offsets = 25.0 * np.arange(positive_int(traces, "traces"))
    t = dt * np.arange(positive_int(samples, "samples"))
    layers = 7
    times = np.sort(rng.uniform(0.05, 0.95, layers)) * t[-1]
    velocities = np.linspace(1600, 3200, layers)
    sizes = rng.choice([-1.0, 1.0], layers) * rng.uniform(0.3, 1.0, layers)
    arrivals = np.sqrt(times**2 + (offsets[:, None] / velocities) ** 2)
    peak = np.pi * 25.0  # a Ricker wavelet of 25 Hz
    squares = (peak * (t[:, None, None] - arrivals)) ** 2
    truth = ((1 - 2 * squares) * np.exp(-squares) @ sizes).T
    level = noise * float(np.std(truth))
    return _noisy(truth, level, rng, dt, {"times": times, "velocities": velocities})


def sensor_table(days: int = 28, *, rng: int | np.random.Generator = 0) -> Any:
    """A table of three sensors, one row per hour, with gaps: temperature, humidity, pressure.

    Parameters
    ----------
    days : int
    rng : int or numpy.random.Generator
        Seed for the weather and the gaps.

    Returns
    -------
    pandas.DataFrame
        With an index of times; NaN where a sensor failed, for hours and up to a day.

    Examples
    --------
    >>> from structrank.datasets import sensor_table
    >>> table = sensor_table(7)
    >>> table.shape, bool(table.isna().any().all())
    ((168, 3), True)
    """
    pd = required_pandas()

    rng, t = random_generator(rng), np.arange(24 * positive_int(days, "days"))
    day = 2 * np.pi * t / 24
    slow = np.cos(2 * np.pi * t / 200 + rng.uniform(0, 6))
    values = {
        "temperature": 14 + 5 * np.cos(day - 3.9) + 1.2 * np.cos(2 * day) + 2 * slow,
        "humidity": 65 - 15 * np.cos(day - 3.9) - 6 * slow,
        "pressure": 1013 + 6 * slow + 0.8 * np.cos(2 * day + 1),
    }
    for name, level in zip(values, (0.3, 1.5, 0.3), strict=True):
        column = values[name] + level * rng.standard_normal(len(t))
        for length in (2, 5, 24):
            first = int(rng.integers(0, len(t) - length))
            column[first : first + length] = np.nan
        values[name] = column.round(2)
    index = pd.date_range("2024-06-01", periods=len(t), freq="h", name="time")
    return pd.DataFrame(values, index=index)


def _noisy(
    truth: NDArray,
    noise: float,
    rng: np.random.Generator,
    dt: float | None,
    about: dict[str, Any],
) -> Simulation:
    """A truth with white noise; both parts of a complex one have the same share of it."""
    not_negative(noise, "noise")
    drawn = rng.standard_normal(truth.shape)
    if np.iscomplexobj(truth):
        drawn = (drawn + 1j * rng.standard_normal(truth.shape)) / np.sqrt(2)
    return Simulation(truth + noise * drawn, truth, dt, about)

"""The time between samples, in units that people read: seconds and Hz, days, years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .local_times import daily_clock
from .regular import is_monthly, uneven_place
from .saved_results import savable

DAY_SECONDS = 86400.0
YEAR_DAYS = 365.2425  # mean year of the calendar
MONTHS_OF_YEAR = 12
LONGEST_MONTH = 31
SHORTEST_STEP = 1e-100  # seconds; rates far beyond that overflow
IN_SECONDS = {
    **{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0},
    **{"min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0},
    **{"d": DAY_SECONDS, "day": DAY_SECONDS, "yr": YEAR_DAYS * DAY_SECONDS},
    **{"y": YEAR_DAYS * DAY_SECONDS, "year": YEAR_DAYS * DAY_SECONDS},
}
BRACKETS = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$")


@savable()
@dataclass(frozen=True)
class Sampling:
    """How far samples are apart, in a unit for times and in one for frequencies.

    Attributes
    ----------
    step : float
        Time between samples, in `time`.
    time : str
        Unit of periods and damping times: "s", "h", "days", "years", or another one.
    rate : float
        Samples per unit of `frequency`: multiplies frequencies in cycles per sample.
    frequency : str
        Unit of frequencies: "Hz", "per day", "per year", or another one.

    Examples
    --------
    >>> from structrank.io.sampling import Sampling
    >>> Sampling.of_seconds(0.01)
    Sampling(step=0.01, time='s', rate=100.0, frequency='Hz')
    >>> Sampling.of_seconds(7 * 86400).frequency
    'per year'
    """

    step: float
    time: str
    rate: float
    frequency: str
    year_days: ClassVar[float] = YEAR_DAYS

    @property
    def days(self) -> float | None:
        """Days between samples; None if the unit is not one of time."""
        units = {"s": 1 / DAY_SECONDS, "h": 1 / 24, "days": 1.0, "years": YEAR_DAYS}
        return self.step * units[self.time] if self.time in units else None

    @property
    def seconds(self) -> float | None:
        """Seconds between samples; None if the unit is not one of time."""
        units = {"s": "s", "h": "h", "days": "day", "years": "year"}
        return self.step * IN_SECONDS[units[self.time]] if self.time in units else None

    def times(self, count: int) -> np.ndarray:
        """Times of so many samples, from zero.

        Parameters
        ----------
        count : int
        """
        return self.step * np.arange(count)

    @classmethod
    def of_seconds(cls, step: float) -> Sampling:
        """Sampling with a step in seconds, in units that suit its size.

        Parameters
        ----------
        step : float
        """
        days = step / DAY_SECONDS
        if step < IN_SECONDS["min"]:
            return cls(step, "s", 1 / step, "Hz")
        if days < 1:
            return cls(step / IN_SECONDS["h"], "h", 1 / days, "per day")
        if days < LONGEST_MONTH - 3:
            return cls(days, "days", YEAR_DAYS / days, "per year")
        return cls(days / YEAR_DAYS, "years", YEAR_DAYS / days, "per year")


def sampling_of(samples: Any, axis: int = 0, dt: float | None = None) -> Sampling | None:
    """Read the time between samples from an index, or take the one that is given.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
        Its index is regular. It holds times, or numbers whose name ends in a unit in brackets, such
        as "time (ms)"; the coordinate of a DataArray may have the attribute `units`.
    axis : int
        The axis along which samples follow each other.
    dt : float, optional
        Seconds between samples, instead of those of the index.

    Returns
    -------
    Sampling or None
        None if nothing is known, or if the index follows a season, such as May to November.

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.sampling import sampling_of
    >>> found = sampling_of(pd.Series(0.0, pd.Index([0.0, 0.5, 1.0], name="time (ms)")))
    >>> print(f"{found.rate:g} {found.frequency}")
    2000 Hz
    >>> months = pd.period_range("2024-01", periods=24, freq="M")
    >>> round(sampling_of(pd.Series(0.0, months)).rate, 12)
    12.0
    """
    if dt is not None:
        step = checked_dt(dt)
        return Sampling(step, "s", 1 / step, "Hz")
    index, unit = _index(samples, axis)
    if index is None or len(index) < 2:
        return None
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    kind = index.dtype.kind
    if kind in "mM":
        return _of_times(index)
    if kind not in "iuf" or not unit:
        return None
    step = abs(float(index[-1]) - float(index[0])) / (len(index) - 1)
    known = IN_SECONDS.get(unit, IN_SECONDS.get(unit.lower().removesuffix("s")))
    if known is not None:
        return Sampling.of_seconds(step * known)
    return Sampling(step, unit, 1 / step, f"per {unit}")


def checked_dt(dt: Any) -> float:
    """The time between samples, or an error unless it is positive and of a usual size.

    Parameters
    ----------
    dt : float
    """
    number = isinstance(dt, (int, float, np.number))
    if not (number and SHORTEST_STEP <= dt <= 1 / SHORTEST_STEP):
        raise ValueError(
            f"dt is {dt!r}, but the seconds between samples, from {SHORTEST_STEP:g} to "
            f"{1 / SHORTEST_STEP:g}, are expected"
        )
    return float(dt)


def _index(samples: Any, axis: int) -> tuple[Any, str]:
    """The index of pandas along an axis, and the unit that its name or attributes tell."""
    if hasattr(samples, "indexes") and hasattr(samples, "dims"):
        name = samples.dims[axis]
        if name not in samples.indexes:
            return None, ""
        given = samples[name].attrs.get("units")
        return samples.indexes[name], str(given or _bracketed(name))
    index = getattr(samples, "index", None)
    if callable(index) or axis != 0:
        return None, ""
    return index, _bracketed(getattr(index, "name", None))


def _bracketed(name: Any) -> str:
    found = BRACKETS.search(name) if isinstance(name, str) else None
    return found.group(1) if found else ""


def _of_times(index: Any) -> Sampling | None:
    """Sampling of an index of times; whole months are parts of a year."""
    import pandas as pd

    if index.dtype.kind == "M":
        index = daily_clock(pd.DatetimeIndex(index))
    places = pd.TimedeltaIndex(index - index[0]).to_numpy() / np.timedelta64(1, "s")
    seconds = float(places[-1]) / (len(places) - 1)
    if seconds <= 0:
        return None
    if index.dtype.kind == "M" and seconds >= (LONGEST_MONTH - 3) * DAY_SECONDS:
        local = index.tz_localize(None).to_numpy()
        months = np.diff(local.astype("datetime64[M]").astype(int))
        if months[0] and is_monthly(local.astype("datetime64[D]")):
            step = float(months[0]) / MONTHS_OF_YEAR
            return Sampling(step, "years", 1 / step, "per year")
    is_season = np.max(np.diff(places)) > (LONGEST_MONTH + 1) * DAY_SECONDS
    if is_season and uneven_place(places) is not None:  # days or months, the same in each year
        return None
    return Sampling.of_seconds(seconds)

"""Put the rows of a pandas object on regular times, as `grid` does for tables of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .grid import regularized
from .local_times import daily_clock, in_zone
from .table import Table

DONE = "regular"  # the entry of `attrs` that says what was done


def regular_samples(samples: Any, regular: bool | str | float) -> Any:
    """Return samples with a regular index, if asked for.

    Rows that are left out become NaN, and times that jitter move to the nearest regular place.
    Rows may be in any order. `samples.attrs["regular"]` says what was done.

    Parameters
    ----------
    samples : Series or DataFrame
        With an index of times, periods or numbers.
    regular : bool, str or float
        False: nothing is done. True: the step is found. Otherwise the step: a number, or a time
        such as "10min", "1h", "1d", "1month", "1b" (business day).

    Returns
    -------
    Series or DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.regular_samples import regular_samples
    >>> days = pd.DatetimeIndex(["2024-05-01", "2024-05-02", "2024-05-04", "2024-05-05"])
    >>> found = regular_samples(pd.Series([1.0, 2.0, 4.0, 5.0], days), True)
    >>> found.tolist()
    [1.0, 2.0, nan, 4.0, 5.0]
    >>> found.attrs["regular"]
    'the index was made regular with step 1 d: 1 row without values was added'
    """
    if regular is False or regular is None:
        return samples
    if not hasattr(samples, "iloc"):
        raise TypeError(
            f"regular is given, but the samples are a {type(samples).__name__}, whose times are "
            "not known: pass a pandas Series or DataFrame with its times as index"
        )
    step = None if regular is True else regular
    cells, back = _cells(samples.index, step)
    rows = np.arange(len(samples), dtype=float)
    table = regularized(Table(rows, index=np.array(cells)), _number(samples.index, step))
    places, missing = np.nan_to_num(table.values).astype(int), np.isnan(table.values)
    out = samples.iloc[places].set_axis(back(table.index), axis=0)
    if np.any(missing):
        seen = ~missing if samples.ndim == 1 else np.broadcast_to(~missing[:, None], out.shape)
        out = out.where(seen)
    out.attrs = {**samples.attrs, DONE: table.notes[-1]}
    return out


def what_was_done(samples: Any) -> list[tuple[str, str]]:
    """The row of a summary that says how samples were made regular, if they were.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
    """
    note = getattr(samples, "attrs", {}).get(DONE)
    if not isinstance(note, str):
        return []
    return [("index", note.removeprefix("the index was made ").replace(": ", "; ", 1))]


def _number(index: Any, step: Any) -> Any:
    """The step of an index of durations in seconds; others stay."""
    import pandas as pd

    if not isinstance(index, pd.TimedeltaIndex) or not isinstance(step, str):
        return step
    return pd.Timedelta(step).total_seconds()


def _cells(index: Any, step: Any) -> tuple[list[str], Callable[[Any], Any]]:
    """The entries of an index as cells of a table, and the way back."""
    import pandas as pd

    name = index.name
    if isinstance(index, pd.PeriodIndex):
        if step is not None:
            raise ValueError(
                f"the step is {step!r}, but the index has periods of {index.freqstr}: pass "
                "regular=True"
            )
        ordinals = index.asi8

        def periods(cells: Any) -> Any:
            numbers = np.array([int(float(cell)) for cell in cells])
            return pd.PeriodIndex.from_ordinals(numbers, freq=index.freq, name=name)

        return [str(number) for number in ordinals], periods
    if isinstance(index, pd.TimedeltaIndex):
        seconds = [repr(float(s)) for s in index.total_seconds()]
        return seconds, lambda cells: pd.to_timedelta(
            np.asarray(cells, dtype=float), unit="s"
        ).rename(name)
    if not isinstance(index, pd.DatetimeIndex):
        numeric = pd.api.types.is_numeric_dtype(index.dtype)
        return [str(entry) for entry in index], lambda cells: pd.Index(
            pd.to_numeric(cells) if numeric else cells, name=name
        )
    zone, plain = index.tz, daily_clock(index)
    local = plain.tz is None
    if not local:
        plain = index.tz_convert("UTC").tz_localize(None)
    written = [time.isoformat(sep=" ") for time in plain.to_pydatetime()]

    def times(cells: Any) -> Any:
        found = pd.DatetimeIndex(pd.to_datetime(cells, format="ISO8601"), name=name)
        if zone is None:
            return found
        if not local:
            return found.tz_localize("UTC").tz_convert(zone)
        known = dict(zip(written, index, strict=True))  # of two equal local times, either may be
        pairs = zip(cells, in_zone(found, zone), strict=True)
        return pd.DatetimeIndex([known.get(cell, time) for cell, time in pairs], name=name)

    return written, times

"""The index of a pandas object: whether it is regular, and which entries come next."""

from __future__ import annotations

from typing import Any

import numpy as np

from .local_times import daily_clock, in_zone
from .regular import follows_calendar, irregular_cell, season, uneven_place


def check_regular(index: Any) -> None:
    """Raise an error unless an index is regular: samples of a signal are equally spaced.

    Times may also follow a calendar, such as business days or months. Labels are not checked,
    unless all of them are times in ISO 8601.

    Parameters
    ----------
    index : pandas.Index

    Raises
    ------
    ValueError
        The index is irregular or has duplicate entries.

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.index import check_regular
    >>> try:
    ...     check_regular(pd.Index([0.5, 1.0, 1.5, 2.5]))
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    the index is irregular (around 2.5), but equal steps are expected
    """
    import pandas as pd

    if index.has_duplicates:
        twice = index[index.duplicated()][0]
        raise ValueError(
            f"the index holds {twice} more than once, but each time may occur once: average over "
            "equal times, for example with samples.groupby(level=0).mean()"
        )
    places = _places(index)
    if len(index) < 3 or places is None:
        _check_labels(index)
        return
    at = uneven_place(places)
    if at is None:
        return
    around = index[at]
    if isinstance(index, pd.DatetimeIndex):
        if _calendar_step(index) is None and not follows_calendar(index.to_pydatetime()):
            raise ValueError(
                f"the index is irregular (around {around}), but equally spaced times are expected: "
                'make it regular first, for example with samples.resample("D").mean() or '
                'samples.asfreq("D"), which put NaN where nothing was measured; recover, impute '
                "and forecast do so with regular=True, and so does structrank.io.read(path, "
                'regular=True); recover takes irregular times as they are with times="index"'
            )
        return
    raise ValueError(
        f"the index is irregular (around {around}), but equal steps are expected: put the samples "
        "on a regular grid first, for example with samples.reindex(...), which puts NaN where "
        "nothing was measured; recover, impute and forecast do so with regular=True, and so does "
        "structrank.io.read(path, regular=True); recover takes irregular times as they are with "
        'times="index"'
    )


def _check_labels(index: Any) -> None:
    """Raise an error if labels are times that are not regular."""
    labels = index.tolist()
    cell = irregular_cell(labels) if all(isinstance(label, str) for label in labels) else None
    if cell is not None:
        raise ValueError(
            f"the index has times as text, which are irregular (around {cell}), but equally spaced "
            "times are expected: convert it with samples.index = pd.to_datetime(samples.index), "
            "then recover, impute and forecast make it regular with regular=True"
        )


def check_same(left: Any, right: Any, left_name: str, right_name: str) -> None:
    """Raise an error if the rows of two containers, of the same number, have different indexes.

    Rows that are only counted, from zero, may stand beside times.

    Parameters
    ----------
    left, right : array, Series, DataFrame or DataArray
    left_name, right_name : str
        What errors call them.

    Raises
    ------
    ValueError
        The indexes differ.

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.index import check_same
    >>> speed = pd.Series([1.0, 2.0, 3.0])
    >>> check_same(speed, 2 * speed, "inputs", "outputs")
    """
    one, other = rows_of(left), rows_of(right)
    if one is None or other is None or one.equals(other):
        return
    kinds = [_is_counted(x) for x in (one, other)]
    if any(kinds) and not all(kinds) and {one.dtype.kind, other.dtype.kind} & set("mMO"):
        return
    at = next(k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    raise ValueError(
        f"the indexes of {left_name} and {right_name} differ: row {at}, counted from 0, is "
        f"{one[at]} in one and {other[at]} in the other, but the same rows are expected: align "
        f"them first, for example with {right_name}.reindex({left_name}.index)"
    )


def rows_of(samples: Any) -> Any:
    """The pandas index of the rows of a container; None if it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.index import rows_of
    >>> rows_of(np.zeros(3)) is None
    True
    """
    if hasattr(samples, "indexes") and hasattr(samples, "dims"):
        return samples.indexes.get(samples.dims[0])
    index = getattr(samples, "index", None)
    return None if callable(index) else index


def _is_counted(index: Any) -> bool:
    """Whether an index only counts rows, from zero."""
    start, step = getattr(index, "start", None), getattr(index, "step", None)
    return bool(start == 0 and step == 1)


def following(index: Any, count: int) -> Any:
    """Return the entries that come after the last one of a regular index.

    Parameters
    ----------
    index : pandas.Index
    count : int
        Number of entries.

    Returns
    -------
    pandas.Index

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.index import following
    >>> list(following(pd.period_range("2024-01", periods=12, freq="M"), 2))
    [Period('2025-01', 'M'), Period('2025-02', 'M')]
    """
    import pandas as pd

    last, ahead = index[-1], np.arange(1, count + 1)
    if isinstance(index, pd.RangeIndex):
        return pd.RangeIndex(
            last + index.step, last + (count + 1) * index.step, index.step, name=index.name
        )
    if isinstance(index, pd.PeriodIndex):
        step = index[1].ordinal - index[0].ordinal if len(index) > 1 else 1
        return pd.PeriodIndex([last + int(k) * step for k in ahead], name=index.name)
    if isinstance(index, pd.DatetimeIndex):
        if len(index) > 1 and index[0] > last:
            raise ValueError(
                f"the times run backwards ({index[0]}, {index[1]}, ...), but the forecast is what "
                "comes after the last one: pass samples.sort_index(), or regular=True"
            )
        freq, local = _calendar_step(index), daily_clock(index)
        if freq is not None and local.tz is not None:
            return pd.date_range(last, periods=count + 1, freq=freq, name=index.name)[1:]
        if freq is not None:
            times = pd.date_range(local[-1], periods=count + 1, freq=freq, name=index.name)[1:]
            return in_zone(times, index.tz)
        if (months := _months_between(index)) is not None:
            times = [local[-1] + pd.DateOffset(months=int(k * months)) for k in ahead]
            return in_zone(pd.DatetimeIndex(times, name=index.name), index.tz)
        days = index.tz_localize(None).to_numpy().astype("datetime64[D]")
        if (usual := season(days)) is not None:
            return pd.DatetimeIndex(_next_in_season(index, usual, count), name=index.name)
    if len(index) < 2:
        raise ValueError(
            f"the index has {len(index)} entries, but at least 2 are expected: without a step it "
            "cannot be continued"
        )
    if _places(index) is None:
        raise ValueError(
            f"an index of {index.dtype} cannot be continued: use times, for example by "
            "pd.to_datetime(samples.index), or numbers, or samples.reset_index(drop=True)"
        )
    step = (last - index[0]) / (len(index) - 1)
    if pd.api.types.is_integer_dtype(index.dtype):
        step = round(step)
    return pd.Index(last + step * ahead, name=index.name)


def _months_between(index: Any) -> int | None:
    """Months from one entry to the next, if all are on the same day of their month."""
    months = np.diff(12 * index.year + index.month)
    alike = len({(t.day, t.time()) for t in index}) == 1
    return int(months[0]) if alike and len(months) and months[0] and not np.ptp(months) else None


def _next_in_season(index: Any, usual: np.ndarray, count: int) -> list[Any]:
    """The next entries of an index that follows a season, whose days this year are given."""
    import pandas as pd

    last, year = index[-1], 0
    local = last.tz_localize(None)
    ahead: list[Any] = []
    while len(ahead) < count:
        days = [pd.Timestamp(day) + pd.DateOffset(years=year) for day in usual]
        times = in_zone(pd.DatetimeIndex(days) + (local - local.normalize()), last.tz)
        ahead += [time for time in times if time > last]
        year += 1
    return ahead[:count]


def _places(index: Any) -> np.ndarray | None:
    """The entries of an index as numbers, times relative to the first; None for labels."""
    import pandas as pd

    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex):
        if index.hasnans:
            raise ValueError("the index contains NaT, but a time for each sample is expected")
        ordinals = np.asarray(index.asi8)
        return np.asarray(ordinals - ordinals[:1], dtype=float)
    if pd.api.types.is_numeric_dtype(index.dtype):
        return np.asarray(index, dtype=float)
    return None


def _calendar_step(index: Any) -> Any:
    """The step between times, such as a day or a month; None if there is none."""
    import pandas as pd

    if index.freq is not None:
        return index.freq
    local = daily_clock(index)
    freq = pd.DatetimeIndex(local, freq="infer").freq
    if freq is None:
        return None
    steps = pd.date_range(local[0], periods=len(local), freq=freq)
    # pandas infers "third Friday of the month" although some of them may be missing.
    return freq if steps.equals(pd.DatetimeIndex(local)) else None

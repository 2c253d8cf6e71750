"""pandas and xarray in, the same out: the numbers of a container, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from .._array import Array, as_array, is_floating

Wrap = Callable[[Array], Any]

UNEVEN = 1e-3  # a place on a regular grid may be off by this share of a step


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """The numbers of a container, and how to put others of the same shape in their place.

    Attributes
    ----------
    values : array
        Floating point, NaN where missing.
    wrap : callable
        Puts an array of the shape of the values into a container like the original.
    follow : callable
        The same for values that follow after the last along the first axis.
    channels : int or None
        The axis that holds channels, where the container says so.
    """

    values: Array
    wrap: Wrap
    follow: Wrap
    channels: int | None = None


def unwrap(samples: Any, channels: int | None = None) -> Unwrapped:
    """Take a NumPy (or other) array, pandas Series or DataFrame, or xarray DataArray apart.

    The columns of a DataFrame are channels. An index has to be regular, as the samples
    of a signal are.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
        NaN, None or NA where missing.
    channels : int, optional
        The axis that holds channels, whose names or numbers need not be regular.

    Returns
    -------
    Unwrapped

    Examples
    --------
    >>> from structrank.applications.containers import unwrap
    >>> unwrap([1, 2, 3]).values
    array([1., 2., 3.])
    """
    libraries = {ancestor.__module__.split(".")[0] for ancestor in type(samples).__mro__}
    if "pandas" in libraries:
        return _from_pandas(samples)
    if "xarray" in libraries:
        return _from_xarray(samples, channels)
    if isinstance(samples, np.ma.MaskedArray):
        samples = np.ma.filled(samples.astype(np.result_type(samples.dtype, float)), np.nan)
    values = as_array(samples)
    if not is_floating(values):
        values = _floating(np.asarray(values))
    return Unwrapped(values, wrap=lambda new: new, follow=lambda new: new)


def _floating(values: np.ndarray) -> np.ndarray:
    """The same numbers in double precision, or an error."""
    if values.dtype.kind in "biuf":
        return values.astype(float)
    if values.dtype.kind == "c":
        return values.astype(complex)
    if values.dtype.kind == "O":
        entries = [np.nan if _is_missing(x) else x for x in values.flat]
        if all(isinstance(x, Number) for x in entries):
            has_complex = any(isinstance(x, complex | np.complexfloating) for x in entries)
            return np.array(entries, complex if has_complex else float).reshape(values.shape)
    raise TypeError(
        f"the samples have dtype {values.dtype}, but real or complex numbers are expected, NaN "
        "where missing"
    )


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, or NA of pandas."""
    return entry is None or type(entry).__name__ == "NAType"


def _from_pandas(samples: Any) -> Unwrapped:
    import pandas as pd

    if not isinstance(samples, (pd.Series, pd.DataFrame)):
        raise TypeError(
            f"the samples are a pandas {type(samples).__name__}, but a Series or DataFrame is "
            "expected"
        )
    single = isinstance(samples, pd.Series)
    columns = [(samples.name, samples)] if single else list(samples.items())
    for name, column in columns:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            raise TypeError(
                f"column {name!r} has dtype {column.dtype}, but numbers are expected: convert it "
                "with pd.to_numeric, or leave it out"
            )
    check_regular(samples.index)
    has_complex = any(pd.api.types.is_complex_dtype(column.dtype) for _, column in columns)
    values = samples.to_numpy(dtype=complex if has_complex else float, na_value=np.nan)

    def wrap(new: np.ndarray, index: Any = samples.index) -> Any:
        new = np.asarray(new)
        if single:
            out: Any = pd.Series(new, index=index, name=samples.name)
        else:
            out = pd.DataFrame(new, index=index, columns=samples.columns)
        out.attrs = dict(samples.attrs)
        return out

    return Unwrapped(
        values,
        wrap,
        follow=lambda new: wrap(new, following(samples.index, len(new))),
        channels=None if single else 1,
    )


def _from_xarray(samples: Any, channels: int | None) -> Unwrapped:
    import xarray as xr

    if not isinstance(samples, xr.DataArray):
        raise TypeError(
            f"the samples are an xarray {type(samples).__name__}, but a DataArray is expected: "
            "choose a variable"
        )
    for axis, name in enumerate(samples.dims):
        if name in samples.indexes and channels not in (axis, axis - samples.ndim):
            check_regular(samples.indexes[name])
    values = samples.to_numpy()
    if not is_floating(values):
        values = _floating(values)

    def follow(new: np.ndarray) -> Any:
        first = samples.dims[0]
        coordinates = {
            name: c for name, c in samples.coords.items() if name != first and first not in c.dims
        }
        if first in samples.indexes:
            next_entries = following(samples.indexes[first], len(new))
            coordinates[first] = xr.Variable(first, next_entries, samples[first].attrs)
        return xr.DataArray(new, coordinates, samples.dims, samples.name, dict(samples.attrs))

    return Unwrapped(values, lambda new: samples.copy(data=np.asarray(new)), follow)


def check_regular(index: Any) -> None:
    """An error unless an index of pandas is regular: samples of a signal are equally spaced.

    Times may also follow a calendar: business days, months. Names are not looked at.
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
        return
    steps = np.diff(places)
    grid = np.linspace(places[0], places[-1], len(places))
    if np.max(np.abs(places - grid)) <= UNEVEN * np.abs(np.mean(steps)):
        return
    around = index[int(np.nanargmax(np.abs(steps - np.nanmedian(steps)))) + 1]
    if isinstance(index, pd.DatetimeIndex):
        if _calendar_step(index) is None:
            raise ValueError(
                f"the index is irregular (around {around}), but equally spaced times are expected: "
                'regularise it first, for example samples.resample("D").mean() or '
                'samples.asfreq("D"), which leave NaN where nothing was measured'
            )
        return
    raise ValueError(
        f"the index is irregular (around {around}), but equal steps are expected: put the samples "
        "on a regular grid first, for example with samples.reindex(...), which leaves NaN where "
        "nothing was measured"
    )


def _places(index: Any) -> np.ndarray | None:
    """The entries of an index as numbers, from the first on; None if they are no numbers."""
    import pandas as pd

    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex):
        if index.hasnans:
            raise ValueError("the index holds NaT, but a time for each sample is expected")
        ordinals = index.asi8
        return (ordinals - ordinals[:1]).astype(float)
    if pd.api.types.is_numeric_dtype(index.dtype):
        return np.asarray(index, dtype=float)
    return None


def _calendar_step(index: Any) -> Any:
    """The step of times, such as a day or a month; None if there is none."""
    import pandas as pd

    return pd.DatetimeIndex(index, freq="infer").freq if index.freq is None else index.freq


def following(index: Any, count: int) -> Any:
    """The entries that follow after the last of a regular index of pandas."""
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
        freq = _calendar_step(index)
        if freq is not None:
            return pd.date_range(last, periods=count + 1, freq=freq, name=index.name)[1:]
    if len(index) < 2:
        raise ValueError(
            f"an index of {len(index)} entries does not tell a step, so it cannot be carried on"
        )
    if _places(index) is None:
        raise ValueError(
            f"an index of {index.dtype} cannot be carried on: use times or numbers, or "
            "samples.reset_index(drop=True)"
        )
    step = (last - index[0]) / (len(index) - 1)
    if pd.api.types.is_integer_dtype(index.dtype):
        step = round(step)
    return pd.Index(last + step * ahead, name=index.name)

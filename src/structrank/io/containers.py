"""pandas and xarray in, the same out: the numbers of a container, and the way back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from .._array import (
    Array,
    array_namespace,
    as_array,
    is_complex,
    is_floating,
    is_numpy_array,
    real_dtype,
    with_precision,
)
from .regular import uneven_place

Wrap = Callable[[Array], Any]

SINGLE = {np.dtype(np.float32), np.dtype(np.complex64)}
MOST = {"single": 1e9, "double": 1e75}  # size of samples, of which higher powers are computed


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """The numbers of a container, and how to put others of the same shape in their place.

    Attributes
    ----------
    values : array
        Floating point, NaN where missing; in the precision given, or in double where powers of the
        values would leave the range of single precision.
    wrap : callable
        Puts an array of the shape of the values into a container like the original, of its library
        and device, in single precision where that was given and else in double.
    follow : callable
        The same for values that follow after the last along the first axis.
    channels : int or None
        The axis that holds channels, where the container says so.

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.containers import unwrap
    >>> given = unwrap(pd.Series([1.0, 2.0], index=[10, 20], name="wind"))
    >>> given.follow(given.values + 2)
    30    3.0
    40    4.0
    Name: wind, dtype: float64
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
    >>> from structrank.io.containers import unwrap
    >>> unwrap([1, 2, 3]).values
    array([1., 2., 3.])
    """
    libraries = {ancestor.__module__.split(".")[0] for ancestor in type(samples).__mro__}
    if "pandas" in libraries:
        return _from_pandas(samples)
    if "xarray" in libraries:
        return _from_xarray(samples, channels)
    if isinstance(samples, np.ma.MaskedArray):
        kind = samples.dtype if is_floating(samples) else np.result_type(samples.dtype, float)
        samples = np.ma.filled(samples.astype(kind), np.nan)
    given = as_array(samples)
    if hasattr(given, "detach"):  # torch: gradients do not pass through a solver
        given = given.detach()
    values = given if is_floating(given) else _floating(given)

    def wrap(new: Array) -> Array:
        return _like_given(new, values)

    return Unwrapped(_in_range(values), wrap, follow=wrap)


def _in_range(values: Array) -> Array:
    """Values whose powers can be computed: in double precision if need be, or an error."""
    xp = array_namespace(values)
    with np.errstate(over="ignore"):
        sizes = xp.abs(values)
    sizes = xp.where(xp.isfinite(values), sizes, xp.zeros_like(sizes))
    largest = float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0
    most = MOST["single" if _is_single(values) else "double"]
    if largest == 0 or 1 / most <= largest <= most:
        return values
    if _is_single(values):
        return xp.astype(values, _dtype(values, single=False))
    raise ValueError(
        f"the largest sample is {largest:.3g} in size, but {1 / most:g} to {most:g} is expected, "
        f"of which powers can be computed: divide the samples by {largest:.0e} first"
    )


def _like_given(new: Array, given: Array) -> Array:
    """Values in the library, on the device and in the precision of what was given."""
    if is_numpy_array(new):
        return with_precision(np.array(new), given)
    return array_namespace(new).astype(new, _dtype(new, single=_is_single(given)), copy=False)


def _is_single(values: Array) -> bool:
    return bool(real_dtype(values) == array_namespace(values).float32)


def _dtype(values: Array, *, single: bool) -> Any:
    """The real or complex data type of values, in single or double precision."""
    xp = array_namespace(values)
    if is_complex(values):
        return xp.complex64 if single else xp.complex128
    return xp.float32 if single else xp.float64


def _floating(values: Array) -> Array:
    """The same numbers in double precision, or an error."""
    if not is_numpy_array(values):
        return array_namespace(values).astype(values, _dtype(values, single=False))
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
    kinds = {np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype)) for _, column in columns}
    kind = np.result_type(*kinds, *(() if kinds <= SINGLE else (float,)))
    values = samples.to_numpy(dtype=kind, na_value=np.nan)

    def wrap(new: np.ndarray, index: Any = samples.index) -> Any:
        new = _like_given(new, values)
        if single:
            out: Any = pd.Series(new, index=index, name=samples.name)
        else:
            out = pd.DataFrame(new, index=index, columns=samples.columns)
        out.attrs = dict(samples.attrs)
        return out

    return Unwrapped(
        _in_range(values),
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
        data = _like_given(new, values)
        return xr.DataArray(data, coordinates, samples.dims, samples.name, dict(samples.attrs))

    return Unwrapped(
        _in_range(values), lambda new: samples.copy(data=_like_given(new, values)), follow
    )


def check_regular(index: Any) -> None:
    """An error unless an index of pandas is regular: samples of a signal are equally spaced.

    Times may also follow a calendar: business days, months. Names are not looked at.

    Parameters
    ----------
    index : pandas Index

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.containers import check_regular
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
        return
    at = uneven_place(places)
    if at is None:
        return
    around = index[at]
    if isinstance(index, pd.DatetimeIndex):
        if _calendar_step(index) is None:
            raise ValueError(
                f"the index is irregular (around {around}), but equally spaced times are expected: "
                'regularise it first, for example samples.resample("D").mean() or '
                'samples.asfreq("D"), which leave NaN where nothing was measured; in a file add a '
                "row with an empty cell for each time that is left out"
            )
        return
    raise ValueError(
        f"the index is irregular (around {around}), but equal steps are expected: put the samples "
        "on a regular grid first, for example with samples.reindex(...), which leaves NaN where "
        "nothing was measured; in a file add a row with an empty cell for each that is left out"
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

    if index.freq is not None:
        return index.freq
    freq = pd.DatetimeIndex(index, freq="infer").freq
    if freq is None:
        return None
    steps = pd.date_range(index[0], periods=len(index), freq=freq)
    return freq if steps.equals(pd.DatetimeIndex(index)) else None  # of third Fridays it may skip


def following(index: Any, count: int) -> Any:
    """The entries that follow after the last of a regular index of pandas.

    Parameters
    ----------
    index : pandas Index
    count : int
        How many.

    Returns
    -------
    pandas Index

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.containers import following
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

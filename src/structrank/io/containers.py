"""pandas and xarray in, the same out: the numbers of a container, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, as_array, is_floating
from .index import check_regular, following
from .precision import floating, in_range, like_given

Wrap = Callable[[Array], Any]

SINGLE = {np.dtype(np.float32), np.dtype(np.complex64)}


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """The numbers of a container, and functions that put other numbers into one like it.

    Attributes
    ----------
    values : array
        Floating point, NaN where missing. They have the precision of the container, or double
        precision where powers of the values would leave the range of single precision.
    wrap : callable
        Puts an array of the same shape into a container like the original: same library, device
        and index, in single precision if the original is, else in double.
    follow : callable
        Does the same for values that come after the last ones along the first axis.
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


def unwrap(samples: Any, channels: int | None = None, *, regular: bool = True) -> Unwrapped:
    """Take the numbers out of an array, pandas Series or DataFrame, or xarray DataArray.

    The columns of a DataFrame are channels. An index must be regular, because the samples of a
    signal are equally spaced.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
        NaN, None or NA where missing.
    channels : int, optional
        The axis that holds channels. Its names or numbers need not be regular.
    regular : bool
        Raise an error if the index of a pandas object is not regular.

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
        return _from_pandas(samples, regular)
    if "xarray" in libraries:
        return _from_xarray(samples, channels)
    if isinstance(samples, np.ma.MaskedArray):
        kind = samples.dtype if is_floating(samples) else np.result_type(samples.dtype, float)
        samples = np.ma.filled(samples.astype(kind), np.nan)
    given = as_array(samples)
    if hasattr(given, "detach"):  # torch: solvers have no gradients
        given = given.detach()
    values = given if is_floating(given) else floating(given)

    def wrap(new: Array) -> Array:
        return like_given(new, values)

    return Unwrapped(in_range(values), wrap, follow=wrap)


def required_pandas() -> Any:
    """Import pandas, or raise an error that says what to install."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('a DataFrame needs pandas: pip install "structrank[pandas]"') from error
    return pd


def _from_pandas(samples: Any, regular: bool) -> Unwrapped:
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
            times = pd.api.types.is_datetime64_any_dtype(column.dtype)
            advice = "convert it with pd.to_numeric, or drop it"
            raise TypeError(
                f"column {name!r} has dtype {column.dtype}, but numbers are expected: "
                + (f"make it the index with samples.set_index({name!r})" if times else advice)
            )
    if regular:
        check_regular(samples.index)
    kinds = {np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype)) for _, column in columns}
    kind = np.result_type(*kinds, *(() if kinds <= SINGLE else (float,)))
    values = samples.to_numpy(dtype=kind, na_value=np.nan)

    def wrap(new: np.ndarray, index: Any = samples.index) -> Any:
        new = like_given(new, values)
        if single:
            out: Any = pd.Series(new, index=index, name=samples.name)
        else:
            out = pd.DataFrame(new, index=index, columns=samples.columns)
        out.attrs = dict(samples.attrs)
        return out

    return Unwrapped(
        in_range(values),
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
        values = floating(values)

    def follow(new: np.ndarray) -> Any:
        first = samples.dims[0]
        coordinates = {
            name: c for name, c in samples.coords.items() if name != first and first not in c.dims
        }
        if first in samples.indexes:
            next_entries = following(samples.indexes[first], len(new))
            coordinates[first] = xr.Variable(first, next_entries, samples[first].attrs)
        data = like_given(new, values)
        return xr.DataArray(data, coordinates, samples.dims, samples.name, dict(samples.attrs))

    return Unwrapped(
        in_range(values), lambda new: samples.copy(data=like_given(new, values)), follow
    )

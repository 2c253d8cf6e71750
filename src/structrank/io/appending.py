"""Samples that continue others: one container of both, after checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import array_namespace, as_array, is_complex
from ..model.sample_range import SampleRange, largest_size
from .index import following


def appended(samples: Any, new: Any) -> Any:
    """Return samples followed by new ones, in a container like the first.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
        With a regular index, if there is one.
    new : same kind
        Along the first axis; an index continues that of the samples.

    Returns
    -------
    array, Series, DataFrame or DataArray

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.appending import appended
    >>> days = pd.date_range("2024-05-01", periods=3)
    >>> appended(pd.Series([1.0, 2.0], days[:2]), pd.Series([3.0], days[2:])).tolist()
    [1.0, 2.0, 3.0]
    """
    container = type(samples).__module__.split(".")[0] in ("pandas", "xarray")
    masked = isinstance(samples, np.ma.MaskedArray)
    if type(new) is not type(samples) and (container or masked):
        raise TypeError(
            f"the new samples are {type(new).__name__}, but {type(samples).__name__} is expected, "
            "as the samples before them are"
        )
    if is_complex(as_array(new)) and not is_complex(as_array(samples)):
        raise TypeError("the new samples are complex, but real ones are expected, as before them")
    _check_shape(np.shape(samples), np.shape(new))
    if container:
        return _pandas(samples, new) if hasattr(samples, "iloc") else _xarray(samples, new)
    if masked:
        return np.ma.concatenate([samples, new])  # type: ignore[no-untyped-call]
    before = as_array(samples)
    xp: Any = array_namespace(before)
    after = xp.asarray(new, device=before.device)
    if SampleRange().single >= largest_size(after):  # else it may not fit in single precision
        after = xp.astype(after, before.dtype)
    return xp.concat([before, after])


def _check_shape(before: tuple[int, ...], new: tuple[int, ...]) -> None:
    if len(new) != len(before) or new[1:] != before[1:]:
        expected = ("new", *map(str, before[1:]))
        raise ValueError(
            f"the new samples have shape {new}, but ({', '.join(expected)}"
            f"{',' if len(expected) == 1 else ''}) is expected, to follow those of shape {before}"
        )


def _check_index(before: Any, new: Any) -> None:
    """Raise an error unless an index continues another."""
    expected = following(before, len(new))
    try:
        same = (
            bool(np.allclose(new, expected))
            if expected.dtype.kind == "f"
            else all(one == other for one, other in zip(new, expected, strict=True))
        )
    except TypeError:  # times and numbers, or times with and without a zone
        same = False
    if not same:
        pairs = zip(new, expected, strict=True)
        at, wanted = next(((a, b) for a, b in pairs if str(a) != str(b)), (new[0], expected[0]))
        raise ValueError(
            f"the index of the new samples has {at} where {wanted} is expected, as the samples end "
            f"at {before[-1]}: give each time once and in order, NaN where nothing was measured"
        )


def _pandas(samples: Any, new: Any) -> Any:
    import pandas as pd

    if samples.ndim == 2 and list(new.columns) != list(samples.columns):
        raise ValueError(
            f"the new samples have the columns {list(new.columns)}, but {list(samples.columns)} "
            "are expected"
        )
    if len(new) == 0:
        return samples
    _check_index(samples.index, new.index)
    out = pd.concat([samples, new.set_axis(following(samples.index, len(new)), axis=0)])
    if getattr(samples.index, "freq", None) is not None and isinstance(out.index, pd.DatetimeIndex):
        out.index = pd.DatetimeIndex(out.index, freq=samples.index.freq)
    out.index.name, out.attrs = samples.index.name, dict(samples.attrs)
    return out if samples.ndim == 2 else out.rename(samples.name)


def _xarray(samples: Any, new: Any) -> Any:
    import xarray as xr

    first = samples.dims[0]
    if new.dims != samples.dims:
        raise ValueError(
            f"the new samples have the dimensions {new.dims}, but {samples.dims} are expected"
        )
    if len(new) and first in samples.indexes:
        if first not in new.indexes:
            raise ValueError(
                f"the new samples have no coordinate {first!r}, but that of the samples is to be "
                "continued"
            )
        _check_index(samples.indexes[first], new.indexes[first])
    return xr.concat([samples, new], first, join="override", combine_attrs="override")

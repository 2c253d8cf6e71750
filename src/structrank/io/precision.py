"""Numbers as solvers need them: floating point, with powers that stay in range."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from .._array import (
    Array,
    array_namespace,
    is_complex,
    is_numpy_array,
    with_precision,
)
from ..model.sample_range import SampleRange, is_single, largest_size


def in_range(values: Array, limits: SampleRange = SampleRange()) -> Array:
    """Return values whose powers can be computed.

    Parameters
    ----------
    values : array
        Floating point.
    limits : SampleRange, optional

    Returns
    -------
    array
        The values, in double precision if their powers leave the range of single precision.

    Raises
    ------
    ValueError
        The powers leave the range of double precision as well.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.precision import in_range
    >>> in_range(np.array([1e20], dtype=np.float32)).dtype
    dtype('float64')
    """
    if is_single(values) and not limits.includes(values):
        values = array_namespace(values).astype(values, _dtype(values, single=False))
    limits.check(values)
    return values


def like_given(new: Array, given: Array) -> Array:
    """Return a copy of `new` in the library, device and precision of `given`.

    Numbers beyond single precision stay in double precision, in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.precision import like_given
    >>> like_given(np.ones(2), np.zeros(2, dtype=np.float32)).dtype
    dtype('float32')
    """
    if is_numpy_array(new):
        if is_numpy_array(given) and largest_size(new) > float(np.finfo(np.float32).max):
            return np.array(new)
        return with_precision(np.array(new), given)
    return array_namespace(new).astype(new, _dtype(new, single=is_single(given)), copy=False)


def floating(values: Array) -> Array:
    """Return the same numbers in double precision.

    Parameters
    ----------
    values : array
        Real or complex numbers of any data type. In an array of objects None and pandas' NA are
        missing, and become NaN.

    Raises
    ------
    TypeError
        The entries are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.precision import floating
    >>> floating(np.array([1, None], dtype=object))
    array([ 1., nan])
    """
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


def _dtype(values: Array, *, single: bool) -> Any:
    """The real or complex data type of values, in single or double precision."""
    xp = array_namespace(values)
    if is_complex(values):
        return xp.complex64 if single else xp.complex128
    return xp.float32 if single else xp.float64


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, or NA of pandas."""
    return entry is None or type(entry).__name__ == "NAType"

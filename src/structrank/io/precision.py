"""Numbers as solvers need them: floating point, with powers that stay in range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from .._array import (
    Array,
    array_namespace,
    is_complex,
    is_numpy_array,
    real_dtype,
    with_precision,
)


@dataclass(frozen=True)
class SampleRange:
    """The largest size of a sample, and the inverse of the smallest.

    Solvers compute fourth powers of the samples.

    Parameters
    ----------
    single : float
        Limit in single precision. From rounding: its fourth power, 1e36, stays below 3.4e38.
    double : float
        Limit in double precision. From rounding: its fourth power, 1e300, stays below 1.8e308.
    """

    single: float = 1e9
    double: float = 1e75


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
    xp = array_namespace(values)
    with np.errstate(over="ignore"):
        sizes = xp.abs(values)
    sizes = xp.where(xp.isfinite(values), sizes, xp.zeros_like(sizes))
    largest = float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0
    most = limits.single if _is_single(values) else limits.double
    if largest == 0 or 1 / most <= largest <= most:
        return values
    if _is_single(values):
        return xp.astype(values, _dtype(values, single=False))
    raise ValueError(
        f"the largest sample is {largest:.3g} in size, but {1 / most:g} to {most:g} is expected, "
        f"so that its powers can be computed: divide the samples by {largest:.0e} first"
    )


def like_given(new: Array, given: Array) -> Array:
    """Return a copy of `new` in the library, device and precision of `given`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.precision import like_given
    >>> like_given(np.ones(2), np.zeros(2, dtype=np.float32)).dtype
    dtype('float32')
    """
    if is_numpy_array(new):
        return with_precision(np.array(new), given)
    return array_namespace(new).astype(new, _dtype(new, single=_is_single(given)), copy=False)


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


def _is_single(values: Array) -> bool:
    return bool(real_dtype(values) == array_namespace(values).float32)


def _dtype(values: Array, *, single: bool) -> Any:
    """The real or complex data type of values, in single or double precision."""
    xp = array_namespace(values)
    if is_complex(values):
        return xp.complex64 if single else xp.complex128
    return xp.float32 if single else xp.float64


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, or NA of pandas."""
    return entry is None or type(entry).__name__ == "NAType"

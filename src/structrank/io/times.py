"""Times of samples as numbers: an index, an array of numbers, or one of dates."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray, to_numpy

INDEX = "index"


def numbers_of_times(times: Any, samples: Any) -> NDArray:
    """Return times as numbers, one per sample, or raise an error.

    Parameters
    ----------
    times : array or "index"
        Numbers or dates; "index" for the index of a pandas Series.
    samples : array or Series

    Returns
    -------
    ndarray
        Dates are days since the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.times import numbers_of_times
    >>> numbers_of_times(np.array(["2024-01-01T12", "2024-01-03"], dtype="datetime64[h]"), [1, 2])
    array([0. , 1.5])
    """
    if isinstance(times, str):
        if times != INDEX or not hasattr(samples, "index") or not hasattr(samples, "iloc"):
            raise ValueError(
                f"times is {times!r} and the samples are {type(samples).__name__}, but an array "
                'with one time per sample is expected, or "index" for a pandas Series'
            )
        times = samples.index
        if getattr(times, "tz", None) is not None:
            times = times.tz_convert(None)
    given = np.asarray(times) if hasattr(times, "dtype") else np.asarray(to_numpy(times))
    if given.dtype.kind == "M":
        missing = np.isnat(given)
        days = (given - np.min(given[~missing], initial=given[0])) / np.timedelta64(1, "D")
        numbers = np.where(missing, np.nan, days)
    elif given.dtype.kind in "fiu":
        numbers = given.astype(float)
    else:
        raise TypeError(
            f"times have dtype {given.dtype}, but numbers or dates (datetime64) are expected"
        )
    if numbers.shape != (len(samples),) or not np.all(np.isfinite(numbers)):
        raise ValueError(
            f"times have shape {numbers.shape}, but {(len(samples),)} and finite times are "
            "expected, one per sample"
        )
    return np.asarray(numbers)

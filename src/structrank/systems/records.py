"""Checks of records of inputs and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import finite_or_missing
from ..io.containers import unwrap
from ..io.index import check_same
from ..io.sampling import checked_dt, sampling_of
from ..model.sample_range import SampleRange

SAME_STEP = 1.0 + 1e-6  # steps of times differ by rounding


def series(values: Any, name: str, channels: int | None = None) -> NDArray:
    """`values` as real numbers of shape (samples, channels); a vector becomes one channel."""
    x = to_numpy(unwrap(values, channels=1).values)
    if x.dtype.kind != "f":
        raise TypeError(f"{name} have dtype {x.dtype}, but real numbers are expected")
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or 0 in x.shape or channels not in (None, x.shape[1]):
        expected = "channels" if channels is None else channels
        raise ValueError(
            f"{name} have shape {np.shape(values)}, but (samples, {expected}) is expected"
        )
    x = x.astype(float)
    for column in x.T:
        SampleRange().check(column)
    return x


def paired(
    inputs: Any, outputs: Any, input_count: int | None = None, output_count: int | None = None
) -> tuple[NDArray, NDArray]:
    """Inputs and outputs of one record, NaN where missing, each of shape (samples, channels)."""
    u, y = _pair(inputs, outputs, input_count, output_count)
    _check_seen([(u, y)])
    return u, y


def _pair(
    inputs: Any, outputs: Any, input_count: int | None, output_count: int | None
) -> tuple[NDArray, NDArray]:
    u = series(inputs, "inputs", input_count)
    y = series(outputs, "outputs", output_count)
    if len(u) != len(y):
        raise ValueError(
            f"inputs have {len(u)} samples and outputs have {len(y)}, but the same number is "
            "expected"
        )
    check_same(inputs, outputs, "inputs", "outputs")
    for name, x in (("inputs", u), ("outputs", y)):
        finite_or_missing(x, name)
    return u, y


def _check_seen(records: list[tuple[NDArray, NDArray]]) -> None:
    """Raise an error if a channel is missing in all records."""
    for name, channels in zip(("input", "output"), zip(*records, strict=True), strict=True):
        missing = np.all([np.all(np.isnan(x), axis=0) for x in channels], axis=0)
        if np.any(missing):
            raise ValueError(
                f"{name} {int(np.argmax(missing))}, counted from 0, has no samples, only NaN: "
                "remove this channel"
            )


def paired_records(inputs: Any, outputs: Any) -> tuple[list[tuple[NDArray, NDArray]], bool]:
    """Inputs and outputs of each record, and whether they came as lists of records."""
    several = is_list_of_records(outputs)
    if several != is_list_of_records(inputs):
        raise ValueError("one of inputs and outputs is a list of records, but the other is not")
    if not several:
        return [paired(inputs, outputs)], False
    if len(inputs) != len(outputs):
        raise ValueError(
            f"inputs are {len(inputs)} records and outputs are {len(outputs)}, but the same number "
            "is expected"
        )
    m, p = (series(x[0], name).shape[1] for x, name in ((inputs, "inputs"), (outputs, "outputs")))
    records = []
    for i, (u, y) in enumerate(zip(inputs, outputs, strict=True)):
        try:
            records.append(_pair(u, y, m, p))
        except (TypeError, ValueError) as error:
            raise type(error)(f"record {i}, counted from 0: {error}") from None
    _check_seen(records)
    return records, True


def step_of(*samples: Any, dt: float | None = None) -> float | None:
    """Seconds between samples: `dt`, or those of the first index of times; None if not known."""
    if dt is not None:
        return checked_dt(dt)
    found = [
        sampling.seconds
        for values in samples
        for record in (values if is_list_of_records(values) else [values])
        if (sampling := sampling_of(record)) is not None and sampling.seconds is not None
    ]
    if found and max(found) > SAME_STEP * min(found):
        raise ValueError(
            f"samples are {min(found):.6g} s apart in one record and {max(found):.6g} s in "
            "another, but one system has one step: resample them, or pass dt if times are wrong"
        )
    return found[0] if found else None


def is_list_of_records(values: Any) -> bool:
    """Whether `values` is a list or tuple of arrays; nested lists of numbers are one array."""
    return isinstance(values, (list, tuple)) and any(getattr(x, "ndim", 0) for x in values)

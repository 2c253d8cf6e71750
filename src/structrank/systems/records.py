"""Checks of records of inputs and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from .._checks import finite_or_missing


def series(values: Any, name: str, channels: int | None = None) -> NDArray:
    """`values` as real numbers of shape (samples, channels); a vector becomes one channel."""
    x = to_numpy(as_array(values))
    if x.dtype.kind not in "fiu":
        raise TypeError(f"{name} have dtype {x.dtype}, but real numbers are expected")
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or 0 in x.shape or channels not in (None, x.shape[1]):
        expected = "channels" if channels is None else channels
        raise ValueError(
            f"{name} have shape {np.shape(values)}, but (samples, {expected}) is expected"
        )
    return x.astype(float)


def paired(
    inputs: Any, outputs: Any, input_count: int | None = None, output_count: int | None = None
) -> tuple[NDArray, NDArray]:
    """Inputs and outputs of one record, NaN where missing, each of shape (samples, channels)."""
    u = series(inputs, "inputs", input_count)
    y = series(outputs, "outputs", output_count)
    if len(u) != len(y):
        raise ValueError(
            f"inputs have {len(u)} samples and outputs have {len(y)}, but the same number is "
            "expected"
        )
    for name, x in (("inputs", u), ("outputs", y)):
        finite_or_missing(x, name)
        if np.any(np.all(np.isnan(x), axis=0)):
            raise ValueError(f"a channel of the {name} has no samples, only NaN: remove it")
    return u, y

"""Checks of arguments: what was got, and what is expected."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def instance_of(value: object, kind: type, name: str) -> None:
    """Raise a TypeError unless `value` is an instance of `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {type(value).__name__}, but a {kind.__name__} is expected")


def positive(value: Any, name: str) -> float:
    """`value` as a float, or an error unless it is finite and above zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number above zero is expected")
    return float(value)


def positive_int(value: object, name: str) -> int:
    """`value` as a Python int, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}, but a positive integer is expected")
    return int(value)


def positive_ints(values: object, name: str) -> tuple[int, ...]:
    """`values`, an integer or a sequence of them, as a tuple of positive Python ints."""
    if np.ndim(values) == 0:  # type: ignore[arg-type]
        return (positive_int(getattr(values, "item", lambda: values)(), name),)
    result = tuple(positive_int(v, name) for v in values)  # type: ignore[attr-defined]
    if not result:
        raise ValueError(f"{name} is empty, but at least one positive integer is expected")
    return result

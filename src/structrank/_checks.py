"""Checks of arguments. Errors say which value was given and which is expected."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def instance_of(value: object, kind: type, name: str) -> None:
    """Raise a TypeError unless `value` is an instance of `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {type(value).__name__}, but a {kind.__name__} is expected")


def positive(value: Any, name: str) -> float:
    """Return `value` as a float; raise an error unless it is finite and above zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number above zero is expected")
    return float(value)


def positive_int(value: object, name: str) -> int:
    """Return `value` as a Python int; raise an error unless it is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}, but a positive integer is expected")
    return int(value)


def positive_ints(values: object, name: str) -> tuple[int, ...]:
    """Return an integer, or a sequence of integers, as a tuple of positive Python ints."""
    if np.ndim(values) == 0:  # type: ignore[arg-type]
        return (positive_int(getattr(values, "item", lambda: values)(), name),)
    result = tuple(positive_int(v, name) for v in values)  # type: ignore[attr-defined]
    if not result:
        raise ValueError(f"{name} is empty, but at least one positive integer is expected")
    return result


def not_negative(value: Any, name: str) -> float:
    """`value` as a float, or an error unless it is finite and at least zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number of at least zero is expected")
    return float(value)


def not_negative_int(value: object, name: str) -> int:
    """`value` as a Python int, or an error unless it is an integer of at least zero."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name} is {value!r}, but an integer of at least 0 is expected")
    return int(value)

"""Checks of arguments. Errors say which value was given and which is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ._array import Array, NDArray, array_namespace, as_array, is_floating, to_numpy


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
    single = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    if single or not isinstance(values, Iterable):
        return (positive_int(getattr(values, "item", lambda: values)(), name),)
    result = tuple(positive_int(v, name) for v in values)
    if not result:
        raise ValueError(f"{name} is empty, but at least one positive integer is expected")
    return result


def flag(value: object, name: str) -> bool:
    """Return `value` as a Python bool; raise an error unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {value!r}, but True or False is expected")
    return bool(value)


def not_negative(value: Any, name: str) -> float:
    """Return `value` as a float; raise an error unless it is finite and at least zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number of at least zero is expected")
    return float(value)


def not_negative_int(value: object, name: str) -> int:
    """Return `value` as a Python int; raise an error unless it is an integer of at least zero."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name} is {value!r}, but an integer of at least 0 is expected")
    return int(value)


def random_generator(rng: object, name: str = "rng") -> np.random.Generator:
    """Return a generator of random numbers, from a seed, from a generator or from None."""
    is_seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool)
    if isinstance(rng, np.random.Generator):
        return rng
    if not (rng is None or is_seed):
        raise TypeError(
            f"{name} is {rng!r}, but an integer of at least 0, a numpy.random.Generator or None is "
            "expected"
        )
    if is_seed and rng < 0:  # type: ignore[operator]
        raise ValueError(f"{name} is {rng!r}, but a seed is an integer of at least 0")
    return np.random.default_rng(rng)  # type: ignore[arg-type]


def one_of(value: object, options: Iterable[str], name: str) -> None:
    """Raise a ValueError unless `value` is one of these words."""
    words = list(options)
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} is {value!r}, but {expected} is expected")


def one_real_series(values: NDArray, channels: int | None, given: str, what: str) -> None:
    """Raise a ValueError unless the samples are one real series, which what is given needs."""
    if values.ndim != 1 or channels is not None or np.iscomplexobj(values):
        kind = "complex " if np.iscomplexobj(values) else ""
        raise ValueError(
            f"{given} given, but the samples are {kind}of shape {values.shape}: {what} for one "
            "real series, so pass one column at a time"
        )


def first_given(arguments: Mapping[str, Any]) -> str | None:
    """The first of some arguments that is not None or False, as "name=value"; None if all are.

    Arrays and tables are given by their name alone.
    """
    given = (
        k if hasattr(v, "shape") and np.ndim(v) else f"{k}={v!r}"
        for k, v in arguments.items()
        if v is not None and v is not False
    )
    return next(given, None)


def boolean_array(values: Any, name: str) -> NDArray:
    """Return `values` as a NumPy array; raise a TypeError unless they are booleans."""
    host = to_numpy(as_array(values))
    if host.dtype.kind != "b":
        raise TypeError(f"{name} has dtype {host.dtype}, but a boolean array is expected")
    return host


def floating_array(values: Array, name: str) -> None:
    """Raise a TypeError unless an array is real or complex, in single or double precision."""
    if not is_floating(values):
        raise TypeError(
            f"{name} has dtype {values.dtype}, but a real or complex floating dtype of single or "
            "double precision is expected: convert it first, for example with astype(float)"
        )


def finite(values: Any, name: str) -> None:
    """Raise a ValueError if `values` contains NaN or inf."""
    array = as_array(values)
    xp = array_namespace(array)
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} contains NaN or inf, but finite numbers are expected")


def finite_or_missing(values: Any, name: str) -> None:
    """Raise a ValueError if `values` contains inf; NaN is a missing value."""
    array = as_array(values)
    xp = array_namespace(array)
    if bool(xp.any(xp.isinf(array))):
        raise ValueError(
            f"{name} contains inf, but finite numbers, or NaN where missing, are expected"
        )

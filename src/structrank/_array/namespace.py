"""Arrays of any library: namespaces, data types, and copies between libraries and devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace as namespace_of
from array_api_compat import (
    device,
    is_array_api_obj,
    is_cupy_array,
    is_jax_array,
    is_numpy_namespace,
    is_torch_array,
)
from array_api_compat import numpy as numpy_namespace

Array = Any
"""An array of any library that follows the Python array API standard."""

NDArray = npt.NDArray[Any]
"""A NumPy array of any data type."""


def array_namespace(*arrays: Array) -> Any:
    """Return the array API namespace of the arrays, fast if all are of NumPy or of PyTorch."""
    kind = type(arrays[0])
    if all(type(x) is kind for x in arrays):
        if kind is np.ndarray:
            return numpy_namespace
        if kind.__module__ == "torch":
            return _namespace_of_kind(kind, arrays[0])
    return namespace_of(*arrays)


_KNOWN: dict[type, Any] = {}


def _namespace_of_kind(kind: type, array: Array) -> Any:
    if kind not in _KNOWN:
        _KNOWN[kind] = namespace_of(array)
    return _KNOWN[kind]


def is_numpy_array(x: Any) -> bool:
    """Whether `x` is a NumPy array."""
    return isinstance(x, np.ndarray)


def as_array(x: Any) -> Array:
    """Return `x` itself if it is an array of a supported library, else a NumPy array."""
    return x if is_array_api_obj(x) else np.asarray(x)


def is_complex(x: Array) -> bool:
    """Whether `x` has a complex data type."""
    if isinstance(x.dtype, np.dtype):
        return bool(x.dtype.kind == "c")
    if hasattr(x.dtype, "is_complex"):  # PyTorch
        return bool(x.dtype.is_complex)
    return bool(array_namespace(x).isdtype(x.dtype, "complex floating"))


def is_floating(x: Array) -> bool:
    """Whether `x` is real or complex, in single or double precision."""
    if isinstance(x.dtype, np.dtype):
        return x.dtype in (np.float32, np.float64, np.complex64, np.complex128)
    xp = array_namespace(x)
    return x.dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128)


def real_dtype(x: Array) -> Any:
    """Return the data type of the real part of `x`."""
    return array_namespace(x).real(x).dtype if is_complex(x) else x.dtype


def epsilon(x: Array) -> float:
    """Return the machine epsilon of the data type of `x`."""
    return float(array_namespace(x).finfo(x.dtype).eps)


def conj(x: Array) -> Array:
    """Return the complex conjugate, or `x` itself if it is real."""
    return array_namespace(x).conj(x) if is_complex(x) else x


def like(values: NDArray | Sequence[Any], reference: Array, *, real: bool = False) -> Array:
    """Convert `values` to the library, device and data type of `reference`.

    With `real`, the data type is that of the real part of `reference`.
    """
    xp = array_namespace(reference)
    values = np.asarray(values)
    if values.dtype.kind in "fc":
        dtype = real_dtype(reference) if real else reference.dtype
    elif values.dtype.kind == "b":
        dtype = xp.bool
    else:
        dtype = xp.int64
    if is_numpy_namespace(xp):
        return values.astype(dtype, copy=False)
    if not _copies(reference, values):
        values = np.array(values)
    return xp.asarray(values, dtype=dtype, device=device(reference))


def limited_like(values: NDArray, reference: Array) -> Array:
    """Convert as `like` does; values beyond the range of the data type become its largest ones."""
    most = float(array_namespace(reference).finfo(reference.dtype).max) / 2  # so that abs is finite
    if np.iscomplexobj(values):
        real, imaginary = (np.clip(part, -most, most) for part in (values.real, values.imag))
        return like(real + 1j * imaginary, reference)
    return like(np.clip(values, -most, most), reference)


def _copies(reference: Array, values: NDArray) -> bool:
    """Whether an array is copied anyway, since it moves to a GPU."""
    moves = is_cupy_array(reference) or (is_torch_array(reference) and reference.is_cuda)
    return moves and values.flags.c_contiguous and values.flags.writeable


def in_single_precision(x: Array) -> Array:
    """Convert a real or complex array to single precision."""
    xp = array_namespace(x)
    return xp.astype(x, xp.complex64 if is_complex(x) else xp.float32, copy=False)


def in_double_precision(x: Array) -> Array:
    """Convert a real or complex array to double precision."""
    xp = array_namespace(x)
    return xp.astype(x, xp.complex128 if is_complex(x) else xp.float64, copy=False)


def with_precision(values: NDArray, reference: Array) -> Array:
    """Convert real or complex `values` to the library, device and precision of `reference`."""
    xp = array_namespace(reference)
    single = real_dtype(reference) == xp.float32
    kinds = (np.complex64, np.complex128) if values.dtype.kind == "c" else (np.float32, np.float64)
    values = values.astype(kinds[0 if single else 1], copy=False)
    return values if is_numpy_namespace(xp) else xp.asarray(values, device=device(reference))


def to_numpy(x: Array) -> NDArray:
    """Convert `x` to a NumPy array on the host."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "resolve_conj"):  # torch
        x = x.detach().resolve_conj().resolve_neg().cpu()
    elif is_cupy_array(x):
        return np.asarray(x.get())
    elif is_jax_array(x):
        return np.asarray(x)
    return np.asarray(np.from_dlpack(x) if hasattr(x, "__dlpack__") else x)

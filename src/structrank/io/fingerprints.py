"""Hashes of arrays and of what describes them: the same content, and nothing else, has the same."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .._array import NDArray


def digest_of(values: NDArray) -> str:
    """A hash of an array, as a setting."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).hexdigest()


def fingerprint_of(description: str, *arrays: NDArray) -> str:
    """A hash of a description and of arrays with their types and shapes."""
    digest = hashlib.blake2b(description.encode(), digest_size=16)
    for array in arrays:
        values: Any = np.ascontiguousarray(array)
        digest.update(f"{values.dtype} {values.shape}".encode())
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()

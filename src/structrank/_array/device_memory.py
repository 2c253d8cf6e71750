"""How much memory the device of an array has left."""

from __future__ import annotations

import sys
from typing import Any

from array_api_compat import is_cupy_array, is_jax_array, is_torch_array

from .namespace import Array


def free_memory(x: Array) -> float | None:
    """Bytes that are free on the GPU of an array; None on a processor, or if they are not known.

    What the library holds for later arrays counts as free.
    """
    if is_torch_array(x) and x.device.type == "cuda":
        cuda: Any = sys.modules["torch"].cuda
        unused = cuda.memory_reserved(x.device) - cuda.memory_allocated(x.device)
        return float(cuda.mem_get_info(x.device)[0] + unused)
    if is_cupy_array(x):
        pool: Any = sys.modules["cupy"].get_default_memory_pool()
        return float(x.device.mem_info[0] + pool.free_bytes())
    if is_jax_array(x):
        known = next(iter(x.devices())).memory_stats() or {}
        if "bytes_limit" in known:
            return float(known["bytes_limit"] - known["bytes_in_use"])
    return None

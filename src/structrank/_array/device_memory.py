"""How much memory the device of an array has left, and what is said when it has none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that an array did not fit into the memory, of a GPU or not."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True  # the second one is PyTorch's
    # JAX, and libraries of NVIDIA such as cuFFT
    return any(code in str(error) for code in ("RESOURCE_EXHAUSTED", "ALLOC_FAILED"))


@contextmanager
def memory_advice(advice: Callable[[], str]) -> Iterator[None]:
    """Say what to change if memory runs out inside, as a note of the error, which is not changed.

    Parameters
    ----------
    advice : callable
        Returns what to change. The innermost advice is the one that is given.

    Examples
    --------
    >>> from structrank._array.device_memory import memory_advice
    >>> try:
    ...     with memory_advice(lambda: "use fewer samples"):
    ...         raise MemoryError("8 GB")
    ... except MemoryError as error:
    ...     print(error, error.__notes__)
    8 GB ['structrank ran out of memory: use fewer samples']
    """
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error) and not getattr(error, "__notes__", ()):
            error.add_note(f"structrank ran out of memory: {advice()}")
        raise

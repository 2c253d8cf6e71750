"""The memory allocator of a Dask worker."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Allocator:
    """What the allocator of glibc keeps for later.

    Attributes
    ----------
    kept : int
        Bytes of freed memory that stay with the process; the arrays of a patch take less.
    largest : int
        Largest array that is taken from it, in bytes: the most that glibc allows.
    """

    kept: int = 2**28
    largest: int = 2**25


@cache
def keep_freed_memory(allocator: Allocator = Allocator()) -> None:
    """Undo a setting of Dask for this process, if it is a worker of Dask on Linux.

    Dask makes its workers return freed memory to the system at once. A fit allocates and frees the
    same arrays hundreds of times, which then takes longer than the fit itself.
    """
    if sys.platform != "linux" or "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return  # Dask sets it, on all systems
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3  # numbers of the options in malloc.h
        mallopt(trim_threshold, allocator.kept)
        mallopt(mmap_threshold, allocator.largest)

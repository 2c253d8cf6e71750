"""How much memory a file may ask for; checked before anything is unpacked."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .table import FileError

UNITS = {"": 1, "b": 1} | {
    f"{letter}{end}": base**power
    for power, letter in enumerate("kmgt", 1)
    for end, base in (("b", 1000), ("ib", 1024), ("", 1000))
}
SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([a-z]*)")
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # the limit of a container on Linux


@dataclass(frozen=True)
class Sizes:
    """What counts against the limit.

    Parameters
    ----------
    share : float
        The limit, as a share of the memory of the machine. Chosen: the other half is for the work.
    unknown : float
        The limit in bytes where the system does not tell its memory. Chosen: half of a small
        laptop.
    cell : float
        Bytes per cell of a table that is read as text. Measured: 143 to 202 with several columns.
    """

    share: float = 0.5
    unknown: float = 4e9
    cell: float = 200.0


class SizeLimit:
    """The most memory that the content of a file may take.

    Parameters
    ----------
    max_size : str or number, optional
        Bytes, or a size such as "2GB". Default: half of the memory of the machine.
    sizes : Sizes, optional

    Examples
    --------
    >>> from structrank.io.limits import SizeLimit
    >>> SizeLimit("1kB").check(5000)
    Traceback (most recent call last):
    structrank.io.table.FileError: it would take 5 kB of memory, but at most 1 kB are allowed: if
    the file is trusted, allow more (--max-size 5001B, max_size=5001)
    """

    def __init__(self, max_size: str | float | None = None, sizes: Sizes = Sizes()) -> None:
        self.sizes = sizes
        self.most = _default(sizes) if max_size is None else _bytes(max_size)

    def check(self, count: float, *, or_more: bool = False) -> None:
        """Raise an error if so many bytes are too many; `or_more` if the whole is not known."""
        if count > self.most:
            enough = (2 if or_more else 1) * math.floor(count) + 1
            more = "more than " if or_more else ""
            raise FileError(
                f"it would take {more}{size_words(count)} of memory, but at most "
                f"{size_words(self.most)} are allowed: if the file is trusted, allow more "
                f"(--max-size {enough}B, max_size={enough})"
            )

    def check_array(self, shape: Sequence[int], dtype: Any, chunk: Sequence[int] = ()) -> None:
        """Raise an error if an array of numbers, as it is read, would be too large.

        A chunk of it may be larger, and is unpacked whole.
        """
        kind = np.dtype(dtype)
        single = kind.kind == "f" and kind.itemsize <= 4
        count = max(math.prod(map(int, shape)), math.prod(map(int, chunk)))
        self.check(count * (4 if single else max(8, kind.itemsize)))

    def check_cells(self, count: float) -> None:
        """Raise an error if so many cells of a table would be too many."""
        self.check(count * self.sizes.cell)


def size_words(count: float) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}"


def _bytes(size: str | float) -> float:
    found = SIZE.fullmatch(str(size).strip().lower()) if isinstance(size, str) else None
    count = math.nan
    if found is not None and found[2] in UNITS:
        count = float(found[1]) * UNITS[found[2]]
    elif isinstance(size, (int, float, np.integer, np.floating)) and not isinstance(size, bool):
        with suppress(OverflowError):
            count = float(size)
    if not 0 < count < math.inf:
        raise FileError(
            f'max_size is {size!r}, but a number of bytes above zero, or a size such as "500MB" or '
            '"2GB", is expected'
        )
    return count


def _default(sizes: Sizes) -> float:
    """A share of the memory of the machine, or of the container."""
    memory = machine_memory()
    return sizes.unknown if memory is None else sizes.share * memory


def machine_memory() -> float | None:
    """Bytes of memory of the machine, or of the container; None if the system does not tell."""
    try:
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    with suppress(OSError, ValueError):  # no container, or one without a limit
        memory = min(memory, float(CONTAINER.read_text()))
    return memory

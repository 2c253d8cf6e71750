"""Gaussian vectors, and work on pieces of large arrays on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .._array import Array, NDArray, is_complex, like, with_precision
from .sample_range import is_single

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True)
class LargeVectors:
    """From which sizes on threads are used. Results do not depend on their number."""

    drawn: int = 2**20  # random numbers: below, a transform takes longer than they do
    hashed: int = 2**22  # entries of a hash
    piece: int = 2**18  # entries per task, which fit into the cache of a core
    threads: int = 16  # more do not help; containers may show more cores than they have


LARGE = LargeVectors()


def gaussian(size: int, reference: Array, generator: np.random.Generator) -> Array:
    """Draw a Gaussian vector in the library, device and data type of `reference`.

    Pieces of a large one have generators of their own, whose seed is drawn from the given one.
    """
    if size < LARGE.drawn:
        values = generator.standard_normal(size)
        if is_complex(reference):
            values = values + 1j * generator.standard_normal(size)
        return like(values, reference)
    numbers = np.empty(
        2 * size if is_complex(reference) else size,
        dtype=np.float32 if is_single(reference) else np.float64,
    )
    _fill(numbers, generator)
    kind = np.complex64 if is_single(reference) else np.complex128
    return with_precision(numbers.view(kind) if is_complex(reference) else numbers, reference)


def _fill(numbers: NDArray, generator: np.random.Generator) -> None:
    """Overwrite an array with Gaussian numbers."""
    firsts = range(0, numbers.size, LARGE.piece)
    words = generator.integers(2**32, size=8)
    seeds = np.random.SeedSequence([int(word) for word in words]).spawn(len(firsts))

    def one(task: tuple[int, np.random.SeedSequence]) -> None:
        first, seed = task
        part = numbers[first : first + LARGE.piece]
        np.random.default_rng(seed).standard_normal(out=part, dtype=part.dtype)

    on_threads(one, zip(firsts, seeds, strict=True))


def on_threads(task: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Run a task on all items, on several threads; results have the order of the items."""
    items = list(items)
    if len(items) < 2:
        return [task(item) for item in items]
    with ThreadPoolExecutor(min(os.cpu_count() or 1, LARGE.threads)) as pool:
        return list(pool.map(task, items))

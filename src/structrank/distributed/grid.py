"""Overlapping patches of a volume, and the weights with which they are blended."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import NDArray
from .._checks import not_negative_int, positive_int

Box = tuple[slice, ...]
"""A part of a volume: one slice per axis, with start and stop."""


@dataclass(frozen=True)
class Grid:
    """Patches of one size that cover a volume; the last one along an axis ends with the axis.

    Parameters
    ----------
    shape : tuple of int
        Of the volume.
    patch : tuple of int
        Size of a patch, at most the shape.
    overlap : tuple of int
        What neighbours share, below the size of a patch. The last two patches along an axis may
        share more.

    Examples
    --------
    >>> from structrank.distributed.grid import Grid
    >>> grid = Grid(shape=(10,), patch=(4,), overlap=(1,))
    >>> [grid.box(k) for k in range(len(grid))]
    [(slice(0, 4, None),), (slice(3, 7, None),), (slice(6, 10, None),)]
    >>> grid.weights(1)[0].round(2)
    array([0.5, 1. , 1. , 0.5])
    """

    shape: tuple[int, ...]
    patch: tuple[int, ...]
    overlap: tuple[int, ...]

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        patch: int | tuple[int, ...],
        overlap: int | tuple[int, ...] | None,
    ) -> Grid:
        """Check the sizes that a user gives; -1 is a whole axis, and a quarter may overlap."""
        sizes = [
            length if size == -1 else min(positive_int(size, "patch"), length)
            for size, length in zip(_per_axis(patch, shape, "patch"), shape, strict=True)
        ]
        if overlap is None:
            return cls(shape, tuple(sizes), tuple(size // 4 for size in sizes))
        shared = [not_negative_int(o, "overlap") for o in _per_axis(overlap, shape, "overlap")]
        for axis, (o, size, length) in enumerate(zip(shared, sizes, shape, strict=True)):
            if size < length and o >= size:
                raise ValueError(
                    f"overlap is {o} along axis {axis}, but patches have {size} samples there: a "
                    "smaller overlap is expected"
                )
        return cls(shape, tuple(sizes), tuple(shared))

    @cached_property
    def starts(self) -> tuple[tuple[int, ...], ...]:
        """Where patches start along each axis."""
        return tuple(map(_starts, self.shape, self.patch, self.overlap))

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of patches along each axis."""
        return tuple(map(len, self.starts))

    def __len__(self) -> int:
        return int(np.prod(self.counts))

    def place(self, k: int) -> tuple[int, ...]:
        """Return the number of a patch along each axis."""
        return tuple(int(i) for i in np.unravel_index(k, self.counts))

    def box(self, k: int) -> Box:
        """Return where a patch lies."""
        begins = (starts[i] for starts, i in zip(self.starts, self.place(k), strict=True))
        return tuple(slice(s, s + size) for s, size in zip(begins, self.patch, strict=True))

    def weights(self, k: int) -> list[NDArray]:
        """Return the weight of a patch along each axis: their product falls towards its edges.

        It falls like the square of a cosine over what the patch shares with its neighbour, and not
        at all where it has none, so that regular patches have weights with sum one.
        """
        ramps = []
        for starts, i, size in zip(self.starts, self.place(k), self.patch, strict=True):
            weight = np.ones(size)
            if i > 0:
                weight *= _ramp(size, starts[i - 1] + size - starts[i])
            if i + 1 < len(starts):
                weight *= _ramp(size, starts[i] + size - starts[i + 1])[::-1]
            ramps.append(weight)
        return ramps

    def touching(self, box: Box) -> list[int]:
        """Return the patches that share samples with a part of the volume, in order."""
        along = [
            [i for i, s in enumerate(starts) if s < part.stop and s + size > part.start]
            for starts, size, part in zip(self.starts, self.patch, box, strict=True)
        ]
        places = np.ravel_multi_index(np.ix_(*along), self.counts)
        return [int(k) for k in places.reshape(-1)]


def blocks(shape: tuple[int, ...], sizes: tuple[int, ...]) -> list[Box]:
    """Cut a volume into blocks that do not overlap."""
    along = (
        [slice(s, min(s + size, length)) for s in range(0, length, size)]
        for length, size in zip(shape, sizes, strict=True)
    )
    return list(itertools.product(*along))


def _per_axis(value: int | tuple[int, ...], shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    values = value if isinstance(value, Sequence) else (value,) * len(shape)
    if len(values) != len(shape):
        raise ValueError(
            f"{name} is {value}, but the source has shape {shape}: one number, or one per axis, is "
            "expected"
        )
    return tuple(values)


def _starts(length: int, size: int, overlap: int) -> tuple[int, ...]:
    if size >= length:
        return (0,)
    return (*range(0, length - size, size - overlap), length - size)


def _ramp(size: int, shared: int) -> NDArray:
    """The square of a sine that rises over the first samples, and ones."""
    position = (np.arange(size) + 0.5) / max(shared, 1)
    return np.where(position < 1, np.sin(np.pi / 2 * np.minimum(position, 1)) ** 2, 1.0)

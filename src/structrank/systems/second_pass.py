"""The second pass over a record: all chunks again, now from the states that the record implies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._array import NDArray
from .boundaries import Boundaries
from .chunks import Chunks, Gaussian, Records
from .lockstep import Stretches, Tape, filtered


class SecondPass:
    """Groups of chunks, each with its data, its filter pass, and r and N at its end.

    One group is kept at a time. So the memory does not grow with the record.
    """

    def __init__(self, model: Gaussian, records: Records) -> None:
        self.chunks = Chunks(model, records)
        self.boundaries = Boundaries(self.chunks)
        self.boundaries.check_determined()

    def groups(self) -> list[slice]:
        """Chunks that are filtered together.

        Those at the start have more columns: they are alone if that saves time.
        """
        unsure = self.boundaries.unsure
        if not unsure or 4 * self.chunks.count <= self.chunks.together:
            return self.chunks.groups()
        return [slice(0, unsure), *self.chunks.groups(unsure)]

    def __iter__(self) -> Iterator[tuple[slice, Stretches, Tape, NDArray, NDArray]]:
        for group in self.groups():
            data = self.chunks.stretches(group)
            tape = filtered(data, *self.boundaries.begin(group), keep=True)
            yield group, data, tape, *self.boundaries.finish(group)

    def write(self, values: NDArray, group: slice, into: NDArray) -> None:
        """Write (steps, ..., stretches) of a group into (T, ..., M)."""
        length, M = self.chunks.length, self.chunks.shape[2]
        parts = np.moveaxis(values.reshape(*values.shape[:-1], -1, M), -2, 0)
        parts = parts.reshape(-1, *parts.shape[2:])
        begin, end = group.start * length, min(group.stop * length, len(into))
        into[begin:end] = parts[: end - begin]

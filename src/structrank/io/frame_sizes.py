"""Sizes of Parquet and Feather files, found before they are unpacked."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from .arrays import require
from .limits import SizeLimit


def check_parquet(path: Path, limit: SizeLimit) -> None:
    """Raise an error if a Parquet file would take too much memory."""
    with require("pyarrow.parquet").ParquetFile(path) as file:
        about = file.metadata
        limit.check(path.stat().st_size)
        groups = (about.row_group(k) for k in range(about.num_row_groups))
        limit.check(sum(group.total_byte_size for group in groups))
        limit.check_cells(about.num_rows * about.num_columns)


def check_feather(path: Path, limit: SizeLimit) -> None:
    """Raise an error if a Feather file would take too much memory."""
    ipc = require("pyarrow.ipc")
    mark = b"ARROW1\0\0"
    limit.check(path.stat().st_size)
    with path.open("rb") as file:
        if file.read(len(mark)) != mark:  # the first version, which is not compressed
            limit.check_cells(path.stat().st_size / 8)
            return
        reader = ipc.MessageReader.open_stream(file)
        rows = columns = size = 0
        for message in reader:
            if message.type == "schema":
                columns = len(ipc.read_schema(message))
                continue
            batch = _Batch(message.metadata.to_pybytes(), message.type)
            rows += batch.rows() if message.type == "record batch" else 0
            size += batch.unpacked_size(message.body)
        limit.check(size)
        limit.check_cells(rows * columns)


class _Batch:
    """The header of a batch of rows, or of a dictionary; it is made of FlatBuffers tables.

    Parameters
    ----------
    message : bytes
    kind : str
        "record batch" or "dictionary".
    """

    def __init__(self, message: bytes, kind: str) -> None:
        self.message = message
        self.table = self._behind(self._field(self._behind(0), 2))  # version, type, header
        if kind == "dictionary":
            self.table = self._behind(self._field(self.table, 1))  # its number, its batch

    def rows(self) -> int:
        """The number of rows."""
        return self._number("<q", self._field(self.table, 0))

    def unpacked_size(self, body: Any) -> int:
        """Bytes of its buffers; one that is compressed starts with its size, or with -1."""
        buffers = self._behind(self._field(self.table, 2))
        is_packed = self._field(self.table, 3) != self.table
        size = 0
        for k in range(self._number("<I", buffers)):
            start, length = struct.unpack_from("<qq", self.message, buffers + 4 + 16 * k)
            unpacked = -1
            if is_packed and length > 0:
                (unpacked,) = struct.unpack_from("<q", body, start)
            size += length if unpacked == -1 else unpacked
        return size

    def _number(self, kind: str, place: int) -> int:
        return int(struct.unpack_from(kind, self.message, place)[0])

    def _field(self, table: int, position: int) -> int:
        """Where a field of a table is: two bytes each in a list of distances, 0 if it is absent."""
        distances = table - self._number("<i", table)
        last = distances + self._number("<H", distances)
        place = distances + 4 + 2 * position
        return table + (self._number("<H", place) if place < last else 0)

    def _behind(self, place: int) -> int:
        return place + self._number("<I", place)

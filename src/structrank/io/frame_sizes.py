"""Rows and columns of Excel, Parquet and Feather files, found before they are unpacked."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

from .arrays import require
from .limits import SizeLimit

PLACE = re.compile(rb"\sr=[\"']([A-Z]{0,3})([0-9]{1,9})[\"']")  # of a cell or a row of a sheet


def check_excel(path: Path, limit: SizeLimit) -> None:
    """Raise an error if the sheets of an Excel file would take too much memory."""
    piece = 1 << 20  # bytes that are unpacked at a time
    with zipfile.ZipFile(path) as file:
        limit.check(sum(part.file_size for part in file.infolist()))
        for part in file.infolist():
            if not part.filename.startswith("xl/worksheets/"):
                continue
            rows = columns = 0
            rest = b""
            with file.open(part) as sheet:
                while data := sheet.read(piece):
                    for letters, number in PLACE.findall(rest + data):
                        rows = max(rows, int(number))
                        columns = max(columns, _column(letters))
                    rest = data[-24:]  # a place may continue in the next piece
            limit.check_cells(rows * columns)


def _column(letters: bytes) -> int:
    """The number of a column from its letters, from 1; 0 without letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def check_parquet(path: Path, limit: SizeLimit) -> None:
    """Raise an error if a Parquet file would take too much memory."""
    with require("pyarrow.parquet").ParquetFile(path) as file:
        about = file.metadata
        groups = (about.row_group(k) for k in range(about.num_row_groups))
        limit.check(sum(group.total_byte_size for group in groups))
        limit.check_cells(about.num_rows * about.num_columns)


def check_feather(path: Path, limit: SizeLimit) -> None:
    """Raise an error if a Feather file would take too much memory."""
    ipc = require("pyarrow.ipc")
    mark = b"ARROW1\0\0"
    with path.open("rb") as file:
        if file.read(len(mark)) != mark:  # the first version, which is not compressed
            limit.check_cells(path.stat().st_size / 8)
            return
        reader = ipc.MessageReader.open_stream(file)
        rows = columns = 0
        for message in reader:
            if message.type == "schema":
                columns = len(ipc.read_schema(message))
            elif message.type == "record batch":
                rows += _batch_rows(message.metadata.to_pybytes())
        limit.check_cells(rows * columns)


def _batch_rows(message: bytes) -> int:
    """The number of rows that the header of a batch names; it is a FlatBuffers table."""

    def field(table: int, position: int) -> int:
        """Where a field of a table is; fields have two bytes each in a table of offsets."""
        offsets = table - struct.unpack_from("<i", message, table)[0]
        return table + int(struct.unpack_from("<H", message, offsets + 4 + 2 * position)[0])

    def behind(place: int) -> int:
        return place + int(struct.unpack_from("<I", message, place)[0])

    batch = behind(field(behind(0), 2))  # version, type of header, header
    return int(struct.unpack_from("<q", message, field(batch, 0))[0])

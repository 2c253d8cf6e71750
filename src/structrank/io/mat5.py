"""MAT files of version 5: their arrays of numbers.

SciPy's reader believes the sizes and types that such a file names, and crashes if they are wrong.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from .table import FileError

START = 128  # bytes of text and version before the first element; the last two tell the byte order
ORDERS = {b"IM": "<", b"MI": ">"}
INT32, UINT32, MATRIX, COMPRESSED = 5, 6, 14, 15
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8"]
NUMBERS = dict(zip((1, 2, 3, 4, 5, 6, 7, 9, 12, 13), TYPES, strict=True))
CLASSES = {number: "f8" for number in range(6, 16)} | {7: "f4"}  # whole numbers in double
COMPLEX = 1 << 11  # among the flags of an array
MOST_AXES = 64  # of a NumPy array
MOST_LETTERS = 4096  # of a name. MATLAB: 63


class _Stream(Protocol):
    def read(self, count: int, /) -> bytes: ...


class _Unpacked:
    """The content of a compressed element, unpacked as far as it is read."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left, self._packed = file, size, b""
        self._unpacking = zlib.decompressobj()

    def read(self, count: int, /) -> bytes:
        piece = 1 << 16  # packed bytes that are read at a time
        found = bytearray()
        while len(found) < count:
            if not self._packed:
                self._packed = self._file.read(min(piece, self._left))
                self._left -= len(self._packed)
            given = self._packed
            found += self._unpacking.decompress(given, count - len(found))
            self._packed = self._unpacking.unconsumed_tail
            if self._unpacking.eof or (not given and not self._packed):
                break
        return bytes(found)


@dataclass(frozen=True)
class Stored:
    """An array of numbers in a file: where it starts, and what it becomes."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


def stored_arrays(path: Path) -> dict[str, Stored]:
    """The arrays of numbers in a file, by their names; no values are read."""
    size = path.stat().st_size
    found: dict[str, Stored] = {}
    with path.open("rb") as file:
        order = _order(file)
        start = START
        while start < size:
            file.seek(start)
            end = start + 8 + _tag(file, order)[1]
            if end > size:
                raise _damaged("an array reaches beyond its end")
            header = _header(_matrix(file, order, start), order)
            if header is not None:
                name, shape, dtype = header
                found[name] = Stored(start, shape, dtype)
            start = end
    return found


def read_stored(path: Path, array: Stored) -> np.ndarray:
    """The values of an array."""
    with path.open("rb") as file:
        order = _order(file)
        stream = _matrix(file, order, array.start)
        _header(stream, order)
        real = np.zeros((), array.dtype).real.dtype
        values = _part(stream, order, array.shape).astype(real)
        if array.dtype.kind == "c":
            values = values + 1j * _part(stream, order, array.shape).astype(real)
        stream.read(8)  # up to the checksum, if it is compressed
    return values.reshape(array.shape, order="F")


def _order(file: IO[bytes]) -> str:
    order = ORDERS.get(file.read(START)[-2:])
    if order is None:
        raise _damaged("its start does not tell the order of bytes")
    return order


def _matrix(file: IO[bytes], order: str, start: int) -> _Stream:
    """What is in the element of an array, unpacked if it is compressed."""
    file.seek(start)
    kind, size = _tag(file, order)
    stream: _Stream = file
    if kind == COMPRESSED:
        stream = _Unpacked(file, size)
        kind, _ = _tag(stream, order)
    if kind != MATRIX:
        raise _damaged(f"an element of type {kind} is where an array is expected")
    return stream


def _header(stream: _Stream, order: str) -> tuple[str, tuple[int, ...], np.dtype] | None:
    """Name, shape and type of an array; None if it does not hold numbers."""
    kind, content = _element(stream, order, 8)
    if kind != UINT32 or len(content) != 8:
        raise _damaged("the flags of an array are missing")
    flags = struct.unpack(order + "I", content[:4])[0]
    if flags & 0xFF not in CLASSES:  # text, cells, structs, sparse matrices, objects
        return None
    kind, content = _element(stream, order, 4 * MOST_AXES)
    if kind not in (INT32, UINT32) or len(content) % 4:
        raise _damaged("the shape of an array is missing")
    shape = tuple(np.frombuffer(content, order + "i4").tolist())
    if min(shape, default=-1) < 0:
        raise _damaged(f"an array has the shape {shape}")
    _, name = _element(stream, order, MOST_LETTERS)
    if not name:  # the workspace of functions
        return None
    dtype = np.dtype(CLASSES[flags & 0xFF])
    return name.decode("latin-1"), shape, np.result_type(dtype, "c8") if flags & COMPLEX else dtype


def _part(stream: _Stream, order: str, shape: tuple[int, ...]) -> np.ndarray:
    """The real or the imaginary parts of an array."""
    count = math.prod(shape)
    kind, content = _element(stream, order, 8 * count)
    if kind not in NUMBERS or len(content) != count * int(NUMBERS[kind][1]):
        raise _damaged(f"the values of an array of shape {shape} are not there")
    return np.frombuffer(content, order + NUMBERS[kind])


def _element(stream: _Stream, order: str, most: int) -> tuple[int, bytes]:
    """The type and the content of the next element, which has at most so many bytes."""
    tag = _exactly(stream, 8)
    kind, size = struct.unpack(order + "II", tag)
    small = kind >> 16  # its size: then the content is in the second half
    if small:
        kind, size, most = kind & 0xFFFF, small, min(most, 4)
    if size > most:
        raise _damaged(f"an element has {size} bytes where at most {most} are expected")
    if small:
        return kind, tag[4 : 4 + size]
    content = _exactly(stream, size)
    stream.read(-size % 8)  # zeros
    return kind, content


def _tag(stream: _Stream, order: str) -> tuple[int, int]:
    """The type and the size of the next element."""
    kind, size = struct.unpack(order + "II", _exactly(stream, 8))
    return kind, size


def _exactly(stream: _Stream, count: int) -> bytes:
    content = stream.read(count)
    if len(content) != count:
        raise _damaged("it ends inside an array")
    return content


def _damaged(what: str) -> FileError:
    return FileError(f"it is no complete MAT file: {what}")

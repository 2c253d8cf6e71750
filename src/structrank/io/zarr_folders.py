"""Zarr arrays and groups in folders; nothing outside the folder is read."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import check_unnamed, chosen, is_numeric, numbers, require
from .limits import SizeLimit
from .places import check_inside, everything_in
from .table import FileError, Table


def read_zarr(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read a Zarr array, or one array of a Zarr group; chunks that are not there are missing."""
    array, name = open_zarr(path, variable)
    return _read(path, array, name, limit)


def open_zarr(path: Path, variable: str | None) -> tuple[Any, str | None]:
    """Open a Zarr array, or one array of a Zarr group, without reading it; return its name, too."""
    zarr = require("zarr")
    check_inside(path, everything_in(path))
    # Metadata gathered in one file could name arrays outside the folder.
    opened = zarr.open(path, mode="r", use_consolidated=False)
    if isinstance(opened, zarr.Array):
        check_unnamed(variable, "Zarr array")
        if not is_numeric(opened):
            raise FileError(f"its entries are {opened.dtype}, not numbers")
        return opened, None
    arrays = {
        name: member
        for name, member in opened.members(max_depth=None, use_consolidated_for_children=False)
        if isinstance(member, zarr.Array) and is_numeric(member)
    }
    name = chosen(
        {name: array.shape for name, array in arrays.items()}, variable and variable.strip("/")
    )
    return arrays[name], name


def read_region(path: Path, array: Any, box: tuple[slice, ...]) -> np.ndarray:
    """Read a part of an array, with NaN where chunks are not in the folder."""
    values = numbers(array[box])
    sizes = array.shards or array.chunks
    touched = [range(s.start // n, -(-s.stop // n)) for s, n in zip(box, sizes, strict=True)]
    for place in _absent(path, array, touched):
        chunk = zip(place, sizes, box, strict=True)
        inside = ((max(k * n - s.start, 0), (k + 1) * n - s.start) for k, n, s in chunk)
        values[tuple(slice(*ends) for ends in inside)] = np.nan
    return values


def _absent(path: Path, array: Any, places: list[range]) -> list[tuple[int, ...]]:
    """Which of these chunks are not in the folder."""
    return [
        place
        for place in itertools.product(*places)
        if not (path / array.path / array.metadata.encode_chunk_key(place)).is_file()
    ]


def _read(path: Path, array: Any, name: str | None, limit: SizeLimit) -> Table:
    """The values, with NaN where chunks are not in the folder."""
    sizes = array.shards or array.chunks
    limit.check_array(array.shape, array.dtype, sizes)
    counts = [-(-length // size) for length, size in zip(array.shape, sizes, strict=True)]
    limit.check_cells(np.prod(counts, dtype=float))
    gone = _absent(path, array, [range(count) for count in counts])
    values = numbers(array[...])
    for place in gone:
        values[tuple(slice(k * n, (k + 1) * n) for k, n in zip(place, sizes, strict=True))] = np.nan
    notes: tuple[str, ...] = ()
    if gone:
        notes = (
            f"{len(gone)} of {np.prod(counts)} chunks are not in the folder; their values were "
            f"read as missing (if chunks of the fill value {array.fill_value} were left out on "
            "purpose, fill the missing values with it)",
        )
    return Table(values, variable=name, notes=notes)


def write_zarr(path: Path, table: Table) -> None:
    """Write a Zarr array, or a group with one array if the table has a variable name.

    It is made in memory first: threads of Zarr go on writing after Ctrl-C.
    """
    zarr = require("zarr")
    made: dict[str, Any] = {}
    store = zarr.storage.MemoryStore(made)
    every = {"write_empty_chunks": True}  # a chunk that is not there is missing
    if table.variable is None:
        zarr.create_array(store, data=table.values, config=every)
    else:
        zarr.create_group(store).create_array(table.variable, data=table.values, config=every)
    for name, content in made.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.to_bytes())

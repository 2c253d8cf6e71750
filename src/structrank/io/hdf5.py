"""HDF5 files, and MAT files of version 7.3; no other file is read through them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import MATLAB_NUMBERS, VARIABLE, chosen, is_numeric, numbers, require
from .limits import SizeLimit
from .table import FileError, Table

ELSEWHERE = "which is refused, since a file could show others in this way: copy the values into it"


def read_hdf5(path: Path, variable: str | None, limit: SizeLimit, *, matlab: bool = False) -> Table:
    """Read one array of an HDF5 file; its name is its path inside the file."""
    h5py = require("h5py")
    with h5py.File(path, "r") as file:
        arrays: dict[str, Any] = {}
        links: list[str] = []

        def visit(name: str, link: Any) -> None:
            if isinstance(link, h5py.ExternalLink):
                links.append(name)
                return
            if isinstance(link, h5py.SoftLink):
                return
            item = file[name]
            if isinstance(item, h5py.Dataset) and is_numeric(item) and item.shape is not None:
                arrays[name] = item

        file.visititems_links(visit)
        if matlab:
            arrays = {n: a for n, a in arrays.items() if _is_matlab_number(n, a)}
        name = None if variable is None else _followed(h5py, file, variable.strip("/"))
        if name is None and links and not arrays:
            raise FileError(f'"{links[0]}" is a link to another file, {ELSEWHERE}')
        name = chosen(
            {name: array.shape[:: -1 if matlab else 1] for name, array in arrays.items()}, name
        )
        _check_inside(name, arrays[name])
        array = arrays[name]
        limit.check_array(array.shape, _number_type(array.dtype), array.chunks or ())
        values = numbers(array[()])
    if matlab:  # arrays are stored by columns
        values = np.ascontiguousarray(np.squeeze(values.T))
    return Table(values, variable=name)


def _followed(h5py: Any, file: Any, name: str) -> str:
    """The name behind soft links; an error if it leaves the file."""
    most = 16  # links after each other, so that circles end
    for _ in range(most):
        parts = name.split("/")
        for k in range(1, len(parts) + 1):
            above = "/".join(parts[:k])
            try:
                link = file.get(above, getlink=True)
            except (KeyError, ValueError, RuntimeError):
                return name  # it does not exist
            if isinstance(link, h5py.ExternalLink):
                raise FileError(f'"{above}" is a link to another file, {ELSEWHERE}')
            if isinstance(link, h5py.SoftLink):
                start = "" if link.path.startswith("/") else "/".join(parts[: k - 1])
                name = "/".join(filter(None, (start, link.path.strip("/"), *parts[k:])))
                break
        else:
            return name
    raise FileError(f'"{name}" is a link that leads to itself')


def _check_inside(name: str, array: Any) -> None:
    """Raise an error if the values of an array are in other files."""
    if array.external:
        raise FileError(f'"{name}" keeps its values in another file, {ELSEWHERE}')
    if array.is_virtual:
        raise FileError(f'"{name}" is a virtual array of values elsewhere, {ELSEWHERE}')


def _number_type(dtype: np.dtype) -> np.dtype:
    """The data type in which numbers are read: MATLAB's pairs (real, imag) are complex."""
    return np.dtype(np.complex128) if dtype.names == ("real", "imag") else dtype


def _is_matlab_number(name: str, array: Any) -> bool:
    kind = array.attrs.get("MATLAB_class", b"")
    empty = array.attrs.get("MATLAB_empty", 0)
    return not name.startswith("#") and not empty and kind.decode() in MATLAB_NUMBERS


def write_hdf5(path: Path, table: Table) -> None:
    """Write the values, under their name, to an HDF5 file.

    It is made in memory first: the library of HDF5 crashes if the disk is full.
    """
    made = BytesIO()
    with require("h5py").File(made, "w") as file:
        file[table.variable or VARIABLE] = table.values
    with path.open("wb") as stream:
        stream.write(made.getbuffer())

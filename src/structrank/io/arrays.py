"""Arrays in binary files: one reader and one writer per format."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .table import FileError, Table

VARIABLE = "values"  # the name under which an array without a name is written
MATLAB_NUMBERS = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def require(module: str) -> Any:
    """Import an optional package, or raise an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'this file format needs {module}: pip install "structrank[files]"'
        ) from error


def chosen(arrays: Mapping[str, tuple[int, ...]], variable: str | None) -> str:
    """Choose an array of a file, given the shapes of all its arrays.

    Without a `variable` it is the only array with more than one entry.
    """
    if variable is not None:
        if variable not in arrays:
            raise FileError(f'no array "{variable}": there are {_listed(arrays)}')
        return variable
    large = {name: shape for name, shape in arrays.items() if np.prod(shape) > 1}
    if not large:
        rest = f", only {_listed(arrays)}" if arrays else ""
        raise FileError(f"it contains no array of numbers{rest}")
    if len(large) > 1:
        raise FileError(
            f"it contains several arrays: name one of {_listed(large)} (--variable, variable=...)"
        )
    return next(iter(large))


def _listed(arrays: Mapping[str, tuple[int, ...]]) -> str:
    sizes = {name: " x ".join(map(str, shape)) for name, shape in arrays.items()}
    about = (f'"{name}"' + (f" ({size})" if size else "") for name, size in sizes.items())
    return ", ".join(about) or "none"


def _unnamed(variable: str | None, format: str) -> None:
    if variable is not None:
        raise FileError(
            f'there is no array "{variable}": a {format} file contains one, without a name'
        )


# -- NumPy ------------------------------------------------------------------------------


def read_npy(path: Path, variable: str | None) -> Table:
    """Read the array in an NPY file."""
    _unnamed(variable, "NPY")
    with path.open("rb") as file, _objects_refused():
        values = np.lib.format.read_array(file, allow_pickle=False)
    return Table(numbers(values))


def write_npy(path: Path, table: Table) -> None:
    """Write the values to an NPY file."""
    with path.open("wb") as file:
        np.save(file, table.values, allow_pickle=False)


def read_npz(path: Path, variable: str | None) -> Table:
    """Read one array of an NPZ file."""
    with zipfile.ZipFile(path) as file:
        names = [n.removesuffix(".npy") for n in file.namelist() if n.endswith(".npy")]
    with _objects_refused(), np.load(path, allow_pickle=False) as file:
        if variable is not None:
            chosen(dict.fromkeys(names, ()), variable)
            names = [variable]
        loaded = {name: file[name] for name in names}
    name = variable or chosen({n: a.shape for n, a in loaded.items() if _is_numeric(a)}, None)
    return Table(numbers(loaded[name]), variable=name)


@contextmanager
def _objects_refused() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise FileError(
            "it contains pickled Python objects, which are refused because loading them can run "
            "any code: save arrays of numbers, or name one of them"
        ) from error


def write_npz(path: Path, table: Table) -> None:
    """Write the values, under their name, to an NPZ file."""
    with path.open("wb") as file:
        np.savez(file, **{table.variable or VARIABLE: table.values})  # type: ignore[arg-type]


# -- MATLAB -----------------------------------------------------------------------------


def read_mat(path: Path, variable: str | None) -> Table:
    """Read one array of a MAT file, without its axes of length one."""
    import scipy.io

    try:
        shapes = {n: s for n, s, kind in scipy.io.whosmat(path) if kind in MATLAB_NUMBERS}
    except NotImplementedError:  # version 7.3
        return _read_hdf5(path, variable, matlab=True)
    name = chosen(shapes, variable)
    values = scipy.io.loadmat(path, variable_names=[name])[name]
    return Table(numbers(np.squeeze(values)), variable=name)


def write_mat(path: Path, table: Table) -> None:
    """Write the values to a MAT file of version 5: vectors as columns, names as MATLAB allows."""
    import scipy.io

    allowed = re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,62}", table.variable or "")
    name = allowed[0] if allowed else VARIABLE
    with path.open("wb") as file:
        scipy.io.savemat(file, {name: table.values}, oned_as="column")


# -- HDF5 -------------------------------------------------------------------------------


def read_hdf5(path: Path, variable: str | None) -> Table:
    """Read one array of an HDF5 file; its name is its path inside the file."""
    return _read_hdf5(path, variable, matlab=False)


def _read_hdf5(path: Path, variable: str | None, *, matlab: bool) -> Table:
    h5py = require("h5py")
    with h5py.File(path, "r") as file:
        arrays: dict[str, Any] = {}

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and _is_numeric(item) and item.shape is not None:
                arrays[name] = item

        file.visititems(visit)
        if matlab:
            arrays = {n: a for n, a in arrays.items() if _is_matlab_number(n, a)}
        name = chosen(
            {name: array.shape[:: -1 if matlab else 1] for name, array in arrays.items()},
            variable and variable.strip("/"),
        )
        values = numbers(arrays[name][()])
    if matlab:  # arrays are stored by columns
        values = np.ascontiguousarray(np.squeeze(values.T))
    return Table(values, variable=name)


def _is_matlab_number(name: str, array: Any) -> bool:
    kind = array.attrs.get("MATLAB_class", b"")
    empty = array.attrs.get("MATLAB_empty", 0)
    return not name.startswith("#") and not empty and kind.decode() in MATLAB_NUMBERS


def write_hdf5(path: Path, table: Table) -> None:
    """Write the values, under their name, to an HDF5 file."""
    with require("h5py").File(path, "w") as file:
        file[table.variable or VARIABLE] = table.values


# -- Zarr -------------------------------------------------------------------------------


def read_zarr(path: Path, variable: str | None) -> Table:
    """Read a Zarr array, or one array of a Zarr group."""
    zarr = require("zarr")
    opened = zarr.open(path, mode="r")
    if isinstance(opened, zarr.Array):
        _unnamed(variable, "Zarr array")
        if not _is_numeric(opened):
            raise FileError(f"its entries are {opened.dtype}, not numbers")
        return Table(numbers(opened[...]))
    arrays = {
        name: member
        for name, member in opened.members(max_depth=None)
        if isinstance(member, zarr.Array) and _is_numeric(member)
    }
    name = chosen(
        {name: array.shape for name, array in arrays.items()}, variable and variable.strip("/")
    )
    return Table(numbers(arrays[name][...]), variable=name)


def write_zarr(path: Path, table: Table) -> None:
    """Write a Zarr array, or a group with one array if the table has a variable name."""
    zarr = require("zarr")
    if table.variable is None:
        zarr.create_array(path, data=table.values)
    else:
        zarr.create_group(path).create_array(table.variable, data=table.values)


# -- NMRPipe ----------------------------------------------------------------------------


def read_nmrpipe(path: Path, variable: str | None) -> Table:
    """Read the data of an NMRPipe file of one or two dimensions, as they are stored."""
    _unnamed(variable, "NMRPipe")
    header, values = _nmrpipe(path)
    return Table(numbers(values), header=header)


def _nmrpipe(path: Path) -> tuple[dict[str, Any], np.ndarray]:
    pipe = require("nmrglue").pipe
    content = path.read_bytes()
    mark = [np.frombuffer(content[8:12].ljust(4), order + "f4")[0] for order in "<>"]
    if not np.any(np.isclose(mark, 2.345)):
        raise FileError("it is not an NMRPipe file")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nmrglue only warns about truncated data
        header, values = pipe.read(content)
        return header, values


def write_nmrpipe(path: Path, table: Table) -> None:
    """Write an NMRPipe file in single precision, with the header of the table or a plain one."""
    nmrglue = require("nmrglue")
    is_complex = np.iscomplexobj(table.values)
    values = table.values.astype(np.complex64 if is_complex else np.float32)
    header = table.header
    if header is None or "FDMAGIC" not in header:
        about = nmrglue.fileiobase.create_blank_udic(values.ndim)
        for axis, size in enumerate(values.shape):
            direct = axis == values.ndim - 1
            about[axis].update(size=size, complex=direct and is_complex, encoding="direct")
        header = nmrglue.pipe.create_dic(about)
    nmrglue.pipe.write(str(path), header, values)
    try:
        _, back = _nmrpipe(path)
    except Exception as error:
        raise FileError(f"its header does not describe values of shape {values.shape}") from error
    if back.shape != values.shape or back.dtype != values.dtype:
        raise FileError(
            f"its header describes {back.dtype} of shape {back.shape}, but the values are "
            f"{values.dtype} of shape {values.shape}"
        )


# -- numbers ----------------------------------------------------------------------------


def _is_numeric(array: Any) -> bool:
    """Whether an array contains numbers; MATLAB's pairs (real, imag) count as numbers."""
    return array.dtype.kind in "biufc" or array.dtype.names == ("real", "imag")


def numbers(values: np.ndarray) -> np.ndarray:
    """Return values in single or double precision; whole numbers in double."""
    if values.dtype.names == ("real", "imag"):
        values = values["real"] + 1j * values["imag"]
    if values.dtype.kind not in "biufc":
        raise FileError(f"its entries are {values.dtype}, not numbers")
    if values.dtype.kind == "c":
        return values.astype(np.complex64 if values.dtype.itemsize == 8 else np.complex128)
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return values.astype(np.float32 if single else np.float64)

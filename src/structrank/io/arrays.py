"""Arrays in binary files: one reader and one writer per format."""

from __future__ import annotations

import math
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from .limits import SizeLimit
from .mat5 import read_stored, stored_arrays
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


def check_unnamed(variable: str | None, format: str) -> None:
    """Raise an error if an array is named in a file that has one without a name."""
    if variable is not None:
        raise FileError(
            f'there is no array "{variable}": a {format} file contains one, without a name'
        )


# -- NumPy ------------------------------------------------------------------------------


def read_npy(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read the array in an NPY file."""
    check_unnamed(variable, "NPY")
    with path.open("rb") as file, _objects_refused():
        limit.check_array(*_npy_header(file))
        file.seek(0)
        values = np.lib.format.read_array(file, allow_pickle=False)
    return Table(numbers(values))


def write_npy(path: Path, table: Table) -> None:
    """Write the values to an NPY file."""
    with path.open("wb") as file:
        np.save(file, table.values, allow_pickle=False)


def read_npz(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read one array of an NPZ file; the others stay packed."""
    with zipfile.ZipFile(path) as file, _objects_refused():
        names = [n.removesuffix(".npy") for n in file.namelist() if n.endswith(".npy")]
        if variable is not None:
            chosen(dict.fromkeys(names, ()), variable)
            names = [variable]
        headers = {name: _npz_header(file, name) for name in names}
        if any(dtype.hasobject for _, dtype in headers.values()):
            raise ValueError("allow_pickle")
        shapes = {n: shape for n, (shape, dtype) in headers.items() if _holds_numbers(dtype)}
        name = variable or chosen(shapes, None)
        limit.check_array(*headers[name])
        with file.open(f"{name}.npy") as member:
            values = np.lib.format.read_array(member, allow_pickle=False)
    return Table(numbers(values), variable=name)


def check_npz(path: Path, limit: SizeLimit) -> None:
    """Raise an error if all arrays of an NPZ file together would take too much memory."""
    with zipfile.ZipFile(path) as file:
        names = [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]
        headers = [_npz_header(file, name) for name in names]
    limit.check(sum(math.prod(shape) * dtype.itemsize for shape, dtype in headers))


def _npz_header(file: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    with file.open(f"{name}.npy") as member:
        return _npy_header(member)


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and data type that an array in NumPy's format names before its values."""
    most = 10_000  # bytes of a header, the same as NumPy allows after it has read them
    old = np.lib.format.read_magic(file) == (1, 0)
    size = file.read(2 if old else 4)
    length = int.from_bytes(size, "little")
    if length > most:
        raise FileError(f"its header has {length} bytes, but at most {most} are expected")
    reader = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(BytesIO(size + file.read(length)))
    return shape, dtype


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
    given = table.variable or VARIABLE
    name = f"{given if given.isprintable() else VARIABLE}.npy"
    # np.savez would take some names as options.
    with zipfile.ZipFile(path, "w") as file, file.open(name, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.asanyarray(table.values), allow_pickle=False)


# -- MATLAB -----------------------------------------------------------------------------


def read_mat(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read one array of a MAT file, without its axes of length one."""
    import scipy.io

    version, _ = scipy.io.matlab.matfile_version(path)
    if version == 2:  # version 7.3
        from .hdf5 import read_hdf5

        return read_hdf5(path, variable, limit, matlab=True)
    if version == 1:  # version 5, 6 or 7
        stored = stored_arrays(path)
        name = chosen({n: array.shape for n, array in stored.items()}, variable)
        limit.check_array(stored[name].shape, stored[name].dtype)
        values = read_stored(path, stored[name])
    else:
        shapes = {n: s for n, s, kind in scipy.io.whosmat(path) if kind in MATLAB_NUMBERS}
        name = chosen(shapes, variable)
        limit.check_array(shapes[name], np.complex128)  # the list does not say which are real
        values = scipy.io.loadmat(path, variable_names=[name])[name]
    return Table(numbers(np.squeeze(values)), variable=name)


def write_mat(path: Path, table: Table) -> None:
    """Write the values to a MAT file of version 5: vectors as columns, names as MATLAB allows."""
    import scipy.io

    allowed = re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,62}", table.variable or "")
    name = allowed[0] if allowed else VARIABLE
    with path.open("wb") as file:
        scipy.io.savemat(file, {name: table.values}, oned_as="column")


# -- NMRPipe ----------------------------------------------------------------------------


def read_nmrpipe(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read the data of an NMRPipe file of one or two dimensions, as they are stored."""
    check_unnamed(variable, "NMRPipe")
    limit.check(2 * path.stat().st_size)  # the bytes and the values
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
    with np.errstate(over="ignore"):
        values = table.values.astype(np.complex64 if is_complex else np.float32)
    if np.any(np.isinf(values) & np.isfinite(table.values)) or (
        np.any(table.values) and not np.any(values)
    ):
        size = np.max(np.abs(table.values), where=np.isfinite(table.values), initial=0.0)
        raise FileError(
            f"NMRPipe files have single precision, which the largest value, {size:.3g}, leaves: "
            "choose .npy, or another unit"
        )
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


def is_numeric(array: Any) -> bool:
    """Whether an array contains numbers; MATLAB's pairs (real, imag) count as numbers."""
    return _holds_numbers(array.dtype)


def _holds_numbers(dtype: np.dtype) -> bool:
    if dtype.names == ("real", "imag"):
        return all(dtype[part].kind in "biuf" for part in dtype.names)
    return dtype.kind in "biufc"


def numbers(values: np.ndarray) -> np.ndarray:
    """Return values in single or double precision; whole numbers in double."""
    if not _holds_numbers(values.dtype):
        raise FileError(f"its entries are {values.dtype}, not numbers")
    if values.dtype.names:
        values = values["real"] + 1j * values["imag"]
    if values.dtype.kind == "c":
        return values.astype(np.complex64 if values.dtype.itemsize == 8 else np.complex128)
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return values.astype(np.float32 if single else np.float64)

"""Read and write files of every format: the extension decides which one it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from . import arrays, fid_folders, hdf5, recordings, zarr_folders
from .atomic import check_new_file, check_new_folder, new_path
from .cells import Cells
from .frames import FRAMES, read_frame, require_frames, write_frame
from .grid import regularized
from .limits import SizeLimit
from .lines import DELIMITERS, TextOptions
from .names import check_name
from .places import check_regular
from .table import Column, FileError, Table, raise_interrupt, with_columns
from .text import read_text, table_of, write_text
from .unknown import conversion


class _Format(NamedTuple):
    """A binary format: its reader, its writer, and the package that both need."""

    name: str
    read: Callable[[Path, str | None, SizeLimit], Table]
    write: Callable[[Path, Table], None]
    package: str = "numpy"


TEXT = tuple(DELIMITERS)
PACKED = ".gz"  # after the extension of a text file
_HDF5 = _Format("HDF5", hdf5.read_hdf5, hdf5.write_hdf5, "h5py")
_NMRPIPE = _Format("NMRPipe", arrays.read_nmrpipe, arrays.write_nmrpipe, "nmrglue")
BINARY = {
    ".npy": _Format("NPY", arrays.read_npy, arrays.write_npy),
    ".npz": _Format("NPZ", arrays.read_npz, arrays.write_npz),
    ".mat": _Format("MAT", arrays.read_mat, arrays.write_mat),
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".zarr": _Format("Zarr", zarr_folders.read_zarr, zarr_folders.write_zarr, "zarr"),
    **dict.fromkeys((".fid", ".ft", ".ft1", ".ft2"), _NMRPIPE),
    ".wav": _Format("WAV", recordings.read_wav, recordings.write_wav),
    ".mseed": _Format("MiniSEED", recordings.read_miniseed, recordings.write_nothing),
    ".miniseed": _Format("MiniSEED", recordings.read_miniseed, recordings.write_nothing),
}
KNOWN = (*TEXT, *FRAMES, *BINARY)


def read(
    path: str | os.PathLike[str],
    *,
    columns: Column | Sequence[Column] | None = None,
    variable: str | None = None,
    index: Column | bool | None = None,
    header: bool | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    missing: str | float | Sequence[str | float] = (),
    regular: bool = False,
    step: str | float | None = None,
    max_size: str | float | None = None,
) -> Table:
    r"""Read one array from a file; the extension tells the format.

    =====================  ==================================================================
    .csv, .tsv, .txt       columns of numbers, also .dat, .asc, and compressed as .csv.gz; see
                           `structrank.io.text` for what is read
    .xlsx                  one sheet (`variable` names it), with openpyxl; read like text
    .parquet, .feather     with pyarrow; read like a text file
    .json                  records, columns or lists, with pandas; read like a text file
    .npy, .npz             NumPy; pickled objects are refused
    .mat                   MATLAB, version 7.3 with h5py; axes of length one are dropped
    .h5, .hdf5             HDF5, with h5py
    .zarr                  Zarr, an array or a group, with zarr
    .fid, .ft, .ft1, .ft2  NMRPipe in a single file, with nmrglue; the rows of an indirect
                           dimension are returned as they are stored
    .wav                   sound, with SciPy; channels are columns, full scale is 1
    .mseed, .miniseed      seismic traces, with ObsPy; gaps are NaN
    a folder, fid, ser     Bruker experiments, or Varian ones with nmrglue; rows that a schedule
                           (nuslist) leaves out are NaN
    =====================  ==================================================================

    Parameters
    ----------
    path : str or path
    columns : str, int or list of them, optional
        Columns by name, or by number counted from 1. Default: all columns with numbers. In
        binary files they are the columns of a two-dimensional array, by number.
    variable : str, optional
        Which array to read from a file that contains several. Not needed if only one of them has
        more than one entry.
    index : str, int or False, optional
        The column of times or labels in a text file, without duplicate entries. Default: a column
        of dates, or else the first column, if none of its cells is a number, if it has equal steps,
        or if its name says time or index ("time (s)", "year"). False: the file has no index.
    header : bool, optional
        Whether a text file starts with names. Default: found from its first rows.
    sep : str, optional
        The sign between the cells of a text file: one sign, or "tab", "space", "comma",
        "semicolon", "pipe". Default: found from its first rows.
    decimal : str, optional
        The sign before decimals in a text file: a point or a comma. Default: found from its cells.
    encoding : str, optional
        Of a text file, such as "latin-1". Default: UTF-8, else Windows-1252.
    skip_rows : int
        Lines of a text file, or rows of an Excel sheet, before the table.
    missing : str, number or list of them
        What means missing besides empty cells and NaN, such as -9999.
    regular : bool
        Make the index regular: rows of NaN where times are left out, and times that jitter moved
        to the nearest regular place. The notes of the table say what was done.
    step : str or number, optional
        The step of that index, such as "10min" or 0.5. Default: found from the index.
    max_size : str or number, optional
        Most memory that reading may take: bytes, or a size such as "2GB". It is checked before
        anything is unpacked. Default: half of the memory of the machine.

    Returns
    -------
    Table
        In double precision, or single where the file is. NaN is missing.

    Raises
    ------
    FileError
        The file cannot be read: one line says why.
    ImportError
        The format needs a package that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.io import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "weather.csv"
    ...     _ = path.write_text("day,wind,rain\n2024-05-01,3.5,0\n2024-05-02,,1.2\n")
    ...     table = read(path)
    >>> table
    Table(2 x 2 of float64, 1 missing, columns wind, rain, index from 2024-05-01 to 2024-05-02)
    >>> table.values
    array([[3.5, 0. ],
           [nan, 1.2]])
    """
    path = Path(path)
    check_name(path)
    if fid_folders.fid_folder(path) is None:
        _check_readable(path)
    one = isinstance(columns, (str, Real))
    listed = cast("Sequence[Column] | None", [columns] if one else columns)
    codes = [missing] if isinstance(missing, (str, int, float)) else missing
    try:
        if listed is not None and not len(listed):
            raise FileError("columns is empty, but one or more columns are expected")
        options = TextOptions(sep, decimal, encoding, skip_rows, tuple(map(str, codes)))
        limit = SizeLimit(max_size)
        table = _read(path, listed, variable, index, header, options, limit)
        if regular or step is not None:
            table = regularized(table, step)
        if table.values.ndim == 0:
            raise FileError("it is a single number, but an array is expected")
        if np.all(np.isnan(table.values)):
            raise FileError("it contains no numbers")
    except FileError as error:
        raise FileError(f"{path}: {error}") from error.__cause__
    except ImportError:
        raise
    except Exception as error:  # readers fail in many ways on a broken file
        raise_interrupt(error)
        raise FileError(f"{path} cannot be read: {_one_line(error)}") from error
    return table


def _read(
    path: Path,
    columns: Sequence[Column] | None,
    variable: str | None,
    index: Column | bool | None,
    header: bool | None,
    options: TextOptions,
    limit: SizeLimit,
) -> Table:
    experiment = fid_folders.fid_folder(path)
    suffix = "" if experiment is not None else _suffix(path)
    if suffix in TEXT:
        if variable is not None:
            raise FileError("a text file has columns, not variables: choose columns")
        return read_text(path, suffix, columns, index, header, options, limit)
    skipped = options.skip_rows if suffix == ".xlsx" else 0
    if options != TextOptions(None, options.decimal, None, skipped, options.missing):
        raise FileError("only text files have a separator, an encoding or lines to skip")
    if suffix in FRAMES:
        rows, named = read_frame(path, suffix, variable, limit)
        rows = rows._replace(rows=[row for row in rows.rows if row.line > skipped])
        named = named if header is None else header
        table = table_of(rows, columns, index, named, options, limit)
        return replace(table, format=FRAMES[suffix])
    if index is not None or header is not None or options.decimal is not None:
        raise FileError("only text files have an index or a header")
    if experiment is not None:
        table = fid_folders.read_fid_folder(*experiment, variable, limit)
    else:
        format = BINARY[suffix]
        table = replace(format.read(path, variable, limit), format=format.name)
    return _without(with_columns(table, columns), options.missing)


def write(path: str | os.PathLike[str], table: Table, *, force: bool = False) -> None:
    """Write a table to a file; the extension tells the format.

    The file is written whole or not at all. Text files keep names, full precision and the index,
    which comes first, and have at most two dimensions. They are written like the file that was
    read: separator, decimal commas, dates, units. The other formats keep only the values,
    under the name under which they were read, else "values". NMRPipe files have single precision
    and keep the header that was read.

    Parameters
    ----------
    path : str or path
        It has one of the extensions that `read` knows.
    table : Table
    force : bool
        Replace an existing file.

    Raises
    ------
    FileError
        The file cannot be written, or exists already: one line says why.
    ImportError
        The format needs a package that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank.io import Table, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "out.csv"
    ...     write(path, Table(np.array([1.5, 2.5]), names=("wind",), index=["mon", "tue"]))
    ...     print(path.read_text())
    ,wind
    mon,1.5
    tue,2.5
    """
    path = Path(path)
    suffix = _suffix(path)
    with new_path(path, lambda: check_writable(path, force=force)) as partial:
        try:
            if suffix in TEXT:
                write_text(partial, table, suffix)
            elif suffix in FRAMES:
                write_frame(partial, table, suffix)
            else:
                BINARY[suffix].write(partial, table)
        except FileError as error:
            raise FileError(f"{path}: {error}") from error.__cause__
        except Exception as error:  # writers fail in many ways
            raise_interrupt(error)
            raise FileError(f"{path} cannot be written: {_one_line(error)}") from error


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise an error unless `write` can write this file; call it before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        The extension is unknown, the folder cannot be written to, or the file exists and `force`
        is False.
    ImportError
        The format needs a package that is not installed.

    Examples
    --------
    >>> from structrank.io import check_writable
    >>> check_writable("out.doc")
    Traceback (most recent call last):
    structrank.io.table.FileError: out.doc has an unknown extension: known are .csv, .tsv,
    .txt, .dat, .asc, .xlsx, .parquet, .feather, .json, .npy, .npz, .mat, .h5, .hdf5, .zarr, .fid,
    .ft, .ft1, .ft2, .wav, .mseed, .miniseed
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix in BINARY:
        arrays.require(BINARY[suffix].package)
    if suffix in FRAMES:
        require_frames(suffix)
    if suffix in BINARY and BINARY[suffix].write is recordings.write_nothing:
        raise FileError(f"{path}: {BINARY[suffix].name} files are only read: choose .npy or .csv")
    if suffix == ".zarr":
        check_new_folder(path, force=force, is_ours=_is_zarr)
    else:
        check_new_file(path, (*KNOWN, PACKED), force=force)


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == PACKED and Path(path.stem).suffix.lower() in TEXT:
        return Path(path.stem).suffix.lower()
    if suffix not in KNOWN:
        raise FileError(f"{path} has an unknown extension: known are {', '.join(KNOWN)}")
    return suffix


def _check_readable(path: Path) -> None:
    try:
        suffix = _suffix(path)
    except FileError as error:
        raise FileError(f"{error}; {conversion(path)}") from None
    if not path.exists():
        raise FileError(f"{path} does not exist")
    if path.is_dir() and suffix != ".zarr":
        raise FileError(f"{path} is a folder, but a file is expected")
    check_regular(path)
    if path.is_file() and path.stat().st_size == 0:
        raise FileError(f"{path} is empty")


def _without(table: Table, missing: Sequence[str]) -> Table:
    """The table with NaN where values mean missing."""
    codes = [code for code in map(Cells().number, missing) if code is not None]
    gone = np.isin(table.values, codes)
    return replace(table, values=np.where(gone, np.nan, table.values)) if np.any(gone) else table


def _one_line(error: Exception) -> str:
    text = str((isinstance(error, OSError) and error.strerror) or error).strip()
    return text.splitlines()[0] if text else type(error).__name__

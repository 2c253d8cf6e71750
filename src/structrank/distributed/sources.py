"""Volumes that are read piece by piece, and the Zarr array that is written piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from ..io.table import FileError
from ..io.zarr_folders import open_zarr, read_region
from .grid import Box


def require(module: str) -> Any:
    """Import a package of the extra, or raise an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'volumes in patches need {module}: pip install "structrank[cluster]"'
        ) from error


@dataclass(frozen=True)
class Stored:
    """A part of a Zarr array in a folder, which the worker that needs it reads."""

    path: Path
    array: Any
    box: Box

    def read(self) -> NDArray:
        return read_region(self.path, self.array, self.box)


def values_of(piece: Any) -> NDArray:
    """The numbers of a piece of a source."""
    return np.asarray(piece.read() if isinstance(piece, Stored) else piece)


@dataclass(frozen=True, eq=False)
class Source:
    """A volume of any size.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    chunks : tuple of int or None
        How it is stored.
    name : str
        What to call it when a run is continued.
    path : Path or None
        The folder of a Zarr array.
    array : Zarr or Dask array
    template : DataArray or None
        The container that it came in.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...] | None
    name: str
    path: Path | None
    array: Any
    template: Any = None

    @classmethod
    def of(cls, source: Any, variable: str | None = None) -> Source:
        """Take a path, a Dask, xarray or NumPy array.

        Raises
        ------
        FileError
            A path is no Zarr array of numbers.
        TypeError
            The source is something else.
        """
        if isinstance(source, (str, Path)):
            return cls._in_folder(Path(source), variable)
        da = require("dask.array")
        template = source if _library(source) == "xarray" else None
        array = source if template is None else source.data
        if isinstance(array, np.ndarray):
            array = da.from_array(array)
        if not isinstance(array, da.Array):
            raise TypeError(
                f"source is {type(source).__name__}, but the path of a Zarr array, a Dask array, "
                "an xarray DataArray or a NumPy array is expected"
            )
        chunks = tuple(int(sizes[0]) for sizes in array.chunks)
        dtype = _floating(array.dtype)
        return cls(array.shape, dtype, chunks, "an array in memory", None, array, template)

    @classmethod
    def _in_folder(cls, path: Path, variable: str | None) -> Source:
        require("zarr")
        if not path.is_dir():
            raise FileError(f"{path} does not exist, or is no folder: a Zarr array is expected")
        try:
            array, _ = open_zarr(path, variable)
        except FileError as error:
            raise FileError(f"{path}: {error}") from error
        except (OSError, ValueError, KeyError) as error:
            raise FileError(f"{path} is no Zarr array ({error})") from error
        dtype = _floating(array.dtype)
        name = str(path.resolve() / array.path)
        return cls(array.shape, dtype, array.shards or array.chunks, name, path, array)

    def piece(self, box: Box) -> Any:
        """A part of the volume, not read yet."""
        return self.array[box] if self.path is None else Stored(self.path, self.array, box)


def create_target(path: Path, source: Source, chunks: tuple[int, ...]) -> None:
    """Create an empty Zarr array like the source, with the coordinates of a DataArray."""
    if source.template is not None:
        _create_like(path, source.template, source.dtype, chunks)
        return
    require("zarr").create_array(
        path,
        shape=source.shape,
        chunks=chunks,
        dtype=source.dtype,
        fill_value=np.nan,
        overwrite=True,
        config={"write_empty_chunks": True},
    )


def open_target(path: Path, source: Source) -> Any:
    """Open the Zarr array that `create_target` made."""
    zarr = require("zarr")
    place = path if source.template is None else path / _variable(source.template)
    return zarr.open_array(place, mode="r+", config={"write_empty_chunks": True})


def _create_like(path: Path, template: Any, dtype: Any, chunks: tuple[int, ...]) -> None:
    da = require("dask.array")
    empty = template.copy(data=da.full(template.shape, np.nan, dtype=dtype, chunks=chunks))
    dataset = empty.to_dataset(name=_variable(template))
    encoding = {_variable(template): {"chunks": chunks, "_FillValue": np.nan}}
    dataset.to_zarr(path, mode="w", compute=False, encoding=encoding, consolidated=False)


def _variable(template: Any) -> str:
    return str(template.name or "signal")


def _library(source: Any) -> str:
    return type(source).__module__.partition(".")[0]


def _floating(dtype: Any) -> np.dtype[Any]:
    """The type of the result: that of the source, which must be able to hold NaN."""
    floating: np.dtype[Any] = np.dtype(dtype)
    if floating.kind not in "fc":
        raise TypeError(
            f"the source has dtype {floating}, which cannot hold NaN for what is missing: convert "
            "it to a floating type"
        )
    return floating

"""Files of interrupted runs: a header and arrays in an NPZ file, without pickles."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from .atomic import check_new_file, new_file
from .table import FileError

_FORMAT = "structrank checkpoint"
_VERSION = 1  # raised when an older release could no longer read the file
_SUFFIXES = [".npz"]


def check_saved_run(path: Path) -> dict[str, Any] | None:
    """Raise a FileError unless a run can be saved to `path`; only a saved run is replaced.

    Returns
    -------
    dict or None
        The header of the run that is there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from structrank.io.saved_runs import check_saved_run
    >>> check_saved_run(Path("run.txt"))
    Traceback (most recent call last):
    structrank.io.table.FileError: run.txt has an unknown extension: known are .npz
    """
    check_new_file(path, _SUFFIXES, force=True)
    if not path.exists():
        return None
    with _opened(path) as (header, _):
        return header


def write_saved_run(path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write a run whole or not at all; a file that is there is replaced.

    Parameters
    ----------
    path : Path
        With the extension .npz.
    header : mapping
        What JSON can hold.
    arrays : mapping of str to array
    """
    text = json.dumps({"format": _FORMAT, "version": _VERSION, **header})
    with new_file(path, _SUFFIXES, force=True) as partial:
        np.savez(partial, header=np.array(text), **arrays)  # type: ignore[arg-type]


def read_saved_run(path: Path) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Read the header and the arrays of a run.

    Parameters
    ----------
    path : Path

    Returns
    -------
    header : dict
    arrays : dict of str to array

    Raises
    ------
    FileError
        The file is absent, truncated, no saved run, or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank.io.saved_runs import read_saved_run, write_saved_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.npz"
    ...     write_saved_run(path, {"k": 3}, {"x": np.arange(2)})
    ...     header, arrays = read_saved_run(path)
    >>> header["k"], arrays["x"]
    (3, array([0, 1]))
    """
    with _opened(path) as (header, file):
        return header, {name: file[name] for name in file.files if name != "header"}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Open a saved run: its header, and a mapping of its arrays, which are not read yet."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            if not isinstance(header, dict) or header.get("format") != _FORMAT:
                raise FileError(f"{path} is not a checkpoint of structrank: choose another file")
            if header["version"] > _VERSION:
                raise FileError(
                    f"{path} has version {header['version']} of the checkpoint format, but this "
                    f"release reads versions up to {_VERSION}: use the release that wrote it"
                )
            yield header, file
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist: give the file that checkpoint= wrote") from error
    except FileError:
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(
            f"{path} is no complete checkpoint of structrank ({error}): it was truncated or "
            "written by something else, choose another file"
        ) from error

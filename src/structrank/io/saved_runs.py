"""Files of interrupted runs: a header and arrays in an NPZ file, without pickles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._array import NDArray
from .archives import Archive

RUNS = Archive("checkpoint", 1, "checkpoint= wrote")


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
    RUNS.check(path, force=True)
    if not path.exists():
        return None
    with RUNS.opened(path) as (header, _):
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
    RUNS.write(path, header, arrays, force=True)


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
    return RUNS.read(path)

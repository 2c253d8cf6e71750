"""Load what was saved: recoveries, forecasts, models, modes."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from .. import systems  # noqa: F401, their classes can be loaded
from ..io.saved_results import read_result
from . import filling, forecasting  # noqa: F401, as above


def load(path: str | PathLike[str]) -> Any:
    """Load a result or a model that was saved by its method `save`.

    Parameters
    ----------
    path : str or path
        An NPZ file.

    Returns
    -------
    Recovery, Forecast, StateSpace, Modes, SignalComponents, Result or another of these kinds
        With the same numbers, bit for bit. Arrays of other libraries come back in these, on their
        default device.

    Raises
    ------
    structrank.io.FileError
        The file is absent, truncated, of a newer version, or holds something else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank import load, recover
    >>> found = recover(np.where(np.arange(40) == 20, np.nan, 0.9 ** np.arange(40.0)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found.save(Path(folder) / "found.npz")
    ...     again = load(Path(folder) / "found.npz")
    >>> again.rank, bool(np.all(again.signal == found.signal))
    (1, True)
    """
    return read_result(Path(path))

"""The signal in a table: checked, and with its index and names as a pandas object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .dates import BEGINS_WITH_DATE
from .frames import FRAMES
from .regular import irregular_cell, iso_times, numbers
from .table import Column, FileError, Table

SIDE_BY_SIDE = ("text", *FRAMES.values(), "WAV")  # formats whose columns are channels

RATED = ("WAV", "MiniSEED")  # formats that have a sampling rate


@dataclass(frozen=True)
class Given:
    """What was read from a file.

    Attributes
    ----------
    table : Table
        The file, to write a table like it.
    samples : Series, DataFrame or ndarray
        The signal in it.
    channels : int or None
        The axis that holds channels.
    index : str or None
        A description of the column that was used as the index.
    cautions : tuple of str
        What was not checked, and why.
    """

    table: Table
    samples: Any
    channels: int | None
    index: str | None
    cautions: tuple[str, ...] = ()

    @property
    def dt(self) -> float | None:
        """Seconds between samples, if the file has a sampling rate."""
        rated = self.table.format in RATED and self.table.header is not None
        return 1 / self.table.header["rate"] if rated else None  # type: ignore[index]


def signal_of(
    table: Table,
    name: str,
    channels: int | str | None = None,
    *,
    index: Column | bool | None = None,
    irregular: bool = False,
) -> Given:
    """Return the signal in a table, as a Series or DataFrame if pandas is installed.

    Parameters
    ----------
    table : Table
    name : str
        The name of its file, for errors.
    channels : int or "none", optional
        The axis that holds channels. Default: the columns, unless the format is one of arrays.
    index : str, int or bool, optional
        The column that was asked for as the index.
    irregular : bool
        Whether times may be irregular.

    Returns
    -------
    Given

    Raises
    ------
    FileError
        Values are infinite, or times irregular.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io import Table
    >>> from structrank.io.signal_files import signal_of
    >>> table = Table(np.ones((3, 2)), ("wind", "rain"), ["0", "1", "2"], "hour", format="text")
    >>> given = signal_of(table, "weather.csv")
    >>> given.channels, given.index
    (1, 'column "hour"')
    """
    if channels is None and is_side_by_side(table):
        channels = 1
    axis = channels if isinstance(channels, int) else None
    _check_values(name, table.values, axis)
    column, cautions = None, []
    if table.index is not None:
        column = f'column "{table.index_name}"' if table.index_name else f"column {index or 1}"
        if not irregular:
            cautions = _check_index(table.index.tolist(), f"{name}: {column}")
    return Given(table, _framed(table, axis), axis, column, tuple(cautions))


def is_side_by_side(table: Table) -> bool:
    """Whether the columns of a table are channels, and not those of an image."""
    return table.format in SIDE_BY_SIDE and table.values.ndim == 2


def check_continues(given: Given) -> None:
    """Raise an error unless there is one axis of time, whose next entries are known."""
    shape, channels = given.table.values.shape, given.channels
    if len(shape) > 1 and channels != 1:
        raise FileError(
            f"the values have shape {shape}, but one series is expected, or with --channels 1 "
            f"series side by side: --channels is {'none' if channels is None else channels}"
        )
    if given.table.index is None:
        return
    if not hasattr(given.samples, "index"):
        raise ImportError(
            "an index is continued by pandas, which is not installed: pip install pandas, or pass "
            "--index none"
        )
    index = given.samples.index
    if index.dtype.kind == "M" and len(index) > 1 and index[0] > index[-1]:
        raise FileError(
            f"the times run backwards ({index[0]}, {index[1]}, ...), but the forecast is what "
            "comes after the last row: sort the rows, or pass --regular, which does so"
        )
    if given.samples.index.dtype.kind not in "iufM":
        raise FileError(
            f"the index ({given.table.index[0]} ...) cannot be continued: numbers, or times in ISO "
            "8601 such as 2024-05-31 or 2024-05-31T12:00, are expected; or pass --index none"
        )


def times_of(given: Given, name: str) -> Any:
    """The times of a series, from the index of its file."""
    index = getattr(given.samples, "index", None)
    if given.table.index is None or index is None or index.dtype.kind not in "iufM":
        raise FileError(
            f"{name}: --irregular needs a column of numbers or of times such as 2024-05-31T12:00, "
            "and pandas: name the column with --index"
        )
    return index


def _check_values(name: str, values: np.ndarray, channels: int | None) -> None:
    """Raise an error if values are infinite, or the axis of channels does not exist."""
    if channels is not None and not -values.ndim <= channels < values.ndim:
        raise FileError(
            f"{name}: channels is {channels}, but the values have shape {values.shape}, whose axes "
            f"are counted from 0 to {values.ndim - 1}"
        )
    if channels == 1 and values.shape[0] == 1 < values.shape[1]:
        raise FileError(
            f"{name}: it has one row of {values.shape[1]} numbers, but a series goes down a "
            "column: write one sample per line"
        )
    for place in np.argwhere(np.isinf(values))[:1]:
        where = ", ".join(str(k + 1) for k in place)
        raise FileError(
            f"{name}: entry {where} (counted from 1) is infinite, or too large for a number, but "
            "finite numbers are expected: leave the cell empty, or write NaN, if it is missing"
        )


def _check_index(cells: Sequence[str], title: str) -> list[str]:
    """Raise an error unless numbers and times are regular; say if dates cannot be read."""
    cell = irregular_cell(cells)
    if cell is not None and irregular_cell(_sorted(cells)) is None:
        raise FileError(
            f"{title}: the rows are not in the order of their times (around {cell}): sort them, or "
            "pass --regular, which does so"
        )
    if cell is not None:
        does = "ignores the times" if numbers(cells) is None else "reads them as data"
        raise FileError(
            f"{title}: the index is irregular (around {cell}), but equal steps are expected: add a "
            "row with an empty cell for each missing time, or pass --regular, which does so "
            "(--step 10min gives the step), or recover one column with --irregular, which takes "
            f"the times as they are; --index none {does}"
        )
    if all(map(BEGINS_WITH_DATE.fullmatch, cells)) and iso_times(cells) is None:
        odd = next((cell for cell in cells if iso_times([cell]) is None), cells[0])
        plain = odd != cells[0]
        why = "" if plain else ", and whether day or month comes first is not plain"
        return [
            f"{title}: {odd} is not a time in ISO 8601, such as 2024-05-31{why}, so it was not "
            "checked whether the rows are equally spaced in time"
        ]
    return []


def _sorted(cells: Sequence[str]) -> list[str]:
    """Cells in the order of their numbers or times."""
    keys: Any = numbers(cells)
    keys = iso_times(cells) if keys is None else keys
    if keys is None or len({getattr(key, "tzinfo", None) for key in keys}) > 1:
        return list(cells)
    return [cells[k] for k in sorted(range(len(cells)), key=lambda k: keys[k])]


def _framed(table: Table, channels: int | None) -> Any:
    """The values with their index and names, if pandas is installed."""
    if table.index is None and table.names is None:
        return table.values
    try:
        import pandas as pd
    except ImportError:
        return table.values
    index = None if table.index is None else _pandas_index(table)
    if table.values.ndim == 1:
        name = None if table.names is None else table.names[0]
        return pd.Series(table.values, index, name=name)
    if channels == 1:
        return pd.DataFrame(table.values, index, columns=table.names)
    return table.values


def _pandas_index(table: Table) -> Any:
    """The index of a table for pandas: numbers, times in ISO 8601, or else labels."""
    import pandas as pd

    iso = partial(pd.to_datetime, format="ISO8601")
    times = iso_times(np.asarray(table.index).tolist())
    if times is not None and len({time.utcoffset() for time in times}) > 1:
        local = [time.replace(tzinfo=None) for time in times]
        if len({time.time() for time in local}) == 1:  # the same time of each day
            return pd.Index(pd.to_datetime(local), name=table.index_name)
        return pd.Index(iso(table.index, utc=True), name=table.index_name)
    for kind in (pd.to_numeric, iso):
        try:
            return pd.Index(kind(table.index), name=table.index_name)
        except ValueError:
            continue
    return pd.Index(table.index, name=table.index_name)

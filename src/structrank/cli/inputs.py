"""Read a signal from a file, and check it before any work."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..io import FileError, Table, read
from ..io.dates import BEGINS_WITH_DATE
from ..io.frames import FRAMES
from ..io.regular import irregular_cell, iso_times, numbers
from ..io.suspects import suspicious_values

SIDE_BY_SIDE = ("text", *FRAMES.values(), "WAV")  # formats whose columns are channels


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
    """

    table: Table
    samples: Any
    channels: int | None
    index: str | None


def read_signal(
    file: Path,
    columns: list[str] | None,
    reading: dict[str, Any],
    channels: int | str | None = None,
    *,
    irregular: bool = False,
) -> Given:
    """Read a signal with a regular index, as a Series or DataFrame if pandas is installed.

    `reading` has the arguments of `read`. What the reader found out about the file is said on
    stderr, and values that may mean something else get a warning. An irregular index is an error
    unless it is allowed.
    """
    table = read(file, columns=columns, **reading)
    for note in table.notes:
        click.echo(f"Note: {file}: {note}", err=True)
    for suspicion in suspicious_values(table.values, table.names):
        warnings.warn(f"{file}: {suspicion}", stacklevel=2)
    if channels is None and table.format in SIDE_BY_SIDE and table.values.ndim == 2:
        channels = 1
    axis = channels if isinstance(channels, int) else None
    _check_values(file, table.values, axis)
    column = None
    if table.index is not None:
        column = (
            f'column "{table.index_name}"'
            if table.index_name
            else f"column {reading['index'] or 1}"
        )
        if not irregular:
            _check_index(table.index.tolist(), f"{file}: {column}")
    return Given(table, _framed(table, axis), axis, column)


def read_beside(
    file: Path,
    columns: list[str] | None,
    regressors: tuple[str, ...],
    reading: dict[str, Any],
    channels: int | str | None = None,
    **options: Any,
) -> tuple[Given, Any]:
    """Read a series and its regressors, which are None if no columns are given for them.

    The series is the column that is chosen, or else the one that is no regressor.
    """
    if not regressors:
        return read_signal(file, columns, reading, channels, **options), None
    if columns is None:
        names = read(file, **reading).names or ()
        columns = [name for name in names if name not in regressors]
    if len(columns) != 1:
        raise FileError(
            f"{file}: --regressor is for one series, but there are {len(columns)} other columns: "
            "choose one of them with --columns"
        )
    given = read_signal(file, columns, reading, channels, **options)
    if given.samples.ndim == 2:
        given = replace(given, samples=np.asarray(given.samples)[:, 0], channels=None)
    values = read(file, columns=list(regressors), **reading).values
    values = values.reshape(len(values), -1)
    if not hasattr(given.samples, "index"):
        return given, values
    import pandas as pd

    return given, pd.DataFrame(values, given.samples.index, columns=list(regressors))


def _check_values(file: Path, values: np.ndarray, channels: int | None) -> None:
    """Raise an error if values are infinite, or the axis of channels does not exist."""
    if channels is not None and not -values.ndim <= channels < values.ndim:
        raise FileError(
            f"{file}: channels is {channels}, but the values have shape {values.shape}, whose axes "
            f"are counted from 0 to {values.ndim - 1}"
        )
    for place in np.argwhere(np.isinf(values))[:1]:
        where = ", ".join(str(k + 1) for k in place)
        raise FileError(
            f"{file}: entry {where} (counted from 1) is infinite, or too large for a number, but "
            "finite numbers are expected: leave the cell empty, or write NaN, if it is missing"
        )


def _check_index(cells: list[str], title: str) -> None:
    """Raise an error unless numbers and times are regular; warn if dates cannot be read."""
    cell = irregular_cell(cells)
    if cell is not None:
        does = "ignores the times" if numbers(cells) is None else "reads them as data"
        raise FileError(
            f"{title}: the index is irregular (around {cell}), but equal steps are expected: add a "
            "row with an empty cell for each missing time, or pass --regular, which does so "
            "(--step 10min gives the step), or recover one column with --irregular, which takes "
            f"the times as they are; --index none {does}"
        )
    if all(map(BEGINS_WITH_DATE.fullmatch, cells)) and iso_times(cells) is None:
        warnings.warn(
            f"{title}: {cells[0]} is not a time in ISO 8601, such as 2024-05-31, and whether day "
            "or month comes first is not plain, so it was not checked whether the rows are equally "
            "spaced in time",
            stacklevel=2,
        )


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
    for kind in (pd.to_numeric, iso, partial(iso, utc=True)):  # the last: with several offsets
        try:
            return pd.Index(kind(table.index), name=table.index_name)
        except ValueError:
            continue
    return pd.Index(table.index, name=table.index_name)

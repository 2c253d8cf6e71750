"""Read a signal from a file, and say what was found out about it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import visible
from ..io import FileError, read
from ..io.signal_files import Given, signal_of
from ..io.suspects import suspicious_values


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
        click.echo(visible(f"Note: {file}: {note}"), err=True)
    for suspicion in suspicious_values(table.values, table.names):
        warnings.warn(f"{file}: {suspicion}", stacklevel=2)
    given = signal_of(table, str(file), channels, index=reading["index"], irregular=irregular)
    for caution in given.cautions:
        warnings.warn(caution, stacklevel=2)
    return given


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

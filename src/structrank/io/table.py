"""The array that is read from a file or written to one, and the error of both."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Column = str | int
"""A column, by its name or by its number, counted from 1."""


class FileError(ValueError):
    """A file cannot be read or written; one line says why and what to do.

    Examples
    --------
    >>> from structrank.io import read
    >>> read("nowhere.csv")
    Traceback (most recent call last):
    structrank.io.table.FileError: nowhere.csv does not exist
    """


def raise_interrupt(error: BaseException) -> None:
    """Raise the Ctrl-C in whose wake a library failed, if there was one."""
    before: BaseException | None = error
    while before is not None:
        if isinstance(before, KeyboardInterrupt):
            raise before
        before = before.__cause__ or before.__context__


@dataclass(frozen=True)
class TextStyle:
    """How a text file is written, so that a result can be written like the file that was read.

    Parameters
    ----------
    sep : str, optional
        The sign between cells. Default: that of the extension.
    decimal : str
        The sign before decimals.
    dates : str, optional
        The pattern of dates in the index. Default: ISO 8601.
    split : tuple of str, optional
        The names of the two columns, of dates and of times, that make the index.
    units : tuple of str, optional
        A second row of names: the unit of the index, if there is one, and those of the columns.

    Examples
    --------
    >>> from structrank.io.table import TextStyle
    >>> TextStyle(sep=";", decimal=",").decimal
    ','
    """

    sep: str | None = None
    decimal: str = "."
    dates: str | None = None
    split: tuple[str, ...] | None = None
    units: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """An array, with its names and index, as it is read from a file or written to one.

    `dataclasses.replace(table, values=...)` makes a table with other values for the same file.

    Parameters
    ----------
    values : ndarray
        Real or complex floating-point numbers, of any shape; NaN is missing. The columns of a
        text file are the columns of `values`. A single column is a vector.
    names : tuple of str, optional
        Names of the columns.
    index : ndarray of str, optional
        The times or labels of the rows, as they are written in the file; but decimals have a
        point, and dates that can be understood are in ISO 8601.
    index_name : str, optional
        The name of the index column.
    variable : str, optional
        The name of the array inside its file.
    header : dict, optional
        The header of an NMRPipe file.
    format : str
        The format it was read from.
    style : TextStyle
        How its text file was written; `write` uses it again.
    notes : tuple of str
        What was found out about the file, or changed, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io import Table
    >>> Table(np.array([[1.0, 2.0], [3.0, np.nan]]), names=("wind", "rain"))
    Table(2 x 2 of float64, 1 missing, columns wind, rain)
    """

    values: np.ndarray
    names: tuple[str, ...] | None = None
    index: np.ndarray | None = None
    index_name: str | None = None
    variable: str | None = None
    header: dict[str, Any] | None = None
    format: str = ""
    style: TextStyle = TextStyle()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype.kind not in "fc":
            raise TypeError(f"values have dtype {values.dtype}, but floating numbers are expected")
        object.__setattr__(self, "values", values)
        rows, columns = (*values.shape, 1, 1)[:2]
        if self.names is not None and (values.ndim > 2 or len(self.names) != columns):
            raise ValueError(f"{len(self.names)} names for values of shape {values.shape}")
        if self.index is not None:
            object.__setattr__(self, "index", np.asarray(self.index).astype(str))
            if self.index.shape != (rows,):
                raise ValueError(
                    f"the index has shape {self.index.shape}, but the values have {values.shape}"
                )

    def __repr__(self) -> str:
        about = [f"{' x '.join(map(str, self.values.shape))} of {self.values.dtype}"]
        if missing := np.count_nonzero(np.isnan(self.values)):
            about.append(f"{missing} missing")
        if self.names is not None:
            about.append(f"columns {', '.join(self.names)}")
        if self.index is not None:
            about.append(f"index from {self.index[0]} to {self.index[-1]}")
        return f"Table({', '.join(about)})"


def column_numbers(columns: Sequence[Column], names: Sequence[str] | None, width: int) -> list[int]:
    """Return the positions, from 0, of columns given by name or number; none may occur twice."""
    numbers = [column_number(column, names, width) for column in columns]
    for column, number in zip(columns, numbers, strict=True):
        if numbers.count(number) > 1:
            raise FileError(
                f'column "{column}" is asked for more than once, but each is expected once (on '
                "the command line in --columns, or --inputs and --outputs together): name it once"
            )
    return numbers


def column_number(column: Column, names: Sequence[str] | None, width: int) -> int:
    """Return the position, from 0, of a column given by name, or by number counted from 1.

    Names come before numbers: "3" is the column with that name, if there is one.
    """
    if isinstance(column, str) and names is not None and column in names:
        if names.count(column) > 1:
            raise FileError(f'several columns are named "{column}": choose one by its number')
        return names.index(column)
    if isinstance(column, str) and not column.isdecimal():
        there = "no names" if names is None else ", ".join(f'"{name}"' for name in names)
        raise FileError(f'no column "{column}": there are {there}')
    try:
        number = int(column) if isinstance(column, str) else operator.index(column)
    except TypeError:
        raise FileError(
            f"column {column!r} is chosen, but a name or a whole number is expected"
        ) from None
    if not 1 <= number <= width:
        raise FileError(f"no column {number}: there are {width}, counted from 1")
    return number - 1


def with_columns(table: Table, columns: Sequence[Column] | None) -> Table:
    """Return the table with some of the columns of a two-dimensional array, or all."""
    if columns is None:
        return table
    if table.values.ndim != 2:
        raise FileError(
            f"columns are chosen from two-dimensional arrays, but this has shape "
            f"{table.values.shape}"
        )
    chosen = column_numbers(columns, None, table.values.shape[1])
    return replace(table, values=table.values[:, chosen[0] if len(chosen) == 1 else chosen])


def chosen_columns(table: Table, positions: Sequence[int]) -> Table:
    """Return the table with some of its columns, by their positions from 0.

    Parameters
    ----------
    table : Table
        With two dimensions.
    positions : sequence of int
        A single one gives a vector.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.table import Table, chosen_columns
    >>> chosen_columns(Table(np.ones((3, 2)), names=("wind", "rain")), [1])
    Table(3 of float64, columns rain)
    """
    units, before = table.style.units, int(table.index is not None)
    if units is not None:
        units = (*units[:before], *(units[before + k] for k in positions))
    return replace(
        table,
        values=table.values[:, positions[0] if len(positions) == 1 else list(positions)],
        names=None if table.names is None else tuple(table.names[k] for k in positions),
        style=replace(table.style, units=units),
    )

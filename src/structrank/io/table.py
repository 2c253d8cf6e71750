"""What is read from a file, and what can be wrong with it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Column = str | int
"""A column by its name, or by its number, counted from 1."""


class FileError(ValueError):
    """A file that cannot be read or written, in one line that says what to do.

    Examples
    --------
    >>> from structrank.io import read
    >>> read("nowhere.csv")
    Traceback (most recent call last):
    structrank.io.table.FileError: nowhere.csv does not exist
    """


@dataclass(frozen=True, eq=False)
class Table:
    """An array and what has to be kept to write it back.

    `dataclasses.replace(table, values=...)` puts other values into the same file.

    Parameters
    ----------
    values : ndarray
        Real or complex floating-point numbers, of any shape; NaN is missing. The columns of a
        text file are the columns of `values`; a single one makes for a vector.
    names : tuple of str, optional
        Names of the columns.
    index : ndarray of str, optional
        The times or labels of the rows, as they stand in the file.
    index_name : str, optional
        The name of the index column.
    variable : str, optional
        The name of the array inside its file.
    header : dict, optional
        The header of an NMRPipe file.
    format : str
        The format it was read from.

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
    """Which columns, from 0, are meant; none of them twice."""
    numbers = [column_number(column, names, width) for column in columns]
    for column, number in zip(columns, numbers, strict=True):
        if numbers.count(number) > 1:
            raise FileError(
                f'column "{column}" is asked for more than once, but each is expected once (on '
                "the command line in --columns, or --inputs and --outputs together): name it once"
            )
    return numbers


def column_number(column: Column, names: Sequence[str] | None, width: int) -> int:
    """Which column, from 0, is meant by a name or by a number counted from 1.

    A name goes before a number: "3" is the column of that name, if there is one.
    """
    if isinstance(column, str) and names is not None and column in names:
        if names.count(column) > 1:
            raise FileError(f'several columns are named "{column}": choose one by its number')
        return names.index(column)
    if isinstance(column, str) and not column.isdecimal():
        there = "no names" if names is None else ", ".join(f'"{name}"' for name in names)
        raise FileError(f'no column "{column}": there are {there}')
    number = int(column) if isinstance(column, str) else operator.index(column)
    if not 1 <= number <= width:
        raise FileError(f"no column {number}: there are {width}, counted from 1")
    return number - 1

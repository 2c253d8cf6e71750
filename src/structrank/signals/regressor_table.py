"""Regressors that the caller gives: aligned with the samples, and checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from ..io.index import following


@dataclass(frozen=True)
class Collinearity:
    """When a column follows from others.

    Attributes
    ----------
    smallest : float
        What is left of a column beside the others, relative to its size. Taste: beyond six digits
        its coefficient is rounding.
    """

    smallest: float = 1e-6


@dataclass(frozen=True, eq=False)
class RegressorTable:
    """Columns of known numbers.

    Attributes
    ----------
    names : tuple of str
    values : ndarray, shape (samples, regressors)

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.signals.regressor_table import RegressorTable
    >>> days = pd.date_range("2024-05-01", periods=3)
    >>> price = pd.DataFrame({"price": [3.0, 1.0, 2.0, 4.0]}, [*days[::-1], days[0] - days.freq])
    >>> RegressorTable.of(price, 3, days, "regressors").values.tolist()
    [[2.0], [1.0], [3.0]]
    """

    names: tuple[str, ...]
    values: NDArray

    @classmethod
    def of(cls, given: Any, length: int, index: Any, title: str) -> RegressorTable:
        """Align what a caller gave with samples, or raise an error.

        Parameters
        ----------
        given : array, Series, DataFrame or RegressorTable
            One column, or several side by side.
        length : int
            Number of samples.
        index : pandas.Index or None
            That of the samples; a pandas object is aligned with it.
        title : str
            Name of the argument.
        """
        if isinstance(given, RegressorTable):
            return given
        if index is not None and hasattr(given, "reindex") and hasattr(given, "iloc"):
            given = _aligned(given, index, title)
        names = getattr(given, "columns", None)
        host = to_numpy(as_array(given.to_numpy() if hasattr(given, "iloc") else given))
        if host.dtype.kind not in "fiub" or host.ndim not in (1, 2) or len(host) != length:
            raise ValueError(
                f"{title} has shape {host.shape} and dtype {host.dtype}, but {length} rows of real "
                "numbers are expected, one column for each regressor"
            )
        if names is None and getattr(given, "name", None) is not None:
            names = [given.name]
        values = host.reshape(length, -1).astype(float)
        if names is None:
            names = [f"regressor {k + 1}" for k in range(values.shape[1])]
        table = cls(tuple(map(str, names)), values)
        for row, column in np.argwhere(~np.isfinite(values))[:1]:
            place = row if index is None else index[row]
            raise ValueError(
                f"{title}: {table.names[column]!r} is missing or infinite at {place}, but known "
                "numbers are expected at every sample: fill them first, for example with impute"
            )
        return table

    @classmethod
    def after(cls, given: Any, steps: int, index: Any, names: tuple[str, ...]) -> RegressorTable:
        """Align the values of regressors after the samples, or raise an error.

        Parameters
        ----------
        given : array, Series or DataFrame
        steps : int
            Number of values expected.
        index : pandas.Index or None
            That of the samples.
        names : tuple of str
            Names of the regressors.
        """
        title = "future_regressors"
        if given is None:
            raise ValueError(
                f"regressors are given, but not {title}: what they are in the {steps} steps that "
                "are forecast"
            )
        table = cls.of(given, steps, None if index is None else following(index, steps), title)
        table.check_names(names, title)
        return table

    def check_names(self, names: tuple[str, ...], title: str) -> None:
        """Raise an error unless these are the regressors that are expected."""
        if self.names != names:
            raise ValueError(
                f"{title} has the columns {list(self.names)}, but {list(names)} are expected"
            )

    def check_distinct(self, seen: NDArray, limits: Collinearity = Collinearity()) -> None:
        """Raise an error if the seen samples do not distinguish the columns.

        Parameters
        ----------
        seen : ndarray of bool
        limits : Collinearity
        """
        count, fewest = np.count_nonzero(seen), 2 * len(self.names) + 3
        if count < fewest:
            raise ValueError(
                f"{count} samples are seen, but at least {fewest} are expected for "
                f"{len(self.names)} regressors"
            )
        columns = self.values[seen] - np.mean(self.values[seen], axis=0)
        before = np.zeros((len(columns), 0))
        for name, column, raw in zip(self.names, columns.T, self.values[seen].T, strict=True):
            size = np.linalg.norm(column)
            if size <= limits.smallest * np.linalg.norm(raw) or size == 0:
                raise ValueError(
                    f"the regressor {name!r} is constant where samples are seen, so that nothing "
                    "distinguishes it from the level of the series: leave it out"
                )
            column = column / size
            rest = column - before @ (before.T @ column)
            rest -= before @ (before.T @ rest)
            if np.linalg.norm(rest) <= limits.smallest:
                raise ValueError(
                    f"the regressor {name!r} is a combination of the ones before it where samples "
                    "are seen, so their coefficients are not determined: leave one out"
                )
            before = np.column_stack([before, rest / np.linalg.norm(rest)])


def index_of(samples: Any) -> Any:
    """The index of a pandas object; None for other containers."""
    return samples.index if hasattr(samples, "iloc") else None


def _aligned(given: Any, index: Any, title: str) -> Any:
    """The rows of a pandas object that belong to an index, in its order."""
    if given.index.has_duplicates:
        twice = given.index[given.index.duplicated()][0]
        raise ValueError(f"the index of {title} holds {twice} more than once")
    absent = index[~index.isin(given.index)]
    if len(absent):
        raise ValueError(
            f"{title} has no row for {absent[0]} and {len(absent) - 1} other entries of the index, "
            "but one for every sample is expected"
        )
    return given.reindex(index)

"""Values with their standard errors and intervals, as columns of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from ..io.containers import required_pandas
from ..views import labels_of


class Banded(ABC):
    """A result with values, `stderr`, `lower` and `upper`."""

    channels: int | None
    stderr: Any
    lower: Any
    upper: Any

    def to_frame(self) -> Any:
        """The values of series with their standard errors and intervals, as a pandas DataFrame.

        Returns
        -------
        DataFrame
            Four columns per series: its values, `stderr`, `lower` and `upper`. With several series
            the name of each comes before: `wind_stderr`.
        """
        title, values = self._values()
        index, names = getattr(values, "index", None), labels_of(values, self.channels).names
        columns = banded_columns(title, values, self, names, self.channels)
        return required_pandas().DataFrame(columns, index=None if callable(index) else index)

    @abstractmethod
    def _values(self) -> tuple[str, Any]:
        """The title and the values."""


def banded_columns(
    title: str, values: Any, found: Banded, names: Sequence[str], channels: int | None
) -> Mapping[str, NDArray]:
    """Columns of a table: values, `stderr`, `lower` and `upper` of each series.

    Parameters
    ----------
    title : str
        What the values are.
    values : array, Series, DataFrame or DataArray
    found : Banded
    names : sequence of str
        One per series.
    channels : int or None
        The axis that holds channels.

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        The values are not series.
    """
    parts = {title: values, "stderr": found.stderr, "lower": found.lower, "upper": found.upper}
    arrays = {name: to_numpy(as_array(part)) for name, part in parts.items()}
    shape = np.shape(arrays[title])
    if len(shape) > 2 or (len(shape) == 2 and channels is None):
        raise ValueError(
            f"the values have shape {shape}, but a table holds series: use the arrays themselves"
        )
    if len(shape) == 1:
        return arrays
    sides = {name: np.moveaxis(part, channels or 0, 0) for name, part in arrays.items()}
    unique = names if len(set(names)) == len(names) else [str(c + 1) for c in range(len(names))]
    return {
        f"{series}_{name}": side[c]
        for c, series in enumerate(unique)
        for name, side in sides.items()
    }

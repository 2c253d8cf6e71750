"""Results as tables, for files and data frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._array import NDArray
from ..io import Table
from ..modal.modes import Modes
from ..views import index_labels
from .banded import banded_columns


def modes_table(modes: Modes) -> dict[str, NDArray]:
    """Return modes as columns of a table, for a CSV file or `pandas.DataFrame(modes_table(modes))`.

    Parameters
    ----------
    modes : Modes

    Returns
    -------
    dict of str to ndarray
        For a real signal one row per oscillation: `amplitude`, `phase`, `frequency` (cycles per
        sample), `period` and `damping_time` (samples). For a complex signal one row per mode:
        `amplitude`, `phase`, `frequency` and `damping`. Each is followed by its standard error,
        `amplitude_stderr` and so on, if there is one. Where the time between samples is known,
        there are also frequencies in its unit, such as `frequency_Hz`, and times have theirs,
        `period_s`. Several channels are numbered, `amplitude_1`, `amplitude_2`, and so are several
        axes, `frequency_1`.

    Examples
    --------
    >>> from structrank import Modes, modes_table
    >>> for name, column in modes_table(Modes([0.25, -0.25], amplitudes=0.5)).items():
    ...     print(name, column)
    amplitude [1.]
    phase [0.]
    frequency [0.25]
    period [4.]
    damping_time [inf]
    """
    return modes.table()


def components_table(parts: Any, table: Table) -> Table:
    """The components of series side by side, with the index of the file."""
    columns = parts.table()
    values = np.stack(list(columns.values()), axis=1)
    return Table(values, tuple(columns), table.index, table.index_name, style=table.style)


def table_like(table: Table, values: Any) -> Table:
    """The table with other values."""
    numbers = np.asarray(values)
    same_kind = np.iscomplexobj(numbers) == np.iscomplexobj(table.values)
    return replace(table, values=numbers, header=table.header if same_kind else None)


def forecast_table(ahead: Any, table: Table) -> Table:
    """Forecast, standard error and ends of the interval for each column of the series."""
    index = None if table.index is None else np.array(index_labels(ahead.mean.index))
    return _banded("forecast", ahead.mean, ahead, replace(table, index=None), index)


def bands_table(found: Any, table: Table) -> Table:
    """Signal, standard error and ends of the interval for each column of the file."""
    return _banded("signal", found.signal, found, table, table.index)


def _banded(title: str, values: Any, found: Any, table: Table, index: NDArray | None) -> Table:
    count = np.shape(values)[1] if np.ndim(values) == 2 else 1
    names = table.names or [str(c + 1) for c in range(count)]
    columns = banded_columns(title, values, found, names, 1)
    return Table(
        np.stack(list(columns.values()), axis=1),
        tuple(columns),
        index,
        table.index_name,
        style=replace(table.style, units=None),
    )

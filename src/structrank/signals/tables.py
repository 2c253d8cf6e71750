"""Results as tables, for files and data frames."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from ..modal.modes import Modes


def modes_table(modes: Modes) -> dict[str, NDArray]:
    """Return modes as columns of a table, for a CSV file or `pandas.DataFrame(modes_table(modes))`.

    Parameters
    ----------
    modes : Modes

    Returns
    -------
    dict of str to ndarray
        `amplitude`, `phase`, `frequency` and `damping`, one row per mode, each followed by its
        standard error, `amplitude_stderr` and so on, if there is one. Several channels are
        numbered, `amplitude_1`, `amplitude_2`, and so are several axes, `frequency_1`.

    Examples
    --------
    >>> from structrank import Modes, modes_table
    >>> for name, column in modes_table(Modes([0.25, -0.25], amplitudes=0.5)).items():
    ...     print(name, column)
    amplitude [0.5 0.5]
    phase [0. 0.]
    frequency [ 0.25 -0.25]
    damping [0. 0.]
    """
    quantities = {
        "amplitude": np.abs(modes.amplitudes),
        "phase": np.angle(modes.amplitudes),
        "frequency": modes.frequencies,
        "damping": modes.dampings,
    }
    errors: dict[str, NDArray] = {}
    if modes.stderr is not None:
        errors = {
            "amplitude": modes.stderr.amplitudes,
            "phase": modes.stderr.phases,
            "frequency": modes.stderr.frequencies,
            "damping": modes.stderr.dampings,
        }
    table = {}
    for name, values in quantities.items():
        values = values.reshape(len(modes), -1)
        for k in range(values.shape[1]):
            column = name if values.shape[1] == 1 else f"{name}_{k + 1}"
            table[column] = values[:, k]
            if errors:
                table[f"{column}_stderr"] = errors[name].reshape(values.shape)[:, k]
    return table

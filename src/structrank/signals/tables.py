"""Results as tables, for files and data frames."""

from __future__ import annotations

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

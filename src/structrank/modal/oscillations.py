"""The modes of a real signal as oscillations: one row for each conjugate pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray
from ..io.containers import required_pandas
from ..io.sampling import Sampling
from ..views.content import number_and_error

if TYPE_CHECKING:
    from .modes import Modes


@dataclass(frozen=True)
class Conjugates:
    """When modes count as those of a real signal.

    Attributes
    ----------
    tolerance : float
        Largest difference between a mode and the conjugate of another one: of frequencies and
        dampings per sample, and of amplitudes relative to the largest. Chosen: above the rounding
        errors of modes from singular vectors, below what noise leaves in complex signals.
    """

    tolerance: float = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Oscillations:
    """The oscillations that a real signal is the sum of, largest amplitude first.

    `y[k] = sum_i amplitudes[i] prod_d exp(-k_d / damping_times[i, d])
    cos(phases[i] + 2 pi sum_d frequencies[i, d] k_d)`

    with times counted in samples. Constants and exponentials are oscillations of frequency zero.

    Attributes
    ----------
    amplitudes : ndarray, shape (r,) or (r, channels)
        At the first sample.
    phases : ndarray, shape (r,) or (r, channels)
        In radians, at the first sample.
    frequencies : ndarray, shape (r, d)
        Cycles per sample along each axis. The first that is not zero is positive.
    periods : ndarray, shape (r, d)
        In samples; inf for frequency zero.
    damping_times : ndarray, shape (r, d)
        Samples until the amplitude is 1/e; inf without damping, negative for growth.
    stderr : dict of str to ndarray, or None
        Standard errors of these five, by name; NaN for infinite values.
    sampling : Sampling or None
        Units of times and frequencies in tables and pictures.
    rows, partners : ndarray of int, shape (r,)
        The mode of each oscillation, for a conjugate pair the one with positive frequency, and its
        conjugate, which is the same mode if it is real.

    Examples
    --------
    >>> from structrank import Modes
    >>> Modes([0.05, -0.05, 0.0], [0.1, 0.1, 0.0], [0.5, 0.5, 3.0]).oscillations()
    Oscillations (times in samples)
    amplitude  phase  frequency  period  damping time
            3      0          0       -             -
            1      0       0.05      20            10
    """

    amplitudes: NDArray
    phases: NDArray
    frequencies: NDArray
    periods: NDArray
    damping_times: NDArray
    stderr: dict[str, NDArray] | None
    sampling: Sampling | None
    rows: NDArray
    partners: NDArray

    @classmethod
    def of(cls, modes: Modes, rows: NDArray, partners: NDArray) -> Oscillations:
        """The oscillations of modes that come in conjugate pairs.

        Parameters
        ----------
        modes : Modes
        rows, partners : ndarray
            As `conjugate_rows` returns them.
        """
        f, dampings = modes.frequencies[rows], modes.dampings[rows]
        f = np.where(f == -0.5, 0.5, f) + 0.0
        twice = np.where(rows != partners, 2.0, 1.0).reshape(-1, *[1] * (modes.amplitudes.ndim - 1))
        a = np.where(twice == 2, modes.amplitudes[rows], modes.amplitudes[rows].real)
        stderr = None
        if (errors := modes.stderr) is not None:
            stderr = {
                "amplitudes": twice * errors.amplitudes[rows],
                "phases": np.where(twice == 2, errors.phases[rows], 0.0),
                "frequencies": errors.frequencies[rows],
                "periods": _inverse_errors(f, errors.frequencies[rows]),
                "damping_times": _inverse_errors(dampings, errors.dampings[rows]),
            }
        periods, times = _inverse(f), _inverse(dampings)
        amplitudes, phases = twice * np.abs(a), np.angle(a)
        return cls(amplitudes, phases, f, periods, times, stderr, modes.sampling, rows, partners)

    def table(self) -> dict[str, NDArray]:
        """Columns of a table, for a file or `pandas.DataFrame`.

        Returns
        -------
        dict of str to ndarray
            `amplitude`, `phase`, `frequency` (cycles per sample), `period` and `damping_time` (in
            samples), each followed by its standard error, `amplitude_stderr` and so on, if there is
            one. Where the time between samples is known, there is another column, such as
            `frequency_Hz`, and times have their unit, `period_s`. Several channels are numbered,
            `amplitude_1`, and so are several axes, `frequency_1`.
        """
        unit = self.sampling
        columns = [("amplitude", "amplitudes", 1.0), ("phase", "phases", 1.0)]
        columns.append(("frequency", "frequencies", 1.0))
        if unit is not None:
            name = unit.frequency.replace(" ", "_")
            columns.append((f"frequency_{name}", "frequencies", unit.rate))
        ending, step = ("", 1.0) if unit is None else (f"_{unit.time}", unit.step)
        columns.append((f"period{ending}", "periods", step))
        columns.append((f"damping_time{ending}", "damping_times", step))
        return numbered_columns(
            [
                (
                    name,
                    scale * getattr(self, key),
                    None if self.stderr is None else scale * self.stderr[key],
                )
                for name, key, scale in columns
            ]
        )

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, one row per oscillation."""
        pd = required_pandas()

        return pd.DataFrame(self.table())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        unit = self.sampling
        title = f"Oscillations (times in {'samples' if unit is None else unit.time})"
        return "\n".join([title, *self._lines()])

    def _lines(self, most: int = 20) -> list[str]:
        """The rows of the table as text, with standard errors, at most a few."""
        table, head = self.table(), []
        columns: list[list[str]] = []
        several = self.amplitudes.ndim > 1
        for name, values in table.items():
            hidden = several and name.startswith(("amplitude_", "phase_"))
            hidden |= self.sampling is not None and name == "frequency"
            if hidden or name.endswith("_stderr"):
                continue
            errors = table.get(f"{name}_stderr", np.full(len(self), np.nan))
            head.append(_heading(name, self.sampling))
            columns.append(
                [_cell(*both) for both in zip(values[:most], errors[:most], strict=True)]
            )
        if several:  # the size over all channels; squares may leave the range
            sizes = np.hypot.reduce(self.amplitudes, axis=1)
            head.insert(0, "amplitude")
            columns.insert(0, [_cell(size, np.nan) for size in sizes[:most]])
        widths = [max(map(len, [h, *column])) for h, column in zip(head, columns, strict=True)]
        rows = [head, *zip(*columns, strict=True)]
        lines = [
            "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        more = len(self) - most
        return lines + [f"  and {more} more"] * (more > 0)


def conjugate_rows(
    frequencies: NDArray,
    dampings: NDArray,
    amplitudes: NDArray,
    conjugates: Conjugates = Conjugates(),
) -> tuple[NDArray, NDArray] | None:
    """Find the conjugate pairs of modes.

    Parameters
    ----------
    frequencies, dampings : ndarray, shape (r, d)
    amplitudes : ndarray, shape (r,) or (r, channels)
    conjugates : Conjugates

    Returns
    -------
    rows, partners : ndarray of int
        The rows that stand for a pair or for a real mode, and their conjugates. None if the modes
        are not those of a real signal.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.modal.oscillations import conjugate_rows
    >>> f = np.array([[-0.1], [0.0], [0.1]])
    >>> conjugate_rows(f, 0 * f, np.array([1j, 2.0, -1j]))
    (array([2, 1]), array([0, 1]))
    >>> conjugate_rows(f, 0 * f, np.array([1j, 2.0, 1j])) is None
    True
    """
    size = np.max(np.abs(amplitudes), initial=0.0) or 1.0
    flat = amplitudes.reshape(len(amplitudes), int(np.prod(amplitudes.shape[1:]))) / size
    left, pairs = list(range(len(frequencies))), []
    while left:
        k = left.pop(0)
        turns = frequencies[left] + frequencies[k]
        apart = np.concatenate(
            [
                turns - np.round(turns),
                dampings[left] - dampings[k],
                np.abs(flat[left] - flat[k].conj()),
            ],
            axis=1,
        )
        near = np.max(np.abs(apart), axis=1, initial=0.0)
        halves = 2 * frequencies[k] - np.round(2 * frequencies[k])
        if np.max(np.abs([*halves, *flat[k].imag])) <= conjugates.tolerance:
            pairs.append((k, k))
        elif len(near) and np.min(near) <= conjugates.tolerance:
            other = left.pop(int(np.argmin(near)))
            leads = _leads(frequencies[k], conjugates.tolerance)
            pairs.append((k, other) if leads else (other, k))
        else:
            return None
    rows, partners = np.array(pairs, dtype=int).reshape(-1, 2).T
    return rows, partners


def numbered_columns(
    columns: Sequence[tuple[str, NDArray, NDArray | None]],
) -> dict[str, NDArray]:
    """Name the columns of a table: values and standard errors, numbered if there are several.

    Parameters
    ----------
    columns : sequence of (str, ndarray, ndarray or None)
        Name, values and standard errors, one row per mode.
    """
    table = {}
    for name, values, errors in columns:
        count = int(np.prod(values.shape[1:]))
        flat = values.reshape(len(values), count)
        for k in range(count):
            column = name if count == 1 else f"{name}_{k + 1}"
            table[column] = flat[:, k]
            if errors is not None:
                table[f"{column}_stderr"] = errors.reshape(flat.shape)[:, k]
    return table


def _leads(frequencies: NDArray, tolerance: float) -> bool:
    """Whether the first frequency that is neither zero nor one half is positive."""
    halves = np.abs(2 * frequencies - np.round(2 * frequencies))
    first = int(np.argmax(halves > tolerance))
    return bool(frequencies[first] > 0)


def _inverse(values: NDArray) -> NDArray:
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(values == 0, np.inf, 1 / values)


def _inverse_errors(values: NDArray, errors: NDArray) -> NDArray:
    """Standard errors of one over a value, to first order."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(values == 0, np.nan, errors / values**2)


def _heading(name: str, unit: Sampling | None) -> str:
    if unit is not None and name.startswith("frequency_"):
        return f"frequency ({unit.frequency})"
    words = name.replace("_", " ")
    return words if unit is None else words.removesuffix(f" {unit.time}")


def _cell(value: float, error: float) -> str:
    return number_and_error(value, error) if np.isfinite(value) else "-"

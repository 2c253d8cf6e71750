"""Values that may mean something else: codes for missing values, and sensors that are stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True)
class Suspicion:
    """When a repeated value is suspicious.

    Parameters
    ----------
    away : float
        Distance of a repeated extreme value from all others, relative to their range. Chosen: a
        signal that has its extreme so far away has it rarely, and never twice the same.
    often : int
        From so many occurrences on, half of this distance suffices. Chosen: as for `away`.
    codes : int
        Most different codes on either side. Chosen: instruments have one for each cause, and few.
    run : int
        Fewest equal values in a row. Chosen: ten equal values of a noisy sensor are no accident.
    jump : int
        The same, if the value before or after differs by half of what neighbours usually differ,
        or more: unlike at a flat peak. Chosen: six such values are no accident either.
    longer : float
        Length of such a run, relative to usual runs (their 95 % quantile). Chosen: above what
        rounding, counts and switches do.
    """

    away: float = 2.0
    often: int = 3
    codes: int = 3
    run: int = 10
    jump: int = 6
    longer: float = 5.0


def suspicious_values(
    values: np.ndarray, names: Sequence[str] | None = None, suspicion: Suspicion = Suspicion()
) -> list[str]:
    """Describe repeated values that may mean missing, or come from a stuck sensor.

    Parameters
    ----------
    values : ndarray
        Real samples, a vector or columns side by side; NaN where missing.
    names : sequence of str, optional
        Names of the columns.
    suspicion : Suspicion, optional

    Returns
    -------
    list of str
        One text per value and column.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.suspects import suspicious_values
    >>> values = np.sin(np.arange(30.0))
    >>> values[[3, 17, 18]] = -9999
    >>> suspicious_values(values)
    ['-9999 occurs 3 times, far from all other values (-1 to 0.9906): if it means missing, pass
    --missing -9999 (missing=-9999)']
    """
    if values.ndim > 2 or np.iscomplexobj(values):
        return []
    found = []
    for j, column in enumerate(values.reshape(len(values), -1).T):
        where = f'column "{names[j]}": ' if names is not None and names[j] else ""
        if where == "" and values.ndim == 2:
            where = f"column {j + 1}: "
        codes = _far_values(column, suspicion)
        rest = np.where(np.isin(column, codes), np.nan, column)
        found += [where + _about_code(column, code, rest) for code in codes]
        column = rest
        found += [where + text for text in _stuck(column, suspicion)]
    return found


def _far_values(column: np.ndarray, suspicion: Suspicion) -> list[float]:
    """The smallest and largest values that are repeated and far from all others."""
    known, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    several = range(suspicion.codes + 1)
    for low, high in sorted(product(several, several), key=sum, reverse=True):
        rest = known[low : len(known) - high]
        if len(rest) < 3:
            continue
        codes = np.delete(known, slice(low, len(known) - high))
        often = np.delete(counts, slice(low, len(known) - high))
        if all(count > 1 or _is_code(code) for code, count in zip(codes, often, strict=True)):
            away = suspicion.away * np.where(often >= suspicion.often, 0.5, 1.0) * np.ptp(rest)
            if np.all(np.abs(rest[:, None] - codes) > away):
                return [float(code) for code in codes]
    return []


def _is_code(value: float) -> bool:
    """Whether a value is a usual code for missing: -9999, 99999, -999.9, ..."""
    digits = f"{abs(value):.10g}".replace(".", "")
    return len(digits) > 2 and set(digits) == {"9"}


def _about_code(column: np.ndarray, code: float, others: np.ndarray) -> str:
    rest = others[np.isfinite(others)]
    count = int(np.count_nonzero(column == code))
    times = "once" if count == 1 else f"{count} times"
    return (
        f"{code:.10g} occurs {times}, far from all other values ({np.min(rest):.4g} to "
        f"{np.max(rest):.4g}): if it means missing, pass --missing {code:.10g} "
        f"(missing={code:.10g})"
    )


def _stuck(column: np.ndarray, suspicion: Suspicion) -> list[str]:
    """Values in unusually long runs."""
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    lengths = np.diff([*starts, len(column)])
    usual = np.quantile(lengths, 0.95)
    steps = np.abs(np.diff(column[starts]))  # between runs
    usual_step = np.nanmedian(steps) if np.any(np.isfinite(steps)) else np.inf
    around = np.fmax(np.append(0.0, steps), np.append(steps, 0.0))
    least = np.where(2 * around >= usual_step, suspicion.jump, suspicion.run)
    long = lengths >= np.maximum(least, suspicion.longer * usual)
    texts = []
    for value in np.unique(column[starts[long]]):
        runs = np.flatnonzero(long & (column[starts] == value))
        longest = runs[np.argmax(lengths[runs])]
        first, last = starts[longest] + 1, starts[longest] + lengths[longest]
        several = f"in {len(runs)} runs, the longest in" if len(runs) > 1 else "in"
        texts.append(
            f"{value:.10g} is repeated {several} rows {first} to {last}: if it does not mean a "
            f"value there (a stuck sensor, a night), make these cells empty, or all of this value "
            f"by --missing {value:.10g} (missing={value:.10g})"
        )
    return texts

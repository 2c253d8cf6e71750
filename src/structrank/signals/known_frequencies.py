"""Frequencies that the caller knows: modes held there, beside whatever else is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import one_real_series
from ..components.regression import Regression
from ..io.sampling import Sampling
from ..modal.modes import ModeErrors, Modes
from .candidates import FitOfModes
from .recovery_result import Recovery
from .regressor_table import RegressorTable
from .regressors import recover_beside
from .request import Request
from .units import with_sampling


@dataclass(frozen=True, eq=False)
class Tones:
    """Undamped sinusoids of known frequencies.

    Attributes
    ----------
    frequencies : ndarray
        In cycles per sample, above 0 and up to 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.known_frequencies import Tones
    >>> Tones(np.array([0.1, 0.5])).columns(40).names
    ('cos 0.1', 'sin 0.1', 'cos 0.5')
    """

    frequencies: NDArray

    def columns(self, length: int) -> RegressorTable:
        """Cosine and sine of each frequency; at 1/2 there is no sine.

        Parameters
        ----------
        length : int
            Number of samples.
        """
        t, names, values = np.arange(length), [], []
        for f in self.frequencies:
            names.append(f"cos {f:.6g}")
            values.append(np.cos(2 * np.pi * f * t))
            if f < 0.5:
                names.append(f"sin {f:.6g}")
                values.append(np.sin(2 * np.pi * f * t))
        return RegressorTable(tuple(names), np.stack(values, axis=1))

    def modes(self, regression: Regression) -> Modes:
        """The sinusoids as modes, with standard errors of amplitudes and phases.

        Parameters
        ----------
        regression : Regression
            Of the columns.
        """
        rows, at = [], 0
        for f in self.frequencies:
            count = 2 if f < 0.5 else 1
            own = slice(at, at + count)
            a, b = np.append(regression.coefficients[own], 0.0)[:2]
            errors = np.zeros((2, 2))
            errors[:count, :count] = regression.covariance[own, own]
            size = max(float(np.hypot(a, b)), np.finfo(float).tiny)
            along, across = np.array([a, b]) / size, np.array([b, -a]) / size**2
            spread = [float(np.sqrt(x @ errors @ x)) for x in (along, across)]
            rows.append((f, (a - 1j * b) / count, spread[0] / count, spread[1]))
            if count == 2:
                rows.append((-f, (a + 1j * b) / count, spread[0] / count, spread[1]))
            at = own.stop
        f, amplitudes, sizes, phases = (np.array(part) for part in zip(*rows, strict=True))
        still = np.zeros((len(f), 1))
        stderr = ModeErrors(still, still, sizes, phases)
        return Modes(f[:, None], 0.0, amplitudes, stderr)


def given_tones(
    known: Any, values: Any, channels: int | None, sampling: Sampling | None
) -> Tones | None:
    """Return the known frequencies in cycles per sample, or raise an error.

    Parameters
    ----------
    known : sequence of float, or None
        In cycles per sample, or in the unit of frequencies if the time between samples is known.
    values : array
        The samples.
    channels : int or None
        The axis that holds channels.
    sampling : Sampling or None

    Returns
    -------
    Tones or None
        None if no frequencies are given.
    """
    if known is None:
        return None
    several = isinstance(known, Sequence | np.ndarray) and not isinstance(known, str)
    numbers = list(known) if several else [known]
    unit, rate = "cycles per sample", 1.0
    if sampling is not None:
        unit, rate = sampling.frequency, sampling.rate
    plain = bool(numbers) and all(
        isinstance(f, Real) and 0 < float(f) / rate <= 0.5 * (1 + 1e-9) for f in numbers
    )
    if not plain or len({float(f) for f in numbers}) < len(numbers):
        raise ValueError(
            f"known_frequencies is {known!r}, but different numbers above 0 and up to "
            f"{0.5 * rate:g} ({unit}), half of the sampling rate, are expected"
        )
    one_real_series(to_numpy(values), channels, "known_frequencies are", "they are")
    return Tones(np.sort(np.minimum([float(f) / rate for f in numbers], 0.5)))


def recover_with_tones(request: Request, tones: Tones) -> Recovery:
    """Recover a series with modes that are held at known frequencies.

    Parameters
    ----------
    request : Request
    tones : Tones

    Returns
    -------
    Recovery
    """
    request.settings.check_absent(("regressors", "mu", "bounds", "robust"), "known_frequencies")
    found = recover_beside(request, tones.columns(len(request.values)))
    assert found.regression is not None  # of the columns
    if found.kind != FitOfModes.name:
        return found
    modes = _together(found.modes, tones.modes(found.regression))
    shown = with_sampling(modes, found.sampling)
    return replace(found, modes=shown, rank=len(modes), regression=None)


def _together(others: Modes | None, own: Modes) -> Modes:
    """The modes of two sets, largest amplitude first."""
    if others is None or len(others) == 0:
        return own
    stderr = None
    if others.stderr is not None and own.stderr is not None:
        both = zip(vars(others.stderr).values(), vars(own.stderr).values(), strict=True)
        stderr = ModeErrors(*(np.concatenate(pair) for pair in both))
    return Modes(
        np.concatenate([others.frequencies, own.frequencies]),
        np.concatenate([others.dampings, own.dampings]),
        np.concatenate([others.amplitudes, own.amplitudes]),
        stderr,
    )

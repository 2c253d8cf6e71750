"""Which (damped) sinusoids are in a signal, and how sure that is."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np

from ..modal.modes import Modes, NoModes
from .recovery import recover

SURE = 4.0  # standard errors between two modes that can be told apart


def frequencies(
    samples: Any,
    *,
    window: int | tuple[int, ...] | None = None,
    channels: int | None = None,
    rank: int | None = None,
    sigma: float | None = None,
    undamped: bool = False,
    rng: int | np.random.Generator = 0,
    progress: bool = False,
) -> Modes:
    """The frequencies, dampings, amplitudes and phases in a signal, with standard errors.

    Their number and the noise level come from the data (`select_mu`), and the modes are those
    that fit the samples best (`refit`). Where two of them are less than one over the length apart
    and their distance is not large beside its standard error, a warning says so: their
    standard errors, which are to first order in the noise, may then be too small.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The signal in any number of dimensions, real or complex, NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis.
    channels : int, optional
        The axis that holds channels, which share their modes. The columns of a DataFrame are
        channels.
    rank : int, optional
        Number of modes, if known; a real sinusoid is two.
    sigma : float, optional
        Standard deviation of the noise, if known.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Modes
        Largest amplitude first, with standard errors in `stderr` if the noise level is known or can
        be estimated. Frequencies are cycles a sample: times the sampling rate they are hertz.

    Raises
    ------
    NoModes
        A ValueError: nothing but noise is found.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.spectrum import frequencies
    >>> t = np.arange(100)
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(100)
    >>> samples = np.cos(2 * np.pi * 0.12 * t) + noise
    >>> samples[30:50] = np.nan
    >>> modes = frequencies(samples)
    >>> print(f"{modes.frequencies[0, 0]:.3f} +- {modes.stderr.frequencies[0, 0]:.4f}")
    0.120 +- 0.0001
    """
    found = recover(
        samples,
        window=window,
        channels=channels,
        rank=rank,
        sigma=sigma,
        kind="refit",
        undamped=undamped,
        rng=rng,
        progress=progress,
    )
    structure: Any = found.result.problem.structure
    modes = found.modes
    if modes is None:
        raise NoModes(
            "nothing but noise is found in the samples, so they have no modes: take more samples, "
            "pass sigma if the noise level is known, or pass rank to have that many fitted anyway"
        )
    pair = _hardly_apart(modes, structure.lengths)
    if pair is not None:
        places = [", ".join(f"{f:.6g}" for f in modes.frequencies[k]) for k in pair]
        names = " and ".join(
            places if modes.frequencies.shape[1] == 1 else map("({})".format, places)
        )
        warnings.warn(
            f"these samples hardly tell the modes of frequencies {names} apart: they may be "
            "further off than their standard errors say. More samples help, or less noise.",
            stacklevel=2,
        )
    return modes


def _hardly_apart(modes: Modes, lengths: tuple[int, ...]) -> list[int] | None:
    """Two modes less than one over the length apart, and by a few standard errors only, if any."""
    if modes.stderr is None:
        return None
    rates = modes.dampings + 2j * np.pi * modes.frequencies
    errors = np.hypot(modes.stderr.dampings, 2 * np.pi * modes.stderr.frequencies)
    order = np.argsort(-modes.frequencies[:, 0])  # of conjugate pairs the positive ones
    for pair in map(list, combinations(order, 2)):
        one, other = rates[pair]
        near = np.abs(one - other) @ lengths < 2 * np.pi and not np.allclose(one, other.conj())
        if near and np.linalg.norm(one - other) < SURE * np.linalg.norm(errors[pair]):
            return pair
    return None


def modes_table(modes: Modes) -> dict[str, np.ndarray]:
    """Modes as the columns of a table, for a CSV file or `pandas.DataFrame(modes_table(modes))`.

    Parameters
    ----------
    modes : Modes

    Returns
    -------
    dict of str to ndarray
        `amplitude`, `phase`, `frequency` and `damping`, one row a mode, each followed by its
        standard error, `amplitude_stderr` and so on, if there is one. Several channels are
        numbered, `amplitude_1`, `amplitude_2`, and so are several axes, `frequency_1`.

    Examples
    --------
    >>> from structrank import Modes
    >>> from structrank.signals.spectrum import modes_table
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
    errors: dict[str, np.ndarray] = {}
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

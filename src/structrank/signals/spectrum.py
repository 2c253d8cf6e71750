"""The (damped) sinusoids in a signal, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..modal.modes import Modes, NoModes
from .caller import warn_caller
from .candidates import FitOfModes
from .recovery import recover


@dataclass(frozen=True)
class Separation:
    """When two modes count as distinguished.

    Attributes
    ----------
    standard_errors : float
        Smallest distance between modes less than one over the length apart, in standard errors of
        that distance. Taste: below this, standard errors of first order may be too small.
    """

    standard_errors: float = 4.0


def frequencies(
    samples: Any,
    *,
    window: int | tuple[int, ...] | None = None,
    channels: int | None = None,
    rank: int | None = None,
    sigma: float | None = None,
    dt: float | None = None,
    regular: bool | str | float = False,
    undamped: bool = False,
    rng: int | np.random.Generator = 0,
    effort: str = "normal",
    max_time: float | None = None,
    progress: bool = False,
) -> Modes:
    """Find the frequencies, dampings, amplitudes and phases in a signal, with standard errors.

    Their number and the noise level come from the data (`select_mu`), and the modes are those that
    fit the samples best (`refit`). Noise of a series that is clearly correlated is modelled as
    autoregressive (`Modes.noise`): modes near the peak of its spectrum have to exceed it, and
    standard errors are those for such noise. A warning names two modes that are less than one over
    the length apart and whose distance is not large compared with its standard error. Their
    standard errors are of first order in the noise, and may be too small then.

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
    dt : float, optional
        Seconds between samples, for tables and pictures in Hz and seconds. Default: from the index,
        if it has times, or a unit in its name such as "time (ms)".
    regular : bool, str or float
        Make the index regular first; see `recover`.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    effort : {"fast", "normal", "thorough"}
        How much is tried; see `recover`.
    max_time : float, optional
        Time limit in seconds. When it ends the search, the best modes so far are returned, with a
        `ConvergenceWarning`.
    progress : bool
        Say what is being tried: on a terminal in a progress bar, else in a line from time to time.

    Returns
    -------
    Modes
        Largest amplitude first, with standard errors in `stderr` if the noise level is known or can
        be estimated. Its `frequencies` are in cycles per sample; printed, in `to_frame()` and in
        pictures it has also those in Hz or per year where the time between samples is known, and
        one row per oscillation if the signal is real.

    Raises
    ------
    NoModes
        A ValueError: only noise is found.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import frequencies
    >>> t = np.arange(100)
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(100)
    >>> samples = np.cos(2 * np.pi * 0.12 * t) + noise
    >>> samples[30:50] = np.nan
    >>> modes = frequencies(samples)
    >>> print(f"{modes.frequencies[0, 0]:.3f} +- {modes.stderr.frequencies[0, 0]:.4f}")
    0.120 +- 0.0001
    >>> frequencies(samples, dt=0.01).to_frame()[["frequency_Hz", "period_s"]].round(3)
       frequency_Hz  period_s
    0        11.993     0.083

    Correlated noise is distinguished from slow modes:

    >>> from scipy.signal import lfilter
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> coloured = np.cos(2 * np.pi * 0.12 * np.arange(200)) + lfilter([1], [1, -0.9], noise)
    >>> frequencies(coloured)
    Oscillations (times in samples)
        amplitude          phase            frequency           period  damping time
    0.999 ± 0.014  0.026 ± 0.028  0.119968 ± 0.000038  8.3356 ± 0.0027             -
    noise: AR(1), 0.90
    """
    found = recover(
        samples,
        window=window,
        channels=channels,
        rank=rank,
        sigma=sigma,
        dt=dt,
        regular=regular,
        kind=FitOfModes.name,
        undamped=undamped,
        rng=rng,
        effort=effort,
        max_time=max_time,
        progress=progress,
    )
    if found.modes is None:
        raise NoModes(
            "only noise is found in the samples, so they have no modes: take more samples, pass "
            "sigma if the noise level is known, or pass rank to fit that many modes anyway"
        )
    shape = np.shape(found.signal)
    lengths = tuple(size for axis, size in enumerate(shape) if axis != found.channels)
    pair = _hardly_distinguished(found.modes, lengths)
    if pair is not None:
        warn_caller(
            f"frequencies: these samples hardly distinguish the modes of frequencies "
            f"{_names(found.modes, pair)}. Their errors may be larger than their standard errors "
            "say. More samples help, or less noise."
        )
    return found.modes


def _hardly_distinguished(
    modes: Modes, lengths: tuple[int, ...], separation: Separation = Separation()
) -> list[int] | None:
    """Return two modes less than one over the length apart by a few standard errors, if any."""
    if modes.stderr is None:
        return None
    rates = modes.dampings + 2j * np.pi * modes.frequencies
    errors = np.hypot(modes.stderr.dampings, 2 * np.pi * modes.stderr.frequencies)
    order = np.argsort(-modes.frequencies[:, 0])  # the positive ones of conjugate pairs first
    for pair in map(list, combinations(order, 2)):
        one, other = rates[pair]
        near = np.abs(one - other) @ lengths < 2 * np.pi and not np.allclose(one, other.conj())
        smallest = separation.standard_errors * np.linalg.norm(errors[pair])
        if near and np.linalg.norm(one - other) < smallest:
            return pair
    return None


def _names(modes: Modes, pair: list[int]) -> str:
    """Return the frequencies of two modes, in brackets if there are several axes."""
    names = [", ".join(f"{f:.6g}" for f in modes.frequencies[k]) for k in pair]
    if modes.frequencies.shape[1] > 1:
        names = [f"({name})" for name in names]
    return " and ".join(names)

"""The units of a result: seconds and Hz, days, years."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..io.sampling import Sampling, sampling_of
from ..modal.modes import Modes


def signal_sampling(samples: Any, channels: int | None, dt: float | None) -> Sampling | None:
    """The time between the samples of a signal with one axis, if it is known.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
    channels : int or None
        The axis that holds channels, counted from the first.
    dt : float or None
        Seconds between samples.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.units import signal_sampling
    >>> signal_sampling(np.zeros(9), None, 0.1).frequency
    'Hz'
    """
    axes = np.ndim(samples) - (channels is not None)
    if axes == 1:
        return sampling_of(samples, 1 if channels == 0 else 0, dt)
    if dt is not None:
        raise ValueError(
            f"dt is {dt!r}, but the signal has {axes} axes: dt is for signals with one axis"
        )
    return None


def with_sampling(modes: Modes | None, sampling: Sampling | None) -> Modes | None:
    """Modes that know the time between samples."""
    return modes if modes is None or sampling is None else replace(modes, sampling=sampling)

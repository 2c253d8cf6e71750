"""The problem behind every function here: a signal with gaps, as a Hankel problem."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import finite_or_missing
from ..model.measure import Weighted
from ..model.problem import Problem
from ..structures import Hankel
from .window_sizes import largest_window, local_windows


@dataclass(frozen=True)
class SignalSizes:
    """Which signals are too short, and which are large.

    Attributes
    ----------
    fewest_samples : int
        Smallest number of samples. Mathematics: one mode has two unknowns, and the noise level
        needs more equations than unknowns.
    shortest_axis : int
        Smallest number of samples along an axis. Mathematics: the Hankel matrix of three is 2 x 2.
    most_rows : int
        A signal with several axes is large if half of each axis gives a matrix of more rows.
        Taste: such signals (pictures, k-space) are rarely sums of a few modes.
    local_window : int
        Window along each axis of a large signal. Chosen on draws of `benchmarks.real_data`.
    local_rows : int
        Largest number of rows of the matrix of a large signal. Chosen on draws of
        `benchmarks.real_data`.
    """

    fewest_samples: int = 4
    shortest_axis: int = 3
    most_rows: int = 3000
    local_window: int = 8
    local_rows: int = 300


def hankel_problem(
    values: Array,
    window: int | tuple[int, ...] | None = None,
    channels: int | None = None,
    sizes: SignalSizes = SignalSizes(),
) -> Problem:
    """Return the problem of filling the gaps of a signal: Hankel structure, lifted weights, mu = 1.

    Parameters
    ----------
    values : array
        NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis, or about 8 along
        each if the signal `is_large`.
    channels : int, optional
        The axis that holds channels.
    sizes : SignalSizes

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.problems import hankel_problem
    >>> hankel_problem(np.array([1.0, np.nan, 2.0, 3.0, 1.0]))
    Problem(Hankel((5,), window=(3,)), 4 of 5 samples seen, mu=1)
    """
    if values.ndim == 0:
        raise ValueError("the samples are a single number, but a signal is expected")
    if channels is not None:
        values = np.moveaxis(to_numpy(values), channels, -1)[..., None]
    host = to_numpy(values)
    lengths = host.shape if channels is None else host.shape[:-2]
    block = None if channels is None else (host.shape[-2], 1)
    _check_samples(host, lengths, sizes)
    if window is None:
        window = _default_window(lengths, 1 if block is None else block[0], sizes)
    structure = Hankel(lengths, window, block)
    return Problem(structure, values, 1.0, Weighted("lifted", ~np.isnan(host)))


def is_large(
    lengths: tuple[int, ...], channels: int = 1, sizes: SignalSizes = SignalSizes()
) -> bool:
    """Return whether only local fits suit a signal, as it has several axes and is large.

    Parameters
    ----------
    lengths : tuple of int
        Samples along each axis.
    channels : int
        Number of channels; with very many there are no windows for local fits.
    sizes : SignalSizes
    """
    many = len(lengths) > 1 and prod(_half(lengths)) * channels > sizes.most_rows
    return many and bool(local_windows(lengths, channels))


def _half(lengths: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((length + 1) // 2 for length in lengths)


def _default_window(lengths: tuple[int, ...], channels: int, sizes: SignalSizes) -> tuple[int, ...]:
    local = largest_window(lengths, channels, sizes.local_window, sizes.local_rows)
    return local if local and is_large(lengths, channels, sizes) else _half(lengths)


def _check_samples(host: NDArray, lengths: tuple[int, ...], sizes: SignalSizes) -> None:
    """Raise an error unless the samples suffice; channels, if any, are behind the lengths."""
    seen = ~np.isnan(host)
    count = int(np.count_nonzero(seen))
    finite_or_missing(host, "samples")
    if count < sizes.fewest_samples:
        raise ValueError(
            f"{count} values are seen, but {sizes.fewest_samples} or more are expected"
        )
    if min(lengths) < sizes.shortest_axis:
        raise ValueError(
            f"the signal has {min(lengths)} samples along an axis, but {sizes.shortest_axis} or "
            "more are expected along each: pass channels=... if that axis holds channels"
        )
    counts = np.count_nonzero(seen, axis=tuple(range(len(lengths)))).reshape(-1)
    if not np.all(counts):
        raise ValueError(
            f"channel {int(np.argmin(counts))} has no value at all, so it cannot be recovered: "
            "remove it"
        )

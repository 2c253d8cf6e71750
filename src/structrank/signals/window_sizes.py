"""Which short windows of a signal are tried, and with which noise levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np


@dataclass(frozen=True)
class WindowSearch:
    """Which local fits are tried.

    Chosen on draws of the recordings of `benchmarks.real_data`, unless a line says otherwise.

    Attributes
    ----------
    along_line : tuple of int
        Windows of a series, in samples.
    in_space : tuple of int
        Windows of a signal with several axes: largest number of samples along each axis.
    share_of_line : int
        A window of a series is at most the length over this. Taste: the covariance of a window
        is known well if there are many more windows than rows.
    most_rows : int
        Largest number of rows of the covariance of a window of a series, for its time.
    rows_in_space : tuple of int
        The same for several axes, for small and for large signals.
    work_of_value : float
        Rows between these two are as many as this number times the values, to the power 1/3: the
        inverse of the covariance then takes no longer than the rest of a step.
    most_work : float
        Largest number of values times rows squared for a series, for the time of its equations.
    shares : tuple of float
        Variances of the noise over that of the samples, from large to small.
    risen, risen_in_space : float
        Less noise is not tried after the prediction error rises above its least value times this:
        for a series, and for several axes, where errors of more samples vary less.
    fewest_steps, fewest_steps_in_space : int
        Smallest number of steps for each share of noise, unless the signal hardly changes.
    worth : float
        With several axes, share of the prediction error that a larger window has to save, or still
        larger ones are not tried. On seismic traces these save less and take half of the time.
    gain, gain_in_space : float
        Noise is lowered after a step that lowers the prediction error by less than this share.
    still, still_in_space : float
        The same after a step that changes the signal by less than this, relatively. In k-space,
        where few values are large, such steps still improve the others (`benchmarks.space`).
    neighbourhood : float
        Standard deviation, in samples, of the weights with which local sizes are averaged.
    most_uneven : float
        A series is evened out if its local size varies by more than this factor.
    floor : float
        Share of the overall mean in every local mean. Rounding: it only matters far from all
        samples.
    """

    along_line: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    in_space: tuple[int, ...] = (4, 8, 16)
    share_of_line: int = 4
    most_rows: int = 800
    rows_in_space: tuple[int, int] = (400, 800)
    work_of_value: float = 1600.0
    most_work: float = 3e8
    shares: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    risen: float = 1.05
    risen_in_space: float = 1.01
    fewest_steps: int = 3
    fewest_steps_in_space: int = 2
    worth: float = 0.03
    gain: float = 0.003
    gain_in_space: float = 0.0003
    still: float = 2e-3
    still_in_space: float = 5e-4
    neighbourhood: float = 20.0
    most_uneven: float = 10.0
    floor: float = 1e-9

    def for_axes(self, count: int) -> WindowSearch:
        """Return the search whose limits are those of a signal with so many axes."""
        if count == 1:
            return self
        return replace(
            self,
            risen=self.risen_in_space,
            fewest_steps=self.fewest_steps_in_space,
            gain=self.gain_in_space,
            still=self.still_in_space,
        )


def local_windows(
    lengths: tuple[int, ...], channels: int, search: WindowSearch = WindowSearch()
) -> list[tuple[int, ...]]:
    """Return the windows to try for a signal, the smallest first; none for a very short one.

    There are many more windows in the signal than rows in the covariance, so that it is known
    well. With several axes each window is at least twice the one before.
    """
    if len(lengths) == 1:
        sizes = [w for w in search.along_line if w <= lengths[0] // search.share_of_line]
        values = lengths[0] * channels
        return [
            (w,)
            for w in sizes
            if w * channels <= search.most_rows and values * (w * channels) ** 2 <= search.most_work
        ]
    values = prod(lengths) * channels
    rows = int(np.clip((search.work_of_value * values) ** (1 / 3), *search.rows_in_space))
    found = {largest_window(lengths, channels, most, rows) for most in search.in_space}
    windows = sorted((window for window in found if window is not None), reverse=True)
    kept = windows[:1]
    for window in windows[1:]:
        if 2 * prod(window) <= prod(kept[0]):
            kept.insert(0, window)
    return kept


def largest_window(
    lengths: tuple[int, ...], channels: int, most: int, rows: int
) -> tuple[int, ...] | None:
    """Return the largest window with limits along each axis and on its values in all channels.

    Parameters
    ----------
    lengths : tuple of int
        Samples along each axis; a window has at most half of them.
    channels : int
    most : int
        Largest number of samples along an axis.
    rows : int
        Largest number of values.

    Returns
    -------
    tuple of int or None
        None if even a window of two samples along each axis is too large.
    """
    for size in range(most, 1, -1):
        window = tuple(min(size, length // 2) for length in lengths)
        if prod(window) * channels <= rows:
            return window
    return None

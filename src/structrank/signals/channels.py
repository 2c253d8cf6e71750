"""Channels of a signal: which axis holds them, how large each is, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, to_numpy
from ..modal.modes import Modes


@dataclass(frozen=True)
class ChannelScaling:
    """When channels are divided by their sizes before the work.

    Attributes
    ----------
    largest_ratio : float
        Channels are scaled if the largest is more than this many times the smallest. Taste: a
        channel of a tenth of the size of another still counts in a common fit.
    """

    largest_ratio: float = 10.0


def channel_axis(channels: int, ndim: int) -> int:
    """Return the axis that holds channels as a number from zero up, or raise an error.

    Parameters
    ----------
    channels : int
        The axis, counted from the end if negative.
    ndim : int
        Number of axes of the samples.
    """
    if not -ndim <= channels < ndim or ndim < 2:
        raise ValueError(
            f"channels is {channels}, but the samples have {ndim} axes: expected one of them, "
            "beside at least one more"
        )
    return channels % ndim


def from_channels(values: Array, channels: int | None) -> Array:
    """Return a signal of the structure's shape in the shape that was given.

    Parameters
    ----------
    values : array
        In the shape of the structure's signals: channels last, in blocks of one column.
    channels : int or None
        The axis that holds the channels in the result.
    """
    if channels is None:
        return values
    return np.moveaxis(to_numpy(values)[..., 0], -1, channels)


def channel_sizes(
    values: Array, channels: int | None, scaling: ChannelScaling = ChannelScaling()
) -> Any:
    """Return the sizes by which to divide channels of very different size, or 1.

    Parameters
    ----------
    values : array
        NaN where missing.
    channels : int or None
        The axis that holds channels.
    scaling : ChannelScaling

    Returns
    -------
    ndarray or float
        Root mean square of every channel, with one entry along all other axes.
    """
    if channels is None:
        return 1.0
    host = to_numpy(values)
    others = tuple(axis for axis in range(host.ndim) if axis != channels)
    seen = np.maximum(np.sum(~np.isnan(host), axis=others, keepdims=True), 1)
    sizes = np.sqrt(np.nansum(np.abs(host) ** 2, axis=others, keepdims=True) / seen)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return sizes if np.max(sizes) > scaling.largest_ratio * np.min(sizes) else 1.0


def scaled_modes(modes: Modes, sizes: Any) -> Modes:
    """Return the modes with the amplitudes of every channel in its own units.

    Parameters
    ----------
    modes : Modes
        The modes of the channels divided by their sizes.
    sizes : ndarray or float
        What `channel_sizes` returned.
    """
    if np.ndim(sizes) == 0:
        return modes
    stderr, factors = modes.stderr, np.reshape(sizes, -1)
    if stderr is not None:
        stderr = replace(stderr, amplitudes=stderr.amplitudes * factors)
    return replace(modes, amplitudes=modes.amplitudes * factors, stderr=stderr)

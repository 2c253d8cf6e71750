"""Channels of a signal: which axis holds them, and the way to the structure's shape and back."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._array import Array, to_numpy
from ..io.containers import Unwrapped, unwrap
from ..model.problem import Problem


def channel_axis(channels: Any, ndim: int) -> int:
    """Return the axis that holds channels as a number from zero up, or raise an error.

    Parameters
    ----------
    channels : int
        The axis, counted from the end if negative.
    ndim : int
        Number of axes of the samples.
    """
    whole = isinstance(channels, (int, np.integer)) and not isinstance(channels, bool)
    if not whole or not -ndim <= channels < ndim or ndim < 2:
        raise ValueError(
            f"channels is {channels!r}, but the samples have {ndim} axes: expected one of them, "
            "beside at least one more"
        )
    return int(channels) % ndim


def unwrapped(samples: Any, channels: Any, *, regular: bool = True) -> tuple[Unwrapped, int | None]:
    """Return the numbers of samples, and the axis that holds channels, or raise an error.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
    channels : int or None
        The axis that the caller gave.
    regular : bool
        Raise an error if the index of a pandas object is not regular.

    Returns
    -------
    given : Unwrapped
    axis : int or None
        Counted from the first. Default: the one that the container has.
    """
    given = unwrap(samples, channels, regular=regular)
    axis = given.channels if channels is None else channel_axis(channels, given.values.ndim)
    return given, axis


def channel_count(problem: Problem) -> int:
    """Return the number of channels of a Hankel problem; one if there is no axis of channels."""
    structure: Any = problem.structure
    return prod(structure.block or (1,))


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

"""How a signal is divided into panels: by channel, and by part if it is complex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._array import NDArray


@dataclass(frozen=True)
class SeriesLayout:
    """Sizes of pictures of series. All values are a matter of taste."""

    most_channels: int = 12  # channels drawn, one below the other
    width: float = 6.4  # inches per panel
    height: float = 2.4  # inches per channel
    margin: float = 1.2  # inches for the legend and the label below
    shown_before: int = 200  # samples drawn before a forecast, at least
    shown_per_step: int = 5  # samples drawn before a forecast, per step of it

    def size(self, rows: int, columns: int) -> tuple[float, float]:
        """Return width and height of the figure in inches."""
        return self.width * columns, self.margin + self.height * rows


@dataclass(frozen=True)
class Part:
    """A real-valued part of a signal that has a panel.

    Attributes
    ----------
    name : str
        Empty if the signal is real.
    take : callable
        Takes the part of an array.
    share : float
        Standard error of the part over that of the signal, for circular noise.
    signed : bool
        Whether it can be negative. A modulus cannot, and it has no intervals of a forecast:
        their ends are those of the real and imaginary parts.
    """

    name: str
    take: Callable[[NDArray], NDArray]
    share: float
    signed: bool


REAL_SIGNAL = (Part("", np.asarray, 1.0, True),)
COMPLEX_SIGNAL = (
    Part("real part", np.real, 0.5**0.5, True),
    Part("modulus", np.abs, 0.5**0.5, False),
)


def parts_of(signal: NDArray) -> Sequence[Part]:
    """Return what is drawn of a signal: itself, or real part and modulus if it is complex."""
    return COMPLEX_SIGNAL if np.iscomplexobj(signal) else REAL_SIGNAL


def channels_first(values: NDArray, channels: int | None) -> NDArray:
    """Move the axis of the channels to the front, or add one of length 1."""
    return values[None] if channels is None else np.moveaxis(values, channels, 0)


def check_shapes(expected: tuple[int, ...], **arrays: NDArray) -> None:
    """Raise a ValueError that names the first array of another shape."""
    for name, array in arrays.items():
        if array.shape != expected:
            raise ValueError(f"{name} has shape {array.shape}, but {expected} is expected")

"""The exponentials along axes that modes consist of, and how far they may grow and shrink."""

from __future__ import annotations

import numpy as np

from .._array import NDArray

MAX_GROWTH = 340.0  # largest exponent of a mode: exp of twice this still is a double
LEAST_SIZE = 1e-150  # of a mode at the samples: squares of smaller ones leave the range of doubles


def exponentials(frequencies: NDArray, dampings: NDArray, shape: tuple[int, ...]) -> list[NDArray]:
    """For each axis, the factors of all modes along it, shape (samples, r)."""
    rates = 2j * np.pi * frequencies - dampings
    return [
        np.exp(np.outer(np.arange(size), rate)) for size, rate in zip(shape, rates.T, strict=True)
    ]


def growth_over(dampings: NDArray, shape: tuple[int, ...]) -> float:
    """The largest exponent that a mode reaches over a signal of some shape; zero without growth."""
    reach = np.array(shape) - 1
    return float(np.max(np.maximum(-dampings, 0.0) @ reach, initial=0.0))

"""Whether samples could be a sum of a few modes at all, before modes are searched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy.fft

from .._array import NDArray
from .samples import ChannelSamples


@dataclass(frozen=True)
class Screening:
    """When a search for modes is not worth its time.

    Chosen on draws of sums of 1 to 35 modes, damped or not, with and without noise, on 64 x 64 and
    60 x 1000 values, none of which is turned away.

    Attributes
    ----------
    fewest : int
        Samples with both neighbours, at least: from fewer, the prediction error is uncertain.
    margin : float
        Modes have to leave this many times more than neighbours do.
    slack : float
        A mode between the frequencies of the grid explains more than its peak, by up to this
        factor. Modes that decay as tried explain more than undamped ones by a larger one.
    oversampling : int
        Of the spectrum whose peaks are counted.
    exponent : float
        Decay along an axis of the modes that are tried in place of undamped ones.
    """

    fewest: int = 100
    margin: float = 4.0
    slack: float = 2.0
    oversampling: int = 2
    exponent: float = 10.0


def too_many_modes(
    samples: list[ChannelSamples], most: int, screening: Screening = Screening()
) -> bool:
    """Return whether neighbours predict samples much better than a few modes can fit them.

    The largest peaks of the spectrum bound what modes explain. A prediction from two neighbours
    bounds the noise. If both leave much apart, the samples are neither modes nor noise: seismic
    traces, for instance, are short wavelets with a wide spectrum. A search would add one mode after
    the other in vain. Only signals with two axes are turned away. Along one axis the spectrum
    of a fast decay is as wide.

    Parameters
    ----------
    samples : list of ChannelSamples
    most : int
        Number of modes that are no longer few.
    screening : Screening

    Returns
    -------
    bool
    """
    shape = samples[0].shape
    if len(shape) != 2:
        return False
    least = 1 - screening.margin * neighbour_error(samples, screening.fewest)
    count = 2 * most  # a real mode has two peaks
    if least <= 0 or count >= np.prod(shape):
        return False
    total = sum(np.sum(np.abs(channel.target) ** 2) for channel in samples)
    padded = [scipy.fft.next_fast_len(screening.oversampling * size) for size in shape]
    explained = _largest(_peaks(_power(samples, (0.0, 0.0), padded)), count)
    if screening.slack * explained >= least * total:
        return False
    undamped, *damped = (
        _largest(_power(samples, exponents, shape), count)
        for exponents in product((0.0, screening.exponent), repeat=2)
    )
    return max(damped) < screening.slack * undamped


def neighbour_error(samples: list[ChannelSamples], fewest: int) -> float:
    """Return the share of squares that is left of samples predicted from both neighbours.

    The prediction is linear, with two coefficients for all samples, and along the axis where it
    is better.

    Parameters
    ----------
    samples : list of ChannelSamples
    fewest : int
        Samples with two neighbours, at least.

    Returns
    -------
    float
        Infinite if no axis has enough neighbours.
    """
    grids = np.stack([_grid(channel) for channel in samples], axis=-1)
    errors = [np.inf]
    for axis in range(grids.ndim - 1):
        lines = np.moveaxis(grids, axis, 0)
        before, value, after = lines[:-2], lines[1:-1], lines[2:]
        whole = ~np.isnan(before + value + after)
        if np.count_nonzero(whole) < fewest:
            continue
        neighbours, target = np.stack([before[whole], after[whole]]), value[whole]
        gram = neighbours.conj() @ neighbours.T
        found = np.linalg.lstsq(gram, neighbours.conj() @ target, rcond=None)[0]
        left, size = target - found @ neighbours, np.vdot(target, target).real
        errors.append(float(np.vdot(left, left).real / size) if size else np.inf)
    return min(errors)


def _grid(channel: ChannelSamples) -> NDArray:
    """Samples as an array, NaN where missing."""
    grid = np.full(channel.shape, np.nan, dtype=channel.values.dtype)
    grid[tuple(channel.places)] = channel.values
    return grid


def _power(samples: list[ChannelSamples], exponents: tuple[float, ...], padded: object) -> NDArray:
    """By how much a mode of each frequency lowers the squares of the samples."""
    total = np.zeros(())
    for channel in samples:
        rates = zip(exponents, channel.shape, channel.places, strict=True)
        decay = channel.weights * np.exp(-sum(e / n * t for e, n, t in rates))
        grid = np.zeros(channel.shape, dtype=np.result_type(channel.target))
        grid[tuple(channel.places)] = decay * channel.target
        total = total + np.abs(scipy.fft.fftn(grid, padded)) ** 2 / np.sum(decay**2)
    return total


def _peaks(power: NDArray) -> NDArray:
    """Values that are no smaller than their neighbours along each axis, which wrap around."""
    top = np.ones(power.shape, dtype=bool)
    for axis in range(power.ndim):
        for shift in (-1, 1):
            top &= power >= np.roll(power, shift, axis)
    return power[top]


def _largest(values: NDArray, count: int) -> float:
    """Sum of the largest values."""
    values = values.reshape(-1)
    count = min(count, values.size)
    return float(np.sum(np.partition(values, -count)[-count:]))

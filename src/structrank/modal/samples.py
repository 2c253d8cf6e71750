"""The seen samples of a signal with modes, channel by channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft

from .._array import NDArray


@dataclass(frozen=True, eq=False)
class ChannelSamples:
    """The seen samples of one channel.

    Attributes
    ----------
    shape : tuple of int
        Number of values along each axis.
    places : list of ndarray of int
        Where the samples are, along each axis.
    weights, values : ndarray
        The weight and the value of each sample.
    """

    shape: tuple[int, ...]
    places: list[NDArray]
    weights: NDArray
    values: NDArray

    @property
    def target(self) -> NDArray:
        """The values times their weights."""
        return np.asarray(self.weights * self.values)

    def only(self, kept: NDArray) -> ChannelSamples:
        """Some of the samples."""
        places = [place[kept] for place in self.places]
        return ChannelSamples(self.shape, places, self.weights[kept], self.values[kept])

    def spectrum(self, residual: NDArray, damping: float, padded: tuple[int, ...]) -> NDArray:
        """By how much a mode of each frequency lowers the squared weighted residual.

        Parameters
        ----------
        residual : ndarray
            What is left of the samples, times their weights.
        damping : float
            Damping of the modes along the first axis.
        padded : tuple of int
            Number of frequencies along each axis.
        """
        decay = self.weights * np.exp(-damping * self.places[0])
        grid = np.zeros(self.shape, dtype=complex)
        grid[tuple(self.places)] = decay * residual
        power: NDArray = np.abs(scipy.fft.fftn(grid, padded)) ** 2 / np.sum(decay**2)
        return power


def channel_samples(
    shape: tuple[int, ...], weights: NDArray, values: NDArray
) -> list[ChannelSamples]:
    """Split samples by channels.

    Parameters
    ----------
    shape : tuple of int
        Number of values along each axis, without channels.
    weights, values : ndarray
        Of a whole signal; the weights are zero where it is not seen.

    Returns
    -------
    list of ChannelSamples
        One per channel.
    """
    weights, values = weights.reshape(*shape, -1), values.reshape(*shape, -1)
    seen = [np.nonzero(weights[..., c]) for c in range(weights.shape[-1])]
    return [
        ChannelSamples(shape, list(at), weights[(*at, c)], values[(*at, c)])
        for c, at in enumerate(seen)
    ]

"""Units in which channels are alike: each without its offset, and divided by its size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import finite_or_missing
from ..io.saved_results import savable
from ..modal.modes import ModeErrors, Modes
from .channels import from_channels
from .estimates import ErrorDraws, Estimate


@dataclass(frozen=True)
class ChannelScaling:
    """When channels are centred and scaled before the work.

    Attributes
    ----------
    largest_ratio : float
        Channels are scaled if the largest is more than this many times the smallest. Taste: a
        channel of a third of the size of another still counts in a common fit.
    large_offset : float
        Mean of a channel over its standard deviation beyond which it is centred. Taste: smaller
        offsets do not hide the rest, and a centred channel has one more mode, the offset.
    rounding : float
        A standard deviation below this share of the mean is rounding, and so is an offset below
        this share of the one that was subtracted.
    """

    largest_ratio: float = 3.0
    large_offset: float = 3.0
    rounding: float = 1e-12


@savable()
@dataclass(frozen=True, eq=False)
class ChannelUnits:
    """Offset and size of every channel, and the way to common units and back.

    Attributes
    ----------
    offsets, sizes : ndarray, shape (channels,)
        What is subtracted, and what the rest is divided by.
    counts : ndarray of int, shape (channels,)
        Samples that are seen.
    axis : int or None
        The axis that holds channels.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.channel_units import channel_units
    >>> table = np.array([[1.0, 1013.0], [-1.0, 1015.0], [1.0, 1013.0], [-1.0, 1015.0]])
    >>> units = channel_units(table, 1)
    >>> units.offsets, units.common(table)[:2]
    (array([   0., 1014.]), array([[ 1., -1.], [-1.,  1.]]))
    """

    offsets: NDArray
    sizes: NDArray
    counts: NDArray
    axis: int | None

    @property
    def scaled(self) -> bool:
        """Whether channels are divided by sizes."""
        return bool(np.any(self.sizes != 1))

    @property
    def centred(self) -> bool:
        """Whether a channel has an offset that is subtracted."""
        return bool(np.any(self.offsets != 0))

    def common(self, values: Array) -> Array:
        """Return samples in common units."""
        if not self.scaled and not self.centred:
            return values
        values = to_numpy(values)
        return (values - self._along(self.offsets, values)) / self._along(self.sizes, values)

    def signal(self, values: Array) -> Array:
        """Return a signal in its own units."""
        if not self.scaled and not self.centred:
            return values
        return values * self._along(self.sizes, values) + self._along(self.offsets, values)

    def stderr(self, values: Array, modes: Modes | None, sigma: float | None) -> Array:
        """Return standard errors in their own units, with those of the offsets if modes are known.

        Parameters
        ----------
        values : array
            In common units.
        modes : Modes or None
            In common units.
        sigma : float or None
            Standard deviation of the noise in common units.
        """
        if not self.scaled and not self.centred:
            return values
        values = values * self._along(self.sizes, values)
        errors = self._offset_errors(modes, sigma)
        return values if errors is None else np.hypot(values, self._along(errors, values))

    def modes(self, modes: Modes, sigma: float | None) -> Modes:
        """Return modes in their own units; the offsets are one more, unless one is constant."""
        if not self.scaled and not self.centred:
            return modes
        stderr, amplitudes = modes.stderr, modes.amplitudes * self.sizes
        if stderr is not None:
            stderr = replace(stderr, amplitudes=stderr.amplitudes * self.sizes)
        if not self.centred:
            return replace(modes, amplitudes=amplitudes, stderr=stderr)
        constant = _constant(modes)
        if np.any(constant):
            amplitudes[np.flatnonzero(constant)[0]] += self.offsets
            left = np.abs(amplitudes) > ChannelScaling().rounding * np.max(np.abs(self.offsets))
            kept = ~constant | np.any(left, axis=1)
            return replace(modes, amplitudes=amplitudes, stderr=stderr)[kept]
        zero, errors = np.zeros((1, modes.frequencies.shape[1])), self._offset_errors(modes, sigma)
        if stderr is not None:
            none = np.zeros((1, len(self.sizes)))
            new = (zero, zero, none if errors is None else errors[None], none)
            old = (stderr.frequencies, stderr.dampings, stderr.amplitudes, stderr.phases)
            stderr = ModeErrors(*(np.concatenate(both) for both in zip(old, new, strict=True)))
        return Modes(
            np.concatenate([modes.frequencies, zero]),
            np.concatenate([modes.dampings, zero]),
            np.concatenate([amplitudes, self.offsets[None]]),
            stderr,
        )

    def estimate(self, found: Estimate) -> Estimate:
        """Return an estimate in its own units, with channels along their axis.

        Parameters
        ----------
        found : Estimate
            In common units and in the shape of the structure's signals.
        """
        modes, sigma = found.modes, found.sigma
        if found.rank == 0 and sigma is not None and self.centred:  # the offsets are all there is
            modes = Modes(np.zeros((0, 1)), 0.0, np.zeros((0, len(self.sizes))))
        stderr, deviation = (
            self.stderr(from_channels(part, self.axis), modes, sigma)
            for part in (found.stderr, found.new_deviation)
        )
        modes = None if modes is None else self.modes(modes, sigma)
        return Estimate(
            self.signal(from_channels(found.signal, self.axis)),
            stderr,
            found.rank if modes is None else len(modes),
            modes,
            None if self.scaled else sigma,
            deviation=deviation,
            errors=None if found.errors is None else partial(self._errors, found.errors),
            expected=None if found.expected is None else self._expected(found.expected),
            part_errors=None if found.modes is None else partial(self._part_errors, found),
        )

    def _part_errors(self, found: Estimate, modes: Modes) -> NDArray | None:
        """Standard errors of the sum of some modes in their own units, one the offsets perhaps."""
        if found.part_errors is None or found.modes is None:
            return None
        offsets = _constant(modes) & self.centred & ~np.any(_constant(found.modes))
        errors = found.part_errors(modes[~offsets])
        if errors is None:
            return None
        own = found.modes if np.any(offsets) else None
        return to_numpy(self.stderr(from_channels(errors, self.axis), own, found.sigma))

    def _expected(self, noise: Array) -> Array:
        """Expected noise in its own units, with channels along their axis."""
        noise = from_channels(noise, self.axis)
        return noise if self.axis is None else noise * self._along(self.sizes, noise)

    def _errors(self, draw: ErrorDraws, n: int, rng: np.random.Generator) -> NDArray:
        """Draws of errors over standard errors, with channels along their axis."""
        return np.stack([to_numpy(from_channels(one, self.axis)) for one in draw(n, rng)])

    def _offset_errors(self, modes: Modes | None, sigma: float | None) -> NDArray | None:
        """Standard errors of the means, unless a constant mode has corrected them."""
        if modes is None or sigma is None or not self.centred or np.any(_constant(modes)):
            return None
        errors = sigma * self.sizes / np.sqrt(np.maximum(self.counts, 1))
        return np.where(self.offsets != 0, errors, 0.0)

    def _along(self, numbers: NDArray, values: Array) -> NDArray:
        """One number per channel, in a shape that broadcasts to the values."""
        assert self.axis is not None
        shape = [1] * values.ndim
        shape[self.axis] = -1
        return numbers.reshape(shape).astype(values.dtype, copy=False)


def channel_units(
    values: Array,
    axis: int | None,
    *,
    centre: bool = True,
    scale: bool = True,
    scaling: ChannelScaling = ChannelScaling(),
) -> ChannelUnits:
    """Find the units in which channels are alike.

    Parameters
    ----------
    values : array
        NaN where missing.
    axis : int or None
        The axis that holds channels; without several of them, nothing changes.
    centre, scale : bool
        Whether offsets may be subtracted, and whether channels may be divided by sizes.
    scaling : ChannelScaling
    """
    if axis is None or values.shape[axis] == 1:
        return ChannelUnits(np.zeros(1), np.ones(1), np.ones(1, dtype=int), axis)
    host = to_numpy(values)
    finite_or_missing(host, "samples")
    others = tuple(k for k in range(host.ndim) if k != axis)
    counts = np.sum(~np.isnan(host), axis=others)
    seen = np.maximum(counts, 1)
    kind = np.result_type(host.dtype, np.float64)
    means = np.nansum(host, axis=others, dtype=kind) / seen
    deviations = host - np.expand_dims(means, others)
    spreads = np.sqrt(np.nansum(np.abs(deviations) ** 2, axis=others) / seen)
    sizes = np.sqrt(np.nansum(np.abs(host.astype(kind)) ** 2, axis=others) / seen)
    far = np.abs(means) > scaling.large_offset * spreads
    far &= centre & (spreads > scaling.rounding * np.abs(means))
    sizes = np.where(far, spreads, sizes)
    sizes = np.where(sizes > 0, sizes, 1.0)
    if not scale or np.max(sizes) <= scaling.largest_ratio * np.min(sizes):
        sizes = np.ones(len(sizes))
    return ChannelUnits(np.where(far, means, 0.0), sizes, counts, axis)


def _constant(modes: Modes) -> NDArray:
    """Which modes are constant."""
    still = (modes.frequencies == 0) & (modes.dampings == 0)
    return np.asarray(np.all(still, axis=1))

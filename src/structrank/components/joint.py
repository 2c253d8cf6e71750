"""Several channels in one state-space model: estimates, draws and components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import NDArray
from ..io.saved_results import savable
from ..systems.chunks import Records
from ..systems.recursion import state_sequence
from ..systems.simulation import covariance_root
from ..systems.smoothing import Moments, smoothed
from .draws import DrawSizes, error_draws
from .joint_model import JointFit
from .joint_search import fit_jointly
from .mixture import Averaging, FittedSeries, SeriesEstimate, Told
from .noise_floor import SeenValues
from .parts import SeriesPart, mixed_parts, series_parts, shown_moments, shown_rows
from .search import fit_series


@savable()
@dataclass(frozen=True, eq=False)
class FittedChannels:
    """Fits of several channels, alone and together.

    Attributes
    ----------
    alone : list of FittedSeries
        The fits of each channel.
    joint : list of JointFit
        Those of all channels with correlated disturbances, the most information first. If there
        are none, the channels are what they are alone.
    """

    alone: list[FittedSeries]
    joint: list[JointFit]

    @cached_property
    def weights(self) -> NDArray:
        """The weight of each joint fit."""
        return Averaging().weights([fit.information for fit in self.joint])

    @property
    def order(self) -> int:
        """Number of states of the first fits."""
        if self.joint:
            return int(self.joint[0].states[-1].stop)
        return sum(one.order for one in self.alone)

    @property
    def optimism(self) -> float:
        """Factor by which errors grow for samples that the parameters were not fitted to."""
        fits = [one.fits[0] for one in self.alone]
        count = sum(len(fit.parameters) for fit in fits)
        count += sum(c.count for fit in self.joint[:1] for c in fit.correlations)
        share = min(count / max(sum(fit.fitted for fit in fits), 1), 0.5)
        return float(np.sqrt((1 + share) / (1 - share)))

    @property
    def _units(self) -> tuple[NDArray, NDArray]:
        """Offsets and scales of the channels."""
        units = np.array([(one.offset, one.scale) for one in self.alone])
        return units[:, 0], units[:, 1]

    def smooth(self, samples: Sequence[NDArray]) -> list[SeriesEstimate]:
        """Estimate tables of the same shape, each from samples of its own.

        Parameters
        ----------
        samples : sequence of ndarray, shape (samples, channels)
            NaN where missing.

        Returns
        -------
        list of SeriesEstimate
            With arrays of the shape of a table. `sigma` is the root mean square over channels.
        """
        if not self.joint:
            columns = [one.smooth([y[:, c] for y in samples]) for c, one in enumerate(self.alone)]
            return [_together(channels) for channels in zip(*columns, strict=True)]
        offset, scale = self._units
        found = [fit.smooth([(y - offset) / scale for y in samples]) for fit in self.joint]
        return [self._average(found, record) for record in range(len(samples))]

    def told(self, samples: NDArray, parts: Sequence[NDArray]) -> Told:
        """What samples say of a table, and of those of them that are held out in turn.

        Parameters
        ----------
        samples : ndarray, shape (samples, channels)
            NaN where missing.
        parts : sequence of ndarray of bool
        """
        without = [np.where(part, np.nan, samples) for part in parts]
        whole, *found = self.smooth([samples, *without])
        held_out = [one.at(part) for one, part in zip(found, parts, strict=True)]
        return Told(held_out, whole, self.seen_values(samples))

    def _average(self, found: list[Moments], record: int) -> SeriesEstimate:
        """Mean and variance of a mixture of fits."""
        offset, scale = self._units
        systems = [fit.gaussian() for fit in self.joint]
        count, pairs = len(self.alone), zip(found, systems, strict=True)
        means = np.array([f.states[:, :, 0, record] @ s.H[:count].T for f, s in pairs])
        variances = np.array([f.signal_variances[:, :, record] for f in found])
        mean = np.tensordot(self.weights, means, 1)
        variance = np.tensordot(self.weights, variances + (means - mean) ** 2, 1)
        noise = self.weights @ np.array([s.W.diagonal()[:count] for s in systems])
        return SeriesEstimate(
            offset + scale * mean,
            scale * np.sqrt(variance),
            scale * np.sqrt(variance + noise),
            float(np.sqrt(np.mean(scale**2 * noise))),
        )

    def seen_values(self, samples: NDArray) -> SeenValues:
        """Every channel at its seen samples, by its own fits, if as much of it is noise as can be.

        Parameters
        ----------
        samples : ndarray, shape (samples, channels)
            NaN where missing.

        Returns
        -------
        SeenValues
            With arrays of shape (samples, channels, 1), and of shape (channels, 1) for the noise.
        """
        pairs = zip(self.alone, samples.T, strict=True)
        found = [one for one in (fits.seen_values(y) for fits, y in pairs) if one is not None]
        return SeenValues(
            np.stack([one.seen for one in found], axis=-1)[..., None],
            np.stack([one.mean for one in found], axis=-1)[..., None],
            np.stack([one.variance for one in found], axis=-1)[..., None],
            np.array([one.noise for one in found])[:, None],
        )

    def error_draws(self, samples: NDArray, n: int, rng: np.random.Generator) -> NDArray:
        """Draws of a table given samples, less its estimate and over its standard error.

        Parameters
        ----------
        samples : ndarray, shape (samples, channels)
            NaN where missing.
        n : int
        rng : numpy.random.Generator

        Returns
        -------
        ndarray, shape (n, samples, channels)
        """
        if not self.joint:
            pairs = zip(self.alone, samples.T, strict=True)
            return np.stack([error_draws(one, y, n, rng) for one, y in pairs], axis=-1)
        offset, scale = self._units
        y, chosen = (samples - offset) / scale, rng.multinomial(n, self.weights)
        parts = [
            table_draws(fit, y, size, rng)
            for fit, count in zip(self.joint, chosen, strict=True)
            for size in DrawSizes().parts(int(count), len(y), fit.states[-1].stop)
        ]
        (found,) = self.smooth([samples])
        errors = offset + scale * rng.permutation(np.concatenate(parts)) - found.signal
        return np.asarray(errors / np.maximum(found.stderr, np.finfo(float).tiny))

    def parts(self, samples: NDArray) -> list[dict[str, SeriesPart]]:
        """Divide every channel into its components, as `series_parts` does.

        Parameters
        ----------
        samples : ndarray, shape (samples, channels)
            NaN where missing.
        """
        if not self.joint:
            return [series_parts(one, y) for one, y in zip(self.alone, samples.T, strict=True)]
        offset, scale = self._units
        found = [_joint_parts(fit, (samples - offset) / scale) for fit in self.joint]
        return [
            mixed_parts([parts[c] for parts in found], self.weights, offset[c], scale[c])
            for c in range(len(self.alone))
        ]


def _joint_parts(joint: JointFit, samples: NDArray) -> list[dict[str, tuple[NDArray, NDArray]]]:
    """Means and variances of the components of every channel, given all samples."""
    shown, rows = [shown_rows(fit) for fit in joint.fits], []
    for parts, own in zip(shown, joint.states, strict=True):
        for row in parts.values():
            rows.append(np.zeros(joint.states[-1].stop))
            rows[-1][own] = row
    moments = iter(shown_moments(joint.gaussian(), samples, rows))
    return [{name: next(moments) for name in parts} for parts in shown]


def fit_channels(samples: NDArray, alone: Sequence[FittedSeries] | None = None) -> FittedChannels:
    """Find the components of the channels of a table, and how their disturbances are correlated.

    Parameters
    ----------
    samples : ndarray, shape (samples, channels)
        NaN where missing.
    alone : sequence of FittedSeries, optional
        The fits of each channel alone, if they are known.

    Returns
    -------
    FittedChannels

    Examples
    --------
    A channel with a gap follows the other one, whose steps it shares:

    >>> import numpy as np
    >>> from structrank.components import fit_channels
    >>> steps = np.random.default_rng(0).standard_normal((80, 2)) @ [[1, 0.9], [0, 0.3]]
    >>> walks = np.cumsum(steps, axis=0)
    >>> gappy = walks.copy()
    >>> gappy[30:50, 1] = np.nan
    >>> fitted = fit_channels(gappy)
    >>> (found,) = fitted.smooth([gappy])
    >>> error = np.sqrt(np.mean((found.signal - walks)[30:50, 1] ** 2))
    >>> alone = fitted.alone[1].smooth([gappy[:, 1]])[0].signal
    >>> bool(error < 0.7 * np.sqrt(np.mean((alone - walks[:, 1])[30:50] ** 2)))
    True
    """
    if alone is None:
        alone = [fit_series(y) for y in samples.T]
    return FittedChannels(list(alone), fit_jointly(alone, samples))


def table_draws(fit: JointFit, y: NDArray, n: int, rng: np.random.Generator) -> NDArray:
    """Draws of channels without their white noise, given samples: the simulation smoother.

    Parameters
    ----------
    fit : JointFit
    y : ndarray, shape (samples, channels)
        Channels of mean zero and deviation one, NaN where missing.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, samples, channels)
    """
    model, count, seen = fit.gaussian(), len(fit.fits), ~np.isnan(y)
    C, A = model.H[:count], model.H[count:]
    start = rng.standard_normal((n, len(A))) @ covariance_root(model.covariance).T
    noise = rng.standard_normal((len(y), n, len(model.W))) @ covariance_root(model.W).T
    signal = state_sequence(A, start, noise[..., count:]) @ C.T
    simulated = np.swapaxes(signal + noise[..., :count], 1, 2)
    less = np.where(seen[..., None], np.where(seen, y, 0.0)[..., None] - simulated, 0.0)
    found = smoothed(model, Records(less[..., None], seen[..., None], None))
    given = np.einsum("cj,tjn->ntc", C, found.states[..., 0])
    return np.asarray(np.swapaxes(signal, 0, 1) + given)


def _together(channels: Sequence[SeriesEstimate]) -> SeriesEstimate:
    """The estimates of channels as one."""
    squares = [one.sigma**2 for one in channels if one.sigma is not None]
    return SeriesEstimate(
        np.stack([one.signal for one in channels], axis=-1),
        np.stack([one.stderr for one in channels], axis=-1),
        np.stack([one.deviation for one in channels], axis=-1),
        float(np.sqrt(np.mean(squares))),
    )

"""Several channels as one linear system: their components, with correlated disturbances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag

from .._array import NDArray
from ..io.saved_results import savable
from ..systems.chunks import Gaussian, Records
from ..systems.smoothing import Moments, smoothed
from .likelihood import ComponentFit


@savable()
@dataclass(frozen=True, eq=False)
class Correlation:
    """How the disturbances of one kind are correlated between channels.

    Attributes
    ----------
    name : str
        "white", "level", "slope", "autoregression", or a season. A channel whose level does not
        drift has its autoregressive part as "level", as either may follow a series that wanders.
    channels : tuple of int
        The channels that have it.
    matrix : ndarray, shape (channels, channels)
        Ones on the diagonal.
    """

    name: str
    channels: tuple[int, ...]
    matrix: NDArray

    @property
    def count(self) -> int:
        """Number of correlations."""
        return len(self.channels) * (len(self.channels) - 1) // 2


@savable()
@dataclass(frozen=True, eq=False)
class JointFit:
    """Components of several channels: seemingly unrelated time series equations [1]_.

    Every channel has the components that were found for it alone. The disturbances that move
    equal components of different channels at the same time are correlated; first states are not.
    So each channel by itself has the distribution that it has alone.

    Attributes
    ----------
    fits : list of ComponentFit
        One per channel.
    correlations : list of Correlation
        Those that differ from zero.
    gain : float
        By how much they raise the log-likelihood.

    References
    ----------
    .. [1] A. C. Harvey, "Forecasting, structural time series models and the Kalman filter",
       Cambridge University Press, 1989, section 8.2.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.joint_model import Correlation, JointFit
    >>> from structrank.components.likelihood import ComponentFit
    >>> from structrank.components.model import Components
    >>> walk = ComponentFit(Components(50, drifts=("level",)), np.array([-3.0, 0.0]), 0.0, 50)
    >>> level = Correlation("level", (0, 1), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> JointFit([walk, walk], [level]).gaussian().W[2:, 2:]
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    fits: list[ComponentFit]
    correlations: list[Correlation]
    gain: float = 0.0

    @property
    def information(self) -> float:
        """Akaike's criterion, corrected for few samples: the smaller, the better."""
        count = sum(correlation.count for correlation in self.correlations)
        spare = max(sum(fit.seen for fit in self.fits) - count - 1, 1)
        alone = sum(fit.information for fit in self.fits)
        return alone + 2 * (count - self.gain) + 2 * count * (count + 1) / spare

    @property
    def states(self) -> list[slice]:
        """Where the states of each channel are."""
        ends = np.cumsum([0, *(f.components.states["autoregression"].stop for f in self.fits)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @property
    def disturbances(self) -> dict[str, dict[int, NDArray]]:
        """By name and channel, which entries of the noise of `gaussian` are disturbances."""
        found: dict[str, dict[int, NDArray]] = {}
        for channel, (fit, own) in enumerate(zip(self.fits, self.states, strict=True)):
            at, drifts = fit.components.states, fit.components.drifts
            entries = {"white": np.array([channel])}
            for name in drifts:
                season = fit.components.seasons.get(name)
                key = name if season is None else f"season {season.period} {season.harmonics}"
                entries[key] = len(self.fits) + own.start + np.arange(at[name].start, at[name].stop)
            if fit.components.order:
                key = "autoregression" if "level" in drifts else "level"
                first = len(self.fits) + own.start + at["autoregression"].start
                entries[key] = np.array([first])
            for name, places in entries.items():
                found.setdefault(name, {})[channel] = places
        return found

    def gaussian(self) -> Gaussian:
        """The system of all channels, for the filter."""
        parts = [fit.components.matrices(fit.parameters) for fit in self.fits]
        C = block_diag(*(H[:1] for H, _, _ in parts))
        A, P = block_diag(*(H[1:] for H, _, _ in parts)), block_diag(*(P for _, _, P in parts))
        noise = [W.diagonal() for _, W, _ in parts]
        sizes = np.sqrt(np.concatenate([*(own[:1] for own in noise), *(own[1:] for own in noise)]))
        W = np.diag(sizes**2)
        for correlation in self.correlations:
            at = self.disturbances[correlation.name]
            for i, one in enumerate(correlation.channels):
                for j, other in enumerate(correlation.channels):
                    pair = at[one], at[other]
                    W[pair] = correlation.matrix[i, j] * sizes[pair[0]] * sizes[pair[1]]
        return Gaussian(np.concatenate([C, A]), W, np.zeros(len(P)), P, np.zeros(len(P), bool))

    def smooth(self, samples: Sequence[NDArray]) -> Moments:
        """Means and variances given tables of channels of mean zero and deviation one.

        Parameters
        ----------
        samples : sequence of ndarray, shape (samples, channels)
            One record each, NaN where missing.
        """
        return smoothed(self.gaussian(), table_records(samples))


def table_records(samples: Sequence[NDArray]) -> Records:
    """Tables of the same shape, NaN where missing, for the filter."""
    y = np.stack(samples, axis=-1)
    seen = ~np.isnan(y)
    return Records(np.where(seen, y, 0.0)[:, :, None, :], seen, None)

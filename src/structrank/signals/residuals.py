"""What a fit leaves: whether it is white and Gaussian, and which residuals stand out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2

from .._array import NDArray
from ..model.scale import deviation_by_median
from ..views import Labels, Summary
from ..views.residuals import plot_residuals


@dataclass(frozen=True)
class ResidualLimits:
    """Limits of the diagnostics.

    Attributes
    ----------
    lags : int
        Lags of the correlations. Taste.
    deviations : float
        Robust standard deviations beyond which a residual stands out. Chosen: Gaussian noise has
        one of them in 16,000 samples.
    chance : float
        Probability with which white noise exceeds the bound of a correlation. Taste.
    """

    lags: int = 20
    deviations: float = 4.0
    chance: float = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class ResidualDiagnostics(Summary):
    """Residuals of a recovered signal, and whether they look like noise.

    Attributes
    ----------
    residuals : ndarray, shape (samples, channels)
        Samples minus signal along the first axis, NaN where nothing was seen. The real and the
        imaginary part of a complex signal, and columns along other axes, are channels.
    limits : ResidualLimits
    labels : Labels
        Times of the samples, for pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.residuals import ResidualDiagnostics
    >>> noise = np.random.default_rng(0).standard_normal((300, 1))
    >>> white, wandering = ResidualDiagnostics(noise), ResidualDiagnostics(np.cumsum(noise, 0))
    >>> white.whiteness > 0.01, wandering.whiteness < 1e-9
    (True, True)
    """

    residuals: NDArray
    limits: ResidualLimits = ResidualLimits()
    labels: Labels = field(default_factory=Labels)

    @cached_property
    def sigma(self) -> float:
        """Standard deviation, robust against outliers."""
        return float(deviation_by_median(self.residuals[~np.isnan(self.residuals)]))

    @cached_property
    def outliers(self) -> NDArray:
        """Which residuals stand out, in the shape of the residuals."""
        return np.asarray(np.abs(self.residuals) > self.limits.deviations * self.sigma)

    @cached_property
    def _pairs(self) -> tuple[NDArray, NDArray]:
        """Autocorrelations at lags 1, 2, ... over all channels, and the pairs in each of them."""
        values = np.nan_to_num(self.residuals)
        seen = ~np.isnan(self.residuals) * 1.0
        power = np.sum(values**2) / max(np.sum(seen), 1.0) or 1.0
        lags = range(1, min(self.limits.lags, len(values) - 1) + 1)
        counts = np.array([np.sum(seen[k:] * seen[:-k]) for k in lags])
        sums = np.array([np.sum(values[k:] * values[:-k]) for k in lags])
        return sums / np.maximum(counts, 1.0) / power, counts

    @property
    def autocorrelations(self) -> NDArray:
        """Correlations with the residual 1, 2, ... samples before."""
        return self._pairs[0]

    @property
    def whiteness(self) -> float:
        """Probability of correlations as large as these if the residuals are white."""
        values, counts = self._pairs
        return float(chi2.sf(np.sum(counts * values**2), len(values)))

    @property
    def kurtosis(self) -> float:
        """Mean fourth power over the squared mean square: 3 for Gaussian noise."""
        squares = self.residuals[~np.isnan(self.residuals)] ** 2
        return float(np.mean(squares**2) / (np.mean(squares) ** 2 or 1.0))

    def plot(self, ax: Any = None) -> Any:
        """Draw residuals in their order, their correlations and their histogram.

        Parameters
        ----------
        ax : sequence of three Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        list of Axes
        """
        counts = self._pairs[1]
        bound = np.sqrt(chi2.isf(self.limits.chance, 1) / max(np.min(counts, initial=np.inf), 1.0))
        return plot_residuals(
            self.residuals.T.ravel(),
            self.autocorrelations,
            float(bound),
            sigma=self.sigma,
            outliers=self.outliers.T.ravel(),
            labels=self._times(),
            ax=ax,
        )

    def _times(self) -> Labels:
        """Positions of all residuals, one channel after the other."""
        rows, channels = self.residuals.shape
        if self.labels.positions is None or len(self.labels.positions) != rows:
            return Labels()
        return Labels(positions=np.tile(self.labels.positions, channels), axis=self.labels.axis)

    def _rows(self) -> list[tuple[str, str]]:
        seen = int(np.count_nonzero(~np.isnan(self.residuals)))
        white = "look white" if self.whiteness >= self.limits.chance else "are not white"
        return [
            ("residuals", f"{seen}, standard deviation {self.sigma:.4g} (robust)"),
            ("whiteness", f"they {white} (chance {self.whiteness:.2g})"),
            ("kurtosis", f"{self.kurtosis:.3g} (3 for Gaussian noise)"),
            ("outliers", f"{np.count_nonzero(self.outliers)} beyond {self.limits.deviations:g}"),
        ]


def as_channels(values: NDArray, channels: int | None) -> NDArray:
    """A signal as columns of real numbers: time along the first axis, all else as channels.

    Parameters
    ----------
    values : ndarray
        NaN where missing.
    channels : int or None
        The axis that holds channels.
    """
    moved = values if channels is None else np.moveaxis(values, channels, -1)
    flat = moved.reshape(len(moved), -1)
    return np.concatenate([flat.real, flat.imag], axis=1) if np.iscomplexobj(flat) else flat

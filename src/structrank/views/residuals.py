"""Pictures of residuals: over time, their correlations and their histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray
from .figure import BLACK, BLUE, ORANGE, label_positions, panels
from .labels import Labels


def plot_residuals(
    residuals: NDArray,
    autocorrelations: NDArray,
    bound: float,
    *,
    sigma: float,
    outliers: NDArray,
    labels: Labels = Labels(),
    ax: Any = None,
) -> Any:
    """Draw residuals in three panels: in their order, by lag, and their histogram.

    Parameters
    ----------
    residuals : ndarray, shape (count,)
        Real; NaN where nothing was seen.
    autocorrelations : ndarray
        At lags 1, 2, ...
    bound : float
        Size that a correlation of white noise rarely exceeds.
    sigma : float
        Standard deviation of the Gaussian that is drawn over the histogram.
    outliers : ndarray of bool, shape (count,)
        Residuals that are marked.
    labels : Labels, optional
        Positions of the residuals. Default: they are counted.
    ax : sequence of three Axes or Figure, optional

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_residuals
    >>> e, none = np.array([0.1, -0.2, 0.1]), np.zeros(3, bool)
    >>> axes = plot_residuals(e, np.array([-0.6]), 1.0, sigma=0.1, outliers=none, ax=Figure())
    >>> [axis.get_xlabel() for axis in axes]
    ['sample', 'lag', 'residual']
    """
    order, lags, histogram = axes = panels(ax, 1, 3, (10.2, 3.0))
    places = labels.along(len(residuals))
    order.plot(places, residuals, ".", color=BLUE, ms=3)
    order.plot(places[outliers], residuals[outliers], "x", color=ORANGE, ms=7, label="outlier")
    order.axhline(0, color="0.6", lw=0.8)
    label_positions(order, places, labels.axis)
    order.set(ylabel="residual")
    if np.any(outliers):
        order.legend(frameon=False, fontsize=8)
    lags.axhspan(-bound, bound, color=BLACK, alpha=0.08)
    numbers = np.arange(1, len(autocorrelations) + 1)
    lags.vlines(numbers, 0, autocorrelations, color=BLUE, lw=1.5)
    lags.plot(numbers, autocorrelations, "o", color=BLUE, ms=3)
    lags.axhline(0, color="0.6", lw=0.8)
    lags.set(xlabel="lag", ylabel="autocorrelation")
    seen = residuals[~np.isnan(residuals)]
    histogram.hist(seen, bins="auto", density=True, color=BLUE, alpha=0.5)
    if sigma > 0:
        x = np.linspace(min(-4 * sigma, np.min(seen)), max(4 * sigma, np.max(seen)), 300)
        bell = np.exp(-((x / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
        histogram.plot(x, bell, color=BLACK, lw=1, label="Gaussian")
        histogram.legend(frameon=False, fontsize=8)
    histogram.set(xlabel="residual", ylabel="density")
    for axis in axes:
        axis.grid(alpha=0.25)
    return axes

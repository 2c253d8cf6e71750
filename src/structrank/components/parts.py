"""The parts of a fitted series: trend, season and autoregressive part as series of their own."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from .likelihood import ComponentFit
from .mixture import FittedSeries

TREND, SEASON, SECOND, CYCLE = "trend", "season", "second season", "autoregressive part"
NAMES = {"level": TREND, "season": SEASON, "second season": SECOND, "autoregression": CYCLE}


def series_parts(fitted: FittedSeries, samples: NDArray) -> dict[str, NDArray]:
    """Divide a series into its components, given all samples.

    Parameters
    ----------
    fitted : FittedSeries
        The fits of the series; their parts are averaged with their weights.
    samples : ndarray
        NaN where missing.

    Returns
    -------
    dict of str to ndarray
        "trend", with the mean of the series, and, where a fit has them, "season", "second season"
        and "autoregressive part". Their sum is the signal of `FittedSeries.smooth`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components import fit_series
    >>> from structrank.components.parts import series_parts
    >>> t = np.arange(48)
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(48)
    >>> y = 0.05 * t + np.cos(2 * np.pi * t / 12) + noise
    >>> parts = series_parts(fit_series(y, periods=[12]), y)
    >>> list(parts)[:2], bool(np.std(parts["season"] - np.cos(2 * np.pi * t / 12)) < 0.1)
    (['trend', 'season'], True)
    """
    record = (samples - fitted.offset) / fitted.scale
    parts: dict[str, NDArray] = {}
    for weight, fit in zip(fitted.weights, fitted.fits, strict=True):
        states = fit.smooth([record], fitted.noise).states[:, :, 0, 0]
        for name, part in shown_parts(fit, states).items():
            parts[name] = parts.get(name, np.zeros(len(samples))) + fitted.scale * weight * part
    parts[TREND] = parts[TREND] + fitted.offset
    return {name: parts[name] for name in NAMES.values() if name in parts}


def shown_parts(fit: ComponentFit, states: NDArray) -> dict[str, NDArray]:
    """What the states of a fit, of shape (samples, states), show of each component."""
    shown = fit.components.matrices(fit.parameters)[0][0]
    return {
        NAMES[key]: states[:, at] @ shown[at]
        for key, at in fit.components.states.items()
        if key in NAMES and at.stop > at.start
    }

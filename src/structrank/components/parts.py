"""The parts of a fitted series: trend, season and autoregressive part as series of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._array import NDArray
from ..systems.chunks import Gaussian
from ..systems.smoothing import smoothed
from .conditioning import gaussian
from .joint_model import table_records
from .likelihood import ComponentFit
from .mixture import FittedSeries

TREND, SEASON, SECOND, CYCLE = "trend", "season", "second season", "autoregressive part"
NAMES = {"level": TREND, "season": SEASON, "second season": SECOND, "autoregression": CYCLE}


@dataclass(frozen=True, eq=False)
class SeriesPart:
    """One component of a series, given all samples.

    Attributes
    ----------
    values, stderr : ndarray
        Its mean and its standard error.
    """

    values: NDArray
    stderr: NDArray


def series_parts(fitted: FittedSeries, samples: NDArray) -> dict[str, SeriesPart]:
    """Divide a series into its components, given all samples.

    Parameters
    ----------
    fitted : FittedSeries
        The fits of the series; their parts are averaged with their weights.
    samples : ndarray
        NaN where missing.

    Returns
    -------
    dict of str to SeriesPart
        "trend", with the mean of the series, and, where a fit has them, "season", "second season"
        and "autoregressive part". Their sum is the signal of `FittedSeries.smooth`, and the errors
        are found as its errors are.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components import fit_series
    >>> from structrank.components.parts import series_parts
    >>> t = np.arange(48)
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(48)
    >>> y = 0.05 * t + np.cos(2 * np.pi * t / 12) + noise
    >>> parts = series_parts(fit_series(y, periods=[12]), y)
    >>> errors = parts["season"].values - np.cos(2 * np.pi * t / 12)
    >>> list(parts)[:2], bool(np.std(errors) < 0.1), bool(np.all(parts["season"].stderr < 0.1))
    (['trend', 'season'], True, True)
    """
    record = ((samples - fitted.offset) / fitted.scale)[:, None]
    found = []
    for fit in fitted.fits:
        system, rows = gaussian(fit.components, fit.parameters, fitted.noise), shown_rows(fit)
        found.append(dict(zip(rows, shown_moments(system, record, rows.values()), strict=True)))
    return mixed_parts(found, fitted.weights, fitted.offset, fitted.scale)


def shown_rows(fit: ComponentFit) -> dict[str, NDArray]:
    """How the states of a fit show in each component."""
    shown = fit.components.matrices(fit.parameters)[0][0]
    rows = {}
    for key, at in fit.components.states.items():
        if key in NAMES and at.stop > at.start:
            rows[NAMES[key]] = np.zeros(len(shown))
            rows[NAMES[key]][at] = shown[at]
    return rows


def shown_moments(
    system: Gaussian, samples: NDArray, rows: Iterable[NDArray]
) -> list[tuple[NDArray, NDArray]]:
    """Means and variances of what states show, given all samples.

    They are those of more outputs of the system that are never seen.

    Parameters
    ----------
    system : Gaussian
        Its outputs are the channels of the samples.
    samples : ndarray, shape (samples, channels)
        NaN where missing.
    rows : iterable of ndarray
        How the states show in each output.
    """
    more, count = np.stack(list(rows)), samples.shape[1]
    H = np.insert(system.H, [count] * len(more), more, axis=0)
    old = np.delete(np.arange(len(H)), np.arange(count, count + len(more)))
    W = np.broadcast_to(np.eye(len(H)), (*system.W.shape[:-2], len(H), len(H))).copy()
    W[..., old[:, None], old] = system.W
    unseen = np.full((len(samples), len(more)), np.nan)
    records = table_records([np.concatenate([samples, unseen], axis=1)])
    wider = Gaussian(H, W, system.mean, system.covariance, system.diffuse)
    found = smoothed(wider, records)
    means, variances = found.states[:, :, 0, 0] @ more.T, found.signal_variances[:, count:, 0]
    return list(zip(means.T, variances.T, strict=True))


def mixed_parts(
    found: Sequence[dict[str, tuple[NDArray, NDArray]]],
    weights: NDArray,
    offset: float,
    scale: float,
) -> dict[str, SeriesPart]:
    """Components of a mixture of fits, in the units of a series.

    Parameters
    ----------
    found : sequence of dict of str to tuple of ndarray
        Means and variances of the components of each fit. Those that a fit lacks are zero.
    weights : ndarray
    offset, scale : float
        The offset belongs to the trend.
    """
    nothing = np.zeros_like(found[0][TREND])
    parts = {}
    for name in NAMES.values():
        if any(name in one for one in found):
            moments = np.array([one.get(name, nothing) for one in found])
            means, variances = moments[:, 0], moments[:, 1]
            mean = weights @ means
            variance = weights @ (np.maximum(variances, 0.0) + (means - mean) ** 2)
            start = offset if name == TREND else 0.0
            parts[name] = SeriesPart(start + scale * mean, scale * np.sqrt(variance))
    return parts

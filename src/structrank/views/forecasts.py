"""Pictures of forecasts: the last samples, their fit, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray
from .figure import BLUE, ORANGE, label_positions, label_values, legend_above, panels, returned
from .labels import Labels
from .parts import Part, SeriesLayout, channels_first, check_shapes, parts_of
from .signals import SERIES


def plot_forecast(
    samples: NDArray,
    mean: NDArray,
    lower: NDArray,
    upper: NDArray,
    *,
    fit: NDArray,
    level: float = 0.95,
    channels: int | None = None,
    labels: Labels | None = None,
    layout: SeriesLayout = SERIES,
    ax: Any = None,
) -> Any:
    """Draw a forecast after the samples that it continues, with its intervals.

    There is one panel per channel. Only the end of a long series is shown: 200 samples, or five
    per step if that is more.

    Parameters
    ----------
    samples : ndarray
        NaN where missing.
    mean, lower, upper : ndarray
        The forecast, and the ends of its intervals.
    fit : ndarray
        The fitted values at the samples.
    level : float
        Probability that an interval contains the sample.
    channels : int, optional
        The axis that holds channels.
    labels : Labels, optional
        Names of the channels, and positions of the samples followed by those of the forecast.
    layout : SeriesLayout
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_forecast
    >>> series = np.cos(0.3 * np.arange(70))
    >>> past, mean = series[:60], series[60:]
    >>> axis = plot_forecast(past, mean, mean - 0.1, mean + 0.1, fit=past, ax=Figure())
    >>> [line.get_label() for line in axis.lines]
    ['fit', 'seen', 'forecast']
    """
    labels = Labels() if labels is None else labels
    samples, fit, mean, lower, upper = map(np.asarray, (samples, fit, mean, lower, upper))
    check_shapes(samples.shape, fit=fit)
    check_shapes(mean.shape, lower=lower, upper=upper)
    samples, fit, mean, lower, upper = (
        channels_first(array, channels)[: layout.most_channels]
        for array in (samples, fit, mean, lower, upper)
    )
    parts, length, steps = parts_of(mean), samples.shape[1], mean.shape[1]
    x = labels.along(length + steps)
    first = max(length - max(layout.shown_before, layout.shown_per_step * steps), 0)
    past, future = slice(first, length), slice(length, length + steps)
    axes = panels(ax, len(samples), len(parts), layout.size(len(samples), len(parts)), sharex=True)
    for number, axis in enumerate(axes):
        c, part = number // len(parts), parts[number % len(parts)]
        _past(axis, x[past], fit[c, past], samples[c, past], part)
        axis.plot(x[future], part.take(mean[c]), color=BLUE, lw=2, label="forecast")
        if part.signed and np.all(np.isfinite(upper[c])):
            style = {"color": BLUE, "alpha": 0.25, "lw": 0, "label": f"{level:.0%} interval"}
            axis.fill_between(x[future], part.take(lower[c]), part.take(upper[c]), **style)
        label_values(axis, part.name, labels.names[c])
        if number >= len(axes) - len(parts):
            label_positions(axis, x, labels.axis)
    legend_above(axes[0])
    return returned(axes)


def _past(axis: Any, x: NDArray, fit: NDArray, samples: NDArray, part: Part) -> None:
    axis.plot(x, part.take(fit), color=BLUE, lw=1, alpha=0.7, label="fit")
    axis.plot(x, part.take(samples), "o", color=ORANGE, ms=3, mew=0, label="seen")

"""Pictures of samples before any work: what was seen, and where the gaps are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray
from .figure import ORANGE, label_positions, label_values, legend_above, panels, returned
from .labels import Labels
from .parts import SeriesLayout, channels_first, parts_of
from .signals import SERIES, mark_gaps


def plot_samples(
    samples: NDArray,
    *,
    channels: int | None = None,
    labels: Labels | None = None,
    layout: SeriesLayout = SERIES,
    ax: Any = None,
) -> Any:
    """Draw samples and their gaps.

    A series has one panel per channel, at most twelve. A signal with two axes is shown as an
    image, one with more axes by the middle slice of the last two. Of complex samples the real part
    and the modulus are drawn.

    Parameters
    ----------
    samples : ndarray
        NaN where missing.
    channels : int, optional
        The axis that holds channels.
    labels : Labels, optional
        Names of the channels and positions of the samples.
    layout : SeriesLayout
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_samples
    >>> axis = plot_samples(np.array([1.0, np.nan, np.nan, 2.0]), ax=Figure())
    >>> [text.get_text() for text in axis.get_legend().get_texts()]
    ['seen', 'gap']
    """
    labels = Labels() if labels is None else labels
    values = channels_first(np.asarray(samples), channels)[: layout.most_channels]
    parts = parts_of(values)
    rows, columns = len(values), len(parts)
    series = values.ndim == 2
    axes = panels(ax, rows, columns, layout.size(rows, columns), sharex=series)
    for number, axis in enumerate(axes):
        channel, part = number // columns, parts[number % columns]
        taken = np.where(np.isnan(values[channel]), np.nan, part.take(values[channel]))
        if series:
            x = labels.along(values.shape[1])
            _one_series(axis, x, taken)
            label_values(axis, part.name, labels.names[channel])
            if number >= len(axes) - columns:
                label_positions(axis, x, labels.axis)
        else:
            _one_image(axis, taken)
            axis.set_title(" ".join(filter(None, [part.name, labels.names[channel]])))
    if series:
        legend_above(axes[0])
    return returned(axes)


def _one_series(axis: Any, x: NDArray, values: NDArray) -> None:
    axis.plot(x, values, "o-", color=ORANGE, ms=3, mew=0, lw=0.6, label="seen")
    if np.any(np.isnan(values)):
        mark_gaps(axis, x, np.isnan(values))


def _one_image(axis: Any, values: NDArray) -> None:
    while values.ndim > 2:
        values = values[len(values) // 2]
    axis.set_facecolor("0.85")  # the gaps
    image = axis.imshow(values, aspect="auto", cmap="viridis", interpolation="nearest")
    axis.set(xlabel="column", ylabel="row")
    axis.figure.colorbar(image, ax=axis, label="value")

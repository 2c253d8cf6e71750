"""Pictures of measured outputs beside those of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray
from .figure import (
    BLACK,
    BLUE,
    ORANGE,
    label_positions,
    label_values,
    legend_above,
    panels,
    returned,
)
from .labels import Labels
from .parts import SeriesLayout
from .signals import SERIES


def plot_comparison(
    samples: NDArray,
    estimates: dict[str, NDArray],
    *,
    titles: list[str] | None = None,
    labels: Labels | None = None,
    layout: SeriesLayout = SERIES,
    ax: Any = None,
) -> Any:
    """Draw measured outputs and estimates of them, one panel per output.

    At most twelve outputs are drawn. Of complex outputs the real part is drawn, and labelled so.

    Parameters
    ----------
    samples : ndarray, shape (samples, p)
        NaN where missing.
    estimates : dict of ndarray
        By label, of the same shape.
    titles : list of str, optional
        One per output.
    labels : Labels, optional
        Names of the outputs and positions of the samples.
    layout : SeriesLayout
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_comparison
    >>> y = np.array([[1.0], [np.nan], [3.0]])
    >>> axis = plot_comparison(y, {"simulated": np.ones((3, 1))}, ax=Figure())
    >>> [line.get_label() for line in axis.lines]
    ['measured', 'simulated']
    """
    outputs = min(samples.shape[1], layout.most_channels)
    labels = Labels(("",) * outputs) if labels is None else labels
    x = labels.along(len(samples))
    axes = panels(ax, outputs, 1, layout.size(outputs, 1), sharex=True)
    for j, axis in enumerate(axes):
        axis.plot(x, samples[:, j].real, "o", color=BLACK, ms=3, mew=0, label="measured")
        for (label, values), color in zip(estimates.items(), (BLUE, ORANGE), strict=False):
            axis.plot(x, values[:, j].real, color=color, lw=1.2, label=label)
        label_values(axis, "real part" if np.iscomplexobj(samples) else "", labels.names[j])
        if titles is not None:
            axis.set_title(titles[j], loc="left", fontsize="medium")
    label_positions(axes[-1], x, labels.axis)
    legend_above(axes[0])
    return returned(axes)

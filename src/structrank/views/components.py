"""Pictures of what a signal is made of: components, their correlations, singular values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array import NDArray
from .figure import BAND, BLUE, ORANGE, finite, label_positions, legend_above, panels
from .labels import Labels
from .parts import SeriesLayout, parts_of

COMPONENTS = SeriesLayout(height=1.3)


def plot_components(
    parts: dict[str, NDArray],
    stderr: dict[str, NDArray] | None = None,
    *,
    labels: Labels | None = None,
    layout: SeriesLayout = COMPONENTS,
    ax: Any = None,
) -> Any:
    """Draw the components of series, one below the other.

    Parameters
    ----------
    parts : dict of str to ndarray, shape (channels, samples)
        By name. Of complex ones the real part is drawn, and the channels in one panel, at most
        twelve.
    stderr : dict of str to ndarray, optional
        Standard errors of some of them: they have 95% bands.
    labels : Labels, optional
        Names of the channels and positions of the samples.
    layout : SeriesLayout
    ax : sequence of Axes or Figure, optional

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_components
    >>> parts = {"trend": np.ones((1, 9)), "rest": np.zeros((1, 9))}
    >>> [axis.get_title(loc="left") for axis in plot_components(parts, ax=Figure())]
    ['trend', 'rest']
    """
    for name, values in parts.items():
        if values.ndim != 2:
            raise ValueError(
                f"the component {name!r} has shape {values.shape}, but series are drawn: their "
                "shape is (channels, samples)"
            )
    labels, errors = Labels() if labels is None else labels, stderr or {}
    axes = panels(ax, len(parts), 1, layout.size(len(parts), 1), sharex=True)
    x = labels.along(next(iter(parts.values())).shape[1])
    for axis, (name, values) in zip(axes, parts.items(), strict=True):
        shown = values[: layout.most_channels].real
        for k, channel in enumerate(shown):
            style = {"color": BLUE} if len(shown) == 1 else {}
            (line,) = axis.plot(x, channel, lw=1.2, label=labels.names[k], **style)
            if name in errors:
                width = finite(BAND * parts_of(values)[0].share * errors[name][k])
                band = channel - width, channel + width
                axis.fill_between(x, *band, color=line.get_color(), alpha=0.3, lw=0)
        axis.set_title(name, loc="left", fontsize=9, parse_math=False)
        axis.grid(alpha=0.25)
    if len(values) > 1:
        legend_above(axes[0])
    label_positions(axes[-1], x, labels.axis)
    return axes


def plot_w_correlations(values: NDArray, names: Sequence[str], ax: Any = None) -> Any:
    """Draw weighted correlations between components: dark squares are not separable.

    Parameters
    ----------
    values : ndarray, shape (count, count)
        Between zero and one.
    names : sequence of str
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_w_correlations
    >>> axis = plot_w_correlations(np.eye(2), ["trend", "rest"], Figure())
    >>> axis.images[0].get_array().data
    array([[1., 0.],
           [0., 1.]])
    """
    (axis,) = panels(ax, 1, 1, (5.4, 4.6))
    image = axis.imshow(values, vmin=0, vmax=1, cmap="Blues", interpolation="nearest")
    for k, i in np.ndindex(values.shape):
        color = "white" if values[k, i] > 0.5 else "0.2"
        axis.text(i, k, f"{values[k, i]:.2f}", ha="center", va="center", color=color, fontsize=8)
    places = np.arange(len(names))
    axis.set_xticks(places, names, rotation=30, ha="right", fontsize=8, parse_math=False)
    axis.set_yticks(places, names, fontsize=8, parse_math=False)
    axis.figure.colorbar(image, ax=axis, label="w-correlation")
    return axis


def plot_scree(lines: dict[str, NDArray], rank: int | None = None, ax: Any = None) -> Any:
    """Draw the leading singular values of some matrices on a logarithmic scale.

    Parameters
    ----------
    lines : dict of str to ndarray
        Singular values, largest first, by label. Those that are zero are not drawn.
    rank : int, optional
        Marked by a vertical line behind this many values.
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_scree
    >>> axis = plot_scree({"samples": np.array([3.0, 1.0, 0.5])}, rank=1, ax=Figure())
    >>> axis.get_yscale(), axis.lines[-1].get_xdata()
    ('log', [1.5, 1.5])
    """
    (axis,) = panels(ax, 1, 1, (6.4, 3.6))
    for (label, values), color in zip(lines.items(), (ORANGE, BLUE), strict=False):
        shown = np.where(values > 0, values, np.nan)
        axis.plot(np.arange(1, len(values) + 1), shown, "o-", color=color, ms=4, lw=1, label=label)
    axis.set(xlabel="number", ylabel="singular value", yscale="log")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(alpha=0.25)
    legend_above(axis)
    if rank is not None:
        axis.axvline(rank + 0.5, color="0.5", lw=1, ls="--")
    return axis

"""Pictures of recovered signals: series, images, volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array import NDArray
from .figure import (
    BAND,
    BLACK,
    BLUE,
    ORANGE,
    finite,
    label_positions,
    label_values,
    legend_above,
    panels,
    returned,
)
from .labels import Labels
from .parts import Part, SeriesLayout, channels_first, check_shapes, parts_of

SERIES = SeriesLayout()


def plot_signal(
    samples: NDArray,
    signal: NDArray,
    stderr: NDArray | None = None,
    *,
    lower: NDArray | None = None,
    upper: NDArray | None = None,
    level: float = 0.95,
    outliers: NDArray | None = None,
    channels: int | None = None,
    labels: Labels | None = None,
    layout: SeriesLayout = SERIES,
    ax: Any = None,
) -> Any:
    """Draw a recovered signal over its samples, with gaps, outliers and 95% bands.

    A series has one panel per channel; a complex one has its real part and its modulus side by
    side. A signal with two axes is shown as images: samples, recovered signal, standard errors. A
    signal with more axes is shown by the middle slice of the last two. Bands of complex signals
    are those of circular noise. At most twelve channels are drawn.

    Parameters
    ----------
    samples : ndarray
        NaN where missing.
    signal : ndarray
        The recovered signal, of the same shape.
    stderr : ndarray, optional
        Standard errors of the signal, of the same shape; inf or NaN where unknown.
    lower, upper : ndarray, optional
        Bounds of a new sample, of the same shape; they are drawn for real series.
    level : float
        Probability of a new sample to lie between them.
    outliers : ndarray of bool, optional
        Samples that are marked as gross errors.
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
    >>> from structrank.views import plot_signal
    >>> truth = np.cos(0.3 * np.arange(60))
    >>> axis = plot_signal(truth.round(1), truth, ax=Figure())
    >>> [line.get_label() for line in axis.lines]
    ['recovered', 'seen']
    """
    labels = Labels() if labels is None else labels
    samples = np.asarray(samples)
    signal = np.asarray(signal)
    unknown = np.full(samples.shape, np.nan)
    stderr, lower, upper = (
        unknown if part is None else np.asarray(part) for part in (stderr, lower, upper)
    )
    outliers = np.zeros(samples.shape, bool) if outliers is None else np.asarray(outliers, bool)
    given = {"signal": signal, "stderr": stderr, "outliers": outliers}
    check_shapes(samples.shape, **given, lower=lower, upper=upper)
    arrays = [
        channels_first(array, channels)[: layout.most_channels]
        for array in (samples, *given.values(), lower, upper)
    ]
    if arrays[0].ndim == 2:
        return _series(arrays, f"{100 * level:g}% of new samples", labels, layout, ax)
    return _images(arrays[:4], labels, ax)


def _series(
    arrays: Sequence[NDArray], interval: str, labels: Labels, layout: SeriesLayout, ax: Any
) -> Any:
    """Draw one row per channel, with one column per part; `interval` names the outer band."""
    parts = parts_of(arrays[1])
    rows, columns = len(arrays[0]), len(parts)
    axes = panels(ax, rows, columns, layout.size(rows, columns), sharex=True)
    x = labels.along(arrays[0].shape[1])
    for number, axis in enumerate(axes):
        channel, part = number // columns, parts[number % columns]
        _one_series(axis, x, [array[channel] for array in arrays], part, interval)
        label_values(axis, part.name, labels.names[channel])
        if number >= len(axes) - columns:
            label_positions(axis, x, labels.axis)
    legend_above(axes[0])
    return returned(axes)


def _one_series(
    axis: Any, x: NDArray, arrays: Sequence[NDArray], part: Part, interval: str
) -> None:
    """Draw line, bands, gaps, dots and crosses of one channel."""
    samples, signal, stderr, outliers, lower, upper = arrays
    missing = np.isnan(samples)
    value, half_width = part.take(signal), finite(BAND * part.share * stderr)
    axis.plot(x, value, color=BLUE, lw=1.5, label="recovered")
    if np.any(half_width > 0):
        style = {"color": BLUE, "alpha": 0.3, "lw": 0}
        axis.fill_between(x, value - half_width, value + half_width, label="95% band", **style)
    if not np.iscomplexobj(signal) and np.any(upper > lower):
        style = {"color": BLUE, "alpha": 0.12, "lw": 0}
        axis.fill_between(x, finite(lower), finite(upper), label=interval, **style)
    if np.any(missing):
        mark_gaps(axis, x, missing)
    dots = np.where(missing | outliers, np.nan, part.take(samples))
    axis.plot(x, dots, "o", color=ORANGE, ms=3, mew=0, label="seen", zorder=1.9)
    if np.any(outliers):
        crosses = np.where(outliers, part.take(samples), np.nan)
        axis.plot(x, crosses, "x", color=BLACK, ms=6, label="outlier")


def mark_gaps(axis: Any, x: NDArray, missing: NDArray) -> None:
    """Draw grey stripes over missing samples, with half a step on either side."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # matplotlib has no types for it
    at = np.asarray(dates.date2num(x) if x.dtype.kind == "M" else x, dtype=float)
    half = (at[-1] - at[0]) / (2 * max(len(at) - 1, 1))
    edges = np.diff(np.concatenate([[0], missing.astype(int), [0]]))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    stripes = [(at[i] - half, at[j] - at[i] + 2 * half) for i, j in zip(first, last, strict=True)]
    style = {"facecolor": "0.9", "edgecolor": "none", "zorder": 0.5, "label": "gap"}
    axis.broken_barh(stripes, (0, 1), transform=axis.get_xaxis_transform(), **style)


def _images(arrays: Sequence[NDArray], labels: Labels, ax: Any) -> Any:
    """Draw one row per channel and part: samples, recovered signal, standard error."""
    parts, middles = parts_of(arrays[1]), ""
    while arrays[0].ndim > 3:
        middle = arrays[0].shape[1] // 2
        arrays = [array[:, middle] for array in arrays]
        middles += f"{middle}, "
    where = f"slice [{middles}:, :]" if middles else ""
    rows = len(arrays[0]) * len(parts)
    axes = panels(ax, rows, 3, (9.6, 0.8 + 2.7 * rows))
    for row in range(rows):
        channel, part = row // len(parts), parts[row % len(parts)]
        samples, signal, stderr, _ = (array[channel] for array in arrays)
        three = axes[3 * row : 3 * row + 3]
        _image_row(three, samples, signal, stderr, part)
        about = ", ".join(filter(None, [part.name, labels.names[channel], where]))
        three[0].set_ylabel(f"{about}\nrow" if about else "row", parse_math=False)
    return returned(axes)


def _image_row(
    axes: Sequence[Any], samples: NDArray, signal: NDArray, stderr: NDArray, part: Part
) -> None:
    """Draw the three images of one channel; the first two share their colours."""
    seen, recovered = np.where(np.isnan(samples), np.nan, part.take(samples)), part.take(signal)
    largest = float(np.max(np.abs(np.nan_to_num([seen, recovered])))) or 1.0
    signed = part.signed and float(np.min(np.nan_to_num(recovered))) < 0
    values: dict[str, Any] = {
        "vmin": -largest if signed else 0.0,
        "vmax": largest,
        "cmap": "RdBu_r" if signed else "viridis",
        "interpolation": "nearest",
    }
    errors: dict[str, Any] = {"vmin": 0, "cmap": "magma_r"}
    images = (
        (seen, "seen", values),
        (recovered, "recovered", values),
        (finite(stderr), "standard error", errors),
    )
    drawn = []
    for axis, (image, title, style) in zip(axes, images, strict=True):
        axis.set_facecolor("0.85")
        drawn.append(axis.imshow(image, aspect="auto", **style))
        axis.set(title=title, xlabel="column", ylabel="row")
    axes[1].figure.colorbar(drawn[1], ax=axes[1], label="value")
    axes[2].figure.colorbar(drawn[2], ax=axes[2], label="standard error")

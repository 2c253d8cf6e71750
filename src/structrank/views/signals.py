"""Pictures of signals: recovered, and carried on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import to_numpy
from ..io.containers import unwrap
from .figure import BLACK, BLUE, ORANGE, legend_above, panels, returned

if TYPE_CHECKING:
    from ..signals.forecasting import Forecast
    from ..signals.recovery import Recovery

BAND = 1.959964  # standard errors to either side of a 95% band
MOST_CHANNELS = 12  # that are drawn
SHOWN_BEFORE = 200  # samples before a forecast that are drawn, at least


def plot_signal(recovery: Recovery, ax: Any = None) -> Any:
    """A recovered signal over its samples, with gaps, outliers and 95% bands.

    Series have a panel a channel, complex ones their real part and modulus beside each other.
    Signals with two axes are shown as pictures: what is seen, what is recovered, standard errors.
    Of signals with more axes the middle slice of the last two is shown. Bands of complex
    signals are those of circular noise. At most twelve channels are drawn.

    Parameters
    ----------
    recovery : Recovery
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank import recover
    >>> from structrank.views import plot_signal
    >>> found = recover(np.cos(0.3 * np.arange(60)), rank=2, mu=0.1, kind="refit")
    >>> plot_signal(found, Figure()).get_xlabel()
    'sample'
    """
    from ..signals.recovery import Recovery

    if not isinstance(recovery, Recovery):
        raise TypeError(f"recovery is {type(recovery).__name__}, but a Recovery is expected")
    samples, signal, stderr = (
        to_numpy(unwrap(part, recovery.channels).values)
        for part in (recovery.samples, recovery.signal, recovery.stderr)
    )
    axis = recovery.channels
    parts = [
        _channels_first(part, axis)[:MOST_CHANNELS]
        for part in (samples, signal, stderr, recovery.outliers)
    ]
    names = _channel_names(recovery.samples, len(parts[0]))
    if signal.ndim - (axis is not None) == 1:
        positions = _positions(recovery.samples, axis=1 if axis == 0 else 0)
        return _series_panels(positions, names, parts, ax)
    return _image_panels(names, parts, ax)


def plot_forecast(forecast: Forecast, ax: Any = None) -> Any:
    """A forecast after the samples it continues, with its intervals; a panel a channel.

    Of a long series the last samples are shown: 200, or five times the steps if that is more.

    Parameters
    ----------
    forecast : Forecast
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank import forecast
    >>> from structrank.views import plot_forecast
    >>> ahead = forecast(np.cos(0.3 * np.arange(60)), steps=10)
    >>> len(plot_forecast(ahead, Figure()).lines)
    3
    """
    from ..signals.forecasting import Forecast

    if not isinstance(forecast, Forecast):
        raise TypeError(f"forecast is {type(forecast).__name__}, but a Forecast is expected")
    parts = [
        to_numpy(unwrap(part, forecast.channels).values)
        for part in (forecast.samples, forecast.mean, forecast.lower, forecast.upper)
    ]
    axis = forecast.channels
    samples, mean, lower, upper = (_channels_first(part, axis)[:MOST_CHANNELS] for part in parts)
    fit = _channels_first(forecast.modes.signal(len(parts[0])), axis)
    fit = fit if np.iscomplexobj(mean) else fit.real
    before, after = _continued(forecast)
    names = _channel_names(forecast.samples, len(samples))
    first = max(samples.shape[1] - max(SHOWN_BEFORE, 5 * mean.shape[1]), 0)
    views = _views(mean)
    axes = panels(
        ax,
        len(names),
        len(views),
        (6.4 * len(views), 1.2 + 2.4 * len(names)),
        sharex=True,
    )
    for number, panel in enumerate(axes):
        c, (view, take, _) = number // len(views), views[number % len(views)]
        past = slice(first, samples.shape[1])
        panel.plot(before[past], take(fit[c, past]), color=BLUE, lw=1, alpha=0.7, label="fit")
        panel.plot(
            before[past], take(samples[c, past]), "o", color=ORANGE, ms=3, mew=0, label="seen"
        )
        panel.plot(after, take(mean[c]), color=BLUE, lw=2, label="forecast")
        if np.all(np.isfinite(upper[c])) and view != "modulus":
            style = {"color": BLUE, "alpha": 0.25, "lw": 0}
            low, high = take(lower[c]), take(upper[c])
            panel.fill_between(after, low, high, label=f"{forecast.level:.0%} interval", **style)
        _label_values(panel, view, names[c])
        if number >= len(axes) - len(views):
            _label_positions(panel, before, _positions(forecast.samples)[1])
    legend_above(axes[0])
    return returned(axes)


def _series_panels(
    positions: tuple[np.ndarray, str], names: Sequence[str], parts: Sequence[np.ndarray], ax: Any
) -> Any:
    """A row a channel; of complex signals two columns, real part and modulus."""
    views = _views(parts[1])
    rows, columns = len(parts[0]), len(views)
    axes = panels(ax, rows, columns, (6.4 * columns, 1.2 + 2.4 * rows), sharex=True)
    x, label = positions
    for number, axis in enumerate(axes):
        channel, (view, take, share) = number // columns, views[number % columns]
        seen, signal, stderr, outliers = (part[channel] for part in parts)
        reach = BAND * share * stderr
        missing = np.isnan(seen)
        value = take(signal)
        axis.plot(x, value, color=BLUE, lw=1.5, label="recovered")
        if np.any(np.isfinite(reach) & (reach > 0)):
            reach = np.where(np.isfinite(reach), reach, np.nan)
            style = {"color": BLUE, "alpha": 0.25, "lw": 0}
            axis.fill_between(x, value - reach, value + reach, label="95% band", **style)
        if np.any(missing):
            _mark_gaps(axis, x, missing)
        dots = np.where(missing | outliers, np.nan, take(seen))
        axis.plot(x, dots, "o", color=ORANGE, ms=3, mew=0, label="seen", zorder=1.9)
        if np.any(outliers):
            crosses = np.where(outliers, take(seen), np.nan)
            axis.plot(x, crosses, "x", color=BLACK, ms=6, label="outlier")
        _label_values(axis, view, names[channel])
        if number >= len(axes) - columns:
            _label_positions(axis, x, label)
    legend_above(axes[0])
    return returned(axes)


def _mark_gaps(axis: Any, x: np.ndarray, missing: np.ndarray) -> None:
    """Grey stripes where nothing is seen, half a step further to either side."""
    from matplotlib.dates import date2num

    at = date2num(x) if x.dtype.kind == "M" else x.astype(float)
    half = (at[-1] - at[0]) / (2 * max(len(at) - 1, 1))
    edges = np.diff(np.concatenate([[0], missing.astype(int), [0]]))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    stripes = [(at[i] - half, at[j] - at[i] + 2 * half) for i, j in zip(first, last, strict=True)]
    style = {"facecolor": "0.9", "edgecolor": "none", "zorder": 0.5, "label": "gap"}
    axis.broken_barh(stripes, (0, 1), transform=axis.get_xaxis_transform(), **style)


def _image_panels(names: Sequence[str], parts: Sequence[np.ndarray], ax: Any) -> Any:
    """A row a channel (and two of complex signals): seen, recovered, standard error."""
    views, where = _views(parts[1]), ""
    while parts[0].ndim > 3:
        middle = parts[0].shape[1] // 2
        parts = [part[:, middle] for part in parts]
        where += f"{middle}, "
    where = f"slice [{where}:, :]" if where else ""
    rows = len(names) * len(views)
    axes = panels(ax, rows, 3, (9.6, 0.8 + 2.7 * rows))
    for row in range(rows):
        channel, (view, take, _) = row // len(views), views[row % len(views)]
        seen, signal, stderr, _ = (part[channel] for part in parts)
        shown = np.where(np.isnan(seen), np.nan, take(seen)), take(signal)
        largest = float(np.nanmax(np.abs([np.nan_to_num(part) for part in shown]))) or 1.0
        signed = view != "modulus" and float(np.nanmin(np.nan_to_num(shown[1]))) < 0
        limits = {"vmin": -largest if signed else 0.0, "vmax": largest}
        colors = {"cmap": "RdBu_r" if signed else "viridis", "interpolation": "nearest"}
        seen_panel, recovered_panel, error_panel = axes[3 * row : 3 * row + 3]
        about = ", ".join(filter(None, [view, names[channel], where]))
        for panel, part, title in (
            (seen_panel, shown[0], "seen"),
            (recovered_panel, shown[1], "recovered"),
        ):
            panel.set_facecolor("0.85")
            image = panel.imshow(part, aspect="auto", **limits, **colors)
            panel.set(title=title, xlabel="column", ylabel="row")
        seen_panel.set_ylabel(f"{about}\nrow" if about else "row", parse_math=False)
        _colorbar(recovered_panel, image, "value")
        errors = np.where(np.isfinite(stderr), stderr, np.nan)
        image = error_panel.imshow(errors, aspect="auto", cmap="magma_r", vmin=0)
        error_panel.set_facecolor("0.85")
        error_panel.set(title="standard error", xlabel="column", ylabel="row")
        _colorbar(error_panel, image, "standard error")
    return returned(axes)


def _colorbar(axis: Any, image: Any, label: str) -> None:
    axis.figure.colorbar(image, ax=axis, label=label)


def _continued(forecast: Forecast) -> tuple[np.ndarray, np.ndarray]:
    """Where the samples stand along the axis, and where the forecast does."""
    before, _ = _positions(forecast.samples)
    after, _ = _positions(forecast.mean)
    if _index(forecast.samples) is None:
        after = len(before) + after
    return before, after


def _views(signal: np.ndarray) -> list[tuple[str, Any, float]]:
    """What is drawn of a signal: its name, how to take it, and its share of a standard error."""
    if np.iscomplexobj(signal):
        return [("real part", np.real, np.sqrt(0.5)), ("modulus", np.abs, np.sqrt(0.5))]
    return [("", np.asarray, 1.0)]


def _channels_first(values: np.ndarray, axis: int | None) -> np.ndarray:
    return values[None] if axis is None else np.moveaxis(values, axis, 0)


def _channel_names(samples: Any, count: int) -> list[str]:
    if hasattr(samples, "columns"):
        return [str(name) for name in samples.columns][:count]
    if count > 1:
        return [f"channel {number + 1}" for number in range(count)]
    name = getattr(samples, "name", None)
    return ["" if name is None else str(name)]


def _positions(samples: Any, axis: int = 0) -> tuple[np.ndarray, str]:
    """Where the samples of a series stand along their axis, and its label."""
    index, label = _index(samples, axis), None
    if hasattr(samples, "dims"):
        label = samples.dims[axis]
    if index is None:
        return np.arange(np.shape(samples)[axis]), str(label or "sample")
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    x = index.to_numpy()
    if getattr(index, "tz", None) is not None:
        x = index.tz_localize(None).to_numpy()
    if x.dtype.kind not in "iufM":
        x = np.arange(len(x))
    times = "time" if x.dtype.kind == "M" else "sample"
    return x, str(label or index.name or times)


def _index(samples: Any, axis: int = 0) -> Any:
    """The index of pandas along an axis, or None."""
    if hasattr(samples, "indexes") and hasattr(samples, "dims"):
        return samples.indexes.get(samples.dims[axis])
    index = getattr(samples, "index", None)
    return None if callable(index) else index  # lists and tuples have a method of that name


def _label_values(axis: Any, view: str, name: str) -> None:
    """The label beside the axis; names of the user's are no formulas."""
    axis.set_ylabel(" ".join(filter(None, [view, name])) or "value", parse_math=False)


def _label_positions(axis: Any, x: np.ndarray, label: str) -> None:
    """The label of the axis below; dates in few words."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axis.set_xlabel(label, parse_math=False)
    if x.dtype.kind == "M":
        locator = AutoDateLocator(minticks=3, maxticks=7)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(ConciseDateFormatter(locator))

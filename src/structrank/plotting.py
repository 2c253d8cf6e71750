"""Pictures of what was found, with matplotlib: signals, forecasts, modes, poles, convergence.

Every function takes `ax`: an Axes, a sequence of them for pictures of several panels, or a Figure
without axes, which is filled. By default a new figure of pyplot is made. What comes back is the
Axes, or the list of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array import to_numpy
from ._new_file import check_new_file, new_file
from .applications.containers import unwrap

if TYPE_CHECKING:
    from .applications import Forecast, Recovery, StateSpaceModel
    from .applications.input_output import InputOutputModel
    from .modes import Modes
    from .run import Result

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#222222"
BAND = 1.959964  # standard errors to either side of a 95% band
MOST_CHANNELS = 12  # that are drawn
SHOWN_BEFORE = 200  # samples before a forecast that are drawn, at least
PICTURES = (".png", ".svg", ".pdf")


def require_matplotlib() -> None:
    """An error that says what to install, unless pictures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "structrank[plot]"') from error


def new_figure(**options: Any) -> Any:
    """A figure that draws into files, whatever the user's own matplotlib is set to."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure


# -- signals ----------------------------------------------------------------------------


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
    >>> from structrank.applications import recover
    >>> from structrank.plotting import plot_signal
    >>> found = recover(np.cos(0.3 * np.arange(60)), rank=2, mu=0.1, kind="refit")
    >>> plot_signal(found, Figure()).get_xlabel()
    'sample'
    """
    from .applications import Recovery

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


def _series_panels(
    positions: tuple[np.ndarray, str], names: Sequence[str], parts: Sequence[np.ndarray], ax: Any
) -> Any:
    """A row a channel; of complex signals two columns, real part and modulus."""
    views = _views(parts[1])
    rows, columns = len(parts[0]), len(views)
    axes = _axes(ax, rows, columns, (6.4 * columns, 1.2 + 2.4 * rows), sharex=True)
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
    _legend_above(axes[0])
    return _returned(axes)


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
    axes = _axes(ax, rows, 3, (9.6, 0.8 + 2.7 * rows))
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
    return _returned(axes)


def _colorbar(axis: Any, image: Any, label: str) -> None:
    axis.figure.colorbar(image, ax=axis, label=label)


# -- forecasts --------------------------------------------------------------------------


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
    >>> from structrank.applications import forecast
    >>> from structrank.plotting import plot_forecast
    >>> ahead = forecast(np.cos(0.3 * np.arange(60)), steps=10)
    >>> len(plot_forecast(ahead, Figure()).lines)
    3
    """
    from .applications import Forecast

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
    axes = _axes(
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
    _legend_above(axes[0])
    return _returned(axes)


def _continued(forecast: Forecast) -> tuple[np.ndarray, np.ndarray]:
    """Where the samples stand along the axis, and where the forecast does."""
    before, _ = _positions(forecast.samples)
    after, _ = _positions(forecast.mean)
    if _index(forecast.samples) is None:
        after = len(before) + after
    return before, after


# -- results ----------------------------------------------------------------------------


def plot_singular_values(result: Any, ax: Any = None) -> Any:
    """The singular values of a recovered matrix, on a logarithmic scale.

    Parameters
    ----------
    result : Result, Refit, Selection or Recovery
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank import Hankel, Problem, gcgls
    >>> from structrank.plotting import plot_singular_values
    >>> problem = Problem(Hankel(40, window=20), np.cos(np.arange(40)), 0.1, measure="lifted")
    >>> axis = plot_singular_values(gcgls(problem, lam=1.0), Figure())
    >>> axis.lines[0].get_xdata()
    array([1, 2])
    """
    X = getattr(getattr(result, "result", result), "X", None)
    if X is None:
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    values = X.balanced(1e-12).singular_values()
    (axis,) = _axes(ax, 1, 1, (6.4, 3.4))
    axis.plot(np.arange(1, len(values) + 1), values, "o-", color=BLUE, ms=5, lw=1)
    axis.set(xlabel="number", ylabel="singular value", title=f"rank {len(values)}")
    if len(values):
        axis.set_yscale("log")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(alpha=0.25)
    return axis


def plot_convergence(result: Result, ax: Any = None) -> Any:
    """The objective and the certified gap of every iteration, in two panels.

    Parameters
    ----------
    result : Result
    ax : sequence of two Axes or Figure, optional

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank import Hankel, Problem, gcgls
    >>> from structrank.plotting import plot_convergence
    >>> problem = Problem(Hankel(40, window=20), np.cos(np.arange(40)), 0.1, measure="lifted")
    >>> objective, gap = plot_convergence(gcgls(problem, lam=1.0), Figure())
    >>> gap.get_ylabel()
    'certified gap'
    """
    from .run import Result

    if not isinstance(result, Result):
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    history = result.history
    objective, gap = axes = _axes(ax, 2, 1, (6.4, 4.6), sharex=True)
    steps = np.arange(len(history))
    gaps = np.array(history.gap, dtype=float)
    objective.plot(steps, history.objective, "o-", color=BLUE, ms=3, lw=1.2)
    gap.plot(steps, np.where(gaps > 0, gaps, np.nan), "o-", color=ORANGE, ms=3, lw=1.2)
    objective.set_ylabel("objective")
    gap.set(xlabel="iteration", ylabel="certified gap")
    if np.any(gaps > 0):
        gap.set_yscale("log")
    gap.xaxis.get_major_locator().set_params(integer=True)
    for axis in axes:
        axis.grid(alpha=0.25)
    return axes


# -- modes ------------------------------------------------------------------------------


def plot_modes(modes: Modes, ax: Any = None) -> Any:
    """The spectrum of modes, with a standard error to either side where it is known.

    Of signals with one axis: amplitude against frequency. Of others: the frequencies along an
    axis against those along the one before, a panel for each such pair; areas are amplitudes.
    Of several channels the amplitude is the root of the sum of squares.

    Parameters
    ----------
    modes : Modes
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from structrank import Modes
    >>> from structrank.plotting import plot_modes
    >>> axis = plot_modes(Modes([0.25, -0.25], amplitudes=0.5), Figure())
    >>> axis.lines[0].get_xydata()
    array([[ 0.25,  0.5 ],
           [-0.25,  0.5 ]])
    """
    from .modes import Modes

    if not isinstance(modes, Modes):
        raise TypeError(f"modes is {type(modes).__name__}, but Modes are expected")
    amplitude, amplitude_error = mode_amplitudes(modes)
    f, errors = modes.frequencies, modes.stderr
    f_error = np.full(f.shape, np.nan) if errors is None else _finite(errors.frequencies)
    bars = {"fmt": "none", "ecolor": BLACK, "elinewidth": 1, "capsize": 2}
    if f.shape[1] == 1:
        (axis,) = _axes(ax, 1, 1, (6.4, 3.4))
        axis.plot(f[:, 0], amplitude, "o", color=BLUE, ms=5)
        axis.vlines(f[:, 0], 0, amplitude, color=BLUE, lw=1.5)
        if errors is not None and len(modes):
            reach = _finite(amplitude_error)
            axis.errorbar(f[:, 0], amplitude, xerr=f_error[:, 0], yerr=reach, **bars)
        axis.axhline(0, color="0.6", lw=0.8)
        axis.set(xlabel="frequency (cycles a sample)", ylabel="amplitude")
        axis.grid(alpha=0.25)
        return axis
    pairs = f.shape[1] - 1
    axes = _axes(ax, 1, pairs, (4.4 * pairs, 4.0))
    area = 20 + 180 * amplitude / np.max(amplitude, initial=1e-300)
    for d, axis in enumerate(axes):
        axis.scatter(f[:, d], f[:, d + 1], s=area, color=BLUE, alpha=0.6, lw=0)
        if errors is not None and len(modes):
            axis.errorbar(f[:, d], f[:, d + 1], xerr=f_error[:, d], yerr=f_error[:, d + 1], **bars)
        axis.set(xlim=(-0.52, 0.52), ylim=(-0.52, 0.52), aspect="equal")
        axis.set(xlabel=f"frequency {d + 1}", ylabel=f"frequency {d + 2}")
        axis.grid(alpha=0.25)
    return _returned(axes)


def mode_amplitudes(modes: Modes) -> tuple[np.ndarray, np.ndarray]:
    """The size of each mode over all channels, and its standard error; NaN where unknown."""
    sizes = np.abs(modes.amplitudes).reshape(len(modes), -1)
    total = np.sqrt(np.sum(sizes**2, axis=1))
    if modes.stderr is None:
        return total, np.full(len(modes), np.nan)
    errors = modes.stderr.amplitudes.reshape(sizes.shape)
    if sizes.shape[1] == 1:
        return total, errors[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return total, np.sqrt(np.sum((sizes * errors) ** 2, axis=1)) / total


def plot_poles(source: Modes | StateSpaceModel | InputOutputModel, ax: Any = None) -> Any:
    """Poles in the complex plane, with the unit circle.

    Parameters
    ----------
    source : StateSpaceModel, InputOutputModel or Modes
        The pole of a mode is what it is multiplied by from one sample to the next, one for each
        axis of the signal.
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from structrank import Modes
    >>> from structrank.plotting import plot_poles
    >>> axis = plot_poles(Modes([0.25], dampings=0.1), Figure())
    >>> axis.lines[1].get_xydata().round(3)
    array([[0.   , 0.905]])
    """
    from .modes import Modes

    if isinstance(source, Modes):
        poles = list(np.exp(2j * np.pi * source.frequencies - source.dampings).T)
    elif hasattr(source, "poles"):
        poles = [np.asarray(source.poles)]
    else:
        raise TypeError(f"source is {type(source).__name__}, but a model or Modes are expected")
    (axis,) = _axes(ax, 1, 1, (4.6, 4.4))
    angle = np.linspace(0, 2 * np.pi, 200)
    axis.plot(np.cos(angle), np.sin(angle), color="0.6", lw=1)
    for number, values in enumerate(poles):
        color, label = (BLUE, ORANGE, GREEN, PURPLE)[number % 4], f"axis {number + 1}"
        axis.plot(values.real, values.imag, "x", color=color, ms=7, mew=1.8, label=label)
    if len(poles) > 1:
        axis.legend(frameon=False)
    axis.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    axis.locator_params(nbins=5)
    axis.grid(alpha=0.25)
    return axis


# -- files ------------------------------------------------------------------------------


def check_picture(path: str | PathLike[str], *, force: bool = False) -> None:
    """An error unless `save_picture` can begin: to be asked before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether a file that is there may be replaced.

    Examples
    --------
    >>> from structrank.plotting import check_picture
    >>> check_picture("picture.doc")
    Traceback (most recent call last):
    structrank.files.table.FileError: picture.doc has an unknown extension: known are .png, .svg,
    .pdf
    """
    require_matplotlib()
    check_new_file(Path(path), PICTURES, force=force)


def save_picture(path: str | PathLike[str], plot: Any, what: Any, *, force: bool = False) -> None:
    """Draw with one of the functions above into a file, without a window.

    Parameters
    ----------
    path : str or path
        Ends in .png, .svg or .pdf. It is written whole or not at all.
    plot : callable
        `plot_signal`, for example.
    what : object
        What it draws.
    force : bool
        Replace a file that is there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank import Modes
    >>> from structrank.plotting import plot_modes, save_picture
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_picture(Path(folder) / "modes.png", plot_modes, Modes([0.1, 0.3]))
    ...     (Path(folder) / "modes.png").read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    check_picture(path, force=force)
    figure = new_figure()
    plot(what, figure)
    with new_file(path, PICTURES, force=force) as partial:
        figure.savefig(partial, dpi=150)


# -- shared -----------------------------------------------------------------------------


def _axes(
    ax: Any, rows: int, columns: int, size: tuple[float, float], sharex: bool = False
) -> list[Any]:
    """As many axes as there are panels: those given, or new ones."""
    require_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    count = rows * columns
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained")
    if isinstance(ax, FigureBase):
        if ax.axes:
            raise ValueError("the figure has axes already, but an empty one is expected")
        if isinstance(ax, Figure):
            ax.set_size_inches(*size)
        return list(ax.subplots(rows, columns, squeeze=False, sharex=sharex).flat)
    given = [ax] if isinstance(ax, Axes) else list(np.asarray(ax, dtype=object).flat)
    if len(given) != count or not all(isinstance(one, Axes) for one in given):
        raise ValueError(
            f"ax holds {len(given)} axes, but {count} panels are drawn: pass as many Axes, an "
            "empty Figure, or nothing"
        )
    return given


def _returned(axes: list[Any]) -> Any:
    return axes[0] if len(axes) == 1 else axes


def _legend_above(axis: Any) -> None:
    count = len(axis.get_legend_handles_labels()[1])
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=count, frameon=False)


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


def _finite(errors: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(errors), errors, np.nan)

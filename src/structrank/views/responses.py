"""Pictures of the responses of systems: Bode plots, step responses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray
from .figure import label_positions, label_values, legend_above, panels, returned
from .parts import SeriesLayout
from .signals import SERIES


def plot_bode(
    frequencies: NDArray, response: NDArray, *, unit: str = "Hz", ax: Any = None
) -> list[Any]:
    """Draw a frequency response: size in decibels above phase in degrees, a line per pair.

    Parameters
    ----------
    frequencies : ndarray, shape (count,)
        Those above zero are drawn.
    response : ndarray, shape (count, p, m)
        Complex: outputs over inputs.
    unit : str
        Unit of the frequencies.
    ax : sequence of two Axes or Figure, optional

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_bode
    >>> f, response = np.array([1.0, 2.0]), np.array([1j, 10j])[:, None, None]
    >>> above, below = plot_bode(f, response, ax=Figure())
    >>> above.lines[0].get_ydata(), below.lines[0].get_ydata()
    (array([ 0., 20.]), array([90., 90.]))
    """
    above, below = axes = panels(ax, 2, 1, (6.4, 4.6), sharex=True)
    used = frequencies > 0
    f, response = frequencies[used], response[used]
    for j, i in np.ndindex(*response.shape[1:]):
        values, label = response[:, j, i], f"input {i} to output {j}"
        with np.errstate(divide="ignore"):
            size = 20 * np.log10(np.abs(values))
        above.plot(f, np.where(np.isfinite(size), size, np.nan), lw=1.4, label=label)
        below.plot(f, np.degrees(np.unwrap(np.angle(values))), lw=1.4, label=label)
    above.set(ylabel="size (dB)", xscale="log")
    below.set(xlabel=f"frequency ({unit})", ylabel="phase (degrees)")
    for axis in axes:
        axis.grid(alpha=0.25, which="both")
    if len(above.lines) > 1:
        above.legend(fontsize=8)
    return axes


def plot_step(
    response: NDArray, *, dt: float | None = None, layout: SeriesLayout = SERIES, ax: Any = None
) -> Any:
    """Draw a step response: one panel per output, at most twelve, with a line per input.

    Parameters
    ----------
    response : ndarray, shape (steps, p, m)
        Of a complex system, the real part is drawn.
    dt : float, optional
        Time between samples.
    layout : SeriesLayout
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_step
    >>> axis = plot_step(np.array([0.0, 1.0, 1.5])[:, None, None], dt=0.5, ax=Figure())
    >>> axis.lines[0].get_xdata()
    array([0. , 0.5, 1. ])
    """
    steps, p, m = response.shape
    count = min(p, layout.most_channels)
    axes = panels(ax, count, 1, layout.size(count, 1), sharex=True)
    t = np.arange(steps) * (1.0 if dt is None else dt)
    for j, axis in enumerate(axes):
        for i in range(m):
            style = {"drawstyle": "steps-post", "lw": 1.4, "label": f"step in input {i}"}
            axis.plot(t, response[:, j, i].real, **style)
        label_values(axis, "", f"output {j}")
        axis.grid(alpha=0.25)
    label_positions(axes[-1], t, "sample" if dt is None else "time (s)")
    legend_above(axes[0])
    return returned(axes)

"""Pictures of what was found: singular values, convergence, modes, poles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array import NDArray
from .figure import BLACK, BLUE, GREEN, ORANGE, PURPLE, finite, panels, returned

ERROR_BARS = {"fmt": "none", "ecolor": BLACK, "elinewidth": 1, "capsize": 2}


def plot_singular_values(values: NDArray, ax: Any = None) -> Any:
    """Draw singular values on a logarithmic scale.

    Parameters
    ----------
    values : ndarray, shape (rank,)
        Above zero, largest first.
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_singular_values
    >>> plot_singular_values(np.array([3.0, 0.2]), Figure()).get_title()
    'rank 2'
    """
    (axis,) = panels(ax, 1, 1, (6.4, 3.4))
    axis.plot(np.arange(len(values)), values, "o-", color=BLUE, ms=5, lw=1)
    axis.set(xlabel="number", ylabel="singular value", title=f"rank {len(values)}")
    if len(values):
        axis.set_yscale("log")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.grid(alpha=0.25)
    return axis


def plot_convergence(objective: Sequence[float], gap: Sequence[float], ax: Any = None) -> Any:
    """Draw the objective of every iteration, and the gap to the optimum, in two panels.

    Parameters
    ----------
    objective : sequence of float
    gap : sequence of float
        Bounds on the distance to the optimum, relative to the objective; 0 is not drawn.
    ax : sequence of two Axes or Figure, optional

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_convergence
    >>> above, below = plot_convergence([3.0, 2.0, 1.9], [1.0, 0.2, 0.01], Figure())
    >>> below.get_yscale()
    'log'
    """
    above, below = axes = panels(ax, 2, 1, (6.4, 4.6), sharex=True)
    steps, gaps = np.arange(len(objective)), np.array(gap, dtype=float)
    above.plot(steps, objective, "o-", color=BLUE, ms=3, lw=1.2)
    below.plot(steps, np.where(gaps > 0, gaps, np.nan), "o-", color=ORANGE, ms=3, lw=1.2)
    above.set_ylabel("objective")
    below.set(xlabel="iteration", ylabel="gap to the optimum")
    if np.any(gaps > 0):
        below.set_yscale("log")
    below.xaxis.get_major_locator().set_params(integer=True)
    for axis in axes:
        axis.grid(alpha=0.25)
    return axes


def plot_modes(
    frequencies: NDArray,
    amplitudes: NDArray,
    *,
    frequency_errors: NDArray | None = None,
    amplitude_errors: NDArray | None = None,
    unit: str = "cycles per sample",
    ax: Any = None,
) -> Any:
    """Draw the spectrum of modes, with one standard error on either side where it is known.

    For signals with one axis: amplitude against frequency. For others: the frequencies along one
    axis against those along the axis before, one panel per pair; the areas are amplitudes. The
    amplitude of several channels is the root of the sum of squares.

    Parameters
    ----------
    frequencies : ndarray, shape (r, d)
        Along each axis, in `unit`.
    amplitudes : ndarray, shape (r,) or (r, channels)
        Real or complex.
    frequency_errors, amplitude_errors : ndarray, optional
        Standard errors, of the same shapes; inf where unknown.
    unit : str
        Of the frequencies along one axis.
    ax : Axes, sequence of Axes or Figure, optional

    Returns
    -------
    Axes or list of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_modes
    >>> axis = plot_modes(np.array([[0.25], [-0.25]]), np.array([0.5, 0.5]), ax=Figure())
    >>> axis.lines[0].get_xydata()
    array([[ 0.25,  0.5 ],
           [-0.25,  0.5 ]])
    """
    frequencies, amplitudes = np.asarray(frequencies), np.asarray(amplitudes)
    if frequencies.ndim != 2 or len(amplitudes) != len(frequencies):
        raise ValueError(
            f"frequencies have shape {frequencies.shape} and amplitudes {amplitudes.shape}, but "
            "(r, d) and (r,) or (r, channels) are expected"
        )
    known = frequency_errors is not None and len(frequencies) > 0
    sizes, size_errors = _over_channels(amplitudes, amplitude_errors)
    unknown = np.full(frequencies.shape, np.nan)
    errors = unknown if frequency_errors is None else finite(frequency_errors)
    if frequencies.shape[1] == 1:
        (axis,) = panels(ax, 1, 1, (6.4, 3.4))
        f = frequencies[:, 0]
        axis.plot(f, sizes, "o", color=BLUE, ms=5)
        axis.vlines(f, 0, sizes, color=BLUE, lw=1.5)
        if known:
            axis.errorbar(f, sizes, xerr=errors[:, 0], yerr=finite(size_errors), **ERROR_BARS)
        axis.axhline(0, color="0.6", lw=0.8)
        axis.set(xlabel=f"frequency ({unit})", ylabel="amplitude")
        axis.grid(alpha=0.25)
        return axis
    pairs = frequencies.shape[1] - 1
    axes = panels(ax, 1, pairs, (4.4 * pairs, 4.0))
    for d, axis in enumerate(axes):
        _pair_of_axes(axis, frequencies[:, d : d + 2], sizes)
        if known:
            x, y = errors[:, d : d + 2].T
            axis.errorbar(*frequencies[:, d : d + 2].T, xerr=x, yerr=y, **ERROR_BARS)
        axis.set(xlabel=f"frequency {d + 1}", ylabel=f"frequency {d + 2}")
    return returned(axes)


def _pair_of_axes(axis: Any, frequencies: NDArray, sizes: NDArray) -> None:
    """Draw frequencies along two axes as dots whose areas are amplitudes."""
    area = 20 + 180 * sizes / np.max(sizes, initial=1e-300)
    axis.scatter(*frequencies.T, s=area, color=BLUE, alpha=0.6, lw=0)
    axis.set(xlim=(-0.52, 0.52), ylim=(-0.52, 0.52), aspect="equal")
    axis.grid(alpha=0.25)


def _over_channels(amplitudes: NDArray, errors: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return the size of each mode over all channels, and its standard error; NaN if unknown."""
    count = len(amplitudes)
    sizes = np.abs(amplitudes).reshape(count, amplitudes[:1].size or 1)
    total = np.sqrt(np.sum(sizes**2, axis=1))
    if errors is None:
        return total, np.full(count, np.nan)
    errors = errors.reshape(sizes.shape)
    if sizes.shape[1] == 1:
        return total, errors[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return total, np.sqrt(np.sum((sizes * errors) ** 2, axis=1)) / total


def plot_poles(poles: NDArray, ax: Any = None, *, errors: NDArray | None = None) -> Any:
    """Draw poles in the complex plane, with the unit circle.

    Parameters
    ----------
    poles : ndarray, shape (r,), or (r, d) for the modes of a signal with d axes
    ax : Axes or Figure, optional
    errors : ndarray, shape (r, 2), optional
        Standard errors of real and imaginary parts, for poles of shape (r,); NaN where unknown.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_poles
    >>> axis = plot_poles(np.array([0.5, 0.9j]), Figure())
    >>> axis.lines[1].get_xydata()
    array([[0.5, 0. ],
           [0. , 0.9]])
    """
    columns = np.atleast_2d(np.asarray(poles).T)  # one row per axis of the signal
    (axis,) = panels(ax, 1, 1, (4.6, 4.4))
    angle = np.linspace(0, 2 * np.pi, 200)
    axis.plot(np.cos(angle), np.sin(angle), color="0.6", lw=1)
    for number, values in enumerate(columns):
        color, label = (BLUE, ORANGE, GREEN, PURPLE)[number % 4], f"axis {number + 1}"
        axis.plot(values.real, values.imag, "x", color=color, ms=7, mew=1.8, label=label)
    if errors is not None and np.any(np.isfinite(errors)):
        x, y = finite(errors).T
        axis.errorbar(columns[0].real, columns[0].imag, xerr=x, yerr=y, **ERROR_BARS)
    if len(columns) > 1:
        axis.legend(frameon=False)
    axis.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    axis.locator_params(nbins=5)
    axis.grid(alpha=0.25)
    return axis


def plot_correlations(lines: dict[str, NDArray], bound: float, ax: Any = None) -> Any:
    """Draw correlations against their lags, with the bound of single ones.

    Parameters
    ----------
    lines : dict of ndarray
        Correlations at lags 0, 1, ..., by label. NaN is not drawn.
    bound : float
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_correlations
    >>> axis = plot_correlations({"output 0": np.array([0.1, 0.02])}, 0.15, Figure())
    >>> axis.get_ylabel()
    'correlation'
    """
    (axis,) = panels(ax, 1, 1, (6.4, 3.4))
    for label, values in lines.items():
        axis.plot(np.arange(len(values)), values, "o-", ms=3, lw=0.8, label=label)
    axis.axhspan(-bound, bound, color=BLACK, alpha=0.08)
    axis.set(xlabel="lag", ylabel="correlation", title="innovations")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)
    return axis

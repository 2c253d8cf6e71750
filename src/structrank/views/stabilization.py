"""Stabilisation diagrams: order against frequency."""

from __future__ import annotations

from typing import Any

from .._array import NDArray
from .figure import BLUE, ORANGE, legend_above, panels


def plot_stabilization(
    orders: NDArray,
    frequencies: NDArray,
    stable: NDArray,
    found: NDArray,
    *,
    unit: str = "Hz",
    ax: Any = None,
) -> Any:
    """Draw a stabilisation diagram: the order of a system against the frequencies of its poles.

    Parameters
    ----------
    orders, frequencies : ndarray, shape (count,)
        One entry per pole.
    stable : ndarray of bool, shape (count,)
        Poles that the order before has too; they are filled.
    found : ndarray
        Frequencies of the modes that were found, as vertical lines.
    unit : str
        Unit of the frequencies.
    ax : Axes or Figure, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from structrank.views import plot_stabilization
    >>> orders, frequencies = np.array([2, 4, 4]), np.array([1.0, 1.0, 2.5])
    >>> stable = np.array([False, True, False])
    >>> axis = plot_stabilization(orders, frequencies, stable, np.array([1.0]), ax=Figure())
    >>> axis.get_xlabel(), axis.lines[-1].get_xydata()
    ('frequency (Hz)', array([[1., 4.]]))
    """
    (axis,) = panels(ax, 1, 1, (6.4, 4.2))
    for number, frequency in enumerate(found):
        axis.axvline(frequency, color=ORANGE, lw=1, label=None if number else "modes found")
    new = ~stable
    axis.plot(frequencies[new], orders[new], "o", ms=4, mfc="none", mec="0.6", label="new")
    axis.plot(frequencies[stable], orders[stable], "o", ms=4, color=BLUE, label="stable")
    axis.set(xlabel=f"frequency ({unit})", ylabel="order")
    axis.yaxis.get_major_locator().set_params(integer=True)
    axis.grid(alpha=0.25)
    legend_above(axis)
    return axis

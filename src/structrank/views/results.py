"""Pictures of what was found: singular values, convergence, modes, poles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figure import BLACK, BLUE, GREEN, ORANGE, PURPLE, finite, panels, returned

if TYPE_CHECKING:
    from ..modal.modes import Modes
    from ..solvers.driver import Result
    from ..systems.input_output import InputOutputModel
    from ..systems.state_space import StateSpaceModel


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
    >>> from structrank.views import plot_singular_values
    >>> problem = Problem(Hankel(40, window=20), np.cos(np.arange(40)), 0.1, measure="lifted")
    >>> axis = plot_singular_values(gcgls(problem, lam=1.0), Figure())
    >>> axis.lines[0].get_xdata()
    array([1, 2])
    """
    X = getattr(getattr(result, "result", result), "X", None)
    if X is None:
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    values = X.balanced(1e-12).singular_values()
    (axis,) = panels(ax, 1, 1, (6.4, 3.4))
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
    >>> from structrank.views import plot_convergence
    >>> problem = Problem(Hankel(40, window=20), np.cos(np.arange(40)), 0.1, measure="lifted")
    >>> objective, gap = plot_convergence(gcgls(problem, lam=1.0), Figure())
    >>> gap.get_ylabel()
    'certified gap'
    """
    from ..solvers.driver import Result

    if not isinstance(result, Result):
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    history = result.history
    objective, gap = axes = panels(ax, 2, 1, (6.4, 4.6), sharex=True)
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
    >>> from structrank.views import plot_modes
    >>> axis = plot_modes(Modes([0.25, -0.25], amplitudes=0.5), Figure())
    >>> axis.lines[0].get_xydata()
    array([[ 0.25,  0.5 ],
           [-0.25,  0.5 ]])
    """
    from ..modal.modes import Modes

    if not isinstance(modes, Modes):
        raise TypeError(f"modes is {type(modes).__name__}, but Modes are expected")
    amplitude, amplitude_error = mode_amplitudes(modes)
    f, errors = modes.frequencies, modes.stderr
    f_error = np.full(f.shape, np.nan) if errors is None else finite(errors.frequencies)
    bars = {"fmt": "none", "ecolor": BLACK, "elinewidth": 1, "capsize": 2}
    if f.shape[1] == 1:
        (axis,) = panels(ax, 1, 1, (6.4, 3.4))
        axis.plot(f[:, 0], amplitude, "o", color=BLUE, ms=5)
        axis.vlines(f[:, 0], 0, amplitude, color=BLUE, lw=1.5)
        if errors is not None and len(modes):
            reach = finite(amplitude_error)
            axis.errorbar(f[:, 0], amplitude, xerr=f_error[:, 0], yerr=reach, **bars)
        axis.axhline(0, color="0.6", lw=0.8)
        axis.set(xlabel="frequency (cycles a sample)", ylabel="amplitude")
        axis.grid(alpha=0.25)
        return axis
    pairs = f.shape[1] - 1
    axes = panels(ax, 1, pairs, (4.4 * pairs, 4.0))
    area = 20 + 180 * amplitude / np.max(amplitude, initial=1e-300)
    for d, axis in enumerate(axes):
        axis.scatter(f[:, d], f[:, d + 1], s=area, color=BLUE, alpha=0.6, lw=0)
        if errors is not None and len(modes):
            axis.errorbar(f[:, d], f[:, d + 1], xerr=f_error[:, d], yerr=f_error[:, d + 1], **bars)
        axis.set(xlim=(-0.52, 0.52), ylim=(-0.52, 0.52), aspect="equal")
        axis.set(xlabel=f"frequency {d + 1}", ylabel=f"frequency {d + 2}")
        axis.grid(alpha=0.25)
    return returned(axes)


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
    >>> from structrank.views import plot_poles
    >>> axis = plot_poles(Modes([0.25], dampings=0.1), Figure())
    >>> axis.lines[1].get_xydata().round(3)
    array([[0.   , 0.905]])
    """
    from ..modal.modes import Modes

    if isinstance(source, Modes):
        poles = list(np.exp(2j * np.pi * source.frequencies - source.dampings).T)
    elif hasattr(source, "poles"):
        poles = [np.asarray(source.poles)]
    else:
        raise TypeError(f"source is {type(source).__name__}, but a model or Modes are expected")
    (axis,) = panels(ax, 1, 1, (4.6, 4.4))
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

"""Figures, axes and picture files: what all pictures share."""

from __future__ import annotations

import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from ..io.atomic import check_new_file, new_file

# The colours of Okabe and Ito, which colour-blind readers can distinguish.
BAND = 1.959964  # standard errors on either side of a 95% band of Gaussian errors
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#222222"
PICTURES = (".png", ".svg", ".pdf")


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "structrank[plot]"') from error


def new_figure(**options: Any) -> Any:
    """Make a figure that draws into files, whatever backend matplotlib is set to."""
    from matplotlib.backends import backend_agg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", **options)
    new_canvas: Any = backend_agg.FigureCanvasAgg  # matplotlib has no types for it
    new_canvas(figure)
    return figure


def check_picture(path: str | PathLike[str], *, force: bool = False) -> None:
    """Raise an error if `save_picture` cannot write this file; call it before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether an existing file may be replaced.

    Examples
    --------
    >>> from structrank.views import check_picture
    >>> check_picture("picture.doc")
    Traceback (most recent call last):
    structrank.io.table.FileError: picture.doc has an unknown extension: known are .png, .svg,
    .pdf
    """
    require_matplotlib()
    check_new_file(Path(path), PICTURES, force=force)


def save_picture(
    path: str | PathLike[str], draw: Callable[[Any], Any], *, force: bool = False
) -> None:
    """Draw into a file, without a window.

    Parameters
    ----------
    path : str or path
        Ends in .png, .svg or .pdf. The file is written completely or not at all.
    draw : callable
        Draws into the empty Figure that it is called with: `found.plot`, for example.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank import Modes
    >>> from structrank.views import save_picture
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_picture(Path(folder) / "modes.png", Modes([0.1, 0.3]).plot)
    ...     (Path(folder) / "modes.png").read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    check_picture(path, force=force)
    figure = new_figure()
    draw(figure)
    with new_file(path, PICTURES, force=force) as partial:
        figure.savefig(partial, dpi=150)


def panels(
    ax: Any, rows: int, columns: int, size: tuple[float, float], sharex: bool = False
) -> list[Any]:
    """Return one Axes per panel: those given, or new ones in a figure of `size` inches."""
    require_matplotlib()
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    count = rows * columns
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained")
    if isinstance(ax, FigureBase):
        if ax.axes:
            raise ValueError("the figure already has axes, but an empty figure is expected")
        if isinstance(ax, Figure):
            ax.set_size_inches(*size)
        return list(ax.subplots(rows, columns, squeeze=False, sharex=sharex).flat)
    given = [ax] if isinstance(ax, Axes) else list(np.asarray(ax, dtype=object).flat)
    if len(given) != count or not all(isinstance(one, Axes) for one in given):
        raise ValueError(
            f"ax has {len(given)} axes, but the picture has {count} panels: pass {count} Axes, an "
            "empty Figure, or nothing"
        )
    return given


def returned(axes: list[Any]) -> Any:
    """Return a single Axes itself, and several as a list."""
    return axes[0] if len(axes) == 1 else axes


def legend_above(axis: Any, *, most: int = 4) -> None:
    """Put the legend above the axes and their title, in one row up to `most` entries."""
    count = len(axis.get_legend_handles_labels()[1])
    columns = count if count <= most else math.ceil(count / 2)
    height = 1.1 if axis.get_title(loc="left") else 1.0  # that of a line of text is a tenth
    axis.legend(loc="lower right", bbox_to_anchor=(1, height), ncols=columns, frameon=False)


def finite(errors: NDArray) -> NDArray:
    """Replace infinite errors by NaN, which matplotlib does not draw."""
    return np.where(np.isfinite(errors), errors, np.nan)


def label_values(axis: Any, part: str, name: str) -> None:
    """Label the vertical axis; a user's name is not read as a formula."""
    axis.set_ylabel(" ".join(filter(None, [part, name])) or "value", parse_math=False)


def label_positions(axis: Any, x: NDArray, label: str) -> None:
    """Label the horizontal axis; dates are written in few words."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # matplotlib has no types for it
    axis.set_xlabel(label, parse_math=False)
    if x.dtype.kind == "M":
        locator = dates.AutoDateLocator(minticks=3, maxticks=7)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))

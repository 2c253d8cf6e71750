"""Figures and files that all pictures share."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..io.atomic import check_new_file, new_file

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#222222"
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


def check_picture(path: str | PathLike[str], *, force: bool = False) -> None:
    """An error unless `save_picture` can begin: to be asked before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether a file that is there may be replaced.

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
    >>> from structrank.views import plot_modes, save_picture
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


def panels(
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


def returned(axes: list[Any]) -> Any:
    """The axes, without a list around a single one."""
    return axes[0] if len(axes) == 1 else axes


def legend_above(axis: Any) -> None:
    """A legend in one row above the axes."""
    count = len(axis.get_legend_handles_labels()[1])
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=count, frameon=False)


def finite(errors: np.ndarray) -> np.ndarray:
    """Errors with NaN, which is not drawn, for those that are infinite."""
    return np.where(np.isfinite(errors), errors, np.nan)

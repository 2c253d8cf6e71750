"""Pictures that can be zoomed: the same as those of matplotlib, drawn by Plotly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import NDArray
from .figure import new_figure, require_matplotlib

MARKERS = {"o": "circle", ".": "circle", "x": "x", "s": "square"}
DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
ROW_HEIGHT, SMALLEST_HEIGHT = 220, 380  # pixels


def require_plotly() -> None:
    """Raise an ImportError that says what to install if Plotly is missing."""
    try:
        import plotly  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'interactive pictures need plotly: pip install "structrank[interactive]"'
        ) from error


def interactive_figure(draw: Callable[[Any], Any], ax: Any = None) -> Any:
    """Draw a picture that can be zoomed, with values shown under the pointer.

    The picture is drawn by matplotlib first; its lines, bands, dots, stripes and images become
    those of Plotly, panel by panel.

    Parameters
    ----------
    draw : callable
        Draws into the empty Figure of matplotlib that it is called with: `found.plot`, for example.
    ax : None
        Axes are for pictures of matplotlib; an error if they are given.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from structrank import Modes
    >>> from structrank.views import interactive_figure
    >>> figure = interactive_figure(Modes([0.1, 0.3]).plot)
    >>> figure.data[-1].x
    array([0.1, 0.3])
    """
    if ax is not None:
        raise ValueError(
            "ax is given, but an interactive picture has axes of its own: pass only one of them"
        )
    require_matplotlib()
    require_plotly()
    from plotly.subplots import make_subplots

    drawn = new_figure()
    draw(drawn)
    drawn.draw_without_rendering()  # texts of axes are made then
    axes = [axis for axis in drawn.axes if axis.get_label() != "<colorbar>"]
    rows, columns = axes[0].get_subplotspec().get_gridspec().get_geometry()
    figure = make_subplots(
        rows, columns, shared_xaxes=axes[0].get_shared_x_axes().joined(axes[0], axes[-1])
    )
    seen: set[str] = set()
    for axis in axes:
        place = axis.get_subplotspec()
        _Panel(figure, axis, place.rowspan.start + 1, place.colspan.start + 1, seen).convert()
    height = max(SMALLEST_HEIGHT, ROW_HEIGHT * rows)
    return figure.update_layout(height=height, template="plotly_white", hovermode="x unified")


class _Panel:
    """The axes of matplotlib whose contents are put into one panel of a figure of Plotly."""

    def __init__(self, figure: Any, axis: Any, row: int, column: int, seen: set[str]) -> None:
        import matplotlib.dates

        self.figure, self.axis, self.seen = figure, axis, seen
        self.at = {"row": row, "col": column}
        self.dates: Any = matplotlib.dates
        self.dated = isinstance(axis.xaxis.get_major_locator(), self.dates.DateLocator)

    def convert(self) -> None:
        for image in self.axis.images:
            self._image(image)
        for collection in self.axis.collections:
            self._collection(collection)
        self._patches()
        for line in self.axis.lines:
            self._line(line)
        x, y = self.axis.get_xlabel(), self.axis.get_ylabel()
        titles = [self.axis.get_title(), self.axis.get_title(loc="left")]
        title = next(filter(None, titles), "")
        self.figure.update_xaxes(title_text=x, type=self._scale("x"), **self.at)
        self.figure.update_yaxes(
            title_text=f"{title}<br>{y}" if title and y else title or y,
            type=self._scale("y"),
            **self.at,
        )

    def _scale(self, which: str) -> str | None:
        if which == "x" and self.dated:
            return "date"
        return "log" if getattr(self.axis, f"get_{which}scale")() == "log" else None

    def _line(self, line: Any) -> None:
        x, y = (np.asarray(values) for values in line.get_data(orig=True))
        in_data = line.get_transform().contains_branch_seperately(self.axis.transData)
        color = _color(line.get_color(), line.get_alpha())
        style = {"color": color, "width": line.get_linewidth()}
        if in_data == (False, True):
            self.figure.add_hline(float(y[0]), line=style, **self.at)
            return
        if in_data == (True, False):
            self.figure.add_vline(float(x[0]), line={**style, "dash": "dash"}, **self.at)
            return
        marker, dash = line.get_marker(), DASHES.get(line.get_linestyle())
        if marker not in (*MARKERS, "None", None, ""):
            return  # the caps of error bars
        size = max(2 * float(line.get_markersize()), 4)
        modes = ["lines"] * (dash is not None) + ["markers"] * (marker in MARKERS)
        self._scatter(
            self._times(x),
            y,
            line.get_label(),
            mode="+".join(modes),
            line={**style, "dash": dash or "solid"},
            marker={"symbol": MARKERS.get(marker, "circle"), "color": color, "size": size},
        )

    def _collection(self, collection: Any) -> None:
        from matplotlib.collections import LineCollection, PathCollection

        paths = [path.vertices for path in collection.get_paths()]
        faces = [*collection.get_facecolor(), *collection.get_edgecolor()]
        color = _color(faces[0], collection.get_alpha()) if len(faces) else "gray"
        in_data = collection.get_transform().contains_branch_seperately(self.axis.transData)
        if isinstance(collection, PathCollection):
            x, y = np.asarray(collection.get_offsets()).T
            self._scatter(x, y, "", mode="markers", marker={"color": color, "size": 9})
        elif isinstance(collection, LineCollection):
            x, y = _joined(paths)
            self._scatter(self._times(x), y, "", mode="lines", line={"color": color, "width": 1})
        elif in_data == (True, False):
            for path in paths:
                ends = self._times(np.array([np.min(path[:, 0]), np.max(path[:, 0])]))
                self.figure.add_vrect(
                    *ends, fillcolor=color, opacity=1, line_width=0, layer="below", **self.at
                )
        else:
            x, y = _joined(paths)
            style = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": color}
            self._scatter(self._times(x), y, collection.get_label(), hoverinfo="skip", **style)

    def _patches(self) -> None:
        """Bars of histograms, and stripes across the panel."""
        from plotly.graph_objects import Bar

        bars = []
        for patch in self.axis.patches:
            corners = patch.get_patch_transform().transform(patch.get_path().vertices)
            (left, low), (right, high) = np.min(corners, axis=0), np.max(corners, axis=0)
            color = _color(patch.get_facecolor(), None)
            if patch.get_transform().contains_branch_seperately(self.axis.transData)[0]:
                bars.append(((left + right) / 2, high, right - left, color))
            else:
                self.figure.add_hrect(low, high, fillcolor=color, line_width=0, **self.at)
        if bars:
            x, y, width, colors = map(list, zip(*bars, strict=True))
            style = {"marker": {"color": colors}, "showlegend": False}
            self.figure.add_trace(Bar(x=x, y=y, width=width, **style), **self.at)

    def _image(self, image: Any) -> None:
        from plotly.graph_objects import Heatmap

        low, high = image.get_clim()
        self.figure.add_trace(
            Heatmap(
                z=np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan),
                zmin=low,
                zmax=high,
                colorscale=image.get_cmap().name,
                showscale=False,
            ),
            **self.at,
        )
        self.figure.update_yaxes(autorange="reversed", **self.at)

    def _scatter(self, x: NDArray, y: NDArray, label: str, **style: Any) -> None:
        """Add lines or dots; a label appears once in the legend."""
        from plotly.graph_objects import Scatter

        named = bool(label) and not label.startswith("_")
        shown = named and label not in self.seen
        self.seen |= {label} if named else set()
        group = {"name": label, "legendgroup": label} if named else {"hoverinfo": "skip"}
        style = {**group, "showlegend": shown, **style}
        self.figure.add_trace(Scatter(x=x, y=y, **style), **self.at)

    def _times(self, x: NDArray) -> NDArray:
        """Numbers of matplotlib's dates as dates."""
        if not self.dated or x.dtype.kind == "M":
            return x
        missing = np.isnan(x)
        dates = self.dates.num2date(np.where(missing, 0.0, x))
        found = np.array([date.replace(tzinfo=None) for date in dates], dtype="datetime64[us]")
        found[missing] = np.datetime64("NaT")
        return found


def _joined(paths: list[NDArray]) -> tuple[NDArray, NDArray]:
    """The points of paths, one after the other, with NaN between them."""
    gap = np.full((1, 2), np.nan)
    pieces = [piece for path in paths for piece in (path, gap)]
    points = np.concatenate(pieces) if pieces else gap
    return points[:-1, 0], points[:-1, 1]


def _color(color: Any, alpha: float | None) -> str:
    from matplotlib.colors import to_rgba

    *parts, opacity = to_rgba(color, alpha)
    red, green, blue = (round(255 * float(part)) for part in parts)
    return f"rgba({red},{green},{blue},{opacity:g})"

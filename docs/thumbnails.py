"""Thumbnails of the gallery: one axes of an example, drawn again without text at their size.

A figure that is merely scaled down has text that nobody can read and lines that vanish. Comments in
an example choose the figure and its axes, counted from 1: `# sphinx_gallery_thumbnail_number = 2`,
`# sphinx_gallery_thumbnail_axes = 2`. The first is the default.
"""

import io
import pickle
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import matplotlib_scraper

INCHES = 3.2, 2.24  # the shape of a thumbnail of sphinx-gallery
FOLDER = "thumbnails"  # beside the images of an example


def scraper(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figures of a block, and the thumbnail if one of them is to be shown in it."""
    script = Path(variables["src_file"]).read_text()
    first = len(variables["image_path_iterator"]) + 1
    for number, figure in enumerate(map(plt.figure, plt.get_fignums()), start=first):
        if number == _chosen("number", script):
            image = Path(variables["image_path_iterator"].image_path.format(number))
            folder = image.parent / FOLDER
            folder.mkdir(exist_ok=True)
            name = re.sub(r"_\d+$", "_thumb.png", image.stem)
            draw(figure, folder / name, _chosen("axes", script))
    return matplotlib_scraper(block, variables, settings)


def draw(figure: Figure, path: Path, number: int = 1) -> None:
    """Draw one axes of a figure alone, without text, with lines and dots that can be seen."""
    figure.canvas.draw()  # layouts that are computed once must be complete before a copy
    copy = pickle.load(io.BytesIO(pickle.dumps(figure)))
    copy.set_layout_engine("none")
    copy.set_size_inches(*INCHES)
    keep = copy.axes[number - 1]
    for ax in copy.axes:
        if ax is not keep:
            ax.remove()
    keep.set_position((0.02, 0.03, 0.96, 0.94))
    keep.set(title="", xlabel="", ylabel="", xticks=[], yticks=[], anchor="C")
    if keep.images:
        keep.set_aspect("auto")
    keep.minorticks_off()
    if keep.get_legend():
        keep.get_legend().remove()
    for line in keep.lines:
        line.set_linewidth(max(line.get_linewidth(), 1.6))
    copy.savefig(path, dpi=200)
    plt.close(copy)


def _chosen(what: str, script: str) -> int:
    """The figure, or the axes of it, that becomes the thumbnail of a script."""
    named = re.search(rf"sphinx_gallery_thumbnail_{what} = (\d+)", script)
    return int(named.group(1)) if named else 1


def replace_thumbnails(app: Any) -> None:
    """Put the thumbnails in the place of those of sphinx-gallery, when all examples have run."""
    for drawn in Path(app.srcdir, "gallery").rglob(f"images/{FOLDER}/*.png"):
        drawn.replace(drawn.parents[1] / "thumb" / drawn.name)

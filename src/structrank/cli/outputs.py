"""Files that commands write: checks before any work, pictures and pages."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..io import FileError, check_writable
from ..io.formats import TEXT

WORDS = "structrank.words"  # where a context of click keeps the words of the command


def check_outputs(
    *tables: Path | None, plot: Path | None = None, report: Path | None = None, force: bool
) -> None:
    """Raise an error, before any work, unless all these files can be written."""
    files = [path.resolve() for path in (*tables, plot, report) if path is not None]
    if len(set(files)) < len(files):
        raise FileError("two outputs go to the same file: choose different names")
    for path in tables:
        if path is not None:
            check_writable(path, force=force)
    if plot is not None:
        from ..views import check_picture

        check_picture(plot, force=force)
    if report is not None:
        from ..views.report import check_report

        check_report(report, force=force)


def check_dimensions(path: Path | None, values: np.ndarray) -> None:
    """Raise an error, before any work, if a text file cannot hold so many dimensions."""
    if path is not None and path.suffix.lower() in TEXT and values.ndim > 2:
        raise FileError(
            f"{path}: text files have at most two dimensions, but the values have shape "
            f"{values.shape}: choose .npy"
        )


def draw(found: Any, file: Path, plot: Path | None, report: Path | None, force: bool) -> None:
    """Write the picture and the report of what was found in a file, if asked for."""
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, found.plot, force=force)
    if report is not None:
        context = click.get_current_context()
        command = f"structrank {shlex.join(context.meta.get(WORDS, []))}"
        title = f"{str(context.info_name).capitalize()}: {file.name}"
        found.write_report(report, force=force, title=title, command=command)

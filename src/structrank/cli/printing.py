"""What commands print: summaries, tables, and which files were written."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from .inputs import Given


def shows_progress(quiet: bool) -> bool:
    """Whether to show a progress bar: only on a terminal."""
    return not quiet and _is_terminal(sys.stderr)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()  # None: the stream is closed


def tell(text: str, quiet: bool) -> None:
    """Print a text, unless asked not to."""
    if not quiet:
        click.echo(text)


def tell_index(given: Given, quiet: bool, label: str = "  index         ") -> None:
    """Say which column was used as the index, if there was one."""
    if given.index is not None:
        tell(f"{label}{given.index}", quiet)


def tell_written(quiet: bool, *paths: Path | None) -> None:
    """Say which files were written."""
    for path in paths:
        if path is not None:
            tell(f"written to {path}", quiet)


def print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: aligned on a terminal, CSV in full precision in a pipe."""
    if not _is_terminal(sys.stdout):
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_exact(value) for value in row] for row in rows)
        click.echo(text.getvalue(), nl=False)
        return
    cells = [list(names), *([_short(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(line))


def _exact(value: Any) -> str:
    return value if isinstance(value, str) else str(np.asarray(value).item()).strip("()")


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"

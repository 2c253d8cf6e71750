"""What commands print: summaries, tables, and which files were written."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import visible
from ..io.limits import size_words
from ..io.signal_files import Given


def shows_progress(quiet: bool) -> bool:
    """Whether to show a progress bar: only on a terminal."""
    return not quiet and _is_terminal(sys.stderr)


def between(ends: tuple[float, float], text: Callable[[float], str]) -> str:
    """A range, from its two ends as text."""
    return " to ".join(map(text, ends))


def seconds(time: float) -> str:
    """A time in seconds."""
    return f"{time:.2g} s" if time < 100 else f"{time:.0f} s"


def tell_cost(took: float, cost: Any, beside: dict[str, float], quiet: bool) -> None:
    """Say what a call took, beside what was forecast, and what else took time.

    Parameters
    ----------
    took : float
        Seconds of the call.
    cost : Cost
    beside : dict of str to float
        Seconds of what is not forecast, by its name; shown if it took longer than the call.
    quiet : bool
    """
    tell(f"  time          {seconds(took)} (forecast: {between(cost.seconds, seconds)})", quiet)
    for name, more in beside.items():
        if more > max(took, 0.1):
            tell(f"                {seconds(more)} more for {name} (not forecast)", quiet)
    peak = peak_memory()
    if peak is not None:
        forecast = between(cost.memory, size_words)
        tell(
            f"  peak memory   {size_words(peak)} in all (forecast for the call: {forecast})", quiet
        )


def peak_memory() -> float | None:
    """The most bytes that this process has had in memory, if the system tells it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()  # None: the stream is closed


def tell(text: str, quiet: bool) -> None:
    """Print a text, unless asked not to."""
    if not quiet:
        click.echo(visible(text))


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
    cells = [list(map(visible, names)), *([_short(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(line))


def _exact(value: Any) -> str:
    return value if isinstance(value, str) else str(np.asarray(value).item()).strip("()")


def _short(value: Any) -> str:
    return visible(value) if isinstance(value, str) else f"{value:.6g}"

"""What the commands share: options, reading, checks before any work, errors in one line."""

from __future__ import annotations

import csv
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from io import StringIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..io import FileError, check_writable
from ..io.formats import TEXT
from ..solvers.driver import ConvergenceWarning
from .inputs import Given

Command = Callable[..., None]
FILE = click.Path(path_type=Path, readable=False)  # readers say what is wrong
ERRORS = (ValueError, TypeError, ImportError, OSError, ArithmeticError, MemoryError)
INTERRUPTED, TERMINATED = 130, 143  # the exit codes that shells expect after such signals
NOT_SAID = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, RuntimeWarning)
NOT_SOLVED = (
    "the solver did not come to rest in the steps that it may make, so the result may be less "
    "accurate than usual"
)
ADVICE = (
    "take more samples, leave out columns of few samples (--columns), or try other options, such "
    "as --rank or --order"
)
SIGNIFICANT = 6  # digits in a terminal; in a pipe there are all


class _Columns(click.ParamType):
    """Names or numbers, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        if isinstance(value, list):
            return value
        names = [name.strip() for name in value.split(",")]
        if not all(names):
            self.fail(f"{value!r} is no list of columns such as wind,rain or 2,3.", param, ctx)
        return names


class _Window(click.ParamType):
    """One whole number, or one for each axis."""

    name = "rows"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | tuple[int, ...]:
        try:
            sizes = tuple(int(size) for size in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no whole number, or several such as 20,30.", param, ctx)
        return sizes[0] if len(sizes) == 1 else sizes


class _Axis(click.ParamType):
    """The number of an axis, or none."""

    name = "axis"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "none":
            return value
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is no number of an axis, nor none.", param, ctx)


COLUMNS = _Columns()
POSITIVE = click.FloatRange(min=0, min_open=True)


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in help in their order."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


index_option = click.option(
    "--index",
    metavar="COLUMN",
    help="Column of times or labels of a text file, or none. Default: a first column that "
    "holds no numbers, or is named like time.",
)
input_options = combined(
    click.argument("file", type=FILE),
    click.option(
        "--columns",
        type=COLUMNS,
        help="Columns by name, or by number from 1, with commas. Default: all of numbers.",
    ),
    click.option("--variable", metavar="NAME", help="Which array of a file of several."),
    index_option,
)
window_option = click.option(
    "--window",
    type=_Window(),
    help="Rows of the Hankel matrix, for several axes with commas. Default: half of each axis.",
)
channels_option = click.option(
    "--channels",
    type=_Axis(),
    help="Axis that holds channels, from 0, or none. Default: the columns of text files.",
)
rank_option = click.option("--rank", type=click.IntRange(min=1), help="Number of modes, if known.")
model_options = combined(
    window_option,
    channels_option,
    rank_option,
    click.option("--sigma", type=POSITIVE, help="Standard deviation of the noise, if known."),
    click.option("--undamped", is_flag=True, help="The modes are known to be undamped."),
)
force_option = click.option("--force", is_flag=True, help="Replace files that are there.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress bar and no summary.")
plot_option = click.option("--plot", type=FILE, help="Draw to a .png, .svg or .pdf file.")
report_option = click.option("--report", type=FILE, help="Write a page to an .html file.")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What goes wrong ends the command with one line; what is doubtful is said in one each."""
    with warnings.catch_warnings(), _cleaning_up():
        warnings.simplefilter("default")
        warnings.showwarning = partial(_warn, set())
        try:
            yield
        except BrokenPipeError:  # whoever reads has seen enough
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise SystemExit(INTERRUPTED) from None
        except ERRORS as error:
            raise click.ClickException(_one_line(error)) from None


@contextmanager
def _cleaning_up() -> Iterator[None]:
    """A process that is asked to end removes what is half-written first."""

    def end(*_: Any) -> None:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():  # which has no say in signals
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _warn(
    said: set[str], message: Warning | str, category: type[Warning], *_: Any, **__: Any
) -> None:
    """Say it once, unless it is for programmers; what is not finite is an error later on."""
    if issubclass(category, NOT_SAID):
        return
    text = " ".join(str(message).split())
    if category is ConvergenceWarning and "stop." in text:  # which only programs can set
        text = NOT_SOLVED
    if text not in said:
        said.add(text)
        click.echo(f"Warning: {text}", err=True)


def _one_line(error: BaseException) -> str:
    if isinstance(error, np.linalg.LinAlgError):
        return f"the computation broke down ({error}): {ADVICE}"
    return " ".join(str(error).split()) or type(error).__name__


def shows_progress(quiet: bool) -> bool:
    """Whether a progress bar is of use: not in a pipe."""
    return not quiet and _is_terminal(sys.stderr)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()  # None: the stream is closed


def check_outputs(
    *tables: Path | None, plot: Path | None = None, report: Path | None = None, force: bool
) -> None:
    """An error, before any work, unless all these files can be written."""
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


def check_holds(path: Path | None, values: np.ndarray) -> None:
    """An error, before any work, if a text file cannot hold values of so many axes."""
    if path is not None and path.suffix.lower() in TEXT and values.ndim > 2:
        raise FileError(
            f"{path}: text holds at most two dimensions, but the values have shape {values.shape}: "
            "choose .npy"
        )


def check_found(*found: Any) -> None:
    """An error, before anything is written, if not all of the numbers found are finite."""
    if not all(np.all(np.isfinite(np.asarray(values))) for values in found):
        raise ArithmeticError(f"the samples do not tell all of what is looked for: {ADVICE}")


def tell(text: str, quiet: bool) -> None:
    """Print, unless asked not to."""
    if not quiet:
        click.echo(text)


def tell_index(given: Given, quiet: bool, label: str = "  index         ") -> None:
    """Say which column was taken for the index, if one was."""
    if given.index is not None:
        tell(f"{label}{given.index}", quiet)


def written(quiet: bool, *paths: Path | None) -> None:
    """Say which files were written."""
    for path in paths:
        if path is not None:
            tell(f"written to {path}", quiet)


def print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on stdout: aligned in a terminal, CSV in full precision in a pipe."""
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
    return value if isinstance(value, str) else f"{value:.{SIGNIFICANT}g}"

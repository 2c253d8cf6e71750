"""The command that continues a series."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import check_found
from ..io import FileError, Table, write
from ..io.signal_files import Given, check_continues
from . import options as shared
from . import printing
from .inputs import read_beside
from .options import FILE
from .outputs import check_fits, check_outputs, draw


@click.command()
@shared.input_options
@click.option(
    "--steps", type=click.IntRange(min=1), required=True, help="Number of samples to forecast."
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability that an interval contains the sample.",
)
@click.option("--out", type=FILE, help="Write the forecast; the extension tells the format.")
@shared.plot_option
@shared.report_option
@shared.model_options
@shared.season_option
@shared.regressor_option
@shared.control_options
@shared.force_option
@shared.quiet_option
def forecast(
    file: Path,
    columns: list[str] | None,
    regressors: tuple[str, ...],
    reading: dict[str, Any],
    channels: int | str | None,
    steps: int,
    out: Path | None,
    plot: Path | None,
    report: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Continue the series in FILE, with intervals.

    Trends, seasons and decays are extrapolated. Rows are times; columns of text files are channels
    that share their modes. An index of numbers or of times in ISO 8601 (2024-05-31) is continued.
    Without --out the forecast is printed, as CSV in a pipe: forecast, standard error and the ends
    of the interval for each step. With --regressor, the last rows, one per step, have the future
    values of these columns, and empty cells for the series.

    \b
    Examples:
      structrank forecast sales.csv --steps 12
      structrank forecast sales.csv --steps 12 --columns sales > next.csv
      structrank forecast sales.csv --steps 12 --columns sales --regressor price
      structrank forecast sales.csv --steps 12 --level 0.8 --plot next.png --report next.html
    """  # noqa: D301
    from .. import forecast as work
    from ..signals.tables import forecast_table

    check_outputs(out, plot=plot, report=report, force=force)
    given, beside = read_beside(file, columns, regressors, reading, channels)
    check_continues(given)
    check_fits(out, given.table)
    if beside is not None:
        given = _before(given, steps, file)
        options |= {"regressors": beside[:-steps], "future_regressors": beside[-steps:]}
    ahead = work(
        given.samples,
        steps,
        channels=given.channels,
        progress=not quiet,
        **options,
    )
    check_found(ahead.mean)
    table = forecast_table(ahead, given.table)
    if out is not None:
        write(out, table, force=force)
    draw(ahead, file, plot, report, force)
    if out is None:
        _print(table)
    else:
        printing.tell(repr(ahead), quiet)
        printing.tell_index(given, quiet)
        printing.tell_written(quiet, out, plot, report)


def _before(given: Given, steps: int, file: Path) -> Given:
    """The series without the last rows, which have the future values of regressors."""
    last = np.asarray(given.samples)[-steps:]
    if len(given.samples) <= steps or not np.all(np.isnan(last)):
        raise FileError(
            f"{file}: with --regressor the last {steps} rows, one per step, have the future values "
            "of the regressors, so the series is expected to be empty there: add rows"
        )
    return replace(given, samples=given.samples[:-steps])


def _print(table: Table) -> None:
    """Print the forecast with its index, or with numbered steps."""
    first = "step" if table.index is None else table.index_name or "index"
    labels = range(1, len(table.values) + 1) if table.index is None else table.index
    rows = [[str(label), *row] for label, row in zip(labels, table.values, strict=True)]
    printing.print_table([first, *(table.names or ())], rows)

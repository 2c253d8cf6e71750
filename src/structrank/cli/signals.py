"""Commands for signals: recover, impute, denoise, forecast, frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..io import FileError, Table, write
from . import common
from .common import FILE, POSITIVE, combined
from .inputs import Given, read_signal

signal_options = combined(
    common.input_options,
    click.option("--out", type=FILE, help="Write the signal, in the format of the extension."),
    click.option("--errors", type=FILE, help="Write the standard errors likewise."),
    common.plot_option,
    common.report_option,
    common.model_options,
    click.option("--mu", type=POSITIVE, help="Price of the nuclear norm, if not to be chosen."),
    click.option("--robust", is_flag=True, help="Find gross errors first and do without them."),
    common.force_option,
    common.quiet_option,
)


@click.command()
@signal_options
def recover(**options: Any) -> None:
    """Fill the gaps and remove the noise of the signal in FILE.

    The signal is taken to be a sum of a few (damped) sinusoids, exponentials and slow trends. Empty
    cells and NaN are missing. Rows are equally spaced in time. Columns of text files are channels
    that share their modes. Without --out a summary is printed.

    \b
    Examples:
      structrank recover signal.csv
      structrank recover signal.csv --out clean.csv --plot clean.png
      structrank recover image.npy --out clean.npy --report page.html
      structrank recover weather.csv --columns wind,rain --out clean.csv
    """  # noqa: D301
    from ..signals.recovery import recover as work

    _recover(work, **options)


@click.command()
@signal_options
def impute(**options: Any) -> None:
    """Fill the gaps of the signal in FILE.

    What is seen stays as it is. Without --out a summary is printed.

    \b
    Examples:
      structrank impute sensor.csv --out filled.csv
      structrank impute sensor.csv --columns 2 --index time --plot filled.png
    """  # noqa: D301
    from ..signals.filling import impute as work

    _recover(work, **options)


@click.command()
@signal_options
def denoise(**options: Any) -> None:
    """Remove the noise of the signal in FILE.

    The same as recover, by another name.

    \b
    Examples:
      structrank denoise fid.npy --out clean.npy
      structrank denoise signal.csv --sigma 0.1 --out clean.csv
    """  # noqa: D301
    from ..signals.filling import denoise as work

    _recover(work, **options)


def _recover(
    work: Callable[..., Any],
    *,
    file: Path,
    columns: list[str] | None,
    variable: str | None,
    index: str | None,
    channels: int | str | None,
    out: Path | None,
    errors: Path | None,
    plot: Path | None,
    report: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    common.check_outputs(out, errors, plot=plot, report=report, force=force)
    given = read_signal(file, columns, variable, index, channels)
    for path in (out, errors):
        common.check_holds(path, given.table.values)
    found = work(
        given.samples,
        channels=given.channels,
        progress=common.shows_progress(quiet),
        **options,
    )
    common.check_found(found.signal)
    for path, values in ((out, found.signal), (errors, found.stderr)):
        if path is not None:
            write(path, _like(given.table, values), force=force)
    _draw(found, plot, report, force)
    common.tell(repr(found), quiet)
    common.tell_index(given, quiet)
    common.written(quiet, out, errors, plot, report)


def _like(table: Table, values: Any) -> Table:
    """Other values in the place of those of a table."""
    numbers = np.asarray(values)
    same_kind = np.iscomplexobj(numbers) == np.iscomplexobj(table.values)
    return replace(table, values=numbers, header=table.header if same_kind else None)


def _draw(found: Any, plot: Path | None, report: Path | None, force: bool) -> None:
    """The picture and the page of a recovery or a forecast."""
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, found.plot, force=force)
    if report is not None:
        found.write_report(report, force=force)


@click.command()
@common.input_options
@click.option("--steps", type=click.IntRange(min=1), required=True, help="How many samples.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability that an interval holds the sample.",
)
@click.option("--out", type=FILE, help="Write the forecast, in the format of the extension.")
@common.plot_option
@common.report_option
@common.model_options
@common.force_option
@common.quiet_option
def forecast(
    file: Path,
    columns: list[str] | None,
    variable: str | None,
    index: str | None,
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

    Its trends, seasons and decays are carried on. Rows are times; columns of text files are
    channels that share their modes. Times in the index, in ISO 8601 (2024-05-31), and numbers are
    carried on. Without --out the forecast is printed, as CSV in a pipe: forecast, standard error
    and ends of the interval of each step.

    \b
    Examples:
      structrank forecast sales.csv --steps 12
      structrank forecast sales.csv --steps 12 --columns sales > next.csv
      structrank forecast sales.csv --steps 12 --level 0.8 --plot next.png --report next.html
    """  # noqa: D301
    from ..signals.forecasting import forecast as work

    common.check_outputs(out, plot=plot, report=report, force=force)
    given = read_signal(file, columns, variable, index, channels)
    _check_continues(given)
    ahead = work(
        given.samples,
        steps,
        channels=given.channels,
        progress=common.shows_progress(quiet),
        **options,
    )
    common.check_found(ahead.mean)
    table = _forecast_table(ahead, given.table)
    if out is not None:
        write(out, table, force=force)
    _draw(ahead, plot, report, force)
    if out is None:
        heads = [table.index_name or "index"] if table.index is not None else ["step"]
        labels = map(str, range(1, steps + 1)) if table.index is None else table.index
        rows = [[label, *row] for label, row in zip(labels, table.values, strict=True)]
        common.print_table([*heads, *(table.names or ())], rows)
    else:
        common.tell(repr(ahead), quiet)
        common.tell_index(given, quiet)
        common.written(quiet, out, plot, report)


def _check_continues(given: Given) -> None:
    """An error unless there is one axis of time, and it can be told what follows on it."""
    shape, channels = given.table.values.shape, given.channels
    if len(shape) > 1 and channels != 1:
        raise FileError(
            f"the values have shape {shape}, but a series, or with --channels 1 series side by "
            f"side, is expected: --channels is {'none' if channels is None else channels}"
        )
    if given.table.index is None:
        return
    if not hasattr(given.samples, "index"):
        raise ImportError(
            "times are carried on by pandas, which is not installed: pip install pandas, or pass "
            "--index none"
        )
    if given.samples.index.dtype.kind not in "iufM":
        raise FileError(
            f"the index ({given.table.index[0]} ...) is neither of numbers nor of times in ISO "
            "8601, such as 2024-05-31 or 2024-05-31T12:00, so it cannot be carried on: pass "
            "--index none"
        )


def _forecast_table(ahead: Any, table: Table) -> Table:
    """Forecast, standard error and ends of the interval, for each column of the series."""
    from ..views import index_labels

    parts = [np.asarray(part) for part in (ahead.mean, ahead.stderr, ahead.lower, ahead.upper)]
    values = np.stack([part.reshape(len(part), -1) for part in parts], axis=2)
    count = values.shape[1]
    whose = table.names or [str(c + 1) for c in range(count)]
    what = ("forecast", "stderr", "lower", "upper")
    names = [name if count == 1 else f"{whose[c]}_{name}" for c in range(count) for name in what]
    index = None if table.index is None else np.array(index_labels(ahead.mean.index))
    return Table(values.reshape(len(values), -1), tuple(names), index, table.index_name)


@click.command()
@common.input_options
@click.option("--out", type=FILE, help="Write the table of modes.")
@common.plot_option
@common.model_options
@common.force_option
@common.quiet_option
def frequencies(
    file: Path,
    columns: list[str] | None,
    variable: str | None,
    index: str | None,
    channels: int | str | None,
    out: Path | None,
    plot: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the sinusoids in the signal in FILE.

    They may be damped, and have standard errors. Frequencies are in cycles a sample: times the
    sampling rate they are hertz. Dampings are the decay of the logarithm a sample. A real
    sinusoid is two modes, of opposite frequencies. Without --out the table is printed, as CSV in
    a pipe.

    \b
    Examples:
      structrank frequencies fid.npy
      structrank frequencies signal.csv --rank 4 --plot spectrum.png > modes.csv
      structrank frequencies vibration.csv --columns x,y,z --out modes.csv
    """  # noqa: D301
    from ..signals.spectrum import frequencies as work
    from ..signals.spectrum import modes_table

    common.check_outputs(out, plot=plot, force=force)
    given = read_signal(file, columns, variable, index, channels)
    modes = work(
        given.samples,
        channels=given.channels,
        progress=common.shows_progress(quiet),
        **options,
    )
    common.check_found(modes.amplitudes, modes.frequencies, modes.dampings)
    table = modes_table(modes)
    rows = np.stack(list(table.values()), axis=1)
    if out is not None:
        write(out, Table(rows, tuple(table)), force=force)
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, modes.plot, force=force)
    if out is None:
        common.print_table(list(table), rows.tolist())
    else:
        common.tell_index(given, quiet, "index         ")
        common.written(quiet, out, plot)

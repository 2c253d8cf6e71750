"""Commands that fill gaps and remove noise: recover, impute, denoise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import check_found
from ..io import write
from ..io.signal_files import Given, times_of
from . import options as shared
from . import printing
from .inputs import read_beside
from .options import FILE, POSITIVE
from .outputs import check_fits, check_outputs, draw
from .patches import in_patches, patch_options

CERTIFICATE = "the report: the convex solution with its certificate, and pictures"
# Options that `estimate_cost` has not.
NO_COST = (
    "sigma",
    "undamped",
    "season",
    "max_gap",
    "bounds",
    "clipped",
    "dt",
    "checkpoint",
    "resume",
)
signal_options = shared.combined(
    shared.input_options,
    click.option("--out", type=FILE, help="Write the signal; the extension tells the format."),
    click.option("--errors", type=FILE, help="Write the standard errors in the same way."),
    click.option(
        "--bands",
        type=FILE,
        help="Write signal, standard errors and ends of the intervals as columns of a table.",
    ),
    click.option(
        "--components",
        type=FILE,
        help="Write trend, seasons, oscillations and the rest of series as columns of a table, "
        "with standard errors where they are known.",
    ),
    shared.plot_option,
    shared.report_option,
    shared.model_options,
    click.option(
        "--mu", type=POSITIVE, help="Weight of the nuclear norm. Default: chosen from the data."
    ),
    shared.season_option,
    shared.regressor_option,
    shared.limit_options,
    click.option(
        "--irregular",
        is_flag=True,
        help="Take the times of one series as they are, with no regular steps in between.",
    ),
    click.option(
        "--independent",
        is_flag=True,
        help="Fit every column alone, on as many processes as --workers says.",
    ),
    click.option("--robust", is_flag=True, help="Find gross errors first and ignore them."),
    shared.control_options,
    click.option(
        "--checkpoint",
        type=FILE,
        help="Save finished fits to an .npz file every minute, and at the end.",
    ),
    click.option(
        "--resume", type=FILE, help="Continue from such a file, which may be the same one."
    ),
    patch_options,
    shared.force_option,
    shared.quiet_option,
)


@click.command()
@signal_options
def recover(**options: Any) -> None:
    """Fill the gaps and remove the noise of the signal in FILE.

    The model is a sum of a few (damped) sinusoids, exponentials and slow trends. Empty cells and
    NaN are missing. Rows are equally spaced in time. Columns of text files are channels that share
    their modes. Without --out only a summary is printed. With --patch, a Zarr array that may be
    larger than memory is filled in overlapping patches, and values that are not missing stay as
    they are.

    \b
    Examples:
      structrank recover signal.csv
      structrank recover signal.csv --out clean.csv --plot clean.png
      structrank recover image.npy --out clean.npy --report page.html
      structrank recover weather.csv --columns wind,rain --out clean.csv
      structrank recover sales.csv --components parts.csv
      structrank recover sales.csv --columns sales --regressor price --out clean.csv
      structrank recover big.zarr --out filled.zarr --patch 64,64
    """  # noqa: D301
    from .. import recover as work

    _run(work, **options)


@click.command()
@signal_options
def impute(**options: Any) -> None:
    """Fill the gaps of the signal in FILE.

    Values that are not missing stay as they are. Without --out only a summary is printed.

    \b
    Examples:
      structrank impute sensor.csv --out filled.csv
      structrank impute sensor.csv --columns 2 --index time --plot filled.png
    """  # noqa: D301
    from .. import impute as work

    _run(work, **options)


@click.command()
@signal_options
def denoise(**options: Any) -> None:
    """Remove the noise of the signal in FILE.

    It does the same as the command recover.

    \b
    Examples:
      structrank denoise fid.npy --out clean.npy
      structrank denoise signal.csv --sigma 0.1 --out clean.csv
    """  # noqa: D301
    from .. import denoise as work

    _run(work, denoise=True, **options)


def _run(work: Callable[..., Any], *, denoise: bool = False, **options: Any) -> None:
    """Recover a signal, as a whole or in patches."""
    place = {name: options.pop(name) for name in ("patch", "overlap", "scheduler", "workers")}
    if place["patch"] is not None:
        for name in ("irregular", "independent"):
            if options.pop(name):
                raise ValueError(
                    f"--{name} is for series, but --patch is given: pass only one of them"
                )
        in_patches(place=place, denoise=denoise, **options)
        return
    if options.pop("independent"):
        _check_independent(options)
        workers = place.pop("workers") or 1
        progress = printing.shows_progress(options["quiet"])
        work = partial(work, channels="independent", workers=workers, progress=progress)
    for name, value in place.items():
        if value is not None:
            raise ValueError(f"--{name} needs --patch, which says how large patches are")
    _recover(work, **options)


def _check_independent(options: dict[str, Any]) -> None:
    """Raise an error for options that do not suit columns that are fitted alone."""
    unsuited = ("channels", "irregular", "components", "report", "checkpoint", "resume")
    for name, option in (("regressors", "regressor"), *((name, name) for name in unsuited)):
        if options[name]:
            raise ValueError(
                f"--{option} cannot be used with --independent, which fits every column alone: "
                "leave it out"
            )


def _recover(
    work: Callable[..., Any],
    *,
    file: Path,
    columns: list[str] | None,
    regressors: tuple[str, ...],
    reading: dict[str, Any],
    channels: int | str | None,
    out: Path | None,
    errors: Path | None,
    bands: Path | None,
    components: Path | None,
    plot: Path | None,
    report: Path | None,
    force: bool,
    quiet: bool,
    max_time: float | None,
    irregular: bool,
    **options: Any,
) -> None:
    """Recover a signal that fits into memory."""
    from .. import estimate_cost
    from .._watch import clock, watched

    check_outputs(out, errors, bands, components, plot=plot, report=report, force=force)
    given, beside = read_beside(file, columns, regressors, reading, channels, irregular=irregular)
    options["dt"] = options["dt"] or given.dt
    for path in (out, errors):
        check_fits(path, given.table)
    cost, independent = None, isinstance(work, partial)
    how = {} if independent else {"channels": given.channels}
    if irregular:
        options["times"] = times_of(given, str(file))
    elif not (independent or _stays_as_it_is(work, given, options)):
        known = {name: value for name, value in options.items() if name not in NO_COST}
        cost = estimate_cost(given.samples, channels=given.channels, max_time=max_time, **known)
    if beside is not None:
        options["regressors"] = beside
    with watched(max_time, not quiet):
        found = work(given.samples, max_time=max_time, **how, **options)
        check_found(np.asarray(found.signal)[~found.left])
        _write(found, given, out, errors, bands, components, force)
        began = clock()
        draw(found, file, plot, report, force)
        drawn = {CERTIFICATE if report else "the picture": clock() - began}
    printing.tell(repr(found), quiet)
    if cost is not None:
        printing.tell_cost(found.seconds, cost, drawn, quiet)
    printing.tell_index(given, quiet)
    printing.tell_written(quiet, out, errors, bands, components, plot, report)


def _stays_as_it_is(work: Callable[..., Any], given: Given, options: dict[str, Any]) -> bool:
    """Whether there is nothing to impute, which needs no forecast of its cost."""
    complete = not np.any(np.isnan(np.asarray(given.samples)))
    searched = options["robust"] or options["clipped"] is not None
    return work.__name__ == "impute" and complete and not searched


def _write(
    found: Any,
    given: Given,
    out: Path | None,
    errors: Path | None,
    bands: Path | None,
    components: Path | None,
    force: bool,
) -> None:
    """Write the signal, its standard errors and its components, if asked for."""
    from ..signals.tables import bands_table, components_table, table_like

    for path, values in ((out, found.signal), (errors, found.stderr)):
        if path is not None:
            write(path, table_like(given.table, values), force=force)
    if bands is not None:
        write(bands, bands_table(found, given.table), force=force)
    if components is not None:
        write(components, components_table(found.components(), given.table), force=force)

"""The command that finds sinusoids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import check_found
from ..io import Table, write
from . import options as shared
from . import printing
from .inputs import read_signal
from .options import FILE
from .outputs import check_fits, check_outputs


@click.command()
@shared.input_options
@click.option("--out", type=FILE, help="Write the table of modes; the extension tells the format.")
@shared.plot_option
@shared.model_options
@shared.control_options
@shared.force_option
@shared.quiet_option
def frequencies(
    file: Path,
    columns: list[str] | None,
    reading: dict[str, Any],
    channels: int | str | None,
    out: Path | None,
    plot: Path | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the sinusoids in the signal in FILE.

    They may be damped, and all numbers have standard errors. Frequencies are in cycles per sample,
    and also in Hz or per year if the index has times or --dt is given. A real signal has one row
    per oscillation, with period and damping time; a complex signal has one row per mode, whose
    damping is the decay of the logarithm per sample. Without --out the table is printed, as CSV in
    a pipe.

    \b
    Examples:
      structrank frequencies fid.npy
      structrank frequencies signal.csv --rank 4 --plot spectrum.png > modes.csv
      structrank frequencies vibration.csv --columns x,y,z --dt 0.001 --out modes.csv
    """  # noqa: D301
    from .. import frequencies as work
    from .. import modes_table

    check_outputs(out, plot=plot, force=force)
    check_fits(out, Table(np.zeros((2, 2)), ("frequency", "damping")))
    given = read_signal(file, columns, reading, channels)
    options["dt"] = options["dt"] or given.dt
    modes = work(
        given.samples,
        channels=given.channels,
        progress=not quiet,
        **options,
    )
    check_found(modes.amplitudes, modes.frequencies, modes.dampings)
    table = modes_table(modes)
    rows = np.stack(list(table.values()), axis=1)
    if out is not None:
        write(out, Table(rows, tuple(table)), force=force)
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, modes.plot, force=force)
    if out is None:
        printing.print_table(list(table), rows.tolist())
    else:
        printing.tell_index(given, quiet, "index         ")
        printing.tell_written(quiet, out, plot)

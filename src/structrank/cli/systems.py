"""Commands that find systems: realize from outputs, identify from inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from .._messages import check_found
from ..io.atomic import check_new_file, new_file
from . import options as shared
from . import printing
from .inputs import read_signal
from .options import FILE, POSITIVE
from .outputs import check_outputs

MATRICES = (".npz", ".mat")

matrices_option = click.option(
    "--out", type=FILE, help="Write the matrices to an .npz or .mat file."
)

dt_option = click.option(
    "--dt",
    type=POSITIVE,
    help="Seconds between samples. Prints frequencies in Hz and damping ratios, with errors.",
)


@click.command()
@shared.input_options
@matrices_option
@shared.plot_option
@click.option("--order", type=click.IntRange(min=1), help="Number of states, if known.")
@click.option(
    "--lags",
    type=click.IntRange(min=2),
    help="Number of lags of the covariances that are used. Default: 20. More for a long memory.",
)
@click.option(
    "--mu", type=POSITIVE, help="Weight of the nuclear norm. Default: chosen from the noise."
)
@dt_option
@shared.force_option
@shared.quiet_option
def realize(
    file: Path,
    columns: list[str] | None,
    reading: dict[str, Any],
    out: Path | None,
    plot: Path | None,
    order: int | None,
    lags: int | None,
    mu: float | None,
    dt: float | None,
    force: bool,
    quiet: bool,
) -> None:
    """Find the system whose outputs are in FILE.

    It is a stochastic system, driven by noise; the columns are its outputs. Means are subtracted.
    The first order that is tried is the rank of the block-Hankel matrix of the covariances. The
    weight of the nuclear norm is chosen such that sampling noise alone has rank zero. Maximum
    likelihood follows, and an information criterion chooses the order. Empty cells and NaN are
    missing. Thousands of rows are needed. Order and poles are printed, and vibration modes with
    --dt. The matrices belong to x' = A x + K e, y = C x + output_offset + e, with noise e of
    covariance innovation_covariance.

    \b
    Examples:
      structrank realize outputs.csv
      structrank realize outputs.csv --order 4 --out model.npz --plot poles.png
      structrank realize accelerations.csv --dt 0.01
    """  # noqa: D301
    from .. import realize_outputs

    _check(out, plot, force)
    given = read_signal(file, columns, reading)
    dt = dt or given.dt
    model = realize_outputs(given.samples, order, lags=lags, mu=mu, dt=dt)
    names = ("A", "K", "C", "innovation_covariance", "output_offset")
    _finish(model, names, out, plot, force, quiet)
    if dt is not None:
        printing.tell(str(model.modes), quiet)
    printing.tell_index(given, quiet, "index     ")


@click.command()
@click.argument("file", type=FILE)
@shared.columns_option("--inputs", required=True, help="Columns of the inputs.")
@shared.columns_option("--outputs", required=True, help="Columns of the outputs.")
@shared.reading_options
@matrices_option
@shared.plot_option
@click.option("--order", type=click.IntRange(min=1), help="Number of states, if known.")
@dt_option
@shared.force_option
@shared.quiet_option
def identify(
    file: Path,
    inputs: list[str],
    outputs: list[str],
    reading: dict[str, Any],
    out: Path | None,
    plot: Path | None,
    order: int | None,
    dt: float | None,
    force: bool,
    quiet: bool,
) -> None:
    """Find the system between columns of FILE.

    It turns the inputs into the outputs. Empty cells and NaN in either are missing. Method, order
    and poles are printed, and vibration modes with --dt. The matrices belong to x' = A x + B v,
    y = C x + D v + output_offset, v = u - input_offset.

    \b
    Examples:
      structrank identify record.csv --inputs valve --outputs flow,level
      structrank identify record.mat --inputs 1,2 --outputs 3 --order 4 --out model.mat
    """  # noqa: D301
    from .. import identify as work

    _check(out, plot, force)
    given = read_signal(file, [*inputs, *outputs], reading)
    u, y = np.split(given.table.values, [len(inputs)], axis=1)
    model = work(u, y, order, dt=dt)
    names = ("A", "B", "C", "D", "x0", "input_offset", "output_offset")
    _finish(model, names, out, plot, force, quiet)
    if dt is not None:
        printing.tell(str(model.modes), quiet)
    printing.tell_index(given, quiet, "index     ")


def _check(out: Path | None, plot: Path | None, force: bool) -> None:
    check_outputs(plot=plot, force=force)
    if out is not None:
        check_new_file(out, MATRICES, force=force)


def _finish(
    model: Any,
    names: tuple[str, ...],
    out: Path | None,
    plot: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Write and print what was found."""
    check_found(*(getattr(model, name) for name in names))
    if out is not None:
        _write_matrices(out, {name: getattr(model, name) for name in names}, force)
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, model.plot_poles, force=force)
    poles = ", ".join(_pole(pole) for pole in model.poles)
    method = f"method    {model.method}\n" if model.method else ""
    printing.tell(f"{method}order     {model.order}\npoles     {poles}", quiet)
    printing.tell_written(quiet, out, plot)


def _pole(pole: complex) -> str:
    if pole.imag == 0:
        return f"{pole.real:.5g}"
    return f"{pole.real:.5g}{pole.imag:+.5g}j"


def _write_matrices(path: Path, matrices: dict[str, np.ndarray], force: bool) -> None:
    from scipy.io import savemat

    with new_file(path, MATRICES, force=force) as partial:
        if path.suffix.lower() == ".npz":
            np.savez(partial, **matrices)  # type: ignore[arg-type]
        else:
            savemat(partial, matrices, oned_as="column")

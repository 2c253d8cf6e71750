"""The command that runs the paper's experiments."""

from __future__ import annotations

from pathlib import Path

import click

from . import printing

EXPERIMENTS = ("ssr", "scs", "scalability")


@click.command()
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]))
@click.option(
    "--quick", is_flag=True, help="Small sizes and few seeds: about two minutes in total."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("structrank-results"),
    show_default=True,
    help="New folder for figures and tables, with one folder per experiment.",
)
@click.option("--force", is_flag=True, help="Replace an experiment's existing folder.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="First seed."
)
@click.option("--quiet", is_flag=True, help="No progress bar and no tables.")
def reproduce(experiment: str, quick: bool, out: Path, force: bool, seed: int, quiet: bool) -> None:
    """Run the paper's experiments and draw its figures.

    \b
    ssr          stochastic system realisation: all methods over time, and
                 a case in which the order can be found
    scs          2-D spectral compressed sensing: the paper's panels, 20 seeds
    scalability  time over size, up to 8200 x 40000
    all          all three

    Algorithm 1 runs in two forms: as printed (its step, one pair, its start, its stopping rule,
    its B) and with the defaults of this package.

    Figures, tables (CSV and Markdown), seeds, versions and a description of the machine are
    written to OUT/EXPERIMENT. Set OPENBLAS_NUM_THREADS=1 for timings.

    \b
    Examples:
      structrank reproduce all --quick
      structrank reproduce ssr --out results
    """  # noqa: D301
    from .. import reproduce as experiments
    from ..io.atomic import check_new_folder, new_folder
    from ..views import require_matplotlib

    chosen = EXPERIMENTS if experiment == "all" else (experiment,)
    require_matplotlib()  # before any work
    for name in chosen:
        check_new_folder(out / name, force=force, parents=True)
    for name in chosen:
        run = getattr(experiments, f"reproduce_{name}")
        with new_folder(out / name, force=force) as folder:
            tables = run(folder, quick=quick, rng=seed, progress=printing.shows_progress(quiet))
        printing.tell("\n".join(tables), quiet)
        click.echo(f"{name}: written to {out / name}")

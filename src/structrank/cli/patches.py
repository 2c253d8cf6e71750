"""Volumes larger than memory: the same commands in patches, on this machine or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from . import printing
from .options import combined, sizes

patch_options = combined(
    click.option(
        "--patch",
        metavar="SIZES",
        callback=sizes,
        help="Fill the gaps of a Zarr array in patches of this size; for several axes one number "
        "each, -1 for a whole axis.",
    ),
    click.option(
        "--overlap",
        metavar="SIZES",
        callback=sizes,
        help="Samples that patches share. Default: a quarter.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster, such as tcp://..."),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="NUMBER",
        help="Processes for patches on this machine. Default: one per core.",
    ),
)


def in_patches(
    *,
    file: Path,
    out: Path | None,
    reading: dict[str, Any],
    place: dict[str, Any],
    denoise: bool,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Recover a Zarr array in patches.

    `place` has the options of `patch_options`, and `options` those of `recover` and of files that
    patches do not have.
    """
    from .. import recover_patches

    variable = reading["variable"]
    unused = {**reading, "variable": None}
    files = ("errors", "bands", "components", "plot", "report", "checkpoint", "resume")
    for name in ("columns", "regressors", "clipped", *files, "max_time", "dt"):
        unused[name] = options.pop(name, None)
    for name, value in unused.items():
        if value:
            raise ValueError(
                f"--{name.replace('_', '-')} cannot be used with --patch: leave it out"
            )
    if options["channels"] == "none":
        options["channels"] = None
    if out is None:
        raise ValueError("--patch needs --out with the name of a new Zarr folder")
    with _client(place["scheduler"], place["workers"]) as client:
        found = recover_patches(
            file,
            out,
            patch=place["patch"],
            overlap=place["overlap"],
            denoise=denoise,
            variable=variable,
            client=client,
            force=force,
            progress=printing.shows_progress(quiet),
            **{name: value for name, value in options.items() if value is not None},
        )
    printing.tell(repr(found), quiet)
    printing.tell_written(quiet, out, found.table)


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Give a client of a cluster, of processes on this machine, or none for a single one."""
    if scheduler is not None or workers == 1:
        yield scheduler
        return
    from ..distributed.sources import require

    distributed = require("distributed")
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

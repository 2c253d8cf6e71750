"""`recover` in overlapping patches, for volumes larger than memory."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from ..io.table import FileError
from ..signals import recover
from ..views import Summary
from .grid import Grid, blocks
from .scheduling import connected, run_all
from .sources import Source, create_target, open_target, require
from .tasks import Job, count_missing, recover_patch, write_block
from .work_folder import PatchRow, WorkFolder


@dataclass(frozen=True, eq=False, repr=False)
class PatchRecovery(Summary):
    """A volume that was recovered in patches, in a Zarr array.

    Attributes
    ----------
    target : Path
        The Zarr array; for an xarray DataArray, a group with the array and its coordinates.
    table : Path
        A CSV file with one row per patch.
    rows : list of PatchRow
        The same rows. Rank, noise, errors and certificate hold for their patch, not for the volume.
    left : int
        Number of values that are still missing, since nothing near them was seen.
    array : Zarr array
        The result, which is read piece by piece.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structrank import recover_patches
    >>> truth = np.cos(0.3 * np.arange(60))
    >>> samples = np.where(np.arange(60) == 10, np.nan, truth)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = recover_patches(samples, f"{folder}/filled.zarr", patch=40)
    ...     [(row.status, row.rank) for row in found.rows]
    [('recovered', 2), ('complete', 0)]
    """

    target: Path
    table: Path
    rows: list[PatchRow]
    left: int
    array: Any

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, self.array.shape))
        kinds = Counter(row.status.partition(":")[0] for row in self.rows)
        rows = [
            ("signal", f"{shape}, in {self.target}"),
            ("patches", ", ".join(f"{count} {kind}" for kind, count in kinds.items())),
            ("still missing", f"{self.left} values" if self.left else "nothing"),
            ("table", str(self.table)),
        ]
        failed = [row for row in self.rows if row.status.startswith("failed")]
        if failed:
            rows.append(("first failure", f"patch {failed[0].patch} {failed[0].status}"))
        return rows


def recover_patches(
    source: Any,
    target: str | Path,
    *,
    patch: int | tuple[int, ...],
    overlap: int | tuple[int, ...] | None = None,
    denoise: bool = False,
    variable: str | None = None,
    client: Any = None,
    force: bool = False,
    progress: bool = False,
    **options: Any,
) -> PatchRecovery:
    """Fill the gaps of a volume that may be larger than memory, in overlapping patches.

    Each patch is a problem of its own, for `recover`. Where patches overlap, their values are
    blended with weights that fall smoothly towards the edges and have the sum one. Patches without
    gaps are copied. Values that are seen stay as they are, unless `denoise` is set.

    Every patch is written to a folder beside the target as soon as it is found, and every block of
    the target is written once, by one task. So the result does not depend on the number of
    workers, a worker that is lost costs only its time, and a run that was killed continues with the
    patches that are missing when it is called again with the same arguments.

    Parameters
    ----------
    source : str, Path, Dask array, xarray DataArray or NumPy array
        The volume, in any number of dimensions, real or complex, NaN where missing. A path is a
        Zarr array in a folder; chunks that are not there are missing.
    target : str or Path
        Where the result is written: a new folder with the extension .zarr. All workers have to
        reach it.
    patch : int or tuple of int
        Size of a patch, for all axes or for each; -1 is a whole axis. A patch should be a few
        times as long as the longest gap, and its Hankel matrix has to fit into the memory of a
        worker.
    overlap : int or tuple of int, optional
        Samples that neighbouring patches share. Default: a quarter of the patch.
    denoise : bool
        Recover every patch, also those without gaps, and replace the samples by the signal.
    variable : str, optional
        The array in a Zarr group.
    client : distributed.Client or str, optional
        A client of a cluster, or the address of its scheduler. Default: the current client, or
        else the threads of this process.
    force : bool
        Replace a target that exists, and begin anew where a run was interrupted.
    progress : bool
        Show progress bars.
    **options
        Passed to `recover`. `channels` is an axis of which every patch has to hold all.

    Returns
    -------
    PatchRecovery

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structrank import recover_patches
    >>> rng = np.random.default_rng(0)
    >>> x, y = np.mgrid[:40, :60]
    >>> truth = np.cos(0.3 * x + 0.2 * y)
    >>> samples = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = recover_patches(samples, f"{folder}/filled.zarr", patch=(24, 32))
    ...     print(len(found.rows), found.left, bool(np.allclose(found.array[:], truth, atol=1e-5)))
    6 0 True
    """
    given, target = Source.of(source, variable), Path(target)
    if target.suffix.lower() != ".zarr":
        raise FileError(f"{target} has an unknown extension: .zarr is expected")
    grid = Grid.of(given.shape, patch, overlap)
    _check_options(options, grid)
    require("zarr")
    job = Job(grid, WorkFolder(target), denoise, options)
    settings = {
        "source": given.name,
        "shape": given.shape,
        "dtype": str(given.dtype),
        "patch": grid.patch,
        "overlap": grid.overlap,
        "denoise": denoise,
        "options": sorted(f"{name}={value!r}" for name, value in options.items()),
    }
    job.work.begin(settings, force=force)
    with connected(client) as workers:
        return _recovered(given, job, workers, progress)


def _recovered(source: Source, job: Job, client: Any, progress: bool) -> PatchRecovery:
    """Count what is missing, recover patches, write blocks, write the table."""
    grid, work = job.grid, job.work
    counts = _counted(source, job, client, progress)
    needed = [k for k in range(len(grid)) if job.denoise or counts[k]]
    calls = [(source.piece(grid.box(k)), k, job) for k in needed if not work.is_kept(k)]
    run_all(recover_patch, calls, client, label="patches", progress=progress)
    rows = [_row(k, int(counts[k]), job) for k in range(len(grid))]
    _check_some_worked(rows, work)
    chunks = source.chunks or grid.patch
    created = work.path / "created"
    if not created.exists():
        create_target(work.target, source, chunks)
        created.touch()
    array, wanted = open_target(work.target, source), set(needed)
    boxes = blocks(source.shape, array.chunks)
    writes = [
        (source.piece(box), box, i, [k for k in grid.touching(box) if k in wanted], array, job)
        for i, box in enumerate(boxes)
    ]
    left = run_all(write_block, writes, client, label="blocks", progress=progress)
    work.keep_table(rows)
    array.attrs["structrank"] = {"patch": list(grid.patch), "overlap": list(grid.overlap)}
    work.remove()
    return PatchRecovery(work.target, work.table, rows, sum(left), array)


def _counted(source: Source, job: Job, client: Any, progress: bool) -> NDArray:
    """The number of missing values in every patch, counted once."""
    counts = job.work.counts()
    if counts is None:
        grid = job.grid
        boxes = blocks(source.shape, source.chunks or grid.patch)  # each is read once
        calls = [(source.piece(box), box, grid) for box in boxes]
        counts = np.zeros(len(grid), dtype=int)
        for found in run_all(count_missing, calls, client, label="gaps", progress=progress):
            for k, missing in found.items():
                counts[k] += missing
        job.work.keep_counts(counts)
    return counts


def _row(k: int, missing: int, job: Job) -> PatchRow:
    if (missing or job.denoise) and job.work.patch(k).exists():
        return job.work.found(k)[0]
    return PatchRow(k, " ".join(str(part.start) for part in job.grid.box(k)), missing, "complete")


def _check_some_worked(rows: list[PatchRow], work: WorkFolder) -> None:
    """Raise an error if all patches failed: something is wrong with the options."""
    tried = [row for row in rows if row.status not in ("complete", "empty")]
    if tried and all(row.status.startswith("failed") for row in tried):
        work.remove()
        raise ValueError(f"no patch could be recovered; patch {tried[0].patch} {tried[0].status}")


def _check_options(options: dict[str, Any], grid: Grid) -> None:
    """Raise an error for options that `recover` has not, or that do not suit patches."""
    unsuited = {"samples", "progress", "max_time"}  # a result must not depend on the time it takes
    known = set(inspect.signature(recover).parameters) - unsuited
    for name in options:
        if name not in known:
            raise TypeError(f"recover has no option {name}: known are {', '.join(sorted(known))}")
    if not isinstance(options.get("rng", 0), (int, np.integer)):
        raise TypeError(
            "rng is a generator, but an integer is expected: the result must not depend on which "
            "patch comes first"
        )
    channels = options.get("channels")
    if channels is not None and grid.patch[channels] != grid.shape[channels]:
        raise ValueError(
            f"patches hold {grid.patch[channels]} of {grid.shape[channels]} channels, but all of "
            "them are expected: pass -1 as the size of a patch along that axis"
        )

"""What workers do: count missing values, recover a patch, write a block of the result.

Each of them can be repeated, after a worker is lost: its result is the same, and files are complete
or absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import NDArray
from .._watch import clock
from ..io.atomic import new_file
from ..signals import Recovery, recover
from .grid import Box, Grid
from .sources import values_of
from .work_folder import PatchRow, WorkFolder
from .worker_memory import keep_freed_memory


@dataclass(frozen=True)
class Job:
    """What all tasks of a run share."""

    grid: Grid
    work: WorkFolder
    denoise: bool
    options: dict[str, Any]


def count_missing(piece: Any, box: Box, grid: Grid) -> dict[int, int]:
    """Count the values of a block that each patch misses, for those that miss any."""
    missing = np.isnan(values_of(piece))
    if not missing.any():
        return {}
    parts = ((k, _common(grid.box(k), box)[1]) for k in grid.touching(box))
    counts = {k: int(np.count_nonzero(missing[part])) for k, part in parts}
    return {k: count for k, count in counts.items() if count}


def recover_patch(piece: Any, k: int, job: Job) -> None:
    """Recover a patch and keep the values that are needed."""
    if job.work.is_kept(k):
        return
    keep_freed_memory()
    values, began = values_of(piece), clock()
    missing = np.isnan(values)
    start = " ".join(str(part.start) for part in job.grid.box(k))
    row = PatchRow(k, start, int(np.count_nonzero(missing)), "empty")
    if np.all(missing):
        job.work.keep_patch(row)
        return
    try:
        found = recover(values, **job.options)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        job.work.keep_patch(replace(row, status=f"failed: {error}", seconds=clock() - began))
        return
    wanted = np.ones_like(missing) if job.denoise else missing
    row = _described(found, row, wanted, clock() - began)
    signal = np.asarray(found.signal)[wanted]
    job.work.keep_patch(row, wanted=np.packbits(wanted), signal=signal)


def write_block(piece: Any, box: Box, i: int, patches: list[int], target: Any, job: Job) -> int:
    """Write a block of the result: samples, and blended patches where something is missing.

    Parameters
    ----------
    piece : Stored or array
        The block of the source.
    box : tuple of slice
        Where it lies.
    i : int
        Its number.
    patches : list of int
        The patches in it that were recovered.
    target : Zarr array
        No other task writes to the chunks of this block.
    job : Job

    Returns
    -------
    int
        How many values are still missing.
    """
    mark = job.work.block(i)
    if mark.exists() and (left_before := mark.read_text()).isdecimal():
        return int(left_before)
    values = values_of(piece).astype(target.dtype, copy=True)
    wanted = np.ones(values.shape, dtype=bool) if job.denoise else np.isnan(values)
    if patches and np.any(wanted):
        total, weight = blended(box, patches, values.dtype, job)
        filled = wanted & (weight > 0)
        values[filled] = total[filled] / weight[filled]
    target[box] = values
    left = int(np.count_nonzero(np.isnan(values)))
    with new_file(mark, [""], force=True) as partial:
        partial.write_text(str(left))
    return left


def blended(
    box: Box, patches: list[int], dtype: np.dtype[Any], job: Job
) -> tuple[NDArray, NDArray]:
    """Sum patches with their weights, always in the same order; return the sum of weights, too."""
    shape = tuple(part.stop - part.start for part in box)
    total = np.zeros(shape, dtype=np.result_type(dtype, np.float64))
    weight = np.zeros(shape)
    for k in patches:
        _, found = job.work.found(k)
        if "signal" not in found:  # empty or failed
            continue
        size = int(np.prod(job.grid.patch))
        wanted = np.unpackbits(found["wanted"], count=size).astype(bool).reshape(job.grid.patch)
        signal = np.zeros(job.grid.patch, dtype=total.dtype)
        signal[wanted] = found["signal"]
        ramp = np.where(wanted & np.isfinite(signal), 1.0, 0.0)
        for axis, along in enumerate(job.grid.weights(k)):
            ramp *= np.expand_dims(along, [a for a in range(ramp.ndim) if a != axis])
        here, there = _common(job.grid.box(k), box)
        total[there] += ramp[here] * np.where(ramp[here] > 0, signal[here], 0.0)
        weight[there] += ramp[here]
    return total, weight


def _common(patch: Box, block: Box) -> tuple[Box, Box]:
    """Where the common part of a patch and a block lies in each of them."""
    pairs = list(zip(patch, block, strict=True))
    ends = [(max(p.start, b.start), min(p.stop, b.stop)) for p, b in pairs]
    here = tuple(
        slice(a - p.start, e - p.start) for (a, e), (p, _) in zip(ends, pairs, strict=True)
    )
    there = tuple(
        slice(a - b.start, e - b.start) for (a, e), (_, b) in zip(ends, pairs, strict=True)
    )
    return here, there


def _described(found: Recovery, row: PatchRow, wanted: NDArray, seconds: float) -> PatchRow:
    """The row of a recovered patch."""
    nan = float("nan")
    errors = np.asarray(found.stderr)[wanted].astype(float)
    return replace(
        row,
        status="recovered",
        kind=found.kind,
        rank=int(found.rank),
        sigma=nan if found.sigma is None else float(found.sigma),
        stderr=float(np.sqrt(np.mean(errors**2))) if errors.size else nan,
        gap=float(found.result.gap) if found.kind == "convex" else nan,
        seconds=seconds,
    )

"""A volume larger than the memory of a worker, in patches on a local Dask cluster.

    python -m benchmarks.cluster [--gigabytes 4] [--patches 200] [--patch 32] [--memory 1GB]

A Zarr volume in single precision: three plane waves and noise, with gaps in some patches; the
others are complete and copied. Four runs of `recover_patches`: one worker; two workers; two
workers, one of which is killed on the way; and two workers whose whole program ends by kill -9 on
the way and is started again. All results have to be equal, bit by bit, and two workers are compared
with one. Workers are processes with a limit of memory, and their largest peak is printed. Every run
is a program of its own; with `--together` all are made at the same time, which needs 16 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from distributed import Client, LocalCluster

from structrank import recover, recover_patches
from structrank.distributed.grid import Box, Grid, blocks

CHUNK = 100


def make_volume(path: Path, gigabytes: float, patch: int, gaps: int) -> Grid:
    """Write the volume chunk by chunk on all cores, with gaps inside the core of some patches."""
    side = max(round((gigabytes * 1e9 / 4) ** (1 / 3)), patch + 1)
    shape = (side,) * 3
    grid = Grid.of(shape, patch, None)
    rng = np.random.default_rng(0)
    waves = rng.uniform(0.1, 1.0, (3, 3))
    chosen = rng.choice(len(grid), size=min(gaps, len(grid)), replace=False)
    cores = [
        tuple(slice(s.start + patch // 3, s.stop - patch // 3) for s in grid.box(k)) for k in chosen
    ]
    zarr.create_array(path, shape=shape, chunks=(CHUNK,) * 3, dtype=np.float32)
    chunk = partial(_write_chunk, path, shape, waves, cores)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for _ in pool.map(chunk, range(len(blocks(shape, (CHUNK,) * 3))), chunksize=8):
            pass
    return grid


def _write_chunk(
    path: Path, shape: tuple[int, ...], waves: np.ndarray, cores: list[Box], i: int
) -> None:
    """Write one chunk of the volume."""
    box = blocks(shape, (CHUNK,) * 3)[i]
    places = np.ogrid[box]
    values = sum(
        np.cos(sum(w * x for w, x in zip(wave, places, strict=True)) + k)
        for k, wave in enumerate(waves)
    )
    noise = np.random.default_rng([1, i])
    values = values + 0.05 * noise.standard_normal(values.shape)
    hidden = noise.random(values.shape) < 0.5
    for core in cores:
        pairs = list(zip(core, box, strict=True))
        ends = [(max(a.start, b.start), min(a.stop, b.stop)) for a, b in pairs]
        if all(low < high for low, high in ends):
            inside = tuple(
                slice(low - s.start, high - s.start)
                for (low, high), s in zip(ends, box, strict=True)
            )
            values[inside][hidden[inside]] = np.nan
    zarr.open_array(path, mode="r+")[box] = values.astype(np.float32)


def run(source: Path, target: Path, workers: int, memory: str, patch: int, kill: int = 0) -> dict:
    """Recover the volume; `kill` ends one worker when so many patches are done."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        victims = client.run(_ready)
        if kill:
            end = threading.Thread(target=_kill_when, args=(target, kill, min(victims.values())))
            end.start()
        began = time.perf_counter()
        found = recover_patches(source, target, patch=patch, client=client)
        seconds = time.perf_counter() - began
        if kill:
            end.join()
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    statuses = [row.status for row in found.rows]
    return {
        "seconds": seconds,
        "peak": 1024 * max(peaks.values()),
        "recovered": statuses.count("recovered"),
        "complete": statuses.count("complete"),
    }


def _ready() -> int:
    """Load what a worker needs, so that this is not timed; return its process."""
    recover(np.ones(9))
    return os.getpid()


def begun(
    source: Path, target: Path, options: argparse.Namespace, workers: int = 2, kill: int = 0
) -> subprocess.Popen[str]:
    """Start `run` in a program of its own, which prints what it returns."""
    command = [sys.executable, "-m", "benchmarks.cluster", "--only", str(source), str(target)]
    command += ["--memory", options.memory, "--patch", str(options.patch)]
    command += ["--workers", str(workers), "--kill", str(kill)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)


def run_alone(label: str, *arguments: Any) -> dict:
    """What `run` returns in a program of its own."""
    printed, _ = begun(*arguments).communicate()
    print(f"{label}: {printed.strip()}", flush=True)
    return json.loads(printed)


def run_and_kill(source: Path, target: Path, options: argparse.Namespace, done: int) -> None:
    """Start the same, and end all of it by kill -9 on the way."""
    running = begun(source, target, options)
    try:
        if not _reached(target, done):
            raise SystemExit("the run ended before it could be killed: ask for more patches")
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _kill_when(target: Path, done: int, victim: int) -> None:
    if _reached(target, done):
        os.kill(victim, signal.SIGKILL)


def _reached(target: Path, done: int) -> bool:
    """Wait until so many patches are in the folder beside the target; false if all is done."""
    patches = target.with_name(f"{target.name}.work") / "patches"
    while not target.with_name(f"{target.stem}_patches.csv").exists():
        if patches.exists() and len(list(patches.glob("[0-9]*.npz"))) >= done:
            return True
        time.sleep(0.05)
    return False


def equal(one: Path, two: Path) -> bool:
    """Whether two arrays are equal bit by bit, with nothing missing."""
    a, b = zarr.open_array(one), zarr.open_array(two)

    def same(box: Box) -> bool:
        values = a[box]
        return not np.isnan(values).any() and np.array_equal(values, b[box])

    with ThreadPoolExecutor(4) as pool:
        return all(pool.map(same, blocks(a.shape, a.chunks)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--patches", type=int, default=200, help="patches with gaps")
    parser.add_argument("--patch", type=int, default=32)
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--memory", default="1GB", help="limit of a worker")
    parser.add_argument("--only", type=Path, nargs=2, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--workers", type=int, default=2, help="with --only")
    parser.add_argument("--kill", type=int, default=0, help="with --only")
    options = parser.parse_args()
    if options.only:
        how = (options.workers, options.memory, options.patch, options.kill)
        print(json.dumps(run(*options.only, *how)))
        return
    folder = Path(tempfile.mkdtemp())
    try:
        _all_runs(folder, options)
    finally:
        shutil.rmtree(folder)


def _all_runs(folder: Path, options: argparse.Namespace) -> None:
    source, began = folder / "big.zarr", time.perf_counter()
    grid = make_volume(source, options.gigabytes, options.patch, options.patches)
    size = 4 * np.prod(grid.shape, dtype=float) / 1e9
    print(f"made in {time.perf_counter() - began:.0f} s: ", end="")
    print(f"{grid.shape} float32, {size:.2g} GB, {len(grid)} patches of {grid.patch}", flush=True)
    some = max(options.patches // 4, 1)

    def rerun() -> dict:
        run_and_kill(source, folder / "rerun.zarr", options, some)
        return run_alone("kill -9 and rerun", source, folder / "rerun.zarr", options)

    runs: dict[str, Callable[[], dict]] = {
        label: partial(run_alone, label, source, folder / name, options, *how)
        for label, name, *how in (
            ("one worker", "one.zarr", 1),
            ("two workers", "two.zarr", 2),
            ("one of two killed", "killed.zarr", 2, some),
        )
    }
    runs["kill -9 and rerun"] = rerun
    with ThreadPoolExecutor(len(runs) if options.together else 1) as pool:
        tasks = {label: pool.submit(task) for label, task in runs.items()}
        results = {label: task.result() for label, task in tasks.items()}
    print(f"{'run':<20}{'seconds':>9}{'peak MB':>9}{'recovered':>11}{'copied':>8}{'equal':>7}")
    names = ("one.zarr", "two.zarr", "killed.zarr", "rerun.zarr")
    differing = []
    for (label, row), name in zip(results.items(), names, strict=True):
        same = equal(folder / "one.zarr", folder / name)
        differing += [] if same else [label]
        print(
            f"{label:<20}{row['seconds']:>9.1f}{row['peak'] / 1e6:>9.0f}{row['recovered']:>11}"
            f"{row['complete']:>8}{'yes' if same else 'NO':>7}"
        )
    ratio = results["one worker"]["seconds"] / results["two workers"]["seconds"]
    print(f"one worker / two workers: {ratio:.2f} (target: at least 1.7)")
    if differing:
        raise SystemExit(f"results differ: {', '.join(differing)}")


if __name__ == "__main__":
    main()

"""Load: many small solves, many threads and processes, and a day of updates.

    python -m benchmarks.load [--part solves threads processes updates] [--solves 100000]
                              [--workers 100] [--processes 4] [--updates 86400]

`solves`: one small problem after the other, another one each time, by `solve`, every tenth by
`gcgls` and every 500th by `recover`. Memory, open files, threads and Python objects after a tenth
of them and at the end. `threads` and `processes`: as many recoveries and solves as there are
workers, all at once in as many threads, or in a pool of processes; results have to be those of the
sequence, bit by bit. `updates`: one sample per second for a day, a tenth of them missing, by
`StateSpace.update`; the last state has to be that of one call with all samples. The exit status is
1 if something grew or differed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.recovery import count
from structrank import Hankel, Problem, StateSpace, Stop, gcgls, recover, solve

PAGE = 4096
LEAST_GROWTH = 4.0  # megabytes: what the allocator may keep
ROUNDING = 1e-9  # relative difference of a state after a day
STRUCTURE = Hankel(8, window=4)
STOP = Stop(max_iter=3, gap=1e-2, xtol=None, rtol=None)
T = np.arange(24)


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    megabytes: float
    files: int
    threads: int
    objects: int

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        files = len(os.listdir("/proc/self/fd"))
        return cls(pages * PAGE / 1e6, files, threading.active_count(), len(gc.get_objects()))

    def __str__(self) -> str:
        return (
            f"{self.megabytes:.1f} MB, {self.files} files, {self.threads} threads, "
            f"{self.objects} objects"
        )

    def grew_since(self, before: Held) -> bool:
        """Whether there are more files or threads, or more than a twentieth more memory."""
        memory = max(LEAST_GROWTH, before.megabytes / 20)
        return (
            self.files > before.files
            or self.threads > before.threads
            or self.megabytes > before.megabytes + memory
        )


def samples_of(seed: int, length: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cos(rng.uniform(0.3, 1.5) * T[:length]) + 0.1 * rng.standard_normal(length)


def small_call(seed: int) -> None:
    problem = Problem(STRUCTURE, samples_of(seed, 8), 0.2)
    if seed % 500 == 0:
        recover(samples_of(seed, 24), rank=2, kind="refit")
    elif seed % 10:
        solve(problem, 1e-2)
    else:
        gcgls(problem, 1.0, stop=STOP)


def holds_steady(call: Callable[[int], None], times: int) -> bool:
    """Make many calls, print what the process holds, and return whether it stayed the same."""
    first, began = max(times // 10, 1), time.perf_counter()
    for k in range(first):
        call(k)
    before = Held.now()
    print(f"  after {first}: {before}", flush=True)
    for k in range(first, times):
        call(k)
    after = Held.now()
    print(f"  after {times}: {after}; {time.perf_counter() - began:.0f} s", flush=True)
    return not after.grew_since(before)


def answer(seed: int) -> list[np.ndarray]:
    """What one worker computes: a recovery and a certified solution."""
    warnings.simplefilter("ignore")
    samples = samples_of(seed, 24)
    samples[seed % 20 : seed % 20 + 3] = np.nan
    found = recover(samples, effort="fast")
    solution = solve(Problem(STRUCTURE, samples_of(seed, 8), 0.2))
    return [found.signal, found.stderr, solution.y, np.array(solution.gap)]


def equal(some: Sequence[list[np.ndarray]], others: Iterator[list[np.ndarray]]) -> int:
    """How many answers are the same, bit by bit."""
    pairs = zip(some, others, strict=True)
    return sum(all(map(np.array_equal, one, other)) for one, other in pairs)


def same_as_sequence(pool: Executor, workers: int) -> bool:
    expected = [answer(seed) for seed in range(workers)]
    with pool:
        same = equal(expected, pool.map(answer, range(workers)))
    print(f"  {same} of {workers} answers equal those of the sequence", flush=True)
    return same == workers


def day_of_updates(updates: int) -> bool:
    """Update a system with one sample after the other; compare with all samples in one call."""
    pole = 0.999 * np.exp(0.05j)
    A = [[pole.real, pole.imag, 0.0], [-pole.imag, pole.real, 0.0], [0.0, 0.0, 1.0]]
    Q, R = np.diag([0.01, 0.01, 1e-4]), [[0.25]]
    start = {"x0": np.zeros(3), "x0_covariance": np.eye(3)}
    system = StateSpace(A, None, [[1.0, 0.0, 1.0]], None, Q=Q, R=R, **start)
    samples = system.simulate(steps=updates, rng=0)[:, 0]
    samples[np.random.default_rng(1).random(updates) < 0.1] = np.nan
    now = [system]

    def update(k: int) -> None:
        now[0] = now[0].update(samples[k : k + 1])

    steady, whole = holds_steady(update, updates), system.update(samples)
    last = now[0]
    differences = [
        np.linalg.norm(getattr(last, name) - getattr(whole, name))
        / np.linalg.norm(getattr(whole, name))
        for name in ("x0", "x0_covariance")
    ]
    least = np.linalg.eigvalsh(last.x0_covariance)[0]
    print(
        f"  differences from one call: state {differences[0]:.1e}, covariance "
        f"{differences[1]:.1e}; least eigenvalue of the covariance {least:.2g}"
    )
    return bool(steady and max(differences) < ROUNDING and least > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = ("solves", "threads", "processes", "updates")
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    parser.add_argument("--solves", type=count, default=100_000)
    parser.add_argument("--workers", type=count, default=100)
    parser.add_argument("--processes", type=count, default=4)
    parser.add_argument("--updates", type=count, default=24 * 60 * 60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    calls = {
        "solves": lambda: holds_steady(small_call, options.solves),
        "threads": lambda: same_as_sequence(ThreadPoolExecutor(options.workers), options.workers),
        "processes": lambda: same_as_sequence(
            ProcessPoolExecutor(options.processes), options.workers
        ),
        "updates": lambda: day_of_updates(options.updates),
    }
    failed = []
    for part in options.part:
        print(part, flush=True)
        if not calls[part]():
            failed.append(part)
    print(f"failed: {', '.join(failed)}" if failed else "nothing grew, nothing differed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

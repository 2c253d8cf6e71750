"""Many signals at once, beside a joblib loop over the cores.

    python -m benchmarks.many [--signals 1000] [--workers 2] [--device cuda] [--batch 10000]

Complex signals of 512 samples: 5 modes, noise, 40% missing, each with a mu of its own (a tenth of
the smallest one for which the solution is zero). `solve_many` and a loop over `gcgls`, both to a
certified gap of 1e-3, lam 1. Prints the time of both, their ratio, whether all ranks are equal,
and how far the objectives are apart. With `--device`, `solve_many` gets arrays of PyTorch on that
device; the loop always runs NumPy on the processor. `--loop` solves only the first signals one by
one and scales their time. On a device the second of two runs is timed. `--recover` does the same
with `recover_many` and a loop over `recover`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.signals import gappy_samples
from structrank import (
    Hankel,
    Problem,
    Problems,
    Stop,
    Weighted,
    gcgls,
    mu_max,
    recover,
    recover_many,
    solve_many,
)

GAP = 1e-3


def made(count: int, device: str | None = None) -> Problems:
    """The problems, with samples of NumPy, or of PyTorch on a device."""
    samples, seen = zip(*(gappy_samples(512, 5, 0.6, seed) for seed in range(count)), strict=True)
    b: Any = np.where(seen, samples, 0)
    if device is not None:
        b = import_module("torch").asarray(b, device=device)
    problems = Problems(Hankel(512, window=256), b, 1.0, Weighted("lifted", np.array(seen)))
    return Problems(problems.structure, b, 0.1 * mu_max(problems), Weighted(problems.weights))


def one(problem: Problem) -> tuple[int, float]:
    """Rank and objective of a single solve."""
    result = gcgls(problem, lam=1.0, stop=Stop(xtol=None, rtol=None, gap=GAP))
    return result.rank, result.objective


def mapped(task: Callable[[Any], Any], items: Iterable[Any], workers: int) -> list[Any]:
    """A loop over the cores: joblib's, or the one of the standard library where it is missing."""
    try:
        joblib = import_module("joblib")
    except ModuleNotFoundError:
        with ProcessPoolExecutor(workers) as pool:
            return list(pool.map(task, items, chunksize=10))
    pool = joblib.Parallel(n_jobs=workers, batch_size=10)
    return list(pool(joblib.delayed(task)(item) for item in items))


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """What a task returns, and its seconds."""
    began = time.perf_counter()
    found = task()
    return found, time.perf_counter() - began


def compare_recoveries(problems: Sequence[Problem], workers: int) -> None:
    """`recover_many` beside a loop over `recover`."""
    signals = np.array([np.where(problem.seen, problem.b, np.nan) for problem in problems])
    alone, loop = timed(lambda: [recover(signal) for signal in signals])
    together, seconds = timed(lambda: recover_many(signals, workers=workers))
    ranks = [[found.rank for found in several] for several in (alone, together)]
    apart = max(np.max(np.abs(a.signal - b.signal)) for a, b in zip(alone, together, strict=True))
    print(f"loop over recover {loop:8.2f} s")
    print(f"recover_many      {seconds:8.2f} s, {loop / seconds:.1f} times faster")
    print(f"equal ranks: {ranks[0] == ranks[1]}, signals apart {apart:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=1000)
    parser.add_argument("--loop", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--recover", action="store_true")
    options = parser.parse_args()
    count = options.signals if options.loop is None else min(options.loop, options.signals)
    problems, seconds = timed(lambda: made(options.signals))
    print(f"{problems} made in {seconds:.1f} s", flush=True)
    if options.recover:
        compare_recoveries(problems, options.workers)
        return
    stop = Stop(xtol=None, rtol=None, gap=GAP)

    listed = [problems[k] for k in range(count)]
    alone, loop = timed(lambda: mapped(one, listed, options.workers))
    print(f"loop over {count} took {loop:.1f} s", flush=True)
    loop *= options.signals / count

    there = problems if options.device is None else made(options.signals, options.device)
    workers = options.workers if options.device is None else 1
    solve: Any = partial(solve_many, lam=1.0, stop=stop, workers=workers, batch=options.batch)
    solve(there if options.device else there[:256])  # loads what is loaded on first use
    together, seconds = timed(lambda: solve(there))

    ranks, objectives = (np.array(values) for values in zip(*alone, strict=True))
    apart = np.max(np.abs(together.objective[:count] / objectives - 1))
    print(f"{options.signals} signals, {options.workers} workers, device {options.device or 'cpu'}")
    print(f"loop       {loop:8.2f} s")
    print(f"solve_many {seconds:8.2f} s, {loop / seconds:.1f} times faster; {together!r}")
    print(f"equal ranks: {np.mean(together.rank[:count] == ranks):.2%}")
    print(f"largest certified gap {max(together.gap):.1e}, objectives apart {apart:.1e}")


if __name__ == "__main__":
    main()

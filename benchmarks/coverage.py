"""Coverage of every interval that the package prints, with noise and signals that fit or do not.

    python -m benchmarks.coverage [--runs 500] [--jobs 2] [--part recover ...] [--max-time 3600]
                                  [--out FILE] [--first SEED]

Nominal coverage is 95%. A row is one kind of interval of one part of the package, on one signal
with one noise (`benchmarks/coverage_cases.py`): the mean over runs of the share of intervals that
hold the truth, its standard error over runs, the number of runs that printed one, and how many
intervals are absent, since a mode was not found or a damping was held at zero. In brackets is
which estimate `recover` chose. Runs are processes with one BLAS thread each. All rows advance
together, so that a run that is stopped by `--max-time` has about equally many runs in each. A run
that fails counts as such, with its error below the table. The table is written to FILE every
minute.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.coverage_cases import CASES, PARTS
from benchmarks.recovery import count

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
GRACE = 120.0  # seconds that runs under way may take after the time limit


class Run(NamedTuple):
    """A case and a seed."""

    case: int
    seed: int


class Outcome(NamedTuple):
    """What a run found: by interval the share inside (NaN: none printed), and the number absent."""

    shares: dict[str, tuple[float, int]]
    error: str
    seconds: float


def run_once(case: int, seed: int) -> Outcome:
    """One record of a case; an error is an outcome too."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    try:
        covered = list(CASES[case].run(np.random.default_rng([case, seed])))
    except Exception as error:
        return Outcome({}, f"{type(error).__name__}: {error}", time.process_time() - began)
    shares = {
        one.interval: (float(np.mean(one.inside)) if np.size(one.inside) else np.nan, one.absent)
        for one in covered
    }
    return Outcome(shares, "", time.process_time() - began)


@dataclass
class Table:
    """Outcomes of all runs so far, by case."""

    outcomes: dict[int, list[Outcome]] = field(default_factory=lambda: defaultdict(list))

    def lines(self) -> Iterator[str]:
        yield "| part | signal | noise | interval | coverage | standard error | runs | absent |"
        yield "|---|---|---|---|---|---|---|---|"
        for case in sorted(self.outcomes):
            about = CASES[case]
            head = f"| {about.part} | {about.signal} | {about.noise} |"
            intervals = dict.fromkeys(
                name for outcome in self.outcomes[case] for name in sorted(outcome.shares)
            )
            for name in intervals:
                yield f"{head} {name} |{self._figures(case, name)}"

    def _figures(self, case: int, name: str) -> str:
        found = [one.shares[name] for one in self.outcomes[case] if name in one.shares]
        shares = np.array([share for share, _ in found])
        shares, absent = shares[~np.isnan(shares)], sum(missing for _, missing in found)
        if not len(shares):
            return f" - | - | 0 | {absent} |"
        error = f"{shares.std(ddof=1) / np.sqrt(len(shares)):.3f}" if len(shares) > 1 else "-"
        return f" {shares.mean():.3f} | {error} | {len(shares)} | {absent} |"

    def notes(self) -> Iterator[str]:
        """Seconds of each part, and errors."""
        seconds: Counter[str] = Counter()
        for case, outcomes in sorted(self.outcomes.items()):
            part = CASES[case].part
            seconds[part] += sum(outcome.seconds for outcome in outcomes)
            errors = Counter(outcome.error for outcome in outcomes if outcome.error)
            for error, times in errors.items():
                about = CASES[case]
                yield f"{about.part}, {about.signal}, {about.noise}: {times} failed: {error}"
        spent = ", ".join(f"{part} {value:.0f}" for part, value in seconds.items())
        yield f"Processor seconds: {spent}."

    def write(self, path: Path | None) -> None:
        if path is not None:
            partial = path.with_name(path.name + ".partial")
            partial.write_text("\n".join([*self.lines(), "", *self.notes(), ""]))
            partial.replace(path)


@dataclass
class Workers:
    """Processes that make runs; those that die are replaced."""

    jobs: int
    pool: ProcessPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # they read the number of threads
        self.pool = ProcessPoolExecutor(self.jobs, mp_context=spawn)

    def submit(self, run: Run) -> Future[Outcome]:
        try:
            return self.pool.submit(run_once, *run)
        except BrokenProcessPool:
            self.restart()
            return self.pool.submit(run_once, *run)

    def end(self, complete: bool) -> None:
        """Close the pool; end runs that are not complete."""
        processes = list((self.pool._processes or {}).values())
        self.pool.shutdown(wait=complete, cancel_futures=True)
        if not complete:
            for process in processes:
                process.terminate()


def outcome_of(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        return Outcome({}, "its process died", 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=count, default=500)
    parser.add_argument("--jobs", type=count, default=os.cpu_count())
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--max-time", type=float, default=np.inf, help="seconds")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    options = parser.parse_args()
    for name in THREADS:
        os.environ[name] = "1"
    chosen = [k for k, case in enumerate(CASES) if case.part in options.part]
    seeds = range(options.first, options.first + options.runs)
    left = (Run(case, seed) for seed, case in itertools.product(seeds, chosen))
    workers, table = Workers(options.jobs), Table()
    under_way: dict[Future[Outcome], Run] = {}
    began = written = time.monotonic()
    while True:
        late = time.monotonic() - began - options.max_time
        if late < 0:
            for run in itertools.islice(left, max(2 * options.jobs - len(under_way), 0)):
                under_way[workers.submit(run)] = run
        if not under_way or late > GRACE:
            break
        done, _ = wait(under_way, timeout=10.0, return_when=FIRST_COMPLETED)
        for future in done:
            table.outcomes[under_way.pop(future).case].append(outcome_of(future))
        if time.monotonic() - written > 60:
            table.write(options.out)
            written = time.monotonic()
    workers.end(complete=not under_way)
    table.write(options.out)
    print("\n".join([*table.lines(), "", *table.notes()]))
    if under_way:
        print(f"{len(under_way)} runs were not complete {GRACE:.0f} s after the time limit.")


if __name__ == "__main__":
    main()

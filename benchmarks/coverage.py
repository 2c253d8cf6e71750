"""Coverage of every interval that the package prints, with noise and signals that fit or do not.

    python -m benchmarks.coverage [--runs 500] [--jobs 2] [--part recover ...] [--max-time 3600]
                                  [--out FILE] [--outcomes FILE] [--first SEED]

Nominal coverage is 95%. A row is one kind of interval of one part of the package, on one signal
with one noise (`benchmarks/coverage_cases.py`): the mean over runs of the share of intervals that
hold the truth, its standard error over runs, the number of runs that printed one, and how many
intervals are absent, since a mode was not found or a damping was held at zero. In brackets is
which estimate `recover` chose. Runs are processes with one BLAS thread each. Every row gets ten
runs, then a hundred, then all of them, each time the cheap rows first; so `--max-time` leaves only
the expensive rows with fewer. A run that fails counts as such, with its error below the table. The
table is written to `--out` every minute. Each outcome is appended to `--outcomes` when it is known,
and a call with the same file continues there. After the long table comes a short one, with
all estimates that `recover` chose put together.
"""

from __future__ import annotations

import argparse
import itertools
import json
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

from benchmarks.coverage_cases import CASES, PARTS, Case
from benchmarks.recovery import count

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
GRACE = 120.0  # seconds that runs under way may take after the time limit
STAGES = (10, 100)  # runs that all rows get before the cheap ones go on


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


def names_of(case: Case) -> tuple[str, str, str]:
    return case.part, case.signal, case.noise


@dataclass
class Table:
    """Outcomes of all runs so far, by case."""

    outcomes: dict[int, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    known: set[Run] = field(default_factory=set)
    kept: Path | None = None

    def read(self) -> None:
        """Take over the outcomes of earlier calls."""
        if self.kept is None or not self.kept.exists():
            return
        names = {names_of(about): case for case, about in enumerate(CASES)}
        for line in self.kept.read_text().splitlines():
            one = json.loads(line)
            run = Run(names[tuple(one["case"])], one["seed"])
            self._take(run, Outcome(one["shares"], one["error"], one["seconds"]))

    def add(self, run: Run, outcome: Outcome) -> None:
        self._take(run, outcome)
        if self.kept is not None:
            about = {"case": names_of(CASES[run.case]), "seed": run.seed, **outcome._asdict()}
            with self.kept.open("a") as file:
                file.write(json.dumps(about) + "\n")

    def _take(self, run: Run, outcome: Outcome) -> None:
        self.known.add(run)
        self.outcomes[run.case].append(outcome)

    def seconds(self, case: int) -> float:
        """Mean processor time of a run."""
        known = self.outcomes.get(case, ())
        return float(np.mean([outcome.seconds for outcome in known] or [0.0]))

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

    def short(self) -> Iterator[str]:
        """One line per case, with all estimates that were chosen put together."""
        yield "| part | signal | noise | runs | coverage |"
        yield "|---|---|---|---|---|"
        for case in sorted(self.outcomes):
            together: dict[str, list[float]] = defaultdict(list)
            for outcome in self.outcomes[case]:
                for name, (share, _) in outcome.shares.items():
                    together[name.partition(" (")[0]].append(share)
            means = (f"{name} {np.nanmean(x):.2f}" for name, x in sorted(together.items()))
            head = " | ".join(names_of(CASES[case]))
            yield f"| {head} | {len(self.outcomes[case])} | {', '.join(means)} |"

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
            partial.write_text("\n".join([*self.lines(), "", *self.short(), "", *self.notes(), ""]))
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


def in_order(cases: list[int], seeds: range, table: Table) -> Iterator[Run]:
    """All runs: in stages, and the cheap cases first."""
    ends = [0, *(min(stage, len(seeds)) for stage in STAGES), len(seeds)]
    for begin, end in itertools.pairwise(ends):
        for case in sorted(cases, key=table.seconds):
            for seed in seeds[begin:end]:
                if Run(case, seed) not in table.known:
                    yield Run(case, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=count, default=500)
    parser.add_argument("--jobs", type=count, default=os.cpu_count())
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--max-time", type=float, default=np.inf, help="seconds")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--outcomes", type=Path, help="file of outcomes, which a call continues")
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    options = parser.parse_args()
    for name in THREADS:
        os.environ[name] = "1"
    chosen = [k for k, case in enumerate(CASES) if case.part in options.part]
    seeds = range(options.first, options.first + options.runs)
    workers, table = Workers(options.jobs), Table(kept=options.outcomes)
    table.read()
    left = in_order(chosen, seeds, table)
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
            table.add(under_way.pop(future), outcome_of(future))
        if time.monotonic() - written > 60:
            table.write(options.out)
            written = time.monotonic()
    workers.end(complete=not under_way)
    table.write(options.out)
    print("\n".join([*table.lines(), "", *table.short(), "", *table.notes()]))
    if under_way:
        print(f"{len(under_way)} runs were not complete {GRACE:.0f} s after the time limit.")


if __name__ == "__main__":
    main()

"""Errors and times of `recover` beside the local methods of its field, which know the rank.

    python -m benchmarks.peers [--seeds 20] [--rows 127 1023 8191 131071 64x64 128x128]
                               [--methods fiht pgd cadzow recover rank] [--noise "10 dB" "no noise"]
                               [--no-certificates]

Complex, undamped modes that are at least 1.5 / length apart, with amplitudes of modulus
`1 + 10^(c / 2)`, c uniform in [0, 1]; samples at random places, with circular noise of 10 dB and
without noise. The peers are `fiht`, `projected_gradient` (pgd) and `cadzow` of
`structrank.solvers.rivals`, with the true rank and a window of half of each axis. They stop at a
relative change of 1e-6.
`recover` knows nothing, and `rank` is `recover(rank=..., kind="refit")`.

The error is that of the whole signal, relative to the truth. Times are CPU seconds (set
OPENBLAS_NUM_THREADS=1), up to signal, rank and standard errors. What the certificate takes on first
access stands beside, unless `--no-certificates` saves that time. All figures are medians over the
seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from benchmarks.recovery import count, error, lifted_problem
from structrank import ConvergenceWarning, SpectralSample, recover, sinusoids
from structrank.modal.modes import NoModes


@dataclass(frozen=True)
class Goals:
    """What the benchmark asks for; set by hand."""

    error: float = 1.02  # at most this, relative to the best peer
    exact: float = 1e-10  # errors below count as zero
    recover_time: float = 4.0  # relative to that of fiht
    rank_time: float = 1.5  # the same, if the rank is given
    short: int = 1000  # for shorter signals `recover` may take this many seconds instead:
    short_seconds: float = 0.5


@dataclass(frozen=True)
class Row:
    """Signals to simulate."""

    shape: int | tuple[int, ...]
    modes: int
    seen: float

    def draw(self, snr: float | None, seed: int) -> SpectralSample:
        return sinusoids(
            self.shape,
            self.modes,
            seen=self.seen,
            snr=snr,
            real=False,
            separation=1.5,
            spread=True,
            rng=seed,
        )


ROWS = {
    "127": Row(127, 5, 0.5),
    "1023": Row(1023, 10, 0.25),
    "8191": Row(8191, 10, 0.1),
    "131071": Row(131071, 10, 0.05),
    "64x64": Row((64, 64), 8, 0.1),
    "128x128": Row((128, 128), 8, 0.05),
}
NOISE = {"10 dB": 10**0.5, "no noise": None}
PEERS = {"fiht": "fiht", "pgd": "projected_gradient", "cadzow": "cadzow"}
METHODS = (*PEERS, "recover", "rank")


@dataclass(frozen=True)
class Outcome:
    """Of one method on one signal; the rank is None for a method that got it."""

    error: float
    seconds: float
    certificate: float = 0.0  # seconds
    rank: int | None = None


def by_peer(name: str) -> Callable[[SpectralSample], Outcome]:
    """Return a function that runs a peer with the true rank."""
    from structrank.solvers import rivals

    method: Any = getattr(rivals, PEERS[name])

    def run(sample: SpectralSample) -> Outcome:
        began = time.process_time()
        result = method(lifted_problem(sample), len(sample.modes))
        return Outcome(error(result.y, sample), time.process_time() - began)

    return run


def by_recover(name: str, certificates: bool) -> Callable[[SpectralSample], Outcome]:
    """Return a function that runs `recover`, which gets the rank if the method is called `rank`."""

    def run(sample: SpectralSample) -> Outcome:
        given: dict[str, Any] = {"rank": len(sample.modes), "kind": "refit"}
        began = time.process_time()
        try:
            found = recover(sample.samples, **(given if name == "rank" else {}))
        except NoModes:
            return Outcome(1.0, time.process_time() - began, rank=0)
        seconds = time.process_time() - began
        if certificates:
            _ = found.result.gap
        certificate = time.process_time() - began - seconds
        rank = found.rank if name == "recover" else None
        return Outcome(error(found.signal, sample), seconds, certificate, rank)

    return run


def measured(
    row: Row, snr: float | None, seeds: int, names: list[str], certificates: bool
) -> dict[str, list[Outcome]]:
    """Run all methods on the same signals."""
    runs = {n: by_peer(n) if n in PEERS else by_recover(n, certificates) for n in names}
    warm_up = sinusoids(31, 1, seen=0.9, real=False, rng=0)  # imports, first FFTs
    for run in runs.values():
        run(warm_up)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    for seed in tqdm(range(seeds), leave=False, disable=None):
        sample = row.draw(snr, seed)
        for name, run in runs.items():
            outcomes[name].append(run(sample))
    return outcomes


def report(row: Row, noise: str, outcomes: dict[str, list[Outcome]], goals: Goals) -> None:
    """Print one line per method, with ratios to the peers and what is asked for."""
    shape = " x ".join(map(str, np.atleast_1d(row.shape)))
    print(f"\n{shape} samples, {row.modes} modes, {100 * row.seen:g}% seen, {noise}")
    header = ("error", "/ best peer", "worst", "seconds", "/ fiht", "certificate", "true rank")
    print(f"{'':<9}" + "".join(f"{text:>12}" for text in header))
    errors = {name: float(np.median([o.error for o in all_])) for name, all_ in outcomes.items()}
    times = {name: float(np.median([o.seconds for o in all_])) for name, all_ in outcomes.items()}
    best = min((errors[name] for name in PEERS if name in errors), default=np.nan)
    for name, all_ in outcomes.items():
        worse = max(errors[name], goals.exact) / max(best, goals.exact)
        longer = times[name] / times.get("fiht", np.nan)
        own = name not in PEERS
        certificate = f"{np.median([o.certificate for o in all_]):.3f}" if own else ""
        right = sum(o.rank == row.modes for o in all_)
        ranks = f"{right} of {len(all_)}" if name == "recover" else "given"
        worst = max(o.error for o in all_)
        print(
            f"{name:<9}{errors[name]:>12.3g}{worse:>12.3f}{worst:>12.3g}{times[name]:>12.3f}"
            f"{longer:>12.2f}{certificate:>12}{ranks:>12}"
            + (_missed(row, name, worse, longer, times[name], goals) if own else "")
        )


def _missed(row: Row, name: str, worse: float, longer: float, seconds: float, goals: Goals) -> str:
    """Say which goals a line misses."""
    if name == "recover" and np.prod(row.shape) < goals.short:
        slow, limit = seconds > goals.short_seconds, f"{goals.short_seconds} s"
    else:
        most = goals.recover_time if name == "recover" else goals.rank_time
        slow, limit = longer > most, f"{most} times fiht"
    missed = [f"error above {goals.error}"] if worse > goals.error else []
    missed += [f"time above {limit}"] if slow else []
    return "   missed: " + ", ".join(missed) if missed else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=20)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--noise", nargs="+", choices=NOISE, default=list(NOISE))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--no-certificates", action="store_true", help="not computed")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.rows:
        for noise in options.noise:
            outcomes = measured(
                ROWS[name],
                NOISE[noise],
                options.seeds,
                options.methods,
                certificates=not options.no_certificates,
            )
            report(ROWS[name], noise, outcomes, Goals())


if __name__ == "__main__":
    main()

"""How accurate a recovery is without any knowledge: no mu, no rank, no noise level.

    python -m benchmarks.accuracy [--seeds 50] [--case 1-D] [--case 2-D] ... (also: 3-D, damped)

Sinusoids have amplitudes `1 + 10^(c / 2)`, c uniform in [0, 1], and are at least 1.5 / length
apart; the last case has damped ones. `recover` finds modes, their number and the noise level. The
oracle knows whether modes are damped and how many there are, and starts least squares from the true
ones. A fit that lets all
modes be damped fits six numbers for a 2-D mode and the oracle four, so its error is larger by a
factor of about sqrt(6 / 4) = 1.22 (1-D: 1.15, 3-D: 1.26). `recover` holds modes undamped whose
damping is not distinguishable from zero. The convex solution has a mu at the level of the noise.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

import structrank
from benchmarks.recovery import count, error, oracle_error
from structrank import SpectralSample, sinusoids
from structrank.reproduce.scs import PAPER


@dataclass(frozen=True)
class Goals:
    """What the benchmark asks for; set by hand."""

    largest_ratio: float = 1.08  # median error of `recover` over that of the oracle
    share_right: float = 0.9  # share of seeds for which the true rank is found


@dataclass(frozen=True)
class Case:
    """Signals to simulate; `snr` is a ratio of amplitudes."""

    about: str
    shape: int | tuple[int, ...]
    count: int
    seen: float
    snr: float
    real: bool
    damping: float = 0.0  # the largest, per sample

    def draw(self, seed: int) -> SpectralSample:
        return sinusoids(
            self.shape,
            self.count,
            seen=self.seen,
            snr=self.snr,
            real=self.real,
            separation=1.5,
            spread=True,
            damping=self.damping,
            rng=seed,
        )


CASES = {
    "1-D": Case("1024, 10 complex modes, 25% seen, SNR 10 dB", 1024, 10, 0.25, 10**0.5, False),
    "2-D": Case("101 x 101, 6 real, 20% seen, amplitude SNR 10", (101, 101), 6, 0.2, 10.0, True),
    "3-D": Case(
        "32 x 32 x 16, 8 complex modes, 10% seen, amplitude SNR 10",
        (32, 32, 16),
        8,
        0.1,
        10.0,
        False,
    ),
    "damped": Case(
        "256, 5 complex modes that decay to exp(-4) at most, 50% seen, SNR 10 dB",
        256,
        5,
        0.5,
        10**0.5,
        False,
        4 / 256,
    ),
}


@dataclass(frozen=True)
class Found:
    """The outcome for one seed: errors of all fits, rank and noise level found, seconds."""

    seed: int
    convex: float
    recovered: float
    oracle: float
    extra: int  # rank found minus the true rank
    noise: float  # noise level found over the true one
    seconds: float


def recover(case: Case, seed: int) -> Found:
    """Simulate a signal, recover it, and compare with the truth."""
    sample = case.draw(seed)
    began = time.perf_counter()
    found = structrank.recover(sample.samples)
    seconds = time.perf_counter() - began
    return Found(
        seed,
        error(found.result.y, sample),
        error(found.signal, sample),
        oracle_error(sample),
        found.rank - len(sample.modes),
        np.nan if found.sigma is None else found.sigma / sample.noise,
        seconds,
    )


def report(name: str, found: list[Found], goals: Goals = Goals()) -> None:
    """Print a table of medians and ranges, with the goals beside the figures."""
    rows = {
        "error, convex": [f.convex for f in found],
        "error, recover": [f.recovered for f in found],
        "error, oracle": [f.oracle for f in found],
        "recover / oracle": [f.recovered / f.oracle for f in found],
        "noise level / true one": [f.noise for f in found],
        "seconds": [f.seconds for f in found],
    }
    print(f"\n{name}: {CASES[name].about}")
    print(f"{'':<30} {'median':>8} {'least':>8} {'largest':>8}")
    for label, values in rows.items():
        print(f"{label:<30} {np.median(values):>8.4f} {min(values):>8.4f} {max(values):>8.4f}")
    right = sum(f.extra == 0 for f in found)
    goal = int(np.ceil(goals.share_right * len(found)))
    ratio, most = np.median(rows["recover / oracle"]), goals.largest_ratio
    print(f"recover / oracle, median       {ratio:>8.2f}   (goal: at most {most})")
    print(f"true rank found                {right:>8} of {len(found)}   (goal: at least {goal})")
    if name == "2-D":
        median = np.median(rows["error, recover"])
        print(f"error, median                  {median:>8.4f}   (the paper prints {PAPER.error})")
    for f in found:
        if f.extra:
            errors = f"error {f.recovered:.4f}, oracle {f.oracle:.4f}"
            print(f"  seed {f.seed}: {f.extra:+} modes, {errors}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=50)
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    options = parser.parse_args()
    for name in options.case or CASES:
        report(name, [recover(CASES[name], seed) for seed in range(options.seeds)])


if __name__ == "__main__":
    main()

"""Gross errors in the samples: `recover(robust=True)` beside HSNLD, and beside no gross errors.

    python -m benchmarks.outliers [--part hsnld plane] [--seeds 10] [--first 0]
                                  [--rows 127 1023 8191] [--size 101]

Part hsnld: complex, undamped modes that are at least 1.5 / length apart, with amplitudes of modulus
`1 + 10^(c / 2)`, c uniform in [0, 1]; all samples or half of them seen, without noise, at 20 dB and
at 10 dB. A share of the seen samples is wrong by 0.5 to 1.5 or by 5 to 15 times the root mean
square of the signal, in random directions. `hsnld` of `structrank.solvers.rivals` gets rank and
share, has a window of half the signal, and stops at a relative change of 1e-6. `recover` knows
nothing. Times are CPU seconds (set OPENBLAS_NUM_THREADS=1). Goal: at most the error of HSNLD in at
most 5 times its time.

Part plane: the paper's 2-D signal with spread amplitudes, 20% seen at SNR 10. Of the samples, 5%
are wrong by 10 to 20 times the root mean square of the signal. Everything is automatic. Goal: at
most twice the error without outliers.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from structrank import SpectralSample, recover, sinusoids
from structrank.solvers.rivals import hsnld

from .recovery import count, error, lifted_problem


@dataclass(frozen=True)
class Goals:
    """What part hsnld asks for; set by hand."""

    time: float = 5.0  # relative to HSNLD
    exact: float = 1e-10  # errors below count as zero


@dataclass(frozen=True)
class Row:
    """Signals to simulate, and their gross errors."""

    length: int
    modes: int
    seen: float
    snr: float | None
    share: float
    size: float

    def draw(self, seed: int) -> tuple[SpectralSample, np.ndarray, np.ndarray]:
        """Return a signal, its spoiled samples, and where these are wrong."""
        sample = sinusoids(
            self.length,
            self.modes,
            seen=self.seen,
            snr=self.snr,
            real=False,
            separation=1.5,
            spread=True,
            rng=seed,
        )
        rms = self.size * float(np.sqrt(np.mean(np.abs(sample.truth) ** 2)))
        return sample, *spoiled(sample.samples, rms, seed, self.share, (0.5, 1.5))


LENGTHS = {"127": 3, "1023": 5, "8191": 8}  # with their numbers of modes
NOISE = {None: "no noise", 10.0: "20 dB", 10**0.5: "10 dB"}


def spoiled(
    samples: np.ndarray,
    rms: float,
    seed: int,
    share: float = 0.05,
    sizes: tuple[float, float] = (10, 20),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples with a share of gross errors, and where these are."""
    rng = np.random.default_rng(seed)
    seen = np.flatnonzero(~np.isnan(samples))
    at = rng.choice(seen, round(share * seen.size), replace=False)
    out, sizes_ = samples.copy(), rms * rng.uniform(*sizes, at.size)
    if np.iscomplexobj(samples):
        out.flat[at] += sizes_ * np.exp(2j * np.pi * rng.random(at.size))
    else:
        out.flat[at] += sizes_ * rng.choice([-1, 1], at.size)
    wrong = np.zeros(samples.shape, dtype=bool)
    wrong.flat[at] = True
    return out, wrong


def outcomes(row: Row, seed: int) -> tuple[float, ...]:
    """Errors and times of HSNLD and of `recover`, and how many samples the latter gets wrong."""
    sample, bad, wrong = row.draw(seed)
    began = time.process_time()
    spoiled_sample = SpectralSample(bad, sample.truth, sample.seen, sample.noise, sample.modes)
    theirs = hsnld(lifted_problem(spoiled_sample), row.modes, row.share).y
    between = time.process_time()
    ours = recover(bad, robust=True)
    ended = time.process_time()
    seconds = between - began, ended - between
    errors = error(theirs, sample), error(ours.signal, sample)
    return (*errors, *seconds, np.count_nonzero(ours.outliers != wrong))


def beside_hsnld(lengths: list[str], seeds: range, goals: Goals = Goals()) -> None:
    """Print one line per kind of signal; medians over the seeds."""
    outcomes(Row(127, 2, 1.0, 10.0, 0.1, 10.0), 0)  # imports, first FFTs
    header = ("HSNLD error", "recover", "ratio", "worst", "seconds", "recover", "ratio", "max")
    print(f"{'':<47}" + "".join(f"{text:>12}" for text in header) + "   misclassified")
    rows = [
        Row(int(length), LENGTHS[length], seen, snr, share, size)
        for length in lengths
        for seen in (1.0, 0.5)
        for snr in NOISE
        for share in (0.1, 0.2)
        for size in (1.0, 10.0)
    ]
    for row in rows:
        table = np.array([outcomes(row, seed) for seed in tqdm(seeds, leave=False, disable=None)])
        theirs, ours, their_time, our_time, misses = np.median(table, axis=0)
        worse = max(ours, goals.exact) / max(theirs, goals.exact)
        longer = our_time / their_time
        name = (
            f"{row.length}, {row.modes} modes, {row.seen:.0%} seen, {NOISE[row.snr]}, "
            f"{row.share:.0%} x {row.size:g}"
        )
        missed = ["error"] if worse > 1 else []
        missed += ["time"] if longer > goals.time else []
        print(
            f"{name:<47}{theirs:>12.2g}{ours:>12.2g}{worse:>12.2f}{table[:, 1].max():>12.2g}"
            f"{their_time:>12.3f}{our_time:>12.3f}{longer:>12.2f}{table[:, 3].max():>12.3f}"
            f"{misses:>16g}" + ("   missed: " + ", ".join(missed) if missed else ""),
            flush=True,
        )


def plane(size: int, seeds: range) -> None:
    """Compare the errors with and without outliers in two dimensions."""
    rows = []
    for seed in tqdm(seeds, desc="outliers", disable=None):
        sample = sinusoids((size, size), 6, separation=1.5, spread=True, rng=seed)
        bad, wrong = spoiled(sample.samples, 10 * sample.noise, seed)
        clean = recover(sample.samples)
        began = time.process_time()
        robust = recover(bad, robust=True)
        seconds = time.process_time() - began
        errors = [error(found.signal, sample) for found in (clean, robust)]
        rows.append(
            (*errors, np.mean(robust.outliers == wrong), robust.rank == clean.rank, seconds)
        )
    table = np.array(rows, dtype=float)
    print(f"median of {len(seeds)} seeds")
    for name, value in zip(("no outliers", "robust"), np.median(table, axis=0), strict=False):
        print(f"error, {name:<14}{value:>10.4f}")
    print(f"correctly classified  {table[:, 2].mean():>10.2%}")
    print(f"same rank             {table[:, 3].mean():>10.0%}")
    print(f"seconds, robust       {np.median(table[:, 4]):>10.2f}")
    ratio = np.median(table[:, 1] / table[:, 0])
    print(f"robust / no outliers  {ratio:>10.2f}   (goal: at most 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("hsnld", "plane")
    parser.add_argument("--part", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--seeds", type=count, default=10)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--rows", nargs="+", choices=LENGTHS, default=list(LENGTHS))
    parser.add_argument("--size", type=count, default=101)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    seeds = range(options.first, options.first + options.seeds)
    if "hsnld" in options.part:
        beside_hsnld(options.rows, seeds)
    if "plane" in options.part:
        plane(options.size, seeds)


if __name__ == "__main__":
    main()

"""Five kinds of signal, of which two are sums of a few modes: time and error of `recover`.

    python -m benchmarks.five_signals [--lengths 500 2000 8000 32000] [--only tones ...]
                                      [--seeds 1] [--other PATH/TO/src] [--limit 300]

Tones, damped modes, a trend with a season and slow noise, a random walk, and a chirp, with noise
and with 40% of the samples missing at random. Times are seconds of one core for the call, without
the import; the error is the root mean square over the whole signal. Every call has a process of its
own, which is stopped after the limit. With `--other`, another version of the package runs on the
same samples: its sources are put first on the path. A call of it that was stopped counts as long as
the limit, and its error is unknown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from benchmarks.recovery import count

OURS = Path(__file__).parents[1] / "src"
CALL = """
import sys, time, warnings
import numpy as np
try:
    from structrank import recover
except ImportError:  # versions before all names were in one place
    from structrank.applications import recover

warnings.simplefilter("ignore")
samples, channels = np.load(sys.argv[1]), None if sys.argv[3] == "None" else int(sys.argv[3])
began = time.process_time()
found = recover(samples, channels=channels)
seconds = time.process_time() - began
np.save(sys.argv[2], found.signal)
print(seconds, found.kind, found.rank)
"""


@dataclass(frozen=True)
class Gappy:
    """A signal, and its noisy samples."""

    truth: np.ndarray
    samples: np.ndarray


@dataclass(frozen=True)
class Call:
    """What one call of `recover` took and found; the error is NaN if it was stopped."""

    seconds: float
    error: float
    found: str

    def __str__(self) -> str:
        return f"{self.seconds:>9.2f}{self.error:>9.4f}  {self.found:<14}"


def tones(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    frequencies, phases = rng.uniform(0.01, 0.45, 3), rng.uniform(0, 2 * np.pi, 3)
    return np.cos(2 * np.pi * np.outer(t, frequencies) + phases) @ rng.uniform(0.5, 1.5, 3), 0.2


def damped(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    rates = 2j * np.pi * rng.uniform(-0.45, 0.45, 5) - rng.uniform(1, 4, 5) / len(t)
    amplitudes = rng.uniform(0.5, 1.5, 5) * np.exp(2j * np.pi * rng.random(5))
    return np.exp(np.outer(t, rates)) @ amplitudes, 0.1


def season(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    slow = lfilter([1.0], [1.0, -0.8], rng.standard_normal(len(t) + 100))[100:]
    year = 2 * np.pi * t / 52
    return 0.001 * t + np.cos(year) + 0.5 * np.cos(2 * year + 1) + 0.3 * slow, 0.1


def walk(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    return np.cumsum(rng.standard_normal(len(t))), 0.1


def chirp(t: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    return np.cos(2 * np.pi * (0.01 * t + 0.1 * t**2 / len(t)) + rng.uniform(0, 2 * np.pi)), 0.1


SIGNALS = {kind.__name__: kind for kind in (tones, damped, season, walk, chirp)}


def gappy(kind: str, length: int, seed: int, missing: float = 0.4) -> Gappy:
    """Return a signal of a kind, with noise and missing samples."""
    rng = np.random.default_rng((seed, length, list(SIGNALS).index(kind)))
    truth, sigma = SIGNALS[kind](np.arange(length), rng)
    noise = rng.standard_normal(length)
    if np.iscomplexobj(truth):
        noise = (noise + 1j * rng.standard_normal(length)) / np.sqrt(2)
    return Gappy(truth, np.where(rng.random(length) < missing, np.nan, truth + sigma * noise))


@dataclass(frozen=True)
class Answer:
    """What a process of its own printed and found; without a signal if it was stopped."""

    seconds: float
    signal: np.ndarray | None = None
    found: str = "stopped"


def answer(samples: np.ndarray, source: Path, limit: float, channels: int | None = None) -> Answer:
    """Run `recover` of a version in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "samples.npy", Path(folder) / "signal.npy"
        np.save(given, samples)
        environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", CALL, str(given), str(found), str(channels)]
        try:
            done = subprocess.run(
                command, env=environment, timeout=limit, capture_output=True, text=True, check=True
            )
        except subprocess.TimeoutExpired:
            return Answer(limit)
        seconds, *what = done.stdout.split()
        return Answer(float(seconds), np.load(found), " ".join(what))


def call(signal: Gappy, source: Path, limit: float) -> Call:
    """Run `recover` of a version, and compare what it finds with the truth."""
    found = answer(signal.samples, source, limit)
    error = float("nan")
    if found.signal is not None:
        error = float(np.sqrt(np.mean(np.abs(found.signal - signal.truth) ** 2)))
    return Call(found.seconds, error, found.found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=count, nargs="+", default=[500, 2000, 8000, 32000])
    parser.add_argument("--only", nargs="+", choices=SIGNALS, default=list(SIGNALS))
    parser.add_argument("--seeds", type=count, default=1)
    parser.add_argument("--other", type=Path, help="folder src of another version")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each call")
    options = parser.parse_args()
    heading = f"{'seconds':>9}{'error':>9}  {'kind, rank':<14}"
    print(f"{'signal':<8}{'length':>8}{'seed':>6}{heading}{heading if options.other else ''}")
    ratios, errors = [], []
    for length in options.lengths:
        for kind in options.only:
            for seed in range(options.seeds):
                signal = gappy(kind, length, seed)
                ours = call(signal, OURS, options.limit)
                line = f"{kind:<8}{length:>8}{seed:>6}{ours}"
                if options.other:
                    other = call(signal, options.other, options.limit)
                    ratios.append(other.seconds / ours.seconds)
                    errors.append(ours.error / other.error)
                    line += f"{other}{ratios[-1]:>8.1f} times faster"
                print(line, flush=True)
    if options.other:
        print(
            f"\nmedian: {np.median(ratios):.1f} times faster, error {np.nanmedian(errors):.3f} of "
            f"the other's (largest {np.nanmax(errors):.3f})"
        )


if __name__ == "__main__":
    main()

"""Short series: whether modes that were found directly are trusted where they should be.

    python -m benchmarks.short [--seeds 10] [--first 0] [--lengths 40 70 110]

Sums of modes and other signals of 40 to 110 samples with noise, complete or with 30% missing, of
which fewer than 100 are seen. So few samples hide correlations, and modes are trusted only if they
leave little of them (`DirectSearch.nearly`). For each kind of signal: in how many series modes are
trusted, and there the error of `recover` over that without such trust, geometric mean and largest,
its time over the time without, and the share of values within 1.96 standard errors.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from benchmarks.recovery import count
from structrank import recover
from structrank.signals.candidates import CANDIDATES, FitOfModes
from structrank.signals.direct_modes import DirectSearch, direct_fit
from structrank.signals.estimation import best_estimate
from structrank.signals.problems import hankel_problem
from structrank.signals.solutions import Known

NOISE = 0.15
CAUTIOUS = (FitOfModes(search=DirectSearch(nearly=0.0)), *CANDIDATES[1:])


def tones(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    phases = 2 * np.pi * np.outer(t, rng.uniform(0.01, 0.45, 3)) + rng.uniform(0, 2 * np.pi, 3)
    return np.cos(phases) @ rng.uniform(0.5, 1.5, 3)


def damped(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rates = 2j * np.pi * rng.uniform(0, 0.45, 3) - rng.uniform(1, 4, 3) / len(t)
    return np.real(np.exp(np.outer(t, rates)) @ np.exp(2j * np.pi * rng.random(3)))


def filtered(t: np.ndarray, row: list[float], rng: np.random.Generator) -> np.ndarray:
    found = lfilter([1.0], row, rng.standard_normal(len(t) + 200))[200:]
    return found / np.std(found)


def correlated(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return filtered(t, [1.0, -0.9], rng)


def resonance(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    turn = 2 * 0.97 * np.cos(2 * np.pi * rng.uniform(0.05, 0.3))
    return filtered(t, [1.0, -turn, 0.97**2], rng)


def walk(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    steps = np.cumsum(rng.standard_normal(len(t)))
    return steps / np.std(steps)


def season(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    year = 2 * np.pi * t / 12 + rng.uniform(0, 2 * np.pi)
    return 0.01 * t + np.cos(year) + 0.5 * np.cos(2 * year + 1) + 0.2 * correlated(t, rng)


def chirp(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.cos(2 * np.pi * (0.01 * t + 0.1 * t**2 / len(t)) + rng.uniform(0, 2 * np.pi))


def sawtooth(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    period = rng.uniform(8, 20)
    return np.sqrt(12) * ((t / period + rng.random()) % 1 - 0.5)


KINDS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    kind.__name__: kind
    for kind in (tones, damped, correlated, resonance, walk, season, chirp, sawtooth)
}


@dataclass(frozen=True)
class Trusted:
    """One series whose modes are trusted: ratios to what is found without this trust."""

    error: float
    seconds: float
    inside: float


def compared(truth: np.ndarray, samples: np.ndarray) -> Trusted | None:
    """Compare `recover` with and without trust in few samples; None if it makes no difference."""
    problem = hankel_problem(samples)
    first = direct_fit(problem, Known())
    if first is None or not first.trusted:
        return None
    began = time.process_time()
    found = recover(samples)
    middle = time.process_time()
    other = best_estimate(problem, Known(), candidates=CAUTIOUS).estimate
    seconds = (middle - began) / (time.process_time() - middle)
    errors = [np.linalg.norm(np.ravel(y) - truth) for y in (found.signal, other.signal)]
    inside = float(np.mean(np.abs(found.signal - truth) <= 1.96 * found.stderr))
    return Trusted(errors[0] / errors[1], seconds, inside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lengths", type=count, nargs="+", default=[40, 70, 110])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'signal':<12}{'trusted':>12}{'error':>8}{'largest':>9}{'time':>7}{'inside':>8}")
    for number, (name, kind) in enumerate(KINDS.items()):
        tried, found = 0, []
        for length in options.lengths:
            for seed in range(options.first, options.first + options.seeds):
                rng = np.random.default_rng((seed, length, number))
                truth = kind(np.arange(length), rng)
                samples = truth + NOISE * rng.standard_normal(length)
                if seed % 2:
                    samples[rng.random(length) < 0.3] = np.nan
                if np.sum(~np.isnan(samples)) < DirectSearch().fewest:
                    tried += 1
                    found.append(compared(truth, samples))
        trusted = [one for one in found if one is not None]
        line = f"{name:<12}{f'{len(trusted)} of {tried}':>12}"
        if trusted:
            errors = [one.error for one in trusted]
            line += f"{np.exp(np.mean(np.log(errors))):>8.2f}{max(errors):>9.2f}"
            line += f"{np.median([one.seconds for one in trusted]):>7.2f}"
            line += f"{np.mean([one.inside for one in trusted]):>8.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()

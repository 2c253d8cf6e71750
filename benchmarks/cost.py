"""Forecasts of `estimate_cost` beside what `recover` took, and how well `max_time` is kept.

    python -m benchmarks.cost [--seed 10] [--only tones ...] [--efforts]

Sixteen signals from 100 to 8000 samples: tones, damped modes, a season with slow noise, random
walks, a chirp, several channels, two axes, k-space of simulated coils. The middle of a range is
compared with the CPU time of the call. Then every call gets a tenth and half of its time as
`max_time`, counted in CPU time too; limits below 50 ms are not counted, as even the shortest answer
takes some. With `--efforts`, times and errors of all efforts follow. The counts of steps in
`structrank.signals.plan` were set with other signals of these kinds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks import five_signals
from structrank import _watch as watch_module
from structrank import estimate_cost, recover
from structrank.signals import plain_recovery as recovery_module
from structrank.signals import request as request_module
from structrank.signals import work as work_module

SHORTEST_LIMIT = 0.05  # seconds
Made = tuple[np.ndarray, np.ndarray, dict[str, int]]  # truth, samples, options


def series(kind: str, length: int) -> Callable[[int], Made]:
    def make(seed: int) -> Made:
        made = five_signals.gappy(kind, length, seed)
        return made.truth, made.samples, {}

    return make


def noisy(truth: np.ndarray, sigma: float, missing: float, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(truth.shape)
    if np.iscomplexobj(truth):
        noise = (noise + 1j * rng.standard_normal(truth.shape)) / np.sqrt(2)
    return np.where(rng.random(truth.shape) < missing, np.nan, truth + sigma * noise)


def shared_tones(seed: int) -> Made:
    rng, t = np.random.default_rng((seed, 1)), np.arange(600)[:, None]
    waves = [np.cos(2 * np.pi * f * t + rng.uniform(0, 6, 4)) for f in rng.uniform(0, 0.5, 3)]
    truth = np.sum(waves, axis=0)
    return truth, noisy(truth, 0.2, 0.3, rng), {"channels": 1}


def walks(seed: int) -> Made:
    rng = np.random.default_rng((seed, 2))
    truth = np.cumsum(rng.standard_normal((400, 2)), axis=0)
    return truth, noisy(truth, 0.1, 0.3, rng), {"channels": 1}


def plane_waves(seed: int) -> Made:
    rng, (x, y) = np.random.default_rng((seed, 3)), np.indices((48, 48))
    truth = sum(np.exp(2j * np.pi * (f * x + g * y)) for f, g in rng.random((6, 2)))
    return np.asarray(truth), noisy(np.asarray(truth), 0.3, 0.8, rng), {}


def picture(seed: int) -> Made:
    rng, k = np.random.default_rng((seed, 4)), np.fft.fftfreq(64)
    distance = np.hypot(*np.meshgrid(k, k)) + 1 / 64
    truth = np.fft.ifft2(np.fft.fft2(rng.standard_normal((64, 64))) / distance**2).real
    truth /= np.std(truth)
    return truth, noisy(truth, 0.05, 0.5, rng), {}


def coils(seed: int) -> Made:
    rng, (y, x) = np.random.default_rng((seed, 5)), np.indices((48, 48)) / 48 - 0.5
    image = (np.hypot(x, 1.3 * y) < 0.35) - 0.5 * (np.hypot(x - 0.1, y) < 0.1)
    at = 2 * np.pi * np.arange(4) / 4
    views = [np.exp(-4 * ((x - np.cos(a) / 2) ** 2 + (y - np.sin(a) / 2) ** 2)) for a in at]
    truth = np.fft.fftshift(np.fft.fft2(image * np.stack(views)), axes=(1, 2)) / 48
    seen = rng.random((48, 48)) < 0.35
    seen[18:30, 18:30] = True
    return truth, np.where(seen, truth, np.nan), {"channels": 0}


SIGNALS: dict[str, Callable[[int], Made]] = {
    **{
        f"{kind} {length}": series(kind, length)
        for kind, lengths in {
            "tones": (100, 2000, 8000),
            "damped": (500, 4000),
            "season": (500, 3000),
            "walk": (150, 1000, 8000),
            "chirp": (2000,),
        }.items()
        for length in lengths
    },
    "channels 600x4": shared_tones,
    "walks 400x2": walks,
    "waves 48x48": plane_waves,
    "picture 64x64": picture,
    "coils 4x48x48": coils,
}


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def count_cpu_time() -> None:
    """Let limits and timed steps count the time of this process, as others may run beside it."""
    for module in (watch_module, recovery_module, request_module, work_module):
        module.clock = time.process_time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of names")
    parser.add_argument("--efforts", action="store_true", help="times and errors of all efforts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    count_cpu_time()
    near, inside, kept = [], [], []
    print(f"{'signal':<16}{'took':>7}{'forecast':>16}{'ratio':>7}   limits of a half and a tenth")
    for name, make in SIGNALS.items():
        if not name.startswith(tuple(options.only)):
            continue
        truth, samples, given = make(options.seed)
        cost, full = estimate_cost(samples, **given), recover(samples, **given)
        ratio = cost.middle / full.seconds
        near.append(1 / 3 <= ratio <= 3)
        inside.append(cost.seconds[0] <= full.seconds <= cost.seconds[1])
        forecast = f"{cost.seconds[0]:.3f} to {cost.seconds[1]:.3f}"
        line = f"{name:<16}{full.seconds:>7.3f}{forecast:>16}{ratio:>7.2f}"
        for limit in (full.seconds / 2, full.seconds / 10):
            part = recover(samples, max_time=limit, **given)
            if limit >= SHORTEST_LIMIT:
                kept.append(part.seconds <= 1.2 * limit)
            line += f"{part.seconds / limit:>7.2f} (error {error(part.signal, truth):.3f})"
        print(f"{line}; {error(full.signal, truth):.3f}", flush=True)
        if options.efforts:
            for effort in ("fast", "thorough"):
                other = recover(samples, effort=effort, **given)
                share = other.seconds / full.seconds
                print(
                    f"{'':<16}{effort}: {share:.2f} of the time, {error(other.signal, truth):.3f}"
                )
    print(f"\nwithin a factor of 3: {sum(near)} of {len(near)}; in the range: {sum(inside)}")
    print(f"limits of {SHORTEST_LIMIT} s or more kept within 20%: {sum(kept)} of {len(kept)}")


if __name__ == "__main__":
    main()

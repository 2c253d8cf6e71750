"""Compare the ways to choose mu and the rank, and window sizes, on simulated signals.

    python -m benchmarks.selection [--seeds 2] [--settings 16] [--part methods] [--part windows]
                                   [--method noise] [--method information] ...

Every setting differs in one property from a 1-D or a 2-D base setting. Amplitudes are spread,
frequencies are at least 1.5 / length apart, weights are lifted. The error is that of the refit
divided by that of an oracle: least squares that know the number and kind of the modes and start
from the true ones. Tables show for how many seeds the true rank was found, and the median error.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.recovery import count, error, lifted_problem, oracle_error
from structrank import ConvergenceWarning, Selection, SpectralSample, select_mu, sinusoids


@dataclass(frozen=True)
class Setting:
    """Signals to draw. Dampings are uniform from zero to `damping / length`."""

    name: str
    shape: tuple[int, ...]
    count: int
    seen: float
    decibels: float = 10.0
    real: bool = False
    damping: float = 0.0

    def draw(self, seed: int) -> SpectralSample:
        return sinusoids(
            self.shape,
            self.count,
            seen=self.seen,
            snr=10 ** (self.decibels / 20),
            real=self.real,
            separation=1.5,
            spread=True,
            damping=self.damping / self.shape[0],
            rng=seed,
        )


def variants(base: Setting, longer: tuple[int, ...], few: float) -> list[Setting]:
    """A base setting, and settings that differ from it in one property each."""
    return [
        base,
        replace(base, name="real", real=True, count=base.count - 1),
        replace(base, name="damped", damping=3.0),
        replace(base, name=" x ".join(map(str, longer)), shape=longer),
        replace(base, name="0 dB", decibels=0.0),
        replace(base, name="20 dB", decibels=20.0),
        replace(base, name=f"{few:.0%} seen", seen=few),
        replace(base, name="all seen", seen=1.0),
    ]


SETTINGS = [
    *variants(Setting("1-D: 96, 3 modes, 50% seen, 10 dB", (96,), 3, 0.5), (192,), 0.25),
    *variants(Setting("2-D: 16 x 16, 3 modes, 30% seen", (16, 16), 3, 0.3), (24, 24), 0.15),
]
Method = Callable[[SpectralSample], Selection]
METHODS: dict[str, Method] = {
    "noise": lambda sample: select_mu(lifted_problem(sample)),
    "known sigma": lambda sample: select_mu(lifted_problem(sample), sigma=sample.noise),
    "holdout": lambda sample: select_mu(lifted_problem(sample), "holdout"),
    "information": lambda sample: select_mu(lifted_problem(sample), "information"),
}
WINDOWS: dict[str, Method] = {
    f"window {share:.0%}": lambda sample, share=share: select_mu(lifted_problem(sample, share))
    for share in (0.2, 0.3, 0.4, 0.5)
}


@dataclass(frozen=True)
class Found:
    """The outcome of one method for one simulated signal."""

    right: bool  # whether it found the true rank
    ratio: float  # its error over that of the oracle
    seconds: float


def attempt(method: Method, sample: SpectralSample) -> Found:
    """Choose mu and the rank, and compare the refit with the truth."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chosen = method(sample)
    seconds = time.perf_counter() - began
    ratio = error(chosen.refit.y, sample) / oracle_error(sample)
    return Found(chosen.rank == len(sample.modes), ratio, seconds)


def compare(methods: dict[str, Method], settings: list[Setting], seeds: int) -> None:
    """Print a table of all settings and methods, and the best methods."""
    print(f"\n{f'true rank found of {seeds}, error':<34}" + "".join(f"{m:>15}" for m in methods))
    everything: dict[str, list[Found]] = {name: [] for name in methods}
    for setting in settings:
        samples = [setting.draw(seed) for seed in range(seeds)]
        cells = []
        for name, method in methods.items():
            found = [attempt(method, sample) for sample in samples]
            everything[name] += found
            cells.append(f"{_right(found):>8} {np.median([f.ratio for f in found]):>6.2f}")
        print(f"{setting.name:<34}" + "".join(cells), flush=True)
    right = {name: _right(found) for name, found in everything.items()}
    mean = {
        name: float(np.exp(np.mean(np.log([f.ratio for f in found]))))
        for name, found in everything.items()
    }
    seconds = {name: np.mean([f.seconds for f in found]) for name, found in everything.items()}
    total = f"of {seeds * len(settings)}, geometric mean"
    print(f"{total:<34}" + "".join(f"{right[name]:>8} {mean[name]:>6.2f}" for name in methods))
    print(f"{'seconds per signal':<34}" + "".join(f"{seconds[name]:>15.2f}" for name in methods))
    by_rank = [name for name in methods if right[name] == max(right.values())]
    by_error = [name for name in methods if mean[name] <= 1.01 * min(mean.values())]
    print(f"most often the true rank: {', '.join(by_rank)}")
    print(f"least error, within 1%: {', '.join(by_error)}", flush=True)


def _right(found: list[Found]) -> int:
    return sum(f.right for f in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=2)
    parser.add_argument("--settings", type=count, default=len(SETTINGS), help="only the first ones")
    parser.add_argument("--part", action="append", choices=("methods", "windows"))
    parser.add_argument("--method", action="append", choices=METHODS, help="default: all")
    options = parser.parse_args()
    methods = {name: METHODS[name] for name in options.method or METHODS}
    parts = {"methods": methods, "windows": WINDOWS}
    for part in options.part or parts:
        compare(parts[part], SETTINGS[: options.settings], options.seeds)


if __name__ == "__main__":
    main()

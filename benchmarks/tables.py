"""Channels of a table in one state-space model, beside each of them alone.

    python -m benchmarks.tables [--seeds 10] [--samples 150] [--components]

Simulated channels, seen with noise of deviation 0.3, with gaps. Errors of `recover(table)` in the
gaps over those of `recover(table, channels="independent")`, geometric means over seeds; `inside`
is the share of hidden samples inside 95% intervals. With `--components` both are those of
`kind="components"`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.recovery import count
from structrank import recover


def walks(n: int, rng: np.random.Generator, channels: int, rho: float) -> np.ndarray:
    """Random walks whose steps have these correlations."""
    shared = rho * np.ones((channels, channels)) + (1 - rho) * np.eye(channels)
    steps = rng.standard_normal((n, channels)) @ np.linalg.cholesky(shared).T
    return np.cumsum(steps, axis=0)


def seasonal(n: int, rng: np.random.Generator) -> np.ndarray:
    """Correlated walks with seasons of different phases."""
    phases = 2 * np.pi * np.arange(n)[:, None] / 12 + np.arange(3)
    return np.asarray(0.3 * walks(n, rng, 3, 0.75) + np.cos(phases))


def tones(n: int, rng: np.random.Generator) -> np.ndarray:
    """Channels that share two modes."""
    t = np.arange(n)
    return np.column_stack([np.cos(0.31 * t), np.sin(0.5 * t)]) @ rng.standard_normal((2, 3))


SIGNALS = {
    "two walks, steps of correlation 0.9": lambda n, rng: walks(n, rng, 2, 0.9),
    "three walks that share nothing": lambda n, rng: walks(n, rng, 3, 0.0),
    "three walks of correlation 0.75 with seasons": seasonal,
    "three channels with two common tones": tones,
}


def gappy(samples: np.ndarray) -> np.ndarray:
    """Without a sixth of the second channel, and a fifteenth of the first one elsewhere."""
    n, gaps = len(samples), samples.copy()
    gaps[n // 3 : n // 2, 1] = np.nan
    gaps[2 * n // 3 : 2 * n // 3 + n // 15, 0] = np.nan
    return gaps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=count, default=10)
    parser.add_argument("--samples", type=count, default=150)
    parser.add_argument("--components", action="store_true")
    arguments = parser.parse_args()
    kind = "components" if arguments.components else "auto"
    print("signal | error over that alone | inside | inside alone | CPU time over that alone")
    for name, draw in SIGNALS.items():
        rows = []
        for seed in range(arguments.seeds):
            rng = np.random.default_rng([seed, arguments.samples])
            signal = draw(arguments.samples, rng)
            samples = signal + 0.3 * rng.standard_normal(signal.shape)
            gaps = gappy(samples)
            hidden, row = np.isnan(gaps), []
            for channels in (1, "independent"):
                began = time.process_time()
                found = recover(gaps, channels=channels, kind=kind)
                seconds = time.process_time() - began
                error = np.sqrt(np.mean((found.signal - signal)[hidden] ** 2))
                inside = (samples > found.lower) & (samples < found.upper)
                row.append((error, np.mean(inside[hidden]), seconds))
            rows.append(row)
        values = np.array(rows)  # (seeds, together or alone, what)
        ratios = np.exp(np.mean(np.log(values[:, 0] / values[:, 1]), axis=0))
        inside = np.mean(values[:, :, 1], axis=0)
        print(f"{name} | {ratios[0]:.2f} | {inside[0]:.2f} | {inside[1]:.2f} | {ratios[2]:.1f}")


if __name__ == "__main__":
    main()

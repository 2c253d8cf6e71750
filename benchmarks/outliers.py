"""How much gross errors in the samples worsen the recovered signal.

    python -m benchmarks.outliers [--seeds 10] [--size 101]

The paper's 2-D signal with spread amplitudes, 20% seen at SNR 10. Of the samples, 5% are wrong by
10 to 20 times the root mean square of the signal. Everything is automatic. Goal: at most twice the
error without outliers.
"""

from __future__ import annotations

import argparse

import numpy as np
from tqdm.auto import tqdm

from structrank import recover, sinusoids

from .recovery import count, error


def spoiled(
    samples: np.ndarray, rms: float, seed: int, share: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples with a share of gross errors, and where these are."""
    rng = np.random.default_rng(seed)
    seen = np.flatnonzero(~np.isnan(samples))
    at = rng.choice(seen, round(share * seen.size), replace=False)
    out = samples.copy()
    out.flat[at] += rms * rng.uniform(10, 20, at.size) * rng.choice([-1, 1], at.size)
    wrong = np.zeros(samples.shape, dtype=bool)
    wrong.flat[at] = True
    return out, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=10)
    parser.add_argument("--size", type=count, default=101)
    options = parser.parse_args()
    rows = []
    for seed in tqdm(range(options.seeds), desc="outliers", disable=None):
        shape = (options.size, options.size)
        sample = sinusoids(shape, 6, separation=1.5, spread=True, rng=seed)
        bad, wrong = spoiled(sample.samples, 10 * sample.noise, seed)
        clean, robust = recover(sample.samples), recover(bad, robust=True)
        errors = [error(found.signal, sample) for found in (clean, robust)]
        rows.append((*errors, np.mean(robust.outliers == wrong), robust.rank == clean.rank))
    table = np.array(rows, dtype=float)
    print(f"median of {options.seeds} seeds")
    for name, value in zip(("no outliers", "robust"), np.median(table, axis=0), strict=False):
        print(f"error, {name:<14}{value:>10.4f}")
    print(f"correctly classified  {table[:, 2].mean():>10.2%}")
    print(f"same rank             {table[:, 3].mean():>10.0%}")
    ratio = np.median(table[:, 1] / table[:, 0])
    print(f"robust / no outliers  {ratio:>10.2f}   (goal: at most 2)")


if __name__ == "__main__":
    main()

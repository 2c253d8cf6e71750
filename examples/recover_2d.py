"""Recover the paper's 2-D signal: 101 x 101, six sinusoids, 20% seen, noise at SNR 10.

    python examples/recover_2d.py [--out picture.png] [--seed 0] [--quiet]

Prints error, rank and time, and draws the truth, the measured samples and the recovered signal.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from structrank import Stop, gcgls, noise_mu, sinusoids, spectral_problem
from structrank.reproduce.figures import spectral_panels

SIZE, SINUSOIDS, WINDOW = 101, 6, (25, 25)


def main() -> None:
    """Make the data, solve, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/recover_2d.png"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args()

    sample = sinusoids((SIZE, SIZE), SINUSOIDS, seen=0.2, snr=10.0, rng=options.seed)
    truth, b = sample.truth, sample.samples
    problem = spectral_problem(b, WINDOW, mu=1.0, weights="lifted")
    problem = replace(problem, mu=noise_mu(problem, sample.noise, margin=1.5))
    stop = Stop(xtol=None, rtol=None, gap=1e-3)
    result = gcgls(problem, lam=1.0, stop=stop, progress=not options.quiet)

    error = np.linalg.norm(result.y - truth) / np.linalg.norm(truth)
    print(result)
    print(f"  {'error':<14}{error:.3f} (norm of the difference over that of the truth)")
    print(f"  {'true rank':<14}{2 * SINUSOIDS}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    spectral_panels(sample, {"recovered": result.y}, f"error {error:.3f}", options.out)
    print(f"  {'picture':<14}{options.out}")


if __name__ == "__main__":
    main()

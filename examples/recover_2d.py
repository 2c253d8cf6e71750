"""Recover the paper's 2-D signal: 101 x 101, six sinusoids, 20% seen, noise at SNR 10.

    python examples/recover_2d.py [--out picture.png] [--seed 0] [--quiet]

Prints error, rank and time, and draws the truth, what was seen, and what came back.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from structrank import Hankel, Stop, gcgls
from structrank.applications import noise_mu, sinusoids, spectral_problem

SIZE, SINUSOIDS, WINDOW = 101, 6, (25, 25)


def draw(path: Path, truth: np.ndarray, b: np.ndarray, recovered: np.ndarray) -> None:
    """Three panels and the first column."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    limit = np.max(np.abs(truth))
    figure, axes = plt.subplot_mosaic(
        [["truth", "seen", "recovered"], ["column"] * 3],
        figsize=(10, 5.6),
        height_ratios=[2, 1],
        layout="constrained",
    )
    panels = {"truth": truth, "seen": b, "recovered": recovered}
    titles = {"truth": "true signal", "seen": "seen: 20%, noisy", "recovered": "recovered"}
    for name, panel in panels.items():
        image = axes[name].imshow(panel, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axes[name].set(title=titles[name], xlabel="column")
    axes["truth"].set_ylabel("row")
    figure.colorbar(image, ax=[axes[n] for n in panels], label="value")
    rows = np.arange(SIZE)
    axes["column"].plot(rows, truth[:, 0], color="0.6", lw=3, label="truth")
    axes["column"].plot(rows, recovered[:, 0], color="#0072b2", lw=1.2, label="recovered")
    axes["column"].plot(rows, b[:, 0], "o", color="#d55e00", ms=4, label="seen")
    axes["column"].set(xlabel="row", ylabel="first column", xlim=(0, SIZE - 1))
    axes["column"].legend(ncols=3, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Make the data, solve, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/recover_2d.png"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args()

    sample = sinusoids((SIZE, SIZE), SINUSOIDS, seen=0.2, snr=10.0, seed=options.seed)
    truth, b = sample.truth, sample.samples
    structure = Hankel(truth.shape, WINDOW)
    mu = noise_mu(structure, sample.seen, sample.noise, weights="lifted", margin=1.5)
    problem = spectral_problem(b, WINDOW, mu, weights="lifted")
    stop = Stop(xtol=None, rtol=None, gap=1e-3)
    result = gcgls(problem, lam=1.0, stop=stop, progress=not options.quiet)

    error = np.linalg.norm(result.y - truth) / np.linalg.norm(truth)
    print(result)
    print(f"  {'error':<14}{error:.3f} (norm of the difference over that of the truth)")
    print(f"  {'true rank':<14}{2 * SINUSOIDS}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    draw(options.out, truth, b, result.y)
    print(f"  {'picture':<14}{options.out}")


if __name__ == "__main__":
    main()

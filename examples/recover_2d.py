"""Recover the paper's 2-D signal: 101 x 101, six sinusoids, 20% seen, noise at SNR 10.

    python examples/recover_2d.py [--out picture.png] [--seed 0] [--quiet]

Prints error, rank and time, and draws the truth, what was seen, and what came back.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from structrank import Hankel, Problem, Stop, Weighted, gcgls, mu_max

SIZE, SINUSOIDS, SHARE, SNR = 101, 6, 0.2, 10.0


def sinusoids(rng: np.random.Generator) -> np.ndarray:
    """A real 2-D signal of a few sinusoids with random frequencies and phases."""
    k, l = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    signal = np.zeros((SIZE, SIZE))
    for f1, f2, phase in rng.random((SINUSOIDS, 3)):
        signal += np.cos(2 * np.pi * (f1 * k + f2 * l + phase))
    return signal


def noise_level_mu(structure: Hankel, seen: np.ndarray, sigma: float) -> float:
    """A mu well above the top singular value that noise alone puts into the gradient."""
    draws = np.random.default_rng(1).standard_normal((3, SIZE, SIZE))
    measure = Weighted("lifted", seen)
    return 1.5 * sigma * max(mu_max(Problem(structure, z, 1.0, measure)) for z in draws)


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

    rng = np.random.default_rng(options.seed)
    truth = sinusoids(rng)
    seen = rng.random(truth.shape) < SHARE
    sigma = np.sqrt(np.mean(truth**2)) / SNR
    b = np.where(seen, truth + sigma * rng.standard_normal(truth.shape), np.nan)

    structure = Hankel(truth.shape, window=(25, 25))
    mu = noise_level_mu(structure, seen, sigma)
    problem = Problem(structure, b, mu, Weighted("lifted", seen))
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

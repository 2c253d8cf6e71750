"""How many modes come back from how few samples, without noise: a picture.

    python -m benchmarks.phase_transition [--out out/phase_transition.png] [--force]
                                          [--draws 5] [--quick]

Complex signals of 127 values, undamped modes of random frequencies and phases and of amplitude one,
samples at random places, window 64, lifted weights. A recovery succeeds if its error is below 1e-3
of the truth.

The convex stage alone is `path` down to 1e-5 mu_max. The refits start along that path, each at
the number of singular values above its mu, until one meets all samples. A mode has two complex
unknowns, its pole and its amplitude, so less than two samples a mode are not tried.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from benchmarks.recovery import count
from structrank import (
    ConvergenceWarning,
    Hankel,
    Modes,
    Problem,
    Result,
    Weighted,
    mu_max,
    path,
    refit,
)
from structrank.modal.modes import NoModes
from structrank.model.effective_rank import SingularValueLimits, effective_rank
from structrank.views import require_matplotlib

LENGTH, WINDOW = 127, 64
ENOUGH = 1e-3  # error of a success
MET = 1e-20  # misfit of samples that are met, over their sum of squares
FACTORS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # mu over mu_max
RANKS, SHARES = range(1, 38, 4), np.linspace(0.1, 1.0, 10)
QUICK_RANKS, QUICK_SHARES = range(1, 8, 6), np.linspace(0.2, 1.0, 3)


def errors(rank: int, samples: int, seed: int) -> tuple[float, float]:
    """Of the convex stage and after the refit, for one draw."""
    rng = np.random.default_rng((seed, rank, samples))
    truth = Modes(rng.random(rank), 0.0, np.exp(2j * np.pi * rng.random(rank))).signal(LENGTH)
    seen = np.zeros(LENGTH, dtype=bool)
    seen[rng.choice(LENGTH, samples, replace=False)] = True
    problem = Problem(Hankel(LENGTH, WINDOW), truth, 1.0, Weighted("lifted", seen))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where recovery fails
        mus = mu_max(problem, 1.0) * np.array(FACTORS)
        results = path(problem, mus, lam=1.0, gap=1e-2, max_iter=10)
    found = (results[-1].y, refitted(results, samples))
    convex, fitted = (np.linalg.norm(y - truth) / np.linalg.norm(truth) for y in found)
    return float(convex), float(fitted)


def refitted(results: list[Result], samples: int) -> np.ndarray:
    """The first refit along a path that meets the samples, or else the one that misses least."""
    most = (samples - 1) // 2  # modes, with fewer parameters than samples
    best, least = results[-1].y, np.inf
    for result in results:
        found = effective_rank(result.X, result.problem.mu, SingularValueLimits().certain)
        try:
            fit = refit(result, min(found, most))
        except NoModes:
            continue
        if fit.residual_squared < least:
            best, least = fit.y, fit.residual_squared
        if found > most or least <= MET * np.linalg.norm(fit.problem.data) ** 2:
            break
    return best


def successes(ranks: Sequence[int], shares: np.ndarray, draws: int) -> np.ndarray:
    """Share of draws that succeed, as (stage, rank, share seen)."""
    found = np.zeros((2, len(ranks), len(shares)))
    cells = [(i, j) for i in range(len(ranks)) for j in range(len(shares))]
    for i, j in tqdm(cells, desc="phase transition", disable=None):
        samples = round(shares[j] * LENGTH)
        if samples >= 2 * ranks[i]:
            drawn = [errors(ranks[i], samples, seed) for seed in range(draws)]
            found[:, i, j] = np.mean(np.array(drawn) < ENOUGH, axis=0)
    return found


def draw(found: np.ndarray, ranks: Sequence[int], shares: np.ndarray, file: Path) -> None:
    """Both stages beside each other: white where all draws succeed, black where none does."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.3), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    titles = ("convex stage alone", "convex stage, then refit")
    share_step, rank_step = shares[1] - shares[0], ranks[1] - ranks[0]
    left, right = shares[0] - share_step / 2, shares[-1] + share_step / 2
    bottom, top = ranks[0] - rank_step / 2, ranks[-1] + rank_step / 2
    for axis, stage, title in zip(axes, found, titles, strict=True):
        shades = axis.imshow(
            stage,
            cmap="gray",
            vmin=0,
            vmax=1,
            origin="lower",
            aspect="auto",
            extent=(left, right, bottom, top),
        )
        label = "two samples a mode: as many unknowns as samples"
        axis.plot([0, 1], [0, LENGTH / 2], color="#d55e00", linewidth=2, label=label)
        axis.set(xlim=(left, right), ylim=(bottom, top), xticks=shares, yticks=ranks)
        axis.set(xlabel="share of the samples seen", title=title)
    axes[0].set_ylabel("number of modes")
    figure.colorbar(shades, ax=axes, label="share of draws recovered to 1e-3")
    figure.suptitle(f"Complex signals of {LENGTH} values, no noise, samples at random places")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
    partial = file.with_name(f".{file.name}.partial-{os.getpid()}")
    try:
        figure.savefig(partial, dpi=150, format="png")
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def report(found: np.ndarray, ranks: Sequence[int], shares: np.ndarray) -> None:
    """For each number of modes, the share seen from which on half of the draws succeed."""
    print(f"{'modes':>6} {'count of unknowns':>18} {'convex':>8} {'with refit':>11}")
    for rank, stages in zip(ranks, np.swapaxes(found, 0, 1), strict=True):
        first = []
        for stage in stages:
            failed = np.flatnonzero(stage < 0.5)
            after = failed[-1] + 1 if len(failed) else 0
            first.append(f"{shares[after]:.2f}" if after < len(shares) else "none")
        print(f"{rank:>6} {2 * rank / LENGTH:>18.2f} {first[0]:>8} {first[1]:>11}")
    print("(share of the samples from which on half of the draws or more are recovered)")
    tried = np.round(shares * LENGTH) >= 2 * np.array(ranks)[:, None]
    for name, stage in zip(("convex stage", "with refit"), found, strict=True):
        print(f"{name:<13} {100 * np.mean(stage[tried]):.0f}% of the draws that can succeed do")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/phase_transition.png"))
    parser.add_argument("--force", action="store_true", help="replace a picture that is there")
    parser.add_argument("--draws", type=count, default=5, help="for each cell")
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    options = parser.parse_args()
    require_matplotlib()
    if options.out.suffix != ".png":
        parser.error(f"--out is {options.out}, but a file that ends in .png is expected")
    if options.out.exists() and not options.force:
        parser.error(f"{options.out} exists: choose another file, or pass --force")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    ranks, shares = (QUICK_RANKS, QUICK_SHARES) if options.quick else (RANKS, SHARES)
    began = time.perf_counter()
    found = successes(ranks, shares, options.draws)
    report(found, ranks, shares)
    draw(found, ranks, shares, options.out)
    print(f"picture       {options.out}, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()

"""How many modes come back from how few samples, without noise: a picture.

    python -m benchmarks.phase_transition [--out out/phase_transition.png] [--force]
                                          [--draws 5] [--quick] [--part peers]

Complex signals of 127 values, undamped modes of random frequencies and phases and of amplitude one,
samples at random places, window 64, lifted weights. A recovery succeeds if its error is below 1e-3
of the truth.

The convex stage alone is `path` down to 1e-5 mu_max. The refits start along that path, each at
the number of singular values above its mu, until one meets all samples. A mode has two complex
unknowns, its pole and its amplitude, so less than two samples a mode are not tried.

`--part peers` counts how often `recover`, which knows nothing, succeeds beside `projected_gradient`
(pgd) and `fiht`, which know the rank, near the limits of these methods: no picture, 20 draws each.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
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
    Stop,
    Weighted,
    mu_max,
    path,
    recover,
    refit,
)
from structrank.modal.modes import NoModes
from structrank.model.effective_rank import SingularValueLimits, effective_rank
from structrank.solvers.rivals import fiht, projected_gradient
from structrank.views import require_matplotlib

LENGTH, WINDOW = 127, 64
ENOUGH = 1e-3  # error of a success
MET = 1e-20  # misfit of samples that are met, over their sum of squares
FACTORS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # mu over mu_max
RANKS, SHARES = range(1, 38, 4), np.linspace(0.1, 1.0, 10)
PEER_CELLS = ((5, 0.2), (10, 0.3), (15, 0.4), (20, 0.5), (25, 0.6))  # modes, share seen
LONGEST = 3000  # iterations of peers: they are slow near their limits
QUICK_RANKS, QUICK_SHARES = range(1, 8, 6), np.linspace(0.2, 1.0, 3)


def drawn_signal(rank: int, samples: int, seed: int) -> tuple[np.ndarray, Problem]:
    """Draw a signal, and the problem of filling its gaps."""
    rng = np.random.default_rng((seed, rank, samples))
    truth = Modes(rng.random(rank), 0.0, np.exp(2j * np.pi * rng.random(rank))).signal(LENGTH)
    seen = np.zeros(LENGTH, dtype=bool)
    seen[rng.choice(LENGTH, samples, replace=False)] = True
    return truth, Problem(Hankel(LENGTH, WINDOW), truth, 1.0, Weighted("lifted", seen))


def errors(rank: int, samples: int, seed: int) -> tuple[float, float]:
    """Of the convex stage and after the refit, for one draw."""
    truth, problem = drawn_signal(rank, samples, seed)
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


def recovered(problem: Problem) -> np.ndarray:
    """What `recover` makes of the samples alone; zero if it finds no modes."""
    try:
        signal: np.ndarray = recover(np.where(problem.seen, problem.b, np.nan)).signal
    except NoModes:
        return np.zeros_like(problem.b)
    return signal


def compare_with_peers(draws: int) -> None:
    """Print how many draws `recover` and its peers recover, and their CPU seconds."""
    long = Stop(max_iter=LONGEST, xtol=None, rtol=None)
    methods: dict[str, Callable[[Problem, int], np.ndarray]] = {
        "recover": lambda problem, _: recovered(problem),
        "pgd": lambda problem, rank: projected_gradient(problem, rank, stop=long).y,
        "fiht": lambda problem, rank: fiht(problem, rank, stop=long).y,
    }
    print(f"{'modes':>6} {'seen':>6}" + "".join(f"{name:>20}" for name in methods))
    for rank, share in PEER_CELLS:
        print(f"{rank:>6} {share:>6}", end="", flush=True)
        signals = [drawn_signal(rank, round(share * LENGTH), seed) for seed in range(draws)]
        for method in methods.values():
            found, began = 0, time.process_time()
            for truth, problem in signals:
                error = np.linalg.norm(method(problem, rank) - truth) / np.linalg.norm(truth)
                found += bool(error < ENOUGH)
            seconds = (time.process_time() - began) / draws
            print(f"{f'{found} of {draws}, {seconds:.2f} s':>20}", end="", flush=True)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/phase_transition.png"))
    parser.add_argument("--force", action="store_true", help="replace a picture that is there")
    parser.add_argument("--part", choices=("picture", "peers"), default="picture")
    parser.add_argument("--draws", type=count, help="for each cell; default: 5, with peers 20")
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    options = parser.parse_args()
    if options.part == "peers":
        warnings.simplefilter("ignore", ConvergenceWarning)  # where recovery fails
        compare_with_peers(options.draws or 20)
        return
    require_matplotlib()
    if options.out.suffix != ".png":
        parser.error(f"--out is {options.out}, but a file that ends in .png is expected")
    if options.out.exists() and not options.force:
        parser.error(f"{options.out} exists: choose another file, or pass --force")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    ranks, shares = (QUICK_RANKS, QUICK_SHARES) if options.quick else (RANKS, SHARES)
    began = time.perf_counter()
    found = successes(ranks, shares, options.draws or 5)
    report(found, ranks, shares)
    draw(found, ranks, shares, options.out)
    print(f"picture       {options.out}, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()

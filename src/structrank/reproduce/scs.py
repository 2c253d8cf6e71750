"""Spectral compressed sensing: the paper's 2-D signal, and what comes back of it.

Figure 3 of the paper: 101 x 101 values, six sinusoids, 20% seen at an amplitude signal-to-noise
ratio of 10, window 8 x 8, mu = 0.1. The paper's source gives a normalised error of 0.181.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..modal import find_modes
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..selection import noise_mu
from ..signals.spectral_sensing import SpectralSample, sinusoids, spectral_problem
from ..solvers import gcgls
from ..solvers.driver import ConvergenceWarning, Result, Stop, uninterrupted
from . import figures
from .output import Row, write_about, write_table

SHAPE, COUNT, PRINTED_ERROR = (101, 101), 6, 0.181


@dataclass(frozen=True)
class Setting:
    """How the samples are made into a problem, and how it is solved."""

    name: str
    file: str
    window: tuple[int, int]
    lam: float
    lifted: bool = False
    mu: float | None = None  # else at the noise's level
    printed: bool = False  # Algorithm 1 as printed, with the paper's start and rule
    gap: float = 1e-2  # certified, where not printed

    def problem(self, sample: SpectralSample) -> Problem:
        """The problem of one draw."""
        weights = "lifted" if self.lifted else None
        problem = spectral_problem(sample.samples, self.window, self.mu or 1.0, weights=weights)
        if self.mu is None:
            return replace(problem, mu=noise_mu(problem, sample.noise, margin=1.5))
        return problem

    def recover(self, problem: Problem, seconds: float) -> Result:
        """Solve to a certified gap, by the paper's rule, or as good as the time allows."""
        options: dict[str, Any] = {
            "stop": Stop(max_iter=1000, xtol=None, rtol=None, gap=self.gap, max_time=seconds)
        }
        if self.printed:
            start = LowRank.ones(problem.structure.shape, problem.backprojection)
            stop = Stop(max_time=seconds)
            options = {"step": "paper", "pairs": 1, "start": start, "stop": stop}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return uninterrupted(gcgls(problem, self.lam, **options))


# lam is not printed; with a plain mask its natural size is the inverse of the multiplicity.
SETTINGS = (
    Setting("paper, by its stopping rule", "rule", (8, 8), 1 / 64, mu=0.1, printed=True),
    Setting("paper, solved", "solved", (8, 8), 1 / 64, mu=0.1),
    Setting(
        "lifted weights, window 25 x 25, mu from noise", "weighted", (25, 25), 1.0, True, gap=1e-3
    ),
)


def reproduce_scs(
    folder: Path, *, quick: bool = False, seed: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figures and tables.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        A smaller signal and few seeds: a check that all works.
    seed : int
        First seed.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The tables, as Markdown.
    """
    seeds = range(seed, seed + (2 if quick else 20))
    shape = (41, 41) if quick else SHAPE
    rows: list[Row] = []
    with tqdm(total=len(SETTINGS) * len(seeds), desc="scs", disable=not progress) as bar:
        for draw in seeds:
            sample = sinusoids(shape, COUNT, rng=draw)
            for setting in SETTINGS:
                bar.set_postfix_str(f"seed {draw}, {setting.name}")
                result = setting.recover(setting.problem(sample), 2.0 if quick else 15.0)
                rows.append(_row(draw, setting, sample, result))
                if draw == seed:
                    title = f"{setting.name}: error {rows[-1]['error']:.3f}"
                    path = folder / f"scs-{setting.file}.png"
                    figures.spectral_panels(sample, result.y, title, path)
                bar.update()
    settings = [asdict(setting) for setting in SETTINGS]
    about = {"experiment": "scs", "quick": quick, "seeds": list(seeds), "settings": settings}
    write_about(folder, about)
    return [
        write_table(folder / "scs-seeds", rows),
        write_table(folder / "scs", [_summary(setting, rows) for setting in SETTINGS]),
    ]


def _row(seed: int, setting: Setting, sample: SpectralSample, result: Result) -> Row:
    modes = find_modes(result, rank=min(result.rank, len(sample.modes)))
    return {
        "seed": seed,
        "setting": setting.name,
        "mu": result.problem.mu,
        "error": float(np.linalg.norm(result.y - sample.truth) / np.linalg.norm(sample.truth)),
        "rank": result.rank,
        "true rank": len(sample.modes),
        "largest frequency error": _frequency_error(sample.modes.frequencies, modes.frequencies),
        "gap": result.gap,
        "seconds": result.history.time[-1],
    }


def _frequency_error(true: np.ndarray, found: np.ndarray) -> float:
    """Largest distance, on the circle, from a true frequency to the nearest one found."""
    difference = true[:, None, :] - found[None, :, :]
    distance = np.max(np.abs((difference + 0.5) % 1 - 0.5), axis=2)
    return float(np.max(np.min(distance, axis=1)))


def _summary(setting: Setting, rows: list[Row]) -> Row:
    mine = [row for row in rows if row["setting"] == setting.name]
    errors = [row["error"] for row in mine]
    return {
        "setting": setting.name,
        "seeds": len(mine),
        "median error": float(np.median(errors)),
        "least": min(errors),
        "largest": max(errors),
        "paper": PRINTED_ERROR,
        "true rank found": sum(row["rank"] == row["true rank"] for row in mine),
        "median gap": float(np.median([row["gap"] for row in mine])),
        "median rank": float(np.median([row["rank"] for row in mine])),
        "median frequency error": float(np.median([r["largest frequency error"] for r in mine])),
    }

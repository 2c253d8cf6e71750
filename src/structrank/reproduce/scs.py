"""Spectral compressed sensing: the paper's 2-D signal and its recovery.

Figure 3 of the paper: 101 x 101 values, six sinusoids, 20% seen at an amplitude signal-to-noise
ratio of 10, window 8 x 8, mu = 0.1. The paper's source gives a normalised error of 0.181.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from .._array import NDArray
from ..modal import find_modes
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..selection import noise_mu
from ..signals import SpectralSample, sinusoids, spectral_problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate
from ..solvers.result import Result
from ..solvers.stopping import Stop
from . import figures
from .output import Row, write_about, write_table


@dataclass(frozen=True)
class PaperSignal:
    """The signal of the paper's Figure 3, and the error that its source gives."""

    shape: tuple[int, int] = (101, 101)
    sinusoids: int = 6
    window: tuple[int, int] = (8, 8)
    mu: float = 0.1
    error: float = 0.181  # norm of the difference over that of the truth


@dataclass(frozen=True)
class ScsEffort:
    """Size, seeds and seconds of the experiment: at most fifteen minutes of solving."""

    shape: tuple[int, int] = PaperSignal.shape
    seeds: int = 20
    run_seconds: float = 15.0  # per run


PAPER = PaperSignal()
FULL = ScsEffort()
QUICK = ScsEffort(shape=(41, 41), seeds=2, run_seconds=2.0)


@dataclass(frozen=True)
class Setting:
    """How the samples are made into a problem, and how it is solved.

    Attributes
    ----------
    name, file : str
        For the tables, and for the name of the figure.
    window : tuple of int
    lam : float
        The paper does not print it. With a plain mask its natural size is the inverse of the
        multiplicity.
    lifted : bool
        Whether samples are weighted as often as they occur in the matrix.
    mu : float or None
        None: at the level of the noise.
    printed : bool
        Algorithm 1 as printed, with the paper's start and stopping rule.
    gap : float
        Gap to the optimum at which the run ends, unless printed.
    noise_margin : float
        Margin on the mu at the level of the noise: fewer modes fit noise.
    max_iter : int
        Iteration limit, unless printed.
    """

    name: str
    file: str
    window: tuple[int, int]
    lam: float
    lifted: bool = False
    mu: float | None = None
    printed: bool = False
    gap: float = 1e-2
    noise_margin: float = 1.5
    max_iter: int = 1000

    def problem(self, sample: SpectralSample) -> Problem:
        """State the problem of one draw."""
        weights = "lifted" if self.lifted else None
        problem = spectral_problem(sample.samples, self.window, self.mu or 1.0, weights=weights)
        if self.mu is None:
            mu = noise_mu(problem, sample.noise, margin=self.noise_margin)
            return replace(problem, mu=mu)
        return problem

    def recover(self, problem: Problem, seconds: float) -> Result:
        """Solve to the gap, or by the paper's rule; the time limit may end the run before."""
        if self.printed:
            start = LowRank.ones(problem.structure.shape, problem.backprojection)
            stop = Stop(max_time=seconds)
            states = gcgls_states(problem, self.lam, step="paper", pairs=1, start=start, stop=stop)
        else:
            stop = Stop(
                max_iter=self.max_iter, xtol=None, rtol=None, gap=self.gap, max_time=seconds
            )
            states = gcgls_states(problem, self.lam, stop=stop)
        return iterate(states, problem, stop=stop)


SETTINGS = (
    Setting("paper, by its stopping rule", "rule", PAPER.window, 1 / 64, mu=PAPER.mu, printed=True),
    Setting("paper, solved", "solved", PAPER.window, 1 / 64, mu=PAPER.mu),
    Setting(
        "lifted weights, window 25 x 25, mu from noise", "weighted", (25, 25), 1.0, True, gap=1e-3
    ),
)


def reproduce_scs(
    folder: Path, *, quick: bool = False, rng: int = 0, progress: bool = False
) -> list[str]:
    """Run the experiment and write its figures and tables.

    Parameters
    ----------
    folder : Path
        An empty folder.
    quick : bool
        A smaller signal and few seeds: a check that everything works.
    rng : int
        First seed.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of str
        The tables, as Markdown.
    """
    effort = QUICK if quick else FULL
    seeds = range(rng, rng + effort.seeds)
    rows: list[Row] = []
    with tqdm(total=len(SETTINGS) * len(seeds), desc="scs", disable=not progress) as bar:
        for seed in seeds:
            sample = sinusoids(effort.shape, PAPER.sinusoids, rng=seed)
            for setting in SETTINGS:
                bar.set_postfix_str(f"seed {seed}, {setting.name}")
                result = setting.recover(setting.problem(sample), effort.run_seconds)
                rows.append(_row(seed, setting, sample, result))
                if seed == rng:
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


def _frequency_error(true: NDArray, found: NDArray) -> float:
    """Return the largest distance, on the circle, from a true frequency to the nearest found."""
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
        "paper": PAPER.error,
        "true rank found": sum(row["rank"] == row["true rank"] for row in mine),
        "median gap": float(np.median([row["gap"] for row in mine])),
        "median rank": float(np.median([row["rank"] for row in mine])),
        "median frequency error": float(np.median([r["largest frequency error"] for r in mine])),
    }

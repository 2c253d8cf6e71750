"""Spectral compressed sensing, Figure 3 of the paper: a 2-D signal and its recovery.

The paper prints 101 x 101 values, six sinusoids, 20% seen at an amplitude signal-to-noise ratio of
10, window 8 x 8, mu = 0.1. A passage of its source that is not printed gives a normalised error of
0.181. "Sinusoids" can be cosines (12 modes, since its Y is real) or the complex exponentials of its
model (6 modes): both are run. No passage gives a lam for this experiment.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import product
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
from ..solvers.stopping import Status, Stop
from . import figures
from .comparison import stopping_rule
from .methods import AS_PRINTED, DEFAULT, PAPER_RULE, printed_states
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
class Signal:
    """Which sinusoids the true signal consists of."""

    name: str
    file: str  # part of the name of its figure
    real: bool


@dataclass(frozen=True)
class ScsEffort:
    """Size, seeds and seconds of the experiment."""

    shape: tuple[int, int] = PaperSignal.shape
    seeds: int = 20
    slow_seeds: int = 2  # for settings that take minutes
    run_seconds: float = 60.0  # per run, by default
    printed_seconds: float = 300.0  # per run as printed: a safeguard, their own rule ends most


PAPER = PaperSignal()
SIGNALS = (
    Signal("six cosines", "cosines", True),
    Signal("six exponentials", "exponentials", False),
)
FULL = ScsEffort()
QUICK = ScsEffort(shape=(33, 33), seeds=2, slow_seeds=1, run_seconds=1.0, printed_seconds=10.0)


@dataclass(frozen=True)
class Setting:
    """How the samples are made into a problem, and how it is solved.

    Attributes
    ----------
    name : str
        For the tables.
    form : str
        Algorithm 1 as printed, with the paper's start and stopping rule, or by default.
    penalty : str
        Which B: "difference" is the paper's.
    lam : float
        With a plain mask its natural size is the inverse of the multiplicity.
    window : tuple of int
    lifted : bool
        Whether samples are weighted as often as they occur in the matrix.
    mu : float or None
        None: at the level of the noise, whose true standard deviation is used.
    gap : float
        Gap to the optimum at which the run ends, unless as printed.
    noise_margin : float
        Margin on the mu at the level of the noise: fewer modes fit noise.
    max_iter : int
        Iteration limit, unless as printed.
    slow : bool
        Whether it takes minutes and is run for a few seeds only.
    panel : str, optional
        Caption of its panel in the figure, if it has one.
    """

    name: str
    form: str
    penalty: str = "difference"
    lam: float = 1 / 64
    window: tuple[int, int] = PaperSignal.window
    lifted: bool = False
    mu: float | None = PaperSignal.mu
    gap: float = 1e-2
    noise_margin: float = 1.5
    max_iter: int = 1000
    slow: bool = False
    panel: str | None = None

    @property
    def ours(self) -> str:
        """The settings that the paper does not print."""
        changes = {
            "lam": True,
            "B": self.penalty != "difference",
            "weights": self.lifted,
            "window": self.window != PAPER.window,
            f"mu (true noise level, margin {self.noise_margin:g})": self.mu is None,
            "step, start, stopping rule": self.form == DEFAULT,
        }
        return ", ".join(name for name, changed in changes.items() if changed)

    def problem(self, sample: SpectralSample) -> Problem:
        """State the problem of one draw."""
        weights = "lifted" if self.lifted else None
        problem = spectral_problem(sample.samples, self.window, self.mu or 1.0, weights=weights)
        if self.mu is None:
            mu = noise_mu(problem, sample.noise, margin=self.noise_margin)
            return replace(problem, mu=mu)
        return problem

    def stop(self, effort: ScsEffort) -> Stop:
        """When a run ends: by the paper's rule or at the gap, or else at a time limit."""
        if self.form == AS_PRINTED:
            return replace(PAPER_RULE, max_time=effort.printed_seconds)
        return Stop(self.max_iter, None, None, gap=self.gap, max_time=effort.run_seconds)

    def recover(self, problem: Problem, stop: Stop) -> Result:
        """Solve the problem by GCGLS."""
        if self.form == AS_PRINTED:
            start = LowRank.ones(problem.structure.shape, problem.backprojection)
            states = printed_states(problem, self.lam, penalty=self.penalty, start=start)
        else:
            states = gcgls_states(problem, self.lam, penalty=self.penalty, stop=stop)
        return iterate(states, problem, stop=stop)


SETTINGS = (
    Setting("as printed", AS_PRINTED, panel="as printed"),
    Setting("as printed, lam of SSR", AS_PRINTED, lam=1.0, slow=True),
    Setting("as printed but B", AS_PRINTED, "projection"),
    Setting("default", DEFAULT, slow=True, panel="default, same problem"),
    Setting("default, our B", DEFAULT, "projection"),
    Setting(
        "default, our B, weights, window, mu",
        DEFAULT,
        "projection",
        lam=1.0,
        window=(25, 25),
        lifted=True,
        mu=None,
        gap=1e-3,
        panel="default, our problem",
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
    runs = [
        (signal, setting, seed)
        for signal, setting in product(SIGNALS, SETTINGS)
        for seed in seeds[: effort.slow_seeds if setting.slow else effort.seeds]
    ]
    rows: list[Row] = []
    pictures: dict[Signal, dict[str, NDArray]] = {signal: {} for signal in SIGNALS}
    with tqdm(runs, desc="scs", disable=not progress) as bar:
        for signal, setting, seed in bar:
            bar.set_postfix_str(f"{signal.name}, {setting.name}, seed {seed}")
            sample = drawn(signal, effort, seed)
            stop = setting.stop(effort)
            result = setting.recover(setting.problem(sample), stop)
            rows.append(_row(seed, signal, setting, sample, result, stop))
            if seed == rng and setting.panel is not None:
                caption = f"{setting.panel}, error {rows[-1]['error']:.2f}"
                pictures[signal][caption] = result.y
    for signal, recovered in pictures.items():
        path = folder / f"scs-{signal.file}.png"
        figures.spectral_panels(drawn(signal, effort, rng), recovered, signal.name, path)
    settings = [asdict(setting) for setting in SETTINGS]
    about = {"experiment": "scs", "quick": quick, "seeds": list(seeds), "settings": settings}
    write_about(folder, about)
    summary = [_summary(signal, setting, rows) for signal, setting in product(SIGNALS, SETTINGS)]
    return [write_table(folder / "scs-seeds", rows), write_table(folder / "scs", summary)]


def drawn(signal: Signal, effort: ScsEffort, seed: int) -> SpectralSample:
    """Draw the signal of one seed, and its samples."""
    return sinusoids(effort.shape, PAPER.sinusoids, real=signal.real, rng=seed)


def _row(
    seed: int, signal: Signal, setting: Setting, sample: SpectralSample, result: Result, stop: Stop
) -> Row:
    modes = find_modes(result, rank=min(result.rank, len(sample.modes)))
    return {
        "signal": signal.name,
        "setting": setting.name,
        "seed": seed,
        "form": setting.form,
        "B": setting.penalty,
        "lam": setting.lam,
        "mu": result.problem.mu,
        "stops at": stopping_rule(stop),
        "error": float(np.linalg.norm(result.y - sample.truth) / np.linalg.norm(sample.truth)),
        "rank": result.rank,
        "true rank": len(sample.modes),
        "largest frequency error": _frequency_error(sample.modes.frequencies, modes.frequencies),
        "gap": result.gap,
        "||B X||": result.history.violation[-1],
        "iterations": result.iterations,
        "ended": result.status.name,
        "seconds": result.history.time[-1],
    }


def _frequency_error(true: NDArray, found: NDArray) -> float:
    """Return the largest distance, on the circle, from a true frequency to the nearest found."""
    difference = true[:, None, :] - found[None, :, :]
    distance = np.max(np.abs((difference + 0.5) % 1 - 0.5), axis=2)
    return float(np.max(np.min(distance, axis=1)))


def _summary(signal: Signal, setting: Setting, rows: list[Row]) -> Row:
    chosen = (signal.name, setting.name)
    mine = [row for row in rows if (row["signal"], row["setting"]) == chosen]
    errors = [row["error"] for row in mine]

    def median(column: str) -> float:
        return float(np.median([row[column] for row in mine]))

    return {
        "signal": signal.name,
        "setting": setting.name,
        "form": setting.form,
        "B": setting.penalty,
        "lam": setting.lam,
        "not printed": setting.ours,
        "seeds": len(mine),
        "median error": float(np.median(errors)),
        "least": min(errors),
        "largest": max(errors),
        "paper": PAPER.error,
        "true rank found": sum(row["rank"] == row["true rank"] for row in mine),
        "median gap": median("gap"),
        "median rank": median("rank"),
        "median frequency error": median("largest frequency error"),
        "stopped by time": sum(row["ended"] == Status.MAX_TIME.name for row in mine),
    }

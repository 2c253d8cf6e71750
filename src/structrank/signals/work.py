"""The work of a recovery: how long one step of each kind takes on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import scipy.fft

from .._array import NDArray, is_complex
from .._watch import clock
from ..components.likelihood import LikelihoodSearch, most_likely
from ..components.model import Components
from ..components.search import ComponentSearch, fitted_part
from ..modal.greedy import GreedySearch, greedy_modes
from ..modal.model import ModalModel
from ..modal.modes import Modes
from ..modal.rate_fit import RateFit, RateSteps
from ..modal.samples import ChannelSamples
from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate
from ..solvers.stopping import Stop
from .channels import channel_count
from .logdet import WindowDescent


@dataclass(frozen=True)
class Timing:
    """How steps are timed; set by hand, so that an estimate takes a small share of the call.

    Attributes
    ----------
    repeats : int
        The shortest of so many times counts.
    samples : int
        Samples, at most, from which modes are looked for, and for which a step of their fit is
        timed. Longer steps are proportional.
    values : int
        Values, at most, of a piece of the signal for which a step of a local fit is timed.
    modes : int
        Modes of the fit that is timed if a look finds none.
    share : float
        Share of noise in a timed step of a local fit.
    steps : int
        Steps of the convex solution that are timed.
    mu_share : float
        Their mu over `mu_max`.
    look : GreedySearch
        How modes are looked for.
    """

    repeats: int = 3
    samples: int = 800
    values: int = 2048
    modes: int = 10
    share: float = 1e-3
    steps: int = 3
    mu_share: float = 0.1
    look: GreedySearch = field(
        default_factory=lambda: GreedySearch(
            most=16,
            patience=1,
            patient_numbers=0,
            decays=(0.0, 3.0),
            coarse=RateSteps(4, 3e-2),
            fine=RateSteps(2, 1e-3),
        )
    )


def shortest(work: Callable[[], Any], timing: Timing) -> float:
    """Return the shortest of some times of a call, in seconds."""
    times = []
    for _ in range(timing.repeats):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def look_for_modes(problem: Problem, timing: Timing = Timing()) -> Modes | None:
    """Return modes found by a quick look at some of the samples; None for many, or for none."""
    share = timing.samples / problem.sample_count
    if share < 1:
        left_out = np.random.default_rng(0).random(problem.seen.shape) > share
        problem = problem.without(problem.seen & left_out)
    return greedy_modes(problem, search=timing.look)


@dataclass(frozen=True)
class ModeSteps:
    """Seconds of the parts of a search for modes.

    Attributes
    ----------
    call : float
        A step of the fit to very few samples: what does not grow with their number.
    fit : float
        What a step to all samples takes beyond.
    spectrum : float
        The spectra of all channels.
    """

    call: float
    fit: float
    spectrum: float


def time_modes(problem: Problem, count: int, timing: Timing = Timing()) -> ModeSteps:
    """Time the steps of a search for modes, of which there are `count`."""
    structure: Any = problem.structure
    shape, rng = structure.lengths, np.random.default_rng(0)
    channels = channel_count(problem)
    real = not is_complex(problem.b)
    each = max(problem.sample_count // channels, 1)

    def fit(size: int) -> float:
        places = [rng.integers(0, length, size) for length in shape]
        values = rng.standard_normal(size) * (1.0 if real else 1.0 + 0.0j)
        samples = [ChannelSamples(shape, places, np.ones(size), values)] * channels
        frequencies = rng.uniform(0.05, 0.45, (count, len(shape)))
        modes = Modes(frequencies, 0 * frequencies, np.ones((count, channels), dtype=complex))
        model = ModalModel.of(modes, shape, real=False, undamped=False)
        start = RateFit.of(replace(model, real=real, paired=model.paired | real), samples)
        return shortest(lambda: start.refined(RateSteps(1, 0.0)), timing)

    few = max(2 * count, 16)
    timed = max(timing.samples, 2 * few)
    call = fit(few)
    padded = tuple(scipy.fft.next_fast_len(2 * length) for length in shape)
    grid = np.ones(shape, dtype=complex)
    spectrum = channels * shortest(lambda: np.abs(scipy.fft.fftn(grid, padded)), timing)
    return ModeSteps(call, max(fit(timed) - call, 0.0) * each / timed, spectrum)


def time_local_fit(
    samples: NDArray, window: tuple[int, ...], thorough: bool, timing: Timing = Timing()
) -> float:
    """Time a step of a local fit.

    Parameters
    ----------
    samples : ndarray, shape (lengths..., channels)
        NaN where missing.
    window : tuple of int
    thorough : bool
    timing : Timing

    Returns
    -------
    float
        Seconds.
    """
    lengths = samples.shape[:-1]
    side = max(timing.values // samples.shape[-1], 1) ** (1 / len(lengths))
    sizes = [min(n, max(round(side), 4 * w)) for n, w in zip(lengths, window, strict=True)]
    piece = samples[
        tuple(slice((n - s) // 2, (n + s) // 2) for n, s in zip(lengths, sizes, strict=True))
    ]
    if not np.all(np.any(~np.isnan(piece), axis=tuple(range(len(lengths))))):
        piece = np.random.default_rng(0).standard_normal(piece.shape).astype(piece.dtype)
    descent = WindowDescent(piece, window, thorough=thorough)
    descent.step(timing.share)
    return (
        shortest(lambda: descent.step(timing.share), timing)
        * prod(lengths)
        / prod(piece.shape[:-1])
    )


def time_components(y: NDArray, timing: Timing = Timing()) -> float:
    """Time a step of the search for the components of a series, in seconds.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    timing : Timing
    """
    y = (y - np.nanmean(y)) / (np.nanstd(y) or 1.0)
    y, starts = y[fitted_part(y)], ComponentSearch().starts
    components = Components(len(y), slope=True, order=1, drifts=("level", "slope"))
    one = LikelihoodSearch(steps=1)
    return shortest(lambda: most_likely(components, y, starts, one), timing)


def time_convex_step(problem: Problem, timing: Timing = Timing()) -> float:
    """Time a step of the solver of the convex problem, in seconds."""
    problem = replace(problem, mu=timing.mu_share * (mu_max(problem) or 1.0))
    stop = Stop(timing.steps, xtol=None, rtol=None)
    began = clock()
    result = iterate(gcgls_states(problem, 1.0, stop=stop), problem, stop=stop)
    return (clock() - began) / max(result.iterations, 1)

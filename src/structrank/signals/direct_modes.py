"""The fit of modes without a convex solution, where nothing else could do better."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._array import Array, NDArray, inner, is_complex, limited_like, to_numpy
from .._checks import random_generator
from .._watch import seconds_left, time_is_up, watched
from ..modal.fit import LevenbergMarquardt
from ..modal.greedy import GreedySearch, greedy_modes
from ..modal.modal_refit import refit_modes
from ..modal.modes import Modes
from ..modal.pencil import exact_modes
from ..modal.refit_result import Refit, number_count
from ..modal.refitting import reweighted
from ..modal.restarts import Restarts
from ..model.problem import Problem
from ..model.scale import is_rounded
from ..selection.holdout import held_out_parts
from ..selection.whiteness import WhitenessTest, is_white, variation
from .solutions import Known


@dataclass(frozen=True)
class DirectSearch:
    """When modes that were found directly are trusted; set by hand.

    Attributes
    ----------
    met : float
        A residual below this share of the samples is rounding: they are met exactly.
    spare : int
        Real numbers that were seen beyond the number of parameters, at least.
    parts : int
        Parts of the samples that are predicted from the others.
    steps, smallest_decrease : int, float
        Steps of such a fit at most, and the relative decrease of the squared residual at its end.
    slack : float
        Share by which squared prediction errors may exceed what the noise explains.
    deviations : float
        Standard deviations by which they may exceed it by chance.
    few : int
        Real numbers, at most, for which undamped modes are tried too. They are found from fewer
        exact samples than damped ones (`benchmarks.phase_transition --part peers`).
    most_doubtful : int
        Modes, at most, that leave more than white noise and compete with other estimates.
    fewest : int
        Real numbers that were seen, at least, unless they are met exactly or nearly: fewer hide
        correlations that other estimates would use.
    nearly : float
        Share of the variation that modes leave in fewer numbers, at most (`benchmarks.short`).
    undamped : float
        A damping within so many standard errors of zero may be zero. The information criterion
        decides.
    doubtful_tries : int
        Sets of dampings that are tried at zero, at most, in a fit that is not trusted. It rarely
        wins: in a random walk of 500 samples, all tries took a quarter of the time.
    whiteness, whiteness_at_rank : WhitenessTest
        What is left has to pass the first; the second if the number of modes is given, when only
        modes at wrong places are to be found out, and they leave much.
    greedy_share : float
        Share of a time limit after which the search for modes ends; their fit has the rest. Taste.
    greedy : GreedySearch
        How modes are searched one after the other.
    restarts : Restarts
        How often they are searched anew, if nothing explains the samples.
    """

    met: float = 1e-9
    spare: int = 2
    parts: int = 2
    steps: int = 10
    smallest_decrease: float = 1e-3
    slack: float = 0.2
    deviations: float = 3.0
    few: int = 512
    most_doubtful: int = 30
    fewest: int = 100
    nearly: float = 0.1
    undamped: float = 3.0
    doubtful_tries: int = 1
    whiteness: WhitenessTest = field(default_factory=WhitenessTest)
    whiteness_at_rank: WhitenessTest = field(
        default_factory=lambda: WhitenessTest(chance=1e-6, deviations=6.0)
    )
    greedy_share: float = 0.5
    greedy: GreedySearch = field(default_factory=GreedySearch)
    restarts: Restarts = field(default_factory=Restarts)


@dataclass(frozen=True, eq=False)
class DirectFit:
    """A fit of modes that were found without a convex solution.

    Attributes
    ----------
    fit : Refit
    trusted : bool
        The modes meet the samples, or leave white noise and predict samples that are held out.
        If their number was given, and they were searched here, no samples are held out.
    met : bool
        The modes meet the samples exactly.
    """

    fit: Refit
    trusted: bool
    met: bool = False


def direct_fit(
    problem: Problem,
    known: Known,
    search: DirectSearch = DirectSearch(),
    *,
    modes: Modes | None = None,
) -> DirectFit | None:
    """Fit modes to the samples, and test whether they explain them up to white noise.

    Parameters
    ----------
    problem : Problem
    known : Known
    search : DirectSearch
    modes : Modes, optional
        Where to start. Default: search for modes.

    Returns
    -------
    DirectFit or None
        None if the samples do not look like a sum of a few modes.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.direct_modes import direct_fit
    >>> from structrank.signals.problems import hankel_problem
    >>> from structrank.signals.solutions import Known
    >>> noise = np.random.default_rng(0).standard_normal(100)
    >>> tone, walk = np.cos(0.6 * np.arange(100)) + 0.1 * noise, np.cumsum(noise)
    >>> [direct_fit(hankel_problem(samples), Known()).trusted for samples in (tone, walk)]
    [True, False]
    """
    if not problem.structure.has_modes or problem.sample_weights is None:
        return None
    problem, undamped = reweighted(problem, known.weights), known.undamped
    given = modes is not None
    if known.rank is not None:
        search = replace(search, whiteness=search.whiteness_at_rank)
    if modes is None and not undamped:
        modes = exact_modes(problem, known.rank)
    met, white = explained(problem, modes, search)
    rounded = is_rounded(to_numpy(problem.b)[problem.seen])  # modes do not meet them exactly
    if not (met or given):
        greedy = _impatient(search.greedy) if rounded else search.greedy
        with watched(search.greedy_share * seconds_left()):
            modes = greedy_modes(problem, rank=known.rank, undamped=undamped, search=greedy)
        met, white = explained(problem, modes, search)
    few = number_count(problem) <= search.few
    if few and not (met or white or undamped or given or rounded) and not time_is_up():
        others = greedy_modes(problem, rank=known.rank, undamped=True, search=search.greedy)
        if explained(problem, others, search)[0]:
            modes, undamped, met = others, True, True
    if modes is None or not (met or white or len(modes) <= search.most_doubtful):
        return None  # before a fit that takes long
    fit = refit_modes(problem, modes, sigma=known.sigma, undamped=undamped)
    if fit.rank != len(modes) or fit.sample_count - fit.parameters < search.spare:
        return None
    if not _met(problem, fit.y, search) and not certain(fit):
        return None
    # If only the number of modes was given, there was no choice that the samples could mislead.
    sure = known.rank is not None and not given
    trusted = met or (white and (sure or time_is_up() or _predicts(fit, known, search)))
    tries = None if trusted else search.doubtful_tries
    return DirectFit(without_idle_dampings(fit, known.sigma, search, tries), trusted, met)


def without_idle_dampings(
    fit: Refit,
    sigma: float | None = None,
    search: DirectSearch = DirectSearch(),
    tries: int | None = None,
) -> Refit:
    """Hold the modes undamped whose damping is not distinguishable from zero.

    Parameters
    ----------
    fit : Refit
    sigma : float, optional
        Standard deviation of the noise, if known.
    search : DirectSearch
    tries : int, optional
        Sets of modes that are tried undamped, at most; the largest sets first.

    Returns
    -------
    Refit
        The fit itself if the information criterion is not better for the other.
    """
    modes = fit.modes
    if modes is None or modes.stderr is None:
        return fit
    errors = np.maximum(modes.stderr.dampings, np.finfo(float).tiny)
    distances = np.max(np.abs(modes.dampings) / errors, axis=1)
    limits = np.unique(distances[(distances <= search.undamped) & (distances > 0)])
    for limit in limits[::-1][:tries]:
        idle = distances <= limit * (1 + 1e-6)  # both modes of a conjugate pair
        other = refit_modes(fit.problem, modes, sigma=sigma, undamped=idle, noise=fit.noise)
        if other.rank == fit.rank and other.information < fit.information:
            return other
        if time_is_up():
            break
    return fit


def _impatient(greedy: GreedySearch) -> GreedySearch:
    """The search where no modes are expected to meet the samples exactly."""
    return replace(greedy, patient_numbers=0)


def _met(problem: Problem, y: Array, search: DirectSearch) -> bool:
    residual, data = problem.residual(y), problem.data
    return inner(residual, residual) <= search.met**2 * inner(data, data)


def certain(fit: Refit) -> bool:
    """Whether no value of the signal is less certain than the scale of the samples."""
    scale = float(np.max(np.abs(to_numpy(fit.problem.b)[fit.problem.seen])))
    return fit.sigma is not None and float(np.max(to_numpy(fit.stderr))) <= scale


def explained(problem: Problem, modes: Modes | None, search: DirectSearch) -> tuple[bool, bool]:
    """Return whether modes meet the samples, and whether they leave nothing but white noise.

    Parameters
    ----------
    problem : Problem
    modes : Modes or None
    search : DirectSearch
    """
    if modes is None:
        return False, False
    signal = _signal(problem, modes)
    met = _met(problem, signal, search)
    return met, not met and _noise_is_left(problem, signal, search)


def _signal(problem: Problem, modes: Modes) -> Array:
    structure: Any = problem.structure
    signal = modes.signal(structure.lengths).reshape(structure.signal_shape)
    return limited_like(signal if is_complex(problem.b) else signal.real, problem.backprojection)


def _noise_is_left(problem: Problem, y: Array, search: DirectSearch) -> bool:
    """Whether a signal leaves nothing but white noise, as far as enough samples tell."""
    structure: Any = problem.structure
    grid = (*structure.lengths, -1)
    seen = problem.seen.reshape(grid)
    weights = to_numpy(problem.sample_weights).reshape(grid)
    residual = np.where(seen, weights * to_numpy(problem.b - y).reshape(grid), 0.0)
    if number_count(problem) < search.fewest:
        if np.ptp(weights[seen]):  # small weights would hide much
            return False
        samples = weights * to_numpy(problem.b).reshape(grid)
        left = np.mean(np.abs(residual[seen]) ** 2)
        if left > search.nearly * variation(samples, seen):
            return False
    return is_white(residual, seen, search.whiteness)


def _predicts(fit: Refit, known: Known, search: DirectSearch) -> bool:
    """Whether held-out samples are predicted as well as noise and standard errors allow."""
    assert fit.sigma is not None
    assert fit.modes is not None
    problem, stderr = fit.problem, to_numpy(fit.stderr)
    parts = held_out_parts(problem, random_generator(known.rng), search.parts)
    ratios = []
    for part in parts:
        y = fit_without(problem, fit.modes, part, known, search)
        error = np.abs(to_numpy(y - problem.b)[part]) ** 2
        noise = fit.sigma / to_numpy(problem.sample_weights)[part]
        ratios.append(error / (noise**2 + stderr[part] ** 2))
    ratio = np.concatenate(ratios)
    chance = search.deviations * np.sqrt(2 / ratio.size)
    return bool(np.mean(ratio) <= 1 + search.slack + chance)


def fit_without(
    problem: Problem,
    modes: Modes,
    part: NDArray,
    known: Known,
    search: DirectSearch = DirectSearch(),
) -> Array:
    """Return the signal of a coarse fit to the samples outside a part, from modes of all.

    Parameters
    ----------
    problem : Problem
    modes : Modes
        Where to start.
    part : ndarray of bool
        The samples to hold out.
    known : Known
    search : DirectSearch

    Returns
    -------
    array
    """
    method = LevenbergMarquardt(search.steps, search.smallest_decrease)
    without = problem.without(part)
    return refit_modes(without, modes, undamped=known.undamped, method=method).y


def fit_anew(
    problem: Problem, part: NDArray, known: Known, search: DirectSearch = DirectSearch()
) -> Array:
    """Return the signal of modes that are found without a part of the samples.

    It is for samples that modes of all of them do not meet exactly, and no others do here.

    Parameters
    ----------
    problem : Problem
    part : ndarray of bool
        The samples to hold out.
    known : Known
    search : DirectSearch

    Returns
    -------
    array
        Zero if no modes are found.
    """
    without = problem.without(part)
    greedy = _impatient(search.greedy)
    modes = greedy_modes(without, rank=known.rank, undamped=known.undamped, search=greedy)
    if modes is None:
        return 0 * problem.backprojection
    return fit_without(problem, modes, part, known, search)

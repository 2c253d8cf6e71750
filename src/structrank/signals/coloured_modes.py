"""The fit of modes where the noise is coloured: when it is tried, taken, and trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import random_generator
from .._watch import time_is_up
from ..modal.autoregressive_noise import AutoregressiveNoise
from ..modal.coloured_search import ColouredModes, ColouredSearch, coloured_modes
from ..modal.fit import LevenbergMarquardt
from ..modal.modal_refit import refit_modes
from ..modal.refit_result import Refit, information_criterion
from ..modal.refitting import reweighted
from ..model.problem import Problem
from ..selection.holdout import held_out_parts
from .direct_modes import DirectFit, DirectSearch, certain, without_idle_dampings
from .solutions import Known


@dataclass(frozen=True)
class ColouredTrust:
    """When noise counts as coloured, and when modes in it need no other estimate; set by hand.

    Attributes
    ----------
    fewest : int
        Samples, at least: fewer hardly distinguish noise from modes.
    gain : float
        By which the information criterion has to improve on that of white noise. White noise
        improves it by so much in about one of 500 records.
    rough_gain : float
        The same for the rough criterion that decides whether to search: it misses part of the gain.
    rough_orders : int
        Highest order of noise of the rough criterion.
    memories : float
        Length of the record over the memory of the noise, at least: slower noise may as well be
        a part of the signal that drifts.
    most : float
        Variance of the noise over that of the samples, at most.
    share : float
        The same for modes that are trusted: if it is more, estimates that predict the noise are
        tried too.
    more : float
        The same for modes that were found for white noise, over that share, at most, if modes in
        coloured noise could be trusted: there are hardly more of them, so they leave no less.
    search : ColouredSearch
    """

    fewest: int = 60
    gain: float = 5.0
    rough_gain: float = 2.0
    rough_orders: int = 2
    memories: float = 3.0
    most: float = 1.0
    share: float = 0.25
    more: float = 1.2
    search: ColouredSearch = field(default_factory=ColouredSearch)


def coloured_fit(
    problem: Problem,
    known: Known,
    white: DirectFit | None,
    search: DirectSearch = DirectSearch(),
    trust: ColouredTrust = ColouredTrust(),
) -> DirectFit | None:
    """Fit modes to samples in autoregressive noise, if that explains them clearly better.

    Parameters
    ----------
    problem : Problem
    known : Known
    white : DirectFit or None
        What was found for white noise.
    search : DirectSearch
    trust : ColouredTrust

    Returns
    -------
    DirectFit or None
        None if the noise may be white, and for several axes, channels, or known noise levels.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from structrank.signals.coloured_modes import coloured_fit
    >>> from structrank.signals.problems import hankel_problem
    >>> from structrank.signals.solutions import Known
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> tone, coloured = np.cos(0.6 * np.arange(200)), lfilter([1.0], [1.0, -0.9], noise)
    >>> found = coloured_fit(hankel_problem(tone + coloured), Known(), None)
    >>> found.fit.rank, found.fit.noise
    (2, AR(1), 0.90)
    >>> coloured_fit(hankel_problem(tone + noise), Known(), None) is None
    True
    """
    if time_is_up() or not _applies(problem, known, trust) or (white is not None and white.met):
        return None
    problem = reweighted(problem)
    if white is not None and not may_be_coloured(white.fit, trust):
        return None
    found = coloured_modes(problem, rank=known.rank, undamped=known.undamped, search=trust.search)
    if found is None or not _clearly_better(problem, known, found, white, trust):
        return None
    fit = refit_modes(
        problem, found.modes, sigma=known.sigma, undamped=known.undamped, noise=found.noise
    )
    if fit.rank != len(found.modes) or not certain(fit) or not _is_noise(fit, found.noise, trust):
        return None
    fit = without_idle_dampings(fit, known.sigma, search)
    return DirectFit(fit, _trusted(fit, found.noise, known, search, trust))


def may_be_trusted(white: Refit, trust: ColouredTrust = ColouredTrust()) -> bool:
    """Return whether modes in coloured noise could be trusted, before they are searched for.

    Parameters
    ----------
    white : Refit
        Modes that were fitted for white noise.
    trust : ColouredTrust
    """
    return _share(white) <= trust.more * trust.share


def _applies(problem: Problem, known: Known, trust: ColouredTrust) -> bool:
    structure: Any = problem.structure
    if not structure.has_modes or problem.sample_weights is None or known.weights is not None:
        return False
    one_series = int(np.prod(problem.b.shape)) == structure.lengths[0]
    return one_series and int(np.count_nonzero(problem.seen)) >= trust.fewest


def may_be_coloured(fit: Refit, trust: ColouredTrust = ColouredTrust()) -> bool:
    """Return whether all modes, or fewer, could leave coloured noise, by a rough criterion.

    It is the likelihood of those samples whose neighbours before them are seen.

    Parameters
    ----------
    fit : Refit
        Modes that were fitted for white noise.
    trust : ColouredTrust
    """
    assert fit.modes is not None
    structure: Any = fit.problem.structure
    seen = to_numpy(fit.problem.seen).reshape(-1)
    left = np.where(seen, to_numpy(fit.problem.b).reshape(-1), 0.0)
    data, each = float(np.vdot(left, left).real), fit.parameters / max(fit.rank, 1)
    for k in range(fit.rank + 1):
        square = float(np.vdot(left, left).real)
        determinants = _rough_determinants(left, seen, trust.rough_orders)
        for order, log_determinant in enumerate(determinants, start=1):
            rough = information_criterion(
                square,
                data,
                numbers=fit.sample_count,
                parameters=round(k * each) + order,
                rank=k,
                log_determinant=log_determinant,
            )
            if rough < fit.information - trust.rough_gain:
                return True
        wave = fit.modes[k : k + 1].signal(structure.lengths)
        left = left - np.where(seen, wave if np.iscomplexobj(left) else wave.real, 0.0)
    return False


def _rough_determinants(left: NDArray, seen: NDArray, orders: int) -> Iterator[float]:
    """Logarithms of determinants of the correlations of noise, for the orders one, two, ..."""
    parts, count = 2 if np.iscomplexobj(left) else 1, len(left)
    for order in range(1, orders + 1):
        lags = range(1, order + 1)
        whole = np.all([seen[order - lag : count - lag] for lag in (0, *lags)], axis=0)
        past = np.stack([left[order - lag : count - lag][whole] for lag in lags], axis=1)
        now = left[order:][whole]
        if len(now) <= 2 * order:
            return
        error = now - past @ np.linalg.lstsq(past, now, rcond=None)[0]
        ratio = np.vdot(error, error).real / (np.vdot(now, now).real or 1.0)
        yield parts * len(now) * float(np.log(max(ratio, np.finfo(float).tiny)))


def _clearly_better(
    problem: Problem,
    known: Known,
    found: ColouredModes,
    white: DirectFit | None,
    trust: ColouredTrust,
) -> bool:
    """Whether the information criterion asks for coloured noise."""
    same = refit_modes(problem, found.modes, undamped=known.undamped)
    least = same.information if white is None else min(same.information, white.fit.information)
    return found.information < least - trust.gain


def _is_noise(fit: Refit, noise: AutoregressiveNoise, trust: ColouredTrust) -> bool:
    """Whether what is left is neither slow nor large, as a part of the signal would be."""
    slow = trust.memories * noise.memory > fit.problem.b.shape[0]
    return not slow and _share(fit) <= trust.most


def _share(fit: Refit) -> float:
    """Variance of the noise over that of the samples."""
    variance = float(np.var(to_numpy(fit.problem.b)[fit.problem.seen]))
    return (fit.sigma or 0.0) ** 2 / (variance or 1.0)


def _trusted(
    fit: Refit,
    noise: AutoregressiveNoise,
    known: Known,
    search: DirectSearch,
    trust: ColouredTrust,
) -> bool:
    """Whether no other estimate could do better."""
    if noise.order == trust.search.noise.most or _share(fit) > trust.share:
        return False
    return _predicts(fit, noise, known, search)


def _predicts(fit: Refit, noise: AutoregressiveNoise, known: Known, search: DirectSearch) -> bool:
    """Whether held-out samples are predicted, together with their noise, as well as expected."""
    problem, seen = fit.problem, to_numpy(fit.problem.seen).reshape(-1)
    assert fit.modes is not None
    assert fit.sigma is not None
    method = LevenbergMarquardt(search.steps, search.smallest_decrease)
    square, count = 0.0, 0
    for part in held_out_parts(problem, random_generator(known.rng), search.parts):
        without = problem.without(part)
        found = refit_modes(without, fit.modes, undamped=known.undamped, method=method, noise=noise)
        error = to_numpy(problem.b - found.y).reshape(-1)
        kept = to_numpy(without.seen).reshape(-1)
        square += _likely(noise, error, seen) - _likely(noise, error, kept)
        count += int(np.count_nonzero(part))
    chance = search.deviations * np.sqrt(2 / count)
    return bool(square / count <= fit.sigma**2 * (1 + search.slack + chance))


def _likely(noise: AutoregressiveNoise, error: NDArray, seen: NDArray) -> float:
    """Square of whitened errors."""
    white = noise.whitening(seen).apply(error[seen])
    return float(np.vdot(white, white).real)

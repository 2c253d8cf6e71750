"""Gross errors among the samples: find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import instance_of, positive
from .._watch import time_is_up, watched
from ..modal.greedy import needed_modes
from ..modal.refitting import reweighted
from ..modal.robust_greedy import RobustGreedySearch, robust_modes
from ..model.problem import Problem
from ..model.scale import deviation_by_median
from ..selection.noise import noise_mu
from ..selection.whiteness import has_gaussian_tails
from .caller import status_of, warn_caller
from .direct_modes import DirectFit, direct_fit
from .outlier_levels import Level, OutlierSearch, best_level
from .solutions import Known


def find_outliers(
    problem: Problem,
    *,
    rng: int | np.random.Generator = 0,
    max_time: float | None = None,
    progress: bool = False,
    search: OutlierSearch = OutlierSearch(),
) -> NDArray:
    """Find the samples that are gross errors: far from where the others say they should be.

    Modes are found one after the other, with large residuals clipped. Outliers are samples more
    than four standard deviations away from the fit, by the median of the residuals. They are
    returned if the modes meet all others exactly, or if they leave nothing but white noise of these
    and predict held-out ones as well as the noise allows. If this noise is not Gaussian, errors may
    hide in it: then outliers from 3 and 2.5 deviations on are tried, until the modes stay the same
    from one such line to the next. Of these, only those beyond four deviations are returned if the
    others then look like Gaussian noise.

    Otherwise it solves with the robust loss of `solve_robust` for lower and lower noise levels,
    which set both mu and the threshold, and takes the level with the least information criterion.
    Outliers are samples more than four standard deviations away there. If there are many, others
    may hide behind them, so it searches again without them.

    This works with gross errors in a quarter of the samples, often in a third and more. It warns if
    more than a third are found, or if the residuals of the others do not look like noise around a
    few modes, as when many were missed. Errors of the size of the signal can escape both.

    Parameters
    ----------
    problem : Problem
        With samples of a signal and a Hankel structure; lifted weights are best. Its own mu does
        not matter.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    max_time : float, optional
        Time limit in seconds. When it ends the search, the outliers so far are returned, with a
        warning.
    progress : bool
        Say what is being tried: on a terminal in a progress bar, else in a line from time to time.
    search : OutlierSearch
        Limits and tolerances of the search.

    Returns
    -------
    ndarray of bool
        True at the outliers, in the shape of `problem.b`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, find_outliers
    >>> samples = np.cos(0.3 * np.arange(120))
    >>> samples += 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> samples[[30, 77]] = 5.0, -7.0
    >>> problem = Problem(Hankel(120, window=60), samples, mu=1.0, measure="lifted")
    >>> np.flatnonzero(find_outliers(problem))
    array([30, 77])
    """
    max_time = None if max_time is None else positive(max_time, "max_time")
    with watched(max_time, progress) as watch:
        found = search_outliers(problem, Known(rng=rng), search)
    status_of(watch, "find_outliers")
    if found.doubt is not None:
        warn_caller(f"find_outliers: {found.doubt}")
    return found.outliers


@dataclass(frozen=True, eq=False)
class FoundOutliers:
    """The outliers of a problem.

    Attributes
    ----------
    outliers : ndarray of bool
    doubt : str or None
        Why the outliers cannot be trusted, if there is a reason.
    direct : DirectFit or None
        The fit of modes to the other samples, if they were found together. It may leave out a few
        samples more, between noise and outliers.
    """

    outliers: NDArray
    doubt: str | None
    direct: DirectFit | None = None


def search_outliers(
    problem: Problem, known: Known, search: OutlierSearch = OutlierSearch()
) -> FoundOutliers:
    """Find outliers as `find_outliers` does, and say why they may be wrong instead of warning.

    Parameters
    ----------
    problem : Problem
    known : Known
        What the caller knows about the signal.
    search : OutlierSearch

    Returns
    -------
    FoundOutliers
    """
    _check_problem(problem)
    instance_of(search, OutlierSearch, "search")
    structure: Any = problem.structure
    places = tuple(range(len(structure.lengths)))
    alive = np.any(problem.seen & (to_numpy(problem.b) != 0), axis=places)
    if np.all(alive):
        found = _search_directly(problem, known, search)
        if found is not None:
            return found
    seen = problem.seen & alive
    if not np.any(seen):
        return FoundOutliers(seen, None)
    outliers, level = _search_levels(problem, seen, known, search)
    doubt = _doubt(float(np.sum(outliers) / np.sum(seen)), level, search)
    outliers = outliers & np.any(seen & ~outliers, axis=places)  # a channel keeps its only one
    return FoundOutliers(outliers, doubt)


def _search_directly(problem: Problem, known: Known, search: OutlierSearch) -> FoundOutliers | None:
    """Find modes and outliers together; None unless they can be trusted.

    They can if they leave Gaussian noise, or if they are the same for two lines between outliers
    and noise, one after the other.
    """
    if not problem.structure.has_modes:
        return None
    last: _Explained | None = None
    for line in search.lines:
        outliers, fit = _modes_and_outliers(problem, known, search, line)
        found = None if fit is None else _Explained.by(problem, outliers, fit, search)
        if last is not None and found is not None and last.agrees(found):
            return FoundOutliers(last.outliers, last.doubt, last.direct)
        if found is not None and found.gaussian:
            return FoundOutliers(found.clear_outliers(problem, search), None, found.direct)
        last = found
    return None


@dataclass(frozen=True, eq=False)
class _Explained:
    """Modes and outliers that explain the samples, perhaps with doubts."""

    outliers: NDArray
    direct: DirectFit
    level: Level
    doubt: str | None
    gaussian: bool

    @classmethod
    def by(
        cls, problem: Problem, outliers: NDArray, direct: DirectFit, search: OutlierSearch
    ) -> _Explained | None:
        """None if the modes are not trusted, or if what they leave may be gross errors."""
        good = problem.seen & ~outliers
        fit, samples = direct.fit, to_numpy(problem.b)[good]
        residual = samples - to_numpy(fit.y)[good]
        level = Level(residual, samples, fit.rank, fit.parameters, search)
        share = float(np.sum(outliers) / np.sum(problem.seen))
        if not direct.trusted or level.noise > search.found * deviation_by_median(samples):
            return None
        if share > search.largest_share or level.is_large:
            return None
        doubt = _doubt(share, level, search)
        gaussian = doubt is None and (direct.met or has_gaussian_tails(residual))
        return cls(outliers, direct, level, doubt, gaussian)

    def clear_outliers(self, problem: Problem, search: OutlierSearch) -> NDArray:
        """The outliers beyond the farthest line, if the others are Gaussian noise; else all."""
        residual = np.where(problem.seen, to_numpy(problem.b) - to_numpy(self.direct.fit.y), 0.0)
        clear = self.outliers & (np.abs(residual) > search.far * self.level.noise)
        good = problem.seen & ~clear
        return clear if self.direct.met or has_gaussian_tails(residual[good]) else self.outliers

    def agrees(self, other: _Explained) -> bool:
        """Whether both have as many modes, and signals no further apart than a standard error."""
        fit, values = self.direct.fit, to_numpy(self.direct.fit.y)
        if fit.rank != other.direct.fit.rank:
            return False
        distance = np.sqrt(np.mean(np.abs(values - to_numpy(other.direct.fit.y)) ** 2))
        return bool(distance <= self.level.noise * np.sqrt(fit.parameters / self.level.good))


def _modes_and_outliers(
    problem: Problem, known: Known, search: OutlierSearch, far: float
) -> tuple[NDArray, DirectFit | None]:
    """Outliers so many standard deviations away, and the fit of modes to the others, if any."""
    found = robust_modes(
        reweighted(problem),
        rank=known.rank,
        undamped=known.undamped,
        search=RobustGreedySearch(clip=search.threshold, far=far),
    )
    if found is None:
        return np.zeros(problem.seen.shape, dtype=bool), None
    structure: Any = problem.structure
    good = problem.seen & ~found.outliers
    if not np.all(np.any(good, axis=tuple(range(len(structure.lengths))))):
        return found.outliers, None
    others, modes = problem.without(found.outliers), found.modes
    if known.rank is None:
        modes = needed_modes(reweighted(others), modes, undamped=known.undamped)
    return found.outliers, direct_fit(others, known, modes=modes)


def _search_levels(
    problem: Problem, seen: NDArray, known: Known, search: OutlierSearch
) -> tuple[NDArray, Level | None]:
    """Find outliers by convex solutions, again without them if there are many."""
    unit = noise_mu(problem, 1.0, rng=known.rng)
    outliers = np.zeros(seen.shape, dtype=bool)
    level: Level | None = None
    for _ in range(search.passes):
        at = seen & ~outliers
        level = best_level(problem.without(outliers), unit, at, search)
        if level is None:
            break
        outliers[at] = level.far
        if np.mean(level.far) <= search.many or time_is_up():
            break
    return outliers, level


def _check_problem(problem: Problem) -> None:
    """Raise an error unless the problem has samples of a signal and a structure with windows."""
    instance_of(problem, Problem, "problem")
    if not hasattr(problem.structure, "lengths"):
        raise ValueError(
            f"the problem has the structure {problem.structure!r}, but a Hankel or Toeplitz "
            "structure is expected"
        )
    if problem.sample_weights is None:
        raise ValueError(
            "the problem is measured by an operator, but samples of the signal are expected: None, "
            "Mask, Weighted or 'lifted' as its measure"
        )


def _doubt(share: float, level: Level | None, search: OutlierSearch) -> str | None:
    """Say why outliers cannot be trusted, if there is a reason."""
    reason = None if level is None else level.doubt
    if share > search.largest_share:
        reason = "more than a third cannot be distinguished from the signal reliably"
    if reason is None:
        return None
    return (
        f"{share:.0%} of the samples were taken for gross errors, but {reason}: the result may be "
        "wrong. Check it, and pass samples that are known to be wrong as NaN."
    )

"""The fit of a few modes as a candidate: preferred, as it comes with modes and standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from ..._array import Array, NDArray, like, to_numpy
from ..._checks import random_generator
from ..._watch import time_is_up
from ...modal.modes import Modes, NoModes
from ...modal.refit_result import Refit
from ...modal.refitting import reweighted
from ...modal.restarts import modes_by_restarts
from ...model.problem import Problem
from ...model.scale import is_rounded
from ...solvers.result import Result
from ..coloured_modes import coloured_fit, may_be_trusted
from ..direct_modes import (
    DirectFit,
    DirectSearch,
    direct_fit,
    fit_anew,
    fit_without,
    without_idle_dampings,
)
from ..estimates import Estimate, FirstEstimate
from ..solutions import Known, Solution
from ..trial import Trial
from .base import Candidate, Prediction, everywhere


@dataclass(frozen=True)
class FitOfModes(Candidate):
    """The sum of a few (damped) sinusoids that fits the samples best.

    Attributes
    ----------
    found : DirectFit or None
        The fit that was found together with outliers, if it was.
    search : DirectSearch
        How modes are found without a convex solution, and when they are trusted.
    """

    found: DirectFit | None = None

    name = "refit"
    label = "fit of the modes"
    note = (
        "The signal shown is the fit of the modes of the convex solution, without the shrinkage of "
        "the nuclear norm. The certificate is that of the convex solution, not of this fit."
    )
    preferred = True
    from_solution = True

    search: DirectSearch = field(default_factory=DirectSearch)

    def first_estimate(self, problem: Problem, known: Known) -> FirstEstimate | None:
        if known.mu is not None:
            return None
        if self.found is not None:
            return FirstEstimate(_estimate(self.found.fit, known.levels), self.found.trusted)
        found = direct_fit(problem, known, self.search)
        search = cache(partial(coloured_fit, problem, known, found, self.search))
        if found is None or may_be_trusted(found.fit):
            coloured = search()
            if coloured is not None and (coloured.trusted or found is None):
                estimate = _estimate(coloured.fit)
                return FirstEstimate(estimate, coloured.trusted, lambda: estimate)
        if found is None:
            return None

        def alone() -> Estimate | None:
            coloured = search()
            return None if coloured is None else _estimate(coloured.fit)

        estimate = _estimate(found.fit, known.levels)
        return FirstEstimate(estimate, found.trusted, alone, self._finishing(found.fit, known))

    def last_estimate(self, problem: Problem, known: Known) -> Estimate | None:
        if known.mu is not None or not problem.structure.has_modes:
            return None
        if is_rounded(to_numpy(problem.b)[problem.seen]):  # modes do not meet them exactly
            return None
        weighted, rng = reweighted(problem, known.weights), random_generator(known.rng)
        for undamped in (True,) if known.undamped else (True, False):
            modes = modes_by_restarts(weighted, rng, undamped, self.search.restarts)
            if modes is not None and known.rank in (None, len(modes)):
                ours = replace(known, undamped=undamped)
                found = direct_fit(problem, ours, self.search, modes=modes)
                if found is not None and found.met:
                    return _estimate(found.fit, known.levels)
        return None

    def predict(self, trial: Trial) -> list[Prediction]:
        if trial.solution is None:
            return [] if trial.first is None else [self._predict_directly(trial, trial.first)]
        if trial.solution.fit is None:
            return []
        fit = trial.solution.fit
        residual = trial.residual([_signal(trial, result, fit.rank) for result in trial.training])
        return [_ModalPrediction(self, residual, self._finishing(fit, trial.known), fit.modes)]

    def _finishing(self, fit: Refit, known: Known) -> Callable[[], Estimate]:
        """Return a function that returns the estimate of a fit that was chosen."""

        def finished() -> Estimate:
            last = fit if time_is_up() else without_idle_dampings(fit, known.sigma, self.search)
            return _estimate(last, known.levels)

        return finished

    def _predict_directly(self, trial: Trial, first: FirstEstimate) -> Prediction:
        modes = first.estimate.modes
        assert modes is not None
        problem = reweighted(trial.problem, trial.known.weights)
        signals = []
        for part in trial.parts:
            signals.append(fit_without(problem, modes, part, trial.known, self.search))
            if time_is_up():  # no other candidate will predict
                break
        return _DoubtfulPrediction(self, trial.residual(signals), first, trial)

    def direct_estimate(self, solution: Solution, known: Known) -> Estimate | None:
        return None if solution.fit is None else self._finishing(solution.fit, known)()


class WeightedModes(FitOfModes):
    """The fit of modes for noise that differs between samples, without a convex solution."""

    from_solution = False


class _ModalPrediction(Prediction):
    def __init__(
        self,
        candidate: Candidate,
        residual: NDArray,
        finished: Callable[[], Estimate],
        modes: Modes | None,
    ) -> None:
        super().__init__(candidate, residual)
        self._finished, self._modes = cache(finished), modes

    @property
    def is_trend(self) -> bool:
        modes = self._modes
        return modes is not None and len(modes) == 1 and not np.any(modes.frequencies)

    def estimate(self) -> Estimate:
        return self._finished()


class _DoubtfulPrediction(_ModalPrediction):
    """By modes that were found with the held-out samples: they predict better than they should."""

    def __init__(
        self, candidate: FitOfModes, residual: NDArray, first: FirstEstimate, trial: Trial
    ) -> None:
        super().__init__(candidate, residual, first.chosen, first.estimate.modes)
        self._trial, self._search = trial, candidate.search

    def refined(self) -> Prediction:
        """Return the prediction by modes that are found without the held-out samples.

        If time is up before, it is this one.
        """
        trial, signals = self._trial, []
        problem = reweighted(trial.problem, trial.known.weights)
        for part in trial.parts:
            if time_is_up():
                return self
            signals.append(fit_anew(problem, part, trial.known, self._search))
        if time_is_up():
            return self
        residual = trial.residual(signals)
        return _ModalPrediction(self.candidate, residual, self._finished, self._modes)


def _estimate(fit: Refit, levels: NDArray | None = None) -> Estimate:
    """Return the signal of a fit with its standard errors.

    Levels are standard deviations of the noise, if they differ between samples.
    """
    if fit.rank == 0:  # nothing was distinguished from the noise, which may hide a signal
        stderr = everywhere(fit.sigma or 0.0, fit.y)
    else:
        stderr = everywhere(np.inf, fit.y) if fit.sigma is None else fit.stderr
    deviation = expected = None
    if levels is not None:
        deviation = (stderr**2 + like(levels, fit.y, real=True) ** 2) ** 0.5
    elif fit.new_samples is not None and fit.sigma is not None:
        noise, units = fit.new_samples()
        deviation, expected = like(fit.sigma * units, fit.y, real=True), like(noise, fit.y)
    return Estimate(
        fit.y,
        stderr,
        fit.rank,
        fit.modes,
        fit.sigma,
        X=fit.X,
        deviation=deviation,
        errors=fit.error_draws,
        expected=expected,
        part_errors=fit.part_stderr,
    )


def _signal(trial: Trial, result: Result, rank: int) -> Array:
    """Return the fit of at most so many modes, or the convex solution if it has none."""
    rank = min(rank, result.rank)
    try:
        return trial.known.refit(result, rank).y if rank else result.y
    except NoModes:
        return result.y

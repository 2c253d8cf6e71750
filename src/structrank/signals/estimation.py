"""From a problem to its best estimate: candidates, held-out samples, choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import seconds_left, tell, time_is_up, watched
from ..modal.modes import NoModes
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..selection.mu import Selection
from ..solvers.gradient_state import with_proven_gap
from ..solvers.result import Result
from ..solvers.stopping import ConvergenceWarning
from .caller import warn_caller
from .candidates import CANDIDATES, Candidate, Estimate, FirstEstimate, Prediction
from .channels import channel_count
from .choice import ChoiceRule, choose, choose_refined, combine, mean_residual, supported
from .effort import Effort
from .solutions import (
    Known,
    Solution,
    mu_for_errors,
    solve_and_refit,
    solve_for_noise,
    solve_roughly,
)
from .trial import Trial, hold_out
from .window_sizes import local_windows

AUTO = "auto"  # the kind that is chosen by predictions


@dataclass(frozen=True, eq=False)
class Found:
    """The estimate that was chosen.

    Attributes
    ----------
    estimate : Estimate
    candidate : Candidate
        Whose it is; of an average, the first one in it.
    solve : callable
        Returns the convex solution. If modes were found directly, it is computed then.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given, found from prediction errors, or not
        needed.
    """

    estimate: Estimate
    candidate: Candidate
    solve: Callable[[], Result]
    selection: Selection | None


def best_estimate(
    problem: Problem,
    known: Known,
    kind: str = AUTO,
    *,
    large: bool = False,
    candidates: Sequence[Candidate] | None = None,
    rule: ChoiceRule = ChoiceRule(),
    effort: Effort = Effort(),
    warn: bool = True,
) -> Found:
    """Let the candidates predict held-out samples, and return the estimate of the best.

    When time is up, it is the best of those that have predicted.

    Parameters
    ----------
    problem : Problem
        With samples of the signal; its own mu does not matter.
    known : Known
        What the caller knows about the signal.
    kind : str
        "auto", or the name of the only candidate to use.
    large : bool
        The signal is too large for a convex solution: local fits compete alone, or with the convex
        solution if mu is given, unless modes are found directly.
    candidates : sequence of Candidate, optional
        Default: those of the effort.
    rule : ChoiceRule
    effort : Effort
        How much is tried.
    warn : bool
        Warn if the convex solution did not converge.

    Returns
    -------
    Found
    """
    competing = _competing(effort.candidates if candidates is None else candidates, kind, known)
    first, candidate = _first_estimate(problem, known, competing, effort)
    if first is not None and (first.trusted or time_is_up()):
        return _found_directly(problem, known, first.estimate, candidate)
    large = large or (kind == AUTO and known.rank is None and _is_long(problem, effort))
    trial = replace(hold_out(problem, known, effort.parts), first=first)
    free = known.rank is known.mu is None and len(competing) > 1
    early = [c for c in competing if large or free or not c.from_solution]
    predictions = _predictions(early, trial)
    doubtful = first is not None and _leaves_much(problem, first.estimate, rule)
    needless = _needs_no_solution(competing, trial, predictions, free, doubtful, rule)
    solution = None if needless else _first_solution(problem, known, large)
    cut = free and predictions and time_is_up()
    if solution is not None and not cut:
        alone = len(competing) == 1 or time_is_up()
        solved = _solved_directly(trial, competing, solution, warn) if alone else None
        if solved is not None:
            return solved
        predictions = _with_solution(competing, trial, solution, predictions)
    if not predictions:
        raise NoModes(
            "no estimate applies to these samples: components are for real series along one axis, "
            "and no modes were found"
        )
    chosen = choose_refined(supported(predictions, problem, rule), rule)
    tell(f"{chosen[0].candidate.label}: chosen, error {_mean_error(chosen):.3g}")
    last = _found_at_last(trial, competing, chosen, rule)
    if last is not None:
        return last
    estimate = combine(chosen, predictions, problem.backprojection)
    if solution is None and estimate.X is not None:
        return _found_directly(problem, known, estimate, chosen[0].candidate)
    if solution is None:
        solve = partial(_solved_for_errors, problem, known, mean_residual(chosen))
        return Found(estimate, chosen[0].candidate, solve, None)
    result = solution.result if estimate.result is None else estimate.result
    return Found(estimate, chosen[0].candidate, _proven(result, problem, warn), solution.selection)


def _competing(candidates: Sequence[Candidate], kind: str, known: Known) -> Sequence[Candidate]:
    """Return the candidates of a kind; with a rank, those that keep it."""
    if kind != AUTO:
        own = [candidate for candidate in candidates if candidate.name == kind]
        return own or [candidate for candidate in CANDIDATES if candidate.name == kind]
    if known.rank is None:
        return candidates
    return [candidate for candidate in candidates if candidate.preferred] or candidates


def _first_estimate(
    problem: Problem, known: Known, competing: Sequence[Candidate], effort: Effort
) -> tuple[FirstEstimate | None, Candidate]:
    """Return the first estimate that needs no convex solution, and whose it is."""
    share = effort.first_share if len(competing) > 1 else 1.0
    with watched(share * seconds_left()):
        for candidate in competing:
            first = candidate.first_estimate(problem, known)
            if first is not None:
                alone = first.alone() if len(competing) == 1 else None
                first = first if alone is None else FirstEstimate(alone, trusted=True)
                return first, candidate
    return None, competing[0]


def _predictions(
    competing: Sequence[Candidate], trial: Trial, others: Sequence[Prediction] = ()
) -> list[Prediction]:
    """Return what the candidates predict; those before time is up, but at least one.

    What was not predicted completely, as time was up, does not compete with what was.
    """
    predictions = list(others)
    for candidate in competing:
        if predictions and (time_is_up() or seconds_left() < candidate.least_seconds(trial)):
            continue
        found = candidate.predict(trial)
        for prediction in found:
            tell(f"{candidate.label}: error {_mean_error([prediction]):.3g}")
        predictions += found
    most = max((p.residual.size for p in predictions), default=0)
    return [p for p in predictions if p.residual.size == most]


def _with_solution(
    competing: Sequence[Candidate],
    trial: Trial,
    solution: Solution,
    predictions: Sequence[Prediction],
) -> list[Prediction]:
    """Return the predictions with those of candidates that use the convex solution."""
    others = [p for p in predictions if not p.candidate.from_solution]
    solved = [candidate for candidate in competing if candidate.from_solution]
    found = _predictions(solved, trial.solved(solution), others)
    return sorted(found, key=lambda p: [c.name for c in competing].index(p.candidate.name))


def _needs_no_solution(
    competing: Sequence[Candidate],
    trial: Trial,
    predictions: Sequence[Prediction],
    free: bool,
    doubtful: bool,
    rule: ChoiceRule,
) -> bool:
    """Whether no candidate needs the convex solution, there is no time for it, or none might win.

    None might win if even modes that were found with the held-out samples predict them less well
    than a candidate of its own weight, which is made for such signals. If there is such a
    candidate, and those modes are doubtful, they are found anew without held-out samples, not by
    that solution.
    """
    least = [c.least_seconds(trial) for c in competing if c.from_solution]
    if not least or (predictions and (time_is_up() or seconds_left() < max(least))):
        return True
    suited = free and any(p.candidate.weighted for p in predictions)
    modes = any(p.candidate.from_solution for p in predictions)
    if not (suited and modes):
        return False
    return doubtful or not choose(predictions, rule)[0].candidate.preferred


def _leaves_much(problem: Problem, first: Estimate, rule: ChoiceRule) -> bool:
    """Whether modes leave so much of the samples that others would not explain them either."""
    variance = float(np.var(to_numpy(problem.b)[problem.seen]))
    return first.sigma is not None and first.sigma**2 > rule.most_left * variance


def _mean_error(predictions: Sequence[Prediction]) -> float:
    return float(np.mean(np.abs(mean_residual(predictions))))


def _found_directly(
    problem: Problem, known: Known, estimate: Estimate, candidate: Candidate
) -> Found:
    """Return an estimate whose convex solution is computed when it is asked for."""
    solve = partial(solve_for_noise, problem, estimate.sigma or 0.0, estimate.X, known.rng)
    return Found(estimate, candidate, solve, None)


def _solved_directly(
    trial: Trial, competing: Sequence[Candidate], solution: Solution, warn: bool
) -> Found | None:
    """Return the first estimate whose standard error needs no held-out samples; None without."""
    for candidate in competing:
        direct = candidate.direct_estimate(solution, trial.known)
        if direct is not None:
            solve = _proven(solution.result, trial.problem, warn)
            return Found(direct, candidate, solve, solution.selection)
    return None


def _found_at_last(
    trial: Trial, competing: Sequence[Candidate], chosen: Sequence[Prediction], rule: ChoiceRule
) -> Found | None:
    """Return an estimate that explains the samples where what was chosen does not; or None."""
    if _mean_error(chosen) <= rule.unexplained * trial.mean_sample:
        return None
    for candidate in competing:
        last = None if time_is_up() else candidate.last_estimate(trial.problem, trial.known)
        if last is not None:
            return _found_directly(trial.problem, trial.known, last, candidate)
    return None


def _is_long(problem: Problem, effort: Effort) -> bool:
    """Whether a signal is too long for the convex solution to compete, and has local fits."""
    structure: Any = problem.structure
    long = int(np.prod(problem.b.shape)) > effort.short
    return long and bool(local_windows(structure.lengths, channel_count(problem)))


def _proven(result: Result, problem: Problem, warn: bool) -> Callable[[], Result]:
    """Defer the proof of a convex solution's gap, and warn now if the solution did not converge."""
    if warn and not result.status.converged:
        warn_caller(
            f"recover: the convex solution {result.outcome}, so mu, rank and noise may be "
            "chosen less well than usual: pass rank or sigma if they are known",
            ConvergenceWarning,
        )
    return partial(with_proven_gap, result, natural_lam(problem))


def _first_solution(problem: Problem, known: Known, large: bool) -> Solution | None:
    """Return the solution that the candidates start from; None if its mu is not known yet."""
    if not large:
        return solve_and_refit(problem, known)
    return None if known.mu is None else solve_roughly(problem, known.mu)


def _solved_for_errors(problem: Problem, known: Known, errors: NDArray) -> Result:
    """Return the convex solution for noise of the size of prediction errors."""
    error = float(np.sqrt(np.mean(np.abs(errors) ** 2)))
    solution = solve_roughly(problem, mu_for_errors(problem, error, known.rng))
    return with_proven_gap(solution.result, natural_lam(problem))

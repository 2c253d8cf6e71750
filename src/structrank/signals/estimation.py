"""From a problem to its best estimate: candidates, held-out samples, choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._array import NDArray
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..selection.mu import Selection
from ..solvers.gradient_state import with_proven_gap
from ..solvers.result import Result
from ..solvers.stopping import ConvergenceWarning
from .caller import warn_caller
from .candidates import CANDIDATES, Candidate, Estimate
from .choice import ChoiceRule, choose_refined, combine, mean_residual
from .solutions import (
    Known,
    Solution,
    mu_for_errors,
    solve_and_refit,
    solve_for_noise,
    solve_roughly,
)
from .trial import HeldOutParts, hold_out
from .window_sizes import local_windows

AUTO = "auto"  # the kind that is chosen by predictions


@dataclass(frozen=True)
class Effort:
    """What is tried for signals that are no sums of a few modes.

    Attributes
    ----------
    short : int
        Largest number of values of a signal for which the convex solution and the fit of its modes
        compete even so. On longer series they took most of the time and were never chosen
        (23 series, 30% missing at random and in blocks).
    """

    short: int = 200


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
    candidates: Sequence[Candidate] = CANDIDATES,
    rule: ChoiceRule = ChoiceRule(),
    parts: HeldOutParts = HeldOutParts(),
    effort: Effort = Effort(),
    progress: bool = False,
    warn: bool = True,
) -> Found:
    """Let the candidates predict held-out samples, and return the estimate of the best.

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
    candidates : sequence of Candidate
    rule : ChoiceRule
    parts : HeldOutParts
        How many parts of the samples are held out.
    effort : Effort
        What is tried for signals that are no sums of a few modes.
    progress : bool
        Show progress bars.
    warn : bool
        Warn if the convex solution did not converge.

    Returns
    -------
    Found
    """
    competing = [candidate for candidate in candidates if kind in (AUTO, candidate.name)]
    firsts = [(candidate.first_estimate(problem, known), candidate) for candidate in competing]
    first, candidate = next(((f, c) for f, c in firsts if f is not None), (None, competing[0]))
    if first is not None and first.trusted:
        return _found_directly(problem, known, first.estimate, candidate)
    if kind == AUTO and known.rank is None and int(np.prod(problem.b.shape)) > effort.short:
        large = large or _has_local_windows(problem)
    solution = _first_solution(problem, known, large, progress)
    if solution is not None and len(competing) == 1:
        direct = competing[0].direct_estimate(solution)
        if direct is not None:
            return Found(
                direct, competing[0], _proven(solution.result, problem, warn), solution.selection
            )
    with tqdm(desc="predict held-out samples", disable=not progress) as bar:
        trial = hold_out(problem, known, solution, parts, advance=bar.update)
        if first is not None:
            trial = replace(trial, first=first.estimate)
        predictions = [p for candidate in competing for p in candidate.predict(trial)]
    chosen = choose_refined(predictions, rule)
    estimate = combine(chosen, predictions, problem.backprojection)
    if solution is None and estimate.X is not None:
        return _found_directly(problem, known, estimate, chosen[0].candidate)
    if solution is None:
        solve = partial(_solved_for_errors, problem, known, mean_residual(chosen))
        return Found(estimate, chosen[0].candidate, solve, None)
    result = solution.result if estimate.result is None else estimate.result
    return Found(estimate, chosen[0].candidate, _proven(result, problem, warn), solution.selection)


def _found_directly(
    problem: Problem, known: Known, estimate: Estimate, candidate: Candidate
) -> Found:
    """Return an estimate whose convex solution is computed when it is asked for."""
    solve = partial(solve_for_noise, problem, estimate.sigma or 0.0, estimate.X, known.rng)
    return Found(estimate, candidate, solve, None)


def _has_local_windows(problem: Problem) -> bool:
    structure: Any = problem.structure
    return bool(local_windows(structure.lengths, prod(structure.block or (1,))))


def _proven(result: Result, problem: Problem, warn: bool) -> Callable[[], Result]:
    """Defer the proof of a convex solution's gap, and warn now if the solution did not converge."""
    if warn and not result.status.converged:
        warn_caller(
            f"recover: the convex solution {result.outcome}, so mu, rank and noise may be "
            "chosen less well than usual: pass rank or sigma if they are known",
            ConvergenceWarning,
        )
    return partial(with_proven_gap, result, natural_lam(problem))


def _first_solution(problem: Problem, known: Known, large: bool, progress: bool) -> Solution | None:
    """Return the solution that the candidates start from; None if its mu is not known yet."""
    if not large:
        return solve_and_refit(problem, known, progress=progress)
    return None if known.mu is None else solve_roughly(problem, known.mu)


def _solved_for_errors(problem: Problem, known: Known, errors: NDArray) -> Result:
    """Return the convex solution for noise of the size of prediction errors."""
    error = float(np.sqrt(np.mean(np.abs(errors) ** 2)))
    solution = solve_roughly(problem, mu_for_errors(problem, error, known.rng))
    return with_proven_gap(solution.result, natural_lam(problem))

"""From a problem to its best estimate: candidates, held-out samples, choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from ..model.problem import Problem
from ..selection.mu import Selection
from ..solvers.result import Result
from .candidates import CANDIDATES, Candidate, Estimate, Prediction
from .choice import ChoiceRule, choose_refined, combine, mean_residual
from .solutions import Known, Solution, mu_for_errors, solve_and_refit, solve_roughly
from .trial import HeldOutParts, hold_out

AUTO = "auto"  # the kind that is chosen by predictions


@dataclass(frozen=True, eq=False)
class Found:
    """The estimate that was chosen.

    Attributes
    ----------
    estimate : Estimate
    candidate : Candidate
        Whose it is; of an average, the first one in it.
    result : Result
        The convex solution.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given, or found from prediction errors.
    """

    estimate: Estimate
    candidate: Candidate
    result: Result
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
    progress: bool = False,
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
        The signal is too large for modes: local fits compete alone, or with the convex solution
        if mu is given.
    candidates : sequence of Candidate
    rule : ChoiceRule
    parts : HeldOutParts
        How many parts of the samples are held out.
    progress : bool
        Show progress bars.

    Returns
    -------
    Found
    """
    solution = _first_solution(problem, known, large, progress)
    competing = [candidate for candidate in candidates if kind in (AUTO, candidate.name)]
    if solution is not None and len(competing) == 1:
        direct = competing[0].direct_estimate(solution)
        if direct is not None:
            return Found(direct, competing[0], solution.result, solution.selection)
    with tqdm(desc="predict held-out samples", disable=not progress) as bar:
        trial = hold_out(problem, known, solution, parts, advance=bar.update)
        predictions = [p for candidate in competing for p in candidate.predict(trial)]
    chosen = choose_refined(predictions, rule)
    estimate = combine(chosen, predictions, problem.backprojection)
    if solution is None:
        solution = _solution_for_errors(problem, known, chosen)
    result = solution.result if estimate.result is None else estimate.result
    return Found(estimate, chosen[0].candidate, result, solution.selection)


def _first_solution(problem: Problem, known: Known, large: bool, progress: bool) -> Solution | None:
    """Return the solution that the candidates start from; None if its mu is not known yet."""
    if not large:
        return solve_and_refit(problem, known, progress=progress)
    return None if known.mu is None else solve_roughly(problem, known.mu)


def _solution_for_errors(problem: Problem, known: Known, chosen: Sequence[Prediction]) -> Solution:
    """Return the convex solution for noise of the size of the prediction errors."""
    error = float(np.sqrt(np.mean(np.abs(mean_residual(chosen)) ** 2)))
    return solve_roughly(problem, mu_for_errors(problem, error, known.rng))

"""The convex solution as a candidate, with the mu that predicts best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._array import NDArray
from ..._watch import time_is_up
from ...model.largest_mu import mu_max
from ...solvers.result import Result
from ..estimates import Estimate
from ..solutions import Solution
from ..trial import Trial
from .base import Candidate, Prediction


@dataclass(frozen=True)
class MuLowering:
    """How mu is lowered as long as predictions improve.

    Attributes
    ----------
    factor : float
        From one mu to the next. Taste: each solution is a good start for the next.
    smallest_gain : float
        Share of the mean error that a smaller mu has to save. Taste: less is not worth the time.
    smallest : float
        Smallest mu over `mu_max`. Rounding.
    share_of_samples, share_of_matrix : float
        Largest rank, over the number of samples and over the smaller side of the matrix, whose mu
        is lowered further. Taste: a higher rank explains nothing.
    """

    factor: float = 0.5
    smallest_gain: float = 0.025
    smallest: float = 1e-9
    share_of_samples: float = 1 / 4
    share_of_matrix: float = 3 / 4


@dataclass(frozen=True)
class ConvexSolution(Candidate):
    """The solution of the convex problem, shrunk by the nuclear norm.

    Parameters
    ----------
    lowering : MuLowering
        How mu is lowered when the solution is chosen, unless mu is given.
    fixed_seconds : float
        About how long the shortest search for mu takes on one core, measured for 100 samples.
    """

    name = "convex"
    label = "convex solution"
    from_solution = True

    lowering: MuLowering = MuLowering()
    fixed_seconds: float = 0.04

    def least_seconds(self, trial: Trial) -> float:
        return self.fixed_seconds

    def predict(self, trial: Trial) -> list[Prediction]:
        if trial.solution is None:
            return []
        residual = trial.residual([result.y for result in trial.training])
        return [_ConvexPrediction(self, residual, trial, trial.solution)]


class _ConvexPrediction(Prediction):
    def __init__(
        self, candidate: ConvexSolution, residual: NDArray, trial: Trial, solution: Solution
    ) -> None:
        super().__init__(candidate, residual)
        self._convex, self._trial, self._solution = candidate, trial, solution

    def estimate(self) -> Estimate:
        result = self._solution.result
        return Estimate(result.y, None, result.rank, result=result)

    def refined(self) -> Prediction:
        """Return the prediction for the smallest mu to which predictions improve."""
        solution, trial, lowering = self._solution, self._trial, self._convex.lowering
        if solution.selection is None:  # mu is given
            return self
        mu, residual, training = solution.result.problem.mu, self.residual, trial.training
        smallest = lowering.smallest * mu_max(trial.problem)
        while _may_grow(training[0], trial, lowering) and mu > smallest and not time_is_up():
            training = [
                solution.solver.solve(result.problem, lowering.factor * mu, result)
                for result in training
            ]
            lower = trial.residual([result.y for result in training])
            enough = (1 - lowering.smallest_gain) * np.mean(np.abs(residual))
            if np.mean(np.abs(lower)) > enough:
                break
            mu, residual = lowering.factor * mu, lower
        if mu == solution.result.problem.mu:
            return self
        result = solution.solver.solve(trial.problem, mu, solution.result)
        better = Solution(result, solution.solver, solution.fit, solution.selection)
        return _ConvexPrediction(self._convex, residual, trial, better)


def _may_grow(result: Result, trial: Trial, lowering: MuLowering) -> bool:
    """Return whether a solution of higher rank may explain more."""
    samples = int(lowering.share_of_samples * trial.problem.sample_count)
    rows = int(lowering.share_of_matrix * min(trial.problem.structure.shape))
    return result.rank < min(samples, rows)

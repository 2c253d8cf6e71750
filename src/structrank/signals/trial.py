"""One trial of the candidates of `recover`: what they know, and which samples are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import random_generator
from .._watch import time_is_up
from ..model.problem import Problem
from ..selection.holdout import held_out_parts
from ..solvers.result import Result
from .estimates import FirstEstimate
from .solutions import Known, Solution


@dataclass(frozen=True)
class HeldOutParts:
    """How many parts of the samples are held out in turn.

    Attributes
    ----------
    short : int
        Largest number of values of a short signal. Taste: longer ones have enough samples in one
        part, and take longer to solve.
    parts : int
        Number of parts of a short signal; of a longer one there is one part. Taste: the usual
        number of folds.
    """

    short: int = 4096
    parts: int = 5

    def count(self, size: int) -> int:
        """Return the number of parts of a signal of so many values."""
        return self.parts if size <= self.short else 1


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate gets to predict held-out samples.

    Attributes
    ----------
    problem : Problem
        With all samples.
    known : Known
        What the caller knows about the signal.
    solution : Solution or None
        The convex solution to all samples; None for a large signal unless mu is given.
    parts : list of ndarray of bool
        The samples that are held out, in turn.
    training : list of Result
        The convex solutions without each part; empty if `solution` is None.
    first : FirstEstimate or None
        A fit of modes to all samples that was found without a convex solution.
    """

    problem: Problem
    known: Known
    solution: Solution | None
    parts: list[NDArray]
    training: list[Result]
    first: FirstEstimate | None = None

    def solved(self, solution: Solution) -> Trial:
        """Return the trial with a convex solution to all samples, and those without each part.

        If time is up, it has fewer parts.
        """
        training: list[Result] = []
        for part in self.parts:
            training.append(solution.solve_without(part))
            if time_is_up():
                break
        parts = self.parts[: len(training)]
        return replace(self, solution=solution, parts=parts, training=training)

    def residual(self, signals: Sequence[Array]) -> NDArray:
        """Return predicted minus held-out samples, all parts one after the other.

        If the noise differs between samples, they are divided by its relative size.

        Parameters
        ----------
        signals : sequence of array
            For each part, a signal that was found without it; for the first parts if time is up.
        """
        weights = 1.0 if self.known.weights is None else self.known.weights
        differences = [weights * to_numpy(y - self.problem.b) for y in signals]
        pairs = zip(differences, self.parts, strict=False)
        return np.concatenate([difference[part] for difference, part in pairs])

    @property
    def mean_sample(self) -> float:
        """Mean absolute value of the held-out samples, in the unit of the residuals."""
        zero = 0 * self.problem.backprojection
        return float(np.mean(np.abs(self.residual([zero] * len(self.parts)))))


def hold_out(
    problem: Problem,
    known: Known,
    settings: HeldOutParts = HeldOutParts(),
) -> Trial:
    """Choose samples to hold out, in gaps like those of the data.

    Parameters
    ----------
    problem : Problem
    known : Known
    settings : HeldOutParts

    Returns
    -------
    Trial
    """
    count = settings.count(int(np.prod(problem.b.shape)))
    parts = held_out_parts(problem, random_generator(known.rng), count)
    return Trial(problem, known, None, parts, [])

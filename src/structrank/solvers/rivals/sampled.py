"""Shared parts of the local methods of given rank: samples with gaps, truncation, objective."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._array import Array, NDArray, array_namespace, inner, like
from ..._checks import instance_of, positive_int
from ...model.linalg import random_vector, top_singular_pairs
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..state import Figures
from ..stopping import Stop


@dataclass(frozen=True)
class SampledSettings:
    """Settings that the local methods of given rank share."""

    max_iter: int = 500  # FIHT needs about 10 to 100, the others some hundreds
    start_tolerance: float = 1e-2  # residuals of the first truncation: a rough start is enough
    extra_steps: int = 50  # Lanczos steps at most: this many, and some for each singular pair
    steps_per_pair: int = 10  # more than enough where the pairs are separated from the rest
    negligible: float = 1e-14  # a singular value over the largest that is zero up to rounding


class Decomposition(NamedTuple):
    """The matrix `U diag(values) V^H`, with orthonormal columns and the largest value first."""

    U: Array
    values: NDArray
    V: Array

    @property
    def matrix(self) -> LowRank:
        """The same matrix as a product of two thin factors."""
        return LowRank(self.U * like(self.values, self.U, real=True), self.V)

    @property
    def norm_squared(self) -> float:
        """The squared Frobenius norm."""
        return float(np.sum(self.values**2))

    def without_zeros(self, negligible: float) -> Decomposition:
        """Drop singular values up to `negligible` times the largest, which always stays."""
        count = max(int(np.count_nonzero(self.values > negligible * self.values[0])), 1)
        return Decomposition(self.U[:, :count], self.values[:count], self.V[:, :count])


class SampledProblem:
    """A problem in which some samples of the signal are seen, for methods of given rank.

    These methods lower

    `step/2 ||Q(seen * (y - b))||^2 + 1/2 ||X - Q(y)||^2` with `y = average(X)`

    over matrices X of the given rank, where `step` is 1 or up to `1 / share seen`. The weights of
    the problem only say which samples are seen.
    """

    settings = SampledSettings()

    def __init__(self, problem: Problem, rank: int) -> None:
        instance_of(problem, Problem, "problem")
        structure = problem.structure
        if structure.offset is not None:
            raise ValueError("the structure has an offset, but one without is expected")
        if problem.sample_weights is None:
            raise ValueError(
                "the problem measures the signal by an operator, but samples are expected: "
                "Mask or Weighted"
            )
        self.rank = positive_int(rank, "rank")
        if self.rank > min(structure.shape):
            raise ValueError(
                f"rank is {self.rank}, but a matrix of shape {structure.shape} has rank "
                f"{min(structure.shape)} at most"
            )
        xp, b = array_namespace(problem.b), problem.b
        self.problem, self.structure = problem, structure
        self.seen = like(problem.seen.astype(float), b, real=True)
        self.b = xp.where(self.seen > 0, b, xp.zeros_like(b))
        self.step = problem.seen.size / problem.sample_count  # one over the share that is seen
        self.multiplicity = like(structure.multiplicity.astype(float), b, real=True)

    @property
    def default_stop(self) -> Stop:
        """A limit on the iterations only: the methods end when the signal hardly changes."""
        return Stop(max_iter=self.settings.max_iter, xtol=None, rtol=None)

    def residual(self, y: Array) -> Array:
        """Compute the samples minus the signal; zero where nothing is seen."""
        return self.seen * (self.b - y)

    def without(self, errors: Array) -> SampledProblem:
        """Return the problem in which some errors are subtracted from the samples."""
        other = copy(self)
        other.b = self.b - errors
        return other

    def corrected(self, y: Array, step: float) -> Array:
        """Move the seen samples of a signal towards the data: all the way for `step=1`."""
        return y + step * self.residual(y)

    def average(self, left: Array, right: Array) -> Array:
        """Compute the signal of a matrix from its transformed factors."""
        return self.structure.adjoint_transformed((left, right)) / self.multiplicity

    def truncated(self, y: Array, guess: Array, tolerance: float) -> Decomposition:
        """Compute the nearest matrix of the given rank to `Q(y)`, by the Lanczos method.

        The guess is a vector in the span of the right singular vectors, or a random vector.
        """
        structure, settings = self.structure, self.settings
        signal = structure.transform_signal(y)
        top = top_singular_pairs(
            lambda v: structure.matmul_transformed(signal, structure.transform_right(v[:, None]))[
                :, 0
            ],
            lambda u: structure.rmatmul_transformed(signal, structure.transform_left(u[:, None]))[
                :, 0
            ],
            guess,
            self.rank,
            checked=self.rank,
            tolerance=tolerance,
            max_steps=settings.extra_steps + settings.steps_per_pair * self.rank,
        )
        return Decomposition(top.U, top.values, top.V).without_zeros(settings.negligible)

    def start(self) -> Decomposition:
        """Truncate the matrix of the samples, over their share: one-step hard thresholding."""
        guess = random_vector(self.structure.shape[1], self.b, seed=0)
        return self.truncated(self.step * self.b, guess, self.settings.start_tolerance)

    def figures(self, norm_squared: float, y: Array, step: float) -> Figures:
        """Compute the objective of an iterate from the squared norm of X and its signal.

        A local method has no bound: its gap is 1.
        """
        residual = self.residual(y)
        loss = inner(self.multiplicity * residual, residual) / 2
        structured = inner(self.multiplicity * y, y)
        violation = max(norm_squared - structured, 0.0) ** 0.5
        objective = step * loss + violation**2 / 2
        return Figures(objective, loss, violation, gap=1.0, top_value=0.0)


def relative_change(y: Array, last: Array) -> float:
    """Compute the change of a signal, relative to its norm; zero if both are zero."""
    change, size = inner(y - last, y - last), inner(last, last)
    return float(np.sqrt(change / size)) if size > 0 else float(change > 0)

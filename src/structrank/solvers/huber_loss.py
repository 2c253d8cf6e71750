"""The Huber loss of `solve_robust`: squares up to a threshold, linear beyond."""

from __future__ import annotations

import numpy as np

from .._array import Array, array_namespace, inner, like
from ..model.majorant import reweighted
from ..model.problem import Problem
from ..model.sample_range import SampleRange, largest_size


class HuberLoss:
    """The Huber loss `sum_t h_t(r_t)` of the residual `r = b - A(y)`.

    h is half the square up to the threshold, and linear beyond.

    Parameters
    ----------
    problem : Problem
    threshold : float
        In the units of the samples.
    """

    def __init__(self, problem: Problem, threshold: float) -> None:
        self.problem, self.threshold = problem, threshold
        weights = problem.sample_weights
        if weights is None:
            weights = like(np.ones(problem.b.shape), problem.b, real=True)
        self.weights = weights
        SampleRange().check_threshold(threshold, problem.data)
        self.bounds = threshold * weights  # in the space of A(y)
        most = threshold * largest_size(weights) ** 2
        SampleRange().check_mu(problem.mu, problem.backprojection, most)

    def value(self, y: Array) -> float:
        """Compute the loss, that is the least over the outliers."""
        sizes = abs(self.problem.residual(y))
        inside = array_namespace(sizes).minimum(sizes, self.bounds)
        return inner(inside, sizes - inside / 2)

    def outliers(self, y: Array) -> Array:
        """Compute the part of the residual beyond the threshold, in the units of the samples."""
        xp, residual = array_namespace(y), self.problem.residual(y)
        shares = 1 - self.bounds / never_zero(xp.maximum(abs(residual), self.bounds))
        return shares * residual / never_zero(self.weights)

    def factors(self, shifted: Array, ratio: Array | float) -> Array:
        """Compute the roots of `|h'(r)| / |r|` at the r with `r + ratio h'(r) = shifted`."""
        xp, sizes = array_namespace(shifted), abs(shifted)
        r = xp.maximum(sizes / (1 + ratio), sizes - ratio * self.bounds)
        roots = xp.sqrt(self.bounds / never_zero(xp.maximum(r, self.bounds)))
        return xp.where(r > self.bounds, roots, xp.ones_like(r))

    def weighted(self, factors: Array) -> Problem:
        """Return the least squares problem with these weights times those of the samples."""
        return reweighted(self.problem, factors, self.problem.b)


def never_zero(x: Array) -> Array:
    """Replace zeros by ones, for a divisor of numbers that are zero at the same places."""
    xp = array_namespace(x)
    return xp.where(x > 0, x, xp.ones_like(x))

"""Quadratic upper bounds of the penalised problem with a loss that is not quadratic."""

from __future__ import annotations

import numpy as np

from .._array import Array, array_namespace, inner, like
from .certificate import convexity_bound
from .line import Point
from .losses import Loss
from .lowrank import LowRank
from .measure import Operator, Weighted
from .objective import Penalized
from .penalties import Penalty
from .problem import Problem
from .recoveries import SignalRecovery


class Misfit:
    """The loss of a signal in a problem: `sum_t w_t^2 l(z_t, b_t)`.

    With a mask or weights w, z is the signal itself. With an operator, z is `A(y)` and w is one.
    For half the squares as l, this is the misfit `1/2 ||A(y) - b||^2` of the problem.

    Parameters
    ----------
    problem : Problem
    loss : Loss
    """

    def __init__(self, problem: Problem, loss: Loss) -> None:
        loss.check(problem)
        self.problem, self.loss = problem, loss
        weights, b = problem.sample_weights, problem.b
        if weights is None:
            weights = like(np.ones(tuple(b.shape)), b, real=True)
        xp = array_namespace(b)
        self.weights, self.b = weights, xp.where(weights > 0, b, xp.ones_like(b))

    def value(self, y: Array) -> float:
        """Compute the loss of a signal."""
        return inner(self.weights**2, self.loss.values(self.problem.predicted(y), self.b))

    def touching(self, y: Array) -> Problem:
        """Return a least squares problem whose misfit plus a constant is an upper bound.

        At `y` the bound has the value and the slope of the loss.
        """
        z = self.problem.predicted(y)
        curvatures = self.loss.curvatures(z, self.b)
        samples = z - self.loss.slopes(z, self.b) / curvatures
        return reweighted(self.problem, array_namespace(z).sqrt(curvatures), samples)


class Majorant(Penalized):
    """The penalised problem with an upper bound of its loss, which touches it at one signal.

    `F(X) + mu ||X||_*`, `F(X) = sum_t w_t^2 l(A(C X)_t, b_t) + lam/2 ||B X||^2`

    The bound is quadratic, so that it has the form of (reform2) plus a constant. At an X with the
    given signal it has the value and the gradient of F. A step that lowers the bound lowers F at
    least as much.

    Parameters
    ----------
    misfit : Misfit
    y : array
        Where the bound touches the loss.
    lam, penalty, recovery
        As for `Penalized`.
    """

    exact = False

    def __init__(
        self,
        misfit: Misfit,
        y: Array,
        lam: float,
        penalty: str | Penalty = "projection",
        recovery: str | SignalRecovery = "projection",
    ) -> None:
        super().__init__(misfit.touching(y), lam, penalty, recovery)
        self.misfit = misfit
        self.constant = misfit.value(y) - self.problem.misfit(y)

    @classmethod
    def at_matrix(
        cls,
        problem: Problem,
        loss: Loss,
        lam: float,
        penalty: str = "projection",
        recovery: str = "projection",
        *,
        X: LowRank,
    ) -> Majorant:
        """Return the bound that touches F at X."""
        plain = Penalized(problem, lam, penalty, recovery)
        y = plain.signal(plain.at(X))
        return cls(Misfit(problem, loss), y, lam, plain.penalty, plain.recovery)

    def tight(self, X: LowRank) -> tuple[Majorant, Point]:
        """Return the bound that touches F at X, and its point there."""
        y = self.signal(self.at(X))
        objective = Majorant(self.misfit, y, self.lam, self.penalty, self.recovery)
        return objective, objective.at(X)

    def loss(self, point: Point) -> float:
        """Compute the upper bound of the loss, without the penalty."""
        return super().loss(point) + self.constant

    def gap(self, point: Point, top_value: float) -> float:
        """Bound `phi(X) - phi*` from above where the bound touches F, by the convexity of F."""
        smooth = self.smooth(point)
        bound = convexity_bound(
            smooth=smooth, slope=self.slope(point), top_value=top_value, mu=self.mu
        )
        return max(smooth + self.mu * point.half_norms - max(bound, 0.0), 0.0)


def reweighted(problem: Problem, factors: Array, b: Array) -> Problem:
    """Return the problem with other samples, and with its weights multiplied by factors."""
    if problem.sample_weights is not None:
        measure = Weighted(factors * problem.sample_weights)
        return Problem(problem.structure, b, problem.mu, measure)
    forward, adjoint = problem.measure.forward, problem.measure.adjoint
    scaled = Operator(lambda y: factors * forward(y), lambda data: adjoint(factors * data))
    return Problem(problem.structure, factors * b, problem.mu, scaled)

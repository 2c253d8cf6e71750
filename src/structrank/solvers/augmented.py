"""The augmented Lagrangian of (relax), which the method of multipliers minimises."""

from __future__ import annotations

from typing import Self

import numpy as np

from .._array import Array, add_rotated, add_scaled, array_namespace, gram, inner, like
from ..model.line import Line, Point
from ..model.lowrank import LowRank
from ..model.measure import Weighted
from ..model.objective import Penalized
from ..model.penalties import Factors, ProjectionPenalty, Remainder, Shifted
from ..model.problem import Problem
from ..structures import Structure


class MultiplierPenalty(ProjectionPenalty):
    """The penalty `||B (X - Q0 + D / lam)||^2` with a multiplier D of `B (X - Q0) = 0`.

    Here `D = T - weight Q0` with a T of low rank: the sum of `lam (X - Q0)` over several X has
    this form. Up to a constant, `lam / 2` times the penalty is
    `lam / 2 ||B (X - Q0)||^2 + <B D, B X>`.
    """

    def __init__(
        self, structure: Structure, reference: Array, lam: float, T: LowRank, weight: float
    ) -> None:
        super().__init__(structure, reference)
        if T.rank == 0:  # products need at least one column
            T = LowRank.ones(T.shape, T.U).scaled(0.0)
        self.lam, self.T, self.signs = lam, T, T.signs
        self.symmetric = self.symmetric and self.signs is not None
        if self.offset is not None:
            self.offset *= 1 + weight / lam
            self.constant *= (1 + weight / lam) ** 2
        total = structure.adjoint(T.U, T.V)
        multiplicity = like(structure.multiplicity.astype(float), reference, real=True)
        self.mean = total / multiplicity
        self.constant += (T.norm_squared() - inner(self.mean, total)) / lam**2
        if self.offset is not None:
            QV = array_namespace(T.U).matmul(self.offset, T.V)
            self.constant -= 2 * inner(T.U, QV) / lam

    def linear(self, point: Point) -> float:
        """Compute `<B (D / lam - Q0), B X>`."""
        left, right = point.products
        with_T = np.sum(left * right.conj()).real - inner(self.mean, point.total)
        return super().linear(point) + float(with_T) / self.lam

    def products(self, U: Array, V: Array, signs: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Compute `T_U^H U` and `T_V^H V` for the factors of T."""
        left = gram(self.T.U, U)
        if signs is None or self.signs is None:
            return left, gram(self.T.V, V)
        return left, self.signs[:, None] * left * signs

    def add_signal(self, g: Array, point: Point, lam: float) -> Array:
        """Add the signal of the structured part, `-lam Q(y) - Q(C T)`, to `g`."""
        return add_scaled(super().add_signal(g, point, lam), -1.0, self.mean)

    def remainder(self, point: Point) -> Remainder:
        """Return R = X + D / lam - Q0, which is applied to thin matrices."""
        X = point.X.appended(self.T.scaled(1 / self.lam))
        return X if self.offset is None else Shifted(X, self.offset)

    def add_factor_products(self, totals: Factors, point: Point, lam: float, mu: float) -> Factors:
        """Add `lam R V + mu U` and `lam R^H U + mu V`; only the first if the point has signs."""
        sums = super().add_factor_products(totals, point, lam, mu)
        sides = zip(sums, (self.T.U, self.T.V), reversed(point.products), strict=False)
        return tuple(add_rotated(total, F, small) for total, F, small in sides)

    def along(self, line: Line) -> np.ndarray:
        """Compute the coefficients of the penalty along a line."""
        (left0, right0), (left1, right1) = line.point.products, line.products
        totals = line.point.total, line.total1, line.total2
        with_T = (
            left0 * right0.conj(),
            left0 * right1.conj() + left1 * right0.conj(),
            left1 * right1.conj(),
        )
        coefficients = super().along(line)
        for i in range(3):
            product = np.sum(with_T[i]).real - inner(self.mean, totals[i])
            coefficients[i] += 2 * product / self.lam
        return coefficients


class Augmented(Penalized):
    """The augmented Lagrangian of (relax) for the constraint `X = Q(y)`, minimised over y.

    `min_y  1/2 ||A(y) - b||^2 + <Lambda, Q(y) - X> + lam/2 ||Q(y) - X||^2 + mu ||X||_*`

    For samples with weights this has the form of (reform2). The square a of a weight becomes
    `a lam w / (a + lam w)`, where w is the multiplicity. This is below lam w, so that for any
    weights the curvature is at most lam in every direction, unlike in (reform2) itself. The
    multiplier shifts the samples and adds a low-rank matrix to X in the penalty.

    For other measures y is the mean C X, and the multiplier belongs to the constraint `B X = 0`.

    Parameters
    ----------
    problem : Problem
    lam : float
        Weight of the penalty on departures from the structure, above zero.
    T : LowRank
        `B^T B (weight Q0 - T)` is the part of the multiplier Lambda that no signal can produce.
    gamma : array
        Represents the other part, by `Q^* Lambda = A^* gamma`. At the optimum it is `b - A(y)`.
    weight : float
        Sum of all lam in T. It matters only for structures with an offset Q0.

    Examples
    --------
    If the solution is zero, its multiplier `gamma = b` does not change:

    >>> import numpy as np
    >>> from structrank import Hankel, LowRank, Problem
    >>> from structrank.solvers.augmented import Augmented
    >>> b = np.array([1.0, 2.0, 4.0])
    >>> problem = Problem(Hankel(3, window=2), b, mu=5.0)
    >>> zero = LowRank.zeros((2, 2), b)
    >>> objective = Augmented(problem, 1.0, zero, gamma=b)
    >>> objective.gamma(objective.at(zero))
    array([1., 2., 4.])
    """

    def __init__(
        self, problem: Problem, lam: float, T: LowRank, gamma: Array, weight: float = 0.0
    ) -> None:
        reference = problem.backprojection
        penalty = MultiplierPenalty(problem.structure, reference, lam, T, weight)
        super().__init__(problem, lam, penalty)
        self.T, self.multiplier, self.weight = T, gamma, weight
        self.plain = ProjectionPenalty(problem.structure, reference)
        weights = problem.sample_weights
        self.damping: Array | float = 1.0
        if weights is not None:
            ratio = weights**2 * self.inverse_multiplicity / self.lam
            self.damping = 1 / array_namespace(reference).sqrt(1 + ratio)
            self.measure = Weighted(weights * self.damping)
            self.target = self.damping * (self.target + ratio * gamma)

    def gamma(self, point: Point) -> Array:
        """Return `b - A(y)` for the best y."""
        return -self.damping * point.residual

    def violation(self, point: Point) -> float:
        """Compute the structure violation `||B (X - Q0)||_F`."""
        return float(np.sqrt(max(self.plain.value(point), 0.0)))

    def magnitude(self, point: Point) -> float:
        """Compute the norm of the terms that cancel in the gradient: the scale of its rounding."""
        return super().magnitude(point) + float(np.sqrt(max(self.T.norm_squared(), 0.0)))

    def updated(self, point: Point, lam: float, tolerance: float, relaxation: float = 1.0) -> Self:
        """Return a copy with another lam and the next multiplier, from `grown`."""
        return type(self)(self.problem, lam, *self.grown(point, tolerance, relaxation))

    def grown(
        self, point: Point, tolerance: float, relaxation: float = 1.0
    ) -> tuple[LowRank, Array, float]:
        """Compute T, gamma and weight of the multiplier `-grad f(X)`, up to a tolerance.

        `relaxation` multiplies the step from the current multiplier to this one. It must be below
        two.
        """
        T = self.T.appended(point.X.scaled(relaxation * self.lam))
        T = T.balanced(tolerance / max(tolerance, np.sqrt(max(T.norm_squared(), 0.0))))
        gamma = self.multiplier + relaxation * (self.gamma(point) - self.multiplier)
        return T, gamma, self.weight + relaxation * self.lam

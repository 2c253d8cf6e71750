"""The penalised objective (reform2) on thin factors: value, gradient, values along a line."""

from __future__ import annotations

from copy import copy

import numpy as np

from .._array import Array, add_scaled, gram, in_double_precision, inner, like
from .._checks import one_of, positive
from ..structures import Structure
from .certificate import penalized_gap
from .gradient import Gradient
from .line import Line, Point
from .lowrank import LowRank
from .measure import Weighted
from .penalties import (
    Factors,
    Penalty,
    ProjectionPenalty,
    ShiftedDifferencePenalty,
    SparseDifferencePenalty,
)
from .problem import Problem
from .recoveries import (
    Placed,
    ProjectionRecovery,
    SignalRecovery,
    as_recovery,
    inverse_multiplicity,
)
from .sample_range import SampleRange


class Penalized:
    """The paper's problem (reform2) as a function of the factors of X.

    `phi(X) = f(X) + mu ||X||_*`, `f(X) = 1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2`

    and `psi(U, V) = f(U V^H) + mu/2 (||U||^2 + ||V||^2)`, an upper bound of phi that equals phi
    for balanced factors.

    Parameters
    ----------
    problem : Problem
    lam : float
        Weight of the penalty on departures from the structure, above zero.
    penalty : {"projection", "difference"} or Penalty
        Which B: "projection" gives `B = I - P`, the distance to the structured matrices,
        "difference" the paper's differences of neighbouring copies.
    recovery : {"projection", "sparse"} or SignalRecovery
        Which C: "projection" gives C_proj, the mean over all copies of a signal entry, "sparse"
        the paper's C_sp, which reads the first copy. With C_sp one entry of the matrix carries
        the whole misfit of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, LowRank, Penalized, Problem
    >>> problem = Problem(Hankel(3, window=2), np.array([1.0, 2.0, 4.0]), mu=0.5)
    >>> objective = Penalized(problem, lam=1.0)
    >>> ones = LowRank(np.ones((2, 1)), np.ones((2, 1)))
    >>> float(objective.value(ones))
    6.0
    """

    exact = True  # false for an approximation that `tight` renews

    def __init__(
        self,
        problem: Problem,
        lam: float,
        penalty: str | Penalty = "projection",
        recovery: str | SignalRecovery = "projection",
    ) -> None:
        self.problem, self.measure = problem, problem.measure
        self.structure: Structure = problem.structure
        self.mu, self.lam = problem.mu, positive(lam, "lam")
        SampleRange().check_lam(self.lam, problem.b)
        reference = problem.backprojection
        self.penalty = _penalty(penalty, self.structure, reference)
        self.recovery = as_recovery(recovery, self.structure, reference)
        self.inverse_multiplicity = self._inverse_multiplicity(reference)
        self.target, self.offset_signal = problem.data, None
        if self.structure.offset is not None:
            # X = Q0 + Q(y) has C X = y + C Q0: the unknown includes the signal of the offset.
            offset = like(self.structure.offset, reference)
            self.offset_signal = self.recovery.signal_of_dense(offset)
            self.target = problem.data + problem.measure.forward(self.offset_signal)

    def _inverse_multiplicity(self, reference: Array) -> Array:
        if isinstance(self.recovery, ProjectionRecovery):
            return self.recovery.inverse_multiplicity
        return inverse_multiplicity(self.structure, reference)

    # -- values -------------------------------------------------------------------------

    def tight(self, X: LowRank) -> tuple[Penalized, Point]:
        """Return the objective to continue with at `X`, and its point there.

        It is another one if this objective is an approximation.
        """
        return self, self.at(X)

    def in_double_precision(self) -> Penalized | None:
        """The same objective with numbers of twice the size, or None.

        There is none for operators, which work in one precision, for offsets and for other losses.
        """
        if not self.has_double_precision:
            return None
        double = copy(self)
        samples = in_double_precision(self.problem.b)
        double.measure = Weighted.of(in_double_precision(self.problem.sample_weights))
        double.target = double.measure.data(samples)
        double.recovery = as_recovery("projection", self.structure, samples)
        double.inverse_multiplicity = double._inverse_multiplicity(samples)
        return double

    @property
    def has_double_precision(self) -> bool:
        """Whether `in_double_precision` returns an objective."""
        return (
            type(self) is Penalized
            and self.structure.offset is None
            and self.problem.sample_weights is not None
            and isinstance(self.penalty, ProjectionPenalty)
            and isinstance(self.recovery, ProjectionRecovery)
        )

    def at(self, X: LowRank) -> Point:
        """Compute everything about `X` that values and gradients need."""
        S = self.structure
        if X.rank == 0:  # transforms need at least one column
            X = LowRank.ones(X.shape, X.U).scaled(0.0)
        signs = X.signs if self.penalty.symmetric and self.recovery.symmetric else None
        left = S.transform_left(X.U)
        right = S.transform_right(X.V) if signs is None else S.transform_mirrored(left, signs)
        total = S.adjoint_transformed((left, right))
        return self._point(X, left, right, total, signs)

    def at_lean(self, X: LowRank) -> Point:
        """The same without transformed factors: they are computed one by one and not kept."""
        S, total = self.structure, None
        for k in range(X.rank):
            left = S.transform_left(X.U[:, k : k + 1])
            part = S.adjoint_transformed((left, S.transform_right(X.V[:, k : k + 1])))
            total = part if total is None else add_scaled(total, 1.0, part)
        return self.at(X) if total is None else self._point(X, None, None, total, None)

    def _point(
        self, X: LowRank, left: Array, right: Array, total: Array, signs: np.ndarray | None
    ) -> Point:
        mean = total * self.inverse_multiplicity
        y = self.recovery.signal(mean, (X.U, X.V))
        data = self.measure.forward(y) + 0.0  # a copy, which may be changed
        residual = data - self.target
        grams = gram(X.U, X.U), gram(X.V, X.V)
        products = self.penalty.products(X.U, X.V, signs)
        signals = total, mean, y, data, residual
        point = Point(X.U, X.V, left, right, *signals, *grams, products, signs)
        point.loss = inner(residual, residual) / 2
        point.violation_squared = self.penalty.value(point)
        return point

    def loss(self, point: Point) -> float:
        """Compute the misfit `1/2 ||A(C X) - b||^2`."""
        return point.loss

    def smooth(self, point: Point) -> float:
        """Compute `f(X)`."""
        return self.loss(point) + self.lam / 2 * point.violation_squared

    def psi(self, point: Point) -> float:
        """Compute `f(U V^H) + mu/2 (||U||^2 + ||V||^2)`."""
        return self.smooth(point) + self.mu * point.half_norms

    def value(self, X: LowRank) -> float:
        """Compute `phi(X)`."""
        return self.smooth(self.at(X)) + self.mu * X.nuclear_norm()

    def signal(self, point: Point) -> Array:
        """Return the signal of `X`."""
        return point.y if self.offset_signal is None else point.y - self.offset_signal

    def gamma(self, point: Point) -> Array:
        """Return `b - A(y)`; for `Lambda = -grad f(X)`, `A^* gamma = Q^* Lambda`, as B Q = 0."""
        return -point.residual

    def violation(self, point: Point) -> float:
        """Compute the structure violation `||B (X - Q0)||_F`."""
        return float(np.sqrt(point.violation_squared))

    def magnitude(self, point: Point) -> float:
        """Compute the norm of the terms that cancel in the gradient: the scale of its rounding."""
        return self.lam * float(np.sqrt(max(point.X.norm_squared(), 0.0)))

    def curvature(self, point: Point) -> float:
        """Compute the second derivative of f along X: `||A(C X)||^2 + lam ||B X||^2`."""
        data = self._data(point)
        return inner(data, data) + self.lam * self.penalty.quadratic(point)

    def slope_at_zero(self, point: Point) -> float:
        """Compute `<grad f(0), X>`."""
        return self.lam * self.penalty.linear(point) - inner(self.target, self._data(point))

    def _data(self, point: Point) -> Array:
        if point.data is None:
            point.data = self.measure.forward(point.y)
        return point.data

    def slope(self, point: Point) -> float:
        """Compute `<grad f(X), X>`."""
        return self.slope_at_zero(point) + self.curvature(point)

    def gap(self, point: Point, top_value: float) -> float:
        """Bound `phi(X) - phi*` from above, for balanced factors.

        `top_value` is the top singular value of the gradient, or an upper bound of that value.
        """
        return penalized_gap(
            smooth=self.smooth(point),
            nuclear_norm=point.half_norms,
            slope=self.slope(point),
            top_value=top_value,
            mu=self.mu,
        )

    # -- gradients ----------------------------------------------------------------------

    def gradient(self, point: Point) -> Gradient:
        """Return `grad f(X)` as an operator: a structured, a low-rank and a sparse matrix."""
        signal, placed = self._structured_gradient(point)
        return Gradient(self.structure, signal, self.lam, self.penalty.remainder(point), placed)

    def factor_gradient(self, point: Point) -> Factors:
        """Compute the gradients of psi: `grad f(X) V + mu U` and `grad f(X)^H U + mu V`.

        If the point has signs, the second is the first times the signs, and is not computed.
        """
        S = self.structure
        signal, placed = self._structured_gradient(point)
        structured: Factors = (S.matmul_transformed(signal, point.right),)
        if point.signs is None:
            structured += (S.rmatmul_transformed(signal, point.left),)
        if placed is not None:
            sparse = placed.matmul(point.V), placed.rmatmul(point.U)
            structured = tuple(
                add_scaled(a, 1.0, b) for a, b in zip(structured, sparse, strict=True)
            )
        return self.penalty.add_factor_products(structured, point, self.lam, self.mu)

    def factor_curvature(self, point: Point) -> tuple[np.ndarray, ...]:
        """Approximate the second derivatives of psi: `lam V^H V + mu` and `lam U^H U + mu`."""
        grams = (point.gram_V, point.gram_U) if point.signs is None else (point.gram_V,)
        ridge = self.mu * np.eye(point.gram_U.shape[0])
        return tuple(self.lam * G + ridge for G in grams)

    def _structured_gradient(self, point: Point) -> tuple[Array, Placed | None]:
        """Compute g, transformed, and S of `grad f(X) = Q(g) + S + lam R`."""
        g, placed = self.recovery.adjoint(self.measure.adjoint(point.residual))
        g = self.penalty.add_signal(g, point, self.lam)
        return self.structure.transform_signal(g), placed

    # -- along a line -------------------------------------------------------------------

    def line(self, point: Point, DU: Array, DV: Array | None = None) -> Line:
        """Return psi along `(U + t DU, V + t DV)`; without DV, V stays `U diag(signs)`."""
        return Line(self, point, DU, DV)


def natural_lam(problem: Problem) -> float:
    """Compute the lam that weighs data and structure about equally; 1 for lifted weights."""
    z = problem.backprojection
    image = problem.measure.forward(z)
    square = inner(z, like(problem.structure.multiplicity.astype(float), z, real=True) * z)
    return inner(image, image) / square if square > 0 else 1.0


def _penalty(name: str | Penalty, structure: Structure, reference: Array) -> Penalty:
    if not isinstance(name, str):
        return name
    one_of(name, ("projection", "difference"), "penalty")
    if name == "projection":
        return ProjectionPenalty(structure, reference)
    if structure.differences() is not None and structure.offset is None:
        return ShiftedDifferencePenalty(structure, reference)
    return SparseDifferencePenalty(structure, reference)

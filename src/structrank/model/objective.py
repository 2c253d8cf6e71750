"""The penalised objective (reform2) on thin factors: value, gradient, values along a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._array import Array, add_scaled, gram, inner, like
from .._checks import one_of, positive
from ..structures import Structure
from . import quartic
from .certificate import penalized_gap
from .gradient import Gradient
from .lowrank import LowRank
from .penalties import (
    Factors,
    Penalty,
    ProjectionPenalty,
    ShiftedDifferencePenalty,
    SparseDifferencePenalty,
)
from .problem import Problem
from .recoveries import Placed, SignalRecovery, as_recovery, inverse_multiplicity
from .sample_range import SampleRange


@dataclass
class Point:
    """Factors of X, with the quantities that the objective has computed from them."""

    U: Array  # M x r
    V: Array  # N x r
    left: Array  # transformed U
    right: Array  # transformed V
    total: Array  # Q*(X), the sum over all copies
    mean: Array  # C_proj X, the mean over all copies
    y: Array  # C X; the same array as the mean if C is C_proj
    data: Array | None  # A y; None where nobody has asked for it
    residual: Array  # A y - b
    gram_U: np.ndarray  # U^H U
    gram_V: np.ndarray  # V^H V
    products: tuple[np.ndarray, ...]  # small matrices that the penalty keeps
    signs: np.ndarray | None = None  # V = U diag(signs), if X and the structure are symmetric
    loss: float = 0.0  # 1/2 ||A y - b||^2
    violation_squared: float = 0.0  # ||B (X - Q0)||^2

    @property
    def X(self) -> LowRank:
        return LowRank(self.U, self.V)

    @property
    def half_norms(self) -> float:
        """`(||U||^2 + ||V||^2) / 2`, at least the nuclear norm of X."""
        return float(np.trace(self.gram_U).real + np.trace(self.gram_V).real) / 2


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
        self.inverse_multiplicity = inverse_multiplicity(self.structure, reference)
        self.penalty = _penalty(penalty, self.structure, reference)
        self.recovery = as_recovery(recovery, self.structure, reference)
        self.target, self.offset_signal = problem.data, None
        if self.structure.offset is not None:
            # X = Q0 + Q(y) has C X = y + C Q0: the unknown includes the signal of the offset.
            offset = like(self.structure.offset, reference)
            self.offset_signal = self.recovery.signal_of_dense(offset)
            self.target = problem.data + problem.measure.forward(self.offset_signal)

    # -- values -------------------------------------------------------------------------

    def tight(self, X: LowRank) -> tuple[Penalized, Point]:
        """Return the objective to continue with at `X`, and its point there.

        It is another one if this objective is an approximation.
        """
        return self, self.at(X)

    def at(self, X: LowRank) -> Point:
        """Compute everything about `X` that values and gradients need."""
        S = self.structure
        if X.rank == 0:  # transforms need at least one column
            X = LowRank.ones(X.shape, X.U).scaled(0.0)
        signs = X.signs if self.penalty.symmetric and self.recovery.symmetric else None
        left = S.transform_left(X.U)
        right = S.transform_right(X.V) if signs is None else S.transform_mirrored(left, signs)
        total = S.adjoint_transformed((left, right))
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


class Line:
    """psi along a line in the factors: a polynomial of degree four in the step.

    It costs the transforms of the direction and two inverse transforms of signals. A move along
    the line costs no transforms, because transforms are linear.
    """

    def __init__(self, objective: Penalized, point: Point, DU: Array, DV: Array | None) -> None:
        self.point, self.DU = point, DU
        self.signs = point.signs if DV is None else None
        S, scale = objective.structure, objective.inverse_multiplicity
        forward = objective.measure.forward
        self.left = S.transform_left(DU)
        self.gram_U = quartic.gram_line(point.U, DU, point.gram_U)
        if self.signs is None:
            self.DV, self.right = DV, S.transform_right(DV)
            self.total1 = S.adjoint_transformed((point.left, self.right), (self.left, point.right))
            self.gram_V = quartic.gram_line(point.V, DV, point.gram_V)
        else:
            signs = self.signs
            self.DV = DU * like(signs, DU)
            self.right = S.transform_mirrored(self.left, signs)
            self.total1 = 2 * S.adjoint_transformed((point.left, self.right))
            self.gram_V = quartic.mirrored(self.gram_U, signs)
        self.total2, self.scale = S.adjoint_transformed((self.left, self.right)), scale
        self.products = objective.penalty.products(DU, self.DV, self.signs)
        self.violation_squared = objective.penalty.along(self)
        recovered = objective.recovery.signal
        self.y1 = recovered(self.total1 * scale, (point.U, self.DV), (DU, point.V))
        self.data1, self.averaged = forward(self.y1), point.y is point.mean
        self.y1 = None if self.averaged else self.y1
        self.y2 = recovered(self.total2 * scale, (DU, self.DV))
        self.data2 = forward(self.y2)
        self.y2 = None if self.averaged else self.y2
        self.loss = quartic.square(point.residual, self.data1, self.data2) / 2
        norms = quartic.traces(self.gram_U) + quartic.traces(self.gram_V)
        self.psi = self.loss + objective.lam / 2 * self.violation_squared + objective.mu / 2 * norms

    def means(self) -> Iterator[Array]:
        """Generate the means over all copies, for the powers of the step; they are not kept."""
        yield self.point.mean
        yield self.total1 * self.scale
        yield self.total2 * self.scale

    def decrease(self, t: float) -> float:
        """Compute by how much a step of `t` lowers psi."""
        return -quartic.value(np.concatenate([[0.0], self.psi[1:]]), t)

    def move(self, t: float) -> Point:
        """Return the point at step `t`. Overwrites the point where the line started."""
        p = self.point
        G, H = self.gram_U, self.gram_V
        U = add_scaled(p.U, t, self.DU)
        total = add_scaled(add_scaled(p.total, t, self.total1), t**2, self.total2)
        mean = total * self.scale
        return Point(
            U,
            add_scaled(p.V, t, self.DV) if self.signs is None else U * like(self.signs, U),
            add_scaled(p.left, t, self.left),
            add_scaled(p.right, t, self.right),
            total,
            mean,
            mean if self.averaged else add_scaled(add_scaled(p.y, t, self.y1), t**2, self.y2),
            None,
            add_scaled(add_scaled(p.residual, t, self.data1), t**2, self.data2),
            G[0] + t * G[1] + t**2 * G[2],
            H[0] + t * H[1] + t**2 * H[2],
            tuple(a + t * b for a, b in zip(p.products, self.products, strict=True)),
            self.signs,
            quartic.value(self.loss, t),
            max(quartic.value(self.violation_squared, t), 0.0),
        )


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

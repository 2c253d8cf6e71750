"""The penalised objective (reform2) on thin factors: value, gradient, line polynomial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array, add_scaled, gram, inner, like
from .._checks import positive
from ..structures import Structure
from . import quartic
from .linalg import SingularPairs, random_vector, top_singular_pairs
from .lowrank import LowRank
from .penalties import (
    Factors,
    Penalty,
    ProjectionPenalty,
    Remainder,
    ShiftedDifferencePenalty,
    SparseDifferencePenalty,
)
from .problem import Problem


@dataclass
class Point:
    """Factors of X with what the objective has computed about them."""

    U: Array  # M x r
    V: Array  # N x r
    left: Array  # transformed U
    right: Array  # transformed V
    total: Array  # Q*(X), the sum over all copies
    y: Array  # C X, the mean over all copies
    data: Array  # A y
    residual: Array  # A y - b
    gram_U: np.ndarray  # U^H U
    gram_V: np.ndarray  # V^H V
    products: tuple[np.ndarray, ...]  # what the penalty wants to keep
    signs: np.ndarray | None = None  # V = U diag(signs), where X and the structure are symmetric
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
    """The paper's (reform2) in its factors.

    `phi(X) = f(X) + mu ||X||_*`, `f(X) = 1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2`

    and `psi(U, V) = f(U V^H) + mu/2 (||U||^2 + ||V||^2)`, an upper bound of phi, tight for
    balanced factors. C is C_proj, the mean over all copies of a signal entry.

    Parameters
    ----------
    problem : Problem
    lam : float
        Price of a departure from the structure, above zero.
    penalty : {"projection", "difference"} or Penalty
        Which B: "projection" is `B = I - P`, the distance to the structured matrices;
        "difference" is the paper's, differences of neighbouring copies.

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

    def __init__(self, problem: Problem, lam: float, penalty: str | Penalty = "projection") -> None:
        self.problem, self.measure = problem, problem.measure
        self.structure: Structure = problem.structure
        self.mu, self.lam = problem.mu, positive(lam, "lam")
        reference = problem.backprojection
        multiplicity = like(self.structure.multiplicity.astype(float), reference, real=True)
        self.inverse_multiplicity = 1.0 / multiplicity
        self.penalty = _penalty(penalty, self.structure, reference)
        self.target, self.offset_mean = problem.data, None
        if self.structure.offset is not None:
            # X = Q0 + Q(y) has C X = y + C Q0: the unknown carries the offset's mean along.
            self.offset_mean = self.structure.average_dense(like(self.structure.offset, reference))
            self.target = problem.data + problem.measure.forward(self.offset_mean)

    # -- values -------------------------------------------------------------------------

    def at(self, X: LowRank) -> Point:
        """Everything about `X` that values and gradients need."""
        S = self.structure
        if X.rank == 0:  # transforms need something to work on
            X = LowRank.ones(X.shape, X.U).scaled(0.0)
        signs = X.signs if self.penalty.symmetric else None
        left = S.transform_left(X.U)
        right = S.transform_right(X.V) if signs is None else S.transform_mirrored(left, signs)
        total = S.adjoint_transformed((left, right))
        y = total * self.inverse_multiplicity
        data = self.measure.forward(y) + 0.0  # memory of its own
        residual = data - self.target
        grams = gram(X.U, X.U), gram(X.V, X.V)
        products = self.penalty.products(X.U, X.V, signs)
        point = Point(X.U, X.V, left, right, total, y, data, residual, *grams, products, signs)
        point.loss = inner(residual, residual) / 2
        point.violation_squared = self.penalty.value(point)
        return point

    def smooth(self, point: Point) -> float:
        """`f(X)`."""
        return point.loss + self.lam / 2 * point.violation_squared

    def psi(self, point: Point) -> float:
        """`f(U V^H) + mu/2 (||U||^2 + ||V||^2)`."""
        return self.smooth(point) + self.mu * point.half_norms

    def value(self, X: LowRank) -> float:
        """`phi(X)`."""
        return self.smooth(self.at(X)) + self.mu * X.nuclear_norm()

    def signal(self, point: Point) -> Array:
        """The signal that belongs to `X`."""
        return point.y if self.offset_mean is None else point.y - self.offset_mean

    def gamma(self, point: Point) -> Array:
        """`b - A(y)`. With `Lambda = -grad f(X)` it obeys `A^* gamma = Q^* Lambda`, as B Q = 0."""
        return -point.residual

    def violation(self, point: Point) -> float:
        """Structure violation `||B (X - Q0)||_F`."""
        return float(np.sqrt(point.violation_squared))

    def magnitude(self, point: Point) -> float:
        """Norm of what cancels in the gradient, which says how large its rounding errors are."""
        return self.lam * float(np.sqrt(max(point.X.norm_squared(), 0.0)))

    def curvature(self, point: Point) -> float:
        """Second derivative of f along X: `||A(C X)||^2 + lam ||B X||^2`."""
        return inner(point.data, point.data) + self.lam * self.penalty.quadratic(point)

    def slope_at_zero(self, point: Point) -> float:
        """`<grad f(0), X>`; f is quadratic, so `<grad f(X), X>` is this plus the curvature."""
        return self.lam * self.penalty.linear(point) - inner(self.target, point.data)

    # -- gradients ----------------------------------------------------------------------

    def gradient(self, point: Point) -> Gradient:
        """`grad f(X)`, structured plus low rank, as an operator."""
        return Gradient(
            self.structure,
            self.structure.transform_signal(self._gradient_signal(point)),
            self.lam,
            self.penalty.remainder(point),
        )

    def factor_gradient(self, point: Point) -> Factors:
        """Gradients of psi: `grad f(X) V + mu U` and `grad f(X)^H U + mu V`.

        Where the point has signs the second is the first times them, and left out.
        """
        S = self.structure
        signal = S.transform_signal(self._gradient_signal(point))
        structured: Factors = (S.matmul_transformed(signal, point.right),)
        if point.signs is None:
            structured += (S.rmatmul_transformed(signal, point.left),)
        return self.penalty.add_factor_products(structured, point, self.lam, self.mu)

    def factor_curvature(self, point: Point) -> tuple[np.ndarray, ...]:
        """About the second derivatives of psi: `lam V^H V + mu` and `lam U^H U + mu`."""
        grams = (point.gram_V, point.gram_U) if point.signs is None else (point.gram_V,)
        ridge = self.mu * np.eye(point.gram_U.shape[0])
        return tuple(self.lam * G + ridge for G in grams)

    def _gradient_signal(self, point: Point) -> Array:
        """The g of `grad f(X) = Q(g) + lam R`."""
        g = self.measure.adjoint(point.residual) * self.inverse_multiplicity
        return self.penalty.add_signal(g, point, self.lam)

    # -- along a line -------------------------------------------------------------------

    def line(self, point: Point, DU: Array, DV: Array | None = None) -> Line:
        """Psi along `(U + t DU, V + t DV)`; without DV, V stays `U diag(signs)`."""
        return Line(self, point, DU, DV)


class Gradient:
    """`Q(g) + lam R` for a structured Q(g) and a thin R, never formed.

    Its signal is held transformed, so that one product with a vector costs
    two transforms.
    """

    def __init__(
        self, structure: Structure, transformed_signal: Array, lam: float, remainder: Remainder
    ) -> None:
        self.structure, self.lam = structure, lam
        self.transformed_signal, self.remainder = transformed_signal, remainder

    def matmul(self, Z: Array) -> Array:
        """`grad f(X) @ Z` for Z of shape (N, r)."""
        S = self.structure
        structured = S.matmul_transformed(self.transformed_signal, S.transform_right(Z))
        return structured + self.lam * self.remainder.matmul(Z)

    def rmatmul(self, Z: Array) -> Array:
        """`grad f(X)^H @ Z` for Z of shape (M, r)."""
        S = self.structure
        structured = S.rmatmul_transformed(self.transformed_signal, S.transform_left(Z))
        return structured + self.lam * self.remainder.rmatmul(Z)

    def top(self, count: int, start: Array, **options: float) -> SingularPairs:
        """Leading singular pairs of `-grad f(X)`, the direction of steepest descent."""
        return top_singular_pairs(
            lambda v: -self.matmul(v[:, None])[:, 0],
            lambda u: -self.rmatmul(u[:, None])[:, 0],
            start,
            count,
            **options,  # type: ignore[arg-type]
        )


class Line:
    """psi along a line in the factors: a polynomial of degree four in the step.

    Costs the transforms of the direction and two inverse transforms of signals. A
    move along the line needs no transform at all, as transforms are linear.
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
        self.total2 = S.adjoint_transformed((self.left, self.right))
        self.y1, self.y2 = self.total1 * scale, self.total2 * scale
        self.data1, self.data2 = forward(self.y1), forward(self.y2)
        self.products = objective.penalty.products(DU, self.DV, self.signs)
        self.loss = quartic.square(point.residual, self.data1, self.data2) / 2
        self.violation_squared = objective.penalty.along(self)
        norms = quartic.traces(self.gram_U) + quartic.traces(self.gram_V)
        self.psi = self.loss + objective.lam / 2 * self.violation_squared + objective.mu / 2 * norms

    def decrease(self, t: float) -> float:
        """By how much a step of `t` lowers psi."""
        return -quartic.value(np.concatenate([[0.0], self.psi[1:]]), t)

    def move(self, t: float) -> Point:
        """The point at step `t`. Consumes the point the line started from."""
        p = self.point
        G, H = self.gram_U, self.gram_V
        U = add_scaled(p.U, t, self.DU)
        return Point(
            U,
            add_scaled(p.V, t, self.DV) if self.signs is None else U * like(self.signs, U),
            add_scaled(p.left, t, self.left),
            add_scaled(p.right, t, self.right),
            add_scaled(add_scaled(p.total, t, self.total1), t**2, self.total2),
            add_scaled(add_scaled(p.y, t, self.y1), t**2, self.y2),
            add_scaled(add_scaled(p.data, t, self.data1), t**2, self.data2),
            add_scaled(add_scaled(p.residual, t, self.data1), t**2, self.data2),
            G[0] + t * G[1] + t**2 * G[2],
            H[0] + t * H[1] + t**2 * H[2],
            tuple(a + t * b for a, b in zip(p.products, self.products, strict=True)),
            self.signs,
            quartic.value(self.loss, t),
            max(quartic.value(self.violation_squared, t), 0.0),
        )


def mu_max(problem: Problem, lam: float | None = None, penalty: str = "projection") -> float:
    """The smallest mu for which the solution of the penalised problem is zero.

    It is the top singular value of the gradient at zero, `||Q(A^* b / multiplicity)||_2`.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter.
    lam : float, optional
        Price of a departure from the structure. Matters for structures with an offset only.
    penalty : {"projection", "difference"}
        Which departure. Matters for structures with an offset only.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, mu_max
    >>> round(mu_max(Problem(Hankel(3, window=2), np.array([1.0, 2.0, 4.0]), mu=1.0)), 6)
    4.302776
    """
    if lam is None and problem.structure.offset is not None:
        raise ValueError(f"{problem.structure!r} has an offset, so mu_max depends on lam: pass it")
    objective = Penalized(problem, 1.0 if lam is None else lam, penalty)
    reference = problem.backprojection
    zero = LowRank.zeros(problem.structure.shape, reference)
    gradient = objective.gradient(objective.at(zero))
    start = random_vector(problem.structure.shape[1], reference, seed=0)
    return gradient.top(1, start, tolerance=1e-10, max_steps=300).upper


def natural_lam(problem: Problem) -> float:
    """The lam at which data and structure weigh about the same; 1 for lifted weights."""
    z = problem.backprojection
    image = problem.measure.forward(z)
    square = inner(z, like(problem.structure.multiplicity.astype(float), z, real=True) * z)
    return inner(image, image) / square if square > 0 else 1.0


def _penalty(name: str | Penalty, structure: Structure, reference: Array) -> Penalty:
    if not isinstance(name, str):
        return name
    if name == "projection":
        return ProjectionPenalty(structure, reference)
    if name == "difference":
        if structure.differences() is not None and structure.offset is None:
            return ShiftedDifferencePenalty(structure, reference)
        return SparseDifferencePenalty(structure, reference)
    raise ValueError(f"penalty is {name!r}, but 'projection' or 'difference' is expected")

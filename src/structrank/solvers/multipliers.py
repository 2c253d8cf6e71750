"""The method of multipliers for (relax), and for variants with an augmented Lagrangian like its."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from .._array import (
    Array,
    array_namespace,
    epsilon,
    gram,
    inner,
    is_complex,
    like,
    rotate,
    to_numpy,
)
from ..model.certificate import dual_bound, is_small, nuclear_norm_bound
from ..model.linalg import SingularPairs, random_vector
from ..model.lowrank import LowRank
from ..model.objective import Gradient, Penalized, Point, natural_lam
from ..model.problem import Problem
from .augmented import Augmented
from .local_search import local_search
from .state import State
from .step import StepPlane, atom


@dataclass(frozen=True)
class MultiplierMethod:
    """Settings of the method of multipliers.

    The values were chosen on the problems of `benchmarks.certified` (28 combinations were tried);
    the solution does not depend on them, only the time does. `failure` is part of the promise
    that the bounds make.
    """

    failure: float = 1e-10  # probability that one bound of a top singular value is too low
    first_seed: int = 2**31  # of the starts for these bounds; nothing else may use these seeds
    lanczos_steps: int = 300  # for one bound, at most
    stiffness: float = 10.0  # first lam over the curvature of the misfit as X sees it
    growth: float = 5.0  # of lam, where the structure is approached too slowly
    slow: float = 0.25  # the structure is approached slowly if more of the violation is left
    relaxation: float = 1.0  # multipliers move by this much of the plain step; below two
    pairs: int = 24  # singular pairs per step, at most
    search_steps: int = 200  # per local search, at most
    piece: int = 200  # steps of a local search until the augmented Lagrangian is made tight
    coarsest_bound: float = 0.05  # relative accuracy of a bound, at most
    bound_share: float = 0.2  # accuracy of a bound over the gap that is left
    finest_share: float = 0.25  # accuracy of a bound over the gap that is wanted, at least
    solved: float = 0.3  # excess of the top singular value over mu, over the gap: solved
    rounding: float = 0.3  # error of a multiplier in the gradient, over gap and mu
    search: float = 1e-4  # decrease of psi per search step over gap^2: psi is of second order
    effort: float = 10.0  # factor on the accuracy of the search while a subproblem is not solved
    loosest: float = 0.1  # a gap above this counts as this for the search
    negligible: float = 1e-7  # singular values below this share of the largest are dropped
    drop: float = 0.1  # what is dropped may move the gradient by this share of gap and mu


class Lagrangian(Augmented):
    """The augmented Lagrangian of (relax) or a variant, with bounds on the variant's optimum.

    The dual is that of (relax), `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>` subject to
    `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`, with a square of `priced(gamma)` and one more
    constraint, `excess(gamma) <= 1`.
    """

    method = MultiplierMethod()

    def tight(self, X: LowRank) -> tuple[Lagrangian, Point]:
        """The augmented Lagrangian to go on with at X, and the point there."""
        return self, self.at(X)

    @abstractmethod
    def advanced(self, point: Point, lam: float, tolerance: float) -> Lagrangian:
        """With another lam and the multiplier `-grad f(X)`, rounded to a tolerance."""

    def polished(self, state: State) -> State:
        """The state with a better signal, where one is known once a subproblem is solved."""
        return state

    def misfit(self, y: Array) -> float:
        """The objective without the nuclear norm."""
        return self.problem.misfit(y)

    def priced(self, gamma: Array) -> Array:
        """The part of gamma whose square the dual has."""
        return gamma

    def excess(self, gamma: Array) -> float:
        """What gamma has to be divided by to be feasible."""
        return 0.0

    @property
    def samples(self) -> Array:
        """The right-hand side b of the variant, in the space of gamma."""
        return self.problem.data

    def state(self, X: LowRank, point: Point, gradient: Gradient, top: SingularPairs) -> State:
        """An iterate, with bounds on both sides of the optimum."""
        gamma = self.gamma(point)
        bound = lower_bound(
            self, point, gradient, top, self.samples, self.priced(gamma), self.excess(gamma)
        )
        return certified_state(self, X, point, top, bound, self.misfit(self.signal(point)))


def method_of_multipliers(objective: Lagrangian, X: LowRank, aim: float) -> Iterator[State]:
    """The iterates of the method of multipliers, whose subproblems the steps of gcgls solve.

    Parameters
    ----------
    objective : Lagrangian
        The first one, which makes the further ones. Its `method` has the settings.
    X : LowRank
        Where to start.
    aim : float
        The relative gap that is wanted.
    """
    method, reference, mu = objective.method, objective.problem.backprojection, objective.mu
    symmetric = objective.structure.symmetric and not is_complex(reference)
    rounding = 10 * epsilon(reference)
    X = (X.symmetric_part() if symmetric else X).balanced(max(method.negligible, rounding))
    upper, lower, gap, last_violation, effort = np.inf, 0.0, 1.0, np.inf, 1.0
    for k in count():
        objective, point = objective.tight(X)
        gradient = objective.gradient(point)
        accuracy = max(method.bound_share * gap, method.finest_share * aim)
        top = proven_top(gradient, reference, k, min(accuracy, method.coarsest_bound), method)
        state = objective.state(X, point, gradient, top)
        violation = state.violation
        upper = min(upper, state.objective)
        lower = max(lower, state.objective * (1 - state.gap))
        gap = 1 - lower / upper if upper > 0 else 0.0
        solved = top.values[0] / mu - 1 <= method.solved * gap
        if solved and gap > aim and objective.T.rank:
            state = objective.polished(state)
            upper = min(upper, state.objective)
            gap = 1 - lower / upper
        yield state

        if solved:
            slow = violation > method.slow * last_violation
            lam = method.growth * objective.lam if slow else objective.lam
            objective = objective.advanced(point, lam, method.rounding * gap * mu)
            last_violation, effort = violation, 1.0
        else:
            pairs = symmetric_pairs(gradient, top) if symmetric else top
            Z = atom(pairs, mu, method.pairs)
            kept, theta = StepPlane(objective, point, Z, pairs).joint()
            X, effort = X.scaled(kept).appended(Z.scaled(theta)), method.effort * effort
        if X.rank:
            psi_share = method.search * min(gap, method.loosest) ** 2 / effort
            X = _searched(objective, X, max(psi_share, epsilon(reference) ** 1.5))
            # What is dropped moves the gradient by lam times its size.
            size = objective.lam * np.sqrt(X.norm_squared())
            share = method.drop * gap * mu / size if size > 0 else np.inf
            X = X.balanced(max(min(method.negligible, share), rounding))


def _searched(objective: Lagrangian, X: LowRank, tolerance: float) -> LowRank:
    """X after a local search, in pieces between which the objective is made tight."""
    piece = objective.method.piece
    for _ in range(0, objective.method.search_steps, piece):
        objective, point = objective.tight(X)
        before = objective.psi(point)
        point = local_search(objective, X, max_steps=piece, tolerance=tolerance)
        X, after = point.X, objective.psi(point)
        if before - after <= piece * tolerance * after:
            break
    return X


def symmetric_pairs(gradient: Gradient, top: SingularPairs) -> SingularPairs:
    """Eigenpairs of `-grad f(X)`, real and symmetric, from what its singular vectors span."""
    xp = array_namespace(top.U)
    Q, _ = xp.linalg.qr(xp.concat([top.U.T, top.V.T]).T)
    values, vectors = np.linalg.eigh(-gram(Q, gradient.matmul(Q)))
    order = np.argsort(-np.abs(values))[: top.values.size]
    V = rotate(Q, vectors[:, order])
    U = V * like(np.where(values[order] < 0, -1.0, 1.0), V)
    return top._replace(U=U, values=np.abs(values[order]), V=V)


def first_lam(problem: Problem, method: MultiplierMethod = MultiplierMethod()) -> float:
    """A lam above the curvature of the misfit as X sees it."""
    return method.stiffness * natural_lam(problem)


def proven_top(
    gradient: Gradient,
    reference: Array,
    draw: int,
    tolerance: float,
    method: MultiplierMethod = MultiplierMethod(),
) -> SingularPairs:
    """Top singular pairs from a fresh random start, with a proven upper bound.

    Equal singular values end the Lanczos method before its bound is tight. Then the matrix is
    formed, if it is small.

    Parameters
    ----------
    gradient : Gradient
    reference : array
        An array of the library, device and precision of the problem.
    draw : int
        Number of the random start.
    tolerance : float
        Relative accuracy of the bound.
    method : MultiplierMethod
    """
    N = gradient.structure.shape[1]
    start = random_vector(N, reference, seed=method.first_seed + draw)
    top = gradient.top(
        method.pairs,
        start,
        tolerance=tolerance,
        max_steps=method.lanczos_steps,
        failure=method.failure,
    )
    if top.upper > (1 + tolerance) * top.values[0] and is_small(gradient.structure):
        norm = float(np.linalg.norm(to_numpy(gradient.matmul(like(np.eye(N), reference))), 2))
        top = top._replace(upper=min(top.upper, norm * (1 + 100 * epsilon(reference))))
    return top


def lower_bound(
    objective: Penalized,
    point: Point,
    gradient: Gradient,
    top: SingularPairs,
    samples: Array,
    priced: Array,
    excess: float = 0.0,
) -> float:
    """A bound from below on the optimum, by the dual."""
    y, structure = objective.signal(point), objective.structure
    alignment = inner(samples, objective.gamma(point))
    if structure.offset is not None:
        unit = like(np.eye(structure.shape[1]), y)
        alignment -= inner(like(structure.offset, y), gradient.matmul(unit))
    top_value = top.upper + 10 * epsilon(y) * objective.magnitude(point)
    return dual_bound(
        alignment=alignment,
        norm_squared=inner(priced, priced),
        top_value=max(top_value, objective.mu * excess),
        mu=objective.mu,
    )


def certified_state(
    objective: Penalized, X: LowRank, point: Point, top: SingularPairs, bound: float, loss: float
) -> State:
    """An iterate as one of (relax), with an objective that is not below that of its signal."""
    y = objective.signal(point)
    value = loss + objective.mu * nuclear_norm_bound(objective.structure, y, point.V)
    return State(
        X=X,
        y=y,
        objective=value,
        loss=loss,
        violation=objective.violation(point),
        gap=1 - max(bound, 0.0) / value if value > 0 else 0.0,
        top_value=float(top.values[0]),
    )

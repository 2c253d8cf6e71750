"""The method of multipliers for (relax), and for variants with an augmented Lagrangian like its."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
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
from ..model.certificate import SMALL, dual_bound, nuclear_norm_bound
from ..model.linalg import SingularPairs, random_vector
from ..model.lowrank import LowRank
from ..model.objective import Gradient, Penalized, Point, natural_lam
from ..model.problem import Problem
from .augmented import Augmented
from .local_search import local_search
from .state import State
from .step import StepPlane, atom

FAILURE = 1e-10  # probability that one bound of a top singular value is too low
SEEDS = 2**31  # of the starts for these bounds, from here on: nothing else may depend on them
STIFFNESS = 10.0  # of the first lam: over the curvature of the misfit as X sees it
PAIRS = 24  # singular pairs a step, at most
SEARCH_STEPS = 200  # steps of a local search, at most
NEGLIGIBLE = 1e-7  # singular values below this share of the largest are dropped


class Lagrangian(Augmented):
    """The augmented Lagrangian of (relax) or a variant, with bounds on the variant's optimum.

    The dual is that of (relax), `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>` subject to
    `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`, with a square of `priced(gamma)` and one more
    constraint, `excess(gamma) <= 1`.
    """

    growth = 5.0  # of lam, where the structure is approached too slowly

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
        return squared_misfit(self.problem, y)

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


def method_of_multipliers(
    objective: Lagrangian, X: LowRank, aim: float, piece: int = SEARCH_STEPS
) -> Iterator[State]:
    """The iterates of the method of multipliers, whose subproblems gcgls' steps solve.

    Parameters
    ----------
    objective : Lagrangian
        The first one, which makes the further ones.
    X : LowRank
        Where to start.
    aim : float
        The relative gap that is wanted.
    piece : int
        After so many steps of a local search the augmented Lagrangian is made `tight` again.
    """
    reference, mu = objective.problem.backprojection, objective.mu
    symmetric = objective.structure.symmetric and not is_complex(reference)
    X = (X.symmetric_part() if symmetric else X).balanced(max(NEGLIGIBLE, 10 * epsilon(reference)))
    upper, lower, gap, departure, effort = np.inf, 0.0, 1.0, np.inf, 1.0
    for k in count():
        objective, point = objective.tight(X)
        gradient = objective.gradient(point)
        top = proven_top(gradient, reference, k, min(max(gap / 5, aim / 4), 0.05))
        state = objective.state(X, point, gradient, top)
        upper = min(upper, state.objective)
        lower = max(lower, state.objective * (1 - state.gap))
        gap = 1 - lower / upper if upper > 0 else 0.0
        solved = top.values[0] / mu - 1 <= 0.3 * gap  # the subproblem, well enough
        violation = state.violation
        if solved and gap > aim and objective.T.rank:
            state = objective.polished(state)
            upper = min(upper, state.objective)
            gap = 1 - lower / upper
        yield state

        if solved:
            slow = violation > departure / 4
            lam = objective.growth * objective.lam if slow else objective.lam
            objective = objective.advanced(point, lam, 0.3 * gap * mu)
            departure, effort = violation, 1.0
        else:
            pairs = symmetric_pairs(gradient, top) if symmetric else top
            Z = atom(pairs, mu, PAIRS)
            kept, theta = StepPlane(objective, point, Z, pairs).joint()
            X, effort = X.scaled(kept).appended(Z.scaled(theta)), 10 * effort
        if X.rank:
            # The gap is of first order in the distance to the solution, psi of second.
            tolerance = max(min(gap, 0.1) ** 2 / (1e4 * effort), epsilon(reference) ** 1.5)
            X = _searched(objective, X, tolerance, piece)
            # What is dropped moves the gradient by lam times its size.
            size = objective.lam * np.sqrt(X.norm_squared())
            share = min(NEGLIGIBLE, 0.1 * gap * mu / size) if size > 0 else NEGLIGIBLE
            X = X.balanced(max(share, 10 * epsilon(reference)))


def _searched(objective: Lagrangian, X: LowRank, tolerance: float, piece: int) -> LowRank:
    """X after a local search, in pieces between which the objective is made tight."""
    for _ in range(0, SEARCH_STEPS, piece):
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


def first_lam(problem: Problem) -> float:
    """Above the curvature of the misfit as X sees it."""
    return STIFFNESS * natural_lam(problem)


def proven_top(gradient: Gradient, reference: Array, seed: int, tolerance: float) -> SingularPairs:
    """Top singular pairs from a fresh random start, with a proven upper bound.

    Equal singular values end Lanczos' method before its bound is tight: then small matrices are
    formed.
    """
    M, N = gradient.structure.shape
    start = random_vector(N, reference, seed=SEEDS + seed)
    top = gradient.top(PAIRS, start, tolerance=tolerance, max_steps=300, failure=FAILURE)
    if top.upper > (1 + tolerance) * top.values[0] and M * N <= SMALL:
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
    sigma = top.upper + 10 * epsilon(y) * objective.magnitude(point)
    return dual_bound(
        alignment=alignment,
        norm_squared=inner(priced, priced),
        sigma=max(sigma, objective.mu * excess),
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
        violation=float(np.sqrt(objective.departure(point))),
        gap=1 - max(bound, 0.0) / value if value > 0 else 0.0,
        sigma=float(top.values[0]),
    )


def squared_misfit(problem: Problem, y: Array) -> float:
    """`1/2 ||A(y) - b||^2`."""
    residual = problem.data - problem.measure.forward(y)
    return inner(residual, residual) / 2

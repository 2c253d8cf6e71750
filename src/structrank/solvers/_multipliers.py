"""The method of multipliers for variants of (relax) whose augmented Lagrangian is of its form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import count

import numpy as np

from .._array import Array, epsilon, inner, like
from ..augmented import Augmented
from ..certificate import dual_bound, nuclear_norm_bound
from ..linalg import SingularPairs
from ..local_search import local_search
from ..lowrank import LowRank
from ..objective import Gradient, Point
from ..state import State
from ..step import StepPlane, atom
from .exact import PAIRS, SEARCH_STEPS, _proven_top

GROWTH = 5.0  # of lam, where the structure is approached too slowly


class Lagrangian(Augmented):
    """The augmented Lagrangian of a variant of (relax), with bounds on the variant's optimum.

    The dual is that of (relax), `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>` subject to
    `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`, with a square of `priced(gamma)` and one more
    constraint, `excess(gamma) <= 1`.
    """

    def tight(self, X: LowRank) -> tuple[Lagrangian, Point]:
        """The augmented Lagrangian to go on with at X, and the point there."""
        return self, self.at(X)

    @abstractmethod
    def advanced(self, point: Point, lam: float, tolerance: float) -> Lagrangian:
        """With another lam and the multiplier `-grad f(X)`, rounded to a tolerance."""

    @abstractmethod
    def misfit(self, y: Array) -> float:
        """The objective without the nuclear norm."""

    def priced(self, gamma: Array) -> Array:
        """The part of gamma whose square the dual has."""
        return gamma

    def excess(self, gamma: Array) -> float:
        """What gamma has to be divided by to be feasible."""
        return 0.0

    def grown(self, point: Point, tolerance: float) -> LowRank:
        """T plus `lam X`, rounded to a tolerance."""
        T = self.T.appended(point.X.scaled(self.lam))
        return T.balanced(tolerance / max(tolerance, float(np.sqrt(max(T.norm_squared(), 0.0)))))

    def state(self, X: LowRank, point: Point, gradient: Gradient, top: SingularPairs) -> State:
        """An iterate, with bounds on both sides of the optimum."""
        y, gamma, structure = self.signal(point), self.gamma(point), self.structure
        alignment = inner(self.samples, gamma)
        if structure.offset is not None:
            unit = like(np.eye(structure.shape[1]), y)
            alignment -= inner(like(structure.offset, y), gradient.matmul(unit))
        sigma = top.upper + 10 * epsilon(y) * self.magnitude(point)
        priced = self.priced(gamma)
        bound = dual_bound(
            alignment=alignment,
            norm_squared=inner(priced, priced),
            sigma=max(sigma, self.mu * self.excess(gamma)),
            mu=self.mu,
        )
        loss = self.misfit(y)
        value = loss + self.mu * nuclear_norm_bound(structure, y, point.V)
        return State(
            X=X,
            y=y,
            objective=value,
            loss=loss,
            violation=float(np.sqrt(self.departure(point))),
            gap=1 - max(bound, 0.0) / value if value > 0 else 0.0,
            sigma=float(top.values[0]),
        )

    @property
    def samples(self) -> Array:
        """The right-hand side b of the variant, in the space of gamma."""
        return self.problem.data


def method_of_multipliers(
    objective: Lagrangian, X: LowRank, aim: float, piece: int = SEARCH_STEPS
) -> Iterator[State]:
    """The iterates of the method of multipliers, as in `solve`.

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
    prune = max(1e-7, 10 * epsilon(reference))
    X = X.balanced(prune)
    upper, lower, gap, departure, effort = np.inf, 0.0, 1.0, np.inf, 1.0
    for k in count():
        objective, point = objective.tight(X)
        gradient = objective.gradient(point)
        top = _proven_top(gradient, reference, k, min(max(gap / 5, aim / 4), 0.05))
        state = objective.state(X, point, gradient, top)
        yield state

        upper = min(upper, state.objective)
        lower = max(lower, state.objective * (1 - state.gap))
        gap = 1 - lower / upper if upper > 0 else 0.0
        if top.values[0] / mu - 1 <= 0.3 * gap:  # the subproblem is solved well enough
            lam = objective.lam if state.violation < departure / 4 else GROWTH * objective.lam
            objective = objective.advanced(point, lam, 0.3 * gap * mu)
            departure, effort = state.violation, 1.0
        else:
            Z = atom(top, mu, PAIRS)
            kept, theta = StepPlane(objective, point, Z, top).joint()
            X, effort = X.scaled(kept).appended(Z.scaled(theta)), 10 * effort
        if X.rank:
            # The gap is of first order in the distance to the solution, psi of second.
            tolerance = min(gap, 0.1) ** 2 / (1e4 * effort)
            for _ in range(0, SEARCH_STEPS, piece):
                objective, point = objective.tight(X)
                before = objective.psi(point)
                point = local_search(objective, X, max_steps=piece, tolerance=tolerance)
                X, after = point.X, objective.psi(point)
                if before - after <= piece * tolerance * after:
                    break
            X = X.balanced(prune)

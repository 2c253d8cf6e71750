"""The method of multipliers for (relax) and its variants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

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
)
from ..model.certificate import dual_bound, nuclear_norm_bound
from ..model.gradient import Gradient
from ..model.linalg import Rounding, SingularPairs
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized, natural_lam
from ..model.problem import Problem
from ..model.starts import Randomness, RandomStarts
from .augmented import Augmented
from .local_search import search_in_pieces
from .memory import Memory, Restored
from .proven import Proof, proven_top
from .state import State
from .step import StepPlane, atom


@dataclass(frozen=True)
class MultiplierMethod:
    """Settings of the method of multipliers.

    The values were chosen on the problems of `benchmarks.certified`, where 28 combinations were
    tried. They change the time that a run takes, not its solution. Only `proof` matters for the
    certificate.
    """

    stiffness: float = 10.0  # first lam over the curvature of the misfit as a function of X
    growth: float = 5.0  # factor on lam when X approaches the structure too slowly
    slow: float = 0.25  # too slowly: more than this fraction of the violation remains
    relaxation: float = 1.0  # step of the multipliers over the plain step; below two
    pairs: int = 24  # largest number of singular pairs per step
    search_steps: int = 200  # largest number of steps per local search
    piece: int = 200  # steps of a local search before the augmented Lagrangian is updated
    coarsest_bound: float = 0.05  # largest relative error of a bound
    bound_share: float = 0.2  # relative error of a bound over the current gap
    finest_share: float = 0.25  # smallest relative error of a bound over the gap asked for
    solved: float = 0.3  # a subproblem is solved if (top value / mu - 1) / gap is at most this
    multiplier_error: float = 0.3  # error of a multiplier in the gradient, over gap and mu
    search: float = 1e-4  # decrease of psi per search step over gap^2: psi is of second order
    effort: float = 10.0  # the search gets finer by this factor until a subproblem is solved
    loosest: float = 0.1  # largest gap that the accuracy of the search is derived from
    search_floor: float = 1.5  # power of machine epsilon: smallest decrease of psi per search step
    negligible: float = 1e-7  # smallest singular value kept, over the largest
    drop: float = 0.1  # change of the gradient by dropped singular values, over gap and mu
    proof: Proof = field(default_factory=Proof)


class Lagrangian(Augmented):
    """The augmented Lagrangian of (relax) or a variant, with bounds on the variant's optimum.

    The dual of (relax) is `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>` subject to
    `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`. In the dual of a variant the square is that
    of `priced(gamma)`, and there is one more constraint, `excess(gamma) <= 1`.
    """

    method = MultiplierMethod()

    def tight(self, X: LowRank) -> tuple[Lagrangian, Point]:
        """Return the augmented Lagrangian to continue with at X, and its point there."""
        return self, self.at(X)

    @abstractmethod
    def advanced(self, point: Point, lam: float, tolerance: float) -> Lagrangian:
        """Return a copy with another lam and the multiplier `-grad f(X)`, up to a tolerance."""

    def kept(self) -> dict[str, Any]:
        """Return what distinguishes this Lagrangian from the first one, for a checkpoint."""
        return {"lam": self.lam, "T": self.T, "gamma": self.multiplier, "weight": self.weight}

    def restored(self, restored: Restored) -> Self:
        """Return the Lagrangian with what was kept, made from the first one."""
        T, gamma = restored.matrix("T"), restored.array("gamma")
        return type(self)(self.problem, restored["lam"], T, gamma, restored["weight"])

    def polished(self, state: State) -> State:
        """Improve the signal of a state after its subproblem is solved, where that is possible."""
        return state

    def misfit(self, y: Array) -> float:
        """Evaluate the objective without the nuclear norm."""
        return self.problem.misfit(y)

    def priced(self, gamma: Array) -> Array:
        """Return the part of gamma whose square occurs in the dual."""
        return gamma

    def excess(self, gamma: Array) -> float:
        """Return the factor that gamma has to be divided by to be feasible, if above one."""
        return 0.0

    @property
    def samples(self) -> Array:
        """The right-hand side b of the variant, in the space of gamma."""
        return self.problem.data

    def state(self, X: LowRank, point: Point, gradient: Gradient, top: SingularPairs) -> State:
        """Describe an iterate, with an upper and a lower bound on the optimum."""
        gamma = self.gamma(point)
        bound = lower_bound(
            self,
            point,
            gradient,
            top,
            self.samples,
            self.priced(gamma),
            self.excess(gamma),
            self.method.proof.rounding,
        )
        return certified_state(self, X, point, top, bound, self.misfit(self.signal(point)))


def method_of_multipliers(
    objective: Lagrangian, X: LowRank, aim: float, rng: Randomness, memory: Memory | None = None
) -> Iterator[State]:
    """Generate the iterates of the method of multipliers; steps of gcgls solve its subproblems.

    Parameters
    ----------
    objective : Lagrangian
        The first augmented Lagrangian. It makes the later ones. Its `method` has the settings.
    X : LowRank
        Where to start.
    aim : float
        The relative gap asked for.
    rng : int, numpy.random.Generator or None
        Source of the random starts for the bounds, as in `RandomStarts`.
    memory : Memory, optional
    """
    method, reference, mu = objective.method, objective.problem.backprojection, objective.mu
    symmetric = objective.structure.symmetric and not is_complex(reference)
    rounding = method.proof.rounding.sums * epsilon(reference)
    X = (X.symmetric_part() if symmetric else X).balanced(max(method.negligible, rounding))
    starts = RandomStarts(objective.problem, X, rng)
    upper, lower, gap, last_violation, effort = np.inf, 0.0, 1.0, np.inf, 1.0
    restored = None if memory is None else memory.take()
    if restored is not None:
        X, objective = restored.matrix("X"), objective.restored(restored)
        upper, lower, gap, last_violation, effort = restored["numbers"]
        starts.restore(restored["starts"])
    while True:
        if memory is not None:
            numbers = [float(x) for x in (upper, lower, gap, last_violation, effort)]
            memory.keep(X=X, numbers=numbers, starts=starts.position(), **objective.kept())
        objective, point = objective.tight(X)
        gradient = objective.gradient(point)
        accuracy = max(method.bound_share * gap, method.finest_share * aim)
        accuracy = min(accuracy, method.coarsest_bound)
        top = proven_top(gradient, starts.draw(), method.pairs, accuracy, method.proof)
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
            objective = objective.advanced(point, lam, method.multiplier_error * gap * mu)
            last_violation, effort = violation, 1.0
        else:
            pairs = symmetric_pairs(gradient, top) if symmetric else top
            Z = atom(pairs, mu, method.pairs)
            kept, theta = StepPlane(objective, point, Z, pairs).joint()
            X, effort = X.scaled(kept).appended(Z.scaled(theta)), method.effort * effort
        if X.rank:
            X = _searched(objective, X, gap, effort, rounding)


def _searched(
    objective: Lagrangian, X: LowRank, gap: float, effort: float, rounding: float
) -> LowRank:
    """Lower the augmented Lagrangian by local search, and drop what the gap does not need."""
    method = objective.method
    decrease = method.search * min(gap, method.loosest) ** 2 / effort
    X = search_in_pieces(
        objective,
        X,
        max_steps=method.search_steps,
        piece=method.piece,
        tolerance=max(decrease, epsilon(X.U) ** method.search_floor),
    )
    # Dropped singular values move the gradient by lam times their size.
    size = objective.lam * np.sqrt(X.norm_squared())
    share = method.drop * gap * objective.mu / size if size > 0 else np.inf
    return X.balanced(max(min(method.negligible, share), rounding))


def symmetric_pairs(gradient: Gradient, top: SingularPairs) -> SingularPairs:
    """Compute eigenpairs of `-grad f(X)`, real and symmetric, in the span of singular vectors."""
    xp = array_namespace(top.U)
    Q, _ = xp.linalg.qr(xp.concat([top.U.T, top.V.T]).T)
    values, vectors = np.linalg.eigh(-gram(Q, gradient.matmul(Q)))
    order = np.argsort(-np.abs(values))[: top.values.size]
    V = rotate(Q, vectors[:, order])
    U = V * like(np.where(values[order] < 0, -1.0, 1.0), V)
    return top._replace(U=U, values=np.abs(values[order]), V=V)


def first_lam(problem: Problem, method: MultiplierMethod = MultiplierMethod()) -> float:
    """Choose the first lam: above the curvature of the misfit as a function of X."""
    return method.stiffness * natural_lam(problem)


def lower_bound(
    objective: Penalized,
    point: Point,
    gradient: Gradient,
    top: SingularPairs,
    samples: Array,
    priced: Array,
    excess: float = 0.0,
    rounding: Rounding = Rounding(),
) -> float:
    """Bound the optimum from below by the dual."""
    y, structure = objective.signal(point), objective.structure
    alignment = inner(samples, objective.gamma(point))
    if structure.offset is not None:
        unit = like(np.eye(structure.shape[1]), y)
        alignment -= inner(like(structure.offset, y), gradient.matmul(unit))
    top_value = top.upper + rounding.sums * epsilon(y) * objective.magnitude(point)
    return dual_bound(
        alignment=alignment,
        norm_squared=inner(priced, priced),
        top_value=max(top_value, objective.mu * excess),
        mu=objective.mu,
    )


def certified_state(
    objective: Penalized, X: LowRank, point: Point, top: SingularPairs, bound: float, loss: float
) -> State:
    """Describe an iterate of (relax), with an upper bound of the objective at its signal."""
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

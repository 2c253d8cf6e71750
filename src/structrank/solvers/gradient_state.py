"""The iterates of Algorithm 1: how accurate their parts are, and their proven gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scipy.optimize import brentq

from .._array import Array, epsilon, in_double_precision
from ..model.linalg import SingularPairs
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.sample_range import is_single
from ..model.starts import FixedStarts, Randomness, RandomStarts
from .proven import Proof, proven_norm
from .result import Result
from .state import State
from .stopping import Stop


@dataclass(frozen=True)
class Accuracy:
    """Accuracies of the parts of an iteration, so that every iteration can gain a digit of the gap.

    The values were chosen on the problems of `benchmarks.paper_sizes` and `benchmarks.floor`.
    They change the time that a run takes, not its result.
    """

    digit: float = 0.1  # next gap to aim at, as a fraction of the last gap
    coarsest: float = 0.1  # largest gap to aim at
    finest: float = 1e-3  # smallest gap to aim at, if the user asks for none
    share: float = 1 / 3  # smallest gap to aim at, as a fraction of the gap the user asks for
    coarsest_pair: float = 1e-2  # largest relative residual of the top singular pair
    search: float = 0.1  # decrease of psi per search step over gap^2: psi is of second order
    finer: float = 0.1  # change of `search` after a step that missed the gap it aimed at
    piece: int = 10  # search steps with the same bound of a loss; 5 to 50 take about the same time
    pruned: float = 1e-7  # smallest singular value kept, over the largest; phi sees its square
    recycled: int = 4  # least number of singular pairs kept for the next Lanczos start
    guess: float = 10.0  # weight of these pairs relative to the random noise in that start
    proof: Proof = field(default_factory=Proof)

    def aim(self, gap: float, stop: Stop | None) -> float:
        """Choose the gap to aim at next, from the gap that was reached."""
        wanted = None if stop is None else stop.gap
        finest = self.finest if wanted is None else self.share * wanted
        return max(min(self.digit * gap, self.coarsest), finest)


class ProvenFigures(NamedTuple):
    """A proven gap, with the numbers of the iterate that it belongs to."""

    gap: float
    objective: float
    loss: float
    violation: float


@dataclass(frozen=True, eq=False)
class GradientState(State):
    """An iterate of Algorithm 1, whose gap is proven from one more Lanczos run when asked for.

    The gap of every iterate is proven, but only as well as the Lanczos run of its step allows at
    no extra cost. A proof asked for is made in double precision, if that is possible: for many
    samples, the rounding of single precision is as large as the gap.
    """

    likely_gap: float  # what a proof is likely to find
    prove: Callable[[float | None, Point | None], ProvenFigures] = field(repr=False)

    @classmethod
    def of(
        cls,
        objective: Penalized,
        X: LowRank,
        point: Point,
        top: SingularPairs,
        starts: RandomStarts | FixedStarts,
        accuracy: Accuracy,
    ) -> GradientState:
        """Describe an iterate with balanced factors."""
        phi = objective.psi(point)
        eps = 0.0 if _single(X) and objective.has_double_precision else epsilon(X.U)
        likely = _relative_gap(objective, point, top.likely_top, accuracy.proof, eps)

        def prove(wanted: float | None, point: Point | None) -> ProvenFigures:
            return _proven(objective, X, starts.draw(), likely, accuracy, wanted, point)

        return cls(
            X=X,
            y=objective.signal(point),
            objective=phi,
            loss=objective.loss(point),
            violation=objective.violation(point),
            gap=_relative_gap(objective, point, top.upper, accuracy.proof),
            top_value=float(top.values[0]),
            likely_gap=likely,
            prove=prove,
        )

    def checked(self, stop: Stop | None, certify: bool, point: Point) -> State:
        """The same iterate, with a better gap if it is likely to end the run.

        This gap is proven, or taken for granted without `certify`. The point of X saves the work
        and the memory of another one.
        """
        wanted = None if stop is None else stop.gap
        if wanted is None or self.likely_gap > wanted:
            return self
        if not certify:
            return replace(self, gap=self.likely_gap)
        return self._with(self.prove(wanted, point))

    def certified(self, wanted: float | None = None) -> State:
        return self._with(self.prove(wanted, None))

    def _with(self, proven: ProvenFigures) -> State:
        return replace(self, **proven._asdict()) if proven.gap <= self.gap else self


def with_proven_gap(
    result: Result, lam: float, rng: Randomness = 0, accuracy: Accuracy = Accuracy()
) -> Result:
    """Prove the gap of a result of `gcgls` that was found inside another method.

    Parameters
    ----------
    result : Result
    lam : float
        Weight of the penalty it was solved with.
    rng : int, numpy.random.Generator or None
        Source of the random start from which the bound is proven.
    accuracy : Accuracy
    """
    start = RandomStarts(result.problem, result.X, rng).draw()
    objective = Penalized(result.problem, lam)
    return replace(result, gap=_proven(objective, result.X, start, result.gap, accuracy).gap)


def _proven(
    objective: Penalized,
    X: LowRank,
    start: Array,
    likely: float,
    accuracy: Accuracy,
    wanted: float | None = None,
    point: Point | None = None,
) -> ProvenFigures:
    """Prove a gap with an accuracy that suits the one that is likely, or the one wanted.

    The gap is infinite if it is found early that the one wanted cannot be proven.
    """
    double = objective.in_double_precision() if _single(X) else None
    if double is not None:
        objective, start = double, in_double_precision(start)
        X = LowRank(in_double_precision(X.U), in_double_precision(X.V)).balanced()
        point = objective.at_lean(X)
    point = objective.at(X) if point is None else point
    enough = None if wanted is None else _norm_for(objective, point, wanted, accuracy.proof)
    norm = proven_norm(
        objective.gradient(point),
        X,
        start,
        mu=objective.mu,
        tolerance=max(accuracy.share * likely, epsilon(X.U)),
        enough=enough,
        proof=accuracy.proof,
    )
    return ProvenFigures(
        _relative_gap(objective, point, norm, accuracy.proof),
        objective.psi(point),
        objective.loss(point),
        objective.violation(point),
    )


def _single(X: LowRank) -> bool:
    """Whether a matrix is in single precision."""
    return is_single(X.U)


def _norm_for(objective: Penalized, point: Point, gap: float, proof: Proof) -> float:
    """The largest norm of the gradient, of at least mu, that proves a gap."""
    mu, held = objective.mu, [(objective, point)]

    def excess(factor: float) -> float:  # brentq is exact to 2e-12, so the unit is mu
        return _relative_gap(*held[0], factor * mu, proof) - gap

    low, high = 1.0, 2.0  # beyond twice mu no gap is of use
    if excess(low) >= 0:
        return mu
    found = float(brentq(excess, low, high)) if excess(high) > 0 else high
    held.clear()  # brentq leaves its function in a cycle, which would keep the point
    return found * mu


def _relative_gap(
    objective: Penalized, point: Point, top_value: float, proof: Proof, eps: float | None = None
) -> float:
    """The gap of (reform2) over its objective, for an upper bound of the top singular value."""
    phi, eps = objective.psi(point), epsilon(point.U) if eps is None else eps
    rounding = proof.rounding.sums * eps * objective.magnitude(point)
    return objective.gap(point, top_value + rounding) / phi if phi > 0 else 0.0

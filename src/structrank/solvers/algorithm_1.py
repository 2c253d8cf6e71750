"""The iterates of Algorithm 1 of the paper, with the line numbers of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._array import Array, array_namespace, epsilon, inner
from ..model.linalg import SingularPairs
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.starts import FixedStarts, Randomness, RandomStarts
from .corrective import CorrectiveSteps
from .gradient_state import Accuracy, GradientState
from .local_search import search_in_pieces
from .memory import Memory, Restored
from .state import State
from .step import StepPlane, atom, new_pairs
from .stopping import Stop

Starts = RandomStarts | FixedStarts


def algorithm_1(
    objective: Penalized,
    X: LowRank,
    step: str,
    pairs: int,
    search_steps: int,
    search_tolerance: float | None = None,
    *,
    stop: Stop | None = None,
    rng: Randomness = 0,
    certify: bool = True,
    accuracy: Accuracy = Accuracy(),
    memory: Memory | None = None,
) -> Iterator[State]:
    """Generate the iterates of Algorithm 1; with a restored memory, from its last one on."""
    reference = objective.problem.backprojection
    pruned = max(accuracy.pruned, accuracy.proof.rounding.sums * epsilon(reference))
    starts = RandomStarts(objective.problem, X, rng) if certify else FixedStarts(objective.problem)
    restored = None if memory is None else memory.take()
    place = _Place.first(X.balanced(pruned), accuracy, starts, restored)  # line 1
    objective, point = objective.tight(place.X)
    corrective = None
    if step == "corrective":
        corrective = CorrectiveSteps(objective, place.X, restored=restored)
    while True:  # line 2
        _keep(memory, place, starts, corrective)
        point = point.without_transforms()
        top = objective.gradient(point).top(  # line 3
            max(pairs, accuracy.recycled),
            _lanczos_start(place.guess, starts.draw(), accuracy.guess),
            tolerance=min(place.aim, accuracy.coarsest_pair),
            failure=accuracy.proof.failure,
        )
        state = GradientState.of(objective, place.X, point, top, starts, accuracy)
        place = place.seen(state.likely_gap, top, stop, accuracy)
        yield state.checked(stop, certify, point)

        top = new_pairs(top, place.X) if search_steps else top
        steps = _steps(objective, point, top, place, step, pairs, corrective)
        tolerance = place.finer * accuracy.search * place.aim**2
        tolerance = tolerance if search_tolerance is None else search_tolerance
        most = _most(objective, point, pruned) if search_steps else np.inf
        del point, top  # their memory is needed by the search
        search = partial(_searched, steps=search_steps, tolerance=tolerance, accuracy=accuracy)
        X, objective, point = _lowered(objective, steps, place.X, most, search, pruned)
        place = replace(place, X=X)


@dataclass(frozen=True, eq=False)
class _Place:
    """Where the algorithm is, at line 2."""

    X: LowRank
    aim: float  # gap to aim at
    k: int = 1
    finer: float = 1.0  # factor on the accuracy of the local search
    guess: Array | None = None  # sum of the last right singular vectors

    @classmethod
    def first(
        cls, X: LowRank, accuracy: Accuracy, starts: Starts, restored: Restored | None
    ) -> _Place:
        """Return where to begin, and put the random starts there."""
        if restored is None:
            return cls(X, accuracy.coarsest)
        starts.restore(restored["starts"])
        numbers = {name: restored[name] for name in ("aim", "k", "finer")}
        return cls(restored.matrix("X"), guess=restored.array("guess"), **numbers)

    def seen(self, gap: float, top: SingularPairs, stop: Stop | None, accuracy: Accuracy) -> _Place:
        """Use the gap that was reached and the singular pairs for the next iteration."""
        missed = self.k > 1 and gap > self.aim  # the local search ended too early
        return replace(
            self,
            aim=accuracy.aim(gap, stop),
            k=self.k + 1,
            finer=self.finer * (accuracy.finer if missed else 1.0),
            guess=array_namespace(top.V).sum(top.V, axis=1),
        )


def _most(objective: Penalized, point: Point, pruned: float) -> float:
    """The largest psi that Theorem 1 allows after a local search.

    Pruning and rounding may raise it a little: the penalty is a difference of two squares.
    """
    square = float(np.sum(point.gram_U * point.gram_V.T).real)  # ||X||^2
    rounding = objective.lam / 2 * epsilon(point.U) * square
    return (1 + pruned) * objective.psi(point) + rounding


def _lowered(
    objective: Penalized,
    steps: Iterator[LowRank],
    X: LowRank,
    most: float,
    search: Callable[[Penalized, LowRank], LowRank],
    pruned: float,
) -> tuple[LowRank, Penalized, Point]:
    """Return the first step from which a search does not end above `most`; else X as it is."""
    for X_init in steps:  # lines 4 and 5
        found = search(objective, X_init).balanced(pruned)  # line 6
        del X_init
        lowered, point = objective.tight(found)
        if lowered.psi(point) <= most:
            return found, lowered, point
    return X, *objective.tight(X)


def _keep(
    memory: Memory | None, place: _Place, starts: Starts, corrective: CorrectiveSteps | None
) -> None:
    """Keep what the next iterate depends on."""
    if memory is not None:
        weights = {} if corrective is None else corrective.kept()
        memory.keep(**vars(place), starts=starts.position(), **weights)


def _steps(
    objective: Penalized,
    point: Point,
    top: SingularPairs,
    place: _Place,
    step: str,
    pairs: int,
    corrective: CorrectiveSteps | None,
) -> Iterator[LowRank]:
    """Generate the step of lines 4 and 5; then, for the printed one, a step that is no worse."""
    Z = atom(top, objective.mu, pairs)
    if corrective is not None:
        yield corrective.step(Z, top)
        return
    plane = StepPlane(objective, point, Z, top)
    del point, top
    if step == "paper":
        eta = 2 / place.k  # the k of the paper is one less, as the place is already the next one
        kept, theta = plane.paper(1 - eta)
        yield place.X.scaled(kept).appended(Z.scaled(theta))
    kept, theta = plane.joint()
    last = [place.X.scaled(kept).appended(Z.scaled(theta))]
    del plane, Z  # their memory is needed by the search
    yield last.pop()


def _searched(
    objective: Penalized, X: LowRank, *, steps: int, tolerance: float, accuracy: Accuracy
) -> LowRank:
    """Lower psi by local search in the memory of X, unless there are no search steps."""
    if not steps or not X.rank:
        return X
    piece = steps if objective.exact else accuracy.piece
    return search_in_pieces(
        objective, X, max_steps=steps, piece=piece, tolerance=tolerance, overwrite=True
    )


def _lanczos_start(guess: Array | None, noise: Array, weight: float) -> Array:
    """Add the last singular vectors to the noise, which is left to find new directions."""
    if guess is None:
        return noise
    tiny = 1e-30  # avoids a division by zero
    ratio = inner(noise, noise) / max(inner(guess, guess), tiny)
    return noise + weight * float(np.sqrt(ratio)) * guess

"""The original problem (relax) on thin factors: by multipliers, and by a growing penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise

import numpy as np

from .._array import Array, epsilon, gram, inner, like
from ..augmented import Augmented
from ..certificate import dual_bound, nuclear_norm_bound
from ..linalg import SingularPairs, random_vector
from ..local_search import local_search
from ..lowrank import LowRank
from ..objective import Gradient, Penalized, Point
from ..polish import polished
from ..problem import Problem, checked_start, positive
from ..run import Callback, Result, Stop, run
from ..state import State
from ..step import StepPlane, atom
from .gcg import gcgls

FAILURE = 1e-10  # probability that one bound of a top singular value is too low
SEEDS = 2**31  # of the starts for these bounds, from here on: nothing else may depend on them
GROWTH = 2.0  # of lam, where the structure is approached too slowly
RELAXATION = 1.8  # of the multipliers: by how much of the plain step they move, below two
CLEAR = 0.5  # singular values of X count above this share of its distance to the structure
PAIRS = 24  # singular pairs a step, at most
SEARCH_STEPS = 200  # steps of a local search, at most


def solve(
    problem: Problem,
    gap: float = 1e-4,
    *,
    start: LowRank | None = None,
    max_iter: int = 200,
    max_time: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve the original problem (relax), to a certified gap.

    `min_y  1/2 ||A(y) - b||^2 + mu ||Q(y)||_*`

    The method of multipliers for the constraint `X = Q(y)`, over-relaxed, whose subproblems are
    solved by the steps of `gcgls`. Each multiplier gives a bound from below. The bound from above
    comes from a signal near X whose matrix is itself of low rank, found by two steps of Newton's
    method: it is close to the optimum long before X is close to a structured matrix.
    Nothing of the size of the matrix is formed, unless the matrix is small.

    The objective reported is a bound from above on that of `result.y`, the value itself for
    small matrices. The gap rests on bounds of singular values from random starts, each of which
    fails with a probability of at most 1e-10. Single precision is good for gaps of about 5e-3.

    Parameters
    ----------
    problem : Problem
    gap : float
        Certified gap to reach, relative to the objective.
    start : LowRank, optional
        Default zero.
    max_iter : int
        Largest number of iterations.
    max_time : float, optional
        Seconds, without the time spent in callbacks.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = solve(problem)
    >>> result.rank, result.gap <= 1e-4
    (1, True)
    """
    _check(problem)
    stop = Stop(max_iter, xtol=None, rtol=None, gap=positive(gap, "gap"), max_time=max_time)
    states = _method_of_multipliers(problem, checked_start(start, problem), float(gap))
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="solve")


def homotopy(
    problem: Problem,
    lams: Sequence[float],
    *,
    penalty: str = "projection",
    start: LowRank | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Approach (relax) by `gcgls` for growing lam, each started from the solution before.

    The paper's homotopy. The iterates are the solutions for each lam, and the objective and
    the gap are those of (relax), as in `solve`, which is faster.

    Parameters
    ----------
    problem : Problem
    lams : sequence of float
        Prices of a departure from the structure, in growing order.
    penalty : {"projection", "difference"}
        Which departure, as in `gcgls`.
    start : LowRank, optional
        Default zero.
    stop : Stop, optional
        When `gcgls` is to go on to the next lam. Default the paper's rule.
    callback : callable, optional
        Called with the `State` of the start and for each lam; a true return value stops.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, homotopy
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = homotopy(problem, [1, 10, 100])
    >>> result.rank, round(result.objective, 4)
    (1, 0.0132)
    """
    _check(problem)
    lams = [positive(lam, "lam") for lam in lams]
    if not lams or any(b <= a for a, b in pairwise(lams)):
        raise ValueError(
            f"lams is {lams}, but one or more numbers, each above the last, are expected"
        )
    states = _homotopy(problem, lams, penalty, checked_start(start, problem), stop)
    every = Stop(len(lams) + 1, xtol=None, rtol=None)
    return run(states, problem, stop=every, callback=callback, progress=progress, label="homotopy")


def _method_of_multipliers(problem: Problem, X: LowRank, aim: float) -> Iterator[State]:
    reference, shape, mu = problem.backprojection, problem.structure.shape, problem.mu
    finest = 10 * epsilon(reference)
    X = X.balanced(max(1e-7, finest))
    plain = Penalized(problem, _first_lam(problem))
    gamma = plain.gamma(plain.at(X))
    objective = Augmented(problem, plain.lam, LowRank.zeros(shape, reference), gamma)
    upper, lower, gap, departure, effort = np.inf, 0.0, 1.0, np.inf, 1.0
    for k in count():
        point = objective.at(X)
        gradient = objective.gradient(point)
        top = _proven_top(gradient, reference, k, min(max(gap / 5, aim / 4), 0.05))
        state = _state(objective, X, point, gradient, top)
        upper = min(upper, state.objective)
        lower = max(lower, state.objective * (1 - state.gap))
        gap = 1 - lower / upper if upper > 0 else 0.0
        solved = top.values[0] / mu - 1 <= 0.3 * gap  # the subproblem, well enough
        violation = state.violation
        if solved and gap > aim and objective.T.rank:
            state = _polished(objective, state)
            upper = min(upper, state.objective)
            gap = 1 - lower / upper
        yield state

        if solved:
            lam = objective.lam if violation < departure / 4 else GROWTH * objective.lam
            relaxation = RELAXATION if objective.T.rank else 1.0
            objective = objective.updated(point, lam, 0.3 * gap * mu, relaxation)
            departure, effort = violation, 1.0
        else:
            Z = atom(top, mu, PAIRS)
            kept, theta = StepPlane(objective, point, Z, top).joint()
            X, effort = X.scaled(kept).appended(Z.scaled(theta)), 10 * effort
        if X.rank:
            # The gap is of first order in the distance to the solution, psi of second.
            tolerance = min(gap, 0.1) ** 2 / (1e4 * effort)
            X = local_search(objective, X, max_steps=SEARCH_STEPS, tolerance=tolerance).X
            X = X.balanced(max(1e-7, finest))


def _homotopy(
    problem: Problem, lams: list[float], penalty: str, X: LowRank, stop: Stop | None
) -> Iterator[State]:
    for k, lam in enumerate([lams[0], *lams]):
        objective = Penalized(problem, lam, penalty)
        if k > 0:
            X = gcgls(problem, lam, penalty=penalty, start=X, stop=stop).X
        point = objective.at(X)
        gradient = objective.gradient(point)
        top = _proven_top(gradient, problem.backprojection, k, 1e-4)
        yield _state(objective, X, point, gradient, top)


def _first_lam(problem: Problem) -> float:
    """Above the curvature of the misfit as X sees it, that along the lifted data."""
    z = problem.backprojection
    image = problem.measure.forward(z)
    square = inner(z, like(problem.structure.multiplicity.astype(float), z, real=True) * z)
    return 10 * inner(image, image) / square if square > 0 else 1.0


def _proven_top(gradient: Gradient, reference: Array, seed: int, tolerance: float) -> SingularPairs:
    """Top singular pairs from a fresh random start, with a proven upper bound."""
    start = random_vector(gradient.structure.shape[1], reference, seed=SEEDS + seed)
    return gradient.top(PAIRS, start, tolerance=tolerance, max_steps=300, failure=FAILURE)


def _state(
    objective: Penalized, X: LowRank, point: Point, gradient: Gradient, top: SingularPairs
) -> State:
    """An iterate as one of (relax), with bounds on both sides of its optimum."""
    problem, structure = objective.problem, objective.structure
    y, gamma = objective.signal(point), objective.gamma(point)
    alignment = inner(problem.data, gamma)
    if structure.offset is not None:
        unit = like(np.eye(structure.shape[1]), y)
        alignment -= inner(like(structure.offset, y), gradient.matmul(unit))
    sigma = top.upper + 10 * epsilon(y) * objective.magnitude(point)
    bound = dual_bound(
        alignment=alignment, norm_squared=inner(gamma, gamma), sigma=sigma, mu=problem.mu
    )
    loss, value = _value(problem, y, point.V)
    return State(
        X=X,
        y=y,
        objective=value,
        loss=loss,
        violation=float(np.sqrt(objective.departure(point))),
        gap=1 - max(bound, 0.0) / value if value > 0 else 0.0,
        sigma=float(top.values[0]),
    )


def _value(problem: Problem, y: Array, guess: Array) -> tuple[float, float]:
    """The misfit, and a bound from above on the objective of (relax)."""
    residual = problem.data - problem.measure.forward(y)
    loss = inner(residual, residual) / 2
    return loss, loss + problem.mu * nuclear_norm_bound(problem.structure, y, guess)


def _polished(objective: Penalized, state: State) -> State:
    """The state with a signal nearby whose matrix is of low rank, if that one is better."""
    sizes = np.diag(gram(state.X.U, state.X.U)).real  # singular values, as X is balanced
    rank = int(np.count_nonzero(sizes > CLEAR * state.violation))
    if rank == 0:
        return state
    y, X = polished(objective.structure, state.y, state.X.V[:, :rank])
    loss, value = _value(objective.problem, y, X.V)
    if not value < state.objective:
        return state
    return replace(
        state,
        X=X,
        y=y,
        objective=value,
        loss=loss,
        violation=float(np.sqrt(objective.departure(objective.at(X)))),
        gap=1 - state.objective * (1 - state.gap) / value,
    )


def _check(problem: Problem) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}, but a Problem is expected")

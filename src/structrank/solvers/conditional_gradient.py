"""Generalised conditional gradient, Algorithm 1 of the paper, with and without local search.

Yu, Ma, Yu, Carbonell and Sra, "Efficient Structured Matrix Rank Minimization", NIPS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from .._array import Array, array_namespace, epsilon, inner
from .._checks import instance_of, positive_int
from ..model.certificate import penalized_gap
from ..model.linalg import SingularPairs, random_vector
from ..model.lowrank import LowRank
from ..model.objective import Penalized, Point
from ..model.problem import Problem, checked_start
from .driver import Callback, Result, Stop, run
from .local_search import local_search
from .state import State
from .step import StepPlane, atom


def gcg(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    step: str = "joint",
    pairs: int = 1,
    start: LowRank | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve the penalised problem (reform2) by generalised conditional gradient.

    `min_X  1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2 + mu ||X||_*`

    Algorithm 1 of the paper without its local search (line 6).

    Parameters
    ----------
    problem : Problem
    lam : float
        Price of a departure from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B: the distance to the structured matrices, or the paper's differences of
        neighbouring copies.
    step : {"joint", "paper"}
        "paper" keeps `1 - eta_k` of the iterate, `eta_k = 2/(k+1)`, and chooses theta in closed
        form; "joint" chooses both in closed form, which is never worse and keeps the start.
    pairs : int
        Number of singular pairs a step. The paper takes one.
    start : LowRank, optional
        Default zero; the paper's is
        `LowRank.ones(problem.structure.shape, problem.backprojection)`.
    stop : Stop, optional
        Default the paper's rule.
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
    >>> from structrank import Hankel, Problem, gcg
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = gcg(problem, lam=1.0)
    >>> result.status.converged
    True
    """
    states = gcgls_states(
        problem,
        lam,
        penalty=penalty,
        step=step,
        pairs=pairs,
        search_steps=0,
        start=start,
        stop=stop,
    )
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="gcg")


def gcgls(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    step: str = "joint",
    pairs: int = 8,
    search_steps: int = 100,
    search_tolerance: float | None = None,
    start: LowRank | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve the penalised problem (reform2) by conditional gradient with local search.

    `min_X  1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2 + mu ||X||_*`

    Algorithm 1 of the paper.

    Parameters
    ----------
    problem : Problem
    lam : float
        Price of a departure from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B: the distance to the structured matrices, or the paper's differences of
        neighbouring copies.
    step : {"joint", "paper"}
        "paper" keeps `1 - eta_k` of the iterate, `eta_k = 2/(k+1)`, and chooses theta in closed
        form; "joint" chooses both in closed form, which is never worse and keeps the start.
    pairs : int
        Largest number of singular pairs a step. The paper takes one.
    search_steps : int
        Largest number of steps of a local search.
    search_tolerance : float, optional
        A local search ends once a step lowers psi by at most this share of it. Default:
        as little as it takes to gain a digit on the certified gap.
    start : LowRank, optional
        Default zero; the paper's is
        `LowRank.ones(problem.structure.shape, problem.backprojection)`.
    stop : Stop, optional
        Default the paper's rule.
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
    >>> from structrank import Hankel, Problem, gcgls
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> gcgls(problem, lam=1.0).rank
    1
    """
    search_steps = positive_int(search_steps, "search_steps")
    states = gcgls_states(
        problem,
        lam,
        penalty=penalty,
        step=step,
        pairs=pairs,
        search_steps=search_steps,
        search_tolerance=search_tolerance,
        start=start,
        stop=stop,
    )
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="gcgls")


@dataclass(frozen=True)
class Accuracy:
    """How accurate the parts of an iteration are: accurate enough to gain a digit on the gap.

    The values were chosen on the problems of `benchmarks.paper_sizes` and `benchmarks.floor`;
    results do not depend on them, only the time does.
    """

    digit: float = 0.1  # the next gap aimed at, as a share of the last
    coarsest: float = 0.1  # the largest gap aimed at
    finest: float = 1e-3  # the smallest gap aimed at, if none is asked for
    share: float = 1 / 3  # the smallest gap aimed at, over the gap that is asked for
    coarsest_pair: float = 1e-2  # largest relative residual of the top singular pair
    search: float = 0.1  # decrease of psi per search step over gap^2: psi is of second order
    pruned: float = 1e-7  # singular values below this share of the largest; phi sees the square
    recycled: int = 4  # singular pairs kept for the next Lanczos start, at least
    guess: float = 10.0  # weight of these pairs beside random noise in that start

    def aim(self, gap: float, stop: Stop | None) -> float:
        """The gap to aim at next, from the gap that was reached."""
        wanted = None if stop is None else stop.gap
        finest = self.finest if wanted is None else self.share * wanted
        return max(min(self.digit * gap, self.coarsest), finest)


def gcgls_states(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    step: str = "joint",
    pairs: int = 8,
    search_steps: int = 100,
    search_tolerance: float | None = None,
    start: LowRank | None = None,
    stop: Stop | None = None,
    accuracy: Accuracy = Accuracy(),
) -> Iterator[State]:
    """The iterates of `gcgls`, the start first; without search steps those of `gcg`.

    Arguments are those of `gcgls`, and checked before the first iterate is asked for.
    """
    instance_of(problem, Problem, "problem")
    objective = Penalized(problem, lam, penalty)
    if step not in ("joint", "paper"):
        raise ValueError(f"step is {step!r}, but 'joint' or 'paper' is expected")
    pairs = positive_int(pairs, "pairs")
    if search_tolerance is not None and not (search_tolerance >= 0):
        raise ValueError(f"search_tolerance is {search_tolerance}, but at least 0 is expected")
    X = checked_start(start, problem)
    return _algorithm_1(objective, X, step, pairs, search_steps, search_tolerance, stop, accuracy)


def _algorithm_1(
    objective: Penalized,
    X: LowRank,
    step: str,
    pairs: int,
    search_steps: int,
    search_tolerance: float | None,
    stop: Stop | None,
    accuracy: Accuracy,
) -> Iterator[State]:
    """Algorithm 1, as the paper prints it."""
    reference = objective.problem.backprojection
    pruned = max(accuracy.pruned, 10 * epsilon(reference))
    X = X.balanced(pruned)  # line 1
    top, aim = None, accuracy.coarsest
    for k in count(1):  # line 2
        point = objective.at(X)
        noise = random_vector(X.shape[1], reference, seed=k)
        top = objective.gradient(point).top(  # line 3
            max(pairs, accuracy.recycled),
            _lanczos_start(top, noise, accuracy.guess),
            tolerance=min(aim, accuracy.coarsest_pair),
        )
        state = _state(objective, X, point, top)
        if stop is not None and stop.gap is not None and state.gap <= stop.gap:
            # Lanczos may have settled on a lower pair: try once more, from noise alone.
            cold = random_vector(X.shape[1], reference, seed=-k % 2**32)
            finest = accuracy.aim(0.0, stop)
            again = objective.gradient(point).top(1, cold, tolerance=accuracy.share * finest)
            state = _state(objective, X, point, max(top, again, key=lambda t: t.upper))
        aim = accuracy.aim(state.gap, stop)
        yield state

        eta = 2 / (k + 1)  # line 4
        Z = atom(top, objective.mu, pairs)
        plane = StepPlane(objective, point, Z, top)
        kept, theta = plane.paper(1 - eta) if step == "paper" else plane.joint()

        X = X.scaled(kept).appended(Z.scaled(theta))  # line 5
        if search_steps and X.rank:  # line 6
            tolerance = accuracy.search * aim**2 if search_tolerance is None else search_tolerance
            X = local_search(objective, X, max_steps=search_steps, tolerance=tolerance).X
        X = X.balanced(pruned)


def _state(objective: Penalized, X: LowRank, point: Point, top: SingularPairs) -> State:
    """What is known about an iterate with balanced factors."""
    smooth, nuclear_norm = objective.smooth(point), point.half_norms
    phi = smooth + objective.mu * nuclear_norm
    gap = penalized_gap(
        smooth=smooth,
        nuclear_norm=nuclear_norm,
        slope=objective.slope_at_zero(point) + objective.curvature(point),
        top_value=top.upper,
        mu=objective.mu,
    )
    return State(
        X=X,
        y=objective.signal(point),
        objective=phi,
        loss=point.loss,
        violation=objective.violation(point),
        gap=gap / phi if phi > 0 else 0.0,
        top_value=float(top.values[0]),
    )


def _lanczos_start(top: SingularPairs | None, noise: Array, weight: float) -> Array:
    """Mostly the last singular vectors, with enough noise to find what is new."""
    noise = noise / float(np.sqrt(inner(noise, noise)))
    if top is None:
        return noise
    guess = array_namespace(noise).sum(top.V, axis=1)
    return noise + (weight / max(float(np.sqrt(inner(guess, guess))), 1e-30)) * guess

"""Generalised conditional gradient, Algorithm 1 of the paper, with and without local search.

Yu, Ma, Yu, Carbonell and Sra, "Efficient Structured Matrix Rank Minimization", NIPS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from .._array import Array, array_namespace, epsilon, inner
from .._checks import positive_int
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
    objective = _objective(problem, lam, penalty)
    states = algorithm_1(objective, start, step=step, pairs=pairs, stop=stop)
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
    objective = _objective(problem, lam, penalty)
    states = algorithm_1(
        objective,
        start,
        step=step,
        pairs=pairs,
        search_steps=search_steps,
        search_tolerance=search_tolerance,
        stop=stop,
    )
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="gcgls")


def _objective(problem: Problem, lam: float, penalty: str) -> Penalized:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}, but a Problem is expected")
    return Penalized(problem, lam, penalty)


def algorithm_1(
    objective: Penalized,
    start: LowRank | None,
    *,
    step: str,
    pairs: int,
    search_steps: int = 0,
    search_tolerance: float | None = None,
    stop: Stop | None = None,
) -> Iterator[State]:
    """The iterates of Algorithm 1, as the paper prints it, the start first."""
    if step not in ("joint", "paper"):
        raise ValueError(f"step is {step!r}, but 'joint' or 'paper' is expected")
    pairs = positive_int(pairs, "pairs")
    if search_steps != 0:
        search_steps = positive_int(search_steps, "search_steps")
    if search_tolerance is not None and not (search_tolerance >= 0):
        raise ValueError(f"search_tolerance is {search_tolerance}, but at least 0 is expected")
    return _iterates(objective, start, step, pairs, search_steps, search_tolerance, stop)


def _iterates(
    objective: Penalized,
    start: LowRank | None,
    step: str,
    pairs: int,
    search_steps: int,
    search_tolerance: float | None,
    stop: Stop | None,
) -> Iterator[State]:
    reference = objective.problem.backprojection
    prune = max(1e-7, 10 * epsilon(reference))  # what is dropped enters phi squared
    X = checked_start(start, objective.problem).balanced(prune)  # line 1
    accuracy, top = _Accuracy(stop), None
    for k in count(1):  # line 2
        point = objective.at(X)
        guess = _lanczos_start(top, random_vector(X.shape[1], reference, seed=k))
        top = objective.gradient(point).top(  # line 3
            max(pairs, _RECYCLED), guess, tolerance=accuracy.singular_value
        )
        state = _state(objective, X, point, top)
        if stop is not None and stop.gap is not None and state.gap <= stop.gap:
            # Lanczos may have settled on a lower pair: look once more, from noise alone.
            cold = random_vector(X.shape[1], reference, seed=-k % 2**32)
            again = objective.gradient(point).top(1, cold, tolerance=accuracy.finest / 3)
            state = _state(objective, X, point, max(top, again, key=lambda t: t.upper))
        accuracy.saw(state.gap)
        yield state

        eta = 2 / (k + 1)  # line 4
        Z = atom(top, objective.mu, pairs)
        plane = StepPlane(objective, point, Z, top)
        kept, theta = plane.paper(1 - eta) if step == "paper" else plane.joint()

        X = X.scaled(kept).appended(Z.scaled(theta))  # line 5
        if search_steps and X.rank:  # line 6
            tolerance = accuracy.search if search_tolerance is None else search_tolerance
            X = local_search(objective, X, max_steps=search_steps, tolerance=tolerance).X
        X = X.balanced(prune)


def _state(objective: Penalized, X: LowRank, point: Point, top: SingularPairs) -> State:
    """What is known about an iterate with balanced factors."""
    smooth, nuclear_norm = objective.smooth(point), point.half_norms
    phi = smooth + objective.mu * nuclear_norm
    gap = penalized_gap(
        smooth=smooth,
        nuclear_norm=nuclear_norm,
        slope=objective.slope_at_zero(point) + objective.curvature(point),
        sigma=top.upper,
        mu=objective.mu,
    )
    return State(
        X=X,
        y=objective.signal(point),
        objective=phi,
        loss=point.loss,
        violation=float(np.sqrt(point.violation)),
        gap=gap / phi if phi > 0 else 0.0,
        sigma=float(top.values[0]),
    )


_RECYCLED = 4  # singular pairs kept for the next start, at least


def _lanczos_start(top: SingularPairs | None, noise: Array) -> Array:
    """Mostly the last singular vectors, with enough noise to find what is new."""
    noise = noise / float(np.sqrt(inner(noise, noise)))
    if top is None:
        return noise
    guess = array_namespace(noise).sum(top.V, axis=1)
    return noise + (10 / max(float(np.sqrt(inner(guess, guess))), 1e-30)) * guess


class _Accuracy:
    """How accurate the parts of an iteration have to be: to gain a digit on the gap."""

    def __init__(self, stop: Stop | None) -> None:
        self.finest = 1e-3 if stop is None or stop.gap is None else stop.gap / 3
        self.aim = 0.1

    def saw(self, gap: float) -> None:
        """Take note of the gap reached."""
        self.aim = max(min(gap / 10, 0.1), self.finest)

    @property
    def singular_value(self) -> float:
        """Relative residual of the top singular pair."""
        return min(self.aim, 1e-2)

    @property
    def search(self) -> float:
        """Share of psi that a step has to gain: the gap is of first order, psi of second."""
        return self.aim**2 / 10

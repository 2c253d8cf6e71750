"""Algorithm 1 of the paper: generalised conditional gradient, with and without local search.

Yu, Ma, Yu, Carbonell and Sra, "Efficient Structured Matrix Rank Minimization", NIPS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from .._array import Array, array_namespace, epsilon, inner
from .._checks import instance_of, one_of, positive_int
from ..model.linalg import SingularPairs
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.problem import Problem, checked_start
from ..model.starts import FixedStarts, Randomness, RandomStarts
from .corrective import CorrectiveSteps
from .driver import Callback, run
from .gradient_state import Accuracy, GradientState
from .local_search import search_in_pieces
from .result import Result
from .state import State
from .step import StepPlane, atom
from .stopping import Stop


def gcg(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    recovery: str = "projection",
    step: str = "corrective",
    pairs: int = 1,
    start: LowRank | None = None,
    stop: Stop | None = None,
    rng: Randomness = 0,
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
        Weight of the penalty on departures from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B: "projection" gives the distance to the structured matrices, "difference" the
        paper's differences of neighbouring copies.
    recovery : {"projection", "sparse"}
        Which C: "projection" gives C_proj, the mean over all copies of a signal entry, "sparse"
        the paper's C_sp, which reads the first copy.
    step : {"corrective", "joint", "paper"}
        "paper" multiplies the iterate by `1 - eta_k`, `eta_k = 2/(k+1)`, and computes the weight
        theta of the new atom in closed form. "joint" computes both factors in closed form: better
        for one step, but slower in the long run. "corrective" computes the weights of the last
        atoms again with each new one, which is better than both.
    pairs : int
        Number of singular pairs per step. The paper uses one.
    start : LowRank, optional
        Default: zero. The paper starts from
        `LowRank.ones(problem.structure.shape, problem.backprojection)`.
    stop : Stop, optional
        Default: the stopping rule of the paper.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run.
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
        recovery=recovery,
        step=step,
        pairs=pairs,
        search_steps=0,
        start=start,
        stop=stop,
        rng=rng,
    )
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="gcg")


def gcgls(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    recovery: str = "projection",
    step: str = "joint",
    pairs: int = 8,
    search_steps: int = 100,
    search_tolerance: float | None = None,
    start: LowRank | None = None,
    stop: Stop | None = None,
    rng: Randomness = 0,
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
        Weight of the penalty on departures from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B: "projection" gives the distance to the structured matrices, "difference" the
        paper's differences of neighbouring copies.
    recovery : {"projection", "sparse"}
        Which C: "projection" gives C_proj, the mean over all copies of a signal entry, "sparse"
        the paper's C_sp, which reads the first copy.
    step : {"joint", "paper"}
        "paper" multiplies the iterate by `1 - eta_k`, `eta_k = 2/(k+1)`, and computes the weight
        theta of the new atom in closed form. "joint" computes both factors in closed form, and
        does not discard the start. If psi is higher after the local search than at the iterate
        before, "paper" takes the joint step, and "joint" keeps the iterate: Theorem 1 of the paper
        asks for descent.
    pairs : int
        Largest number of singular pairs per step. The paper uses one.
    search_steps : int
        Largest number of steps per local search.
    search_tolerance : float, optional
        A local search ends when a step lowers psi by at most this fraction of psi. Default:
        small enough that every iteration can gain a digit of the certified gap.
    start : LowRank, optional
        Default: zero. The paper starts from
        `LowRank.ones(problem.structure.shape, problem.backprojection)`.
    stop : Stop, optional
        Default: the stopping rule of the paper.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run.
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
        recovery=recovery,
        step=step,
        pairs=pairs,
        search_steps=search_steps,
        search_tolerance=search_tolerance,
        start=start,
        stop=stop,
        rng=rng,
    )
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="gcgls")


def gcgls_states(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    recovery: str = "projection",
    step: str = "joint",
    pairs: int = 8,
    search_steps: int = 100,
    search_tolerance: float | None = None,
    start: LowRank | None = None,
    stop: Stop | None = None,
    rng: Randomness = 0,
    certify: bool = True,
    accuracy: Accuracy = Accuracy(),
) -> Iterator[State]:
    """Generate the iterates of `gcgls`, or of `gcg` if `search_steps` is 0; the start comes first.

    The arguments are those of `gcgls`. They are checked at once, before the first iterate. Without
    `certify`, for solves inside other methods, a run ends by the gap that a proof is likely to
    find, and its starts do not depend on the data.
    """
    instance_of(problem, Problem, "problem")
    objective = Penalized(problem, lam, penalty, recovery)
    # The local search moves X away from what the corrective steps know.
    one_of(step, ("joint", "paper") if search_steps else ("corrective", "joint", "paper"), "step")
    pairs = positive_int(pairs, "pairs")
    if search_tolerance is not None and not (search_tolerance >= 0):
        raise ValueError(f"search_tolerance is {search_tolerance}, but at least 0 is expected")
    X = checked_start(start, problem)
    return algorithm_1(
        objective,
        X,
        step,
        pairs,
        search_steps,
        search_tolerance,
        stop=stop,
        rng=rng,
        certify=certify,
        accuracy=accuracy,
    )


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
) -> Iterator[State]:
    """Generate the iterates of Algorithm 1, with the line numbers of the paper."""
    reference = objective.problem.backprojection
    pruned = max(accuracy.pruned, accuracy.proof.rounding.sums * epsilon(reference))
    starts = RandomStarts(objective.problem, X, rng) if certify else FixedStarts(objective.problem)
    X = X.balanced(pruned)  # line 1
    objective, point = objective.tight(X)
    corrective = CorrectiveSteps(objective, X)
    top, aim, finer = None, accuracy.coarsest, 1.0
    for k in count(1):  # line 2
        top = objective.gradient(point).top(  # line 3
            max(pairs, accuracy.recycled),
            _lanczos_start(top, starts.draw(), accuracy.guess),
            tolerance=min(aim, accuracy.coarsest_pair),
            failure=accuracy.proof.failure,
        )
        state = GradientState.of(objective, X, point, top, starts, accuracy)
        if k > 1 and state.likely_gap > aim:  # the local search ended too early
            finer *= accuracy.finer
        aim = accuracy.aim(state.likely_gap, stop)
        yield state.checked(stop, certify)

        Z = atom(top, objective.mu, pairs)
        if step == "corrective":
            steps = iter([corrective.step(Z, top)])
        else:
            steps = _steps(StepPlane(objective, point, Z, top), X, Z, step, k)
        tolerance = finer * accuracy.search * aim**2
        tolerance = tolerance if search_tolerance is None else search_tolerance
        # What Theorem 1 asks of a local search; pruning may raise psi a little.
        most = (1 + pruned) * objective.psi(point) if search_steps else np.inf
        for X_init in steps:  # lines 4 and 5
            X_next = _searched(objective, X_init, search_steps, tolerance, accuracy)  # line 6
            X_next = X_next.balanced(pruned)
            objective_next, point_next = objective.tight(X_next)
            if objective_next.psi(point_next) <= most:
                X, objective, point = X_next, objective_next, point_next
                break


def _steps(plane: StepPlane, X: LowRank, Z: LowRank, step: str, k: int) -> Iterator[LowRank]:
    """Generate the step of lines 4 and 5; then, for the printed one, a step that is no worse."""
    if step == "paper":
        eta = 2 / (k + 1)
        kept, theta = plane.paper(1 - eta)
        yield X.scaled(kept).appended(Z.scaled(theta))
    kept, theta = plane.joint()
    yield X.scaled(kept).appended(Z.scaled(theta))


def _searched(
    objective: Penalized, X: LowRank, search_steps: int, tolerance: float, accuracy: Accuracy
) -> LowRank:
    """Lower psi by local search, unless there are no search steps."""
    if not search_steps or not X.rank:
        return X
    piece = search_steps if objective.exact else accuracy.piece
    return search_in_pieces(objective, X, max_steps=search_steps, piece=piece, tolerance=tolerance)


def _lanczos_start(top: SingularPairs | None, noise: Array, weight: float) -> Array:
    """Add the last singular vectors to the noise, which is left to find new directions."""
    if top is None:
        return noise
    guess = array_namespace(noise).sum(top.V, axis=1)
    tiny = 1e-30  # avoids a division by zero
    ratio = inner(noise, noise) / max(inner(guess, guess), tiny)
    return noise + weight * float(np.sqrt(ratio)) * guess

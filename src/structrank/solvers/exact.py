"""Solvers of the original problem (relax) on thin factors: multipliers, and growing penalties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from .._array import gram
from .._checks import instance_of, positive, random_generator
from ..model.certificate import nuclear_norm_bound
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness, RandomStarts
from .checkpoint import Checkpoint
from .conditional_gradient import gcgls_states
from .dense import dense_states, suits
from .driver import Callback, iterate, run
from .memory import Memory
from .memory_demand import advised
from .multipliers import (
    Lagrangian,
    MultiplierMethod,
    certified_state,
    first_lam,
    lower_bound,
    method_of_multipliers,
)
from .polish import Polishing, polished
from .proven import proven_top
from .result import Result
from .saving import saving_for
from .state import State
from .stopping import Stop


def solve(
    problem: Problem,
    gap: float = 1e-4,
    *,
    start: LowRank | None = None,
    max_iter: int = 200,
    max_time: float | None = None,
    rng: Randomness = 0,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
) -> Result:
    """Solve the original problem (relax) to a certified gap.

    `min_y  1/2 ||A(y) - b||^2 + mu ||Q(y)||_*`

    The method is the over-relaxed method of multipliers for the constraint `X = Q(y)`. Steps of
    `gcgls` solve its subproblems. Each multiplier gives a lower bound on the optimum. The upper
    bound comes from a signal near X whose matrix has low rank itself, found by two steps of
    Newton's method. This signal is close to the optimum long before X is close to a structured
    matrix. Only small matrices are formed.

    Problems in NumPy arrays with at most 25,000 matrix entries are solved by alternating
    directions on dense matrices instead, which is faster for them (`structrank.solvers.dense`).
    An iteration is then ten steps.

    The objective reported is an upper bound on that of `result.y`, and the value itself for small
    matrices. The gap of a dense run is exact up to rounding. Otherwise it depends on bounds of
    singular values from random starts. Each of them fails with a probability of at most 1e-10.
    Single precision can reach gaps of about 5e-3, and of 1e-5 if the matrix is small.

    Parameters
    ----------
    problem : Problem
    gap : float
        Certified gap to reach, relative to the objective.
    start : LowRank, optional
        Default: zero.
    max_iter : int
        Largest number of iterations.
    max_time : float, optional
        Time limit in seconds, without the time spent in callbacks.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run.
    progress : bool
        Show a progress bar.
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues, as in `gcgls`.

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
    stop = Stop(max_iter, xtol=None, rtol=None, gap=positive(gap, "gap"), max_time=max_time)
    random_generator(rng)  # an error, before any work, unless it is one
    saving = saving_for("solve", problem, checkpoint, resume)
    memory = None if saving is None else saving.memory
    states = solve_states(problem, gap, start=start, rng=rng, memory=memory)
    return run(
        states,
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="solve",
        saving=saving,
    )


def homotopy(
    problem: Problem,
    lams: Sequence[float],
    *,
    penalty: str = "projection",
    recovery: str = "projection",
    start: LowRank | None = None,
    stop: Stop | None = None,
    rng: Randomness = 0,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
) -> Result:
    """Approximate (relax) by `gcgls` for increasing lam, each started from the last solution.

    This is the homotopy of the paper; `solve` is faster. The iterates are the solutions for each
    lam. The objective and the gap are those of (relax), as in `solve`.

    Parameters
    ----------
    problem : Problem
    lams : sequence of float
        Weights of the penalty on departures from the structure, in increasing order.
    penalty : {"projection", "difference"}
        Which penalty, as in `gcgls`.
    recovery : {"projection", "sparse"}
        How the signal is read from X, as in `gcgls`.
    start : LowRank, optional
        Default: zero.
    stop : Stop, optional
        When `gcgls` continues with the next lam. Default: the stopping rule of the paper.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of the start and of each solution; a true return value stops the
        run.
    progress : bool
        Show a progress bar.
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues, as in `gcgls`.

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
    instance_of(problem, Problem, "problem")
    lams = [positive(lam, "lam") for lam in lams]
    if not lams or any(b <= a for a, b in pairwise(lams)):
        raise ValueError(
            f"lams is {lams}, but one or more numbers in increasing order are expected"
        )
    X = checked_start(start, problem)
    saving = saving_for(
        "homotopy", problem, checkpoint, resume, lams=lams, penalty=penalty, recovery=recovery
    )
    memory = Memory() if saving is None else saving.memory
    states = _homotopy(problem, lams, penalty, recovery, X, stop, rng, memory)
    every = Stop(len(lams) + 1, xtol=None, rtol=None)
    return run(
        states,
        problem,
        stop=every,
        callback=callback,
        progress=progress,
        label="homotopy",
        saving=saving,
    )


class RelaxedLagrangian(Lagrangian):
    """The augmented Lagrangian of (relax) itself, with over-relaxed multipliers."""

    method = MultiplierMethod(growth=2.0, relaxation=1.8)  # chosen on `benchmarks.certified`
    polishing = Polishing()

    def advanced(self, point: Point, lam: float, tolerance: float) -> RelaxedLagrangian:
        """Return a copy with another lam and the next multiplier, over-relaxed after the first."""
        relaxation = self.method.relaxation if self.T.rank else 1.0
        return self.updated(point, lam, tolerance, relaxation)

    def polished(self, state: State) -> State:
        """Replace the signal by a close one whose matrix has low rank, if that is better."""
        sizes = np.diag(gram(state.X.U, state.X.U)).real  # singular values, as X is balanced
        rank = int(np.count_nonzero(sizes > self.polishing.clear * state.violation))
        if rank == 0:
            return state
        y, X = polished(self.structure, state.y, state.X.V[:, :rank], self.polishing)
        loss = self.misfit(y)
        value = loss + self.mu * nuclear_norm_bound(self.structure, y, X.V)
        if not value < state.objective:
            return state
        return replace(
            state,
            X=X,
            y=y,
            objective=value,
            loss=loss,
            violation=self.violation(self.at(X)),
            gap=1 - state.objective * (1 - state.gap) / value,
        )


@advised
def solve_states(
    problem: Problem,
    gap: float,
    *,
    start: LowRank | None = None,
    rng: Randomness = 0,
    memory: Memory | None = None,
) -> Iterator[State]:
    """Generate the iterates of `solve`, the start first."""
    instance_of(problem, Problem, "problem")
    X = checked_start(start, problem)
    if suits(problem):
        return dense_states(problem, X, memory=memory)
    plain = Penalized(problem, first_lam(problem))
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    objective = RelaxedLagrangian(problem, plain.lam, zero, plain.gamma(plain.at(X)))
    return method_of_multipliers(objective, X, gap, rng, memory)


def _homotopy(
    problem: Problem,
    lams: list[float],
    penalty: str,
    recovery: str,
    X: LowRank,
    stop: Stop | None,
    rng: Randomness,
    memory: Memory,
) -> Iterator[State]:
    bound_tolerance = 1e-4  # relative; the error of a penalised solution is larger
    restored, done = memory.take(), 0
    if restored is not None:
        X, done = restored.matrix("X"), restored["k"]
    for k, lam in enumerate([lams[0], *lams]):
        if k < done:
            continue
        objective = Penalized(problem, lam, penalty, recovery)
        if k > done:
            states = gcgls_states(
                problem, lam, penalty=penalty, recovery=recovery, start=X, stop=stop, rng=rng
            )
            X = iterate(states, problem, stop=stop).X
        memory.keep(k=k, X=X)
        point = objective.at(X)
        gradient = objective.gradient(point)
        start = RandomStarts(problem, X, rng).draw()
        top = proven_top(gradient, start, 1, bound_tolerance)
        bound = lower_bound(objective, point, gradient, top, problem.data, objective.gamma(point))
        loss = problem.misfit(objective.signal(point))
        yield certified_state(objective, X, point, top, bound, loss)

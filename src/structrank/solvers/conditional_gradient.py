"""Algorithm 1 of the paper: generalised conditional gradient, with and without local search.

Yu, Ma, Yu, Carbonell and Sra, "Efficient Structured Matrix Rank Minimization", NIPS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._checks import instance_of, one_of, positive_int
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness
from .algorithm_1 import algorithm_1
from .checkpoint import Checkpoint
from .driver import Callback, run
from .gradient_state import Accuracy
from .memory import Memory
from .memory_demand import advised, check_memory
from .result import Result
from .saving import saving_for
from .state import State
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
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
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
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues to the same result. `start`
        is then not used; limits count from the first start. Default: begin anew.

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
    settings: dict[str, Any] = {
        "penalty": penalty,
        "recovery": recovery,
        "step": step,
        "pairs": pairs,
        "search_steps": 0,
    }
    saving = saving_for("gcg", problem, checkpoint, resume, lam=lam, **settings)
    memory = None if saving is None else saving.memory
    states = gcgls_states(problem, lam, **settings, start=start, stop=stop, rng=rng, memory=memory)
    return run(
        states,
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="gcg",
        saving=saving,
    )


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
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
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
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues to the same result. `start`
        is then not used; limits count from the first start. Default: begin anew.

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
    settings: dict[str, Any] = {
        "penalty": penalty,
        "recovery": recovery,
        "step": step,
        "pairs": pairs,
        "search_steps": positive_int(search_steps, "search_steps"),
        "search_tolerance": search_tolerance,
    }
    saving = saving_for("gcgls", problem, checkpoint, resume, lam=lam, **settings)
    check_memory(problem)
    memory = None if saving is None else saving.memory
    states = gcgls_states(problem, lam, **settings, start=start, stop=stop, rng=rng, memory=memory)
    return run(
        states,
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="gcgls",
        saving=saving,
    )


@advised
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
    memory: Memory | None = None,
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
        memory=memory,
    )

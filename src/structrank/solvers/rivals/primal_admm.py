"""Primal alternating direction method of multipliers for (relax).

M. Fazel, T. K. Pong, D. Sun and P. Tseng, "Hankel matrix rank minimization with applications to
system identification and realization", SIAM J. Matrix Anal. Appl. 34 (2013).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._checks import positive
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .dense import DenseProblem, checked_relaxation, threshold_singular_values


def padmm(
    problem: Problem,
    *,
    beta: float | None = None,
    relaxation: float = 1.618,
    start: np.ndarray | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) by primal ADMM on dense matrices: one full decomposition per step.

    The problem is split as `min 1/2 ||A(y) - b||^2 + mu ||X||_*` subject to `X = Q(y)`.

    Parameters
    ----------
    problem : Problem
    beta : float, optional
        Weight of the penalty on `X = Q(y)`. Default: 3 times mu over the top singular value of the
        structured matrix of the data. Larger values are often faster from a zero start, smaller
        values from a distant start: see `structrank reproduce ssr`.
    relaxation : float
        Step length of the multiplier, below `(1 + sqrt(5)) / 2`.
    start : array, optional
        Signal to start from. Default: zero.
    stop : Stop, optional
        Default: the stopping rule of the paper.
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
    >>> from structrank import Hankel, Problem, Stop
    >>> from structrank.solvers.rivals import padmm
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = padmm(problem, stop=Stop(max_iter=1000, xtol=None, rtol=None, gap=1e-4))
    >>> result.rank
    1
    """
    states = padmm_states(problem, beta=beta, relaxation=relaxation, start=start)
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="padmm")


def padmm_states(
    problem: Problem,
    *,
    beta: float | None = None,
    relaxation: float = 1.618,
    start: np.ndarray | None = None,
) -> Iterator[State]:
    """Generate the iterates of `padmm`, with its arguments; the start comes first."""
    dense = DenseProblem(problem)
    beta = dense.settings.beta * dense.scale if beta is None else positive(beta, "beta")
    return _iterates(dense, dense.start(start), beta, checked_relaxation(relaxation))


def _iterates(
    dense: DenseProblem, y: np.ndarray, beta: float, relaxation: float
) -> Iterator[State]:
    lifted = dense.lift(y)
    Lambda = np.zeros_like(lifted)
    while True:
        X = threshold_singular_values(lifted + Lambda / beta, dense.mu / beta)
        yield dense.state(y, X, Lambda)
        target = X.to_dense()
        right = dense.backprojection + dense.adjoint(beta * target - Lambda)
        y = dense.solve(beta, right - beta * dense.offset_total, y)
        lifted = dense.lift(y)
        Lambda = Lambda + relaxation * beta * (lifted - target)

"""ADMM on the dual of (relax), with a proximal term in the matrix step.

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


def dadmm2(
    problem: Problem,
    *,
    beta: float | None = None,
    relaxation: float = 1.618,
    start: np.ndarray | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) by ADMM on its dual, on dense matrices: one full decomposition per step.

    The dual is `max <b, gamma> - 1/2 ||gamma||^2 + <Lambda, Q0>` subject to
    `A^* gamma = Q^* Lambda` and `||Lambda||_2 <= mu`. The signal y is the multiplier of the
    equation. The equation is divided by the square root of the multiplicity, which allows the
    longest linearised step in Lambda.

    Parameters
    ----------
    problem : Problem
    beta : float, optional
        Weight of the penalty on the equation. Default: the inverse of 3 times mu over the top
        singular value of the structured matrix of the data. Larger factors are often faster from a
        zero start, smaller factors from a distant start: see `structrank reproduce ssr`.
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
    >>> from structrank.solvers.rivals import dadmm2
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = dadmm2(problem, stop=Stop(max_iter=1000, xtol=None, rtol=None, gap=1e-4))
    >>> result.rank
    1
    """
    states = dadmm2_states(problem, beta=beta, relaxation=relaxation, start=start)
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="dadmm2")


def dadmm2_states(
    problem: Problem,
    *,
    beta: float | None = None,
    relaxation: float = 1.618,
    start: np.ndarray | None = None,
) -> Iterator[State]:
    """Generate the iterates of `dadmm2`, with its arguments; the start comes first."""
    dense = DenseProblem(problem)
    beta = 1 / (dense.settings.beta * dense.scale) if beta is None else positive(beta, "beta")
    return _iterates(dense, dense.start(start), beta, checked_relaxation(relaxation))


def _iterates(
    dense: DenseProblem, y: np.ndarray, beta: float, relaxation: float
) -> Iterator[State]:
    lifted = dense.lift(y)
    Lambda = np.zeros_like(lifted)
    yield dense.state(y, threshold_singular_values(lifted, dense.mu * beta), Lambda)
    total = dense.adjoint(Lambda)  # Q^* Lambda
    while True:
        # The step in gamma, (I + beta A W^-1 A^*) gamma = b - A(y - beta W^-1 Q^* Lambda), is made
        # in x = y + beta W^-1 (A^* gamma - Q^* Lambda), for which gamma = b - A(x).
        right = dense.backprojection + (dense.multiplicity * y - beta * total) / beta
        x = dense.solve(1 / beta, right, y)
        lifted = Lambda + dense.lift(x) / beta
        shrunk = threshold_singular_values(lifted, dense.mu)
        Lambda = lifted - shrunk.to_dense()  # the projection onto ||Lambda||_2 <= mu
        yield dense.state(x, shrunk.scaled(beta), Lambda)
        total = dense.adjoint(Lambda)
        back = dense.backward(dense.problem.data - dense.forward(x))  # A^* gamma
        y = y + relaxation * beta * (back - total) / dense.multiplicity

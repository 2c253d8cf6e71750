"""ADMM on thin factors for (relax), without singular value decompositions.

M. Signoretto, V. Cevher and J. A. K. Suykens, "An SVD-free approach to a class of structured low
rank matrix optimization problems with application to system identification", 2013.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._checks import positive, positive_int
from ...model.linalg import random_vector
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .dense import DenseProblem


def factored_admm(
    problem: Problem,
    *,
    rank: int | None = None,
    beta: float | None = None,
    start: np.ndarray | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) by ADMM on two factors: linear systems instead of decompositions.

    The problem is written as `min 1/2 ||A(y) - b||^2 + mu/2 (||U||^2 + ||V||^2)` subject to
    `U V^H = Q(y)`. This is not convex. If the rank is at least that of the solution, the method
    usually finds the global optimum, but without a guarantee. The certified gap shows whether it
    did.

    Parameters
    ----------
    problem : Problem
    rank : int, optional
        Number of columns of the factors, an upper bound on the rank of the solution. Default: the
        smaller side of the matrix.
    beta : float, optional
        Weight of the penalty on `U V^H = Q(y)`. Default: 3 times mu over the top singular value of
        the structured matrix of the data; `structrank reproduce ssr` shows its effect.
    start : array, optional
        Signal to start from. Default: a fit of the data, since zero is a saddle point.
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
    >>> from structrank.solvers.rivals import factored_admm
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> stop = Stop(max_iter=1000, xtol=None, rtol=None, gap=1e-4)
    >>> result = factored_admm(problem, rank=2, stop=stop)
    >>> result.status.name
    'SOLVED'
    """
    states = factored_admm_states(problem, rank=rank, beta=beta, start=start)
    return run(
        states, problem, stop=stop, callback=callback, progress=progress, label="factored_admm"
    )


def factored_admm_states(
    problem: Problem,
    *,
    rank: int | None = None,
    beta: float | None = None,
    start: np.ndarray | None = None,
) -> Iterator[State]:
    """Generate the iterates of `factored_admm`, with its arguments; the start comes first."""
    dense = DenseProblem(problem)
    shape = problem.structure.shape
    rank = min(shape) if rank is None else min(positive_int(rank, "rank"), min(shape))
    beta = dense.settings.beta * dense.scale if beta is None else positive(beta, "beta")
    y = dense.start(start)
    y = dense.solve(beta, dense.backprojection, y) if start is None else y
    return _iterates(dense, y, rank, beta)


def _iterates(dense: DenseProblem, y: np.ndarray, rank: int, beta: float) -> Iterator[State]:
    M, N = dense.structure.shape
    V = random_vector(N * rank, dense.backprojection, seed=0).reshape(N, rank) / N**0.5
    U = np.zeros((M, rank), dtype=V.dtype)
    ridge = dense.mu / beta * np.eye(rank, dtype=V.dtype)
    lifted = dense.lift(y)
    Lambda = np.zeros_like(lifted)
    while True:
        yield dense.state(y, LowRank(U, V).balanced(dense.settings.negligible), Lambda)
        aim = lifted + Lambda / beta
        U = np.linalg.solve(V.conj().T @ V + ridge, (aim @ V).conj().T).conj().T
        V = np.linalg.solve(U.conj().T @ U + ridge, U.conj().T @ aim).conj().T
        product = U @ V.conj().T
        right = dense.backprojection + dense.adjoint(beta * product - Lambda)
        y = dense.solve(beta, right - beta * dense.offset_total, y)
        lifted = dense.lift(y)
        Lambda = Lambda + beta * (lifted - product)

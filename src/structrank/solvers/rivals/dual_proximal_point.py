"""Proximal point method on the dual of (relax).

M. Fazel, T. K. Pong, D. Sun and P. Tseng, "Hankel matrix rank minimization with applications to
system identification and realization", SIAM J. Matrix Anal. Appl. 34 (2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from ..._checks import positive
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .dense import DenseProblem, threshold_singular_values


def dppa(
    problem: Problem,
    *,
    beta: float | None = None,
    inner_tolerance: float = 0.1,
    start: np.ndarray | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) by the proximal point method on its dual, on dense matrices.

    Each outer step maximises the dual minus `1 / (2 beta) ||Lambda - Lambda_k||^2`. This is a
    smooth problem in the signal. Accelerated gradient steps with one full decomposition each solve
    it; these inner steps are counted as iterations.

    Parameters
    ----------
    problem : Problem
    beta : float, optional
        Length of the proximal steps. Default: 10 times mu over the top singular value of the
        structured matrix of the data. Larger values are often faster from a zero start, smaller
        values from a distant start: see `structrank reproduce ssr`.
    inner_tolerance : float
        An inner problem is solved when its gradient is at most this fraction of the change by the
        outer step.
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
    >>> from structrank.solvers.rivals import dppa
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = dppa(problem, stop=Stop(max_iter=1000, xtol=None, rtol=None, gap=1e-4))
    >>> result.rank
    1
    """
    states = dppa_states(problem, beta=beta, inner_tolerance=inner_tolerance, start=start)
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="dppa")


def dppa_states(
    problem: Problem,
    *,
    beta: float | None = None,
    inner_tolerance: float = 0.1,
    start: np.ndarray | None = None,
) -> Iterator[State]:
    """Generate the iterates of `dppa`, with its arguments; the start comes first."""
    dense = DenseProblem(problem)
    beta = dense.settings.proximal_beta * dense.scale if beta is None else positive(beta, "beta")
    tolerance = positive(inner_tolerance, "inner_tolerance")
    return _iterates(dense, dense.start(start), beta, tolerance)


def _iterates(dense: DenseProblem, y: np.ndarray, beta: float, tolerance: float) -> Iterator[State]:
    # An upper bound of the curvature of the inner problem, entry by entry.
    curvature = dense.curvature + beta * dense.multiplicity
    center, moved = np.zeros_like(dense.lift(y)), True
    while True:
        x, momentum = y, 1.0  # where the gradient is taken
        while True:
            lifted = center + beta * dense.lift(x)
            shrunk = threshold_singular_values(lifted, dense.mu)
            Lambda = lifted - shrunk.to_dense()  # the projection onto ||Lambda||_2 <= mu
            if moved:  # an outer step alone does not change the signal
                yield dense.state(x, shrunk.scaled(1 / beta), Lambda)
            residual = dense.forward(x) - dense.problem.data
            gradient = dense.backward(residual) + dense.adjoint(Lambda)
            error = np.sum(np.abs(gradient) ** 2 / curvature)
            change = np.linalg.norm(Lambda - center) ** 2 / beta
            if error <= tolerance**2 * change:
                break
            previous, y = y, x - gradient / curvature
            if np.vdot(gradient, y - previous).real > 0:  # restart: the momentum points uphill
                momentum = 1.0
            following = (1 + sqrt(1 + 4 * momentum**2)) / 2
            x = y + (momentum - 1) / following * (y - previous)
            momentum, moved = following, True
        y, center, moved = x, Lambda, error == 0.0  # at the optimum nothing moves

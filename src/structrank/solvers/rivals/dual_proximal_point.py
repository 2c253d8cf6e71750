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
from ..driver import Callback, Result, Stop, run
from ..state import State
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

    Each outer step maximises the dual less `1 / (2 beta) ||Lambda - Lambda_k||^2`. That is a smooth
    problem in the signal, solved by accelerated gradient steps of a full decomposition each; they
    are the iterations that are counted.

    Parameters
    ----------
    problem : Problem
    beta : float, optional
        Length of the proximal steps. Default 10 times mu over the top singular value of the
        lifted data. From zero, larger ones are often faster; from afar, smaller ones:
        `structrank reproduce ssr` shows how much.
    inner_tolerance : float
        An inner problem is solved once its gradient is at most this share of what the
        outer step changes.
    start : array, optional
        Signal to start from, by default zero.
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
    beta = 10.0 * dense.scale if beta is None else positive(beta, "beta")
    tolerance = positive(inner_tolerance, "inner_tolerance")
    return _iterates(dense, dense.start(start), beta, tolerance)


def _iterates(dense: DenseProblem, y: np.ndarray, beta: float, tolerance: float) -> Iterator[State]:
    # Curvature of the inner problem, entry by entry, at most this:
    curvature = dense.curvature + beta * dense.multiplicity
    center, moved = np.zeros_like(dense.lift(y)), True
    while True:
        x, momentum = y, 1.0  # where the gradient is taken
        while True:
            lifted = center + beta * dense.lift(x)
            shrunk = threshold_singular_values(lifted, dense.mu)
            Lambda = lifted - shrunk.to_dense()  # the projection onto ||Lambda||_2 <= mu
            if moved:  # an outer step alone does not move the signal
                yield dense.state(x, shrunk.scaled(1 / beta), Lambda)
            residual = dense.forward(x) - dense.problem.data
            gradient = dense.backward(residual) + dense.adjoint(Lambda)
            error = np.sum(np.abs(gradient) ** 2 / curvature)
            change = np.linalg.norm(Lambda - center) ** 2 / beta
            if error <= tolerance**2 * change:
                break
            previous, y = y, x - gradient / curvature
            if np.vdot(gradient, y - previous).real > 0:  # momentum leads uphill
                momentum = 1.0
            following = (1 + sqrt(1 + 4 * momentum**2)) / 2
            x = y + (momentum - 1) / following * (y - previous)
            momentum, moved = following, True
        y, center, moved = x, Lambda, error == 0.0  # at the optimum it stays where it is

"""Interior point method on the semidefinite form of (relax), through CVXPY.

Z. Liu and L. Vandenberghe, "Interior-point method for nuclear norm approximation with application
to system identification", SIAM J. Matrix Anal. Appl. 31 (2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .dense import DenseProblem


def interior_point(
    problem: Problem,
    *,
    solver: str = "CLARABEL",
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) as a semidefinite program, for small problems: O(M^2 N^2) memory.

    This needs CVXPY: `pip install "structrank[conic]"`.

    Parameters
    ----------
    problem : Problem
    solver : str
        Name of the conic solver that CVXPY uses.
    callback : callable, optional
        Called with the `State` of the start and of the solution.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.solvers.rivals import interior_point
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = interior_point(problem)
    >>> result.rank, result.gap < 1e-4
    (1, True)
    """
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError('interior_point needs CVXPY: pip install "structrank[conic]"') from error
    stop = Stop(xtol=None, rtol=None)  # the conic solver decides when to stop
    states = _iterates(DenseProblem(problem), cvxpy, solver)
    return run(
        states, problem, stop=stop, callback=callback, progress=progress, label="interior_point"
    )


def _iterates(dense: DenseProblem, cvxpy: Any, solver: str) -> Iterator[State]:
    y = dense.start(None)
    lifted = dense.lift(y)
    yield dense.state(y, _low_rank(lifted), np.zeros_like(lifted))

    unknown = cvxpy.Variable(y.size, complex=np.iscomplexobj(y))
    X = cvxpy.Variable(lifted.shape, complex=np.iscomplexobj(lifted))
    A, Q = _matrices(dense)
    structured = cvxpy.reshape(Q @ unknown, lifted.shape, order="C") + lifted
    link = structured == X
    loss = cvxpy.sum_squares(A @ unknown - dense.problem.data.reshape(-1)) / 2
    program = cvxpy.Problem(cvxpy.Minimize(loss + dense.mu * cvxpy.normNuc(X)), [link])
    try:
        program.solve(solver=solver)
    except cvxpy.SolverError as error:
        raise RuntimeError(f"{solver} found no solution: {error}") from error
    if unknown.value is None:
        raise RuntimeError(f"{solver} found no solution: its status is {program.status!r}")
    y = np.asarray(unknown.value).reshape(y.shape).astype(y.dtype)
    yield dense.state(y, _low_rank(dense.lift(y)), np.asarray(link.dual_value))


def _matrices(dense: DenseProblem) -> tuple[np.ndarray, scipy.sparse.csr_array]:
    """Form A and the linear part of Q as matrices on flat signals."""
    shape, size = dense.structure.signal_shape, dense.backprojection.size
    unit = np.eye(size, dtype=dense.backprojection.dtype).reshape(size, *shape)
    A = np.stack([dense.forward(e).reshape(-1) for e in unit], axis=1)
    places = np.flatnonzero(dense.structure.flat_index < size)
    entries = (np.ones(places.size), (places, dense.structure.flat_index[places]))
    return A, scipy.sparse.csr_array(entries, shape=(dense.structure.flat_index.size, size))


def _low_rank(X: np.ndarray) -> LowRank:
    """Factor a matrix of numerically low rank."""
    negligible = DenseProblem.settings.negligible
    return LowRank(X, np.eye(X.shape[1], dtype=X.dtype)).balanced(negligible)

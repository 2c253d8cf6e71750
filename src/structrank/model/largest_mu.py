"""The smallest mu for which the solution is zero."""

from __future__ import annotations

from dataclasses import replace

from .losses import Loss
from .lowrank import LowRank
from .majorant import Majorant
from .objective import Penalized
from .problem import Problem
from .starts import RandomStarts


def mu_max(
    problem: Problem,
    lam: float | None = None,
    penalty: str = "projection",
    recovery: str = "projection",
    loss: Loss | None = None,
) -> float:
    """Compute the smallest mu for which the solution of the penalised problem is zero.

    This is the top singular value of the gradient at zero, `||C^* A^* b||_2`.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter.
    lam : float, optional
        Weight of the penalty on departures from the structure. It matters only for structures
        with an offset.
    penalty : {"projection", "difference"}
        Which penalty. It matters only for structures with an offset.
    recovery : {"projection", "sparse"}
        Which C: the mean over all copies of a signal entry, or the first copy, as in `gcgls`.
    loss : Loss, optional
        The loss, for `gcgls_loss`. Default: half the squares.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, mu_max
    >>> round(mu_max(Problem(Hankel(3, window=2), np.array([1.0, 2.0, 4.0]), mu=1.0)), 6)
    4.302776
    """
    if lam is None and problem.structure.offset is not None:
        raise ValueError(
            f"lam is None, but mu_max depends on lam because {problem.structure!r} has an offset: "
            "a number is expected"
        )
    problem = replace(problem, mu=1.0)  # random starts depend on the problem
    weight = 1.0 if lam is None else lam
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    if loss is None:
        objective = Penalized(problem, weight, penalty, recovery)
    else:
        objective = Majorant.at_matrix(problem, loss, weight, penalty, recovery, X=zero)
    gradient = objective.gradient(objective.at(zero))
    start = RandomStarts(problem, zero).draw()
    exact, most_steps = 1e-10, 300  # more digits than any use of mu needs
    return gradient.top(1, start, tolerance=exact, max_steps=most_steps).likely_top

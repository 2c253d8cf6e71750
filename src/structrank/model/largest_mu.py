"""The smallest mu for which the solution is zero."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from .._array import NDArray, array_namespace, epsilon
from .._checks import first_given
from .losses import Loss
from .lowrank import LowRank
from .majorant import Majorant
from .objective import Penalized
from .problem import Problem
from .problems import Problems
from .stack import Stack
from .stack_pairs import top_pairs
from .starts import RandomStarts, StackStarts


@overload
def mu_max(
    problem: Problem,
    lam: float | None = None,
    penalty: str = "projection",
    recovery: str = "projection",
    loss: Loss | None = None,
) -> float: ...


@overload
def mu_max(problem: Problems) -> NDArray: ...


def mu_max(
    problem: Problem | Problems,
    lam: float | None = None,
    penalty: str = "projection",
    recovery: str = "projection",
    loss: Loss | None = None,
) -> float | NDArray:
    """Compute the smallest mu for which the solution of the penalised problem is zero.

    This is the top singular value of the gradient at zero, `||C^* A^* b||_2`.

    Parameters
    ----------
    problem : Problem or Problems
        Its own mu does not matter. Many problems are computed together; other arguments are for
        one.
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
    float, or ndarray with one number per problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, mu_max
    >>> round(mu_max(Problem(Hankel(3, window=2), np.array([1.0, 2.0, 4.0]), mu=1.0)), 6)
    4.302776
    """
    if isinstance(problem, Problems):
        maps = {"penalty": penalty, "recovery": recovery}
        _check_none_given(
            {"lam": lam, "loss": loss, **{k: v for k, v in maps.items() if v != "projection"}}
        )
        return _of_many(problem)
    if lam is None and problem.structure.offset is not None:
        raise ValueError(
            f"lam is None, but mu_max depends on lam because {problem.structure!r} has an offset: "
            "a number is expected"
        )
    problem = problem.with_mu(1.0)  # random starts depend on the problem
    weight = 1.0 if lam is None else lam
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    if loss is None:
        objective = Penalized(problem, weight, penalty, recovery)
    else:
        objective = Majorant.at_matrix(problem, loss, weight, penalty, recovery, X=zero)
    gradient = objective.gradient(objective.at(zero))
    start = RandomStarts(problem, zero).draw()
    exact, most_steps = max(1e-10, epsilon(start)), 300  # more digits than any use of mu needs
    return gradient.top(1, start, tolerance=exact, max_steps=most_steps).likely_top


def _check_none_given(arguments: Mapping[str, Any]) -> None:
    """Raise an error if an argument is given that is for one problem."""
    name = first_given(arguments)
    if name is not None:
        raise ValueError(f"{name} is given, but it is for one Problem, and problem is Problems")


def _of_many(problems: Problems, samples: int = 2**17) -> NDArray:
    """The same for many problems, in batches of so many samples, whose bases take 600 MB."""
    size = max(samples // math.prod(problems.structure.signal_shape), 1)
    parts = [_of_batch(problems[k : k + size]) for k in range(0, len(problems), size)]
    return np.concatenate([np.zeros(0), *parts])


def _of_batch(problems: Problems) -> NDArray:
    stack = Stack.of(problems, 1.0)
    sizes = stack.sizes()
    stack = stack.divided(sizes)
    xp, start = array_namespace(stack.data), StackStarts(stack).draw()
    starts = xp.tile(start, (len(stack), 1, 1))
    exact = np.full(len(stack), max(1e-10, stack.eps))
    top = top_pairs(stack.gradient(stack.zero()), starts, 1, exact, max_steps=300)
    return np.asarray(sizes * top.likely_top, dtype=float)

"""The regularisation path: one problem for many mu, each started from the solution before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tqdm.auto import tqdm

from .._checks import positive
from ..model.lowrank import LowRank
from ..model.objective import mu_max
from ..model.problem import Problem
from ..solvers import gcgls, solve
from ..solvers.driver import Result, Status, Stop

STEPS, SPAN = 12, 1e-2  # of a path by default: how many mu, and the last over the first


def path(
    problem: Problem,
    mus: Sequence[float] | None = None,
    *,
    lam: float | None = None,
    gap: float = 1e-3,
    max_iter: int = 200,
    progress: bool = False,
) -> list[Result]:
    """Solve for many mu, from the largest down, each started from the solution before.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter.
    mus : sequence of float, optional
        Default: twelve from `mu_max` down to a hundredth of it, equally spaced in the logarithm.
    lam : float, optional
        Solve the penalised (reform2) with this lam, by `gcgls`. Default: (relax), by `solve`.
    gap : float
        Certified gap to reach for each mu.
    max_iter : int
        Largest number of iterations for each mu.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of Result
        The largest mu first. Ctrl-C returns those that are done.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, path
    >>> y = np.exp(0.3j * np.arange(40)) + 0.1 * np.exp(1.1j * np.arange(40))
    >>> problem = Problem(Hankel(40, window=20), y, mu=1.0, measure="lifted")
    >>> [result.rank for result in path(problem, [30.0, 3.0, 0.3], lam=1.0)]
    [0, 1, 2]
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}, but a Problem is expected")
    if mus is None:
        mus = list(mu_max(problem, lam) * np.geomspace(1, SPAN, STEPS))
    falling = sorted((positive(mu, "mu") for mu in mus), reverse=True)
    if not falling:
        raise ValueError("mus is empty, but one or more numbers are expected")
    results: list[Result] = []
    try:
        for mu in tqdm(falling, desc="path", disable=not progress):
            start = results[-1].X if results else None
            result = solve_at(problem, mu, start, lam=lam, gap=gap, max_iter=max_iter)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results.append(result)
    except KeyboardInterrupt:
        if not results:
            raise
    return results


def solve_at(
    problem: Problem,
    mu: float,
    start: LowRank | None,
    *,
    lam: float | None,
    gap: float,
    max_iter: int,
) -> Result:
    """One solution of a path.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter.
    mu : float
    start : LowRank or None
        Where to start, such as the solution for another mu.
    lam : float or None
        Price of a departure from the structure in (reform2); None for (relax).
    gap : float
        Certified gap at which to stop.
    max_iter : int

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.selection.mu_path import solve_at
    >>> problem = Problem(Hankel(40, window=20), np.cos(0.6 * np.arange(40)), mu=1.0)
    >>> result = solve_at(problem, 0.5, None, lam=1.0, gap=1e-3, max_iter=20)
    >>> result.problem.mu, result.gap < 1e-3
    (0.5, True)
    """
    problem = replace(problem, mu=mu)
    if lam is None:
        return solve(problem, gap, start=start, max_iter=max_iter)
    stop = Stop(max_iter, xtol=None, rtol=None, gap=gap)
    return gcgls(problem, lam, start=start, stop=stop)

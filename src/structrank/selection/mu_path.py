"""The regularisation path: one problem for many mu, each started from the solution before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from tqdm.auto import tqdm

from .._checks import instance_of, positive
from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.dense import suits
from ..solvers.driver import iterate
from ..solvers.exact import solve_states
from ..solvers.result import Result
from ..solvers.stopping import ConvergenceWarning, Stop


@dataclass(frozen=True)
class PathGrid:
    """The values of mu that `path` takes by default; set by hand."""

    steps: int = 12  # number of values
    span: float = 1e-2  # the last over the first


def path(
    problem: Problem,
    mus: Sequence[float] | None = None,
    *,
    lam: float | None = None,
    gap: float = 1e-3,
    max_iter: int = 200,
    grid: PathGrid = PathGrid(),
    progress: bool = False,
) -> list[Result]:
    """Solve for many mu, from the largest down, each started from the solution before.

    Parameters
    ----------
    problem : Problem
        Its own mu is not used.
    mus : sequence of float, optional
        Default: twelve from `mu_max` down to a hundredth of it, equally spaced in the logarithm.
    lam : float, optional
        Solve the penalised (reform2) with this lam, by `gcgls`. Default: (relax), by `solve`.
    gap : float
        Certified gap to reach for each mu.
    max_iter : int
        Largest number of iterations for each mu.
    grid : PathGrid
        Number and span of the default values of mu.
    progress : bool
        Show a progress bar.

    Returns
    -------
    list of Result
        The largest mu first. Ctrl-C returns the solutions that are complete.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, path
    >>> y = np.exp(0.3j * np.arange(40)) + 0.1 * np.exp(1.1j * np.arange(40))
    >>> problem = Problem(Hankel(40, window=20), y, mu=1.0, measure="lifted")
    >>> [result.rank for result in path(problem, [30.0, 3.0, 0.3], lam=1.0)]
    [0, 1, 2]
    """
    instance_of(problem, Problem, "problem")
    if mus is None:
        mus = list(mu_max(problem, lam) * np.geomspace(1, grid.span, grid.steps))
    falling = sorted((positive(mu, "mu") for mu in mus), reverse=True)
    if not falling:
        raise ValueError("mus is empty, but at least one number is expected")
    results: list[Result] = []
    try:
        for mu in tqdm(falling, desc="path", disable=not progress):
            start = results[-1] if results else None
            results.append(
                solve_at(problem, mu, start, lam=lam, gap=gap, max_iter=max_iter, certify=True)
            )
    except KeyboardInterrupt:
        if not results:
            raise
    limited = [result for result in results if not result.status.converged]
    if limited:
        warnings.warn(
            f"path did not converge for {len(limited)} of {len(results)} values of mu: the first "
            f"of these solutions {limited[0].outcome}. Raise max_iter or gap.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return results


@dataclass(frozen=True)
class SmallMu:
    """Problems that are often solved faster as (relax), by dense matrices, than as (reform2).

    The share is from 24 samples of three modes, of which 19 were seen: at 1e-7 of `mu_max`, (relax)
    took 0.01 s, (reform2) from zero 0.3 to 2.6 s, and missed the solution in four of six draws.
    """

    share: float = 1e-3  # largest mu, over mu_max
    iterations: int = 5  # of (reform2), before that
    finer: float = 1e-3  # gap of (relax), over the one that is asked for

    def includes(self, problem: Problem, lam: float) -> bool:
        """Whether the matrix is small and mu far below `mu_max`."""
        return suits(problem) and problem.mu < self.share * mu_max(problem, lam)


def solve_at(
    problem: Problem,
    mu: float,
    start: Result | None,
    *,
    lam: float | None,
    gap: float = 1e-3,
    max_iter: int = 50,
    certify: bool = False,
    small: SmallMu = SmallMu(),
) -> Result:
    """Solve for one mu inside another method: no warning, and Ctrl-C passes through.

    Parameters
    ----------
    problem : Problem
        Its own mu is not used.
    mu : float
    start : Result or None
        Where to start, for example the solution for another mu.
    lam : float or None
        Price of a departure from the structure in (reform2); None for (relax).
    gap : float
        Certified gap at which to stop. The default is enough to choose a rank by.
    max_iter : int
        Largest number of iterations.
    certify : bool
        Prove the gap of (reform2) before the run ends by it. If False, small problems with a mu far
        below `mu_max` that are not solved at once are solved as (relax), which is nearly the same.
    small : SmallMu

    Returns
    -------
    Result
        Its status says whether it converged.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.selection.mu_path import solve_at
    >>> problem = Problem(Hankel(40, window=20), np.cos(0.6 * np.arange(40)), mu=1.0)
    >>> result = solve_at(problem, 0.5, None, lam=1.0)
    >>> result.problem.mu, result.gap < 1e-3
    (0.5, True)
    """
    problem = replace(problem, mu=mu)
    stop = Stop(max_iter, xtol=None, rtol=None, gap=gap)
    X = None if start is None else start.X
    if lam is None:
        return iterate(solve_states(problem, gap, start=X), problem, stop=stop)
    if not certify and small.includes(problem, lam):
        few = replace(stop, max_iter=small.iterations)
        result = iterate(
            gcgls_states(problem, lam, start=X, stop=few, certify=False), problem, stop=few
        )
        if result.status.converged:
            return result
        gap = small.finer * gap
        stop = replace(stop, gap=gap)
        return iterate(solve_states(problem, gap, start=X), problem, stop=stop)
    return iterate(
        gcgls_states(problem, lam, start=X, stop=stop, certify=certify), problem, stop=stop
    )

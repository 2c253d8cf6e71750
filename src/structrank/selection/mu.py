"""Choose mu, and with it the rank, from the data alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from tqdm.auto import tqdm

from .._checks import instance_of, one_of, positive, positive_int, random_generator
from ..modal.refit_result import Refit
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..model.sample_range import SampleRange
from ..solvers.gradient_state import with_proven_gap
from ..solvers.result import Result
from ..solvers.stopping import ConvergenceWarning
from ..views.summary import Summary
from .mu_search import Candidates, MuSearch

METHODS = ("noise", "holdout", "information")


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Summary):
    """The choice of mu and rank, with the solution and its refit; the result of `select_mu`.

    Attributes
    ----------
    method : str
        How the choice was made.
    mu : float
    rank : int
        The choice of `choose_rank` at that mu.
    sigma : float or None
        Standard deviation of the noise.
    result : Result
        The convex solution for that mu.
    refit : Refit
        The fit of that rank, without shrinkage.
    considered : list of tuple
        Each mu that was tried, the rank found there, and the criterion: noise level, error on the
        held-out samples, or information criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, select_mu
    >>> b = 3 * 0.9 ** np.arange(40) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> chosen = select_mu(Problem(Hankel(40, window=20), b, mu=1.0, measure="lifted"))
    >>> chosen.rank, len(chosen.refit.modes), round(chosen.sigma, 2)
    (1, 1, 0.08)
    """

    method: str
    mu: float
    rank: int
    sigma: float | None
    result: Result
    refit: Refit
    considered: list[tuple[float, int, float]]

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("problem", repr(self.result.problem)),
            ("method", self.method),
            ("mu", f"{self.mu:.6g}"),
            ("rank", str(self.rank)),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("considered", f"{len(self.considered)} values of mu"),
        ]


def select_mu(
    problem: Problem,
    method: str = "noise",
    *,
    sigma: float | None = None,
    folds: int = 5,
    lam: float | None = None,
    rng: int | np.random.Generator = 0,
    search: MuSearch = MuSearch(),
    progress: bool = False,
) -> Selection:
    """Choose mu and the rank from the data.

    - "noise": mu is `noise_mu` of the noise level sigma. If sigma is not known, start from a large
      one, solve, refit, estimate sigma from the residual of the refit, and repeat until sigma no
      longer changes.
    - "holdout": along a path of mu, solve and refit without a part of the samples, and take the mu
      whose refits predict the held-out parts best. A smaller mu has to be better by more than the
      standard error.
    - "information": along a path of mu, refit, and take the fit with the smallest
      `Refit.information`.

    The rank is always the choice of `choose_rank` at that mu. Ctrl-C ends the search
    without a result.

    Parameters
    ----------
    problem : Problem
        Its own mu is not used. Lifted weights are best.
    method : {"noise", "holdout", "information"}
    sigma : float, optional
        Standard deviation of the noise, if known; for "noise".
    folds : int
        Number of parts for "holdout".
    lam : float, optional
        Price of a departure from the structure in the problems that are solved. Default: the one
        for which data and structure weigh the same, which is 1 for lifted weights.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    search : MuSearch
        Settings of the search.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, select_mu
    >>> rng = np.random.default_rng(0)
    >>> b = np.cos(0.3 * np.arange(100)) + 0.1 * rng.standard_normal(100)
    >>> chosen = select_mu(Problem(Hankel(100, window=50), b, mu=1.0, measure="lifted"))
    >>> chosen.rank, round(chosen.sigma, 1)
    (2, 0.1)
    """
    chosen = search_mu(
        problem,
        method,
        sigma=sigma,
        folds=folds,
        lam=lam,
        rng=rng,
        search=search,
        progress=progress,
    )
    if not chosen.result.status.converged:
        warnings.warn(
            f"select_mu did not converge: its convex solution {chosen.result.outcome}. "
            "Pass a search with a larger max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    lam = natural_lam(problem) if lam is None else lam
    return replace(chosen, result=with_proven_gap(chosen.result, lam))


def search_mu(
    problem: Problem,
    method: str = "noise",
    *,
    sigma: float | None = None,
    folds: int = 5,
    lam: float | None = None,
    rng: int | np.random.Generator = 0,
    search: MuSearch = MuSearch(),
    progress: bool = False,
) -> Selection:
    """`select_mu` without a warning, for use inside other functions.

    Its parameters are those of `select_mu`. The status of the result says whether it converged.
    """
    instance_of(problem, Problem, "problem")
    one_of(method, METHODS, "method")
    random_generator(rng)  # an error, before any work, unless it is one
    if sigma is not None:
        sigma = SampleRange().checked_sigma(sigma, problem.b)
        if method != "noise":
            raise ValueError(f"sigma is given, but method {method!r} does not use it")
    lam = natural_lam(problem) if lam is None else positive(lam, "lam")
    with tqdm(desc=f"select mu by {method}", disable=not progress) as bar:
        candidates = Candidates(problem, lam, search, bar)
        if method == "noise":
            result, fit = candidates.by_noise(sigma, rng)
        elif method == "holdout":
            result, fit = candidates.by_holdout(positive_int(folds, "folds"), rng)
        else:
            result, fit = candidates.by_information()
    return Selection(
        method=method,
        mu=result.problem.mu,
        rank=fit.rank,
        sigma=fit.sigma,
        result=result,
        refit=fit,
        considered=candidates.considered,
    )

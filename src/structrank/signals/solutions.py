"""The convex solution that the candidates of `recover` start from, and the fit of its modes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray, epsilon, inner, like, to_numpy
from .._checks import positive, positive_int, random_generator
from .._watch import time_is_up
from ..modal.modal_refit import refit_modes
from ..modal.modes import NoModes
from ..modal.pencil import pencil_modes
from ..modal.refit_result import Refit
from ..modal.refitting import bounded_fit, reweighted
from ..model.largest_mu import mu_max
from ..model.lowrank import LowRank
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..selection.mu import Selection, search_mu
from ..selection.mu_path import solve_at
from ..selection.noise import noise_mu
from ..selection.ranks import choose_rank
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate
from ..solvers.result import Result
from ..solvers.stopping import Stop


@dataclass(frozen=True)
class Known:
    """What the caller knows about a signal; None where it has to be found.

    Attributes
    ----------
    mu : float or None
        Price of the nuclear norm.
    rank : int or None
        Number of modes.
    sigma : float or None
        Standard deviation of the noise.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    seasons : tuple of float
        Known seasons, in samples.
    weights : ndarray or None
        Sigma over the standard deviation of the noise of every sample, if that differs.
    """

    mu: float | None = None
    rank: int | None = None
    sigma: float | None = None
    undamped: bool = False
    rng: int | np.random.Generator = 0
    seasons: tuple[float, ...] = ()
    weights: NDArray | None = None

    def __post_init__(self) -> None:
        if self.mu is not None:
            object.__setattr__(self, "mu", positive(self.mu, "mu"))
        if self.rank is not None:
            object.__setattr__(self, "rank", positive_int(self.rank, "rank"))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        random_generator(self.rng)  # an error, before any work, unless it is one

    @property
    def levels(self) -> NDArray | None:
        """Standard deviation of the noise of every sample, if that differs."""
        return None if self.weights is None else np.asarray((self.sigma or 1.0) / self.weights)

    def refit(self, result: Result, rank: int) -> Refit:
        """Return the fit of a number of modes, with what is known about noise and damping."""
        return bounded_fit(result, rank, sigma=self.sigma, undamped=self.undamped)


@dataclass(frozen=True)
class ConvexSolver:
    """How the convex problems of one signal are solved.

    Attributes
    ----------
    lam : float
        Price of a departure from the structure.
    gap : float
        Relative distance from the optimum at which a solve stops. Taste: a thousandth changes the
        modes by less than the noise does.
    max_iter : int
        Largest number of iterations. Taste: a few modes need far fewer.
    """

    lam: float
    gap: float = 1e-3
    max_iter: int = 50

    def solve(self, problem: Problem, mu: float, start: Result | None) -> Result:
        """Return the solution for one mu, started from another."""
        return solve_at(problem, mu, start, lam=self.lam, gap=self.gap, max_iter=self.max_iter)


@dataclass(frozen=True)
class MuOfLargeSignals:
    """How the convex problem of a large signal is solved, and for which mu.

    Attributes
    ----------
    gap : float
        Relative distance from the optimum at which a solve stops. Its solutions have high rank, and
        a smaller gap takes long (`benchmarks.real_data`).
    smallest, largest : float
        Limits of mu over `mu_max`. Taste: with less the rank is very high, with more it is zero.
    """

    gap: float = 3e-2
    smallest: float = 0.1
    largest: float = 0.5


@dataclass(frozen=True)
class RankSearch:
    """How mu is lowered until a solution has the rank that is asked for.

    Attributes
    ----------
    factor : float
        From one mu to the next. Taste: each solution is a good start for the next.
    smallest : float
        Last mu over the first. Taste: what a smaller mu adds is the size of rounding.
    clean : float
        Residual over samples below which they have hardly any noise. Taste: 60 dB.
    """

    factor: float = 0.5
    smallest: float = 1e-4
    clean: float = 1e-3


@dataclass(frozen=True, eq=False)
class Solution:
    """The convex solution to all samples, and the fit of its modes.

    Attributes
    ----------
    result : Result
        The convex solution.
    solver : ConvexSolver
        How it was found.
    fit : Refit or None
        The fit of its modes; None for a large signal.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given.
    """

    result: Result
    solver: ConvexSolver
    fit: Refit | None = None
    selection: Selection | None = None

    def solve_without(self, part: NDArray) -> Result:
        """Return the convex solution for the same mu without a part of the samples."""
        problem = self.result.problem
        start = None if self.fit is None else self.result  # from zero where the rank is high
        return self.solver.solve(problem.without(part), problem.mu, start)


def solve_and_refit(problem: Problem, known: Known) -> Solution:
    """Solve the convex problem for a mu that is given or chosen, and fit the modes found there.

    Parameters
    ----------
    problem : Problem
        With samples of the signal; its own mu does not matter.
    known : Known

    Returns
    -------
    Solution
    """
    solver = ConvexSolver(natural_lam(problem))
    selection: Selection | None = None
    if known.mu is None:
        selection = search_mu(problem, sigma=known.sigma, rng=known.rng)
        result, fit = selection.result, selection.refit
    else:
        result = solver.solve(problem, known.mu, None)
        fit = choose_rank(result, known.sigma)
    if known.rank is not None:
        result, fit = _fit_of_rank(result, fit, known, known.rank)
    elif known.undamped and fit.rank:
        fit = known.refit(result, fit.rank)
    return Solution(result, solver, fit, selection)


def _fit_of_rank(result: Result, fit: Refit, known: Known, rank: int) -> tuple[Result, Refit]:
    """Return a convex solution and the fit of a rank.

    If the solution has a lower rank and there is hardly any noise, lowering mu takes long and may
    not help. Then modes come from the singular vectors of the samples, with gaps filled by `fit`.
    """
    problem = reweighted(result.problem)
    if result.rank < rank and problem.structure.has_modes:
        filled = like(np.where(problem.seen, to_numpy(problem.b), to_numpy(fit.y)), fit.y)
        modes = pencil_modes(problem, filled, rank)
        if modes is not None:
            other = refit_modes(problem, modes, sigma=known.sigma, undamped=known.undamped)
            if other.residual_squared <= RankSearch().clean ** 2 * inner(
                problem.data, problem.data
            ):
                return result, other
    result = with_rank(result, rank)
    return result, known.refit(result, min(rank, result.rank))  # fewer if time is up


def solve_roughly(
    problem: Problem, mu: float, settings: MuOfLargeSignals = MuOfLargeSignals()
) -> Solution:
    """Solve the convex problem of a large signal for a mu that is given."""
    solver = ConvexSolver(natural_lam(problem), settings.gap)
    return Solution(solver.solve(problem, mu, None), solver)


def solve_for_noise(
    problem: Problem, sigma: float, X: LowRank | None, rng: int | np.random.Generator
) -> Result:
    """Solve the convex problem for the mu that a noise level calls for, with a proven gap.

    Parameters
    ----------
    problem : Problem
        Its own mu does not matter.
    sigma : float
        Standard deviation of the noise; zero for the smallest mu.
    X : LowRank or None
        Where to start.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.

    Returns
    -------
    Result
    """
    floor = mu_max(problem) * epsilon(problem.backprojection) ** 0.5
    mu = max(noise_mu(problem, sigma, rng=rng) if sigma else 0.0, floor) or 1.0
    solver, problem = ConvexSolver(natural_lam(problem)), replace(problem, mu=mu)
    stop = Stop(solver.max_iter, xtol=None, rtol=None, gap=solver.gap)
    return iterate(gcgls_states(problem, solver.lam, start=X, stop=stop), problem, stop=stop)


def mu_for_errors(
    problem: Problem,
    error: float,
    rng: int | np.random.Generator,
    settings: MuOfLargeSignals = MuOfLargeSignals(),
) -> float:
    """Return the mu of a large signal that noise of the size of prediction errors calls for."""
    top = mu_max(problem)
    needed = noise_mu(problem, error, rng=rng) if error else 0.0
    return max(min(needed, settings.largest * top), settings.smallest * top)


def with_rank(result: Result, rank: int, search: RankSearch = RankSearch()) -> Result:
    """Return a solution whose rank is at least the one asked for, found by lowering mu.

    When time is up, its rank may be lower.

    Parameters
    ----------
    result : Result
        Where to start.
    rank : int
    search : RankSearch

    Returns
    -------
    Result

    Raises
    ------
    NoModes
        The samples have no solution of that rank.
    """
    shape = result.problem.structure.shape
    if rank > min(shape):
        raise NoModes(
            f"rank is {rank}, but the Hankel matrix is {shape[0]} x {shape[1]}: take a smaller rank"
        )
    solver = ConvexSolver(natural_lam(result.problem))
    lowest = search.smallest * result.problem.mu
    while result.rank < rank and not (result.rank and time_is_up()):
        if result.problem.mu < lowest:
            raise NoModes(
                f"rank is {rank}, but a signal of rank {result.rank} meets the samples exactly: "
                f"pass rank={result.rank}"
            )
        result = solver.solve(result.problem, search.factor * result.problem.mu, result)
    return result

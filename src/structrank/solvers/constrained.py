"""A constrained variant of (relax): a known noise level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from .._array import inner
from .._checks import instance_of, positive, random_generator
from ..model.largest_mu import mu_max
from ..model.lowrank import LowRank
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness
from .driver import iterate, warn_if_limited
from .exact import solve_states
from .result import Result
from .stopping import ConvergenceWarning, Status, Stop


@dataclass(frozen=True)
class MuSearch:
    """Limits of the search for the mu whose solution has a given distance from the samples.

    The values are taste: a search usually ends after a few values of mu.
    """

    solves: int = 50  # largest number of values of mu
    least: float = 1e-6  # smallest mu over mu_max; its inverse is the largest
    finer: float = 10.0  # the gap is divided by this if the distances are not accurate enough
    least_time: float = 1e-9  # seconds for a solve after the time limit


def solve_within(
    problem: Problem,
    delta: float,
    gap: float = 1e-4,
    *,
    rtol: float = 1e-3,
    start: LowRank | None = None,
    max_iter: int = 200,
    max_time: float | None = None,
    rng: Randomness = 0,
    search: MuSearch = MuSearch(),
) -> Result:
    """Find the signal of least nuclear norm within a given distance of the samples.

    `min_y  ||Q(y)||_*  subject to  ||A(y) - b|| <= delta`

    This is (relax) for one value of mu, which is found by `solve` at a few values, each started
    from the last solution. The distance is that of (relax): with weights w it is `||w (y - b)||`
    over the samples seen. For noise of standard deviation sigma, use
    `delta = sigma * norm(w[seen])`.

    Parameters
    ----------
    problem : Problem
        Its mu does not matter.
    delta : float
        The distance, above zero and below `||b||` (with the same weights), which is the distance
        of the zero signal.
    gap : float
        Certified gap to reach for (relax), relative to its objective.
    rtol : float
        The distance found differs from `delta` by at most this fraction of `delta`.
    start : LowRank, optional
        Default: zero.
    max_iter : int
        Largest number of iterations per value of mu.
    max_time : float, optional
        Time limit in seconds for the whole search.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    search : MuSearch
        Limits of the search for mu.

    Returns
    -------
    Result
        The result of (relax) with the mu found, `result.problem.mu`. No signal within `delta` has
        a nuclear norm below
        `(result.objective * (1 - result.gap) - delta**2 / 2) / result.problem.mu`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.solvers.constrained import solve_within
    >>> b = 0.9 ** np.arange(20.0) + 0.1 * (-1.0) ** np.arange(20)
    >>> result = solve_within(Problem(Hankel(20, window=10), b, mu=1.0), delta=0.1 * 20**0.5)
    >>> round(float(np.linalg.norm(result.y - b)), 2)
    0.45
    """
    instance_of(problem, Problem, "problem")
    delta, gap, rtol = positive(delta, "delta"), positive(gap, "gap"), positive(rtol, "rtol")
    max_time = np.inf if max_time is None else positive(max_time, "max_time")
    random_generator(rng)  # an error, before any work, unless it is one
    root, scale = _first_root_search(problem, delta, rtol)
    X, seconds = checked_start(start, problem), 0.0
    result: Result | None = None
    try:
        for _ in range(search.solves):
            trial = replace(problem, mu=float(np.exp(root.place)))
            left = None if max_time == np.inf else max(max_time - seconds, search.least_time)
            stop = Stop(max_iter, xtol=None, rtol=None, gap=gap, max_time=left)
            result = iterate(solve_states(trial, gap, start=X, rng=rng), trial, stop=stop)
            X, seconds = result.X, seconds + result.history.time[-1]
            distance = float(np.sqrt(2 * trial.misfit(result.y)))
            if abs(distance - delta) <= rtol * delta or not result.status.converged:
                warn_if_limited(result, "solve_within")
                return result
            _check_reachable(delta, distance, trial.mu / scale, search.least)
            if root.saw(np.log(max(distance, np.finfo(float).tiny) / delta)):
                gap /= search.finer
    except KeyboardInterrupt:
        if result is None:
            raise
        return replace(result, status=Status.INTERRUPTED)
    assert result is not None  # at least one mu is tried
    result = replace(result, status=Status.MAX_ITERATIONS)
    warnings.warn(
        f"solve_within did not converge: after {search.solves} values of mu the distance is "
        f"{distance:g}, but delta is {delta:g}. Raise rtol or lower gap.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return result


def _first_root_search(problem: Problem, delta: float, rtol: float) -> tuple[_RootSearch, float]:
    """Start the search for log(mu), and return mu_max too; raise an error if delta is too large."""
    size = float(np.sqrt(inner(problem.data, problem.data)))
    affine = problem.structure.offset is not None
    if delta >= size and not affine:
        raise ValueError(
            f"delta is {delta:g}, but the norm of the data, with weights, is {size:g}: the zero "
            "signal is within delta; a smaller delta is expected"
        )
    scale = mu_max(problem, lam=1.0 if affine else None)
    return _RootSearch(np.log(scale), 0.0 if affine else np.log(size / delta), rtol), scale


def _check_reachable(delta: float, distance: float, share: float, least: float) -> None:
    """Raise an error if no mu leads to this distance; `share` is mu over mu_max."""
    if distance > delta and share <= least:
        raise ValueError(
            f"delta is {delta:g}, but at mu = {share:.2g} mu_max the distance is still "
            f"{distance:g}: the measure cannot produce such data; a larger delta is expected"
        )
    if distance < delta and share >= 1 / least:
        raise ValueError(
            f"delta is {delta:g}, but at mu = {share:.2g} mu_max the distance is only "
            f"{distance:g}: a larger one does not lower the nuclear norm; a smaller delta is "
            "expected"
        )


class _RootSearch:
    """A search for the root of log(distance / delta) as a function of log(mu).

    The slope of this function is between zero and one: gamma, whose norm is the distance, is the
    point nearest to b of a convex set that contains zero and grows in proportion to mu. So the
    distance grows with mu, but not faster than mu.

    Parameters
    ----------
    place, value : float
        A place with a value above zero. A value of zero means that it is not known.
    accuracy : float
        Values this close to zero count as zero.
    """

    def __init__(self, place: float, value: float, accuracy: float) -> None:
        self.low: tuple[float, float] | None = None
        self.high = (place, value) if value > 0 else None
        self.accuracy, self.place = accuracy, place - value
        self.last, self.reach = 0.0, 1.0  # last value; length of the steps to the other sign

    def saw(self, value: float) -> bool:
        """Use the value at `place` to choose the next; return whether values contradict."""
        here, again = (self.place, value), value * self.last > 0
        self.last = value
        if value > 0:  # the Illinois rule: halve the value of an end that stays twice
            self.high, self.low = here, _halved(self.low) if again else self.low
        else:
            self.low, self.high = here, _halved(self.high) if again else self.high
        if self.low is None or self.high is None:
            self.reach *= 2
            self.place -= self.reach * value
            return False
        (a, fa), (b, fb) = self.low, self.high
        if b - a < 2 * self.accuracy:  # but the values differ by more
            self.low, self.high, self.reach = None, None, 1.0
            return True
        self.place = a - fa * (b - a) / (fb - fa)
        return False


def _halved(end: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if end is None else (end[0], end[1] / 2)

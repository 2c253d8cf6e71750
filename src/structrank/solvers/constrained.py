"""Constrained variants of (relax): a known noise level, and samples that are met exactly."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, array_namespace, inner, like
from .._checks import boolean_array, instance_of, positive
from ..model.largest_mu import mu_max
from ..model.lowrank import LowRank
from ..model.measure import Weighted
from ..model.objective import Penalized, Point
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness
from .driver import Callback, iterate, run, warn_if_limited
from .exact import solve_states
from .multipliers import Lagrangian, first_lam, method_of_multipliers
from .result import Result
from .state import State
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


def solve_trusted(
    problem: Problem,
    trusted: Array,
    gap: float = 1e-4,
    *,
    start: LowRank | None = None,
    max_iter: int = 200,
    max_time: float | None = None,
    rng: Randomness = 0,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve (relax) with some samples met exactly, to a certified gap.

    `min_y  1/2 ||A(y) - b||^2 + mu ||Q(y)||_*  subject to  y_t = b_t where trusted`

    The trusted samples act like samples with infinite weights. The method is the method of
    multipliers, as in `solve`, with these entries of y fixed.

    Parameters
    ----------
    problem : Problem
        With samples of the signal itself: all of it, a mask or weights.
    trusted : array of bool
        Which samples are met exactly. All of them must be seen. Their weights do not matter.
    gap : float
        Certified gap to reach, relative to the objective.
    start : LowRank, optional
        Default: zero.
    max_iter : int
        Largest number of iterations.
    max_time : float, optional
        Time limit in seconds, without the time spent in callbacks.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
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
    >>> from structrank import Hankel, Problem
    >>> from structrank.solvers.constrained import solve_trusted
    >>> b = 0.5 ** np.arange(9.0)
    >>> trusted = np.arange(9) < 2
    >>> result = solve_trusted(Problem(Hankel(9, window=5), b, mu=0.1), trusted)
    >>> result.y[:2]
    array([1. , 0.5])
    """
    instance_of(problem, Problem, "problem")
    mask = _checked_trusted(problem, trusted)
    stop = Stop(max_iter, xtol=None, rtol=None, gap=positive(gap, "gap"), max_time=max_time)
    states = _iterates(problem, mask, checked_start(start, problem), float(gap), rng)
    return run(
        states, problem, stop=stop, callback=callback, progress=progress, label="solve_trusted"
    )


class TrustedAugmented(Lagrangian):
    """The augmented Lagrangian of (relax), minimised over the y that meet the trusted samples.

    It is the limit of `Augmented` for infinite weights, written with finite ones: for a trusted
    sample, `gamma_t` times its weight is the multiplier of `y_t = b_t`, and its square does not
    occur in the dual.
    """

    def __init__(
        self,
        problem: Problem,
        trusted: Array,
        lam: float,
        T: LowRank,
        gamma: Array,
        weight: float = 0.0,
    ) -> None:
        super().__init__(problem, lam, T, gamma, weight)
        xp, self.trusted = array_namespace(gamma), trusted
        weights: Array = problem.sample_weights
        ratio = weights**2 * self.inverse_multiplicity / lam
        ones = xp.ones_like(ratio)
        self.damping = 1 / xp.sqrt(xp.where(trusted, 0 * ones, ones) + ratio)
        target = problem.data
        if self.offset_signal is not None:
            target = target + weights * self.offset_signal
        self.measure = Weighted(weights * self.damping)
        self.target = self.damping * (target + ratio * gamma)

    def signal(self, point: Point) -> Array:
        """Return the signal of `X`, with the trusted samples in place."""
        return array_namespace(point.y).where(self.trusted, self.problem.b, super().signal(point))

    def advanced(self, point: Point, lam: float, tolerance: float) -> TrustedAugmented:
        """Return a copy with another lam and the multiplier `-grad f(X)`, up to a tolerance."""
        T, gamma, weight = self.grown(point, tolerance)
        return TrustedAugmented(self.problem, self.trusted, lam, T, gamma, weight)

    def priced(self, gamma: Array) -> Array:
        """Return the part of gamma whose square occurs in the dual."""
        return array_namespace(gamma).where(self.trusted, 0.0 * gamma, gamma)


def _iterates(
    problem: Problem, mask: np.ndarray, X: LowRank, aim: float, rng: Randomness
) -> Iterator[State]:
    plain = Penalized(problem, first_lam(problem))
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    trusted, gamma = like(mask, problem.backprojection), plain.gamma(plain.at(X))
    objective = TrustedAugmented(problem, trusted, plain.lam, zero, gamma)
    return method_of_multipliers(objective, X, aim, rng)


def _checked_trusted(problem: Problem, trusted: Any) -> np.ndarray:
    """Copy `trusted` to the host; raise an error unless all trusted samples are seen."""
    weights = problem.sample_weights
    if weights is None:
        raise TypeError(
            "the measure is an operator, but samples of the signal itself (measure=None, Mask or "
            "Weighted) are expected"
        )
    mask = boolean_array(trusted, "trusted")
    if mask.shape != tuple(problem.b.shape):
        raise ValueError(
            f"trusted has shape {mask.shape}, but b has shape {tuple(problem.b.shape)}"
        )
    unseen = int(np.count_nonzero(mask & ~problem.seen))
    if unseen:
        raise ValueError(
            f"{unseen} trusted samples are not seen, but only samples that are seen can be trusted"
        )
    if not np.any(mask):
        raise ValueError("trusted contains no True, but at least one is expected: or use solve")
    return mask

"""Robust recovery: (relax) with gross errors in some samples, that is with a Huber loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array, array_namespace, like, to_numpy
from .._checks import instance_of, positive
from ..io.saved_results import savable
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from ..model.problem import Problem, checked_start
from ..model.scale import deviation_by_median
from ..model.starts import Randomness
from .checkpoint import Checkpoint
from .driver import Callback, run
from .huber_loss import HuberLoss, never_zero
from .memory import Memory, Restored
from .multipliers import Lagrangian, MultiplierMethod, first_lam, method_of_multipliers
from .result import OMITTED, Result
from .saving import saving_for
from .state import State
from .stopping import Stop


@dataclass(frozen=True)
class ThresholdSearch:
    """Settings of the estimate of the threshold, if the user gives none.

    Apart from `deviations` the values are taste.
    """

    deviations: float = 2.0  # threshold over the noise: one in twenty good samples exceeds it
    rough: float = 0.1  # gap of a solve: the noise level is not known more accurately
    rounds: int = 30  # largest number of solves
    steps: int = 20  # largest number of iterations per solve
    still: float = 0.05  # relative change of the threshold at which the search ends
    mu_factor: float = 2.0  # mu starts so far below the top singular value, and falls by it


@savable(OMITTED)
@dataclass(frozen=True, eq=False, repr=False)
class RobustResult(Result):
    """The result of `solve_robust`: a `Result` with the outliers.

    Attributes
    ----------
    outliers : array
        The gross errors, in the shape and units of `b`; zero for good samples.
    threshold : float
        The threshold that was used, given or estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve_robust
    >>> b = 0.9 ** np.arange(40.0)
    >>> b[7] += 5.0
    >>> result = solve_robust(Problem(Hankel(40, window=20), b, 0.5, "lifted"), threshold=0.2)
    >>> np.flatnonzero(result.outliers)
    array([7])
    """

    outliers: Array
    threshold: float

    def _rows(self) -> list[tuple[str, str]]:
        found = int(np.count_nonzero(to_numpy(self.outliers)))
        return [*super()._rows(), ("outliers", f"{found}, residuals above {self.threshold:.3g}")]


def solve_robust(
    problem: Problem,
    threshold: float | None = None,
    gap: float = 1e-3,
    *,
    start: LowRank | None = None,
    max_iter: int = 200,
    max_time: float | None = None,
    rng: Randomness = 0,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
) -> RobustResult:
    """Solve (relax) with gross errors in some samples, to a certified gap.

    `min_{y,s}  1/2 ||A(y) + s - b||^2 + mu ||Q(y)||_* + sum_t threshold_t |s_t|`

    This is (relax) with a Huber loss: quadratic for residuals up to the threshold, linear
    beyond. `s` contains the outliers. With a mask or weights w the threshold is in the units of
    the samples: `threshold_t = w_t threshold`, so that a sample is an outlier if and only if
    `|b_t - y_t| > threshold`, for any weight.

    The method is the method of multipliers, as in `solve`. Both y and s are eliminated in closed
    form. The remaining function of X is bounded from above by (reform2) with weights
    `sqrt(threshold_t / |residual_t|)` on the outliers, which are updated every few steps.

    Parameters
    ----------
    problem : Problem
    threshold : float, optional
        Residuals above the threshold are outliers. In the units of `b`. Default: two standard
        deviations of the noise, so that the remaining error of an outlier is not much above the
        noise. The standard deviation is estimated from the median modulus of the residuals
        (1.4826 times the median for real, 1.2011 times for complex residuals), in rough solves
        until the estimate converges. This needs a mu that suits the noise, and outliers in less
        than half of the samples. About one in twenty good samples also exceeds this threshold,
        by little.
    gap : float
        Certified gap to reach, relative to the objective.
    start : LowRank, optional
        Default: zero.
    max_iter : int
        Largest number of iterations.
    max_time : float, optional
        Time limit in seconds, without the time spent in callbacks and on the threshold.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run. The loss in
        the state is the Huber loss.
    progress : bool
        Show a progress bar.
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues, as in `gcgls`.

    Returns
    -------
    RobustResult

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.solvers.robust import solve_robust
    >>> b = 0.9 ** np.arange(20.0)
    >>> b[7] += 5.0
    >>> result = solve_robust(Problem(Hankel(20, window=10), b, mu=0.1), threshold=0.2)
    >>> result.rank, np.nonzero(result.outliers)[0]
    (1, array([7]))
    """
    instance_of(problem, Problem, "problem")
    stop = Stop(max_iter, xtol=None, rtol=None, gap=positive(gap, "gap"), max_time=max_time)
    X = checked_start(start, problem, quadratic=False)
    saving = saving_for("solve_robust", problem, checkpoint, resume, threshold=threshold)
    if threshold is None:
        threshold, X = _estimated_threshold(problem, X)
    huber = HuberLoss(problem, positive(threshold, "threshold"))
    memory = None if saving is None else saving.memory
    result = run(
        _iterates(huber, X, float(gap), rng, memory),
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="solve_robust",
        saving=saving,
    )
    return RobustResult(
        **vars(result), outliers=huber.outliers(result.y), threshold=huber.threshold
    )


def robust_states(
    problem: Problem,
    threshold: float,
    gap: float,
    *,
    start: LowRank | None = None,
    rng: Randomness = 0,
) -> Iterator[State]:
    """The iterates of `solve_robust`, to be driven by `run` or `iterate`."""
    huber = HuberLoss(problem, positive(threshold, "threshold"))
    return _iterates(huber, checked_start(start, problem, quadratic=False), float(gap), rng)


class RobustAugmented(Lagrangian):
    """A quadratic upper bound of the augmented Lagrangian of the robust problem.

    The augmented Lagrangian is minimised over y and s. At a given signal the bound has the same
    value and gradient. The dual of the robust problem is that of (relax) with one more constraint,
    `|gamma_t| <= threshold_t`.
    """

    method = MultiplierMethod(piece=10)  # search steps with the same quadratic; taste

    def __init__(
        self, huber: HuberLoss, lam: float, T: LowRank, dual: Array, weight: float, y: Array
    ) -> None:
        p = huber.problem
        ratio: Array | float = 0.0
        if p.sample_weights is not None:
            multiplicity = like(p.structure.multiplicity.astype(float), y, real=True)
            ratio = huber.weights**2 / (lam * multiplicity)
        self.huber, self.dual, self.touched = huber, dual, y
        self.factors = huber.factors(p.residual(y) + ratio * dual, ratio)
        super().__init__(huber.weighted(self.factors), lam, T, dual / self.factors, weight)

    def gamma(self, point: Point) -> Array:
        """Return `b - A(y) - s` for the best y and s; at the given signal within thresholds."""
        return self.factors * super().gamma(point)

    def tight(self, X: LowRank) -> tuple[RobustAugmented, Point]:
        """Return the bound with the same value and gradient at X, and its point there."""
        y = self.signal(self.at(X))
        objective = RobustAugmented(self.huber, self.lam, self.T, self.dual, self.weight, y)
        return objective, objective.at(X)

    def advanced(self, point: Point, lam: float, tolerance: float) -> RobustAugmented:
        """Return a copy with another lam and the multiplier `-grad f(X)`, up to a tolerance."""
        T, _, weight = self.grown(point, tolerance)
        gamma, y = self.gamma(point), self.signal(point)
        return RobustAugmented(self.huber, lam, T, gamma, weight, y)

    def kept(self) -> dict[str, Any]:
        """Return what distinguishes this Lagrangian from the first one, for a checkpoint."""
        return {**super().kept(), "gamma": self.dual, "touched": self.touched}

    def restored(self, restored: Restored) -> RobustAugmented:
        """Return the Lagrangian with what was kept, made from the first one."""
        T, dual, y = restored.matrix("T"), restored.array("gamma"), restored.array("touched")
        return RobustAugmented(self.huber, restored["lam"], T, dual, restored["weight"], y)

    def misfit(self, y: Array) -> float:
        """Compute the Huber loss."""
        return self.huber.value(y)

    def excess(self, gamma: Array) -> float:
        """Return the factor that gamma has to be divided by to be feasible, if above one."""
        return float(array_namespace(gamma).max(abs(gamma) / never_zero(self.huber.bounds)))

    @property
    def samples(self) -> Array:
        """The right-hand side b, without the weights of this quadratic."""
        return self.huber.problem.data


def _iterates(
    huber: HuberLoss, X: LowRank, aim: float, rng: Randomness, memory: Memory | None = None
) -> Iterator[State]:
    problem = huber.problem
    plain = Penalized(problem, first_lam(problem))
    y = plain.signal(plain.at(X))
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    residual = problem.residual(y)
    factors = huber.factors(residual, 0.0)
    lam = first_lam(huber.weighted(factors))  # large outliers hardly curve the loss
    objective = RobustAugmented(huber, lam, zero, factors**2 * residual, 0.0, y)
    return method_of_multipliers(objective, X, aim, rng, memory)


def _estimated_threshold(
    problem: Problem, X: LowRank, search: ThresholdSearch = ThresholdSearch()
) -> tuple[float, LowRank]:
    """Estimate the threshold from the noise, and return it with a start for the solve.

    During the search mu decreases to its value: at first the threshold is far too high, and a low
    mu would fit the remaining outliers by many modes.
    """
    fixed = np.random.default_rng(0)  # nothing is certified here, and scaled data scale the result
    plain = Penalized(problem, 1.0)
    threshold = _deviations(problem, plain.signal(plain.at(X)), search)
    first = next(_iterates(HuberLoss(problem, threshold), X, search.rough, fixed))
    mu = max(problem.mu, first.top_value / search.mu_factor)
    for _ in range(search.rounds):
        huber = HuberLoss(replace(problem, mu=mu), threshold)
        for state in islice(_iterates(huber, X, search.rough, fixed), search.steps):
            if state.top_value <= (1 + search.rough) * mu:
                break
        last, threshold, X = threshold, _deviations(problem, state.y, search), state.X
        if mu == problem.mu and abs(threshold - last) <= search.still * last:
            break
        mu = max(problem.mu, mu / search.mu_factor)
    return threshold, X


def _deviations(problem: Problem, y: Array, search: ThresholdSearch) -> float:
    """Compute the threshold from the residuals of a signal."""
    unit = HuberLoss(problem, 1.0)
    residual = to_numpy(problem.residual(y) / never_zero(unit.weights))
    deviation = deviation_by_median(residual[problem.seen])
    if not deviation > 0:
        raise ValueError(
            "half of the residuals are zero, so the threshold cannot be estimated: pass threshold"
        )
    return search.deviations * deviation

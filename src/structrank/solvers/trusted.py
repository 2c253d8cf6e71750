"""A constrained variant of (relax): samples that are met exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array, array_namespace, like
from .._checks import boolean_array, instance_of, positive
from ..io.fingerprints import digest_of
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.measure import Weighted
from ..model.objective import Penalized
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness
from .checkpoint import Checkpoint
from .driver import Callback, run
from .memory import Memory, Restored
from .multipliers import Lagrangian, first_lam, method_of_multipliers
from .result import Result
from .saving import saving_for
from .state import State
from .stopping import Stop


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
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
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
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues, as in `gcgls`.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve_trusted
    >>> b = 0.5 ** np.arange(9.0)
    >>> trusted = np.arange(9) < 2
    >>> result = solve_trusted(Problem(Hankel(9, window=5), b, mu=0.1), trusted)
    >>> result.y[:2]
    array([1. , 0.5])
    """
    instance_of(problem, Problem, "problem")
    mask = _checked_trusted(problem, trusted)
    stop = Stop(max_iter, xtol=None, rtol=None, gap=positive(gap, "gap"), max_time=max_time)
    X, digest = checked_start(start, problem), digest_of(mask)
    saving = saving_for("solve_trusted", problem, checkpoint, resume, trusted=digest)
    memory = None if saving is None else saving.memory
    return run(
        _iterates(problem, mask, X, float(gap), rng, memory),
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="solve_trusted",
        saving=saving,
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

    def restored(self, restored: Restored) -> TrustedAugmented:
        """Return the Lagrangian with what was kept, made from the first one."""
        T, gamma, lam = restored.matrix("T"), restored.array("gamma"), restored["lam"]
        return TrustedAugmented(self.problem, self.trusted, lam, T, gamma, restored["weight"])

    def priced(self, gamma: Array) -> Array:
        """Return the part of gamma whose square occurs in the dual."""
        return array_namespace(gamma).where(self.trusted, 0.0 * gamma, gamma)


def _iterates(
    problem: Problem,
    mask: np.ndarray,
    X: LowRank,
    aim: float,
    rng: Randomness,
    memory: Memory | None = None,
) -> Iterator[State]:
    plain = Penalized(problem, first_lam(problem))
    zero = LowRank.zeros(problem.structure.shape, problem.backprojection)
    trusted, gamma = like(mask, problem.backprojection), plain.gamma(plain.at(X))
    objective = TrustedAugmented(problem, trusted, plain.lam, zero, gamma)
    return method_of_multipliers(objective, X, aim, rng, memory)


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

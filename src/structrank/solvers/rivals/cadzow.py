"""Cadzow's method: the nearest matrix of a given rank and the nearest structured one, in turns.

J. A. Cadzow, "Signal enhancement: a composite property mapping algorithm", IEEE Trans. Acoust.,
Speech, Signal Process. 36 (1988).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..._array import Array, array_namespace, like
from ..._checks import positive
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .sampled import Decomposition, SampledProblem, relative_change


@dataclass(frozen=True)
class Accuracy:
    """How accurate the singular pairs of a step are."""

    largest: float = 1e-3  # residual over the largest singular value, at most this
    share: float = 0.1  # and at most this part of the last change, so that it does not matter


def cadzow(
    problem: Problem,
    rank: int,
    *,
    tolerance: float = 1e-6,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Fill gaps by alternating projections between structured matrices and those of given rank.

    Each step puts the seen samples back, truncates the structured matrix to the given rank, and
    averages over the copies of each entry. It starts like `fiht`. Its steps are short if few
    samples are seen. The mu of the problem is not used. The result is a local optimum without
    certificate: its gap is 1.

    Parameters
    ----------
    problem : Problem
        Its measure has to be a mask or weights, which only say which samples are seen.
    rank : int
    tolerance : float
        The method ends when a step changes the signal by at most this fraction.
    stop : Stop, optional
        Default: 500 iterations.
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
    >>> from structrank import Hankel, Mask, Problem
    >>> from structrank.solvers.rivals import cadzow
    >>> t = np.arange(41)
    >>> y = np.cos(0.4 * t)
    >>> problem = Problem(Hankel(41, window=21), y, mu=1.0, measure=Mask(t % 5 < 3))
    >>> bool(np.allclose(cadzow(problem, rank=2).y, y, atol=1e-4))
    True
    """
    sampled = SampledProblem(problem, rank)
    states = _iterates(sampled, positive(tolerance, "tolerance"))
    stop = sampled.default_stop if stop is None else stop
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="cadzow")


def _iterates(
    sampled: SampledProblem, tolerance: float, accuracy: Accuracy = Accuracy()
) -> Iterator[State]:
    structure, svd, last, change = sampled.structure, sampled.start(), None, 1.0
    while True:
        X = svd.matrix
        y = sampled.average(structure.transform_left(X.U), structure.transform_right(X.V))
        yield State(X, y, *sampled.figures(svd.norm_squared, y, 1.0))
        if last is not None:
            change = relative_change(y, last)
            if change <= tolerance:
                return
        accurate = min(accuracy.largest, accuracy.share * change)
        svd = sampled.truncated(sampled.corrected(y, 1.0), _sum_of_columns(svd), accurate)
        last = y


def _sum_of_columns(svd: Decomposition) -> Array:
    """Return a vector with a part along every right singular vector."""
    return array_namespace(svd.V).sum(svd.V * like(svd.values, svd.V, real=True), axis=1)

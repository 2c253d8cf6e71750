"""Hankel structured Newton-like descent: gaps and gross errors, for a given rank.

H. Cai, L. Huang, X. Lu and J. You, "Accelerating ill-conditioned Hankel matrix recovery via
structured Newton-like descent", arXiv:2406.07409 (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from ..._array import Array, array_namespace, gram, like, rotate, to_numpy
from ..._checks import positive
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .sampled import SampledProblem, relative_change


@dataclass(frozen=True)
class NewtonLikeSettings:
    """Constants of the method.

    The last three give the decay of the paper's experiments; errors hardly depend on it.
    """

    length: float = 0.7  # eta: fewer steps than with 0.5, and 0.9 may oscillate
    last_factor: float = 1.05  # samples that are taken for errors at the end, over their number
    first_excess: float = 0.45  # what is added to that factor at first
    decay: float = 0.95  # of the excess, per step

    def factor(self, step: int) -> float:
        """Samples that are taken for gross errors in a step, over their number: gamma_k."""
        return self.last_factor + self.first_excess * self.decay**step


def hsnld(
    problem: Problem,
    rank: int,
    share: float,
    *,
    tolerance: float = 1e-6,
    settings: NewtonLikeSettings = NewtonLikeSettings(),
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Fill gaps in the presence of gross errors by a structured matrix of given rank.

    `min 1/(2 p) ||Q(seen * (y + s - b))||^2 + 1/2 ||X - Q(y)||^2` with `X = U V^H`,
    `y = average(X)`, the share p of the samples that are seen, and gross errors s of a given share
    of these.

    Each step sets s to the largest residuals, a few more than the share asks for, and moves both
    factors along their gradients, which are scaled by `(V^H V)^-1` and `(U^H U)^-1`. So the number
    of steps does not depend on the condition of the matrix. The start truncates the matrix of the
    samples without the largest ones. The mu of the problem is not used. The result is a local
    optimum without certificate: its gap is 1.

    Parameters
    ----------
    problem : Problem
        Its measure has to be a mask or weights, which only say which samples are seen.
    rank : int
    share : float
        Share of gross errors among the seen samples, at least 0 and below 1/2.
    tolerance : float
        The method ends when a step changes the signal by at most this fraction.
    settings : NewtonLikeSettings
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
    >>> from structrank.solvers.rivals import hsnld
    >>> t = np.arange(61)
    >>> y = np.cos(0.4 * t)
    >>> b = np.where(t % 20 == 7, 5.0, y)
    >>> problem = Problem(Hankel(61, window=31), b, mu=1.0, measure=Mask(t % 5 < 4))
    >>> bool(np.allclose(hsnld(problem, rank=2, share=0.1).y, y, atol=1e-4))
    True
    """
    sampled = SampledProblem(problem, rank)
    if not 0 <= share < 0.5:
        raise ValueError(
            f"share is {share!r}, but a number of at least 0 and below 0.5 is expected"
        )
    states = _iterates(sampled, share, positive(tolerance, "tolerance"), settings)
    stop = sampled.default_stop if stop is None else stop
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="hsnld")


def _iterates(
    sampled: SampledProblem,
    share: float,
    tolerance: float,
    settings: NewtonLikeSettings = NewtonLikeSettings(),
) -> Iterator[State]:
    structure, count = sampled.structure, share * sampled.problem.sample_count
    clean = sampled.without(_largest(sampled.b, count))
    svd = clean.start()
    roots = like(np.sqrt(svd.values), svd.U, real=True)
    U, V, last, step = svd.U * roots, svd.V * roots, None, 0
    while True:
        left, right = structure.transform_left(U), structure.transform_right(V)
        y, X = sampled.average(left, right), LowRank(U, V)
        clean = sampled.without(_largest(sampled.residual(y), settings.factor(step) * count))
        yield State(X, y, *clean.figures(X.norm_squared(), y, sampled.step))
        if last is not None and relative_change(y, last) <= tolerance:
            return
        signal = structure.transform_signal(clean.corrected(y, sampled.step))
        image = structure.matmul_transformed(signal, right)  # W V, for the corrected matrix W
        back = structure.rmatmul_transformed(signal, left)  # W^H U
        U, V = (
            (1 - settings.length) * factor + settings.length * rotate(product, _inverse(other))
            for factor, product, other in ((U, image, V), (V, back, U))
        )
        last, step = y, step + 1


def _inverse(factor: Array) -> Array:
    """Invert the Gram matrix of a factor, without directions in which it is zero."""
    return np.linalg.pinv(gram(factor, factor), hermitian=True)


def _largest(values: Array, count: float) -> Array:
    """Keep so many values of largest modulus, and set the others to zero."""
    xp, sizes = array_namespace(values), abs(values)
    kept = min(ceil(count), int(np.prod(values.shape)))
    if kept == 0:
        return xp.zeros_like(values)
    least = float(np.partition(to_numpy(sizes).reshape(-1), -kept)[-kept])
    return xp.where(sizes >= least, values, xp.zeros_like(values))

"""Fast iterative hard thresholding, for a given rank.

J.-F. Cai, T. Wang and K. Wei, "Fast and provable algorithms for spectrally sparse signal
reconstruction via low-rank Hankel matrix completion", Appl. Comput. Harmon. Anal. 46 (2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..._array import Array, array_namespace, epsilon, gram, like, rotate, to_numpy
from ..._checks import positive
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .sampled import Decomposition, SampledProblem, relative_change


@dataclass(frozen=True)
class StepLengths:
    """How a step that raises the objective is repeated; 1 is the step of Cadzow's method."""

    shorter: float = 0.7  # factor on the step: 0.5 recovers fewer signals from few samples
    rounding: float = 1e3  # allowed rise in machine epsilons, relative to the norm of X


def fiht(
    problem: Problem,
    rank: int,
    *,
    tolerance: float = 1e-6,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Fill gaps by a structured matrix of given rank, by iterative hard thresholding.

    Each step moves the seen samples towards the data by the factor `1 / share seen`, projects the
    structured matrix onto the tangent space of the last iterate, and truncates it to the given
    rank. This takes products with thin factors and a small SVD. If the objective rises, as it can
    where few samples are seen, the factor becomes smaller. The start truncates the matrix of
    the samples, with zeros in the gaps. Samples count as often as they occur in the matrix. The
    mu of the problem is not used. The result is a local optimum without certificate: its gap is 1.

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
    >>> from structrank.solvers.rivals import fiht
    >>> t = np.arange(41)
    >>> y = np.cos(0.4 * t)
    >>> problem = Problem(Hankel(41, window=21), y, mu=1.0, measure=Mask(t % 5 < 3))
    >>> bool(np.allclose(fiht(problem, rank=2).y, y, atol=1e-4))
    True
    """
    sampled = SampledProblem(problem, rank)
    states = _iterates(sampled, positive(tolerance, "tolerance"))
    stop = sampled.default_stop if stop is None else stop
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="fiht")


class _Iterate(NamedTuple):
    """A matrix of the given rank, its transformed factors, and its signal."""

    svd: Decomposition
    X: LowRank
    left: Array
    right: Array
    y: Array


def _iterates(
    sampled: SampledProblem, tolerance: float, steps: StepLengths = StepLengths()
) -> Iterator[State]:
    at, last, step = _described(sampled, sampled.start()), None, sampled.step
    figures = sampled.figures(at.svd.norm_squared, at.y, step)
    while True:
        yield State(at.X, at.y, *figures)
        if last is not None and relative_change(at.y, last.y) <= tolerance:
            return
        last, before = at, figures
        while True:
            at = _moved(sampled, last, step)
            figures = sampled.figures(at.svd.norm_squared, at.y, step)
            rounding = steps.rounding * epsilon(at.y) * at.svd.norm_squared
            if step == 1 or figures.objective <= before.objective + rounding:
                break
            step = max(steps.shorter * step, 1.0)
            before = sampled.figures(last.svd.norm_squared, last.y, step)


def _described(sampled: SampledProblem, svd: Decomposition) -> _Iterate:
    X, structure = svd.matrix, sampled.structure
    left, right = structure.transform_left(X.U), structure.transform_right(X.V)
    return _Iterate(svd, X, left, right, sampled.average(left, right))


def _moved(sampled: SampledProblem, at: _Iterate, step: float) -> _Iterate:
    """Threshold `W = Q(corrected signal)`, after its projection onto the tangent space."""
    structure = sampled.structure
    signal = structure.transform_signal(sampled.corrected(at.y, step))
    image = structure.matmul_transformed(signal, at.right)  # W V
    scaled = structure.rmatmul_transformed(signal, at.left)  # W^H U diag(values)
    values = np.where(at.svd.values > 0, at.svd.values, 1.0)  # zero only if all data are
    back = scaled / like(values, scaled, real=True)
    svd = _retracted(at.svd, image, back, sampled.rank)
    return _described(sampled, svd.without_zeros(sampled.settings.negligible))


def _retracted(last: Decomposition, image: Array, back: Array, rank: int) -> Decomposition:
    """Project W onto the tangent space of the last iterate, and truncate it to the rank.

    `image` is `W V` and `back` is `W^H U`. With `C = U^H W V` and the QR decompositions
    `W V - U C = Q1 R1` and `W^H U - V C^H = Q2 R2` the projection is

    `U U^H W + W V V^H - U U^H W V V^H = [U Q1] [C R2^H; R1 0] [V Q2]^H`.
    """
    xp, (U, _, V) = array_namespace(image), last
    core = gram(U, image)
    Q1, R1 = xp.linalg.qr(image - rotate(U, core))
    Q2, R2 = xp.linalg.qr(back - rotate(V, core.conj().T))
    zeros = np.zeros_like(core)
    small = np.block([[core, to_numpy(R2).conj().T], [to_numpy(R1), zeros]])
    # The driver of NumPy's SVD, gesdd, fails for some of these matrices near convergence.
    P, values, Qh = scipy.linalg.svd(small, lapack_driver="gesvd")
    left, right = P[:, :rank], Qh[:rank].conj().T
    count = U.shape[1]
    return Decomposition(
        rotate(U, left[:count]) + rotate(Q1, left[count:]),
        values[:rank],
        rotate(V, right[:count]) + rotate(Q2, right[count:]),
    )

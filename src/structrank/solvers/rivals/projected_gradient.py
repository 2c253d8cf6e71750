"""Projected gradient descent on the factors of a structured matrix, for a given rank.

J.-F. Cai, T. Wang and K. Wei, "Spectral compressed sensing via projected gradient descent", SIAM J.
Optim. 28 (2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._array import Array, array_namespace, gram, inner, like, rotate
from ..._checks import positive
from ...model import quartic
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..driver import Callback, run
from ..result import Result
from ..state import State
from ..stopping import Stop
from .sampled import SampledProblem, relative_change


@dataclass(frozen=True)
class ProjectedGradientSettings:
    """Constants of the method.

    Exact steps along the gradient zigzag. Slightly shorter ones do not: M. Raydan and B. F.
    Svaiter, "Relaxed steepest descent and Cauchy-Barzilai-Borwein method", Comput. Optim. Appl. 21
    (2002).
    """

    balance: float = 0.25  # lambda: weight of ||U^H U - V^H V||^2 / 4, the value of the paper
    incoherence: float = 10.0  # mu: undamped modes that are well separated have about 1
    relaxation: float = 0.9  # step over the exact one: 4 times fewer steps on hard problems than 1


def projected_gradient(
    problem: Problem,
    rank: int,
    *,
    tolerance: float = 1e-6,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Fill gaps by a structured matrix of given rank, by gradient descent on its factors.

    `min 1/(2 p) ||Q(seen * (y - b))||^2 + 1/2 ||X - Q(y)||^2 + lambda/4 ||U^H U - V^H V||^2` with
    `X = U V^H`, `y = average(X)` and the share p of the samples that are seen.

    Each step goes along the gradient nearly to the exact minimum, and shortens rows of the factors
    that are longer than incoherent factors can have. The start is that of `fiht`. The mu of the
    problem is not used. The result is a local optimum without certificate: its gap is 1.

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
    >>> from structrank.solvers.rivals import projected_gradient
    >>> t = np.arange(41)
    >>> y = np.cos(0.4 * t)
    >>> problem = Problem(Hankel(41, window=21), y, mu=1.0, measure=Mask(t % 5 < 3))
    >>> bool(np.allclose(projected_gradient(problem, rank=2).y, y, atol=1e-3))
    True
    """
    sampled = SampledProblem(problem, rank)
    states = _iterates(sampled, positive(tolerance, "tolerance"))
    stop = sampled.default_stop if stop is None else stop
    return run(
        states, problem, stop=stop, callback=callback, progress=progress, label="projected_gradient"
    )


class _Factors(NamedTuple):
    """Two factors U and V, or a direction in them, and their transforms."""

    U: Array
    V: Array
    left: Array
    right: Array


def _iterates(
    sampled: SampledProblem,
    tolerance: float,
    settings: ProjectedGradientSettings = ProjectedGradientSettings(),
) -> Iterator[State]:
    svd = sampled.start()
    roots = like(np.sqrt(svd.values), svd.U, real=True)
    # The largest squares of the rows' norms, times the number of rows.
    limit = settings.incoherence * sampled.rank * float(svd.values[0])
    U, V = _shortened(svd.U * roots, limit), _shortened(svd.V * roots, limit)
    at = _transformed(sampled, U, V)
    y, last = sampled.average(at.left, at.right), None
    while True:
        X = LowRank(at.U, at.V)
        yield State(X, y, *sampled.figures(X.norm_squared(), y, sampled.step))
        if last is not None and relative_change(y, last) <= tolerance:
            return
        gradient = _gradient(sampled, at, y, settings.balance)
        exact = quartic.minimizer(_along(sampled, at, gradient, y, settings.balance))
        length = settings.relaxation * exact
        U, V = at.U - length * gradient.U, at.V - length * gradient.V
        at = _transformed(sampled, _shortened(U, limit), _shortened(V, limit))
        y, last = sampled.average(at.left, at.right), y


def _transformed(sampled: SampledProblem, U: Array, V: Array) -> _Factors:
    structure = sampled.structure
    return _Factors(U, V, structure.transform_left(U), structure.transform_right(V))


def _shortened(factor: Array, limit: float) -> Array:
    """Scale rows down whose norm is too large."""
    xp = array_namespace(factor)
    norms = xp.sqrt(xp.sum(xp.abs(factor) ** 2, axis=1))
    longest = (limit / factor.shape[0]) ** 0.5
    if float(xp.max(norms)) <= longest:
        return factor
    return factor * xp.where(norms > longest, longest / norms, xp.ones_like(norms))[:, None]


def _gradient(sampled: SampledProblem, at: _Factors, y: Array, balance: float) -> _Factors:
    """Compute the gradient; that with respect to X is `U V^H - Q(corrected signal)`."""
    structure = sampled.structure
    signal = structure.transform_signal(sampled.corrected(y, sampled.step))
    left, right = gram(at.U, at.U), gram(at.V, at.V)
    unbalanced = balance * (left - right)
    U = rotate(at.U, right + unbalanced) - structure.matmul_transformed(signal, at.right)
    V = rotate(at.V, left - unbalanced) - structure.rmatmul_transformed(signal, at.left)
    return _transformed(sampled, U, V)


def _along(
    sampled: SampledProblem, at: _Factors, gradient: _Factors, y: Array, balance: float
) -> np.ndarray:
    """Expand the objective at `at - t gradient` in powers of t, without its constant."""
    structure, multiplicity = sampled.structure, sampled.multiplicity
    cross = ((at.left, gradient.right), (gradient.left, at.right))
    y1 = -structure.adjoint_transformed(*cross) / multiplicity
    y2 = sampled.average(gradient.left, gradient.right)
    root = multiplicity**0.5
    signals = tuple(root * x for x in (y, y1, y2))
    misfits = tuple(sampled.seen * x for x in (root * (y - sampled.b), *signals[1:]))
    left, right = (
        quartic.gram_line(factor, -step)
        for factor, step in ((at.U, gradient.U), (at.V, gradient.V))
    )
    difference = tuple(L - R for L, R in zip(left, right, strict=True))
    coefficients: np.ndarray = (
        sampled.step / 2 * quartic.square(*misfits)
        + (quartic.trace_product(left, right) - quartic.square(*signals)) / 2
        + balance / 4 * quartic.square(*difference)
    )
    # The difference above loses the digits of the slope near an exact fit; the gradient has them.
    coefficients[0] = 0.0
    coefficients[1] = -inner(gradient.U, gradient.U) - inner(gradient.V, gradient.V)
    return coefficients

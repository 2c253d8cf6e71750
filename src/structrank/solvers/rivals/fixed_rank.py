"""Weighted structured low-rank approximation at a fixed rank, by alternating least squares.

M. Ishteva, K. Usevich and I. Markovsky, "Factorization approach to structured low-rank
approximation with applications", SIAM J. Matrix Anal. Appl. 35 (2014).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from ..._array import NDArray, inner
from ..._checks import positive, positive_int
from ...model.linalg import random_vector
from ...model.lowrank import LowRank
from ...model.problem import Problem, checked_start
from ..driver import Callback, run
from ..result import Result
from ..state import Figures, LazyState, State
from ..stopping import Stop
from .dense import DenseProblem


def weighted_slra(
    problem: Problem,
    rank: int,
    *,
    lam: float = 100.0,
    growth: float = 1.2,
    start: LowRank | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Fit a structured matrix of given rank: a local method without nuclear norm.

    `min 1/2 ||A(C X) - b||^2 + lam/2 ||X - Q(C X)||^2` over `X = U V^H` of the given rank

    U and V are optimised in turns while lam grows to the given value. The mu of the problem is not
    used. The result is a local optimum without certificate: its gap is 1.

    Parameters
    ----------
    problem : Problem
    rank : int
    lam : float
        Last weight of the penalty on departures from the structure.
    growth : float
        Factor on lam per step. At first, lam weighs data and structure equally. If it grows too
        fast, the factors stop changing before they fit the data.
    start : LowRank, optional
        Default: random factors with a fixed seed.
    stop : Stop, optional
        Default: the stopping rule of the paper.
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
    >>> from structrank.solvers.rivals import weighted_slra
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=1.0)
    >>> result = weighted_slra(problem, rank=1)
    >>> bool(np.allclose(result.y, 0.5 ** np.arange(9.0), atol=1e-3))
    True
    """
    dense = DenseProblem(problem)
    shape, reference = problem.structure.shape, problem.backprojection
    rank = positive_int(rank, "rank")
    if rank > min(shape):
        raise ValueError(
            f"rank is {rank}, but a matrix of shape {shape} has rank {min(shape)} at most"
        )
    if problem.structure.offset is not None:
        raise ValueError("the structure has an offset, but weighted_slra expects one without")
    V = random_vector(shape[1] * rank, reference, seed=0).reshape(shape[1], rank)
    if start is not None:
        V = checked_start(start, problem).V
    if V.shape[1] != rank:
        raise ValueError(f"start has {V.shape[1]} columns, but rank={rank} is expected")
    if not positive(growth, "growth") > 1:
        raise ValueError(f"growth is {growth}, but a factor above 1 is expected")
    states = _iterates(dense, V, positive(lam, "lam"), growth)
    return run(
        states, problem, stop=stop, callback=callback, progress=progress, label="weighted_slra"
    )


def _iterates(dense: DenseProblem, V: np.ndarray, last: float, growth: float) -> Iterator[State]:
    lam = min(1 / float(np.max(dense.multiplicity)), last)
    U = np.zeros((dense.structure.shape[0], V.shape[1]), dtype=V.dtype)
    while True:
        V, R = np.linalg.qr(V)
        U = _best_left(dense, U @ R.conj().T, V, lam, mirrored=False)
        U, R = np.linalg.qr(U)
        V = _best_left(dense, V @ R.conj().T, U, lam, mirrored=True)
        X = LowRank(U, V)
        y = dense.structure.average(U, V)
        yield LazyState(X, y, lambda X=X, y=y: _figures(dense, X, y, last))  # type: ignore[misc]
        lam = min(growth * lam, last)


def _best_left(
    dense: DenseProblem, guess: np.ndarray, other: np.ndarray, lam: float, *, mirrored: bool
) -> np.ndarray:
    """Find the best left factor for a fixed, orthonormal right one; mirrored: the right factor."""
    S, shape = dense.structure, guess.shape

    def product(signal: NDArray) -> NDArray:
        image: NDArray = S.rmatmul(signal, other) if mirrored else S.matmul(signal, other)
        return image

    def normal(flat: np.ndarray) -> np.ndarray:
        factor = flat.reshape(shape)
        y = S.average(other, factor) if mirrored else S.average(factor, other)
        signal = dense.backward(dense.forward(y)) / dense.multiplicity - lam * y
        return (product(signal) + lam * factor).reshape(-1)

    operator = LinearOperator((guess.size, guess.size), matvec=normal, dtype=guess.dtype)
    right = product(dense.backprojection / dense.multiplicity).reshape(-1)
    factor: NDArray
    exact, most_steps = 1e-8, 200  # more accurate than the alternation, which stops at 1e-3
    factor, _ = cg(operator, right, guess.reshape(-1), rtol=exact, maxiter=most_steps)
    return factor.reshape(shape)


def _figures(dense: DenseProblem, X: LowRank, y: np.ndarray, lam: float) -> Figures:
    residual = dense.forward(y) - dense.problem.data
    loss = inner(residual, residual) / 2
    structured = float(np.sum(dense.multiplicity * np.abs(y) ** 2))
    violation = max(X.norm_squared() - structured, 0.0) ** 0.5
    return Figures(loss + lam / 2 * violation**2, loss, violation, gap=1.0, top_value=0.0)

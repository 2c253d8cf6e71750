"""Accelerated proximal gradient with singular value thresholding for (reform2).

A. Beck and M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse
problems", SIAM J. Imaging Sci. 2 (2009), with the restarts of B. O'Donoghue and E. Candes,
"Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15 (2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod, sqrt

import numpy as np

from ..._array import NDArray, inner
from ..._checks import one_of, positive
from ...model.certificate import penalized_gap
from ...model.lowrank import LowRank
from ...model.problem import Problem, checked_start
from ...structures import Structure, structure_matrix, unvec, vec
from ...structures.base import Differences, Slices
from ..driver import Callback, run
from ..result import Result
from ..state import Figures, LazyState, State
from ..stopping import Stop
from .dense import DenseProblem, singular_values, threshold_singular_values


def apg_svt(
    problem: Problem,
    lam: float,
    *,
    penalty: str = "projection",
    start: LowRank | None = None,
    stop: Stop | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Solve the penalised problem (reform2) by FISTA on dense matrices.

    `min_X  1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2 + mu ||X||_*`

    Parameters
    ----------
    problem : Problem
    lam : float
        Weight of the penalty on departures from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B: "projection" gives the distance to the structured matrices, "difference" the
        paper's differences of neighbouring copies.
    start : LowRank, optional
        Default: zero.
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
    >>> from structrank import Hankel, Problem, Stop
    >>> from structrank.solvers.rivals import apg_svt
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> result = apg_svt(problem, 1.0, stop=Stop(max_iter=1000, xtol=None, rtol=None, gap=1e-4))
    >>> result.rank
    1
    """
    states = apg_svt_states(problem, lam, penalty=penalty, start=start)
    return run(states, problem, stop=stop, callback=callback, progress=progress, label="apg_svt")


def apg_svt_states(
    problem: Problem, lam: float, *, penalty: str = "projection", start: LowRank | None = None
) -> Iterator[State]:
    """Generate the iterates of `apg_svt`, with its arguments; the start comes first."""
    smooth = _Smooth(DenseProblem(problem), positive(lam, "lam"), penalty)
    return _iterates(smooth, checked_start(start, problem))


def _iterates(smooth: _Smooth, X: LowRank) -> Iterator[State]:
    length = 1 / smooth.lipschitz
    current, momentum = X.to_dense(), 1.0
    point = current  # where the gradient is taken
    while True:
        yield LazyState(X, smooth.signal(current), lambda X=X: smooth.figures(X))  # type: ignore[misc]
        gradient = smooth.gradient(point)
        X = threshold_singular_values(point - length * gradient, length * smooth.mu)
        previous, current = current, X.to_dense()
        if inner(point - current, current - previous) > 0:  # restart: the momentum points uphill
            momentum = 1.0
        following = (1 + sqrt(1 + 4 * momentum**2)) / 2
        point = current + (momentum - 1) / following * (current - previous)
        momentum = following


class _Smooth:
    """The smooth part f of (reform2) on dense matrices."""

    def __init__(self, dense: DenseProblem, lam: float, penalty: str) -> None:
        one_of(penalty, ("projection", "difference"), "penalty")
        self.dense, self.lam, self.mu = dense, lam, dense.mu
        self.B: _Projection | _Boxes | _Sparse
        differences = dense.structure.differences()
        if penalty == "projection":
            self.B = _Projection(dense)
        elif differences is not None:
            self.B = _Boxes(differences)
        else:
            self.B = _Sparse(dense.structure)
        offset = dense.structure.offset
        self.offset = 0.0 if offset is None else offset.astype(dense.backprojection.dtype)

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient.

        The data act on the structured matrices, the penalty on their orthogonal complement.
        """
        data = float(np.max(self.dense.curvature / self.dense.multiplicity))
        return max(data, self.lam * self.B.norm)

    def signal(self, X: NDArray) -> NDArray:
        """Return the signal of the nearest structured matrix."""
        y: NDArray = self.dense.adjoint(X - self.offset) / self.dense.multiplicity
        return y

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """Compute `grad f(X)`."""
        return self._gradient(self.signal(X), self.B.pull(X - self.offset))

    def _gradient(self, y: np.ndarray, pull: np.ndarray) -> np.ndarray:
        residual = self.dense.forward(y) - self.dense.problem.data
        structured = self.dense.backward(residual) / self.dense.multiplicity
        return self.dense.linear_lift(structured) + self.lam * pull

    def figures(self, X: LowRank) -> Figures:
        """Compute the objective and the bound of an iterate."""
        matrix = X.to_dense()
        y, pull = self.signal(matrix), self.B.pull(matrix - self.offset)
        residual = self.dense.forward(y) - self.dense.problem.data
        loss = inner(residual, residual) / 2
        violation_squared = max(inner(pull, matrix - self.offset), 0.0)  # <B^T B X, X>
        smooth, nuclear_norm = loss + self.lam / 2 * violation_squared, X.nuclear_norm()
        gradient = self._gradient(y, pull)
        top_value = float(singular_values(gradient)[0])
        objective = smooth + self.mu * nuclear_norm
        gap = penalized_gap(
            smooth=smooth,
            nuclear_norm=nuclear_norm,
            slope=inner(gradient, matrix),
            top_value=top_value,
            mu=self.mu,
        )
        gap = gap / objective if objective > 0 else 0.0
        return Figures(objective, loss, violation_squared**0.5, gap, top_value)


class _Projection:
    """The map `B = I - P`, whose kernel is the structured matrices."""

    norm = 1.0  # ||B||^2

    def __init__(self, dense: DenseProblem) -> None:
        self.dense = dense

    def pull(self, X: np.ndarray) -> np.ndarray:
        """Compute `B^T B X`."""
        return X - self.dense.linear_lift(self.dense.adjoint(X) / self.dense.multiplicity)


class _Boxes:
    """The paper's B as differences of shifted parts of the matrix."""

    def __init__(self, differences: Differences) -> None:
        self.grid = (*differences.row_grid, *differences.column_grid)
        self.shape = prod(differences.row_grid), prod(differences.column_grid)
        rows = len(differences.row_grid)
        self.places = [
            (
                _padded(b.rows_plus, rows) + b.columns_plus,
                _padded(b.rows_minus, rows) + b.columns_minus,
            )
            for b in differences.boxes
        ]

    @property
    def norm(self) -> float:
        """Upper bound of `||B||^2`: twice the largest number of differences of an entry."""
        count = np.zeros(self.grid)
        for plus, minus in self.places:
            count[plus] += 2.0
            count[minus] += 2.0
        return float(np.max(count))

    def pull(self, X: np.ndarray) -> np.ndarray:
        """Compute `B^T B X`."""
        X = X.reshape(self.grid)
        out = np.zeros_like(X)
        for plus, minus in self.places:
            difference = X[plus] - X[minus]
            out[plus] += difference
            out[minus] -= difference
        return out.reshape(self.shape)


def _padded(slices: Slices, length: int) -> Slices:
    return slices + (slice(None),) * (length - len(slices))


class _Sparse:
    """The paper's B as a sparse matrix."""

    def __init__(self, structure: Structure) -> None:
        self.structure, self.matrix = structure, structure_matrix(structure)

    @property
    def norm(self) -> float:
        """Upper bound of `||B||^2`: the largest row sum of `|B|^T |B|`."""
        size = abs(self.matrix)
        return float(np.max(size.T @ (size @ np.ones(size.shape[1]))))

    def pull(self, X: np.ndarray) -> np.ndarray:
        """Compute `B^T B X`."""
        return unvec(self.structure, self.matrix.T @ (self.matrix @ vec(self.structure, X)))

"""Shared parts of the dense methods: the lifted problem and singular value thresholding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from ..._array import NDArray, inner, is_numpy_array
from ..._checks import instance_of
from ...model.certificate import dual_bound
from ...model.linalg import random_vector
from ...model.lowrank import LowRank
from ...model.problem import Problem
from ..state import Figures, LazyState


@dataclass(frozen=True)
class Decomposition:
    """When singular values are computed from a Gram matrix instead of an SVD."""

    max_svd_entries: int = 100_000  # for larger matrices the Gram matrix is faster
    accurate: float = 1e-6  # smallest threshold over the norm; below, Gram matrices are inaccurate


@dataclass(frozen=True)
class DenseSettings:
    """Settings that the dense methods share.

    The betas are in units of `DenseProblem.scale`; `structrank reproduce ssr` shows their effect.
    """

    beta: float = 3.0  # default penalty weight of the ADMM methods
    proximal_beta: float = 10.0  # default step length of dppa
    cg_tolerance: float = 1e-10  # relative residual of linear systems: exact for the methods
    norm_tolerance: float = 1e-3  # relative error of the norm of an operator
    norm_safety: float = 1.01  # factor that makes this norm an upper bound
    negligible: float = 1e-5  # smallest singular value that counts for the rank, over the largest


class DenseProblem:
    """A problem whose structured matrix is formed, for methods that decompose it."""

    settings = DenseSettings()

    def __init__(self, problem: Problem) -> None:
        instance_of(problem, Problem, "problem")
        if not is_numpy_array(problem.backprojection):
            raise TypeError(
                f"b is {type(problem.b).__name__}, but this method expects NumPy arrays only: "
                "convert b, or use gcgls"
            )
        self.problem, self.structure, self.mu = problem, problem.structure, problem.mu
        self.forward, self.backward = problem.measure.forward, problem.measure.adjoint
        self.backprojection = problem.backprojection
        self.multiplicity = self.structure.multiplicity.astype(self.backprojection.real.dtype)

    # -- the map Q ----------------------------------------------------------------------

    def lift(self, y: NDArray) -> NDArray:
        """Form `Q0 + Q(y)`."""
        matrix: NDArray = self.structure.to_dense(y)
        return matrix

    def linear_lift(self, y: NDArray) -> NDArray:
        """Form `Q(y)`."""
        matrix: NDArray = self.structure.linear_to_dense(y)
        return matrix

    def adjoint(self, X: NDArray) -> NDArray:
        """Compute `Q^*(X)`, the sum over all copies of an entry."""
        if np.iscomplexobj(X):
            return (self.adjoint(X.real) + 1j * self.adjoint(X.imag)).astype(X.dtype, copy=False)
        size = self.multiplicity.size
        sums = np.bincount(self.structure.flat_index, weights=X.reshape(-1), minlength=size)
        return sums[:size].reshape(self.structure.signal_shape).astype(X.dtype, copy=False)

    @cached_property
    def offset_total(self) -> np.ndarray | float:
        """`Q^*(Q0)`."""
        if self.structure.offset is None:
            return 0.0
        return self.adjoint(self.structure.offset).astype(self.backprojection.dtype)

    # -- the map A ----------------------------------------------------------------------

    @cached_property
    def diagonal(self) -> np.ndarray | None:
        """The diagonal of `A^* A`; None if this is not a diagonal matrix."""
        weights = self.problem.sample_weights
        return None if weights is None else weights**2

    @cached_property
    def measure_norm(self) -> float:
        """`||A||^2`, or a slightly larger number."""
        if self.diagonal is not None:
            return float(np.max(self.diagonal))
        A, size = self._flat_operator(0.0), self.backprojection.size
        if size <= 3:  # too few for ARPACK
            return float(np.linalg.norm(A @ np.eye(size, dtype=A.dtype), 2))
        start = random_vector(size, self.backprojection, seed=0)
        top = eigsh(A, k=1, return_eigenvectors=False, v0=start, tol=self.settings.norm_tolerance)
        return self.settings.norm_safety * float(top[0])

    @property
    def curvature(self) -> np.ndarray | float:
        """An upper bound of `A^* A`; one per entry if this is diagonal."""
        return self.measure_norm if self.diagonal is None else self.diagonal

    def solve(self, beta: float, right: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Solve `(A^* A + beta Q^* Q) y = right`."""
        if self.diagonal is not None:
            return right / (self.diagonal + beta * self.multiplicity)
        scale = LinearOperator(
            (right.size, right.size),
            dtype=right.dtype,
            matvec=lambda x: x / (self.measure_norm + beta * self.multiplicity.reshape(-1)),
        )
        flat, tolerance = right.reshape(-1), self.settings.cg_tolerance
        y: NDArray
        y, _ = cg(self._flat_operator(beta), flat, guess.reshape(-1), rtol=tolerance, M=scale)
        return y.reshape(right.shape)

    @cached_property
    def scale(self) -> float:
        """The unit of penalty weights: mu over the top singular value of the data's matrix."""
        fit = self.backprojection / np.maximum(self.curvature, np.finfo(np.float32).tiny)
        top = float(singular_values(self.linear_lift(fit))[0])
        return self.mu / top if top > 0 else 1.0

    def _flat_operator(self, beta: float) -> LinearOperator:
        shape = self.structure.signal_shape

        def normal(flat: NDArray) -> NDArray:
            y = flat.reshape(shape)
            image: NDArray = self.backward(self.forward(y)) + beta * self.multiplicity * y
            return image.reshape(-1)

        size = self.backprojection.size
        return LinearOperator((size, size), matvec=normal, dtype=self.backprojection.dtype)

    # -- iterates -----------------------------------------------------------------------

    def start(self, y: np.ndarray | None) -> np.ndarray:
        """Check a starting signal; the default is zero."""
        if y is None:
            return np.zeros_like(self.backprojection)
        if isinstance(y, LowRank):
            raise TypeError("start is a LowRank, but a signal is expected, for example result.y")
        y = np.asarray(y)
        if y.shape != self.structure.signal_shape:
            raise ValueError(
                f"start has shape {y.shape}, but {self.structure!r} expects "
                f"{self.structure.signal_shape}"
            )
        if y.dtype.kind not in "fciu" or not np.all(np.isfinite(y)):
            raise ValueError(
                "start contains NaN, inf or other objects, but finite numbers are expected"
            )
        if np.iscomplexobj(y) and not np.iscomplexobj(self.backprojection):
            raise TypeError("start is complex, but the signal is real: a real start is expected")
        return y.astype(self.backprojection.dtype)

    def state(self, y: np.ndarray, X: LowRank, multiplier: np.ndarray) -> LazyState:
        """Describe an iterate of (relax), with a bound from the multiplier of `X = Q(y)`."""
        return LazyState(X, y, lambda: self._figures(y, X, multiplier))

    def _figures(self, y: np.ndarray, X: LowRank, multiplier: np.ndarray) -> Figures:
        lifted = self.lift(y)
        gamma = self.problem.residual(y)
        loss = inner(gamma, gamma) / 2
        objective = loss + self.mu * float(np.sum(singular_values(lifted)))
        mismatch = self.backward(gamma) - self.adjoint(multiplier)
        Lambda = multiplier + self.linear_lift(mismatch / self.multiplicity)
        top_value = float(singular_values(Lambda)[0])
        alignment = inner(self.problem.data, gamma)
        if self.structure.offset is not None:
            alignment += inner(Lambda, self.structure.offset.astype(Lambda.dtype))
        bound = dual_bound(
            alignment=alignment, norm_squared=2 * loss, top_value=top_value, mu=self.mu
        )
        return Figures(
            objective=objective,
            loss=loss,
            violation=float(np.linalg.norm(X.to_dense() - lifted)),
            gap=1 - max(bound, 0.0) / objective if objective > 0 else 0.0,
            top_value=top_value,
        )


def threshold_singular_values(
    Z: np.ndarray, threshold: float, how: Decomposition = Decomposition()
) -> LowRank:
    """Threshold singular values: `U (S - threshold)_+ V^H`, the proximal map of the nuclear norm.

    If that is accurate enough, it uses the smaller Gram matrix, whose eigenvectors are computed
    only for eigenvalues above the squared threshold. Otherwise it uses an SVD.
    """
    if Z.shape[0] > Z.shape[1]:
        X = threshold_singular_values(Z.conj().T, threshold, how)
        return LowRank(X.V, X.U)
    if Z.size <= how.max_svd_entries or threshold < how.accurate * np.linalg.norm(Z):
        U, s, Vh = np.linalg.svd(Z, full_matrices=False)
        keep = s > threshold
        return LowRank(U[:, keep] * (s[keep] - threshold), Vh[keep].conj().T)
    squares, U = scipy.linalg.eigh(
        _gram(Z), driver="evr", subset_by_value=(threshold**2, np.inf), overwrite_a=True
    )
    s, U = np.sqrt(squares), U.astype(Z.dtype, copy=False)
    return LowRank(U * ((s - threshold) / s).astype(Z.real.dtype), Z.conj().T @ U)


def singular_values(Z: np.ndarray, how: Decomposition = Decomposition()) -> np.ndarray:
    """Compute all singular values, largest first; for large matrices from a Gram matrix."""
    if Z.size <= how.max_svd_entries:
        return np.linalg.svd(Z, compute_uv=False)
    if Z.shape[0] > Z.shape[1]:
        Z = Z.T
    values: NDArray = np.sqrt(np.maximum(np.linalg.eigvalsh(_gram(Z)), 0.0))
    return values[::-1]


def _gram(Z: NDArray) -> NDArray:
    """Compute `Z Z^H` in double precision."""
    Z = Z.astype(np.result_type(Z.dtype, np.float64), copy=False)
    product: NDArray = Z @ Z.conj().T
    return product


def checked_relaxation(value: float) -> float:
    """Check that the step length of a multiplier is in the range where ADMM converges."""
    golden_ratio = (1 + 5**0.5) / 2
    if not 0 < value < golden_ratio:
        raise ValueError(f"relaxation is {value!r}, but a number between 0 and 1.618 is expected")
    return float(value)

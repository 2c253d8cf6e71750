"""The maps A and Q of a small problem, on flat signals and matrices in double precision."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._array import NDArray
from ..model.problem import Problem
from ..structures import Structure


class DenseMap:
    """The map Q of a structure as a matrix is formed, on flat signals in double precision."""

    def __init__(self, structure: Structure, dtype: np.dtype) -> None:
        self.index = structure.flat_index.reshape(structure.shape)
        self.size = structure.multiplicity.size
        self.multiplicity = structure.multiplicity.reshape(-1).astype(float)
        self.offset = None if structure.offset is None else structure.offset.astype(dtype)

    def linear_lift(self, y: NDArray) -> NDArray:
        """Form `Q(y)` without the offset."""
        padded = np.zeros(self.size + 1, dtype=y.dtype)  # the last one is for fixed zeros
        padded[:-1] = y
        return padded.take(self.index)

    def lift(self, y: NDArray) -> NDArray:
        """Form `Q(y)`."""
        linear = self.linear_lift(y)
        return linear if self.offset is None else linear + self.offset

    def adjoint(self, X: NDArray) -> NDArray:
        """Compute `Q^*(X)`, the sum over all copies of an entry."""
        if np.iscomplexobj(X):
            return self.adjoint(X.real) + 1j * self.adjoint(X.imag)
        sums = np.bincount(self.index.reshape(-1), X.reshape(-1), minlength=self.size)
        return sums[: self.size]


class SampledFit:
    """The misfit of weighted samples, `1/2 ||w y - b||^2`, on flat arrays."""

    def __init__(self, problem: Problem, dtype: np.dtype) -> None:
        self.weights = np.asarray(problem.sample_weights).reshape(-1).astype(float)
        self.data = problem.data.reshape(-1).astype(dtype)
        self.multiplicity = problem.structure.multiplicity.reshape(-1).astype(float)

    def guess(self) -> NDArray:
        """Return a signal of the size of the solution."""
        seen = self.weights > 0
        signal: NDArray = np.where(seen, self.data, 0.0) / np.where(seen, self.weights, 1.0)
        return signal

    def residual(self, y: NDArray) -> NDArray:
        """Compute `b - A y`."""
        gamma: NDArray = self.data - self.weights * y
        return gamma

    def backward(self, gamma: NDArray) -> NDArray:
        """Compute `A^* gamma`."""
        return self.weights * gamma

    def best(self, beta: float, total: NDArray) -> tuple[NDArray, NDArray]:
        """Minimise the misfit plus `beta/2 ||Q y - T||^2`, and return its residual too.

        `total` is `Q^* T`. The residual has no cancellation: it is accurate for a small mu.
        """
        curvature = self.weights**2 + beta * self.multiplicity
        y = (self.weights * self.data + beta * total) / curvature
        gamma = beta * (self.multiplicity * self.data - self.weights * total) / curvature
        return y, gamma


class OperatorFit:
    """The misfit of an operator's measurements, `1/2 ||A y - b||^2`, on flat signals."""

    def __init__(self, problem: Problem, dtype: np.dtype) -> None:
        self.measure, self.data = problem.measure, problem.data
        self.shape = problem.structure.signal_shape
        self.multiplicity = problem.structure.multiplicity.reshape(-1).astype(float)
        unit = np.eye(self.multiplicity.size, dtype=dtype)
        columns = [self.backward(self._forward(e)) for e in unit]
        self.normal = np.stack(columns, axis=1)  # A^* A
        self.factor: tuple[float, tuple[NDArray, bool]] | None = None  # beta, and its Cholesky one

    def guess(self) -> NDArray:
        """Return a signal of the size of the solution."""
        return self.backward(self.data) / max(float(np.linalg.norm(self.normal, 2)), 1e-300)

    def residual(self, y: NDArray) -> NDArray:
        """Compute `b - A y`."""
        gamma: NDArray = self.data - self._forward(y)
        return gamma

    def backward(self, gamma: NDArray) -> NDArray:
        """Compute `A^* gamma`."""
        signal: NDArray = self.measure.adjoint(gamma).reshape(-1)
        return signal

    def best(self, beta: float, total: NDArray) -> tuple[NDArray, NDArray]:
        """Minimise the misfit plus `beta/2 ||Q y - T||^2`; `total` is `Q^* T`."""
        if self.factor is None or self.factor[0] != beta:
            self.factor = beta, cho_factor(self.normal + beta * np.diag(self.multiplicity))
        y = cho_solve(self.factor[1], self.backward(self.data) + beta * total)
        return y, self.residual(y)

    def _forward(self, y: NDArray) -> NDArray:
        image: NDArray = self.measure.forward(y.reshape(self.shape))
        return image

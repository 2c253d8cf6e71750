"""Small problems: (relax) by Douglas-Rachford splitting on dense matrices, with extrapolation.

P. L. Lions and B. Mercier, "Splitting algorithms for the sum of two nonlinear operators", SIAM J.
Numer. Anal. 16 (1979). This is the alternating direction method of multipliers, written as the
iteration of one map, so that it can be extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.linalg import svd

from .._array import NDArray, epsilon, inner, is_complex, is_numpy_array, singular_values
from ..model.certificate import DenseLimit, dual_bound
from ..model.linalg import Rounding
from ..model.lowrank import LowRank
from ..model.problem import Problem
from .anderson import Anderson
from .dense_maps import DenseMap, OperatorFit, SampledFit
from .memory import Memory
from .state import State


@dataclass(frozen=True)
class DenseMethod:
    """Settings of the dense method.

    They change the time that a run takes, not its solution. Only `rounding` matters for the
    certificate.
    """

    limit: DenseLimit = field(default_factory=lambda: DenseLimit(25_000))
    # thin factors are faster for more: from about 180 real or 140 complex rows on, measured on
    # four kinds of square Hankel problems at gaps of 1e-2, 1e-4 and 1e-6
    beta: float = 30.0  # first weight of `X = Q(y)`, in units of mu over the norm of Q(b)
    steps: int = 10  # steps per iterate: a bound takes as long as a step
    first_balance: int = 30  # steps before the first balance of beta; then twice as many each time
    balance: float = 2.0  # beta over the balanced value; 1 to 3 were tried
    unbalanced: float = 3.0  # beta is changed if it is off by more than this factor
    gram_accuracy: float = 1e-3  # smallest threshold over the norm for Gram matrices, for 1e-10
    negligible: float = 1e-7  # smallest singular value kept, over the largest
    clear: float = 0.5  # smallest singular value kept, over X's distance to the structure
    rounding: Rounding = field(default_factory=Rounding)


def suits(problem: Problem, method: DenseMethod = DenseMethod()) -> bool:
    """Whether the dense method is the faster one: small matrices in NumPy arrays.

    It works in double precision, which an operator in single precision does not have.
    """
    reference = problem.backprojection
    if not is_numpy_array(reference) or not method.limit.allows(problem.structure):
        return False
    return problem.sample_weights is not None or epsilon(reference) == np.finfo(float).eps


def dense_states(
    problem: Problem,
    X: LowRank,
    method: DenseMethod = DenseMethod(),
    memory: Memory | None = None,
) -> Iterator[State]:
    """Generate iterates for (relax) by extrapolated splitting, several steps apart.

    Parameters
    ----------
    problem : Problem
        With NumPy arrays. Single precision is converted to double for the iteration.
    X : LowRank
        Where to start.
    method : DenseMethod
    memory : Memory, optional
    """
    splitting, anderson = Splitting(problem, method), Anderson()
    restored = None if memory is None else memory.take()
    if restored is None or not restored.values:
        y, gamma, Lambda = splitting.start(X)
        state = splitting.state(X, y, gamma, Lambda)
        yield state
        beta = method.beta * splitting.unit
        Z = splitting.lift(y) + Lambda / (beta * max(state.top_value / problem.mu, 1.0))
        first, balanced, last = 1, method.first_balance, None
    else:
        Z, beta = restored["Z"], restored["beta"]
        first, balanced = restored["step"], restored["balanced"]
        last = None if restored["last"] is None else tuple(restored["last"])
        anderson.restore(restored.values)
    for step in count(first):
        if memory is not None and step % method.steps == 0:
            kept = {"Z": Z, "beta": beta, "step": step, "balanced": balanced}
            pair = None if last is None else np.stack(last)
            memory.keep(**kept, last=pair, **anderson.kept())
        point = splitting.step(Z, beta)
        Lambda = beta * (Z - point.X)
        if step % method.steps == 0:
            yield splitting.state(LowRank(*point.factors), point.y, point.gamma, Lambda)
        if step == balanced:
            better = beta if last is None else splitting.balanced(point.X, Lambda, *last)
            balanced, last = 2 * balanced, (point.X, Lambda)
            if max(better / beta, beta / better) > method.unbalanced:
                beta, Z = better, point.X + Lambda / better
                anderson.forget()
                continue
        Z = anderson.next(Z, Z + point.residual)


class Point(NamedTuple):
    """What one step computes from Z: the two minimisers, and the step itself."""

    factors: tuple[NDArray, NDArray]  # U and V
    X: NDArray  # `U V^H`; minimises `mu ||X||_* + beta/2 ||X - Z||^2`
    y: NDArray  # minimises `1/2 ||A y - b||^2 + beta/2 ||Q(y) - (2 X - Z)||^2`
    gamma: NDArray  # `b - A y`
    residual: NDArray  # `Q(y) - X`: zero at the solution, where Z is `X + Lambda / beta`


class Splitting:
    """The map whose fixed point is the solution, and certified states."""

    def __init__(self, problem: Problem, method: DenseMethod) -> None:
        self.problem, self.method, self.mu = problem, method, problem.mu
        self.structure = problem.structure
        complex_signal = is_complex(problem.backprojection)
        self.symmetric = self.structure.symmetric and not complex_signal
        dtype = np.dtype(complex if complex_signal else float)
        self.dtype, self.map = dtype, DenseMap(self.structure, dtype)
        fit = OperatorFit if problem.sample_weights is None else SampledFit
        self.fit: OperatorFit | SampledFit = fit(problem, dtype)
        self.lift = self.map.lift

    @cached_property
    def unit(self) -> float:
        """The unit of beta: mu over the norm of the matrix of the data."""
        norm = self._norm(self.lift(self.fit.guess()))
        return self.mu / norm if norm > 0 else 1.0

    def start(self, X: LowRank) -> tuple[NDArray, NDArray, NDArray]:
        """Return the signal of X, its residual, and a multiplier of the constraint X = Q(y)."""
        signal = self.structure.average(X.U, X.V)
        y: NDArray = signal.reshape(-1).astype(self.dtype)
        gamma = self.fit.residual(y)
        return y, gamma, self.map.linear_lift(self.fit.backward(gamma) / self.map.multiplicity)

    def step(self, Z: NDArray, beta: float) -> Point:
        """Evaluate the map at Z."""
        U, V = self._threshold(Z, self.mu / beta)
        X = U @ V.conj().T
        total = self.map.adjoint(2 * X - Z)
        if self.map.offset is not None:
            total = total - self.map.adjoint(self.map.offset)
        y, gamma = self.fit.best(beta, total)
        return Point((U, V), X, y, gamma, self.lift(y) - X)

    def balanced(self, X: NDArray, Lambda: NDArray, last_X: NDArray, last_Lambda: NDArray) -> float:
        """Return the beta for which X and the multiplier converge at the same relative speed."""
        sizes = [np.linalg.norm(part) for part in (Lambda, Lambda - last_Lambda, X, X - last_X)]
        tiny = np.finfo(float).tiny
        ratio = np.sqrt(sizes[0] * sizes[1] / max(sizes[2] * sizes[3], tiny))
        widest = 1e4  # far beyond what helped any problem
        low, high = self.unit / widest, self.unit * widest
        return float(np.clip(self.method.balance * ratio, low, high))

    def state(self, X: LowRank, y: NDArray, gamma: NDArray, multiplier: NDArray) -> State:
        """Describe an iterate, with a bound from its residual and its multiplier."""
        signal = y.reshape(self.structure.signal_shape).astype(self.problem.backprojection.dtype)
        y = signal.reshape(-1).astype(self.dtype)
        loss = inner(*(2 * (self.fit.residual(y),))) / 2
        if not np.isfinite(loss):
            return State(X, signal, np.inf, np.inf, 0.0, 1.0, 0.0)
        lifted = self.lift(y)
        objective = loss + self.mu * float(np.sum(self._singular_values(lifted)))
        X = self._clear(X, lifted)
        bound, top_value = self._lower_bound(gamma, multiplier)
        return State(
            X=X,
            y=signal,
            objective=objective,
            loss=loss,
            violation=float(np.linalg.norm(X.to_dense() - lifted)),
            gap=1 - max(bound, 0.0) / objective if objective > 0 else 0.0,
            top_value=top_value,
        )

    def _lower_bound(self, gamma: NDArray, multiplier: NDArray) -> tuple[float, float]:
        """Bound the optimum by the dual, and return the norm of the multiplier."""
        mismatch = self.fit.backward(gamma) - self.map.adjoint(multiplier)
        Lambda = multiplier + self.map.linear_lift(mismatch / self.map.multiplicity)
        alignment = inner(self.fit.data, gamma)
        if self.map.offset is not None:
            alignment += inner(Lambda, self.map.offset)
        rounding, accuracy = self.method.rounding, float(np.finfo(float).eps)
        norm = self._norm(Lambda)
        slack = rounding.norms * norm + rounding.sums * float(np.linalg.norm(Lambda))
        bound = dual_bound(
            alignment=alignment,
            norm_squared=inner(gamma, gamma),
            top_value=norm + accuracy * slack,
            mu=self.mu,
        )
        return bound, norm

    def _clear(self, X: LowRank, lifted: NDArray) -> LowRank:
        """Drop the singular values that X's distance to the structure does not support."""
        X = X.balanced(self.method.negligible)
        sizes = np.sum(np.abs(X.U) ** 2, axis=0)
        smallest = self.method.clear * float(np.linalg.norm(X.to_dense() - lifted))
        keep, dtype = sizes > smallest, self.problem.backprojection.dtype
        return LowRank(X.U[:, keep].astype(dtype), X.V[:, keep].astype(dtype))

    # -- decompositions -----------------------------------------------------------------

    def _threshold(self, Z: NDArray, threshold: float) -> tuple[NDArray, NDArray]:
        """Subtract a number from all singular values, drop those below zero, return U and V."""
        if self.symmetric:
            values, U = np.linalg.eigh(Z)
            keep = np.abs(values) > threshold
            values, U = values[keep], U[:, keep] * np.sqrt(np.abs(values[keep]) - threshold)
            return U, U * np.sign(values)
        if Z.shape[0] > Z.shape[1]:
            V, U = self._threshold(Z.conj().T, threshold)
            return U, V
        if threshold < self.method.gram_accuracy * float(np.linalg.norm(Z)):
            # NumPy's driver, gesdd, fails for some matrices of nearly low rank
            U, s, Vh = svd(Z, full_matrices=False, lapack_driver="gesvd")
            keep = s > threshold
            return U[:, keep] * (s[keep] - threshold), Vh[keep].conj().T
        squares, U = np.linalg.eigh(Z @ Z.conj().T)
        keep = squares > threshold**2
        U = U[:, keep]
        return U * (1 - threshold / np.sqrt(squares[keep])), Z.conj().T @ U

    def _singular_values(self, Z: NDArray) -> NDArray:
        if self.symmetric:
            return np.abs(np.linalg.eigvalsh(Z))
        return singular_values(Z)

    def _norm(self, Z: NDArray) -> float:
        """Compute the top singular value."""
        if self.symmetric:
            return float(np.max(self._singular_values(Z)))
        product = Z @ Z.conj().T if Z.shape[0] <= Z.shape[1] else Z.conj().T @ Z
        return float(np.sqrt(max(np.linalg.eigvalsh(product)[-1], 0.0)))

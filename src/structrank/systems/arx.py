"""Long ARX models, and systems of low order that predict as they do.

    y_t = D u_t + sum_k (b_k u_{t-k} + a_k y_{t-k}) + offset + e_t,   k = 1, ..., lags

Least squares gives the coefficients. The past acts on future outputs through a few combinations,
the states; a singular value decomposition of the predicted future finds them (Jansson, "Subspace
identification and ARX modeling", SYSID 2003).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from .._array import NDArray
from .recursion import predicting_gain
from .state_space import StateSpace
from .subspace import bounded


@dataclass(frozen=True)
class ArxRules:
    """Sizes of ARX models.

    Attributes
    ----------
    lags : int
        Most lags that are tried; Akaike's criterion decides. Set by hand: as many as the block rows
        of the subspace method.
    future : int
        Steps of the predicted future at least. Set by hand: more than most orders.
    rows : float
        Rows per regressor at least. Set by hand.
    ridge : float
        Added to the mean squares of the regressors, which have spread one. Set by hand: far below
        what noise in the samples adds.
    shrinkage, decays : tuple of float
        Sizes of the ridge at lag zero, and factors by which coefficients are expected to fall from
        lag to lag, that are tried. Set by hand.
    negligible : float
        Singular values below this share of the largest count as zero. Rounding.
    gains : tuple of float
        Shares of the gain K that are tried until the predictor is stable. Set by hand.
    """

    lags: int = 15
    future: int = 10
    rows: float = 1.5
    ridge: float = 1e-6
    shrinkage: tuple[float, ...] = (0.0, 1e-4, 1e-3, 1e-2)
    decays: tuple[float, ...] = (0.95, 0.75)
    negligible: float = 1e-9
    gains: tuple[float, ...] = (1.0, 0.7, 0.4, 0.2, 0.0)


@dataclass(frozen=True, eq=False)
class Arx:
    """ARX model of records without gaps, whose channels have spread one.

    Parameters
    ----------
    inputs, outputs : list of ndarray
        One per record.
    lags : int
    rules : ArxRules
    offset : bool
        Whether predictions have an offset.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.arx import Arx
    >>> u = np.random.default_rng(0).standard_normal((200, 1))
    >>> y = np.zeros((200, 1))
    >>> for t in range(1, 200):
    ...     y[t] = 0.8 * y[t - 1] + u[t - 1]
    >>> [model] = Arx([u], [y], lags=2).reduced([1], radius=0.99)
    >>> model.poles.round(3)
    array([0.8])
    """

    inputs: list[NDArray]
    outputs: list[NDArray]
    lags: int
    rules: ArxRules = ArxRules()
    offset: bool = True

    @classmethod
    def chosen(
        cls,
        u: list[NDArray],
        y: list[NDArray],
        rules: ArxRules = ArxRules(),
        *,
        offset: bool = True,
    ) -> Arx | None:
        """The model with the least criterion of Akaike; None if the records are too short."""
        best, least = None, np.inf
        for lags in range(1, rules.lags + 1):
            model = cls(u, y, lags, rules, offset)
            if not model.determined:
                break
            errors, count = model.errors, y[0].shape[1] * (model.past.shape[1] + 1)
            spread = errors.T @ errors / len(errors) + rules.ridge**2 * np.eye(errors.shape[1])
            criterion = np.linalg.slogdet(spread)[1] + 2 * count / len(errors)
            if criterion < least:
                best, least = model, criterion
        return best

    @property
    def determined(self) -> bool:
        """Whether the records are long enough."""
        return bool(len(self.past) >= self.rules.rows * (self.past.shape[1] + 1))

    @cached_property
    def past(self) -> NDArray:
        """Regressors: inputs now, then inputs and outputs of the last samples."""
        L, rows = self.lags, []
        for u, y in zip(self.inputs, self.outputs, strict=True):
            z, T = np.concatenate([u, y], axis=1), len(y)
            if T > L:
                shifted = [z[L - 1 - k : T - 1 - k] for k in range(L)]
                rows.append(np.concatenate([u[L:], *shifted], axis=1))
        width = self.inputs[0].shape[1] * (L + 1) + self.outputs[0].shape[1] * L
        return np.concatenate(rows) if rows else np.zeros((0, width))

    @cached_property
    def now(self) -> NDArray:
        """Outputs that are predicted."""
        return np.concatenate([y[self.lags :] for y in self.outputs])

    @cached_property
    def coefficients(self) -> NDArray:
        """One row per regressor, and a last one for the offset.

        Coefficients of large lags are shrunk more. Generalised cross-validation decides how much.
        """
        X = self._with_offset(self.past)
        gram, crossed, total = X.T @ X, X.T @ self.now, np.sum(self.now**2)
        m, width = self.inputs[0].shape[1], self.inputs[0].shape[1] + self.outputs[0].shape[1]
        lag = np.concatenate([np.zeros(m), 1 + np.arange(self.lags).repeat(width), [0]])
        best, least = np.zeros_like(crossed), np.inf
        for size, decay in product(self.rules.shrinkage, self.rules.decays):
            ridge = len(X) * (self.rules.ridge + size * decay**-lag)
            ridge[-1] = self.rules.ridge
            inverse = np.linalg.inv(gram + np.diag(ridge))
            W = inverse @ crossed
            error = total - 2 * np.sum(W * crossed) + np.sum(W * (gram @ W))
            criterion = error / (1 - np.sum(inverse * gram) / len(X)) ** 2
            if criterion < least:
                best, least = W, criterion
        return best

    def _with_offset(self, X: NDArray) -> NDArray:
        """Regressors and a last one for the offset, which is zero if there is none."""
        return np.concatenate([X, np.full((len(X), 1), float(self.offset))], axis=1)

    @cached_property
    def errors(self) -> NDArray:
        """Errors of the predictions."""
        return np.asarray(self.now - self.past @ self.coefficients[:-1] - self.coefficients[-1])

    @cached_property
    def _states(self) -> tuple[NDArray, NDArray]:
        """States of all rows, as orthonormal columns, and how strong they are."""
        m, p, L = self.inputs[0].shape[1], self.outputs[0].shape[1], self.lags
        steps = max(L, self.rules.future)
        effect = self.coefficients[m:-1].reshape(L, m + p, p)
        future = np.zeros((L, m + p, steps, p))  # of the past, if later outputs are as predicted
        for i in range(min(steps, L)):
            future[: L - i, :, i] = effect[i:]
        predicted = self.past[:, m:] @ future.reshape(L * (m + p), steps * p)
        sizes = np.sqrt(np.mean(self.errors**2, axis=0)) + self.rules.ridge
        U, s, _ = np.linalg.svd(predicted / np.tile(sizes, steps), full_matrices=False)
        return U * np.sqrt(len(U)), s / np.sqrt(len(U))

    def reduced(self, orders: Iterable[int], radius: float) -> list[StateSpace]:
        """Systems of given orders, as far as the states go, with poles below a radius."""
        states, sizes = self._states
        count = int(np.count_nonzero(sizes > self.rules.negligible * sizes[0]))
        return [
            self._system(states[:, :n] * sizes[:n] ** 0.5, radius) for n in orders if n <= count
        ]

    def _system(self, x: NDArray, radius: float) -> StateSpace:
        """Least squares of outputs and next states on the states."""
        n, m = x.shape[1], self.inputs[0].shape[1]
        known = np.concatenate([x, self.past[:, :m]], axis=1)
        W = np.linalg.lstsq(self._with_offset(known), self.now, rcond=None)[0].T
        errors = self.now - known @ W[:, :-1].T - W[:, -1]
        lengths = [len(y) - self.lags for y in self.outputs if len(y) > self.lags]
        last = np.cumsum(lengths) - 1
        inner = np.delete(np.arange(len(x)), last)
        drive = np.concatenate([known, errors], axis=1)
        V = np.linalg.lstsq(drive[inner], x[inner + 1], rcond=None)[0].T
        A, B, K = V[:, :n], V[:, n : n + m], V[:, n + m :]
        A, C = bounded(A, radius), W[:, :n]
        G = errors.T @ errors / len(errors) + self.rules.ridge**2 * np.eye(len(W))
        K = predicting_gain(A, C, K, self.rules.gains)
        inputs = {"B": B, "D": W[:, n:-1]} if m else {"B": None, "D": None}
        return StateSpace(A, C=C, K=K, innovation_covariance=G, output_offset=W[:, -1], **inputs)

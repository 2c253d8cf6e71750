"""Balanced truncation: a system with fewer states, which answers the inputs of records alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from .._array import NDArray
from .recursion import predicting_gain, spectral_radius_of, state_sequence
from .state_space import StateSpace


@dataclass(frozen=True, eq=False)
class Balanced:
    """A stable system in new coordinates, and its states in the order of their importance.

    A state is important if the inputs of the records move it far and the outputs show it.

    Parameters
    ----------
    system : StateSpace
    inputs : list of ndarray
        One per record, without gaps.
    negligible : float
        Singular values below this share of the largest count as zero. Rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> from structrank.systems.balanced import Balanced
    >>> system = StateSpace(np.diag([0.9, 0.1]), [[1.0], [0.01]], [[1.0, 0.01]], [[0.0]])
    >>> u = np.random.default_rng(0).standard_normal((200, 1))
    >>> Balanced(system, [u]).reduced(1, 0.99, gains=(1.0,)).poles.round(2)
    array([0.9])
    """

    system: StateSpace
    inputs: list[NDArray]
    negligible: float = 1e-9

    @cached_property
    def _coordinates(self) -> tuple[NDArray, NDArray, NDArray]:
        """Singular values; columns that lead from the new states; rows that lead to them."""
        A, B, C = self.system.A, self.system.B, self.system.C
        start = np.zeros(len(A))
        X = np.concatenate([state_sequence(A, start, u @ B.T) for u in self.inputs])
        sizes, vectors = np.linalg.eigh(solve_discrete_lyapunov(A.T, C.T @ C))
        shown = vectors * np.sqrt(np.maximum(sizes, 0))
        U, s, Vt = np.linalg.svd(X @ shown, full_matrices=False)
        s = s[s > self.negligible * s[0]]
        roots = np.sqrt(s)
        return s, (X.T @ U[:, : len(s)]) / roots, (Vt[: len(s)] / roots[:, None]) @ shown.T

    def order(self, kept: float) -> int:
        """Number of states that keep a share of the sum of the singular values."""
        s = self._coordinates[0]
        return int(np.searchsorted(np.cumsum(s), kept * np.sum(s))) + 1

    def reduced(self, order: int, radius: float, gains: tuple[float, ...]) -> StateSpace | None:
        """The system with fewer states; None if it has not as many, or poles beyond a radius.

        `gains` are shares of K that are tried until the predictor is stable.
        """
        full, (s, out, into) = self.system, self._coordinates
        if order > len(s):
            return None
        out, into = out[:, :order], into[:order]
        A, B, C, K = into @ full.A @ out, into @ full.B, full.C @ out, into @ full.K
        if not spectral_radius_of(A) < radius:
            return None
        return StateSpace(
            A,
            B,
            C,
            full.D,
            K=predicting_gain(A, C, K, gains),
            innovation_covariance=full.innovation_covariance,
            output_offset=full.output_offset,
        )

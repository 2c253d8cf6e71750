"""The gradient of the objective with respect to X: a structured, a thin and a sparse matrix."""

from __future__ import annotations

import numpy as np

from .._array import Array, is_numpy_array
from ..structures import Structure
from .linalg import SingularPairs, dense_pairs, top_singular_pairs
from .lowrank import LowRank
from .penalties import Remainder
from .recoveries import Placed


class Gradient:
    """The matrix `Q(g) + lam R + S` for a structured Q(g), a thin R and a sparse S, never formed.

    S is zero unless C is C_sp. The class keeps the transform of its signal, so that a product of
    Q(g) with a vector costs two transforms.
    """

    def __init__(
        self,
        structure: Structure,
        transformed_signal: Array,
        lam: float,
        remainder: Remainder,
        placed: Placed | None = None,
    ) -> None:
        self.structure, self.lam, self.placed = structure, lam, placed
        self.transformed_signal, self.remainder = transformed_signal, remainder

    def matmul(self, Z: Array) -> Array:
        """Compute `grad f(X) @ Z` for Z of shape (N, r)."""
        S = self.structure
        structured = S.matmul_transformed(self.transformed_signal, S.transform_right(Z))
        product = structured + self.lam * self.remainder.matmul(Z)
        return product if self.placed is None else product + self.placed.matmul(Z)

    def rmatmul(self, Z: Array) -> Array:
        """Compute `grad f(X)^H @ Z` for Z of shape (M, r)."""
        S = self.structure
        structured = S.rmatmul_transformed(self.transformed_signal, S.transform_left(Z))
        product = structured + self.lam * self.remainder.rmatmul(Z)
        return product if self.placed is None else product + self.placed.rmatmul(Z)

    def outside(self) -> Gradient:
        """The same matrix, up to a part that a projection away from the spans of X removes."""
        R = self.remainder
        if not isinstance(R, LowRank):  # if it is one, R is X
            return self
        nothing = LowRank(R.U[:, :0], R.V[:, :0])
        return Gradient(self.structure, self.transformed_signal, 0.0, nothing, self.placed)

    def top(
        self,
        count: int,
        start: Array,
        *,
        tolerance: float,
        max_steps: int = 60,
        failure: float | None = None,
        bound_tolerance: float = np.inf,
        small: int = 32,
    ) -> SingularPairs:
        """Compute leading singular pairs of `-grad f(X)`, the direction of steepest descent.

        Matrices of at most `small` rows and columns are formed, in NumPy. Set by hand: such an SVD
        takes less time than a few steps of the Lanczos method.
        """
        if max(self.structure.shape) <= small and is_numpy_array(start):
            return dense_pairs(-self.matmul(np.eye(len(start), dtype=start.dtype)), count)
        return top_singular_pairs(
            lambda v: -self.matmul(v[:, None])[:, 0],
            lambda u: -self.rmatmul(u[:, None])[:, 0],
            start,
            count,
            tolerance=tolerance,
            max_steps=max_steps,
            failure=failure,
            bound_tolerance=bound_tolerance,
        )

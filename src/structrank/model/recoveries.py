"""Two ways to read the signal from X: the paper's C_proj and C_sp.

Both maps C satisfy `C Q = I`. The adjoint of C contributes two parts to the gradient of the
objective: a structured part, given by a signal, and a sparse matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod

from .._array import Array, array_namespace, conj, like, real_dtype, sum_of_products
from .._checks import one_of
from ..structures import Structure
from ..structures.grouped import GroupSums


class SignalRecovery(ABC):
    """A linear map C from matrices to signals with `C Q = I`, the linear part of Q."""

    symmetric = False  # whether C^* y is symmetric if Q(y) is

    @abstractmethod
    def signal(self, mean: Array, *pairs: tuple[Array, Array]) -> Array:
        """Compute `C (sum_i U_i V_i^H)`, where the mean over all copies is known already."""

    @abstractmethod
    def signal_of_dense(self, X: Array) -> Array:
        """Compute `C X` for a dense matrix."""

    @abstractmethod
    def adjoint(self, y: Array) -> tuple[Array, Placed | None]:
        """Return a signal g and a sparse matrix S, or None for zero, with `C^* y = Q(g) + S`."""


class ProjectionRecovery(SignalRecovery):
    """C_proj, the mean over all copies of a signal entry: `C^* y = Q(y / multiplicity)`."""

    symmetric = True

    def __init__(self, structure: Structure, reference: Array) -> None:
        self.structure = structure
        self.inverse_multiplicity = inverse_multiplicity(structure, reference)

    def signal(self, mean: Array, *pairs: tuple[Array, Array]) -> Array:
        return mean

    def signal_of_dense(self, X: Array) -> Array:
        return self.structure.average_dense(X)

    def adjoint(self, y: Array) -> tuple[Array, None]:
        return y * self.inverse_multiplicity, None


class SparseRecovery(SignalRecovery):
    """C_sp, the first copy of a signal entry, column by column: `C^* y` places y there."""

    def __init__(self, structure: Structure, reference: Array) -> None:
        self.signal_shape = structure.signal_shape
        rows, columns = structure.first_copies
        self.rows, self.columns = like(rows, reference), like(columns, reference)
        self.row_sums = GroupSums(rows, structure.shape[0])
        self.column_sums = GroupSums(columns, structure.shape[1])

    def signal(self, mean: Array, *pairs: tuple[Array, Array]) -> Array:
        xp = array_namespace(mean)
        y = sum(
            sum_of_products(
                xp.take(U.T, self.rows, axis=1),
                xp.take(V.T, self.columns, axis=1),
            )
            for U, V in pairs
        )
        return xp.reshape(y, self.signal_shape)

    def signal_of_dense(self, X: Array) -> Array:
        xp = array_namespace(X)
        flat = xp.take(xp.reshape(X, (-1,)), self.rows * X.shape[1] + self.columns)
        return xp.reshape(flat, self.signal_shape)

    def adjoint(self, y: Array) -> tuple[Array, Placed]:
        xp = array_namespace(y)
        return xp.zeros_like(y), Placed(self, xp.reshape(y, (prod(self.signal_shape),)))


class Placed:
    """The sparse matrix `C_sp^* y`: each entry of y at the place of its first copy."""

    def __init__(self, recovery: SparseRecovery, entries: Array) -> None:
        self.recovery, self.entries = recovery, entries

    def matmul(self, Z: Array) -> Array:
        """Compute the product with a thin matrix of shape (N, r)."""
        terms = self.entries * array_namespace(Z).take(Z.T, self.recovery.columns, axis=1)
        return self.recovery.row_sums(terms).T

    def rmatmul(self, Z: Array) -> Array:
        """Compute the product of the adjoint with a thin matrix of shape (M, r)."""
        terms = conj(self.entries) * array_namespace(Z).take(Z.T, self.recovery.rows, axis=1)
        return self.recovery.column_sums(terms).T


def inverse_multiplicity(structure: Structure, reference: Array) -> Array:
    """Return one over the number of copies of every signal entry."""
    counts = like(structure.multiplicity, reference)
    return 1.0 / array_namespace(counts).astype(counts, real_dtype(reference))


def as_recovery(
    name: str | SignalRecovery, structure: Structure, reference: Array
) -> SignalRecovery:
    """Convert the argument `recovery` of a user to a `SignalRecovery`."""
    if isinstance(name, SignalRecovery):
        return name
    one_of(name, ("projection", "sparse"), "recovery")
    kind = ProjectionRecovery if name == "projection" else SparseRecovery
    return kind(structure, reference)

"""A low-rank matrix as a product of two thin factors, which is never multiplied out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import device

from .._array import (
    Array,
    array_namespace,
    as_array,
    conj,
    gram,
    is_complex,
    is_floating,
    like,
    orthonormal_columns,
    rotate,
    svd,
    to_numpy,
)


@dataclass(frozen=True, eq=False)
class LowRank:
    """The matrix `U V^H`.

    Parameters
    ----------
    U : array, shape (M, r)
    V : array, shape (N, r)

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import LowRank
    >>> X = LowRank(np.ones((3, 1)), np.ones((2, 1)))
    >>> X
    LowRank(3 x 2, rank 1)
    >>> round(X.nuclear_norm(), 6)
    2.44949
    """

    U: Array
    V: Array

    def __post_init__(self) -> None:
        U, V = as_array(self.U), as_array(self.V)
        if U.ndim != 2 or V.ndim != 2 or U.shape[1] != V.shape[1]:
            raise ValueError(
                f"U and V have shapes {tuple(U.shape)} and {tuple(V.shape)}, "
                "but two matrices with the same number of columns are expected"
            )
        for name, factor in (("U", U), ("V", V)):
            if not is_floating(factor):
                raise TypeError(
                    f"{name} has dtype {factor.dtype}, but a floating dtype is expected"
                )
        object.__setattr__(self, "U", U)
        object.__setattr__(self, "V", V)

    @classmethod
    def zeros(cls, shape: tuple[int, int], reference: Array) -> LowRank:
        """Make the zero matrix with rank 0, in the library, device and dtype of `reference`."""
        xp = array_namespace(reference)
        kind = {"dtype": reference.dtype, "device": device(reference)}
        return cls(xp.zeros((shape[0], 0), **kind), xp.zeros((shape[1], 0), **kind))

    @classmethod
    def ones(cls, shape: tuple[int, int], reference: Array) -> LowRank:
        """Make the matrix of all ones, from which the paper starts."""
        xp = array_namespace(reference)
        kind = {"dtype": reference.dtype, "device": device(reference)}
        return cls(xp.ones((shape[0], 1), **kind), xp.ones((shape[1], 1), **kind))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (M, N)."""
        return (self.U.shape[0], self.V.shape[0])

    @property
    def rank(self) -> int:
        """Number of columns of the factors, an upper bound on the rank."""
        return int(self.U.shape[1])

    @property
    def signs(self) -> np.ndarray | None:
        """The signs with `V = U diag(signs)`, for a real symmetric X; None if there are none."""
        if self.shape[0] != self.shape[1] or is_complex(self.U) or self.rank == 0:
            return None
        xp = array_namespace(self.U)
        negative = xp.sum(self.U * self.V, axis=0) < 0
        signs = 1 - 2 * xp.astype(negative, self.U.dtype)
        return to_numpy(signs).astype(float) if xp.all(self.U * signs == self.V) else None

    def __repr__(self) -> str:
        return f"LowRank({self.shape[0]} x {self.shape[1]}, rank {self.rank})"

    def copy(self) -> LowRank:
        """Copy the factors to new memory, with contiguous columns."""
        return LowRank((self.U.T + 0.0).T, (self.V.T + 0.0).T)

    def scaled(self, factor: float) -> LowRank:
        """Multiply the matrix by a factor of at least zero."""
        if not factor >= 0:
            raise ValueError(f"factor is {factor}, but a number of at least zero is expected")
        root = float(np.sqrt(factor))
        return LowRank(root * self.U, root * self.V)

    def appended(self, other: LowRank) -> LowRank:
        """Add another low-rank matrix: the factors are put side by side."""
        xp = array_namespace(self.U)
        return LowRank(
            xp.concat([self.U.T, other.U.T]).T,
            xp.concat([self.V.T, other.V.T]).T,
        )

    def norm_squared(self) -> float:
        """Compute the squared Frobenius norm."""
        return max(self.inner(self), 0.0)  # rounding: columns may cancel

    def inner(self, other: LowRank) -> float:
        """Compute the real inner product with another low-rank matrix of the same shape."""
        if self.rank == 0 or other.rank == 0:
            return 0.0
        left, right = gram(self.U, other.U), gram(other.V, self.V)
        return float(np.sum(left * right.T).real)

    def distance(self, other: LowRank) -> float:
        """Compute the Frobenius norm of the difference."""
        difference = self.appended(LowRank(-other.U, other.V))
        return float(np.linalg.norm(difference.singular_values())) if difference.rank else 0.0

    def singular_values(self) -> np.ndarray:
        """Compute the singular values, largest first; all others are zero."""
        return self._svd()[1]

    def nuclear_norm(self) -> float:
        """Compute the sum of the singular values."""
        return float(np.sum(self.singular_values()))

    def balanced(self, tolerance: float = 0.0) -> LowRank:
        """Rewrite the matrix with orthogonal columns: `U^H U = V^H V = diag(singular values)`.

        Singular values of at most `tolerance` times the largest are dropped together with their
        columns. For the result, `(||U||^2 + ||V||^2) / 2` is the nuclear norm. If X has `signs`,
        the result has them too.
        """
        if (signs := self.signs) is not None:
            Q, T, R = orthonormal_columns(self.U)
            return _mirrored(Q, T, (R * signs) @ R.T, tolerance)
        (QU, left), s, (QV, right) = self._svd()
        keep = s > tolerance * s[0] if s.size and s[0] > 0 else np.zeros(s.size, dtype=bool)
        roots = np.sqrt(s[keep])
        return LowRank(rotate(QU, left[:, keep] * roots), rotate(QV, right[:, keep] * roots))

    def symmetric_part(self) -> LowRank:
        """Compute `(X + X^T) / 2` of a real X, balanced and with `signs`."""
        if self.rank == 0:
            return self
        xp = array_namespace(self.U)
        Q, T, R = orthonormal_columns(xp.concat([self.U.T, self.V.T]).T)
        left, right = R[:, : self.rank], R[:, self.rank :]
        return _mirrored(Q, T, (left @ right.T + right @ left.T) / 2, 0.0)

    def _svd(self) -> tuple[tuple[Array, np.ndarray], np.ndarray, tuple[Array, np.ndarray]]:
        """Compute (QU, left), s, (QV, right) with `X = (QU left) diag(s) (QV right)^H`."""
        (QU, TU, RU), (QV, TV, RV) = orthonormal_columns(self.U), orthonormal_columns(self.V)
        left, s, right_h = svd(RU @ RV.conj().T)
        return (QU, TU @ left[:, : s.size]), s, (QV, TV @ right_h.conj().T[:, : s.size])

    def matmul(self, Z: Array) -> Array:
        """Compute `U (V^H Z)`."""
        xp = array_namespace(self.U)
        return xp.matmul(self.U, xp.matmul(conj(self.V).T, Z))

    def rmatmul(self, Z: Array) -> Array:
        """Compute `V (U^H Z)`."""
        return LowRank(self.V, self.U).matmul(Z)

    def to_dense(self) -> Array:
        """Form the M x N matrix."""
        return array_namespace(self.U).matmul(self.U, conj(self.V).T)


def _mirrored(Q: Array, T: np.ndarray, small: np.ndarray, tolerance: float) -> LowRank:
    """Factor the symmetric `(Q T) small (Q T)^T`.

    Eigenvalues up to `tolerance` times the largest are dropped.
    """
    values, vectors = np.linalg.eigh(small)
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    keep = np.abs(values) > tolerance * np.abs(values[0])
    U = rotate(Q, T @ vectors[:, keep] * np.sqrt(np.abs(values[keep])))
    return LowRank(U, U * like(np.sign(values[keep]), U))

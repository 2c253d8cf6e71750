"""The base class of structures: three products, and what follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device
from scipy.sparse.linalg import LinearOperator

from .._array import Array, array_namespace, as_array, conj, like, to_numpy
from .._checks import floating_array
from .grouped import GroupSums

Slices = tuple[slice, ...]


class Box(NamedTuple):
    """Two boxes of a matrix whose entries are equal: rows `X[plus] - X[minus] = 0` of B."""

    rows_plus: Slices
    columns_plus: Slices
    rows_minus: Slices
    columns_minus: Slices


class Differences(NamedTuple):
    """The matrix B as a list of boxes; their slices index the grids of rows and columns."""

    row_grid: tuple[int, ...]
    column_grid: tuple[int, ...]
    boxes: tuple[Box, ...]


class Structure(ABC):
    """A linear map Q from signals to structured matrices.

    Every entry of `Q(y)` is one entry of `y` or a fixed zero. A structure contains shapes, but no
    data. Subclasses set `shape` and `signal_shape` and define `index`; then everything works.
    For speed, override `matmul_transformed`, `rmatmul_transformed` and `adjoint_transformed`.
    Their arguments have passed through the linear maps `transform_signal`, `transform_left` and
    `transform_right`. By default these maps copy; typically they are FFTs. Solvers rely on
    their linearity: the transform of a sum is the sum of the transforms.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns (M, N) of `Q(y)`.
    signal_shape : tuple of int
        Shape of `y`.
    offset : ndarray or None
        Constant matrix `Q0` that is added to the linear part; None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Structure
    >>> class Diagonal(Structure):
    ...     def __init__(self, n):
    ...         self.shape, self.signal_shape = (n, n), (n,)
    ...
    ...     def index(self):
    ...         return np.where(np.eye(self.shape[0], dtype=bool), np.arange(self.shape[0]), -1)
    >>> Diagonal(2).to_dense(np.array([3.0, 4.0]))
    array([[3., 0.],
           [0., 4.]])
    """

    shape: tuple[int, int]
    signal_shape: tuple[int, ...]
    offset: np.ndarray | None = None

    @abstractmethod
    def index(self) -> np.ndarray:
        """Return the integer map of shape (M, N) from matrix entries to the flattened `y`.

        Fixed zeros are marked -1. This needs O(MN) memory: use it for small cases and tests.
        """

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """How often each entry of `y` occurs in the matrix; `Q* Q = diag(multiplicity)`."""
        index, size = self.index(), int(np.prod(self.signal_shape))
        if index.shape != self.shape or index.min() < -1 or index.max() >= size:
            raise ValueError(
                f"index() of {self!r} has shape {index.shape} and entries from {index.min()} to "
                f"{index.max()}, but expected {self.shape} and entries from -1 to {size - 1}"
            )
        return np.bincount(index[index >= 0], minlength=size).reshape(self.signal_shape)

    @cached_property
    def first_copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of the first copy of each entry of the flattened `y`, column by column.

        These are the entries that the paper's C_sp reads.
        """
        places = np.unique(self.index().reshape(-1, order="F"), return_index=True)[1]
        columns, rows = np.divmod(places[-int(np.prod(self.signal_shape)) :], self.shape[0])
        return rows, columns

    def differences(self) -> Differences | None:
        """Return the equalities between neighbouring copies as boxes, or None if impossible."""
        return None

    @property
    def symmetric(self) -> bool:
        """Whether `Q(y)` is known to equal its transpose."""
        return False

    @property
    def has_modes(self) -> bool:
        """Whether low rank means a sum of few (damped) sinusoids, in one or several channels."""
        return False

    def block_column(self) -> Structure:
        """Return the structure of the first column of every block; itself without blocks."""
        return self

    # -- products with transformed arguments: a subclass overrides these for speed --------

    def transform_signal(self, y: Array) -> Array:
        """Transform a signal, for `matmul_transformed` and `rmatmul_transformed`."""
        return self.linear_to_dense(y)

    def transform_left(self, U: Array) -> Array:
        """Transform a left factor of shape (M, r)."""
        return U + 0.0  # a transform never shares memory with its argument

    def transform_right(self, V: Array) -> Array:
        """Transform a right factor of shape (N, r)."""
        return V + 0.0

    def transform_mirrored(self, left: Array, signs: np.ndarray) -> Array:
        """Compute `transform_right(U diag(signs))` from `transform_left(U)`, for a real U."""
        return left * like(signs, left)

    def matmul_transformed(self, signal: Array, right: Array) -> Array:
        """Compute `Q(y) @ V` without the offset from transformed arguments."""
        return array_namespace(signal).matmul(signal, right)

    def rmatmul_transformed(self, signal: Array, left: Array) -> Array:
        """Compute `Q(y)^H @ U` without the offset from transformed arguments."""
        xp = array_namespace(signal)
        return xp.matmul(_conj_transpose(signal), left)

    def adjoint_transformed(self, *pairs: tuple[Array, Array]) -> Array:
        """Compute `Q*(sum_i U_i V_i^H)` for pairs of transformed factors."""
        xp = array_namespace(pairs[0][0])
        X = sum(xp.matmul(left, _conj_transpose(right)) for left, right in pairs)
        return self.adjoint_dense(X)

    # -- products for users --------------------------------------------------------------

    def matmul(self, y: Array, V: Array) -> Array:
        """Compute `Q(y) @ V`.

        Parameters
        ----------
        y : array, shape `signal_shape`
        V : array, shape (N,) or (N, r)

        Returns
        -------
        array, shape (M,) or (M, r)
        """
        y, V = self._checked(y=y, V=(V, self.shape[1]))
        columns = V if V.ndim == 2 else V[:, None]
        out = self.matmul_transformed(self.transform_signal(y), self.transform_right(columns))
        if self.offset is not None:
            out = out + array_namespace(V).matmul(like(self.offset, V), columns)
        return out if V.ndim == 2 else out[:, 0]

    def rmatmul(self, y: Array, U: Array) -> Array:
        """Compute `Q(y)^H @ U`.

        Parameters
        ----------
        y : array, shape `signal_shape`
        U : array, shape (M,) or (M, r)

        Returns
        -------
        array, shape (N,) or (N, r)
        """
        y, U = self._checked(y=y, U=(U, self.shape[0]))
        columns = U if U.ndim == 2 else U[:, None]
        out = self.rmatmul_transformed(self.transform_signal(y), self.transform_left(columns))
        if self.offset is not None:
            out = out + array_namespace(U).matmul(_conj_transpose(like(self.offset, U)), columns)
        return out if U.ndim == 2 else out[:, 0]

    def adjoint(self, U: Array, V: Array) -> Array:
        """Compute `Q*(U V^H)`: for each entry of the signal, the sum over its places.

        This is the adjoint of the linear part of Q; the `offset` does not matter.

        Parameters
        ----------
        U : array, shape (M, r)
        V : array, shape (N, r)

        Returns
        -------
        array, shape `signal_shape`
        """
        U, V = self._checked(U=(U, self.shape[0]), V=(V, self.shape[1]))
        if U.ndim != 2 or V.ndim != 2 or U.shape[1] != V.shape[1]:
            raise ValueError(
                f"U and V have shapes {tuple(U.shape)} and {tuple(V.shape)}, "
                f"but expected ({self.shape[0]}, r) and ({self.shape[1]}, r)"
            )
        if U.shape[1] == 0:  # transforms need at least one column
            return array_namespace(U).zeros(self.signal_shape, dtype=U.dtype, device=device(U))
        return self.adjoint_transformed((self.transform_left(U), self.transform_right(V)))

    def average(self, U: Array, V: Array) -> Array:
        """Compute `C_proj(U V^H)`: the signal whose structured matrix is nearest to `U V^H`.

        Parameters
        ----------
        U : array, shape (M, r)
        V : array, shape (N, r)

        Returns
        -------
        array, shape `signal_shape`
        """
        total = self.adjoint(U, V)
        y = total / like(self.multiplicity.astype(float), total, real=True)
        return y if self.offset is None else y - self.average_dense(like(self.offset, y))

    def average_dense(self, X: Array) -> Array:
        """Compute `C_proj X` for a dense matrix and the linear part of Q."""
        X = as_array(X)
        if tuple(X.shape) != self.shape:
            raise ValueError(f"X has shape {tuple(X.shape)}, but {self!r} expects {self.shape}")
        total = self.adjoint_dense(X)
        return total / like(self.multiplicity.astype(float), total, real=True)

    def to_dense(self, y: Array) -> Array:
        """Form `Q(y)` as an M x N array."""
        (y,) = self._checked(y=y)
        dense = self.linear_to_dense(y)
        return dense if self.offset is None else dense + like(self.offset, dense)

    def linear_operator(self, y: Array) -> LinearOperator:
        """Return `Q(y)` as a SciPy `LinearOperator`, without forming it (NumPy arrays only)."""
        y = to_numpy(as_array(y))

        def promoted(x: np.ndarray) -> np.ndarray:
            return x.astype(np.result_type(x.dtype, y.dtype))

        return LinearOperator(
            shape=self.shape,
            dtype=y.dtype,
            matvec=lambda v: self.matmul(y, promoted(v.reshape(-1))),
            rmatvec=lambda u: self.rmatmul(y, promoted(u.reshape(-1))),
            matmat=lambda V: self.matmul(y, promoted(V)),
            rmatmat=lambda U: self.rmatmul(y, promoted(U)),
        )

    # -- slow reference products through the index map -----------------------------------

    @cached_property
    def flat_index(self) -> np.ndarray:
        """Flat index map with fixed zeros pointing one past the end of the signal."""
        index = self.index().reshape(-1)
        return np.where(index < 0, int(np.prod(self.signal_shape)), index)

    @cached_property
    def _copies(self) -> GroupSums:
        """The sums over all copies of every entry of the signal, from the flat matrix."""
        return GroupSums(self.index().reshape(-1), int(np.prod(self.signal_shape)))

    def linear_to_dense(self, y: Array) -> Array:
        """Form `Q(y)` without the offset."""
        xp = array_namespace(y)
        padded = xp.concat([xp.reshape(y, (-1,)), xp.zeros_like(xp.reshape(y, (-1,))[:1])])
        return xp.reshape(xp.take(padded, like(self.flat_index, y)), self.shape)

    def adjoint_dense(self, X: Array) -> Array:
        """Compute `Q*(X)` for a dense matrix."""
        xp = array_namespace(X)
        return xp.reshape(self._copies(xp.reshape(X, (-1,))), self.signal_shape)

    # -- checks -------------------------------------------------------------------------

    def _checked(self, y: Array = None, **factors: tuple[Array, int]) -> list[Array]:
        """Check shapes, and convert the arguments to floating arrays of one dtype."""
        arrays = []
        if y is not None:
            y = as_array(y)
            if tuple(y.shape) != self.signal_shape:
                raise ValueError(
                    f"y has shape {tuple(y.shape)}, but {self!r} expects {self.signal_shape}"
                )
            arrays.append(("y", y))
        for name, (factor, rows) in factors.items():
            factor = as_array(factor)
            if factor.ndim not in (1, 2) or factor.shape[0] != rows:
                raise ValueError(
                    f"{name} has shape {tuple(factor.shape)}, "
                    f"but {self!r} expects ({rows},) or ({rows}, r)"
                )
            arrays.append((name, factor))
        for name, x in arrays:
            floating_array(x, name)
        xp = array_namespace(*(x for _, x in arrays))
        dtype = xp.result_type(*(x.dtype for _, x in arrays))
        if self.offset is not None and np.iscomplexobj(self.offset):
            dtype = xp.result_type(dtype, xp.complex64)
        return [xp.astype(x, dtype, copy=False) for _, x in arrays]

    # -- comparison ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__} ({self.shape[0]} x {self.shape[1]})"

    def key(self) -> tuple[Any, ...]:
        """Return a hashable tuple that distinguishes two structures of one class."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.key() == self.key()

    def __hash__(self) -> int:
        return hash((type(self), self.key()))


def _conj_transpose(x: Array) -> Array:
    return conj(x).T

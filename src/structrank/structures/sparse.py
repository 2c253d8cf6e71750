"""The explicit matrices of the paper's appendix: B, C_proj and C_sp.

They act on `vec(structure, X)`, which stacks the columns of X. For structures with blocks (m, n)
it stacks block columns, as the paper does: then `vec(X)` is a matrix with n columns, and one
copy of B and C serves all of them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._checks import one_of
from .base import Differences, Slices, Structure


def vec(structure: Structure, X: np.ndarray) -> np.ndarray:
    """Stack the columns (or block columns) of X, as B and C expect them.

    Parameters
    ----------
    structure : Structure
    X : ndarray, shape (M, N)

    Returns
    -------
    ndarray
        Shape (MN,), or (MN/n, n) for blocks with n columns.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.structures.sparse import vec
    >>> vec(Hankel(4, window=2), np.array([[1, 2, 3], [4, 5, 6]]))
    array([1, 4, 2, 5, 3, 6])
    """
    rows, columns = structure.block_column().shape
    width = structure.shape[1] // columns
    stacked = np.moveaxis(np.reshape(X, (rows, columns, width)), 1, 0).reshape(-1, width)
    return stacked[:, 0] if width == 1 else stacked


def unvec(structure: Structure, x: np.ndarray) -> np.ndarray:
    """Return the matrix X with `vec(structure, X) = x`.

    Parameters
    ----------
    structure : Structure
    x : ndarray, shape (MN,) or (MN/n, n)

    Returns
    -------
    ndarray, shape (M, N)

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.structures.sparse import unvec
    >>> unvec(Hankel(4, window=2), np.array([1, 4, 2, 5, 3, 6]))
    array([[1, 2, 3],
           [4, 5, 6]])
    """
    rows, columns = structure.block_column().shape
    blocks = np.reshape(x, (columns, rows, structure.shape[1] // columns))
    return np.moveaxis(blocks, 0, 1).reshape(structure.shape)


def structure_matrix(structure: Structure) -> sp.csr_array:
    """Form the matrix B with `B vec(X) = 0` exactly if X has the structure (linear part).

    Parameters
    ----------
    structure : Structure

    Returns
    -------
    scipy.sparse.csr_array
        One row with +1 and -1 for each pair of neighbouring copies of an entry, then one
        row with a 1 for each fixed zero.

    Examples
    --------
    >>> from structrank import Hankel, structure_matrix
    >>> structure_matrix(Hankel(4, window=2)).toarray()
    array([[ 0.,  1., -1.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  1., -1.,  0.]])
    """
    reduced = structure.block_column()
    differences = reduced.differences()
    if differences is None:
        plus, minus, zeros = _chains(reduced.index())
    else:
        plus, minus = _boxes(differences)
        zeros = np.empty(0, dtype=int)
    rows = np.arange(plus.size + zeros.size)
    return sp.csr_array(
        (
            np.concatenate([np.ones(plus.size), -np.ones(minus.size), np.ones(zeros.size)]),
            (
                np.concatenate([rows[: plus.size], rows[: plus.size], rows[plus.size :]]),
                np.concatenate([plus, minus, zeros]),
            ),
        ),
        shape=(rows.size, reduced.shape[0] * reduced.shape[1]),
    )


def recovery_matrix(structure: Structure, kind: str = "projection") -> sp.csr_array:
    """Form a matrix C with `C vec(Q(y)) = y` (linear part).

    Parameters
    ----------
    structure : Structure
    kind : {"projection", "sparse"}
        "projection" is C_proj, the mean over all copies of an entry (the orthogonal
        projection); "sparse" is C_sp, which reads the first copy.

    Returns
    -------
    scipy.sparse.csr_array

    Examples
    --------
    >>> from structrank import Hankel, recovery_matrix
    >>> recovery_matrix(Hankel(3, window=2)).toarray()
    array([[1. , 0. , 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0. , 1. ]])
    """
    one_of(kind, ("projection", "sparse"), "kind")
    reduced = structure.block_column()
    index = reduced.index().reshape(-1, order="F")
    places = np.flatnonzero(index >= 0)
    entries = index[places]
    if kind == "sparse":
        entries, first = np.unique(entries, return_index=True)
        places = places[first]
    counts = np.bincount(entries)
    return sp.csr_array((1.0 / counts[entries], (entries, places)), shape=(counts.size, index.size))


def _chains(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List neighbouring copies of every entry, in the order of vec, and the fixed zeros."""
    flat = index.reshape(-1, order="F")
    order = np.argsort(flat, kind="stable")
    entries = flat[order]
    same = (entries[1:] == entries[:-1]) & (entries[1:] >= 0)
    return order[:-1][same], order[1:][same], order[entries < 0]


def _boxes(differences: Differences) -> tuple[np.ndarray, np.ndarray]:
    """List the places in vec(X) of both boxes of every difference, column by column."""
    row = np.arange(np.prod(differences.row_grid)).reshape(differences.row_grid)
    column = np.arange(np.prod(differences.column_grid)).reshape(differences.column_grid)

    def places(rows: Slices, columns: Slices) -> np.ndarray:
        return (column[columns].reshape(-1, 1) * row.size + row[rows].reshape(-1)).reshape(-1)

    plus = [places(box.rows_plus, box.columns_plus) for box in differences.boxes]
    minus = [places(box.rows_minus, box.columns_minus) for box in differences.boxes]
    return np.concatenate(plus), np.concatenate(minus)

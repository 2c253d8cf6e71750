"""Structures as operators of SciPy and PyLops.

`structure.linear_operator(y)` is the matrix `Q(y)` itself, which is never formed. This module has
the map `y -> Q(y)`. Its results have M N entries, so it is meant for small structures: use it in
solvers of other packages, or as a reference in tests. In the other direction, `Problem` accepts
operators of SciPy and PyLops as its `measure`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse.linalg import LinearOperator

from ._checks import instance_of
from .structures import Structure

__all__ = ["StructureOperator", "to_pylops"]


class StructureOperator(LinearOperator):
    """The linear part of `y -> Q(y)` as a SciPy operator of shape (M N, size of y).

    It maps a flattened signal to the entries of `Q(y)` row by row, in the order of `ravel`. The
    `offset` of an affine structure is not added. A result has M N entries: with 8 bytes per entry,
    a 5000 x 5000 matrix takes 200 MB.

    Parameters
    ----------
    structure : Structure
    dtype : data type
        Real or complex, in single or double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.interop import StructureOperator
    >>> operator = StructureOperator(Hankel(3, window=2))
    >>> operator @ np.array([1.0, 2.0, 4.0])
    array([1., 2., 2., 4.])
    >>> operator.H @ np.ones(4)
    array([1., 2., 1.])
    """

    def __init__(self, structure: Structure, dtype: DTypeLike = float) -> None:
        instance_of(structure, Structure, "structure")
        if np.dtype(dtype) not in (np.float32, np.float64, np.complex64, np.complex128):
            raise TypeError(
                f"dtype is {np.dtype(dtype)}, but a real or complex type in single or double "
                "precision is expected"
            )
        self.structure = structure
        rows, columns = structure.shape
        super().__init__(np.dtype(dtype), (rows * columns, int(np.prod(structure.signal_shape))))

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        y = self._promoted(x).reshape(self.structure.signal_shape)
        return np.asarray(self.structure.linear_to_dense(y)).reshape(-1)

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        X = self._promoted(x).reshape(self.structure.shape)
        return np.asarray(self.structure.adjoint_dense(X)).reshape(-1)

    def _promoted(self, x: np.ndarray) -> np.ndarray:
        return x.astype(np.result_type(x.dtype, self.dtype), copy=False)


def to_pylops(operator: LinearOperator) -> Any:
    """Convert a SciPy operator to a PyLops operator.

    Parameters
    ----------
    operator : scipy.sparse.linalg.LinearOperator
        For example `structure.linear_operator(y)`, the matrix `Q(y)`, or
        `StructureOperator(structure)`, the map `y -> Q(y)`. The latter then maps signals of any
        dimension to matrices.

    Returns
    -------
    pylops.LinearOperator

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.interop import StructureOperator, to_pylops
    >>> operator = to_pylops(StructureOperator(Hankel(4, window=2)))
    >>> operator @ np.array([1.0, 2.0, 4.0, 8.0])
    array([[1., 2., 4.],
           [2., 4., 8.]])
    """
    try:
        import pylops
    except ImportError as error:
        raise ImportError('to_pylops() needs pylops: pip install "structrank[pylops]"') from error
    if not isinstance(operator, LinearOperator):
        raise TypeError(
            f"operator is {type(operator).__name__}, but a SciPy LinearOperator is expected: "
            "pass structure.linear_operator(y) or StructureOperator(structure)"
        )
    if not isinstance(operator, StructureOperator):
        return pylops.LinearOperator(operator)
    structure = operator.structure
    return pylops.LinearOperator(
        operator, dims=structure.signal_shape, dimsd=structure.shape, forceflat=False
    )

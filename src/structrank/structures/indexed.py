"""Any structure whose entries are signal entries or zeros, given as an integer map."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import finite
from .base import Structure


class Indexed(Structure):
    """Structure given by an index map: `Q(y)[a, c] = y[index[a, c]]`, plus an offset.

    Products cost O(MN), since there is no faster method for an arbitrary map.

    Parameters
    ----------
    index : array of int, shape (M, N)
        For each matrix entry, its place in the one-dimensional signal; -1 is a fixed zero. Every
        number from 0 to the largest must occur.
    offset : array, shape (M, N), optional
        Constant matrix `Q0` that is added to the structured matrix.

    Examples
    --------
    A symmetric matrix with zeros off the three middle diagonals:

    >>> import numpy as np
    >>> from structrank import Indexed
    >>> S = Indexed([[0, 1, -1], [1, 2, 3], [-1, 3, 4]])
    >>> S.to_dense(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    array([[1., 2., 0.],
           [2., 3., 4.],
           [0., 4., 5.]])
    >>> S.multiplicity
    array([1, 2, 1, 2, 1])
    """

    def __init__(self, index: Any, offset: Any = None) -> None:
        index = np.asarray(index)
        if index.ndim != 2 or index.size == 0:
            raise ValueError(f"index has shape {index.shape}, but a matrix (M, N) is expected")
        if index.dtype.kind not in "iu":
            raise TypeError(f"index has dtype {index.dtype}, but an integer dtype is expected")
        if index.min() < -1:
            raise ValueError(
                f"index contains {index.min()}, but -1 is the only negative number allowed"
            )
        occurring = np.unique(index[index >= 0])
        if occurring.size == 0 or occurring.size != occurring[-1] + 1:
            raise ValueError(
                "index must contain every number from 0 to its largest, but it contains "
                f"{occurring.size} of {occurring[-1] + 1 if occurring.size else 0}"
            )
        self._index: np.ndarray = index.astype(np.int64)
        self._index.setflags(write=False)
        self.shape = index.shape
        self.signal_shape = (occurring.size,)
        if offset is not None:
            offset = np.array(offset)
            if offset.dtype.kind not in "fc":
                offset = offset.astype(float)
            if offset.shape != index.shape:
                raise ValueError(
                    f"offset has shape {offset.shape}, but index has shape {index.shape}"
                )
            finite(offset, "offset")
            offset.setflags(write=False)
            self.offset = offset

    def __repr__(self) -> str:
        rest = "" if self.offset is None else ", with an offset"
        return f"Indexed({self.shape[0]} x {self.shape[1]} map of {self.signal_shape[0]}{rest})"

    def key(self) -> tuple[Any, ...]:
        offset = None if self.offset is None else self.offset.tobytes()
        return (self.shape, self._index.tobytes(), offset)

    def index(self) -> np.ndarray:
        return self._index

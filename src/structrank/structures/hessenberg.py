"""Upper Hessenberg matrices."""

from __future__ import annotations

import numpy as np

from .._checks import positive_int
from .indexed import Indexed


class Hessenberg(Indexed):
    """Upper Hessenberg matrix: free entries on and above the first subdiagonal, zeros below.

    The signal contains the free entries row by row.

    Parameters
    ----------
    n : int
        Number of rows and of columns of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hessenberg
    >>> Hessenberg(3).to_dense(np.arange(1.0, 9.0))
    array([[1., 2., 3.],
           [4., 5., 6.],
           [0., 7., 8.]])
    """

    def __init__(self, n: int) -> None:
        self.n = positive_int(n, "n")
        free = np.tri(self.n, k=1, dtype=bool).T
        super().__init__(np.where(free, np.cumsum(free).reshape(free.shape) - 1, -1))

    def __repr__(self) -> str:
        return f"Hessenberg({self.n})"

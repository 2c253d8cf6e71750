"""From noise in the samples to the standard errors of what was fitted."""

from __future__ import annotations

import numpy as np

NO_INFLUENCE = 1e-100  # columns below this share of the largest are zero
SINGULAR = 1e-12  # singular values below this share of the largest tell nothing
UNDETERMINED = 1e-6  # what moves by a larger share along undetermined parameters is so too


class Spread:
    """How noise in the samples spreads to what depends on fitted parameters.

    Parameters
    ----------
    jacobian : ndarray, shape (numbers, parameters)
        Real: how the samples depend on the parameters, or the triangle of its QR decomposition.

    Examples
    --------
    The mean of four numbers has half the error of each; their difference is not determined:

    >>> import numpy as np
    >>> from structrank.modal.standard_errors import Spread
    >>> spread = Spread(np.full((4, 2), 0.5))
    >>> spread.errors(np.array([[0.5, 0.5], [0.5, -0.5]]))
    array([0.5, inf])
    """

    def __init__(self, jacobian: np.ndarray) -> None:
        scale = np.linalg.norm(jacobian, axis=0)
        most = np.max(scale, initial=0.0) or 1.0
        self.scale = np.where(scale > NO_INFLUENCE * most, scale, most)
        _, s, Vh = np.linalg.svd(np.linalg.qr(jacobian / self.scale, mode="r"))
        count = int(np.count_nonzero(s > SINGULAR * np.max(s, initial=0.0)))
        self.determined, self.free = Vh[:count].T / s[:count], Vh[count:].T

    def errors(self, rows: np.ndarray, noise: float = 1.0) -> np.ndarray:
        """Standard errors of what depends on the parameters by these rows; inf if undetermined."""
        rows = rows / self.scale
        size, freely, errors = (
            np.linalg.norm(x, axis=1) for x in (rows, rows @ self.free, rows @ self.determined)
        )
        return np.where(freely > UNDETERMINED * size, np.inf, noise * errors)

"""The effective rank: the number of singular values that are not rounding errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .lowrank import LowRank


@dataclass(frozen=True)
class SingularValueLimits:
    """Which singular values count, as multiples of mu; both set by hand.

    The singular values of a solution are smaller than those of the data by about mu, the weight of
    the nuclear norm.
    """

    negligible: float = 0.01  # far above what unfinished optimisation leaves, far below mu
    certain: float = 1.0  # in the data, such a value is about twice the largest value of noise


def effective_rank(X: LowRank, mu: float, over_mu: float = SingularValueLimits().negligible) -> int:
    """Count the singular values of a solution above a multiple of mu.

    Parameters
    ----------
    X : LowRank
        The solution.
    mu : float
        The weight of the nuclear norm.
    over_mu : float
        The multiple of mu. Default: `SingularValueLimits.negligible`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import LowRank
    >>> from structrank.model.effective_rank import effective_rank
    >>> X = LowRank(np.diag([5.0, 0.2, 1e-4]), np.eye(3))
    >>> effective_rank(X, mu=1.0), effective_rank(X, mu=1.0, over_mu=1.0)
    (2, 1)
    """
    return int(np.count_nonzero(X.singular_values() > over_mu * mu))

"""Tables as the estimators get them: checked, and scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..io.index import check_regular


def checked_table(
    estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int = 1
) -> np.ndarray:
    """Return a table as an array of floating-point numbers, NaN where missing.

    Parameters
    ----------
    estimator : estimator
        It remembers the number and the names of the columns.
    X : array or DataFrame, shape (times, features)
    reset : bool
        Whether the columns are remembered, or compared with the remembered ones.
    ensure_min_samples : int
        Smallest number of rows.

    Returns
    -------
    ndarray
    """
    if type(X).__module__.split(".")[0] == "pandas":
        check_regular(X.index)
    table = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        ensure_min_samples=ensure_min_samples,
    )
    return np.asarray(table)


def column_sizes(X: np.ndarray) -> np.ndarray:
    """Return the root mean square of each column, or 1 for columns of zeros.

    Parameters
    ----------
    X : ndarray, shape (times, features)
        NaN where missing.

    Raises
    ------
    ValueError
        A column has no values.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.estimators.tables import column_sizes
    >>> column_sizes(np.array([[3.0, 0.0], [np.nan, 0.0]]))
    array([3., 1.])
    """
    seen = ~np.isnan(X)
    counts = np.count_nonzero(seen, axis=0)
    if not np.all(counts):
        raise ValueError(
            f"column {int(np.argmin(counts))} has no values, but at least one is expected: drop "
            "the column"
        )
    known = np.where(seen, X, 0)
    largest = np.max(np.abs(known), axis=0)
    largest = np.where(largest > 0, largest, 1)  # so that squares of the ratios stay in range
    mean_squares = np.sum((known / largest) ** 2, axis=0) / counts
    sizes = largest * np.sqrt(mean_squares).astype(X.dtype)
    return np.where(sizes > 0, sizes, 1)

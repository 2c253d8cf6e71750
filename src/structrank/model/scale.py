"""The size of noise, measured so that outliers hardly move it."""

from __future__ import annotations

import numpy as np

NORMAL_MEDIAN = 0.674489750196  # of the modulus of Gaussian noise


def deviation_by_median(residuals: np.ndarray) -> float:
    """Standard deviation of Gaussian noise by its median, which outliers hardly move.

    Complex noise is circular.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.scale import deviation_by_median
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> noise[:500] = 1e6
    >>> round(deviation_by_median(noise), 1)
    1.1
    """
    unit = np.sqrt(np.log(2)) if np.iscomplexobj(residuals) else NORMAL_MEDIAN
    return float(np.median(np.abs(residuals)) / unit)

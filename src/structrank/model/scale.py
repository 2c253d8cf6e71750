"""The standard deviation of noise, estimated in a way that outliers hardly change."""

from __future__ import annotations

import numpy as np


def deviation_by_median(residuals: np.ndarray) -> float:
    """Estimate the standard deviation of Gaussian noise from the median of its modulus.

    Outliers hardly change the median. Complex noise is assumed to be circular.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.scale import deviation_by_median
    >>> noise = np.random.default_rng(0).standard_normal(10_000)
    >>> noise[:500] = 1e6
    >>> round(deviation_by_median(noise), 1)
    1.1
    """
    unit_median = 0.674489750196  # median of the modulus of real Gaussian noise of deviation one
    if np.iscomplexobj(residuals):
        unit_median = np.sqrt(np.log(2))
    return float(np.median(np.abs(residuals)) / unit_median)

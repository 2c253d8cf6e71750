"""The components of a series or of its logarithm: what the samples speak for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray
from .mixture import FittedSeries
from .search import fit_series


@dataclass(frozen=True)
class ScaleSearch:
    """When logarithms are tried.

    Attributes
    ----------
    ratio : float
        Largest over smallest sample, at least: below, a logarithm is nearly a straight line.
    """

    ratio: float = 2.0


def fit_either_scale(
    y: NDArray, *, periods: Sequence[float] = (), search: ScaleSearch = ScaleSearch()
) -> FittedSeries:
    """Find the components of a series, or of its logarithm if it is more likely so.

    Growth by a share and seasons that grow with the level are sums on the scale of logarithms. The
    information criteria of both are compared as those of densities of the samples themselves.

    Parameters
    ----------
    y : ndarray
        NaN where missing.
    periods : sequence of float
        Known seasons; see `fit_series`.
    search : ScaleSearch

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.scales import fit_either_scale
    >>> walk = np.cumsum(0.05 + 0.1 * np.random.default_rng(0).standard_normal(60))
    >>> fit_either_scale(np.exp(walk)).logarithmic, fit_either_scale(walk + 9).logarithmic
    (True, False)
    """
    plain = fit_series(y, periods=periods)
    low, high = np.nanmin(y), np.nanmax(y)
    if low <= 0 or high < search.ratio * low:
        return plain
    logarithms = np.log(y)
    other = replace(fit_series(logarithms, periods=periods), logarithmic=True)
    change = 2 * float(np.nansum(logarithms))
    return other if _information(other) + change < _information(plain) else plain


def _information(fitted: FittedSeries) -> float:
    """The criterion of the best fit, in the units of what was fitted."""
    best = fitted.fits[0]
    return float(best.information + 2 * best.seen * np.log(fitted.scale))

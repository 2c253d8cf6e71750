"""A series as a sum of trend, season, autoregressive part and noise, fitted by likelihood."""

from .mixture import FittedSeries, SeriesEstimate
from .model import Components, Season
from .scales import fit_either_scale
from .search import fit_series

__all__ = [
    "Components",
    "FittedSeries",
    "Season",
    "SeriesEstimate",
    "fit_either_scale",
    "fit_series",
]

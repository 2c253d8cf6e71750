"""A series as a sum of trend, season, autoregressive part and noise, fitted by likelihood."""

from .mixture import FittedSeries, SeriesEstimate
from .model import Components, Season
from .search import fit_series

__all__ = ["Components", "FittedSeries", "Season", "SeriesEstimate", "fit_series"]

"""Series and channels as sums of trend, season, autoregressive part and noise."""

from .joint import FittedChannels, fit_channels
from .mixture import FittedSeries, SeriesEstimate
from .model import Components, Season
from .scales import fit_either_scale
from .search import fit_series

__all__ = [
    "Components",
    "FittedChannels",
    "FittedSeries",
    "Season",
    "SeriesEstimate",
    "fit_channels",
    "fit_either_scale",
    "fit_series",
]

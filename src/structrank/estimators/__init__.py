"""Estimators for scikit-learn that fill, denoise and forecast tables.

The rows of a table are equally spaced times. Its columns, the features, are series that share
their modes (seasons, trends, decays). Columns are scaled to the same size before the work and
scaled back afterwards, so their units do not matter.

The order of rows matters. Do not shuffle rows or cut folds from the middle: split with
`sklearn.model_selection.TimeSeriesSplit`.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        'structrank.estimators needs scikit-learn: pip install "structrank[sklearn]"'
    ) from error

from .forecaster import HankelForecaster
from .transformers import HankelDenoiser, HankelImputer

__all__ = ["HankelDenoiser", "HankelForecaster", "HankelImputer"]

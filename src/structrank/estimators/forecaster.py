"""A forecaster of tables."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from .._checks import positive_int
from ..modal.modes import Modes, NoModes
from ..signals.backtesting import ForecastSearch
from ..signals.forecast_result import Forecast
from ..signals.forecasting import forecast
from .tables import checked_table, column_sizes


class HankelForecaster(BaseEstimator):
    """Forecast the rows that follow a table of series.

    `fit` takes the past and `predict` continues it. `score` compares the rows that follow the past
    with their forecast. `GridSearchCV` needs this together with `cv=TimeSeriesSplit()`.

    Parameters
    ----------
    steps : int
        Number of rows ahead for which the rank is chosen; forecasts may go further.
    rank : int, optional
        Number of modes, if known: 2 per season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    effort : {"fast", "normal", "thorough"}
        How much is tried; see `structrank.forecast`.
    max_time : float, optional
        Time limit of `fit` in seconds; it returns the best forecast so far, with a warning.

    Attributes
    ----------
    rank_ : int
        Number of modes. It is 0 if only noise was found; then the forecast is zero.
    modes_ : Modes or None
        The modes, with amplitudes in units of `scale_`.
    scale_ : ndarray, shape (features,)
        Root mean square of each column.
    n_features_in_ : int
        Number of columns in `fit`.
    feature_names_in_ : ndarray
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.estimators import HankelForecaster
    >>> t = np.arange(96)
    >>> series = (10 + 0.1 * t + np.cos(2 * np.pi * t / 12))[:, None]
    >>> noisy = series + 0.1 * np.random.default_rng(0).standard_normal((96, 1))
    >>> forecaster = HankelForecaster(steps=12).fit(noisy[:84])
    >>> bool(abs(forecaster.predict(12) - series[84:]).max() < 0.3)
    True
    """

    def __init__(
        self,
        *,
        steps: int = 10,
        rank: int | None = None,
        window: int | None = None,
        undamped: bool = False,
        rng: int | np.random.Generator = 0,
        effort: str = "normal",
        max_time: float | None = None,
    ) -> None:
        self.steps = steps
        self.rank = rank
        self.window = window
        self.undamped = undamped
        self.rng = rng
        self.effort = effort
        self.max_time = max_time

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the modes of the past.

        Parameters
        ----------
        X : array or DataFrame, shape (times, features)
            NaN where missing.
        y : ignored

        Returns
        -------
        The estimator itself.
        """
        steps = positive_int(self.steps, "steps")
        X = checked_table(self, X, reset=True, ensure_min_samples=ForecastSearch().fewest_samples)
        self.scale_ = column_sizes(X)
        self._past = X / self.scale_
        self.modes_: Modes | None = None
        if self.rank is not None:
            self.modes_ = self._forecast(steps, rank=self.rank).modes
        else:
            with suppress(NoModes):  # then the forecast is zero
                self.modes_ = self._forecast(steps).modes
        self.rank_ = 0 if self.modes_ is None else len(self.modes_)
        return self

    def predict(
        self, X: Any, *, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Forecast the rows that follow those of `fit`.

        Parameters
        ----------
        X : int, or array or DataFrame, shape (steps, features)
            Number of rows, or a table with that many rows, as scikit-learn's tools pass it. The
            values of the table are ignored.
        return_std : bool
            Also return the standard errors of future values, which include the noise.

        Returns
        -------
        ndarray, shape (steps, features), or a pair of them
        """
        check_is_fitted(self)
        count_given = np.ndim(X) == 0
        steps = (
            positive_int(X, "steps") if count_given else len(checked_table(self, X, reset=False))
        )
        mean = self._mean(steps)
        if not return_std:
            return mean
        if self.modes_ is None:
            return mean, np.tile(self.scale_, (steps, 1))
        return mean, self._forecast(steps, rank=self.rank_).stderr * self.scale_

    def score(self, X: Any, y: Any = None) -> float:
        """Score the forecast of the rows that follow those of `fit`.

        Parameters
        ----------
        X : array or DataFrame, shape (steps, features)
            NaN where missing.
        y : ignored

        Returns
        -------
        float
            The coefficient of determination, averaged over the columns with two or more values.
            The best score is 1.
        """
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        columns = zip(X.T, self._mean(len(X)).T, ~np.isnan(X).T, strict=True)
        scores = [
            r2_score(x[seen] / scale, mean[seen] / scale)
            for (x, mean, seen), scale in zip(columns, self.scale_, strict=True)
            if np.count_nonzero(seen) > 1
        ]
        if not scores:
            raise ValueError(
                "no column has two values, but a score needs two or more: pass more rows"
            )
        return float(np.mean(scores))

    def _mean(self, steps: int) -> np.ndarray:
        """The forecast: the modes, extrapolated."""
        start, features = self._past.shape
        if self.modes_ is None:
            return np.zeros((steps, features))
        ahead = self.modes_.signal(start + steps)[start:].real.reshape(-1, features)
        return np.asarray(ahead * self.scale_)

    def _forecast(self, steps: int, rank: int | None = None) -> Forecast:
        return forecast(self._past, steps, channels=1, rank=rank, **self._options())

    def _options(self) -> dict[str, Any]:
        names = ("window", "undamped", "rng", "effort", "max_time")
        return {name: getattr(self, name) for name in names}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

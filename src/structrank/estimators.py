"""Fill, denoise and forecast as estimators of scikit-learn.

Everywhere the rows of a table are equally spaced times and its columns, the features, are series
that share their modes (seasons, trends, decays). Columns are brought to the same size before the
work and back after it, so their units do not matter.

Since the order of rows matters, shuffled rows and folds cut from the middle are not for these
estimators: split with `sklearn.model_selection.TimeSeriesSplit`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ._checks import positive_int
from .io.index import check_regular
from .modal.modes import Modes, NoModes
from .signals.forecasting import FEWEST, Forecast, forecast
from .signals.recovery import recover
from .signals.spectrum import frequencies

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.metrics import r2_score
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        'structrank.estimators needs scikit-learn: pip install "structrank[sklearn]"'
    ) from error

__all__ = ["HankelDenoiser", "HankelForecaster", "HankelImputer"]


class _Recovers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What the two transformers share: each table is solved on its own."""

    def __init__(
        self,
        *,
        rank: int | None = None,
        window: int | None = None,
        kind: str = "auto",
        undamped: bool = False,
        rng: int | np.random.Generator = 0,
    ) -> None:
        self.rank = rank
        self.window = window
        self.kind = kind
        self.undamped = undamped
        self.rng = rng

    def fit(self, X: Any, y: Any = None) -> _Recovers:
        """Check the table; nothing is learnt from it.

        Parameters
        ----------
        X : array or DataFrame, shape (times, features)
            NaN where missing.
        y : ignored

        Returns
        -------
        The estimator itself.
        """
        _checked(self, X, reset=True)
        return self

    def _recovered(self, X: np.ndarray) -> np.ndarray:
        scale = _scale(X)
        found = recover(
            X / scale,
            channels=1,
            rank=self.rank,
            window=self.window,
            kind=self.kind,
            undamped=self.undamped,
            rng=self.rng,
        )
        return found.signal * scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class HankelImputer(_Recovers):
    """Fill the missing values of a table of series; what is seen stays as it is.

    `transform` looks at the table it is given and at nothing else: the noise level and, unless it
    is given, the rank are found anew for each table, of any length.

    Parameters
    ----------
    rank : int, optional
        Number of modes, if known: 2 for each season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    kind : {"auto", "refit", "convex"}
        Which estimate fills the gaps; see `structrank.recover`.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu, and of the samples left out to compare estimates.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.estimators import HankelImputer
    >>> t = np.arange(80)
    >>> table = np.stack([np.cos(0.3 * t), 100 * np.sin(0.3 * t)], axis=1)
    >>> gappy = table * (1 + 0.01 * np.random.default_rng(0).standard_normal((80, 2)))
    >>> gappy[30:45, 0] = np.nan
    >>> filled = HankelImputer().fit_transform(gappy)
    >>> bool(abs(filled - table)[30:45, 0].max() < 0.02)
    True
    """

    def transform(self, X: Any) -> np.ndarray:
        """Fill a table.

        Parameters
        ----------
        X : array or DataFrame, shape (times, features)
            NaN where missing.

        Returns
        -------
        array or DataFrame, shape (times, features)
        """
        X = _checked(self, X, reset=False)
        missing = np.isnan(X)
        return np.where(missing, self._recovered(X), X) if missing.any() else X.copy()


class HankelDenoiser(_Recovers):
    """Remove the noise of a table of series, and fill its gaps.

    `transform` looks at the table it is given and at nothing else: the noise level and, unless it
    is given, the rank are found anew for each table, of any length.

    Parameters
    ----------
    rank : int, optional
        Number of modes, if known: 2 for each season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    kind : {"auto", "refit", "convex"}
        Which estimate to return; see `structrank.recover`.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu, and of the samples left out to compare estimates.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.estimators import HankelDenoiser
    >>> truth = np.cos(0.3 * np.arange(80))[:, None]
    >>> noisy = truth + 0.2 * np.random.default_rng(0).standard_normal((80, 1))
    >>> clean = HankelDenoiser().fit_transform(noisy)
    >>> bool(np.std(clean - truth) < 0.4 * np.std(noisy - truth))
    True
    """

    def transform(self, X: Any) -> np.ndarray:
        """Denoise a table.

        Parameters
        ----------
        X : array or DataFrame, shape (times, features)
            NaN where missing.

        Returns
        -------
        array or DataFrame, shape (times, features)
        """
        return self._recovered(_checked(self, X, reset=False))


class HankelForecaster(BaseEstimator):
    """Forecast the rows that follow after a table of series.

    `fit` takes the past, `predict` continues it, and `score` compares rows that follow right
    after the past with the forecast of them, which is what `GridSearchCV` needs with
    `cv=TimeSeriesSplit()`.

    Parameters
    ----------
    steps : int
        How many rows ahead the rank is chosen for; forecasts may go further.
    rank : int, optional
        Number of modes, if known: 2 for each season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu.

    Attributes
    ----------
    rank_ : int
        Number of modes; 0 if nothing but noise was found, of which zeros are forecast.
    modes_ : Modes or None
        The modes, with amplitudes in units of `scale_`.
    scale_ : ndarray, shape (features,)
        Root mean square of each column.
    n_features_in_ : int
        Number of columns seen in `fit`.
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
    ) -> None:
        self.steps = steps
        self.rank = rank
        self.window = window
        self.undamped = undamped
        self.rng = rng

    def fit(self, X: Any, y: Any = None) -> HankelForecaster:
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
        X = _checked(self, X, reset=True, ensure_min_samples=FEWEST)
        self.scale_ = _scale(X)
        self._past = X / self.scale_
        self.modes_: Modes | None = None
        if self.rank is not None:
            self.modes_ = frequencies(self._past, channels=1, rank=self.rank, **self._options())
        else:
            with suppress(NoModes):  # zeros are forecast of noise
                self.modes_ = self._forecast(steps).modes
        self.rank_ = 0 if self.modes_ is None else len(self.modes_)
        return self

    def predict(
        self, X: Any, *, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The rows that follow right after those of `fit`.

        Parameters
        ----------
        X : int, or array or DataFrame, shape (steps, features)
            How many, or a table with that many rows, as tools of scikit-learn pass it; its values
            are not looked at.
        return_std : bool
            Also return the standard errors of future values, noise included.

        Returns
        -------
        ndarray, shape (steps, features), or two of them
        """
        check_is_fitted(self)
        count_given = np.ndim(X) == 0
        steps = positive_int(X, "steps") if count_given else len(_checked(self, X, reset=False))
        mean = self._mean(steps)
        if not return_std:
            return mean
        if self.modes_ is None:
            return mean, np.tile(self.scale_, (steps, 1))
        return mean, self._forecast(steps, rank=self.rank_).stderr * self.scale_

    def score(self, X: Any, y: Any = None) -> float:
        """How well rows are forecast that follow right after those of `fit`.

        Parameters
        ----------
        X : array or DataFrame, shape (steps, features)
            NaN where missing.
        y : ignored

        Returns
        -------
        float
            The coefficient of determination, averaged over the columns of which two or more
            values are seen: 1 at best.
        """
        check_is_fitted(self)
        X = _checked(self, X, reset=False)
        columns = zip(X.T, self._mean(len(X)).T, ~np.isnan(X).T, strict=True)
        scores = [
            r2_score(x[seen] / scale, mean[seen] / scale)
            for (x, mean, seen), scale in zip(columns, self.scale_, strict=True)
            if np.count_nonzero(seen) > 1
        ]
        if not scores:
            raise ValueError(
                "no column has two values that are seen, but a score compares two or more: pass "
                "more rows"
            )
        return float(np.mean(scores))

    def _mean(self, steps: int) -> np.ndarray:
        """What is forecast: the modes, carried on."""
        start, features = self._past.shape
        if self.modes_ is None:
            return np.zeros((steps, features))
        return self.modes_.signal(start + steps)[start:].real.reshape(-1, features) * self.scale_

    def _forecast(self, steps: int, rank: int | None = None) -> Forecast:
        return forecast(self._past, steps, channels=1, rank=rank, **self._options())

    def _options(self) -> dict[str, Any]:
        return {"window": self.window, "undamped": self.undamped, "rng": self.rng}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _checked(estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int = 1) -> np.ndarray:
    """The table as an array of floating-point numbers, NaN where missing."""
    if type(X).__module__.split(".")[0] == "pandas":
        check_regular(X.index)
    return validate_data(
        estimator,
        X,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        ensure_min_samples=ensure_min_samples,
    )


def _scale(X: np.ndarray) -> np.ndarray:
    """Root mean square of each column; 1 for zeros. An error for columns without a value."""
    seen = ~np.isnan(X)
    counts = np.count_nonzero(seen, axis=0)
    if not np.all(counts):
        raise ValueError(
            f"column {int(np.argmin(counts))} holds no value at all, so nothing can be said about "
            "it: leave it out"
        )
    known = np.where(seen, X, 0)
    largest = np.max(np.abs(known), axis=0)
    largest = np.where(largest > 0, largest, 1)  # squares of what is divided by it stay in range
    sizes = largest * np.sqrt(np.sum((known / largest) ** 2, axis=0) / counts).astype(X.dtype)
    return np.where(sizes > 0, sizes, 1)

"""Transformers that fill and denoise tables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from .._checks import one_of
from ..signals.recovery import recover
from ..signals.settings import INDEPENDENT
from .tables import checked_table, column_sizes

SHARED = "shared"  # the other value of `channels` of an estimator


class _Recovering(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What the two transformers share: each table is solved on its own."""

    def __init__(
        self,
        *,
        rank: int | None = None,
        window: int | None = None,
        kind: str = "auto",
        undamped: bool = False,
        rng: int | np.random.Generator = 0,
        effort: str = "normal",
        max_time: float | None = None,
        channels: str = SHARED,
        workers: int = 1,
    ) -> None:
        self.rank = rank
        self.window = window
        self.kind = kind
        self.undamped = undamped
        self.rng = rng
        self.effort = effort
        self.max_time = max_time
        self.channels = channels
        self.workers = workers

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the table; nothing is learned from it.

        Parameters
        ----------
        X : array or DataFrame, shape (times, features)
            NaN where missing.
        y : ignored

        Returns
        -------
        The estimator itself.
        """
        checked_table(self, X, reset=True)
        return self

    def _recovered(self, X: np.ndarray) -> np.ndarray:
        scale = column_sizes(X)
        one_of(self.channels, (SHARED, INDEPENDENT), "channels")
        found = recover(
            X / scale,
            channels=1 if self.channels == SHARED else INDEPENDENT,
            workers=self.workers,
            rank=self.rank,
            window=self.window,
            kind=self.kind,
            undamped=self.undamped,
            rng=self.rng,
            effort=self.effort,
            max_time=self.max_time,
        )
        return np.asarray(found.signal * scale)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class HankelImputer(_Recovering):
    """Fill the missing values of a table of series; other values stay as they are.

    `transform` uses only the table that it gets. It finds the noise level, and the rank unless it
    is given, anew for each table. Tables may have any length.

    Parameters
    ----------
    rank : int, optional
        Number of modes, if known: 2 per season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    kind : {"auto", "refit", "convex"}
        Which estimate fills the gaps; see `structrank.recover`.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    effort : {"fast", "normal", "thorough"}
        How much is tried; see `structrank.recover`.
    max_time : float, optional
        Time limit of `transform` in seconds; it returns the best estimate so far, with a warning.
    channels : {"shared", "independent"}
        Whether columns share modes, or each is fitted alone.
    workers : int
        Number of processes for independent columns. More than one needs the package joblib.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns in `fit`.
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
        X = checked_table(self, X, reset=False)
        missing = np.isnan(X)
        return np.where(missing, self._recovered(X), X) if missing.any() else X.copy()


class HankelDenoiser(_Recovering):
    """Remove the noise of a table of series, and fill its gaps.

    `transform` uses only the table that it gets. It finds the noise level, and the rank unless it
    is given, anew for each table. Tables may have any length.

    Parameters
    ----------
    rank : int, optional
        Number of modes, if known: 2 per season, 2 for a linear trend.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the rows of the table.
    kind : {"auto", "refit", "convex"}
        Which estimate to return; see `structrank.recover`.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    effort : {"fast", "normal", "thorough"}
        How much is tried; see `structrank.recover`.
    max_time : float, optional
        Time limit of `transform` in seconds; it returns the best estimate so far, with a warning.
    channels : {"shared", "independent"}
        Whether columns share modes, or each is fitted alone.
    workers : int
        Number of processes for independent columns. More than one needs the package joblib.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns in `fit`.
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
        return self._recovered(checked_table(self, X, reset=False))

"""Methods that `benchmarks.series` compares with: each is told the season.

A method for gaps gets a series with NaN and returns all of its values; a method for forecasts gets
a series and the number of steps. Forecasts of packages that take no NaN start from linear
interpolation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from structrank.systems import input_models

LONG_SEASON = 24  # for which seasonal differences would take minutes


def interpolated(y: np.ndarray) -> np.ndarray:
    return input_models.interpolated(y[:, None])[:, 0]


def linear(y: np.ndarray, season: int) -> np.ndarray:
    return interpolated(y)


def cubic(y: np.ndarray, season: int) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    t = np.arange(len(y))
    seen = ~np.isnan(y)
    return CubicSpline(t[seen], y[seen])(t)


def _best_smoother(models: list[Any], scale: float, offset: float) -> np.ndarray:
    """Return the smoothed series of the model with the least information criterion."""
    fits = []
    for model in models:
        try:
            fits.append(model.fit(disp=False, maxiter=100))
        except (ValueError, np.linalg.LinAlgError):
            continue
    best = min(fits, key=lambda fit: fit.aic if np.isfinite(fit.aic) else np.inf)
    design, states = best.model.ssm["design"], best.smoothed_state
    signal = np.einsum(
        "it,it->t", np.broadcast_to(design[0].reshape(len(states), -1), states.shape), states
    )
    return offset + scale * (signal + best.model.ssm["obs_intercept"].reshape(-1))


def components(y: np.ndarray, season: int) -> np.ndarray:
    """Trend with level and slope, season, AR(1), noise; with and without the AR part."""
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    scale, offset = np.nanstd(y) or 1.0, np.nanmean(y)
    z = (y - offset) / scale
    harmonics = min(season // 2, 12)
    seasonal = [{"period": season, "harmonics": harmonics}] if season > 1 else None
    models = [
        UnobservedComponents(z, level=level, freq_seasonal=seasonal, autoregressive=order)
        for level, order in (("lltrend", None), ("lltrend", 1), ("llevel", 2))
    ]
    return _best_smoother(models, scale, offset)


def arima(y: np.ndarray, season: int) -> np.ndarray:
    """Seasonal ARIMA of the least AIC among a few orders."""
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    scale, offset = np.nanstd(y) or 1.0, np.nanmean(y)
    z = (y - offset) / scale
    seasonal = (0, 0, 0, 0)
    if season > 1:
        seasonal = (0, 1, 1, season) if season < LONG_SEASON else (1, 0, 0, season)
    orders = ((1, 1, 1), (2, 0, 1)) if season >= LONG_SEASON else ((1, 1, 1), (2, 0, 1), (2, 1, 2))
    models = [SARIMAX(z, order=order, seasonal_order=seasonal) for order in orders]
    return _best_smoother(models, scale, offset)


def gaussian_process(y: np.ndarray, season: int) -> np.ndarray:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern, WhiteKernel
    from sklearn.gaussian_process.kernels import ConstantKernel as Size

    n = len(y)
    kernel = Size(1.0) * RBF(n / 5, (2, 10 * n)) + Size(0.3) * Matern(5.0, (0.3, 10 * n), nu=1.5)
    kernel += WhiteKernel(0.1, (1e-6, 10))
    if season > 1:
        periodic = ExpSineSquared(1.0, season, periodicity_bounds="fixed")
        kernel += Size(0.5) * periodic * RBF(3.0 * season, (season / 2, 100 * n))
    t, seen = np.arange(n)[:, None], ~np.isnan(y)
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1)
    model.random_state = 0
    return model.fit(t[seen], y[seen]).predict(t)


def seasonal_naive(y: np.ndarray, season: int, steps: int) -> np.ndarray:
    return np.resize(interpolated(y)[-season:], steps)


def _statsforecast(make: Callable[[Any, int], Any]) -> Callable[..., np.ndarray]:
    def call(y: np.ndarray, season: int, steps: int) -> np.ndarray:
        from statsforecast import models

        return make(models, season).forecast(y=interpolated(y), h=steps)["mean"]

    return call


def exponential_smoothing(y: np.ndarray, season: int, steps: int) -> np.ndarray:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    options = {"seasonal": "add", "seasonal_periods": season} if season > 1 else {}
    model = ExponentialSmoothing(interpolated(y), trend="add", damped_trend=True, **options)
    return model.fit().forecast(steps)


FILLERS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "linear": linear,
    "cubic": cubic,
    "components": components,
    "SARIMAX": arima,
    "GP": gaussian_process,
}

FORECASTERS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "naive": seasonal_naive,
    "AutoETS": _statsforecast(lambda m, season: m.AutoETS(season_length=season)),
    "AutoARIMA": _statsforecast(lambda m, season: m.AutoARIMA(season_length=season)),
    "AutoTheta": _statsforecast(lambda m, season: m.AutoTheta(season_length=season)),
    "MSTL": _statsforecast(
        lambda m, season: m.MSTL(season_length=season) if season > 1 else m.AutoETS(model="ZZN")
    ),
    "smoothing": exponential_smoothing,
}


def quietly(method: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
    """Call a rival without the warnings of its package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(method(*arguments), dtype=float)

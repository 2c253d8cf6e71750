"""Signals with gaps and noise: recover, impute, denoise, forecast, frequencies, outliers.

These functions take arrays, pandas or xarray objects, choose everything from the data and return
objects that explain themselves.
"""

from ..components.regression import Regression
from .component_series import SignalComponents
from .cost import Cost, estimate_cost
from .filling import denoise, impute
from .forecast_result import Forecast
from .forecasting import forecast
from .independent import IndependentRecovery
from .irregular import IrregularRecovery
from .loading import load
from .many_signals import recover_many
from .outliers import find_outliers
from .recovery import recover
from .recovery_result import Recovery
from .residuals import ResidualDiagnostics
from .spectral_sensing import SpectralSample, sinusoids, spectral_problem
from .spectrum import frequencies
from .tables import modes_table

__all__ = [
    "Cost",
    "Forecast",
    "IndependentRecovery",
    "IrregularRecovery",
    "Recovery",
    "Regression",
    "ResidualDiagnostics",
    "SignalComponents",
    "SpectralSample",
    "denoise",
    "estimate_cost",
    "find_outliers",
    "forecast",
    "frequencies",
    "impute",
    "load",
    "modes_table",
    "recover",
    "recover_many",
    "sinusoids",
    "spectral_problem",
]

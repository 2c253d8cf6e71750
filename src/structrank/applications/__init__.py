"""What a person with data calls."""

from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .forecasting import Forecast, forecast
from .frequencies import frequencies, modes_table
from .gcd import CommonDivisor, approximate_gcd
from .identification import identify
from .input_output import InputOutputModel
from .outputs import realize_outputs
from .realization import NotPositiveReal, realize
from .recovery import Recovery, recover
from .series import denoise, impute
from .spectral import SpectralSample, sinusoids, spectral_problem
from .state_space import StateSpaceModel, random_system

__all__ = [
    "CommonDivisor",
    "Forecast",
    "InputOutputModel",
    "NotPositiveReal",
    "Recovery",
    "SpectralSample",
    "StateSpaceModel",
    "approximate_gcd",
    "denoise",
    "empirical_covariances",
    "forecast",
    "frequencies",
    "identify",
    "impute",
    "modes_table",
    "random_system",
    "realization_problem",
    "realize",
    "realize_outputs",
    "recover",
    "sampling_noise_mu",
    "sinusoids",
    "spectral_problem",
]

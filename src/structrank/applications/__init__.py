"""What a person with data calls."""

from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .realization import NotPositiveReal, realize
from .spectral import SpectralSample, sinusoids, spectral_problem
from .state_space import StateSpaceModel, random_system

__all__ = [
    "NotPositiveReal",
    "SpectralSample",
    "StateSpaceModel",
    "empirical_covariances",
    "random_system",
    "realization_problem",
    "realize",
    "sampling_noise_mu",
    "sinusoids",
    "spectral_problem",
]

"""What a person with data calls."""

from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .modes import Modes, find_modes
from .realization import NotPositiveReal, realize
from .spectral import SpectralSample, noise_mu, sinusoids, spectral_problem
from .state_space import StateSpaceModel, random_system

__all__ = [
    "Modes",
    "NotPositiveReal",
    "SpectralSample",
    "StateSpaceModel",
    "empirical_covariances",
    "find_modes",
    "noise_mu",
    "random_system",
    "realization_problem",
    "realize",
    "sampling_noise_mu",
    "sinusoids",
    "spectral_problem",
]

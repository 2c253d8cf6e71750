"""Linear systems from records with gaps, and common divisors of polynomials.

`realize` and `realize_outputs` find a stochastic system from covariances or outputs, `identify`
finds one with inputs, and `approximate_gcd` finds the factor that polynomials share.
"""

from .common_divisors import CommonDivisor, approximate_gcd
from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .identification import identify
from .input_output import InputOutputModel
from .outputs import realize_outputs
from .realization import NotPositiveReal, realize
from .state_space import StateSpaceModel, random_system

__all__ = [
    "CommonDivisor",
    "InputOutputModel",
    "NotPositiveReal",
    "StateSpaceModel",
    "approximate_gcd",
    "empirical_covariances",
    "identify",
    "random_system",
    "realization_problem",
    "realize",
    "realize_outputs",
    "sampling_noise_mu",
]

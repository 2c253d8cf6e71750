"""Linear systems from records with gaps, and common divisors of polynomials.

`realize` and `realize_outputs` find a system driven by noise, from covariances or outputs.
`identify` finds a system with inputs. All three return a `StateSpace`. `approximate_gcd` finds the
factor that polynomials share.
"""

from .common_divisors import CommonDivisor, approximate_gcd
from .completion import GapFilling
from .conditioning import Smoothed
from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .divisor_fit import DivisorSearch
from .fitted_model import Estimate, FittedModel
from .identification import identify
from .output_model import OutputModel, StabilityRules, Stabilization
from .output_orders import LikelihoodRules
from .outputs import OutputRealization, realize_outputs
from .predictions import Comparison
from .random_systems import random_system
from .realization import NotPositiveReal, RealizationRules, realize
from .residual_tests import ResidualTests
from .search_rules import IdentificationSearch
from .state_space import StateSpace
from .vibration_modes import VibrationModes

__all__ = [
    "CommonDivisor",
    "Comparison",
    "DivisorSearch",
    "Estimate",
    "FittedModel",
    "GapFilling",
    "IdentificationSearch",
    "LikelihoodRules",
    "NotPositiveReal",
    "OutputModel",
    "OutputRealization",
    "RealizationRules",
    "ResidualTests",
    "Smoothed",
    "StabilityRules",
    "Stabilization",
    "StateSpace",
    "VibrationModes",
    "approximate_gcd",
    "empirical_covariances",
    "identify",
    "random_system",
    "realization_problem",
    "realize",
    "realize_outputs",
    "sampling_noise_mu",
]

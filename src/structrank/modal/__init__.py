"""Sums of damped sinusoids: found in a solution, fitted to samples, with standard errors.

`find_modes` reads the modes off the factors of a result. `refit` removes the shrinkage of the
nuclear norm: by a nonlinear least-squares fit of the modes or, for other structures, by a fit at a
fixed rank.
"""

from .autoregressive_noise import AutoregressiveNoise
from .esprit import find_modes
from .modes import ModeErrors, Modes
from .oscillations import Oscillations
from .refit_result import Refit
from .refitting import refit

__all__ = [
    "AutoregressiveNoise",
    "ModeErrors",
    "Modes",
    "Oscillations",
    "Refit",
    "find_modes",
    "refit",
]

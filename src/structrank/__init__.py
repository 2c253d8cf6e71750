"""Structured low-rank recovery: Hankel, Toeplitz, Sylvester and other matrices, never formed."""

from .lowrank import LowRank
from .measure import Mask, Measure, Operator, Weighted
from .modes import ModeErrors, Modes, find_modes
from .objective import Penalized, mu_max
from .path import path
from .problem import Problem
from .refit import Refit, refit
from .run import ConvergenceWarning, Result, Status, Stop
from .selection import Selection, choose_rank, noise_mu, select_mu
from .solvers import (
    RobustResult,
    gcg,
    gcgls,
    homotopy,
    solve,
    solve_robust,
    solve_trusted,
    solve_within,
)
from .state import History, State
from .structures import (
    Circulant,
    Hankel,
    Hessenberg,
    Indexed,
    Structure,
    Sylvester,
    Toeplitz,
    recovery_matrix,
    structure_matrix,
    unvec,
    vec,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "Circulant",
    "ConvergenceWarning",
    "Hankel",
    "Hessenberg",
    "History",
    "Indexed",
    "LowRank",
    "Mask",
    "Measure",
    "ModeErrors",
    "Modes",
    "Operator",
    "Penalized",
    "Problem",
    "Refit",
    "Result",
    "RobustResult",
    "Selection",
    "State",
    "Status",
    "Stop",
    "Structure",
    "Sylvester",
    "Toeplitz",
    "Weighted",
    "choose_rank",
    "find_modes",
    "gcg",
    "gcgls",
    "homotopy",
    "mu_max",
    "noise_mu",
    "path",
    "recovery_matrix",
    "refit",
    "select_mu",
    "solve",
    "solve_robust",
    "solve_trusted",
    "solve_within",
    "structure_matrix",
    "unvec",
    "vec",
]

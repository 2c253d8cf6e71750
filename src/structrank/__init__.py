"""Structured low-rank recovery: Hankel, Toeplitz, Sylvester and other matrices, never formed."""

from .lowrank import LowRank
from .measure import Mask, Measure, Operator, Weighted
from .objective import Penalized, mu_max
from .problem import Problem
from .run import ConvergenceWarning, Result, Status, Stop
from .solvers import gcg, gcgls, homotopy, solve
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
    "Operator",
    "Penalized",
    "Problem",
    "Result",
    "State",
    "Status",
    "Stop",
    "Structure",
    "Sylvester",
    "Toeplitz",
    "Weighted",
    "gcg",
    "gcgls",
    "homotopy",
    "mu_max",
    "recovery_matrix",
    "solve",
    "structure_matrix",
    "unvec",
    "vec",
]

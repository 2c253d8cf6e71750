"""Solvers, each a generator of states that `structrank.run.run` drives.

`gcg` and `gcgls` are the paper's, on thin factors; `solve` and `homotopy` go on from them to the
original problem (relax), `solve_robust`, `solve_within` and `solve_trusted` to variants of it. The
others are what the paper compares with, or names: on (relax)
`padmm`, `padmm2`, `dadmm2`, `dppa`, `factored_admm` and `interior_point`, on (reform2) `apg_svt`,
and `weighted_slra` at a fixed rank. They form dense matrices.
"""

from .apg_svt import apg_svt
from .constrained import solve_trusted, solve_within
from .dadmm2 import dadmm2
from .dppa import dppa
from .exact import homotopy, solve
from .factored_admm import factored_admm
from .gcg import gcg, gcgls
from .interior_point import interior_point
from .padmm import padmm
from .padmm2 import padmm2
from .robust import RobustResult, solve_robust
from .weighted_slra import weighted_slra

__all__ = [
    "RobustResult",
    "apg_svt",
    "dadmm2",
    "dppa",
    "factored_admm",
    "gcg",
    "gcgls",
    "homotopy",
    "interior_point",
    "padmm",
    "padmm2",
    "solve",
    "solve_robust",
    "solve_trusted",
    "solve_within",
    "weighted_slra",
]

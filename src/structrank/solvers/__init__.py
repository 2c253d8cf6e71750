"""Solvers: each is a generator of states, which `run` drives.

`gcg` and `gcgls` are the paper's algorithms, on thin factors; `gcgls_loss` takes other losses,
`solve_many` many problems at once.
`solve` and `homotopy` solve the original problem (relax). `solve_robust`, `solve_within` and
`solve_trusted` solve variants of it. The methods that the paper compares with are in
`structrank.solvers.rivals`.
"""

from .checkpoint import Checkpoint
from .conditional_gradient import gcg, gcgls
from .constrained import solve_within
from .driver import run
from .exact import homotopy, solve
from .general_loss import gcgls_loss
from .many import solve_many
from .many_results import Results
from .result import Result
from .robust import RobustResult, solve_robust
from .state import History, State
from .stopping import ConvergenceWarning, Status, Stop
from .trusted import solve_trusted

__all__ = [
    "Checkpoint",
    "ConvergenceWarning",
    "History",
    "Result",
    "Results",
    "RobustResult",
    "State",
    "Status",
    "Stop",
    "gcg",
    "gcgls",
    "gcgls_loss",
    "homotopy",
    "run",
    "solve",
    "solve_many",
    "solve_robust",
    "solve_trusted",
    "solve_within",
]

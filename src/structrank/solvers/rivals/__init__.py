"""The methods that the paper compares with or mentions. They form dense matrices and need NumPy.

`padmm`, `padmm2`, `dadmm2`, `dppa`, `factored_admm` and `interior_point` solve (relax), `apg_svt`
solves (reform2), and `weighted_slra` fits a fixed rank. They share the driver, the `Result` and the
certificate of `gcgls`.
"""

from .accelerated_gradient import apg_svt
from .dual_admm import dadmm2
from .dual_proximal_point import dppa
from .factored import factored_admm
from .fixed_rank import weighted_slra
from .primal_admm import padmm
from .proximal_admm import padmm2
from .semidefinite import interior_point

__all__ = [
    "apg_svt",
    "dadmm2",
    "dppa",
    "factored_admm",
    "interior_point",
    "padmm",
    "padmm2",
    "weighted_slra",
]

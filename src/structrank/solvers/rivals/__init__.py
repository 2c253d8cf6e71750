"""The methods that the paper compares with or mentions, and local methods of given rank.

`padmm`, `padmm2`, `dadmm2`, `dppa`, `factored_admm` and `interior_point` solve (relax), `apg_svt`
solves (reform2), and `weighted_slra` fits a fixed rank. They form dense matrices and need NumPy.
`fiht`, `projected_gradient` and `cadzow` fill gaps at a given rank, on thin factors, and `hsnld`
does so in the presence of gross errors. All share the driver and the `Result` of `gcgls`.
"""

from .accelerated_gradient import apg_svt
from .cadzow import cadzow
from .dual_admm import dadmm2
from .dual_proximal_point import dppa
from .factored import factored_admm
from .fiht import fiht
from .fixed_rank import weighted_slra
from .hsnld import hsnld
from .primal_admm import padmm
from .projected_gradient import projected_gradient
from .proximal_admm import padmm2
from .semidefinite import interior_point

__all__ = [
    "apg_svt",
    "cadzow",
    "dadmm2",
    "dppa",
    "factored_admm",
    "fiht",
    "hsnld",
    "interior_point",
    "padmm",
    "padmm2",
    "projected_gradient",
    "weighted_slra",
]

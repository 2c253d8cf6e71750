"""The estimates that compete in `recover`: one file each.

To add one, write a `Candidate` in a new file and add it to `CANDIDATES`. It competes with the
others from then on, and is averaged with those that predict held-out samples about as well.
"""

from ..estimates import Estimate, FirstEstimate
from .base import Candidate, ErrorProfile, Prediction
from .component_model import ComponentModel
from .convex_solution import ConvexSolution
from .fit_of_modes import FitOfModes, WeightedModes
from .local_windows import LocalWindows

CANDIDATES: tuple[Candidate, ...] = (
    FitOfModes(),
    LocalWindows(),
    ComponentModel(),
    ConvexSolution(),
)

__all__ = [
    "CANDIDATES",
    "Candidate",
    "ComponentModel",
    "ConvexSolution",
    "ErrorProfile",
    "Estimate",
    "FirstEstimate",
    "FitOfModes",
    "LocalWindows",
    "Prediction",
    "WeightedModes",
]

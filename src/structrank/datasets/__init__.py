"""Data to start with: small recordings that ship with the package, and simulated records.

The recordings keep the licences of those who made them; see `LICENSE.txt` beside them.
"""

from .machines import building, plant
from .recordings import Recording, kspace, mr_spectroscopy, nmr_decay
from .simulations import Simulation, decay, season_with_trend, seismic_gather, sensor_table

__all__ = [
    "Recording",
    "Simulation",
    "building",
    "decay",
    "kspace",
    "mr_spectroscopy",
    "nmr_decay",
    "plant",
    "season_with_trend",
    "seismic_gather",
    "sensor_table",
]

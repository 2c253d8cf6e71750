"""Structured matrices: their shapes and fast products. A structure contains no data."""

from .base import Structure
from .circulant import Circulant
from .hankel import Hankel
from .hessenberg import Hessenberg
from .indexed import Indexed
from .sparse import recovery_matrix, structure_matrix, unvec, vec
from .sylvester import Sylvester
from .toeplitz import Toeplitz

__all__ = [
    "Circulant",
    "Hankel",
    "Hessenberg",
    "Indexed",
    "Structure",
    "Sylvester",
    "Toeplitz",
    "recovery_matrix",
    "structure_matrix",
    "unvec",
    "vec",
]

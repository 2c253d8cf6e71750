"""The problem and its mathematics: measurements, thin factors, the objective, bounds.

`Problem` combines a structure, samples and a measurement. `Penalized` is the paper's (reform2) on
thin factors, with its gradient and its polynomial along a line. `Huber` and `Logistic` are losses
in place of half the squares. `certificate` bounds how far a point is from the optimum. Nothing
here iterates towards a solution; `structrank.solvers` does.
"""

from .largest_mu import mu_max
from .losses import Huber, Logistic, Loss
from .lowrank import LowRank
from .measure import Mask, Measure, Operator, Weighted
from .objective import Penalized
from .problem import Problem
from .problems import Problems

__all__ = [
    "Huber",
    "Logistic",
    "Loss",
    "LowRank",
    "Mask",
    "Measure",
    "Operator",
    "Penalized",
    "Problem",
    "Problems",
    "Weighted",
    "mu_max",
]

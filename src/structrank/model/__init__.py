"""The problem and what can be said about it: measurements, thin factors, objective, bounds.

`Problem` joins a structure, samples and a measurement; `Penalized` is the paper's (reform2) on thin
factors, with its gradient and its polynomial along a line; `certificate` bounds how far a point is
from the optimum. Nothing here iterates towards a solution: that is what `structrank.solvers` is
for.
"""

from .lowrank import LowRank
from .measure import Mask, Measure, Operator, Weighted
from .objective import Penalized, mu_max
from .problem import Problem

__all__ = ["LowRank", "Mask", "Measure", "Operator", "Penalized", "Problem", "Weighted", "mu_max"]

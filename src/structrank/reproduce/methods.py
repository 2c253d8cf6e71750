"""The methods of the paper's comparison, as the experiment calls them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import Callback, iterate
from ..solvers.result import Result
from ..solvers.rivals.accelerated_gradient import apg_svt_states
from ..solvers.rivals.dense import DenseProblem
from ..solvers.rivals.dual_admm import dadmm2_states
from ..solvers.rivals.dual_proximal_point import dppa_states
from ..solvers.rivals.factored import factored_admm_states
from ..solvers.rivals.primal_admm import padmm_states
from ..solvers.rivals.proximal_admm import padmm2_states
from ..solvers.state import State
from ..solvers.stopping import Stop


@dataclass(frozen=True)
class Method(ABC):
    """A solver in the comparison.

    Attributes
    ----------
    name : str
    states : callable
        Generates the iterates for a problem.
    dense : bool
        Whether it forms the matrix.
    """

    name: str
    states: Callable[..., Iterator[State]]
    dense: bool = True
    formulation: ClassVar[str]

    @abstractmethod
    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        """Return the arguments of `states`, with the start and the penalty of the experiment."""

    def run(
        self,
        problem: Problem,
        *,
        ones: bool,
        stop: Stop,
        factor: float | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Solve a problem; Ctrl-C passes through, and there is no warning.

        Parameters
        ----------
        problem : Problem
        ones : bool
            Start from the matrix of all ones, as the paper does, or else from zero.
        stop : Stop
        factor : float, optional
            Penalty of a method for (relax), as a multiple of its scale.
        callback : callable, optional
        """
        options = self.options(problem, ones, factor)
        if not self.dense:
            options["stop"] = stop  # Algorithm 1 adapts its accuracy to the gap asked for
        return iterate(self.states(problem, **options), problem, stop=stop, callback=callback)


@dataclass(frozen=True)
class PenalizedMethod(Method):
    """A method for (reform2), where the structure is a penalty.

    Attributes
    ----------
    lam : float
        Weight of the penalty. The paper does not print it; 1 is our choice.
    """

    lam: float = 1.0
    formulation: ClassVar[str] = "reform2"

    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        start = LowRank.ones(problem.structure.shape, problem.b) if ones else None
        return {"lam": self.lam, "penalty": "difference", "start": start}


@dataclass(frozen=True)
class RelaxedMethod(Method):
    """A method for (relax), where the structure is a constraint with a penalty beta.

    Attributes
    ----------
    inverse_penalty : bool
        Whether beta is the penalty of the dual constraint: the inverse of that of the others.
    """

    inverse_penalty: bool = False
    formulation: ClassVar[str] = "relax"

    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        options: dict[str, Any] = {
            "start": np.ones(problem.structure.signal_shape) if ones else None
        }
        if factor is not None:
            beta = factor * DenseProblem(problem).scale
            options["beta"] = 1 / beta if self.inverse_penalty else beta
        return options


GCGLS = PenalizedMethod("GCGLS", gcgls_states, dense=False)
GCG = PenalizedMethod("GCG", partial(gcgls_states, pairs=1, search_steps=0), dense=False)
METHODS: tuple[Method, ...] = (
    GCGLS,
    GCG,
    PenalizedMethod("APG-SVT", apg_svt_states),
    RelaxedMethod("PADMM", padmm_states),
    RelaxedMethod("PADMM2", padmm2_states),
    RelaxedMethod("DADMM2", dadmm2_states, inverse_penalty=True),
    RelaxedMethod("DPPA", dppa_states),
)
FACTORED_ADMM = RelaxedMethod("factored ADMM", partial(factored_admm_states, rank=30))
TUNED = (*(m for m in METHODS if isinstance(m, RelaxedMethod)), FACTORED_ADMM)

"""The methods of the paper's comparison, as the experiment calls them.

Algorithm 1 runs in two forms: "as printed", and with our defaults. As printed, the step is
`eta_k = 2/(k+1)` with one singular pair, B are the differences of neighbouring copies, the start is
the matrix of all ones, and the run ends by the paper's rule: a relative change of the objective or
a step below 1e-3, or 100 iterations. The paper's appendix has two maps C, so the printed form runs
with both, C_proj and C_sp. Only the accuracy of the local search is ours: the paper says that it
need not be solved fully.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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

# Forms of a method.
AS_PRINTED, AS_PRINTED_SPARSE = "as printed", "as printed, C_sp"
DEFAULT, TUNED_PENALTY = "default", "tuned"
PAPER_RULE = Stop()  # the paper's stopping rule


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
    step : str, optional
        Step and number of singular pairs of Algorithm 1, for the tables.
    """

    name: str
    states: Callable[..., Iterator[State]]
    dense: bool = True
    step: str | None = None
    formulation: ClassVar[str]

    @property
    @abstractmethod
    def form(self) -> str:
        """Whose settings it runs with."""

    @property
    def objective(self) -> str:
        """What it minimises: objectives of methods with the same one can be compared."""
        return self.formulation

    @property
    def label(self) -> str:
        """Name and form, for tables and legends."""
        return f"{self.name}, {self.form}"

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
            See `self.stop` for its own rule.
        factor : float, optional
            Penalty of a method for (relax), as a multiple of its scale.
        callback : callable, optional
        """
        options = self.options(problem, self.from_ones(ones), factor)
        if not self.dense:
            options["stop"] = stop  # Algorithm 1 adapts its accuracy to the gap asked for
        return iterate(self.states(problem, **options), problem, stop=stop, callback=callback)

    def from_ones(self, ones: bool) -> bool:
        """Whether it starts from all ones, in an experiment that asks for this or for zero."""
        return ones

    def stop(self, stop: Stop) -> Stop:
        """When it stops, in an experiment with this rule."""
        return stop


@dataclass(frozen=True)
class PenalizedMethod(Method):
    """A method for (reform2), where the structure is a penalty.

    Attributes
    ----------
    lam : float
        Weight of the penalty: 1 in passages of the paper's source that are not printed.
    """

    lam: float = 1.0
    formulation: ClassVar[str] = "reform2"

    @property
    def form(self) -> str:
        return DEFAULT

    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        start = LowRank.ones(problem.structure.shape, problem.b) if ones else None
        return {"lam": self.lam, "penalty": "difference", "start": start}


@dataclass(frozen=True)
class PrintedMethod(PenalizedMethod):
    """Algorithm 1 as printed: always from all ones, and always with the paper's stopping rule.

    Attributes
    ----------
    recovery : str
        Which C: "projection" or "sparse".
    max_time : float
        Time limit in seconds. The paper has none; ill-conditioned runs at its larger size need it.
    """

    recovery: str = "projection"
    max_time: float = 120.0

    @property
    def form(self) -> str:
        return AS_PRINTED if self.recovery == "projection" else AS_PRINTED_SPARSE

    @property
    def objective(self) -> str:
        return self.formulation if self.recovery == "projection" else f"{self.formulation}, C_sp"

    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        return {**super().options(problem, ones, factor), "recovery": self.recovery}

    def from_ones(self, ones: bool) -> bool:
        return True

    def stop(self, stop: Stop) -> Stop:
        return replace(PAPER_RULE, max_time=self.max_time)


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

    @property
    def form(self) -> str:
        return TUNED_PENALTY

    def options(self, problem: Problem, ones: bool, factor: float | None) -> dict[str, Any]:
        options: dict[str, Any] = {
            "start": np.ones(problem.structure.signal_shape) if ones else None
        }
        if factor is not None:
            beta = factor * DenseProblem(problem).scale
            options["beta"] = 1 / beta if self.inverse_penalty else beta
        return options


PRINTED_STEP = "eta = 2/(k+1), one pair"
printed_states = partial(gcgls_states, step="paper", pairs=1)
gcg_states = partial(gcgls_states, step="corrective", pairs=1, search_steps=0)  # as in `gcg`
GCGLS = PenalizedMethod("GCGLS", gcgls_states, False, step="joint, up to 8 pairs")
GCG = PenalizedMethod("GCG", gcg_states, False, step="corrective, one pair")
GCGLS_PRINTED = PrintedMethod("GCGLS", printed_states, False, step=PRINTED_STEP)
GCG_PRINTED = PrintedMethod(
    "GCG", partial(printed_states, search_steps=0), False, step=PRINTED_STEP
)
GCGLS_SPARSE, GCG_SPARSE = (replace(m, recovery="sparse") for m in (GCGLS_PRINTED, GCG_PRINTED))
ALGORITHM_1 = (GCGLS_PRINTED, GCGLS, GCG_PRINTED, GCG)
METHODS: tuple[Method, ...] = (
    *(GCGLS_PRINTED, GCGLS_SPARSE, GCGLS, GCG_PRINTED, GCG_SPARSE, GCG),
    PenalizedMethod("APG-SVT", apg_svt_states),
    RelaxedMethod("PADMM", padmm_states),
    RelaxedMethod("PADMM2", padmm2_states),
    RelaxedMethod("DADMM2", dadmm2_states, inverse_penalty=True),
    RelaxedMethod("DPPA", dppa_states),
)
FACTORED_ADMM = RelaxedMethod("factored ADMM", partial(factored_admm_states, rank=30))
TUNED = (*(m for m in METHODS if isinstance(m, RelaxedMethod)), FACTORED_ADMM)

"""The data of the realisation experiments.

There are three kinds of cases, each with its mu:

- "nuclear", as printed: D, E, F at unit nuclear norm, 1000 samples, mu = 1.5 for (relax) and 0.1
  for (reform2);
- "spectral": D, E, F at unit spectral norm, 1000 samples, mu at the level of the sampling noise;
- "well-posed": spectral radius 0.9 and enough samples to find the order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._array import NDArray
from ..model.problem import Problem
from ..systems import (
    StateSpace,
    empirical_covariances,
    random_system,
    realization_problem,
    sampling_noise_mu,
)


@dataclass(frozen=True)
class PaperSystem:
    """The system of the paper's first experiment, and the matrix of its covariances."""

    rows: int = 21  # block rows of the Hankel matrix, the paper's j
    columns: int = 100  # block columns, the paper's k
    order: int = 10  # the paper's r
    noise: float = 0.05  # standard deviation of the noise on the outputs, the paper's sigma
    samples: int = 1000  # length of the record that is observed
    mu_relax: float = 1.5  # the paper's mu for (relax)
    mu_reform2: float = 0.1  # the paper's mu for (reform2)

    @property
    def lags(self) -> int:
        """Number of covariances in the Hankel matrix."""
        return self.rows + self.columns - 1

    def size(self, outputs: int) -> str:
        """Write rows and columns of the matrix for a number of outputs."""
        return f"{self.rows * outputs} x {self.columns * outputs}"


@dataclass(frozen=True)
class WellPosed:
    """A system that is stable enough, and observed for long enough, to find its order."""

    spectral_radius: float = 0.9
    order: int = PaperSystem.order
    samples: int = 200_000


PAPER = PaperSystem()


@dataclass(frozen=True)
class Case:
    """Data and mu of one comparison."""

    name: str
    outputs: int
    seed: int = 0
    order: int = PaperSystem.order
    normalization: str = "spectral"
    spectral_radius: float | None = None
    samples: int = PaperSystem.samples
    ones: bool = True  # start from all ones, as the paper does
    # mu by formulation; if empty, mu is at the level of the sampling noise
    prices: dict[str, float] = field(default_factory=dict)
    paper: PaperSystem = PAPER

    @cached_property
    def system(self) -> StateSpace:
        """The true system."""
        return random_system(
            self.outputs,
            self.order,
            normalization=self.normalization,
            spectral_radius=self.spectral_radius,
            rng=self.seed,
        )

    @cached_property
    def record(self) -> NDArray:
        """The observed outputs."""
        return observed(self.system, self.samples, self.paper.noise, rng=self.seed)

    @cached_property
    def covariances(self) -> NDArray:
        """The covariances of the record, lag 0 first."""
        covariances: NDArray = empirical_covariances(self.record, self.paper.columns)
        return covariances

    @cached_property
    def noise_level(self) -> float:
        """The mu at which sampling noise alone gives the zero matrix."""
        return sampling_noise_mu(self.record, self.paper.rows, self.paper.columns)

    def problem(self, formulation: str) -> Problem:
        """State the block-Hankel problem with this case's mu for a formulation."""
        mu = self.prices[formulation] if self.prices else self.noise_level
        return realization_problem(self.covariances, self.paper.rows, self.paper.columns, mu)

    @property
    def true_covariances(self) -> NDArray:
        """The covariances of the true system at the lags of the matrix."""
        return self.system.covariances(self.paper.lags)[1:]

    @property
    def size(self) -> str:
        """Rows and columns of the matrix."""
        return self.paper.size(self.outputs)


def observed(system: StateSpace, samples: int, noise: float, *, rng: int) -> NDArray:
    """Simulate a record, with a seed that differs from that of the system."""
    record: NDArray = system.simulate(
        steps=samples, rng=np.random.default_rng([rng, 1]), noise=noise
    )
    return record


def all_cases(outputs: tuple[int, ...], well_posed: WellPosed, *, rng: int) -> list[Case]:
    """Return the cases on which the methods are compared, kind by kind, for all sizes."""
    printed = {"relax": PAPER.mu_relax, "reform2": PAPER.mu_reform2}
    return [
        *(Case("nuclear", n, rng, normalization="nuclear", prices=printed) for n in outputs),
        *(Case("spectral", n, rng) for n in outputs),
        *(well_posed_case(n, well_posed, rng=rng) for n in outputs),
    ]


def well_posed_case(outputs: int, well_posed: WellPosed, *, rng: int) -> Case:
    """Return a case in which the order can be found."""
    return Case(
        "well-posed",
        outputs,
        rng,
        order=well_posed.order,
        spectral_radius=well_posed.spectral_radius,
        samples=well_posed.samples,
        ones=False,
    )

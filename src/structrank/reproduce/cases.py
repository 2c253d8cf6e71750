"""The data of the realisation experiment.

Three kinds, each with its mu:

- "as printed": D, E, F at unit nuclear norm, mu = 1.5 on (relax) and 0.1 on (reform2);
- "spectral": D, E, F at unit spectral norm, 1000 samples, mu at the level of the sampling noise;
- "well-posed": spectral radius 0.9 and enough samples for the order to be found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..model.problem import Problem
from ..systems.covariances import empirical_covariances, realization_problem, sampling_noise_mu
from ..systems.random_systems import random_system
from ..systems.state_space import StateSpace

ROWS, COLUMNS, ORDER, NOISE = 21, 100, 10, 0.05  # the paper's j, k, r, sigma


@dataclass(frozen=True)
class Case:
    """Data and prices of one comparison."""

    name: str
    outputs: int
    seed: int = 0
    order: int = ORDER
    normalization: str = "spectral"
    spectral_radius: float | None = None
    samples: int = 1000
    ones: bool = True  # start from all ones, as the paper does
    prices: dict[str, float] = field(default_factory=dict)  # mu by formulation; else by noise level

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
    def record(self) -> np.ndarray:
        """What is observed of it."""
        rng = np.random.default_rng([self.seed, 1])  # apart from that of the system
        return self.system.simulate(steps=self.samples, rng=rng, noise=NOISE)

    @cached_property
    def covariances(self) -> np.ndarray:
        """Of the record, lag 0 first."""
        return empirical_covariances(self.record, COLUMNS)

    @cached_property
    def noise_level(self) -> float:
        """The mu at which sampling noise alone gives nothing."""
        return sampling_noise_mu(self.record, ROWS, COLUMNS)

    def problem(self, formulation: str) -> Problem:
        """The block-Hankel problem with this case's mu for a formulation."""
        mu = self.prices[formulation] if self.prices else self.noise_level
        return realization_problem(self.covariances, ROWS, COLUMNS, mu)

    @property
    def size(self) -> str:
        """Rows and columns of the matrix."""
        return f"{ROWS * self.outputs} x {COLUMNS * self.outputs}"


def all_cases(quick: bool, seed: int) -> list[Case]:
    """What the methods are compared on, one kind after the other."""
    printed = {"relax": 1.5, "reform2": 0.1}
    sizes = (4,) if quick else (20, 40)
    return [
        *(Case("as printed", n, seed, normalization="nuclear", prices=printed) for n in sizes),
        *(Case("spectral", n, seed) for n in sizes),
        *(well_posed(n, seed, quick) for n in sizes),
    ]


def well_posed(outputs: int, seed: int, quick: bool) -> Case:
    """A case where the order can be found."""
    return Case(
        "well-posed",
        outputs,
        seed,
        order=3 if quick else ORDER,
        spectral_radius=0.9,
        ones=False,
        samples=50_000 if quick else 200_000,
    )

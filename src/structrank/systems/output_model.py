"""What `realize_outputs` returns: a system, its modes with error bars, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import NDArray
from ..io.saved_results import savable
from ..views import plot_stabilization
from .fitted_model import Estimate, FittedModel
from .output_orders import OrderFit, realizations
from .vibration_modes import VibrationModes


@dataclass(frozen=True)
class StabilityRules:
    """When a pole of one order counts as stable beside the order before.

    Attributes
    ----------
    frequency, damping : float
        Largest relative change. Usual values in operational modal analysis.
    """

    frequency: float = 0.01
    damping: float = 0.1


@dataclass(frozen=True, eq=False)
class Stabilization:
    """Poles of systems of growing order, for a stabilisation diagram; one entry per pole.

    Parameters
    ----------
    orders : ndarray of int
    frequencies, dampings : ndarray
    stable : ndarray of bool
        Whether the order before has a pole of nearly the same frequency and damping.

    Examples
    --------
    >>> from structrank import random_system, realize_outputs
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> model = realize_outputs(system.simulate(steps=2000))
    >>> bool(model.stabilization(6).orders.max() <= 6)
    True
    """

    orders: NDArray
    frequencies: NDArray
    dampings: NDArray
    stable: NDArray


@savable(
    omit={"estimate": "the fit of a model", "fits": "the fits of other orders"},
    computed=("_log_covariances",),
)
@dataclass(frozen=True, eq=False, repr=False, init=False)
class OutputModel(FittedModel):
    """A system driven by noise that was found from its outputs. It is a `StateSpace`.

    Parameters
    ----------
    *matrices, **options
        As for `StateSpace`.
    fits : tuple of OrderFit
        The fits of the orders that were tried, the chosen one first. Empty for
        `method="covariances"`.
    output_covariances : ndarray, shape (lags + 1, p, p)
        Estimated covariances of the outputs, scaled to variance one.

    Examples
    --------
    >>> from structrank import random_system, realize_outputs
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9, rng=2)
    >>> model = realize_outputs(system.simulate(steps=2000), dt=0.01)
    >>> type(model).__name__, model.order
    ('OutputModel', 2)
    >>> sorted(model.criteria)[0]
    1
    """

    fits: tuple[OrderFit, ...]
    output_covariances: NDArray

    def __init__(
        self,
        *matrices: Any,
        fits: tuple[OrderFit, ...],
        output_covariances: NDArray,
        estimate: Estimate | None = None,
        **options: Any,
    ) -> None:
        if fits:
            estimate = Estimate(fits[0].likelihood, fits[0].theta)
        super().__init__(*matrices, estimate=estimate, **options)
        object.__setattr__(self, "fits", fits)
        object.__setattr__(self, "output_covariances", output_covariances)

    @property
    def criteria(self) -> dict[int, float]:
        """Bayesian information criterion of each order that was tried."""
        return {fit.order: fit.criterion for fit in sorted(self.fits, key=lambda one: one.order)}

    def stabilization(
        self, largest: int | None = None, rules: StabilityRules = StabilityRules()
    ) -> Stabilization:
        """Poles of realisations of the covariances, without a likelihood, for orders 2, 4, ...

        Parameters
        ----------
        largest : int, optional
            The largest order. Default: 30 more than that of the system, or what the lags determine.
        rules : StabilityRules, optional

        Returns
        -------
        Stabilization
        """
        p = self.output_count
        most = p * ((len(self.output_covariances) - 1) // 2)
        largest = min(self.order + 30 if largest is None else largest, most)
        rows: list[tuple[int, float, float, bool]] = []
        before = np.zeros((0, 2))
        for order in range(2, largest + 1, 2):
            systems = realizations(self.output_covariances, order, (1.0,))
            if not systems:
                continue
            found = VibrationModes.of(replace(systems[0], dt=self.dt))
            now = np.stack([found.frequencies, found.dampings], axis=1)
            change = np.abs(before[None] - now[:, None]) / np.abs(now[:, None])
            same = np.any(np.all(change <= (rules.frequency, rules.damping), axis=2), axis=1)
            rows += [(order, f, d, bool(s)) for (f, d), s in zip(now, same, strict=True)]
            before = now
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        kinds = (int, float, float, bool)
        return Stabilization(*(np.array(x, dtype=k) for x, k in zip(columns, kinds, strict=True)))

    def plot_stabilization(self, largest: int | None = None, ax: Any = None) -> Any:
        """Draw the stabilisation diagram: order against frequency, and the modes of this system.

        Parameters
        ----------
        largest : int, optional
            The largest order.
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        poles = self.stabilization(largest)
        modes = VibrationModes.of(self)
        unit = "cycles per sample" if self.dt is None else "Hz"
        return plot_stabilization(
            poles.orders, poles.frequencies, poles.stable, modes.frequencies, unit=unit, ax=ax
        )

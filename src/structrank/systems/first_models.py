"""First models of records without gaps: ARX models, and dynamics by a subspace method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import NDArray
from .arx import Arx
from .integrators import integrating, with_integrators
from .state_space import StateSpace
from .subspace import dynamics, observability


@dataclass(frozen=True, eq=False)
class FirstModels:
    """Models of given orders, where fits start.

    Parameters
    ----------
    inputs, outputs : list of ndarray
        One per stretch of the records, without gaps.
    windows : list of int
        Block rows of the subspace method.
    radius : float
        Bound on the absolute values of the poles.
    integrators : int
        Number of poles that are one, beside the bound.
    offset : bool
        Whether ARX models have an offset.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> from structrank.systems.first_models import FirstModels
    >>> truth = StateSpace([[0.8]], [[1.0]], [[1.0]], None)
    >>> u = np.random.default_rng(0).standard_normal((100, 1))
    >>> first = FirstModels([u], [truth.simulate(u)], [5], radius=0.99, integrators=0)
    >>> [A.item().__round__(3) for A, _ in first.dynamics(1)]
    [0.8]
    >>> first.arx("arx", 1).poles.round(3)
    array([0.8])
    """

    inputs: list[NDArray]
    outputs: list[NDArray]
    windows: list[int]
    radius: float
    integrators: int
    offset: bool = True

    @cached_property
    def _long(self) -> Arx | None:
        """ARX model with as many lags as Akaike's criterion finds."""
        return Arx.chosen(self.inputs, self.outputs, offset=self.offset)

    def arx(self, kind: str, order: int) -> StateSpace | None:
        """An ARX model with few or many lags ("arx", "reduced"), reduced to the order."""
        arx = self._long
        if kind == "arx":
            lags = -(-order // self.outputs[0].shape[1])
            arx = Arx(self.inputs, self.outputs, lags, offset=self.offset)
            arx = arx if arx.determined else None
        found = [] if arx is None else arx.reduced([order], self.radius)
        if arx is None or not found:
            return None
        if not self.integrators:
            return found[0]
        return integrating(found[0], self.integrators, self.radius, arx.rules.gains)

    @cached_property
    def _directions(self) -> list[tuple[NDArray, NDArray]]:
        """What the subspace method finds in the longest stretch, for each window."""
        pairs = zip(self.inputs, self.outputs, strict=True)
        u, y = max(pairs, key=lambda pair: len(pair[1]))
        rows = 2 * (u.shape[1] + y.shape[1] + 1)
        return [observability(u, y, w) for w in self.windows if rows * w <= len(y) + 1]

    def dynamics(self, order: int) -> list[tuple[NDArray, NDArray]]:
        """A and C by the subspace method, for each window that allows the order."""
        p, found = self.outputs[0].shape[1], []
        for U, s in self._directions:
            if order <= min(len(U) - p, len(s)):
                A, C = dynamics(U[:, :order] * np.sqrt(s[:order]), p, self.radius)
                A, Q = with_integrators(A, self.integrators, self.radius)
                found.append((A, C @ Q))
        return found

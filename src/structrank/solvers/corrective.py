"""Steps that choose the weights of the last atoms again: line 4 of Algorithm 1 for `gcg`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .._array import NDArray, array_namespace, inner
from ..model.linalg import SingularPairs
from ..model.line import Point
from ..model.lowrank import LowRank
from ..model.objective import Penalized
from .memory import Restored


@dataclass(frozen=True)
class CorrectiveMemory:
    """How many atoms are kept; chosen on the small problems of `benchmarks.steps`.

    Many atoms at first, or few of them after a thousand steps, led to larger objectives.
    """

    atoms: int = 16
    growth: int = 100  # steps after which one more atom is kept
    rounding: float = 1e-12  # eigenvalues of the quadratic below this share of the largest
    pruned: float = 1e-12  # smallest singular value of the base that is kept, over the largest


class CorrectiveSteps:
    """An iterate as a base and the last atoms, `X = X_0 + sum_i w_i Z_i`, with weights to choose.

    A step adds an atom and minimises `f(a X_0 + sum_i w_i Z_i) + mu (a ||X_0||_* + sum_i w_i)` over
    all a and w of at least zero. Exact steps in the plane of X and Z alone converge like 1/k: the
    weights of old atoms all shrink together. The oldest atom goes into the base when the memory
    is full.

    Parameters
    ----------
    objective : Penalized
    X : LowRank
        The first base, with balanced factors.
    memory : CorrectiveMemory
    restored : Restored, optional
        What `kept` returned in a run that is resumed.
    """

    def __init__(
        self,
        objective: Penalized,
        X: LowRank,
        memory: CorrectiveMemory = CorrectiveMemory(),
        restored: Restored | None = None,
    ) -> None:
        self.objective, self.memory = objective, memory
        if restored is not None:
            self.base, self.atoms = restored.matrix("base"), restored.matrices("atoms")
            self.steps, self.weights = restored["steps"], restored["weights"]
            self.norms, self.slopes = restored["norms"], restored["slopes"]
            self.quadratic = restored["quadratic"]
            return
        self.base, self.atoms, self.steps = X, list[LowRank](), 0
        point = objective.at(X)
        self.weights = np.ones(1)  # of the base and of the atoms, oldest first
        self.norms = np.array([point.half_norms])
        self.slopes = np.array([objective.slope_at_zero(point)])  # <grad f(0), .>
        self.quadratic = np.array([[objective.curvature(point)]])  # of f

    def step(self, Z: LowRank, top: SingularPairs) -> LowRank:
        """Add an atom of nuclear norm one and return the next iterate.

        Parameters
        ----------
        Z : LowRank
            Made of singular pairs of the gradient at the iterate.
        top : SingularPairs
            These pairs.
        """
        at_Z = self.objective.at(Z)
        # Of the size of the solution: second derivatives are differences of gradients.
        slope, curvature = abs(self.objective.slope_at_zero(at_Z)), self.objective.curvature(at_Z)
        Z = Z.scaled(slope / curvature if min(slope, curvature) > 0 else 1.0)
        at_Z = self.objective.at(Z)
        self._append(Z, at_Z, self._mixed(Z, at_Z, top))
        self.weights = self._best_weights()
        self._drop_unused()
        self.steps += 1
        while len(self.atoms) > self.memory.atoms + self.steps // self.memory.growth:
            self._merge_oldest()
        X = self.base.scaled(float(self.weights[0]))
        for weight, atom in zip(self.weights[1:], self.atoms, strict=True):
            X = X.appended(atom.scaled(float(weight)))
        return X

    def kept(self) -> dict[str, Any]:
        """Return everything that later steps depend on, for a checkpoint."""
        names = ("base", "atoms", "steps", "weights", "norms", "slopes", "quadratic")
        return {name: copy(getattr(self, name)) for name in names}  # lists and arrays change

    def _mixed(self, Z: LowRank, at_Z: Point, top: SingularPairs) -> NDArray:
        """Mixed second derivatives of f along Z and along the base and each atom."""
        slope_Z = self.objective.slope_at_zero(at_Z)
        gradient = self.objective.gradient(at_Z)
        mixed = np.zeros(self.weights.size)
        if self.atoms:
            xp = array_namespace(Z.U)
            images = gradient.matmul(xp.concat([atom.V.T for atom in self.atoms]).T)
            places = np.cumsum([0, *(atom.rank for atom in self.atoms)])
            for i, atom in enumerate(self.atoms):
                image = images[:, int(places[i]) : int(places[i + 1])]
                mixed[i + 1] = inner(atom.U, image) - self.slopes[i + 1]
        # <grad f(X), Z> is known from the singular values, and X is the weighted sum of all.
        shares = np.diag(at_Z.gram_U).real
        at_X = -float(np.dot(shares, top.values[: Z.rank])) - slope_Z
        if self.base.rank:
            mixed[0] = (at_X - float(mixed[1:] @ self.weights[1:])) / self.weights[0]
        return mixed

    def _append(self, Z: LowRank, at_Z: Point, mixed: NDArray) -> None:
        curvature = self.objective.curvature(at_Z)
        self.quadratic = np.block([[self.quadratic, mixed[:, None]], [mixed, curvature]])
        self.slopes = np.append(self.slopes, self.objective.slope_at_zero(at_Z))
        self.norms = np.append(self.norms, at_Z.half_norms)
        self.weights = np.append(self.weights, 0.0)
        self.atoms.append(Z)

    def _best_weights(self) -> NDArray:
        """Minimise the quadratic over weights of at least zero."""
        sizes = np.sqrt(np.diag(self.quadratic))  # the base may be much larger than an atom
        sizes[sizes == 0] = 1.0
        values, vectors = np.linalg.eigh(self.quadratic / np.outer(sizes, sizes))
        keep = values > self.memory.rounding * values[-1]
        roots, vectors = np.sqrt(values[keep]), vectors[:, keep]
        target = -(self.slopes + self.objective.mu * self.norms) / sizes
        weights, _ = nnls(roots[:, None] * vectors.T, (vectors.T @ target) / roots)
        return np.asarray(weights / sizes)

    def _drop_unused(self) -> None:
        """Forget atoms without weight, and the base if it has none."""
        used = self.weights > 0
        if not used[0]:
            self.base = LowRank.zeros(self.base.shape, self.base.U)
            self.quadratic[0], self.quadratic[:, 0] = 0.0, 0.0
            self.slopes[0], self.norms[0], used[0] = 0.0, 0.0, True
        self.atoms = [atom for atom, kept in zip(self.atoms, used[1:], strict=True) if kept]
        self._combine(np.eye(used.size)[used], self.weights[used])

    def _merge_oldest(self) -> None:
        """Make the oldest atom a part of the base."""
        mix = np.eye(self.weights.size)[1:]
        mix[0, :2] = self.weights[:2]
        oldest = self.atoms.pop(0).scaled(float(self.weights[1]))
        self.base = self.base.scaled(float(self.weights[0])).appended(oldest)
        self._combine(mix, np.append(1.0, self.weights[2:]))
        self.base = self.base.balanced(self.memory.pruned)
        self.norms[0] = self.base.nuclear_norm()  # below the sum of the weights, which matters

    def _combine(self, mix: NDArray, weights: NDArray) -> None:
        """Replace the base and the atoms by linear combinations of them."""
        self.quadratic, self.weights = mix @ self.quadratic @ mix.T, weights
        self.slopes, self.norms = mix @ self.slopes, mix @ self.norms

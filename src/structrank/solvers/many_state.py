"""The iterates of `solve_many`: one per problem, advanced together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, NDArray, array_namespace, inners, like
from ..model.linalg import random_vector
from ..model.stack import Stack, StackFigures, StackPoint, balanced
from ..model.stack_pairs import StackPairs, top_pairs
from .gradient_state import Accuracy
from .stack_proof import relative_gaps
from .stack_search import search_stack
from .stopping import Stop


@dataclass(frozen=True)
class ManyState:
    """The problems that are not finished: their iterates, and how accurate the next ones will be.

    Attributes
    ----------
    places : ndarray of int
        Where the problems are in the list of the user.
    stack : Stack
    point : StackPoint
        Balanced factors.
    figures : StackFigures
    ranks : ndarray of int
    top : StackPairs or None
        Top singular pairs of the gradients; None before they are computed.
    likely_gaps : ndarray
        What proofs are likely to find.
    aims : ndarray
        Gaps to aim at next.
    finer : ndarray
        Factors of the tolerances of the next local searches.
    """

    places: NDArray
    stack: Stack
    point: StackPoint
    figures: StackFigures
    ranks: NDArray
    top: StackPairs | None
    likely_gaps: NDArray
    aims: NDArray
    finer: NDArray

    @classmethod
    def zero(cls, stack: Stack, places: NDArray, accuracy: Accuracy) -> ManyState:
        """All iterates at zero."""
        point, ones = stack.zero(), np.ones(len(stack))
        return cls(
            places,
            stack,
            point,
            stack.figures(point),
            np.zeros(len(stack), dtype=int),
            None,
            np.inf * ones,
            accuracy.coarsest * ones,
            ones,
        )

    def chosen(self, kept: NDArray) -> ManyState:
        """The state without the problems that are finished."""
        if kept.size == len(self.stack):
            return self
        arrays = ("places", "ranks", "likely_gaps", "aims", "finer")
        parts: dict[str, Any] = {name: getattr(self, name)[kept] for name in arrays}
        for name in ("stack", "point", "figures", "top"):
            part = getattr(self, name)
            parts[name] = None if part is None else part.chosen(kept)
        return ManyState(**parts)

    def with_gradients(self, k: int, pairs: int, accuracy: Accuracy, stop: Stop) -> ManyState:
        """Line 3 of Algorithm 1: top pairs of the gradients, and the gaps that they make likely."""
        top = top_pairs(
            self.stack.gradient(self.point),
            self._start(k, accuracy.guess),
            max(pairs, accuracy.recycled),
            np.minimum(self.aims, accuracy.coarsest_pair),
        )
        rounding = accuracy.proof.rounding.sums * self.stack.eps
        likely = relative_gaps(self.figures, top.likely_top, rounding)
        missed = (k > 1) & (likely > self.aims)  # the local search ended too early
        finest = accuracy.aim(0.0, stop)
        aims = np.maximum(np.minimum(accuracy.digit * likely, accuracy.coarsest), finest)
        finer = np.where(missed, accuracy.finer * self.finer, self.finer)
        return replace(self, top=top, likely_gaps=likely, aims=aims, finer=finer)

    def _start(self, k: int, weight: float) -> Array:
        """Add the last singular vectors to noise, which is left to find new directions."""
        size = self.stack.kernel.shape[1]
        noise = random_vector(size, self.stack.data, seed=k)[None, None, :]
        xp = array_namespace(noise)
        noise = xp.tile(noise, (len(self.stack), 1, 1))
        if self.top is None:
            return noise
        guess = xp.sum(self.top.W, axis=1, keepdims=True)
        tiny = 1e-30  # avoids a division by zero
        ratio = inners(noise, noise) / xp.clip(inners(guess, guess), tiny, None)
        return noise + weight * xp.sqrt(ratio)[:, None, None] * guess

    def stepped(self, pairs: int, search_steps: int, accuracy: Accuracy) -> ManyState:
        """Lines 4 to 6: a step towards the top pairs, a local search, and balanced factors."""
        stack, psi = self.stack, self.figures.psi
        pruned = max(accuracy.pruned, accuracy.proof.rounding.sums * stack.eps)
        U, W = self._joint_step(pairs)
        tolerances = self.finer * accuracy.search * self.aims**2
        U, W = search_stack(stack, (U, W), max_steps=search_steps, tolerances=tolerances)
        U, W, ranks = balanced(U, W, pruned)
        point = stack.at(U, W)
        figures = stack.figures(point)
        worse = np.flatnonzero(~(figures.psi <= (1 + pruned) * psi))  # what Theorem 1 forbids
        if worse.size:
            ranks[worse] = self.ranks[worse]
            point = stack.at(*_replaced((U, W), (self.point.U, self.point.W), worse))
            figures = stack.figures(point)
        return replace(self, point=point, figures=figures, ranks=ranks)

    def _joint_step(self, pairs: int) -> tuple[Array, Array]:
        """Append the atoms to the factors, with the weights of both in closed form."""
        assert self.top is not None  # `with_gradients` comes first
        stack, X, xp = self.stack, self.figures, array_namespace(self.point.U)
        excess = np.maximum(self.top.values[:, :pairs] - stack.mu[:, None], 0.0)
        excess[excess[:, 0] == 0, 0] = 1.0
        used = int(np.max(np.count_nonzero(excess, axis=1)))
        shares = excess[:, :used] / np.sum(excess, axis=1, keepdims=True)
        roots = like(np.sqrt(shares), self.point.U)[:, :, None]
        ZU, ZW = -roots * self.top.U[:, :used, :], roots * self.top.W[:, :used, :]
        Z = stack.figures(stack.at(ZU, ZW))
        slope = -np.sum(shares * self.top.values[:, :used], axis=1)  # <grad f(X), Z>
        linear = np.stack([stack.mu * X.half_norms - X.alignment, stack.mu - Z.alignment])
        mixed = slope + Z.alignment
        kept, theta = _least(linear, np.stack([X.curvature, mixed, Z.curvature]))
        a, b = (stack.spread(np.sqrt(weights)) for weights in (kept, theta))
        if not self.ranks.any():
            return b * ZU, b * ZW
        return (
            xp.concat([a * self.point.U, b * ZU], axis=1),
            xp.concat([a * self.point.W, b * ZW], axis=1),
        )


def _least(linear: NDArray, quadratic: NDArray) -> tuple[NDArray, NDArray]:
    """Minimise `l0 a + l1 b + (q0 a^2 + 2 q1 a b + q2 b^2) / 2` over a and b of at least zero.

    As `StepPlane.joint`, for many problems: arguments have shapes (2, problems), (3, problems).
    """
    (l0, l1), (q0, q1, q2) = linear, quadratic
    none, determinant = np.zeros_like(l0), q0 * q2 - q1**2
    regular = determinant > 0
    safe = np.where(regular, determinant, 1.0)
    both = (q1 * l1 - q2 * l0) / safe, (q1 * l0 - q0 * l1) / safe
    inside = regular & (both[0] >= 0) & (both[1] >= 0)
    candidates = np.array(
        [
            (none, _ratios(-l1, q2)),
            (_ratios(-l0, q0), none),
            (np.where(inside, both[0], 0.0), np.where(inside, both[1], 0.0)),
        ]
    )
    a, b = candidates[:, 0], candidates[:, 1]
    values = l0 * a + l1 * b + (q0 * a**2 + 2 * q1 * a * b + q2 * b**2) / 2
    best = np.argmin(values, axis=0)[None]
    return np.take_along_axis(a, best, 0)[0], np.take_along_axis(b, best, 0)[0]


def _ratios(numerators: NDArray, denominators: NDArray) -> NDArray:
    """Divide where both numbers are above zero, else return zero."""
    use = (numerators > 0) & (denominators > 0)
    return np.where(use, numerators / np.where(use, denominators, 1.0), 0.0)


def _replaced(
    factors: tuple[Array, Array], others: tuple[Array, Array], places: NDArray
) -> tuple[Array, Array]:
    """Take the factors of some problems from others; both are padded to the same rank."""
    xp = array_namespace(factors[0])
    rank = max(factors[0].shape[1], others[0].shape[1])
    mask = np.zeros(factors[0].shape[0], dtype=bool)
    mask[places] = True
    use = like(mask, factors[0])[:, None, None]

    def padded(rows: Array) -> Array:
        more = xp.zeros_like(rows[:, :1, :])
        return xp.concat([rows, *[more] * (rank - rows.shape[1])], axis=1)

    return (
        xp.where(use, padded(others[0]), padded(factors[0])),
        xp.where(use, padded(others[1]), padded(factors[1])),
    )

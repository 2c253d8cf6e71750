"""The local search of `local_search.py`, on many problems in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from array_api_compat import device

from .._array import (
    Array,
    NDArray,
    all_chosen,
    array_namespace,
    in_single_precision,
    inners,
    joined,
)
from ..model import quartic
from ..model.stack import Stack, StackPoint, traces
from ..model.stack_line import StackLine

Pair = tuple[Array, Array]  # for U and for W


@dataclass(frozen=True)
class LockstepSearch:
    """How problems are searched together; it changes the time of a run, not its result."""

    leave: float = 0.2  # finished problems leave when this share is; that costs a fifth of a step
    rough: float = 1e-5  # tolerances from which on single precision, 1e-6 of psi, is enough


@dataclass
class _Update:
    """The last step s of every problem, and minus the change of the gradients along it."""

    step: Pair
    change: Pair
    product: Array  # <s, change of the gradient>, problems x 1 x 1

    def chosen(self, places: NDArray) -> _Update:
        parts = all_chosen((*self.step, *self.change, self.product), places)
        return _Update((parts[0], parts[1]), (parts[2], parts[3]), parts[4])


def search_stack(
    stack: Stack,
    factors: Pair,
    *,
    max_steps: int,
    tolerances: NDArray,
    search: LockstepSearch = LockstepSearch(),
) -> Pair:
    """Lower every `psi(U, V)` from given factors, line 6 of Algorithm 1; no psi rises.

    Rough searches are made in single precision, which takes half the time.

    Parameters
    ----------
    stack : Stack
    factors : tuple of two arrays
        U and W where to start. They are overwritten.
    max_steps : int
        Largest number of steps.
    tolerances : ndarray
        A problem is finished when a step lowers its psi by at most this fraction of psi.
    search : LockstepSearch

    Returns
    -------
    U, W : array
    """
    xp = array_namespace(factors[0])
    rough = (tolerances >= search.rough) & stack.fits_single_precision
    found: list[tuple[NDArray, Array, Array]] = []
    for single, places in ((True, np.flatnonzero(rough)), (False, np.flatnonzero(~rough))):
        if places.size:
            whole = places.size == len(stack)
            part, start = stack.chosen(places), factors if whole else _chosen(factors, places)
            if single:
                part = part.in_single_precision()
                start = in_single_precision(start[0]), in_single_precision(start[1])
            lowered = _search(part, start, max_steps, tolerances[places], search)
            found.append((places, *(xp.astype(F, factors[0].dtype, copy=False) for F in lowered)))
    return _joined(found)


def _search(
    stack: Stack, factors: Pair, max_steps: int, tolerances: NDArray, search: LockstepSearch
) -> Pair:
    """Search in the precision of the stack."""
    point, places = stack.at(*factors), np.arange(len(stack))
    update: _Update | None = None
    gradient = stack.factor_gradient(point)
    finished: list[tuple[NDArray, Array, Array]] = []
    active = np.ones(len(stack), dtype=bool)
    for _ in range(max_steps):
        direction = _ascent(gradient, update, stack, point)
        slopes = _inners(gradient, direction)
        line = StackLine(stack, point, *direction)
        lengths = quartic.minimizers(line.psi)
        lengths = np.where(active & quartic.possible(line.psi, lengths), lengths, 0.0)
        point = line.move(stack, lengths)
        active &= (lengths != 0) & line.lowers(lengths, tolerances[places])
        if not active.any():
            break
        previous, gradient = gradient, stack.factor_gradient(point)
        change = previous[0] - gradient[0], previous[1] - gradient[1]
        # The new gradients are orthogonal to the directions, because the steps were exact.
        update = _Update((line.DU, line.DW), change, -stack.spread(lengths) * slopes)
        if np.mean(active) <= 1 - search.leave:
            left, kept = np.flatnonzero(~active), np.flatnonzero(active)
            finished.append((places[left], *_chosen((point.U, point.W), left)))
            stack, point, places = stack.chosen(kept), point.chosen(kept), places[kept]
            gradient, update, active = _chosen(gradient, kept), update.chosen(kept), active[kept]
    finished.append((places, point.U, point.W))
    return _joined(finished)


def _ascent(gradient: Pair, update: _Update | None, stack: Stack, point: StackPoint) -> Pair:
    """Multiply the gradients by the inverse Hessians of L-BFGS with one update.

    An update is forgotten where the curvature along the step is not positive.
    """
    xp = array_namespace(point.U)
    unit = xp.eye(point.U.shape[1], dtype=point.U.dtype, device=device(point.U))
    inverses = [
        xp.linalg.inv(H + stack.eps * traces(H)[:, None, None] * unit)  # never singular
        for H in stack.curvatures(point)
    ]
    z = tuple(xp.matmul(inverse, g) for inverse, g in zip(inverses, gradient, strict=True))
    if update is None:
        return z
    known = update.product > 0
    product = xp.where(known, update.product, xp.ones_like(update.product))
    share = xp.where(known, _inners(update.change, z) / product, xp.zeros_like(product))
    return z[0] + share * update.step[0], z[1] + share * update.step[1]


def _inners(a: Pair, b: Pair) -> Array:
    """Inner products per problem, as (problems, 1, 1)."""
    return (inners(a[0], b[0]) + inners(a[1], b[1]))[:, None, None]


def _chosen(pair: Pair, places: NDArray) -> Pair:
    U, W = all_chosen(pair, places)
    return U, W


def _joined(parts: Sequence[tuple[NDArray, Array, Array]]) -> Pair:
    """Join the factors of parts of a stack, in order."""
    where, U, W = zip(*parts, strict=True)
    return joined(U, where), joined(W, where)

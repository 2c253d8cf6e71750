"""Samples left out, to be predicted from the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, to_numpy
from ..model.problem import Problem

ONE_IN, ONE_IN_FEW, FEW = 10, 5, 200  # one in ten is left out, one in five of fewer than 200
TRIES = 10  # places to which the gaps are moved


def parts_of(problem: Problem, folds: int, rng: int | np.random.Generator) -> list[np.ndarray]:
    """The samples in parts of about equal size, each as an array of bool."""
    seen = problem.seen
    places = np.flatnonzero(seen)
    if not 2 <= folds <= len(places):
        raise ValueError(
            f"folds is {folds}, but from 2 to the number of samples, {len(places)}, are expected"
        )
    labels = np.full(seen.size, -1)
    labels[places] = np.random.default_rng(rng).permutation(np.arange(len(places)) % folds)
    return [labels.reshape(seen.shape) == k for k in range(folds)]


def squared_errors(problem: Problem, part: np.ndarray, y: Array) -> np.ndarray:
    """Squares of the errors in a part of the samples."""
    return np.abs(to_numpy(problem.predicted(y) - problem.b)[part]) ** 2


def clearly_better(errors: np.ndarray, than: np.ndarray) -> bool:
    """Whether errors are lower by more than the standard error of the difference."""
    gain = than - errors
    return bool(np.sum(gain) > np.sqrt(gain.size) * np.std(gain))


def left_out(problem: Problem, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Parts of the samples to be left out in turn, in gaps like those of the data.

    The missing ones, moved to where about a tenth of the samples is hit (a fifth, of few samples
    or if there is one part only); or, if there is no such place, as for scattered ones or few,
    random ones, in parts that do not overlap. Edges that are seen all along are never left out: to
    predict them is harder than what the data ask for.
    """
    seen = problem.seen
    structure: Any = problem.structure
    axes = tuple(range(len(structure.lengths)))
    inside = seen & ~_whole_edges(seen, axes)
    inside = inside if np.any(inside) else seen
    one_in = ONE_IN_FEW if count == 1 or np.count_nonzero(seen) < FEW else ONE_IN
    scattered = rng.permutation(np.arange(seen.size) % one_in).reshape(seen.shape)
    parts = []
    for k in range(count):
        moved = [
            inside & np.roll(~seen, [int(rng.integers(seen.shape[axis])) for axis in axes], axes)
            for _ in range(TRIES)
        ]
        shares = [np.count_nonzero(part) / np.count_nonzero(seen) for part in moved]
        nearest = int(np.argmin(np.abs(np.array(shares) - 1 / one_in)))
        part = moved[nearest]
        if not 1 / (4 * one_in) <= shares[nearest] <= 1 / 3:
            part = inside & (scattered == k % one_in)
        if not np.any(part):  # of very few samples
            part.flat[rng.choice(np.flatnonzero(inside))] = True
        parts.append(part)
    return parts


def _whole_edges(seen: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The first and the last samples along each axis, where none of them is missing."""
    edges = np.zeros_like(seen)
    for axis in axes:
        for end in (0, -1):
            at = (slice(None),) * axis + (end,)
            edges[at] |= np.all(seen[at])
    return edges

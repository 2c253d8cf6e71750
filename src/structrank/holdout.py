"""Samples left out, to be predicted from the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ._array import Array, array_namespace, like, to_numpy
from .measure import Everything, Operator, Weighted
from .problem import Problem

HELD_OUT = 5  # one in about this many samples is left out


def parts_of(problem: Problem, folds: int, seed: int) -> list[np.ndarray]:
    """The samples in parts of about equal size, each as an array of bool."""
    seen = np.ones(problem.b.shape, dtype=bool)
    if isinstance(problem.measure, Weighted):
        seen = to_numpy(problem.measure.weights) > 0
    places = np.flatnonzero(seen)
    if not 2 <= folds <= len(places):
        raise ValueError(
            f"folds is {folds}, but from 2 to the number of samples, {len(places)}, are expected"
        )
    labels = np.full(seen.size, -1)
    labels[places] = np.random.default_rng(seed).permutation(np.arange(len(places)) % folds)
    return [labels.reshape(seen.shape) == k for k in range(folds)]


def without(problem: Problem, part: np.ndarray) -> Problem:
    """The problem with some samples left out."""
    measure = problem.measure
    if isinstance(measure, Everything):
        return replace(problem, measure=Weighted(~part * 1.0))
    if isinstance(measure, Weighted):
        return replace(problem, measure=Weighted(measure.weights, ~part))
    xp, shape = array_namespace(problem.b), tuple(problem.b.shape)
    places = np.flatnonzero(~part)
    back = np.full(part.size, len(places))  # one past the end: a zero
    back[places] = np.arange(len(places))

    def forward(y: Array) -> Array:
        return _taken(measure.forward(y), places)

    def adjoint(data: Array) -> Array:
        padded = xp.concat([data, xp.zeros_like(data[:1])])
        return measure.adjoint(xp.reshape(_taken(padded, back), shape))

    return replace(problem, b=_taken(problem.b, places), measure=Operator(forward, adjoint))


def _taken(values: Array, places: np.ndarray) -> Array:
    """Entries of the flattened values."""
    xp = array_namespace(values)
    return xp.take(xp.reshape(values, (-1,)), like(places, values), axis=0)


def squared_errors(problem: Problem, part: np.ndarray, y: Array) -> np.ndarray:
    """Squares of the errors in a part of the samples."""
    values = problem.measure.forward(y) if isinstance(problem.measure, Operator) else y
    return np.abs(to_numpy(values - problem.b)[part]) ** 2


def clearly_better(errors: np.ndarray, than: np.ndarray) -> bool:
    """Whether errors are lower by more than the standard error of the difference."""
    gain = than - errors
    return bool(np.sum(gain) > np.sqrt(gain.size) * np.std(gain))


def left_out(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A part of the samples, in gaps like those of the data: the missing ones, moved."""
    seen = to_numpy(problem.measure.weights) > 0
    structure: Any = problem.structure
    axes = tuple(range(len(structure.lengths)))
    shift = [int(rng.integers(seen.shape[axis])) for axis in axes]
    part = seen & np.roll(~seen, shift, axes)
    share = np.count_nonzero(part) / np.count_nonzero(seen)
    if share < 1 / (4 * HELD_OUT):
        part = seen & (rng.random(seen.shape) < 1 / HELD_OUT)
    elif share > 1 / 3:
        part &= rng.random(seen.shape) < 1 / HELD_OUT / share
    if not np.any(part):  # of very few samples
        part.flat[rng.choice(np.flatnonzero(seen))] = True
    return part

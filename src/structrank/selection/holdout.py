"""Held-out samples, to be predicted from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import random_generator
from ..model.problem import Problem


@dataclass(frozen=True)
class HoldOut:
    """How many samples `held_out_parts` takes; set by hand, checked with benchmarks.real_data."""

    one_in: int = 10  # one sample in ten is held out
    one_in_few: int = 5  # one in five if samples are few, or if there is only one part
    few: int = 200  # fewer samples than this are few
    tries: int = 10  # random places to which the gaps of the data are moved
    least_share: float = 0.25  # moved gaps must hit this share of the wanted number
    most_share: float = 1 / 3  # moved gaps may hit this share of all samples


def random_parts(problem: Problem, folds: int, rng: int | np.random.Generator) -> list[NDArray]:
    """Divide the samples at random into parts of about equal size, each as an array of bool."""
    seen = problem.seen
    places = np.flatnonzero(seen)
    if not 2 <= folds <= len(places):
        raise ValueError(
            f"folds is {folds}, but from 2 to the number of samples, {len(places)}, are expected"
        )
    labels = np.full(seen.size, -1)
    labels[places] = random_generator(rng).permutation(np.arange(len(places)) % folds)
    return [labels.reshape(seen.shape) == k for k in range(folds)]


def squared_errors(problem: Problem, part: NDArray, y: Array) -> NDArray:
    """Squared errors of the predictions of a part of the samples."""
    squares: NDArray = np.abs(to_numpy(problem.predicted(y) - problem.b)[part]) ** 2
    return squares


def clearly_better(errors: NDArray, than: NDArray) -> bool:
    """Whether errors are smaller by more than the standard error of the difference."""
    gain = than - errors
    return bool(np.sum(gain) > np.sqrt(gain.size) * np.std(gain))


def held_out_parts(
    problem: Problem, rng: np.random.Generator, count: int, *, holding: HoldOut = HoldOut()
) -> list[NDArray]:
    """Parts of the samples to hold out in turn, in gaps like those of the data.

    The pattern of missing samples is moved to a random place where it hits about a tenth of the
    samples (a fifth if samples are few, or if there is only one part). If there is no such place,
    because missing samples are scattered or few, random samples are held out, in parts that do
    not overlap. Edges that are seen completely are never held out: it is harder to predict them
    than what the data ask for.

    Parameters
    ----------
    problem : Problem
        A problem with samples of the signal.
    rng : numpy.random.Generator
    count : int
        Number of parts.
    holding : HoldOut
        How many samples are held out.

    Returns
    -------
    list of ndarray of bool

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.selection.holdout import held_out_parts
    >>> problem = Problem(Hankel(50, window=25), np.ones(50), mu=1.0)
    >>> parts = held_out_parts(problem, np.random.default_rng(0), 5)
    >>> int(np.sum(parts)), bool(parts[0][0] or parts[0][-1])
    (48, False)
    """
    seen = problem.seen
    structure: Any = problem.structure
    axes = tuple(range(len(structure.lengths)))
    inside = seen & ~_whole_edges(seen, axes)
    inside = inside if np.any(inside) else seen
    few = count == 1 or np.count_nonzero(seen) < holding.few
    one_in = holding.one_in_few if few else holding.one_in
    order = _channels_by_size(problem, axes)
    drawn = rng.permutation(np.arange(seen.size) % one_in).reshape(*structure.lengths, -1)
    scattered = drawn[..., np.argsort(order)].reshape(seen.shape)
    parts = []
    for k in range(count):
        moved = [
            inside & np.roll(~seen, [int(rng.integers(seen.shape[axis])) for axis in axes], axes)
            for _ in range(holding.tries)
        ]
        shares = [np.count_nonzero(part) / np.count_nonzero(seen) for part in moved]
        nearest = int(np.argmin(np.abs(np.array(shares) - 1 / one_in)))
        part = moved[nearest]
        if not holding.least_share / one_in <= shares[nearest] <= holding.most_share:
            part = inside & (scattered == k % one_in)
        if not np.any(part):  # if samples are very few
            part.flat[rng.choice(np.flatnonzero(inside))] = True
        parts.append(part)
    return parts


def _channels_by_size(problem: Problem, axes: tuple[int, ...]) -> NDArray:
    """The channels in an order that does not depend on theirs, for draws that do not either."""
    values = np.where(problem.seen, to_numpy(problem.b), 0.0)
    return np.argsort(-np.sum(np.abs(values), axis=axes).reshape(-1), kind="stable")


def _whole_edges(seen: NDArray, axes: tuple[int, ...]) -> NDArray:
    """The first and the last samples along each axis, if none of them is missing."""
    edges = np.zeros_like(seen)
    for axis in axes:
        for end in (0, -1):
            at = (slice(None),) * axis + (end,)
            edges[at] |= np.all(seen[at])
    return edges

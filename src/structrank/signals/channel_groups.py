"""Which channels share modes or patterns: these are fitted together, the others alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._array import Array, NDArray, to_numpy
from .._checks import random_generator
from .._watch import seconds_left, tell, time_is_up, watched
from ..model.problem import Problem
from ..selection.holdout import held_out_parts
from .channels import channel_count
from .problems import SignalSizes, hankel_problem

Members = tuple[int, ...]
Signal = Callable[[Problem], Array]


@dataclass(frozen=True)
class GroupSearch:
    """How channels that share nothing are found out; set by hand.

    Attributes
    ----------
    most_values : int
        Values of a table, at most, that is searched: each channel is fitted once more.
    overlap : float
        Overlap of two spectra from which on channels may belong together. Equal spectra have 1,
        tones of different frequencies about 0, and one tone of two in common gives a half.
    largest_ratio, deviations : float
        A channel is fitted alone if its error is then below this share of that of the common fit,
        and smaller by so many standard errors of the difference; by one if the same holds for all
        channels of the group together.
    time_share : float
        Share of a time limit after which the search ends, with one group. Taste.
    """

    most_values: int = 100_000
    overlap: float = 0.2
    largest_ratio: float = 0.95
    deviations: float = 2.0
    time_share: float = 0.4


def channel_groups(
    problem: Problem,
    signal: Signal,
    rng: int | np.random.Generator = 0,
    search: GroupSearch = GroupSearch(),
) -> list[Members]:
    """Divide the channels of a series into groups that predict held-out samples well together.

    Samples are held out, and every channel is fitted alone. Channels whose spectra overlap are
    fitted together. One that is predicted worse together than alone leaves its group.

    Parameters
    ----------
    problem : Problem
        The Hankel problem of all channels.
    signal : callable
        Returns the signal that is found for a problem of some channels.
    rng : int or numpy.random.Generator
        Seed for choosing held-out samples.
    search : GroupSearch

    Returns
    -------
    list of tuple of int
        Each channel is in one group. There is one group if the signal has several axes or is long.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.channel_groups import channel_groups
    >>> from structrank.signals.direct_modes import direct_fit
    >>> from structrank.signals.problems import hankel_problem
    >>> from structrank.signals.solutions import Known
    >>> t = np.arange(80)
    >>> table = np.cos(np.outer(t, [0.3, 0.3, 0.5]) + [0, 1, 2])
    >>> table += 0.1 * np.random.default_rng(0).standard_normal((80, 3))
    >>> def signal(problem):
    ...     return direct_fit(problem, Known()).fit.y
    >>> channel_groups(hankel_problem(table, channels=1), signal)
    [(0, 1), (2,)]
    """
    structure: Any = problem.structure
    (everything,) = all_channels(problem)
    if len(everything) == 1 or len(structure.lengths) > 1 or problem.b.size > search.most_values:
        return [everything]
    with watched(search.time_share * seconds_left()) as watch:
        groups = _groups(problem, everything, signal, rng, search)
    return [everything] if watch.cut else groups


def _groups(
    problem: Problem,
    everything: Members,
    signal: Signal,
    rng: int | np.random.Generator,
    search: GroupSearch,
) -> list[Members]:
    """Return the groups of several channels; any that are not too many if time is up."""
    part = held_out_parts(problem, random_generator(rng), 1)[0]
    training = problem.without(part)
    if np.min(np.count_nonzero(training.seen, axis=0)) < SignalSizes().fewest_samples:
        return [everything]
    samples, held_out = to_numpy(problem.b)[..., 0], part[..., 0]
    signals = []
    for c in everything:
        tell(f"channel {c}: alone")
        signals.append(_fitted(training, (c,), signal)[:, 0])
        if time_is_up():
            return [everything]
    alone = np.stack(signals, axis=1)
    groups: list[Members] = []
    for members in _related(alone, search):
        leaving: Members = ()
        if len(members) > 1:
            at = list(members)
            together, apart = (
                np.where(held_out[:, at], np.abs(signals - samples[:, at]), np.nan)
                for signals in (_fitted(training, members, signal), alone[:, at])
            )
            leaving = tuple(np.array(members)[_worse(together, apart, search)].tolist())
        staying = tuple(c for c in members if c not in leaving)
        groups += [group for group in (staying, *((c,) for c in leaving)) if group]
    return sorted(groups)


def all_channels(problem: Problem) -> list[Members]:
    """Return one group of all channels; (0,) if there are none."""
    return [tuple(range(channel_count(problem)))]


def channel_rows(
    groups: Sequence[Members], samples: Any, axis: int | None
) -> list[tuple[str, str]]:
    """Return the row of a summary that says which channels belong together; none for one group.

    Columns and rows of a DataFrame have names, other channels have numbers.
    """
    names: Any = range(1 + max(map(max, groups), default=0))
    if hasattr(samples, "iloc") and axis is not None:
        names = samples.axes[axis]
    words = [", ".join(str(names[k]) for k in members) for members in groups]
    return [("channels", f"fitted in groups: {'; '.join(words)}")] if len(groups) > 1 else []


def problem_of(problem: Problem, members: Members) -> Problem:
    """Return the problem of some channels; that of one channel has no axis of channels."""
    structure: Any = problem.structure
    if len(members) == channel_count(problem):
        return problem
    values = np.where(problem.seen, to_numpy(problem.b), np.nan)[..., list(members), 0]
    if len(members) == 1:
        return hankel_problem(values[..., 0], structure.window)
    return hankel_problem(values, structure.window, values.ndim - 1)


def in_channels(values: Any, members: Members) -> NDArray:
    """Return a signal of the problem of some channels in shape (lengths..., channels)."""
    host = to_numpy(values)
    return host[..., None] if len(members) == 1 else host[..., 0]


def _fitted(problem: Problem, members: Members, signal: Signal) -> NDArray:
    return in_channels(signal(problem_of(problem, members)), members)


def _related(signals: NDArray, search: GroupSearch) -> list[Members]:
    """Return groups of channels whose spectra overlap, directly or through others.

    A channel in which nothing was found alone may belong to any.
    """
    centred = signals - np.mean(signals, axis=0)
    taper = np.hanning(len(signals) + 2)[1:-1, None]
    powers = np.abs(np.fft.fft(taper * centred, axis=0)) ** 2
    totals = np.sum(powers, axis=0)
    roots = np.sqrt(powers / np.where(totals > 0, totals, 1.0))
    overlaps = roots.T @ roots
    overlaps[totals == 0, :] = overlaps[:, totals == 0] = 1.0
    labels = connected_components(overlaps > search.overlap, directed=False)[1]
    return [tuple(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


def _worse(together: NDArray, alone: NDArray, search: GroupSearch) -> NDArray:
    """Which channels are predicted worse together than alone; errors are NaN if not held out."""

    def is_clear(channel: NDArray | slice, deviations: float) -> bool:
        known = ~np.isnan(alone[:, channel])
        if not np.any(known):
            return False
        errors, others = alone[:, channel][known], together[:, channel][known]
        gain = others - errors
        clear = np.mean(gain) > deviations * np.std(gain) / np.sqrt(gain.size)
        return bool(clear and np.mean(errors) < search.largest_ratio * np.mean(others))

    deviations = 1.0 if is_clear(slice(None), 1.0) else search.deviations
    return np.array([is_clear(np.array([c]), deviations) for c in range(alone.shape[1])])

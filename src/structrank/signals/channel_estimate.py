"""One estimate from those of groups of channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import seconds_left, watched
from ..modal.modes import ModeErrors, Modes
from ..model.problem import Problem
from ..solvers.result import Result
from .channel_groups import Members, in_channels, problem_of
from .estimates import ErrorDraws, Estimate
from .estimation import Found
from .solutions import mu_for_errors, solve_roughly


def estimate_in_groups(
    problem: Problem,
    groups: Sequence[Members],
    estimate: Callable[[Problem], Found],
    rng: int | np.random.Generator = 0,
) -> Found:
    """Estimate every group of channels by itself, and put the estimates together.

    Parameters
    ----------
    problem : Problem
        Of all channels.
    groups : sequence of tuple of int
        The channels of each group.
    estimate : callable
        Returns the estimate for the problem of some channels.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.

    Returns
    -------
    Found
        Its modes are those of all groups, with amplitudes of zero in other groups. Its noise level
        is the root mean square over channels. The candidate is one that fits modes only if modes
        were fitted to all groups.
    """
    if len(groups) == 1:
        return estimate(problem)
    found: list[Found] = []
    for members in groups:
        with watched(seconds_left() / (len(groups) - len(found))):
            found.append(estimate(problem_of(problem, members)))
    whole = merged([one.estimate for one in found], groups)
    candidate = next((one.candidate for one in found if not one.candidate.preferred), None)
    error = float(np.sqrt(np.mean(to_numpy(whole.stderr) ** 2)))
    solve = partial(_solved, problem, error if whole.sigma is None else whole.sigma, rng)
    return Found(whole, candidate or found[0].candidate, solve, None)


def merged(parts: Sequence[Estimate], groups: Sequence[Members]) -> Estimate:
    """Return one estimate of all channels from those of groups.

    Parameters
    ----------
    parts : sequence of Estimate
        In the shapes of the signals of their structures.
    groups : sequence of tuple of int
        The channels of each group.

    Returns
    -------
    Estimate
        As for `estimate_in_groups`.
    """
    count = sum(map(len, groups))
    first = in_channels(parts[0].signal, groups[0])
    signal = np.zeros((*first.shape[:-1], count), dtype=first.dtype)
    stderr, deviation = (np.zeros(signal.shape, dtype=signal.real.dtype) for _ in range(2))
    expected = np.zeros_like(signal)
    for part, members in zip(parts, groups, strict=True):
        signal[..., list(members)] = in_channels(part.signal, members)
        stderr[..., list(members)] = in_channels(part.stderr, members)
        deviation[..., list(members)] = in_channels(part.new_deviation, members)
        if part.expected is not None:
            expected[..., list(members)] = in_channels(part.expected, members)
    modal = all(part.modes is not None or part.rank == 0 for part in parts)
    modes = _union(parts, groups) if modal and any(part.rank for part in parts) else None
    rank = max(part.rank for part in parts) if modes is None else len(modes)
    signal, stderr, deviation, expected = (
        x[..., None] for x in (signal, stderr, deviation, expected)
    )
    noise, errors = _noise(parts, groups), None
    draws = [part.errors for part in parts if part.errors is not None]
    if len(draws) == len(parts):
        errors = partial(_errors, draws, groups, signal)
    known = any(part.expected is not None for part in parts)
    return Estimate(
        signal,
        stderr,
        rank,
        modes,
        noise,
        deviation=deviation,
        errors=errors,
        expected=expected if known else None,
        part_errors=None if modes is None else partial(_part_errors, parts, groups, signal.shape),
    )


def _errors(
    draws: Sequence[ErrorDraws],
    groups: Sequence[Members],
    signal: NDArray,
    n: int,
    rng: np.random.Generator,
) -> NDArray:
    """Draws of the errors of all channels over their standard errors; groups are independent."""
    errors = np.zeros((n, *signal.shape), dtype=signal.dtype)
    for draw, members in zip(draws, groups, strict=True):
        errors[..., list(members), 0] = np.stack([in_channels(x, members) for x in draw(n, rng)])
    return errors


def _part_errors(
    parts: Sequence[Estimate], groups: Sequence[Members], shape: tuple[int, ...], modes: Modes
) -> NDArray | None:
    """Standard errors of the sum of some modes, each of which belongs to one group."""
    out = np.zeros(shape)
    for part, members in zip(parts, groups, strict=True):
        own = modes[np.any(modes.amplitudes[:, list(members)] != 0, axis=1)]
        if len(own) == 0:
            continue
        errors = None if part.part_errors is None else part.part_errors(own)
        if errors is None:
            return None
        out[..., list(members), 0] = in_channels(errors, members)
    return out


def _solved(problem: Problem, error: float, rng: int | np.random.Generator) -> Result:
    """Return the convex solution of all channels together, for noise of one size."""
    return solve_roughly(problem, mu_for_errors(problem, error, rng)).result


def _noise(parts: Sequence[Estimate], groups: Sequence[Members]) -> float | None:
    levels = [part.sigma for part in parts]
    if any(level is None for level in levels):
        return None
    counts = [len(members) for members in groups]
    return float(np.sqrt(np.average(np.square(np.array(levels, dtype=float)), weights=counts)))


def _union(parts: Sequence[Estimate], groups: Sequence[Members]) -> Modes:
    """Return the modes of all groups, with amplitudes in all channels."""
    count = sum(map(len, groups))
    fitted = [(p.modes, members) for p, members in zip(parts, groups, strict=True) if p.modes]

    def wide(values: NDArray, members: Members) -> NDArray:
        out = np.zeros((len(values), count), dtype=values.dtype)
        out[:, list(members)] = values.reshape(len(values), -1)
        return out

    errors = [modes.stderr for modes, _ in fitted]
    stderr = None
    if all(error is not None for error in errors):
        pairs = [(error, members) for error, (_, members) in zip(errors, fitted, strict=True)]
        stderr = ModeErrors(
            np.concatenate([e.frequencies for e, _ in pairs if e]),
            np.concatenate([e.dampings for e, _ in pairs if e]),
            np.concatenate([wide(e.amplitudes, members) for e, members in pairs if e]),
            np.concatenate([wide(e.phases, members) for e, members in pairs if e]),
        )
    return Modes(
        np.concatenate([modes.frequencies for modes, _ in fitted]),
        np.concatenate([modes.dampings for modes, _ in fitted]),
        np.concatenate([wide(to_numpy(modes.amplitudes), members) for modes, members in fitted]),
        stderr,
    )

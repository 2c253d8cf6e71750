"""From a problem to its estimate: without gross errors, and by groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray
from ..model.problem import Problem
from .caller import warn_caller
from .candidates import Candidate, ComponentModel, FitOfModes, WeightedModes
from .candidates.component_model import has_components
from .channel_estimate import estimate_in_groups
from .channel_groups import Members, all_channels, channel_groups
from .channels import channel_count
from .effort import Effort
from .estimation import Found, best_estimate
from .given_seasons import with_components
from .outliers import search_outliers
from .problems import is_large
from .solutions import Known


def find_signal(
    problem: Problem,
    known: Known,
    kind: str,
    effort: Effort,
    robust: bool,
    may_be_large: bool,
) -> tuple[Found, NDArray, list[Members]]:
    """Find the best estimate of a signal.

    Parameters
    ----------
    problem : Problem
        With all samples.
    known : Known
        What the caller knows about the signal.
    kind : str
        "auto", or the name of the only candidate to use.
    effort : Effort
        How much is tried.
    robust : bool
        Find gross errors first and ignore them.
    may_be_large : bool
        Whether a large signal gets no convex solution.

    Returns
    -------
    found : Found
    outliers : ndarray of bool
        Samples that were taken for gross errors.
    groups : list of tuple of int
        Channels that share what they are made of.
    """
    effort = replace(effort, candidates=_remembering(effort.candidates))
    best: Any = partial(_best, may_be_large=may_be_large, known=known, kind=kind, effort=effort)
    problem, outliers, candidates = _good_samples(problem, known, effort, robust)
    groups = all_channels(problem)
    if kind == ComponentModel.name:  # their correlations say what channels share
        groups = groups if has_components(problem) else [(channel,) for channel in groups[0]]
    elif known.rank is known.mu is None:
        groups = channel_groups(problem, lambda p: best(p, warn=False).estimate.signal, known.rng)
    if len(groups) == 1:
        best = partial(best, candidates=candidates)
    return estimate_in_groups(problem, groups, best, known.rng), outliers, groups


def _remembering(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with a memory of series that are fitted alone and together."""
    return [replace(c, fits={}) if isinstance(c, ComponentModel) else c for c in candidates]


def _good_samples(
    problem: Problem, known: Known, effort: Effort, robust: bool
) -> tuple[Problem, NDArray, Sequence[Candidate]]:
    """Return the problem without gross errors, where these are, and the candidates.

    The candidates have what was found on the way. Unless asked for, no sample is a gross error.
    """
    if not robust:
        none = np.zeros(problem.structure.signal_shape, dtype=bool)
        return problem, none, _competing(effort, known)
    found = search_outliers(problem, known, effort.outliers)
    if found.doubt is not None:
        warn_caller(f"recover: {found.doubt}")
    candidates = [
        replace(c, found=found.direct) if isinstance(c, FitOfModes) else c
        for c in _competing(effort, known)
    ]
    return problem.without(found.outliers), found.outliers, candidates


def _competing(effort: Effort, known: Known) -> list[Candidate]:
    """Return the candidates of an effort; those that weigh samples if their noise differs."""
    if known.weights is None:
        return with_components(effort.candidates, known.seasons)
    searches = [c.search for c in effort.candidates if isinstance(c, FitOfModes)]
    return [WeightedModes(search=searches[0]), ComponentModel()]


def _best(problem: Problem, *, may_be_large: bool, **options: Any) -> Found:
    """Return the best estimate for a problem of all channels, or of some of them."""
    structure: Any = problem.structure
    large = may_be_large and is_large(structure.lengths, channel_count(problem))
    return best_estimate(problem, large=large, **options)

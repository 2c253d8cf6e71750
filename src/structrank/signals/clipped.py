"""Clipped samples as inequalities: `recover` for one real series."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._array import to_numpy
from .._checks import one_real_series
from .._watch import clock
from .candidates import ComponentModel, ConvexSolution, FitOfModes
from .clipped_modes import ClippedModes, fit_clipped_modes
from .clipped_series import ClippedSeries, Clipping, fit_clipped
from .estimates import Estimate
from .limits import checked_pair
from .plain_recovery import recover_plain
from .problems import SignalSizes
from .recovery_result import Recovery
from .request import Request
from .units import with_sampling

NOT_BESIDE = ("mu", "bounds", "robust", "regressors", "known_frequencies", "checkpoint", "resume")


def given_clipping(levels: Any, values: Any, channels: int | None) -> Clipping | None:
    """Find clipped samples by the levels that a caller gave, or raise an error.

    Parameters
    ----------
    levels : tuple of float or None
        Lowest and highest level, None for none.
    values : array
        The samples.
    channels : int or None
        The axis that holds channels.

    Returns
    -------
    Clipping or None
        None if no levels are given.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.clipped import given_clipping
    >>> given_clipping((None, 3), np.array([1.0, 3, 2, 0, 1]), None).high
    array([False,  True, False, False, False])
    """
    if levels is None:
        return None
    pair, host = checked_pair(levels, "clipped"), to_numpy(values)
    one_real_series(host, channels, "clipped is", "levels of clipping are")
    clipping = Clipping.of(host, pair)
    left, fewest = np.count_nonzero(~np.isnan(host) & ~clipping.all), SignalSizes().fewest_samples
    if left < fewest:
        raise ValueError(
            f"{left} samples lie between the levels {levels!r}, but {fewest} or more are expected: "
            "clipped says at which levels the samples were clipped"
        )
    return clipping


def recover_clipped(request: Request, clipping: Clipping) -> Recovery:
    """Recover a series whose clipped samples are only known to lie beyond a level.

    Modes are fitted to samples and inequalities, from those found without the clipped samples and
    from those found in the samples as they are. If there are none without the clipped samples, and
    the fit leaves more than white noise, components are fitted instead.

    Parameters
    ----------
    request : Request
    clipping : Clipping

    Returns
    -------
    Recovery
    """
    known, kind = request.known, request.settings.kind
    others = [*NOT_BESIDE]
    others += ["kind"] if kind == ConvexSolution.name else []
    others += ["sigma"] if known.levels is not None else []
    request.settings.check_absent(others, "clipped")
    values = to_numpy(request.values).astype(float)
    rest = request.given.wrap(np.where(clipping.all, np.nan, values))
    first = recover_plain(request.with_samples(rest, max_gap=None))
    found: ClippedModes | ClippedSeries | None = None
    modal = first.kind == FitOfModes.name and first.modes is not None and len(first.modes) > 0
    if modal or kind != ComponentModel.name:
        start, exactly = first.modes if modal else None, modal and known.rank is not None
        found = fit_clipped_modes(values, clipping, start, known.sigma, exactly=exactly)
    if isinstance(found, ClippedModes) and (modal or found.explains(values, clipping)):
        name, modes, rank = FitOfModes.name, found.modes, len(found.modes)
    else:
        found = fit_clipped(values, clipping, periods=known.seasons)
        name, modes, rank = ComponentModel.name, None, found.fitted.order
    estimate = Estimate(found.signal, found.stderr, rank, deviation=found.deviation)
    left = request.limits.left(np.isnan(values), None)
    return replace(
        first,
        **request.numbers(estimate, left),
        kind=name,
        modes=with_sampling(modes, first.sampling),
        rank=rank,
        sigma=found.sigma,
        left=left,
        clipped=clipping.all,
        draw=partial(found.draws, left),
        part_errors=found.part_errors if isinstance(found, ClippedModes) else None,
        samples=request.samples,
        seconds=clock() - request.began,
    )

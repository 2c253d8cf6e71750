"""Recover a signal from its samples alone, without clipping, known frequencies or regressors."""

from __future__ import annotations

from functools import partial

import numpy as np

from .._array import memory_advice, to_numpy
from .._watch import clock, watched
from ..solvers.memory_demand import what_to_change
from .caller import status_of
from .channels import from_channels
from .estimation import AUTO
from .finding import find_signal
from .recovery_result import Recovery
from .request import Request
from .saved_pieces import saved_pieces
from .units import with_sampling

# What fits depend on, beside the samples and the axis of channels.
FIT_SETTINGS = (
    "window",
    "mu",
    "rank",
    "sigma",
    "kind",
    "season",
    "undamped",
    "robust",
    "rng",
    "effort",
)


def recover_plain(request: Request) -> Recovery:
    """Recover a signal from its samples alone.

    Parameters
    ----------
    request : Request
        Its settings `clipped`, `known_frequencies` and `regressors` have no effect here.

    Returns
    -------
    Recovery
    """
    settings, known, axis = request.settings, request.known, request.axis
    may_be_large = settings.window is settings.rank is None and settings.kind == AUTO
    depends = {name: getattr(settings, name) for name in FIT_SETTINGS} | {"channels": axis}
    saved = saved_pieces("recover", request.values, depends, settings.checkpoint, settings.resume)
    advice = memory_advice(partial(what_to_change, request.problem))
    with advice, saved, watched(request.max_time, settings.progress) as watch:
        found, outliers, groups = find_signal(
            request.problem, known, settings.kind, request.effort, settings.robust, may_be_large
        )
    status, estimate = status_of(watch, "recover"), request.units.estimate(found.estimate)
    outliers = from_channels(outliers, axis)
    left = request.limits.left(np.isnan(to_numpy(request.values)) | outliers, axis)
    sigma = known.sigma if estimate.sigma is None else estimate.sigma
    draw = None if estimate.errors is None else partial(request.limits.draws, estimate, left)
    return Recovery(
        **request.numbers(estimate, left),
        level=settings.level,
        rank=estimate.rank,
        modes=with_sampling(estimate.modes, request.sampling),
        sigma=sigma if known.levels is None else known.levels,
        kind=found.candidate.name,
        outliers=outliers,
        clipped=np.zeros(np.shape(request.samples), dtype=bool),
        left=left,
        draw=draw,
        part_errors=estimate.part_errors,
        solve=found.solve,
        selection=found.selection,
        seasons=known.seasons,
        regression=None,
        sampling=request.sampling,
        channels=axis,
        samples=request.samples,
        groups=groups,
        status=status,
        seconds=clock() - request.began,
    )

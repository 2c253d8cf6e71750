"""Recover a signal from its samples alone, without clipping, known frequencies or regressors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import clock, watched
from .caller import status_of
from .channels import from_channels
from .estimates import Estimate
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
    with saved, watched(request.max_time, settings.progress) as watch:
        found, outliers, groups = find_signal(
            request.problem, known, settings.kind, request.effort, settings.robust, may_be_large
        )
    status, estimate = status_of(watch, "recover"), request.units.estimate(found.estimate)
    sigma = known.sigma if estimate.sigma is None else estimate.sigma
    return Recovery(
        **_numbers(request, estimate, from_channels(outliers, axis)),
        rank=estimate.rank,
        modes=with_sampling(estimate.modes, request.sampling),
        sigma=sigma if known.levels is None else known.levels,
        kind=found.candidate.name,
        clipped=np.zeros(np.shape(request.samples), dtype=bool),
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


def _numbers(request: Request, found: Estimate, outliers: NDArray) -> dict[str, Any]:
    """The numbers of a `Recovery`, in containers like the samples, and which are left out."""
    limits = request.limits
    left = limits.left(np.isnan(to_numpy(request.values)) | outliers, request.axis)
    parts = zip(("signal", "stderr", "lower", "upper"), limits.parts(found, left), strict=True)
    values = {name: request.given.wrap(part) for name, part in parts}
    draw = None if found.errors is None else partial(limits.draws, found, left)
    return {**values, "level": limits.level, "outliers": outliers, "left": left, "draw": draw}

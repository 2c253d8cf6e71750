"""A call of `recover` after its checks: the samples, and what the arguments say about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._array import Array, NDArray
from .._checks import one_of
from .._watch import clock
from ..io.containers import Unwrapped
from ..io.regular_samples import regular_samples
from ..io.sampling import Sampling
from ..model.problem import Problem
from .candidates import ComponentModel, ConvexSolution, FitOfModes
from .channel_units import ChannelUnits, channel_units
from .channels import unwrapped
from .effort import Effort, checked
from .estimates import Estimate
from .estimation import AUTO
from .given_seasons import given_seasons
from .limits import Limits
from .noise_levels import NoiseLevels
from .problems import hankel_problem
from .settings import INDEPENDENT, Settings
from .solutions import Known
from .units import signal_sampling

KINDS = (AUTO, FitOfModes.name, ConvexSolution.name, ComponentModel.name)


@dataclass(frozen=True, eq=False)
class Request:
    """Samples at regular times to recover, and how.

    Attributes
    ----------
    samples : array, Series, DataFrame or DataArray
        With a regular index.
    settings : Settings
    given : Unwrapped
        The numbers of the samples, and their container.
    axis : int or None
        The axis that holds channels, counted from the first.
    sampling : Sampling or None
        Time between samples, if it is known.
    effort : Effort
    max_time : float or None
    limits : Limits
        What the answer has to obey.
    known : Known
        What the caller knows about the signal.
    units : ChannelUnits
        Offsets and sizes of channels.
    problem : Problem
        That of filling the gaps, in common units.
    began : float
        When the call began, on `clock`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.request import Request
    >>> from structrank.signals.settings import Settings
    >>> Request.of(np.arange(9.0), Settings(rank=2)).known.rank
    2
    """

    samples: Any
    settings: Settings
    given: Unwrapped
    axis: int | None
    sampling: Sampling | None
    effort: Effort
    max_time: float | None
    limits: Limits
    known: Known
    units: ChannelUnits
    problem: Problem
    began: float

    @classmethod
    def of(cls, samples: Any, settings: Settings) -> Request:
        """Check the arguments of `recover`."""
        began, limits = clock(), Limits.of(settings.level, settings.max_gap, settings.bounds)
        if settings.workers != 1:
            raise ValueError(
                f"workers is {settings.workers}, but several processes are for columns that are "
                f"fitted alone: pass channels={INDEPENDENT!r}, or workers=1"
            )
        effort, max_time = checked(settings.effort, settings.max_time)
        samples = regular_samples(samples, settings.regular)
        given, axis = unwrapped(samples, settings.channels)
        values, mu, rank, sigma = given.values, settings.mu, settings.rank, settings.sigma
        limits.check(values, axis)
        sampling = signal_sampling(samples, axis, settings.dt)
        known = _known(values, axis, settings)
        units = channel_units(values, axis, centre=rank is mu is None, scale=sigma is mu is None)
        problem = hankel_problem(units.common(values), settings.window, axis)
        return cls(
            samples=samples,
            settings=settings,
            given=given,
            axis=axis,
            sampling=sampling,
            effort=effort,
            max_time=max_time,
            limits=limits,
            known=known,
            units=units,
            problem=problem,
            began=began,
        )

    @property
    def values(self) -> Array:
        """The numbers of the samples, NaN where missing."""
        return self.given.values

    def numbers(self, found: Estimate, left: NDArray) -> dict[str, Any]:
        """What `Limits.parts` returns, in containers like the samples.

        Parameters
        ----------
        found : Estimate
            In the shape and the units of the samples.
        left : ndarray of bool
            Values that are left as they are.
        """
        names = ("signal", "stderr", "lower", "upper", "new_sample")
        parts = zip(names, self.limits.parts(found, left), strict=True)
        return {name: x if x is None else self.given.wrap(x) for name, x in parts}

    def with_samples(self, samples: Any, **changes: Any) -> Request:
        """Return the request for other samples in the same container, with changed settings."""
        other = Request.of(samples, replace(self.settings, regular=False, **changes))
        return replace(other, began=self.began)


def _known(values: Array, axis: int | None, settings: Settings) -> Known:
    """What the caller knows about a signal, or an error if that does not fit the samples."""
    mu, kind, sigma = settings.mu, settings.kind, settings.sigma
    plain = Known(mu, settings.rank, None, settings.undamped, settings.rng)
    one_of(kind, KINDS, "kind")
    convex = kind if kind == ConvexSolution.name else None
    modal = kind if kind == FitOfModes.name else None
    if settings.rank is not None and kind not in (AUTO, FitOfModes.name):
        raise ValueError(
            f"rank={settings.rank} and kind={kind!r} are given, but only a fit of modes has a rank "
            "that can be chosen: pass only one of them"
        )
    seasons = given_seasons(
        settings.season, values, axis, kind=convex or modal, mu=mu, rank=settings.rank
    )
    levels = NoiseLevels.of(
        sigma, values, channels=axis, mu=mu, kind=convex, robust=settings.robust
    )
    return replace(plain, sigma=levels.typical, seasons=seasons, weights=levels.weights)

"""Samples returned unchanged instead of a recovery: nothing is missing, or Ctrl-C came first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import clock
from ..io.regular_samples import what_was_done
from ..io.saved_results import savable
from ..solvers.result import Result
from ..solvers.stopping import Status
from ..views.content import Report
from .candidates import FitOfModes
from .channels import unwrapped
from .recovery_result import OMITTED, Recovery
from .settings import Settings
from .units import signal_sampling


@savable(omit={**OMITTED, "again": "a fit"})
@dataclass(frozen=True, eq=False, repr=False)
class Complete(Recovery):
    """Samples without gaps, as `impute` returns them at once: nothing was fitted.

    Attributes
    ----------
    again : callable
        Recovers the signal after all, for a report.
    """

    again: Callable[[], Recovery]

    def report(self) -> Report:
        return self.again().report()

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        index = what_was_done(self.samples)
        return [
            *index,
            ("signal", shape),
            ("gaps", "nothing is missing: all values stay as they are"),
        ]


@savable(omit={**OMITTED, "again": "a fit"})
@dataclass(frozen=True, eq=False, repr=False)
class Unfinished(Complete):
    """Samples as they are, whose recovery was interrupted."""

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        return [("signal", shape), ("search", self.status.value)]


def as_they_are(
    kind: type[Complete],
    samples: Any,
    settings: Settings,
    status: Status,
    again: Callable[[], Recovery],
    *,
    began: float,
    seasons: tuple[float, ...] = (),
) -> Complete:
    """A result whose signal is the samples, NaN where missing.

    Parameters
    ----------
    kind : type
        `Complete` or `Unfinished`.
    samples : array, pandas Series or DataFrame, or xarray DataArray
    settings : Settings
    status : Status
    again : callable
        Recovers the signal after all.
    began : float
        When the work began, on `clock`.
    seasons : tuple of float
        Seasons that were given.

    Returns
    -------
    Complete
        Or `Unfinished`, as `kind` says.
    """
    gridded = settings.times is None
    given, axis = unwrapped(samples, settings.channels, regular=gridded)
    values = to_numpy(given.values)
    return kind(
        signal=given.wrap(values),
        stderr=given.wrap(np.where(np.isnan(values), np.nan, np.zeros_like(values.real))),
        lower=given.wrap(values),
        upper=given.wrap(values),
        new_sample=None,
        level=settings.level,
        rank=0,
        modes=None,
        sigma=None,
        kind=FitOfModes.name,
        outliers=np.zeros(values.shape, dtype=bool),
        clipped=np.zeros(values.shape, dtype=bool),
        left=np.isnan(values),
        draw=partial(_repeated, values),
        solve=partial(_solved, again),
        selection=None,
        seasons=seasons,
        regression=None,
        sampling=signal_sampling(samples, axis, settings.dt) if gridded else None,
        channels=axis,
        samples=samples,
        groups=[],
        status=status,
        seconds=clock() - began,
        again=again,
    )


def _repeated(values: NDArray, n: int, rng: np.random.Generator) -> NDArray:
    return np.repeat(values[None], n, axis=0)


def _solved(again: Callable[[], Recovery]) -> Result:
    return again().result

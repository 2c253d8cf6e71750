"""Recover a series from samples at irregular times, with no grid in between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import finite_or_missing, one_of, one_real_series
from .._watch import clock, watched
from ..components.irregular_draws import irregular_draws
from ..components.irregular_search import ContinuousSearch, ContinuousSeries, fit_irregular
from ..io.containers import Unwrapped, unwrap
from ..io.saved_results import savable
from ..io.times import numbers_of_times
from ..solvers.result import Result
from ..views import Labels, interactive_figure, plot_signal
from ..views.content import Report
from .caller import status_of
from .candidates import ComponentModel
from .component_series import SignalComponents
from .effort import checked
from .estimates import Estimate
from .estimation import AUTO
from .limits import Limits
from .noise_levels import NoiseLevels
from .recovery_result import OMITTED, Recovery
from .reports import noise_text
from .residuals import ResidualDiagnostics
from .settings import Settings

KINDS = (AUTO, ComponentModel.name)  # of estimates at irregular times
FEWEST = 8  # samples of a series, as for forecasts
GRIDDED = (  # settings that need equally spaced samples
    "window",
    "channels",
    "mu",
    "rank",
    "season",
    "dt",
    "undamped",
    "robust",
    "regular",
    "checkpoint",
    "resume",
    "regressors",
    "clipped",
    "known_frequencies",
    "max_gap",
)


@dataclass(frozen=True)
class OscillatorCounts:
    """How many oscillators are tried, by effort; about half and twice the usual number."""

    fast: int = 3
    normal: int = 6
    thorough: int = 12


@savable(omit=OMITTED)
@dataclass(frozen=True, eq=False, repr=False)
class IrregularRecovery(Recovery):
    """A series that was recovered from samples at irregular times.

    Attributes
    ----------
    times : ndarray
        The times of the samples: numbers, or days since the first one.
    frequencies : ndarray
        Frequencies of the oscillators of the most likely fit, in cycles per unit of time.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> rng = np.random.default_rng(0)
    >>> times = np.append(30 * rng.random(20), 25.0)
    >>> samples = np.cos(times) + 0.1 * rng.standard_normal(21)
    >>> samples[-1] = np.nan  # wanted at 25
    >>> found = recover(samples, times=times, effort="fast")
    >>> (2 * np.pi * found.frequencies).round(2), bool(abs(found.signal[-1] - np.cos(25)) < 0.2)
    (array([1.]), True)
    """

    times: NDArray
    frequencies: NDArray

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        if interactive:
            return interactive_figure(self.plot, ax)
        order = np.argsort(self.times, kind="stable")
        samples, signal, stderr, lower, upper = (
            to_numpy(unwrap(part, regular=False).values)[order]
            for part in (self.samples, self.signal, self.stderr, self.lower, self.upper)
        )
        labels = Labels(positions=self.times[order], axis="time")
        bounds: dict[str, Any] = {"lower": lower, "upper": upper, "level": self.level}
        return plot_signal(samples, signal, stderr, **bounds, labels=labels, ax=ax)

    def components(self) -> SignalComponents:
        raise _only_regular("components")

    def residuals(self) -> ResidualDiagnostics:
        raise _only_regular("residuals")

    def plot_scree(self, ax: Any = None, *, count: int = 30) -> Any:
        raise _only_regular("a scree plot")

    def report(self) -> Report:
        raise _only_regular("a report")

    def _rows(self) -> list[tuple[str, str]]:
        values = to_numpy(unwrap(self.samples, regular=False).values)
        found = ", ".join(f"{frequency:.4g}" for frequency in self.frequencies)
        return [
            ("signal", f"{len(values)} times, {np.count_nonzero(~np.isnan(values))} values seen"),
            ("frequencies", found or "none"),
            ("noise", noise_text(self.sigma, "sigma")),
            ("estimate", "trend, oscillators, autoregressive part and noise in continuous time"),
        ]


def recover_irregular(samples: Any, settings: Settings) -> IrregularRecovery:
    """Recover a real series from samples at irregular times.

    Parameters
    ----------
    samples : array or pandas Series
        NaN where the series is not seen but wanted.
    settings : Settings
        With times.

    Returns
    -------
    IrregularRecovery
    """
    limits = Limits.of(settings.level, settings.max_gap, settings.bounds)
    one_of(settings.kind, KINDS, "kind, with times,")
    began, (_, max_time) = clock(), checked(settings.effort, settings.max_time)
    given, sigma = unwrap(samples, regular=False), settings.sigma
    values, at = _checked(samples, given, settings)
    sigma = None if sigma is None else np.broadcast_to(np.asarray(sigma), values.shape)
    series = _Series(at, values, NoiseLevels.of(sigma, values).levels)
    with watched(max_time, settings.progress) as watch:
        fitted = series.fitted(getattr(OscillatorCounts(), settings.effort))
    estimate, none = series.estimate(fitted), np.zeros(len(values), dtype=bool)
    signal, stderr, lower, upper = map(given.wrap, limits.parts(estimate, none)[:4])
    return IrregularRecovery(
        signal=signal,
        stderr=stderr,
        lower=lower,
        upper=upper,
        new_sample=None,
        level=limits.level,
        rank=estimate.rank,
        modes=None,
        sigma=estimate.sigma if series.noise is None else series.noise,
        kind=ComponentModel.name,
        outliers=none,
        clipped=none,
        left=none,
        draw=partial(limits.draws, estimate, none),
        solve=_no_solution,
        selection=None,
        seasons=(),
        regression=None,
        sampling=None,
        channels=None,
        samples=samples,
        groups=[(0,)],
        status=status_of(watch, "recover"),
        seconds=clock() - began,
        times=at,
        frequencies=np.array(fitted.fits[0].frequencies) / (2 * np.pi * fitted.unit),
    )


@dataclass(frozen=True, eq=False)
class _Series:
    """Samples at times in any order, and their noise levels if these are known."""

    times: NDArray
    values: NDArray
    noise: NDArray | None

    @cached_property
    def order(self) -> NDArray:
        return np.argsort(self.times, kind="stable")

    @property
    def sorted(self) -> tuple[NDArray, NDArray, NDArray | None]:
        """Times in increasing order, with samples and noise levels."""
        noise = None if self.noise is None else self.noise[self.order]
        return self.times[self.order], self.values[self.order], noise

    def fitted(self, oscillators: int) -> ContinuousSeries:
        """Fit the samples that are seen."""
        t, y, noise = self.sorted
        seen = ~np.isnan(y)
        search = ContinuousSearch(oscillators=oscillators)
        return fit_irregular(t[seen], y[seen], None if noise is None else noise[seen], search)

    def estimate(self, fitted: ContinuousSeries) -> Estimate:
        """The series at all times, in the order given."""
        t, y, noise = self.sorted
        found, back = fitted.estimate(t, y, noise), np.argsort(self.order)

        def errors(n: int, rng: np.random.Generator) -> NDArray:
            return irregular_draws(fitted, t, y, noise, n, rng)[:, back]

        signal, stderr, deviation = (
            part[back] for part in (found.signal, found.stderr, found.deviation)
        )
        order = fitted.fits[0].components.order
        return Estimate(
            signal, stderr, order, sigma=found.sigma, deviation=deviation, errors=errors
        )


def _checked(samples: Any, given: Unwrapped, settings: Settings) -> tuple[NDArray, NDArray]:
    """Return samples and times as numbers, or raise an error."""
    values = to_numpy(given.values)
    one_real_series(values, None, "times are", "irregular times are")
    other = settings.first_of(GRIDDED)
    if other is not None:
        raise ValueError(
            f"times and {other} are given, but that needs regular times: pass only one of them"
        )
    finite_or_missing(values, "samples")
    at = numbers_of_times(settings.times, samples)
    seen = ~np.isnan(values)
    if np.count_nonzero(seen) < FEWEST or np.ptp(at[seen]) == 0:
        raise ValueError(
            f"{np.count_nonzero(seen)} values are seen, but {FEWEST} or more at different times "
            "are expected"
        )
    return values.astype(float), at


def _no_solution() -> Result:
    raise _only_regular("a convex solution")


def _only_regular(what: str) -> ValueError:
    return ValueError(
        f"the times are irregular, so {what} is not available: that needs equally spaced samples"
    )

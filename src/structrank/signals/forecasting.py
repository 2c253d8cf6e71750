"""What comes next in a series: its modes carried on, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from .._array import to_numpy
from .._checks import positive_int
from ..io.containers import unwrap
from ..modal.modal_refit import refit_modes
from ..modal.modes import Modes, NoModes
from ..modal.refit_result import Refit
from ..modal.refitting import refit
from ..model.measure import Weighted
from ..model.problem import Problem
from ..selection.mu import Selection, select_mu
from ..structures import Hankel
from ..views import Summary, labels_of, plot_forecast
from ..views.content import Report
from ..views.report import Reportable
from .estimates import of_rank
from .recovery import channel_sizes, from_channels, hankel_problem, scaled
from .reports import forecast_report

MORE = 1  # ranks tried beyond those found
ORIGINS = 3  # of forecasts of what is known already, to choose the rank by
FEWEST = 8  # samples to forecast from


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Summary, Reportable):
    """What comes next, and how sure that is.

    Attributes
    ----------
    mean : array, Series, DataFrame or DataArray
        The values forecast.
    stderr : the same kind
        Standard error of a future sample, noise included.
    lower, upper : the same kind
        Ends of the intervals that hold a future sample with probability `level`; of both parts
        by themselves if the series is complex.
    level : float
    rank : int
        Chosen by the errors of forecasts of what is known already.
    modes : Modes
        The (damped) sinusoids, exponentials and trends the series is the sum of.
    past_error : float
        Root mean square error of these forecasts; with channels of very different size, each in
        units of its own size.
    refit : Refit
        Of the series and what follows, in these units.
    channels : int or None
        The axis that holds channels.
    samples : array, Series, DataFrame or DataArray
        What was given.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import forecast
    >>> ahead = forecast(0.9 ** np.arange(30.0), steps=2, rank=1)
    >>> bool(np.allclose(ahead.mean, [0.9**30, 0.9**31]))
    True
    """

    mean: Any
    stderr: Any
    lower: Any
    upper: Any
    level: float
    rank: int
    modes: Modes
    past_error: float
    refit: Refit
    channels: int | None
    samples: Any

    def plot(self, ax: Any = None) -> Any:
        """Draw the forecast after the samples that it continues, with its intervals.

        There is one panel per channel. Only the end of a long series is shown: 200 samples, or
        five per step if that is more.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes or list of Axes
        """
        samples, mean, lower, upper = (
            to_numpy(unwrap(part, self.channels).values)
            for part in (self.samples, self.mean, self.lower, self.upper)
        )
        fit = self.modes.signal(len(samples))
        before, after = (labels_of(part, self.channels) for part in (self.samples, self.mean))
        return plot_forecast(
            samples,
            mean,
            lower,
            upper,
            fit=fit if np.iscomplexobj(mean) else fit.real,
            level=self.level,
            channels=self.channels,
            labels=before.followed_by(after),
            ax=ax,
        )

    def report(self) -> Report:
        """Describe the forecast: picture, values, settings, past errors, modes."""
        return forecast_report(self)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("steps", str(len(self.mean))),
            ("rank", str(self.rank)),
            ("past error", f"{self.past_error:.4g} (root mean square)"),
            ("intervals", f"{self.level:.0%}"),
        ]


def forecast(
    samples: Any,
    steps: int,
    *,
    level: float = 0.95,
    rank: int | None = None,
    window: int | None = None,
    channels: int | None = None,
    sigma: float | None = None,
    undamped: bool = False,
    rng: int | np.random.Generator = 0,
    progress: bool = False,
) -> Forecast:
    """Continue a series: its trends, seasons and decays, with intervals.

    The modes that fit the series are carried on. Their number is the one that would have
    forecast the last parts of the series best, and the intervals are widened if
    these forecasts were worse than the fit says.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        Along the first axis; NaN where missing. Columns of a DataFrame are channels.
    steps : int
        How many samples to forecast.
    level : float
        Probability that an interval holds the sample.
    rank : int, optional
        Number of modes, if known.
    window : int, optional
        Rows of the Hankel matrix. Default: half of the series.
    channels : int, optional
        The axis that holds channels, which share their modes: 1.
    sigma : float, optional
        Standard deviation of the noise, if known.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import forecast
    >>> t = np.arange(130)
    >>> series = 10 + 0.1 * t + np.cos(2 * np.pi * t / 12)
    >>> noisy = series + 0.1 * np.random.default_rng(0).standard_normal(130)
    >>> ahead = forecast(noisy[:118], steps=12)
    >>> bool(abs(ahead.mean - series[118:]).max() < 0.3)
    True
    """
    steps = positive_int(steps, "steps")
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}, but a probability between 0 and 1 is expected")
    known = None if rank is None else positive_int(rank, "rank")
    given = unwrap(samples, channels)
    values = to_numpy(given.values)
    channels = given.channels if channels is None else channels
    _check_series(values, channels)
    sizes = channel_sizes(values, channels) if sigma is None else 1.0
    values = values / sizes
    options = _Options(window, channels, sigma, undamped, rng, progress)
    selection = options.select(values)
    past = _past(values, steps, known, selection.rank, options)
    fit = options.carried_on(selection, past.rank, len(values) + steps)
    spread = past.widening * np.sqrt(to_numpy(fit.stderr) ** 2 + (fit.sigma or 0.0) ** 2)
    mean, stderr = (
        sizes * from_channels(part, channels)[len(values) :] for part in (fit.y, spread)
    )
    reach = norm.ppf((1 + level) / 2) * stderr
    if np.iscomplexobj(mean):  # both parts by themselves
        reach = reach * (1 + 1j) / np.sqrt(2)
    assert fit.modes is not None
    parts = (mean, stderr.real, mean - reach, mean + reach)
    mean, stderr, lower, upper = (given.follow(part) for part in parts)
    modes = scaled(fit.modes, sizes)
    return Forecast(
        mean, stderr, lower, upper, level, fit.rank, modes, past.error, fit, channels, samples
    )


def _check_series(values: np.ndarray, channels: int | None) -> None:
    """An error unless these are one series, or several side by side, and long enough."""
    if values.ndim != (1 if channels is None else 2) or channels not in (None, 1):
        raise ValueError(
            f"the samples have shape {values.shape}, but a series, or with channels=1 a table of "
            "series side by side, is expected"
        )
    if len(values) < FEWEST:
        raise ValueError(f"{len(values)} samples are given, but {FEWEST} or more are expected")


@dataclass(frozen=True)
class _Options:
    """How a series is turned into modes."""

    window: int | None
    channels: int | None
    sigma: float | None
    undamped: bool
    rng: int | np.random.Generator
    progress: bool

    def select(self, values: np.ndarray) -> Selection:
        """Choose mu and rank for a series."""
        problem = hankel_problem(values, self.window, self.channels)
        return select_mu(problem, sigma=self.sigma, rng=self.rng, progress=self.progress)

    def carried_on(self, selection: Selection, rank: int, length: int) -> Refit:
        """The refit of a rank, of a series that goes on, unseen, to a length."""
        result = of_rank(selection.result, rank)
        fit = refit(result, rank, sigma=self.sigma, undamped=self.undamped)
        b = to_numpy(result.problem.b)
        more = np.full((length - len(b), *b.shape[1:]), np.nan)
        values = np.concatenate([np.where(_seen(result.problem), b, np.nan), more])
        seen = ~np.isnan(values)
        window = (length + 1) // 2
        block = None if self.channels is None else b.shape[1:]
        structure = Hankel(length, window, block)
        problem = Problem(structure, values, 1.0, Weighted(seen * 1.0))
        assert fit.modes is not None  # a Hankel structure has modes
        return refit_modes(problem, fit.modes, sigma=self.sigma, undamped=self.undamped)


@dataclass(frozen=True)
class _Past:
    """What forecasts of what is known already tell."""

    rank: int
    error: float  # root mean square
    widening: float  # of the intervals, at least 1


def _past(
    values: np.ndarray, steps: int, known: int | None, most_found: int, options: _Options
) -> _Past:
    """Forecast the last parts of a series from what comes before, with every rank."""
    rows_seen = np.any(~np.isnan(values.reshape(len(values), -1)), axis=1)
    values = values[: np.flatnonzero(rows_seen)[-1] + 1]
    ahead = min(steps, len(values) // 4)
    errors: dict[int, list[np.ndarray]] = {}
    spreads: dict[int, list[np.ndarray]] = {}
    ends = [len(values) - origin * ahead for origin in range(1, ORIGINS + 1)]
    ends = [end for end in ends if end == ends[0] or end >= len(values) // 2]
    ends = [end for end in ends if np.all(np.any(~np.isnan(values[:end]), axis=0))]
    selections = [options.select(values[:end]) for end in ends]
    most_found = max([most_found, *(selection.rank for selection in selections)])
    most_found += MORE if most_found else 0
    for end, selection in zip(ends, selections, strict=True):
        for rank in range(1, most_found + 1) if known is None else [known]:
            try:
                fit = options.carried_on(selection, rank, end + ahead)
            except NoModes:
                continue
            if fit.sigma is None:
                continue
            y, stderr = (
                from_channels(part, options.channels)[end:]
                for part in (to_numpy(fit.y), to_numpy(fit.stderr))
            )
            difference = y - values[end : end + ahead]
            seen = ~np.isnan(difference)
            errors.setdefault(rank, []).append(np.abs(difference[seen]) ** 2)
            spreads.setdefault(rank, []).append(stderr[seen] ** 2 + (fit.sigma or 0.0) ** 2)
    if not errors:
        raise NoModes(
            "nothing in the series could be told apart from noise, so there is nothing to carry "
            "on: take a longer one, or pass rank"
        )
    most = max(len(parts) for parts in errors.values())
    means = {
        rank: float(np.mean(np.concatenate(parts)))
        for rank, parts in errors.items()
        if len(parts) == most and any(part.size for part in parts)
    }
    best = min(means, key=lambda rank: means[rank])
    ratio = means[best] / max(float(np.mean(np.concatenate(spreads[best]))), 1e-300)
    return _Past(best, float(np.sqrt(means[best])), float(np.sqrt(max(ratio, 1.0))))


def _seen(problem: Problem) -> np.ndarray:
    return to_numpy(problem.measure.weights) > 0

"""Forecasts of known samples, by which the rank of a forecast is chosen."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from .._array import NDArray, to_numpy
from ..modal.modal_refit import refit_modes
from ..modal.modes import NoModes
from ..modal.refit_result import Refit
from ..modal.refitting import fit_at_rank
from ..model.measure import Weighted
from ..model.problem import Problem
from ..selection.mu import Selection, search_mu
from ..structures import Hankel
from .channels import from_channels
from .problems import hankel_problem
from .solutions import with_rank


@dataclass(frozen=True)
class ForecastSearch:
    """How the rank of a forecast is chosen.

    Attributes
    ----------
    fewest_samples : int
        Smallest number of samples to forecast from. Taste.
    origins : int
        Number of places in the series from which known samples are forecast. Taste: the time grows
        with it.
    largest_part : float
        Largest share of the series in one of these forecasts. Taste.
    shortest_past : float
        Smallest share of the series before them. Taste.
    more : int
        Number of ranks tried beyond those found. Taste: a weak mode may be missed by the choice
        of mu.
    """

    fewest_samples: int = 8
    origins: int = 3
    largest_part: float = 1 / 4
    shortest_past: float = 1 / 2
    more: int = 1


@dataclass(frozen=True)
class Extrapolation:
    """How the modes of a series are found and extrapolated.

    Attributes
    ----------
    window : int or None
        Rows of the Hankel matrix; None for half of the series.
    channels : int or None
        The axis that holds channels.
    sigma : float or None
        Standard deviation of the noise, if known.
    undamped : bool
        The modes are known to be undamped.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.
    progress : bool
        Show a progress bar.
    """

    window: int | None
    channels: int | None
    sigma: float | None
    undamped: bool
    rng: int | np.random.Generator
    progress: bool

    def select(self, values: NDArray) -> Selection:
        """Choose mu and rank for a series."""
        problem = hankel_problem(values, self.window, self.channels)
        return search_mu(problem, sigma=self.sigma, rng=self.rng, progress=self.progress)

    def extrapolate(self, selection: Selection, rank: int, length: int) -> Refit:
        """Return the fit of a rank to a series that continues, unseen, to a length."""
        result = with_rank(selection.result, rank)
        fit = fit_at_rank(result, rank, sigma=self.sigma, undamped=self.undamped)
        b = to_numpy(result.problem.b)
        more = np.full((length - len(b), *b.shape[1:]), np.nan)
        values = np.concatenate([np.where(result.problem.seen, b, np.nan), more])
        seen = ~np.isnan(values)
        window = (length + 1) // 2
        block = None if self.channels is None else b.shape[1:]
        structure = Hankel(length, window, block)
        problem = Problem(structure, values, 1.0, Weighted(seen * 1.0))
        assert fit.modes is not None  # a Hankel structure has modes
        return refit_modes(problem, fit.modes, sigma=self.sigma, undamped=self.undamped)


@dataclass(frozen=True)
class Past:
    """What forecasts of known samples say.

    Attributes
    ----------
    rank : int
        The rank with the least error.
    error : float
        Root mean square error of its forecasts.
    widening : float
        Factor by which its intervals have to be widened, at least 1.
    converged : bool
        Whether all convex solutions converged.
    """

    rank: int
    error: float
    widening: float
    converged: bool


def forecast_past(
    values: NDArray,
    steps: int,
    known: int | None,
    selection: Selection,
    how: Extrapolation,
    search: ForecastSearch = ForecastSearch(),
) -> Past:
    """Forecast the last parts of a series from what comes before, with every rank.

    Parameters
    ----------
    values : ndarray
        The series, NaN where missing.
    steps : int
        Number of samples to forecast later.
    known : int or None
        The rank, if known.
    selection : Selection
        The choice of mu and rank for the whole series.
    how : Extrapolation
    search : ForecastSearch

    Returns
    -------
    Past
    """
    rows_seen = np.any(~np.isnan(values.reshape(len(values), -1)), axis=1)
    values = values[: np.flatnonzero(rows_seen)[-1] + 1]
    ahead = min(steps, int(search.largest_part * len(values)))
    ends = _ends(values, ahead, search)
    selections = [how.select(values[:end]) for end in ends]
    largest = max(s.rank for s in (selection, *selections))
    ranks = range(1, largest + 1 + (search.more if largest else 0)) if known is None else [known]
    errors: dict[int, list[NDArray]] = defaultdict(list)
    variances: dict[int, list[NDArray]] = defaultdict(list)
    for end, chosen in zip(ends, selections, strict=True):
        for rank in ranks:
            found = _squared_errors(values, end, ahead, chosen, rank, how)
            if found is not None:
                errors[rank].append(found[0])
                variances[rank].append(found[1])
    if not errors:
        raise NoModes(
            "nothing in the series was distinguished from noise, so there is nothing to "
            "extrapolate: take a longer series, or pass rank"
        )
    most = max(len(parts) for parts in errors.values())
    means = {
        rank: float(np.mean(np.concatenate(parts)))
        for rank, parts in errors.items()
        if len(parts) == most and any(part.size for part in parts)
    }
    best = min(means, key=lambda rank: means[rank])
    ratio = means[best] / max(float(np.mean(np.concatenate(variances[best]))), 1e-300)
    converged = all(s.result.status.converged for s in (selection, *selections))
    return Past(best, float(np.sqrt(means[best])), float(np.sqrt(max(ratio, 1.0))), converged)


def _ends(values: NDArray, ahead: int, search: ForecastSearch) -> list[int]:
    """Return the lengths of the series before the parts that are forecast."""
    ends = [len(values) - origin * ahead for origin in range(1, search.origins + 1)]
    shortest = int(search.shortest_past * len(values))
    ends = [end for end in ends if end == ends[0] or end >= shortest]
    return [end for end in ends if np.all(np.any(~np.isnan(values[:end]), axis=0))]


def _squared_errors(
    values: NDArray, end: int, ahead: int, selection: Selection, rank: int, how: Extrapolation
) -> tuple[NDArray, NDArray] | None:
    """Return squared errors of a forecast of known samples, and their variances by the fit."""
    try:
        fit = how.extrapolate(selection, rank, end + ahead)
    except NoModes:
        return None
    if fit.sigma is None:
        return None
    y, stderr = (
        from_channels(part, how.channels)[end:] for part in (to_numpy(fit.y), to_numpy(fit.stderr))
    )
    difference = y - values[end : end + ahead]
    seen = ~np.isnan(difference)
    return np.abs(difference[seen]) ** 2, stderr[seen] ** 2 + fit.sigma**2

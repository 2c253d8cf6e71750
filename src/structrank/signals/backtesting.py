"""Forecasts of known samples, by which the rank of a forecast is chosen."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import seconds_left, tell, time_is_up, watched
from ..modal.modal_refit import refit_modes
from ..modal.modes import Modes, NoModes
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
    fewest_steps : int
        Steps of such a forecast, at least: errors of one step alone say little. Taste.
    shortest_past : float
        Smallest share of the series before them. Taste.
    more : int
        Number of ranks tried beyond those found. Taste: a weak mode may be missed by the choice
        of mu.
    first_share : float
        Share of a time limit after which the choice of mu for the whole series ends. Taste.
    past_share : float
        Share of the time after that, after which forecasts of known samples end. Taste.
    """

    fewest_samples: int = 8
    origins: int = 3
    largest_part: float = 1 / 4
    fewest_steps: int = 4
    shortest_past: float = 1 / 2
    more: int = 1
    first_share: float = 0.3
    past_share: float = 0.8


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
    seasons : tuple of float
        Known seasons in samples, for the forecast by components.
    """

    window: int | None
    channels: int | None
    sigma: float | None
    undamped: bool
    rng: int | np.random.Generator
    seasons: tuple[float, ...] = ()

    def select(self, values: NDArray) -> Selection:
        """Choose mu and rank for a series."""
        problem = hankel_problem(values, self.window, self.channels)
        return search_mu(problem, sigma=self.sigma, rng=self.rng)

    def extrapolate(self, selection: Selection, rank: int, length: int) -> Refit:
        """Return the fit of a rank to a series that continues, unseen, to a length.

        When time is up, its rank may be lower.
        """
        result = with_rank(selection.result, rank)
        rank = min(rank, result.rank)
        fit = fit_at_rank(result, rank, sigma=self.sigma, undamped=self.undamped)
        values = np.where(result.problem.seen, to_numpy(result.problem.b), np.nan)
        assert fit.modes is not None  # a Hankel structure has modes
        return fit_ahead(values, length, fit.modes, sigma=self.sigma, undamped=self.undamped)


def fit_ahead(
    values: NDArray, length: int, modes: Modes, *, sigma: float | None, undamped: bool | NDArray
) -> Refit:
    """Fit modes to a series that continues, unseen, to a length.

    Parameters
    ----------
    values : ndarray, shape (samples,) or (samples, channels, 1)
        NaN where missing.
    length : int
    modes : Modes
        Where to start.
    sigma : float or None
        Standard deviation of the noise, if known.
    undamped : bool or ndarray of bool
        The modes, or some of them, are known to be undamped.

    Returns
    -------
    Refit
    """
    more = np.full((length - len(values), *values.shape[1:]), np.nan)
    values = np.concatenate([values, more])
    structure = Hankel(length, (length + 1) // 2, values.shape[1:] or None)
    problem = Problem(structure, values, 1.0, Weighted(~np.isnan(values) * 1.0))
    return refit_modes(problem, modes, sigma=sigma, undamped=undamped)


@dataclass(frozen=True)
class Past:
    """What forecasts of known samples say.

    Attributes
    ----------
    selection : Selection
        The choice of mu and rank for the whole series.
    rank : int
        The rank with the least error.
    error : float
        Root mean square error of its forecasts.
    widening : float
        Factor by which its intervals have to be widened, at least 1.
    converged : bool
        Whether all convex solutions converged.
    residual : ndarray
        Its forecasts minus the known samples, one origin after the other.
    ends : list of int
        The origins: lengths of the series before what was forecast.
    ahead : int
        Number of samples forecast from each origin.
    """

    selection: Selection
    rank: int
    error: float
    widening: float
    converged: bool
    residual: NDArray
    ends: list[int]
    ahead: int


def forecast_past(
    values: NDArray,
    steps: int,
    known: int | None,
    how: Extrapolation,
    search: ForecastSearch = ForecastSearch(),
) -> Past:
    """Forecast the last parts of a series from what comes before, with every rank.

    When time is up, it is left to the parts and ranks that have been tried.

    Parameters
    ----------
    values : ndarray
        The series, NaN where missing.
    steps : int
        Number of samples to forecast later.
    known : int or None
        The rank, if known.
    how : Extrapolation
    search : ForecastSearch

    Returns
    -------
    Past
    """
    with watched(search.first_share * seconds_left()):
        selection = how.select(values)
    rows_seen = np.any(~np.isnan(values.reshape(len(values), -1)), axis=1)
    values = values[: np.flatnonzero(rows_seen)[-1] + 1]
    ahead = min(max(steps, search.fewest_steps), int(search.largest_part * len(values)))
    errors: dict[int, list[NDArray]] = defaultdict(list)
    variances: dict[int, list[NDArray]] = defaultdict(list)
    origins: dict[int, list[int]] = defaultdict(list)
    with watched(search.past_share * seconds_left()):
        chosen = _selections(values, _ends(values, ahead, search), how)
        ranks = [known] if known is not None else _ranks([selection, *chosen.values()], search)
        for end, rank in product(chosen, ranks):
            found = _errors(values, end, ahead, chosen[end], rank, how)
            if found is not None:
                errors[rank].append(found[0])
                variances[rank].append(found[1])
                origins[rank].append(end)
                error = np.sqrt(np.mean(np.abs(found[0]) ** 2)) if found[0].size else np.nan
                tell(f"forecast of known samples: rank {rank}, error {error:.3g}")
            if errors and time_is_up():
                break
    if not errors:
        raise NoModes(
            "nothing in the series was distinguished from noise, so there is nothing to "
            "extrapolate: take a longer series, or pass rank"
        )
    most = max(len(parts) for parts in errors.values())
    means = {
        rank: float(np.mean(np.abs(np.concatenate(parts)) ** 2))
        for rank, parts in errors.items()
        if len(parts) == most and any(part.size for part in parts)
    }
    best = min(means, key=lambda rank: means[rank])
    ratio = means[best] / max(float(np.mean(np.concatenate(variances[best]))), 1e-300)
    converged = all(s.result.status.converged for s in (selection, *chosen.values()))
    error, widening = float(np.sqrt(means[best])), float(np.sqrt(max(ratio, 1.0)))
    residual = np.concatenate(errors[best])
    return Past(selection, best, error, widening, converged, residual, origins[best], ahead)


def _selections(values: NDArray, ends: list[int], how: Extrapolation) -> dict[int, Selection]:
    """Return the choices of mu and rank for the series up to each end; one if time is up."""
    chosen: dict[int, Selection] = {}
    for end in ends:
        chosen[end] = how.select(values[:end])
        if time_is_up():
            break
    return chosen


def _ranks(selections: list[Selection], search: ForecastSearch) -> list[int]:
    """Return the ranks to try, that of the whole series first, as time may end."""
    largest = max(s.rank for s in selections)
    if largest or time_is_up():  # with more time, there may be a mode
        largest += search.more
    return sorted(range(1, largest + 1), key=lambda rank: abs(rank - selections[0].rank))


def _ends(values: NDArray, ahead: int, search: ForecastSearch) -> list[int]:
    """Return the lengths of the series before the parts that are forecast."""
    ends = [len(values) - origin * ahead for origin in range(1, search.origins + 1)]
    shortest = int(search.shortest_past * len(values))
    ends = [end for end in ends if end == ends[0] or end >= shortest]
    return [end for end in ends if np.all(np.any(~np.isnan(values[:end]), axis=0))]


def _errors(
    values: NDArray, end: int, ahead: int, selection: Selection, rank: int, how: Extrapolation
) -> tuple[NDArray, NDArray] | None:
    """Return errors of a forecast of known samples, and their variances by the fit."""
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
    return difference[seen], stderr[seen] ** 2 + fit.sigma**2

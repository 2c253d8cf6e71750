"""Regressors known in advance: estimates of a series beside what they add to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import finite_or_missing, one_real_series
from .._watch import clock
from ..components.regression import Regression, fit_regression
from ..io.containers import unwrap
from ..modal.modes import Modes
from .candidates import FitOfModes
from .estimates import ErrorDraws, Estimate, interval_reach
from .joint_modes import fit_jointly, without_idle_modes
from .plain_recovery import recover_plain
from .recovery_result import Recovery
from .regressor_table import RegressorTable, index_of
from .request import Request
from .units import with_sampling


@dataclass(frozen=True, eq=False)
class SeriesWithRegressors:
    """The numbers of one real series, and its regressors.

    Attributes
    ----------
    values : ndarray
        NaN where missing.
    table : RegressorTable
    """

    values: NDArray
    table: RegressorTable

    @classmethod
    def of(
        cls, samples: Any, values: Any, axis: int | None, regressors: Any
    ) -> SeriesWithRegressors:
        """Align regressors with samples, or raise an error.

        Parameters
        ----------
        samples : array, Series or DataArray
        values : array
            Their numbers, NaN where missing.
        axis : int or None
            The axis that holds channels.
        regressors : array, Series, DataFrame or RegressorTable
        """
        host = to_numpy(values)
        one_real_series(host, axis, "regressors are", "regressors are")
        finite_or_missing(host, "samples")
        table = RegressorTable.of(regressors, len(host), index_of(samples), "regressors")
        table.check_distinct(~np.isnan(host))
        return cls(host.astype(float), table)

    def fitted(self, seasons: tuple[float, ...], noise: NDArray | None = None) -> Regression:
        """Fit coefficients and components.

        Parameters
        ----------
        seasons : tuple of float
            Known seasons, in samples.
        noise : ndarray, optional
            Standard deviation of the noise of every sample, if it is known.
        """
        table = self.table
        return fit_regression(self.values, table.values, table.names, periods=seasons, noise=noise)


def check_regressors(request: Request) -> None:
    """Raise an error if regressors are given that do not fit the samples."""
    regressors = request.settings.regressors
    if regressors is not None:
        SeriesWithRegressors.of(request.samples, request.values, request.axis, regressors)


def recover_beside(request: Request, regressors: Any) -> Recovery:
    """Recover a series beside its regressors.

    The coefficients are found together with the components of the series. What the regressors
    leave is recovered as any series. If that is a sum of modes, these and the coefficients are
    fitted together by least squares.

    Parameters
    ----------
    request : Request
    regressors : array, Series, DataFrame or RegressorTable

    Returns
    -------
    Recovery
    """
    request.settings.check_absent(("bounds", "robust"), "regressors")
    samples, known = request.samples, request.known
    series = SeriesWithRegressors.of(samples, request.values, request.axis, regressors)
    regression = series.fitted(known.seasons, known.levels)
    rest = request.given.wrap(series.values - regression.effect)
    found = recover_plain(request.with_samples(rest))
    beside = _beside_others
    if found.kind == FitOfModes.name and known.levels is None:
        beside = _beside_modes
    found = beside(found, request, series.values, regression)
    return replace(found, samples=samples, seconds=clock() - request.began)


def with_effect(
    parts: Sequence[Any], level: float, effect: NDArray, errors: NDArray
) -> dict[str, NDArray]:
    """Add what regressors add to an estimate of the rest, and to its errors.

    Parameters
    ----------
    parts : sequence of array, Series or DataArray
        The estimate, its standard errors and the ends of its intervals.
    level : float
        Probability of the intervals.
    effect : ndarray
        What regressors add to the values.
    errors : ndarray
        Standard errors of that.

    Returns
    -------
    dict of str to ndarray
        `signal`, `stderr`, `lower` and `upper`.
    """
    signal, stderr, lower, upper = (to_numpy(unwrap(part).values) for part in parts)
    reach, centre = interval_reach(level), (lower + upper) / 2 + effect
    width = reach * np.hypot((upper - lower) / (2 * reach), errors)
    signal, stderr = signal + effect, np.hypot(stderr, errors)
    return {"signal": signal, "stderr": stderr, "lower": centre - width, "upper": centre + width}


def _draws(
    draw: ErrorDraws,
    regression: Regression,
    directions: NDArray,
    n: int,
    rng: np.random.Generator,
) -> NDArray:
    """Draws of a series beside its regressors, whose coefficients are drawn too."""
    moved = rng.multivariate_normal(np.zeros(len(regression.names)), regression.covariance, n)
    return np.asarray(draw(n, rng) + regression.effect + moved @ directions.T)


def _beside_others(
    found: Recovery, request: Request, values: NDArray, regression: Regression
) -> Recovery:
    """An estimate of what regressors leave, with what they add."""
    directions = regression.directions(values, regression.values)
    draw = None
    if found.draw is not None:
        draw = partial(_draws, found.draw, regression, directions)
    parts = (found.signal, found.stderr, found.lower, found.upper)
    numbers = with_effect(parts, found.level, regression.effect, regression.errors(directions))
    wrapped = {name: request.given.wrap(part) for name, part in numbers.items()}
    return replace(found, **wrapped, draw=draw, part_errors=None, regression=regression)


def _beside_modes(
    found: Recovery, request: Request, values: NDArray, regression: Regression
) -> Recovery:
    """A sum of modes and its regressors, fitted together."""
    none = Modes(np.zeros((0, 1)), 0.0, np.zeros(0))
    modes, sigma = none if found.modes is None else found.modes, request.known.sigma
    joint = fit_jointly(values, modes, regression, sigma)
    if request.known.rank is None:
        joint = without_idle_modes(values, joint, sigma)
    estimate = Estimate(joint.signal, joint.stderr, len(joint.modes), deviation=joint.deviation)
    return replace(
        found,
        **request.numbers(estimate, found.left),
        draw=partial(joint.draws, found.left),
        part_errors=joint.part_errors,
        modes=with_sampling(joint.modes, found.sampling),
        rank=estimate.rank,
        sigma=joint.sigma,
        regression=joint.regression,
    )

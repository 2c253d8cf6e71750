"""Regressors known in advance: estimates of a series beside what they add to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import one_real_series
from .._watch import clock
from ..components.regression import Regression, fit_regression
from ..io.appending import appended
from ..io.containers import Unwrapped, unwrap
from ..modal.modes import Modes
from .candidates import FitOfModes
from .estimates import ErrorDraws, Estimate, interval_reach
from .joint_modes import fit_jointly, without_idle_modes
from .plain_recovery import recover_plain
from .recovery_result import Recovery
from .regressor_table import RegressorTable
from .request import Request
from .units import with_sampling

if TYPE_CHECKING:
    from .forecast_result import Forecast


@dataclass(frozen=True, eq=False)
class _Given:
    """Samples of one real series, and its regressors."""

    samples: Any
    container: Unwrapped
    values: NDArray
    table: RegressorTable

    @classmethod
    def of(cls, samples: Any, container: Unwrapped, axis: int | None, regressors: Any) -> _Given:
        values = to_numpy(container.values)
        one_real_series(values, axis, "regressors are", "regressors are")
        table = RegressorTable.of(regressors, len(values), index_of(samples), "regressors")
        table.check_distinct(~np.isnan(values))
        return cls(samples, container, values.astype(float), table)

    def fitted(self, seasons: tuple[float, ...], noise: NDArray | None = None) -> Regression:
        return fit_regression(
            self.values, self.table.values, self.table.names, periods=seasons, noise=noise
        )


def index_of(samples: Any) -> Any:
    """The index of a pandas object; None for other containers."""
    return samples.index if hasattr(samples, "iloc") else None


def check_regressors(request: Request) -> None:
    """Raise an error if regressors are given that do not fit the samples."""
    if request.settings.regressors is not None:
        _Given.of(request.samples, request.given, request.axis, request.settings.regressors)


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
    given, known = (
        _Given.of(request.samples, request.given, request.axis, regressors),
        request.known,
    )
    regression = given.fitted(known.seasons, known.levels)
    rest = given.container.wrap(given.values - regression.effect)
    found = recover_plain(request.with_samples(rest))
    if found.kind == FitOfModes.name and known.levels is None:
        found = _beside_modes(found, request, given, regression)
    else:
        found = _beside_others(found, given, regression)
    return replace(found, samples=request.samples, seconds=clock() - request.began)


@dataclass(frozen=True, eq=False)
class ForecastRegressors:
    """Regressors of a forecast: what they add to the samples, and their values after them.

    Attributes
    ----------
    samples : array, Series or DataArray
    regression : Regression
    rest : ndarray
        The samples less what the regressors add.
    later : ndarray, shape (steps, regressors)
        Values in the steps that are forecast.
    """

    samples: Any
    regression: Regression
    rest: NDArray
    later: NDArray

    @classmethod
    def of(
        cls,
        samples: Any,
        container: Unwrapped,
        axis: int | None,
        regressors: Any,
        future: Any,
        steps: int,
        seasons: tuple[float, ...],
    ) -> ForecastRegressors | None:
        """Fit regressors to a series, or raise an error; None if there are none.

        Parameters
        ----------
        samples : array, Series or DataArray
        container : Unwrapped
            Their numbers.
        axis : int or None
            The axis that holds channels.
        regressors, future : array, Series or DataFrame, or None
            At the samples, and in the steps after them.
        steps : int
        seasons : tuple of float
            Known seasons, in samples.
        """
        if regressors is None and future is None:
            return None
        if regressors is None:
            raise ValueError(
                "future_regressors are given, but not regressors, at the samples: pass both"
            )
        given = _Given.of(samples, container, axis, regressors)
        later = RegressorTable.after(future, steps, index_of(samples), given.table.names)
        regression = given.fitted(seasons)
        return cls(samples, regression, given.values - regression.effect, later.values)

    def added_to(self, ahead: Forecast) -> Forecast:
        """A forecast of the rest, with what the regressors add."""
        return _ahead(ahead, self.samples, self.regression, self.later)


def update_beside(ahead: Forecast, new: Any, regressors: Any, future: Any) -> Forecast:
    """Continue a forecast beside regressors with new samples; coefficients stay.

    Parameters
    ----------
    ahead : Forecast
        With regressors.
    new : array, Series or DataArray
        The new samples.
    regressors, future : array, Series or DataFrame
        At the new samples, and after them.

    Returns
    -------
    Forecast
    """
    regression = ahead.regression
    assert regression is not None  # or there would be nothing beside
    if regressors is None:
        raise ValueError(
            f"the forecast has the regressors {list(regression.names)}, but their values at the "
            "new samples, regressors, are not given"
        )
    names, steps = regression.names, len(ahead.mean)
    samples = appended(ahead.samples, new)
    own = RegressorTable.of(regressors, len(new), index_of(new), "regressors")
    own.check_names(names, "regressors")
    later = RegressorTable.after(future, steps, index_of(samples), names)
    before, after = unwrap(ahead.samples), unwrap(new)
    plain = replace(
        ahead,
        samples=before.wrap(to_numpy(before.values) - regression.effect),
        regression=None,
    )
    found = plain.update(after.wrap(to_numpy(after.values) - own.values @ regression.coefficients))
    longer = replace(regression, values=np.concatenate([regression.values, own.values]))
    return _ahead(found, samples, longer, later.values)


def _ahead(ahead: Forecast, samples: Any, regression: Regression, later: NDArray) -> Forecast:
    """A forecast of what regressors leave, with what they add."""
    given = unwrap(samples)
    values = np.append(to_numpy(given.values), np.full(len(later), np.nan))
    directions = regression.directions(values, np.concatenate([regression.values, later]))
    effect, extra = later @ regression.coefficients, _extra(regression, directions[-len(later) :])
    numbers = _numbers(ahead.mean, ahead, effect, extra)
    numbers["mean"] = numbers.pop("signal")
    wrapped = {name: given.follow(part) for name, part in numbers.items()}
    return replace(ahead, **wrapped, samples=samples, regression=regression)


def _numbers(
    signal: Any, found: Recovery | Forecast, effect: NDArray, extra: NDArray
) -> dict[str, NDArray]:
    """Signal, standard errors and intervals with what regressors add to values and errors."""
    signal, stderr, lower, upper = (
        to_numpy(unwrap(part).values) for part in (signal, found.stderr, found.lower, found.upper)
    )
    reach, signal = interval_reach(found.level), signal + effect
    width = reach * np.hypot((upper - lower) / (2 * reach), extra)
    stderr = np.hypot(stderr, extra)
    return {"signal": signal, "stderr": stderr, "lower": signal - width, "upper": signal + width}


def _extra(regression: Regression, directions: NDArray) -> NDArray:
    """Standard errors of a series from those of coefficients."""
    variances = np.einsum("ti,ij,tj->t", directions, regression.covariance, directions)
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


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


def _beside_others(found: Recovery, given: _Given, regression: Regression) -> Recovery:
    """An estimate of what regressors leave, with what they add."""
    directions = regression.directions(given.values, regression.values)
    draw = None
    if found.draw is not None:
        draw = partial(_draws, found.draw, regression, directions)
    numbers = _numbers(found.signal, found, regression.effect, _extra(regression, directions))
    wrapped = {name: given.container.wrap(part) for name, part in numbers.items()}
    return replace(found, **wrapped, draw=draw, regression=regression)


def _beside_modes(
    found: Recovery, request: Request, given: _Given, regression: Regression
) -> Recovery:
    """A sum of modes and its regressors, fitted together."""
    none = Modes(np.zeros((0, 1)), 0.0, np.zeros(0))
    modes, sigma = none if found.modes is None else found.modes, request.known.sigma
    joint = fit_jointly(given.values, modes, regression, sigma)
    if request.known.rank is None:
        joint = without_idle_modes(given.values, joint, sigma)
    estimate = Estimate(joint.signal, joint.stderr, len(joint.modes), deviation=joint.deviation)
    return replace(
        found,
        **request.numbers(estimate, found.left),
        draw=partial(joint.draws, found.left),
        modes=with_sampling(joint.modes, found.sampling),
        rank=estimate.rank,
        sigma=joint.sigma,
        regression=joint.regression,
    )

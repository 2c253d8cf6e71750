"""Forecasts of a series beside regressors whose future values are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, to_numpy
from ..components.regression import Regression
from ..io.appending import appended
from ..io.containers import unwrap
from .regressor_table import RegressorTable, index_of
from .regressors import SeriesWithRegressors, with_effect

if TYPE_CHECKING:
    from .forecast_result import Forecast


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
        values: NDArray,
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
        values : ndarray
            Their numbers, NaN where missing.
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
        series = SeriesWithRegressors.of(samples, values, axis, regressors)
        later = RegressorTable.after(future, steps, index_of(samples), series.table.names)
        regression = series.fitted(seasons)
        return cls(samples, regression, series.values - regression.effect, later.values)

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
    errors = regression.errors(directions[-len(later) :])
    parts = (ahead.mean, ahead.stderr, ahead.lower, ahead.upper)
    numbers = with_effect(parts, ahead.level, later @ regression.coefficients, errors)
    numbers["mean"] = numbers.pop("signal")
    wrapped = {name: given.follow(part) for name, part in numbers.items()}
    return replace(ahead, **wrapped, samples=samples, regression=regression)

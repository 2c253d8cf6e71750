"""Regressors known in advance: estimates of a series beside what they add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import first_given, one_real_series
from ..components.regression import Regression, fit_regression
from ..io.appending import appended
from ..io.containers import Unwrapped, unwrap
from ..modal.modes import Modes
from .candidates import FitOfModes
from .estimates import ErrorDraws, interval_reach
from .joint_modes import fit_jointly, without_idle_modes
from .regressor_table import RegressorTable
from .solutions import Known
from .units import with_sampling

if TYPE_CHECKING:
    from .forecast_result import Forecast
    from .recovery_result import Recovery


@dataclass(frozen=True, eq=False)
class _Given:
    """Samples of one real series, and its regressors."""

    samples: Any
    container: Unwrapped
    values: NDArray
    table: RegressorTable

    @classmethod
    def of(cls, samples: Any, regressors: Any, channels: int | None, others: Any) -> _Given:
        other = first_given(others)
        if other is not None:
            raise ValueError(
                f"regressors and {other} are given, which do not go together: pass one of both"
            )
        container = unwrap(samples, channels)
        values = to_numpy(container.values)
        axis = container.channels if channels is None else channels
        one_real_series(values, axis, "regressors are", "regressors are")
        table = RegressorTable.of(regressors, len(values), index_of(samples), "regressors")
        table.check_distinct(~np.isnan(values))
        return cls(samples, container, values.astype(float), table)

    def fitted(self, seasons: tuple[float, ...], noise: NDArray | None = None) -> Regression:
        return fit_regression(
            self.values, self.table.values, self.table.names, periods=seasons, noise=noise
        )

    def without(self, regression: Regression) -> Any:
        """The samples less what regressors add, in their container."""
        return self.container.wrap(self.values - regression.effect)


def index_of(samples: Any) -> Any:
    """The index of a pandas object; None for other containers."""
    return samples.index if hasattr(samples, "iloc") else None


def check_regressors(samples: Any, regressors: Any, channels: int | None, **others: Any) -> None:
    """Raise an error if regressors are given that do not fit the samples.

    Parameters
    ----------
    samples : array, Series or DataArray
    regressors : array, Series, DataFrame or None
    channels : int or None
        The axis that holds channels.
    **others
        Arguments that do not go with regressors: None or False if they are not given.
    """
    if regressors is not None:
        _Given.of(samples, regressors, channels, others)


def recover_beside(
    recover: Callable[..., Recovery], asked: dict[str, Any], known: Known
) -> Recovery:
    """Recover a series beside its regressors.

    The coefficients are found together with the components of the series. What the regressors
    leave is recovered as any series. If that is a sum of modes, these and the coefficients are
    fitted together by least squares.

    Parameters
    ----------
    recover : callable
        The function that recovers a series.
    asked : dict of str to object
        Its arguments, with regressors.
    known : Known
        What they say about the series.

    Returns
    -------
    Recovery
    """
    others = {name: asked[name] for name in ("bounds", "robust")}
    given = _Given.of(asked["samples"], asked["regressors"], asked["channels"], others)
    regression = given.fitted(known.seasons, known.levels)
    found = recover(**{**asked, "samples": given.without(regression), "regressors": None})
    if found.kind == FitOfModes.name and known.levels is None:
        return _beside_modes(found, given, regression, known.sigma, known.rank is None)
    directions = regression.directions(given.values, regression.values)
    draw = None
    if found.draw is not None:
        draw = partial(_draws, found.draw, regression, directions)
    numbers = _numbers(found.signal, found, regression.effect, _extra(regression, directions))
    wrapped = {name: given.container.wrap(part) for name, part in numbers.items()}
    return replace(found, **wrapped, samples=given.samples, draw=draw, regression=regression)


def forecast_beside(
    forecast: Callable[..., Forecast], asked: dict[str, Any], seasons: tuple[float, ...]
) -> Forecast:
    """Forecast a series beside its regressors, whose future values are known.

    Parameters
    ----------
    forecast : callable
        The function that forecasts a series.
    asked : dict of str to object
        Its arguments, with regressors.
    seasons : tuple of float
        Known seasons, in samples.

    Returns
    -------
    Forecast
    """
    if asked["regressors"] is None:
        raise ValueError(
            "future_regressors are given, but not regressors, at the samples: pass both"
        )
    given = _Given.of(asked["samples"], asked["regressors"], asked["channels"], {})
    index, names = index_of(given.samples), given.table.names
    later = RegressorTable.after(asked["future_regressors"], asked["steps"], index, names)
    regression = given.fitted(seasons)
    rest = given.without(regression)
    none = {"regressors": None, "future_regressors": None}
    return _ahead(
        forecast(**{**asked, "samples": rest, **none}), given.samples, regression, later.values
    )


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


def _beside_modes(
    found: Recovery, given: _Given, regression: Regression, sigma: float | None, free: bool
) -> Recovery:
    """A sum of modes and its regressors, fitted together."""
    none = Modes(np.zeros((0, 1)), 0.0, np.zeros(0))
    modes = none if found.modes is None else found.modes
    joint = fit_jointly(given.values, modes, regression, sigma)
    if free:
        joint = without_idle_modes(given.values, joint, sigma)
    reach = interval_reach(found.level)
    spread = np.hypot(joint.stderr, joint.sigma)
    parts = {
        "signal": joint.signal,
        "stderr": joint.stderr,
        "lower": joint.signal - reach * spread,
        "upper": joint.signal + reach * spread,
    }
    wrapped = {
        name: given.container.wrap(np.where(found.left, np.nan, part))
        for name, part in parts.items()
    }
    return replace(
        found,
        **wrapped,
        draw=partial(joint.draws, found.left),
        modes=with_sampling(joint.modes, found.sampling),
        rank=len(joint.modes),
        sigma=joint.sigma,
        samples=given.samples,
        regression=joint.regression,
    )

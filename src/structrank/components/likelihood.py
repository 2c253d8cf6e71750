"""Maximum likelihood for the components of a series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from .._array import NDArray
from .._pieces import Packed, piece
from .._watch import time_is_up
from ..io.saved_results import savable
from ..systems.chunks import Gaussian
from ..systems.likelihood import Score, log_likelihood, value_and_gradient
from ..systems.smoothing import Moments, smoothed
from .conditioning import gaussian, records
from .covariances import SampleCovariances
from .dense_smoothing import ConditionedSeries
from .given_series import GivenSeries
from .model import DRIFTS, Components

LikelihoodScore = Callable[[NDArray], tuple[float, NDArray]]


@dataclass(frozen=True)
class LikelihoodSearch:
    """How the likelihood is maximised; set by hand on series of 25 to 1000 samples.

    Attributes
    ----------
    steps : int
        Iterations of L-BFGS at most.
    accuracy : float
        It ends when the log-likelihood changes by less, relatively.
    smallest, largest : float
        Bounds of variances, for a series of deviation one. The first one has no upper bound:
        samples bound the white noise by themselves.
    vanished : float
        Components with a smaller variance are left out.
    samples : int
        Longest series for which these two hold for the slope. The variance of what its drift adds
        up to grows with the third power of the length, so they fall with it for longer ones.
    largest_pacf : float
        Bound of the inverse hyperbolic tangent of a partial autocorrelation.
    dense : float
        The covariances of N of n samples are a matrix if N^3 is at most so many times n (d + 5),
        with d states; else a filter takes less time. Measured for 40 to 700 samples.
    most_dense : int
        Largest number of times, seen or not, whose means and variances are found from a matrix of
        their covariances. That takes a quarter of the time of a filter for 300 of them, and longer
        than a filter for 480.
    """

    steps: int = 40
    accuracy: float = 2e-5
    smallest: float = 1e-7
    largest: float = 100.0
    vanished: float = 2e-7
    samples: int = 100
    largest_pacf: float = 4.0
    dense: float = 1e4
    most_dense: int = 400

    def least(self, variance: float, name: str, samples: int) -> float:
        """Logarithm of a limit of variances, for one of them and the length of the series."""
        longer = max(samples / self.samples, 1.0) if name == "slope" else 1.0
        return float(np.log(variance) - 3 * np.log(longer))


def is_short(
    components: Components, y: NDArray, search: LikelihoodSearch = LikelihoodSearch()
) -> bool:
    """Whether the covariances of the samples of a series take less time than a filter.

    Parameters
    ----------
    components : Components
    y : ndarray
        NaN where missing.
    search : LikelihoodSearch
    """
    states = components.states["autoregression"].stop
    count = int(np.sum(~np.isnan(y)))
    return bool(count**3 <= search.dense * len(y) * (states + 5))


def corrected_akaike(loglikelihood: float, parameters: int, samples: int) -> float:
    """Akaike's criterion of a model, corrected for few samples: the smaller, the better.

    Parameters
    ----------
    loglikelihood : float
    parameters, samples : int
        Their numbers.
    """
    spare = max(samples - parameters - 1, 1)
    return 2 * (parameters - loglikelihood) + 2 * parameters * (parameters + 1) / spare


@savable()
@dataclass(frozen=True, eq=False)
class ComponentFit:
    """Components with their most likely parameters.

    Attributes
    ----------
    components : Components
    parameters : ndarray
    loglikelihood : float
    seen : int
        Number of samples.
    """

    components: Components
    parameters: NDArray
    loglikelihood: float
    seen: int

    @property
    def information(self) -> float:
        """Akaike's criterion, corrected for few samples: the smaller, the better."""
        return corrected_akaike(self.loglikelihood, len(self.parameters), self.seen)

    @property
    def fitted(self) -> int:
        """Number of samples that the parameters were fitted to, at most: of a long series, a part.

        `seen` counts all samples of a long series.
        """
        return min(self.seen, self.components.samples)

    @property
    def values(self) -> dict[str, float]:
        """The parameters by their names."""
        return dict(zip(self.components.names, self.parameters.tolist(), strict=True))

    def smooth(self, samples: Sequence[NDArray], noise: NDArray | None = None) -> Moments:
        """Means and variances given series of mean zero and deviation one, one record each."""
        return smoothed(gaussian(self.components, self.parameters, noise), records(samples))

    def signals(
        self, samples: Sequence[NDArray], noise: NDArray | None = None
    ) -> list[tuple[NDArray, NDArray]]:
        """Mean and variance of the series without its white noise, for each record of samples."""
        try:
            if all(self.is_short(y) for y in samples):
                given = [self.conditioned(y, noise) for y in samples]
                return [(one.mean(), one.variance()) for one in given]
        except ValueError:  # rounding: the filter keeps more digits
            pass
        found, shown = self.smooth(samples, noise), self._shown
        return [
            (found.states[:, :, 0, k] @ shown, found.signal_variances[:, 0, k])
            for k in range(len(samples))
        ]

    def given(self, y: NDArray, noise: NDArray | None = None) -> GivenSeries:
        """The fit and one series, for several questions about them."""
        return GivenSeries(self, y, noise)

    def over(self, y: NDArray, noise: NDArray | None = None) -> ComponentFit:
        """The same parameters, with their likelihood for another series, such as a longer one."""
        value = log_likelihood(gaussian(self.components, self.parameters, noise), records([y]))
        return replace(self, loglikelihood=float(value[0, 0]), seen=int(np.sum(~np.isnan(y))))

    @property
    def _shown(self) -> NDArray:
        """How states show in the series."""
        return np.asarray(self.components.matrices(self.parameters)[0][0])

    def is_short(self, y: NDArray, search: LikelihoodSearch = LikelihoodSearch()) -> bool:
        """Whether all values of a series have covariances that are quickly computed."""
        return len(y) <= search.most_dense and is_short(self.components, y, search)

    def conditioned(self, y: NDArray, noise: NDArray | None) -> ConditionedSeries:
        """A short series given its samples, by dense covariances."""
        return ConditionedSeries(self.components, self.parameters, y, noise)


def most_likely(
    components: Components,
    y: NDArray,
    start: dict[str, float],
    search: LikelihoodSearch = LikelihoodSearch(),
    *,
    noise: NDArray | None = None,
) -> ComponentFit:
    """Maximise the likelihood from a start, and leave out components that vanish.

    Parameters
    ----------
    components : Components
    y : ndarray
        Series of mean zero and deviation one, NaN where missing.
    start : dict of str to float
        Parameters to start from, by their names.
    search : LikelihoodSearch
    noise : ndarray, optional
        Standard deviation of the noise of every sample, for components whose noise is measured.

    Returns
    -------
    ComponentFit
    """
    seen = int(np.sum(~np.isnan(y)))

    def search_for() -> ComponentFit:
        parameters, value = _largest(components, y, start, search, noise)
        return ComponentFit(components, parameters, value, seen)

    def pack(fit: ComponentFit) -> Packed:
        return {"parameters": fit.parameters, "loglikelihood": fit.loglikelihood}

    def unpack(packed: Packed) -> ComponentFit:
        return ComponentFit(components, packed["parameters"], packed["loglikelihood"], seen)

    name = f"components with {len(components.names)} parameters"
    return without_vanished(piece(name, search_for, pack, unpack), search)


def _largest(
    components: Components,
    y: NDArray,
    start: dict[str, float],
    search: LikelihoodSearch,
    noise: NDArray | None,
) -> tuple[NDArray, float]:
    """The parameters with the largest likelihood, and its logarithm."""
    score = _score(components, y, noise, search)
    pacf = np.array([name.startswith("pacf") for name in components.names])
    least = [search.least(search.smallest, name, len(y)) for name in components.names]
    lower = np.where(pacf, -search.largest_pacf, least)
    upper = np.where(pacf, search.largest_pacf, np.log(search.largest))
    upper[:1] = np.inf  # a variance: if all had two bounds, the first step would lead to them
    first = np.array([start[name] for name in components.names])
    bounds = np.column_stack([lower, upper])
    return largest_within(score, first, bounds, search.steps, search.accuracy)


def largest_within(
    score: LikelihoodScore, first: NDArray, bounds: NDArray, steps: int, accuracy: float
) -> tuple[NDArray, float]:
    """The parameters with the largest likelihood, and its logarithm; less good ones if time is up.

    Parameters
    ----------
    score : callable
        The log-likelihood and its gradient, as a function of the parameters.
    first : ndarray
        Where to start; it is moved to the bounds if it is outside.
    bounds : ndarray, shape (parameters, 2)
    steps, accuracy : int, float
        Iterations of L-BFGS at most, and the relative change of the log-likelihood at its end.
    """

    def negative(parameters: NDArray) -> tuple[float, NDArray]:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = score(parameters)
        except ValueError:  # rounding decides, far from all that series show
            value, gradient = -np.inf, np.zeros(len(parameters))
        if not np.all(np.isfinite([value, *gradient])):  # variances left all numbers
            return np.inf, np.zeros(len(parameters))
        return -value, -gradient

    def end_in_time(_: NDArray) -> None:
        if time_is_up():
            raise StopIteration

    found = minimize(
        negative,
        np.clip(first, bounds[:, 0], bounds[:, 1]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=end_in_time,
        options={"maxiter": steps, "ftol": accuracy},
    )
    return found.x, -float(found.fun)


def _score(
    components: Components, y: NDArray, noise: NDArray | None, search: LikelihoodSearch
) -> LikelihoodScore:
    """The log-likelihood and its gradient, as a function of the parameters."""
    if is_short(components, y, search):
        return SampleCovariances(components, y, noise).score
    return filtered_score(
        lambda parameters: gaussian(components, parameters, noise), components.gradient, y
    )


def filtered_score(
    system: Callable[[NDArray], Gaussian],
    gradient: Callable[[NDArray, Score], NDArray],
    y: NDArray,
) -> LikelihoodScore:
    """The log-likelihood and its gradient by a filter, as a function of the parameters.

    Parameters
    ----------
    system : callable
        The system with some parameters.
    gradient : callable
        Derivatives by the parameters, from these and from those by the matrices of the system.
    y : ndarray
        NaN where missing.
    """
    record = records([y])

    def score(parameters: NDArray) -> tuple[float, NDArray]:
        found = value_and_gradient(system(parameters), record)
        return found.value, gradient(parameters, found)

    return score


def without_vanished(
    fit: ComponentFit, search: LikelihoodSearch = LikelihoodSearch()
) -> ComponentFit:
    """Leave out drifts and autoregressive parts of no size; the likelihood stays what it is.

    Parameters
    ----------
    fit : ComponentFit
    search : LikelihoodSearch
    """
    components, values = fit.components, fit.values

    def lasts(name: str) -> bool:
        small = search.least(search.vanished, name, components.samples)
        return values.get(name, -np.inf) > small

    kept = tuple(name for name in DRIFTS if lasts(name))
    order = components.order if lasts("autoregression") else 0
    components = replace(components, drifts=kept, order=order)
    parameters = np.array([values[name] for name in components.names])
    return replace(fit, components=components, parameters=parameters)

"""The likelihood of a short series at any times by the covariances of its samples."""

from __future__ import annotations

import numpy as np

from .._array import NDArray
from .covariances import value_and_change
from .irregular import ContinuousComponents

_Wave = tuple[NDArray, NDArray, float]  # size and decay, cosines and sines, rate


class CovariancesAtTimes:
    """Covariances of samples at any times as a function of the parameters of their processes.

    They are a sum of fixed matrices times variances (white noise and drifts), and of v exp(-r |d|)
    cos(w d) for a wave of variance v, rate r and angular frequency w, at times whose difference is
    d. An Ornstein-Uhlenbeck process is a wave of frequency zero. The cosines are products of those
    at single times: cos(w s) cos(w t) + sin(w s) sin(w t).

    Parameters
    ----------
    components : ContinuousComponents
    y : ndarray
        Without gaps, of mean zero and deviation one, one sample per time.
    noise : ndarray or None
        Standard deviation of the noise of every sample, for components whose noise is measured.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.irregular import ContinuousComponents
    >>> from structrank.components.irregular_covariances import CovariancesAtTimes
    >>> walk = ContinuousComponents(np.array([0.0, 1.0, 2.0]), drifts=("level",))
    >>> value, gradient = CovariancesAtTimes(walk, np.array([0.0, 1.0, 1.5])).score(np.zeros(2))
    >>> round(value, 3), gradient.round(3)  # as in `covariances`: the steps are one
    (-5.236, array([-0.506, -0.229]))
    """

    def __init__(
        self, components: ContinuousComponents, y: NDArray, noise: NDArray | None = None
    ) -> None:
        self.components, self.y = components, y
        since = components.times - components.times[0]
        self.times = since - since[-1] / 2  # the smaller, the less rounding
        self.lags = np.abs(since[:, None] - since)
        self.fixed = np.full(self.lags.shape, components.first.level**2)
        if "slope" in components.drifts:
            slope = components.first.slope / max(float(since[-1]), np.finfo(float).tiny)
            self.fixed += np.outer(slope * since, slope * since)
        if noise is not None:
            self.fixed[np.diag_indices(len(y))] += noise**2
        parts = [] if components.measured else [np.eye(len(y))]
        parts += [_drift(name, since) for name in components.drifts]
        self.parts = np.array(parts).reshape(len(parts), len(y) ** 2)

    def score(self, parameters: NDArray) -> tuple[float, NDArray]:
        """Log-likelihood of the samples, and its gradient.

        Parameters
        ----------
        parameters : ndarray
            In the order of `ContinuousComponents.names`.

        Raises
        ------
        ValueError
            If the covariances are not positive definite, by rounding.
        """
        covariance, variances, waves = self._parts(parameters)
        value, change = value_and_change(covariance, self.y)
        slopes = [self._slopes(change * decay, turn, rate) for decay, turn, rate in waves]
        own = np.delete(np.ravel(slopes), [2] * int(self.components.cycle))
        return value, np.append(variances * (self.parts @ change.ravel()), own)

    def covariance(self, parameters: NDArray) -> NDArray:
        """Covariances of the samples.

        Parameters
        ----------
        parameters : ndarray
            In the order of `ContinuousComponents.names`.
        """
        return self._parts(parameters)[0]

    def _parts(self, parameters: NDArray) -> tuple[NDArray, NDArray, list[_Wave]]:
        """Covariances of the samples, variances of drifts and noise, and the waves."""
        count, cycle = len(self.parts), int(self.components.cycle)
        variances = np.exp(parameters[:count])
        covariance = self.fixed + (variances @ self.parts).reshape(self.fixed.shape)
        values = np.insert(parameters[count:], [2] * cycle, 0.0).reshape(-1, 3)
        waves = []
        for log_size, log_rate, frequency in values:
            rate, angles = float(np.exp(log_rate)), frequency * self.times
            decay = np.exp(log_size) * np.exp(-rate * self.lags)
            turn = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
            covariance += decay * (turn @ turn.T)
            waves.append((decay, turn, rate))
        return covariance, variances, waves

    def _slopes(self, weights: NDArray, turn: NDArray, rate: float) -> tuple[float, float, float]:
        """Derivatives by logarithms of variance and rate, and by the frequency, of one wave."""
        moved = weights @ turn
        size = np.sum(turn * moved)
        slower = np.sum(turn * ((self.lags * weights) @ turn))
        # The sum of weights times -d sin(w d): twice the half of it with the first time in d.
        crossed = turn[:, 0] * moved[:, 1] - turn[:, 1] * moved[:, 0]
        return float(size), float(-rate * slower), float(2 * self.times @ crossed)


def _drift(name: str, since: NDArray) -> NDArray:
    """Covariances of a level that is a Wiener process, or whose slope is one."""
    earlier, later = np.minimum(since[:, None], since), np.maximum(since[:, None], since)
    if name == "level":
        return np.asarray(earlier)
    return np.asarray(earlier**2 * (later / 2 - earlier / 6))

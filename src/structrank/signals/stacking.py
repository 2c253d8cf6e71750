"""Weights of predictions in their average: those that would have predicted best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._array import NDArray, like, to_numpy
from .candidates.base import Prediction
from .estimates import Estimate


@dataclass(frozen=True)
class Stacking:
    """How weights are found.

    Attributes
    ----------
    prior : float
        How many held-out samples the assumption of equal weights counts as. Taste: with 100
        held-out samples, a third of it and three times as much change the errors in gaps of 25
        series by less than 0.5%.
    least : float
        A smaller weight is zero. Taste: it saves an estimate.
    """

    prior: float = 30.0
    least: float = 0.05


def stacked(
    plain: Sequence[Prediction], weighted: Sequence[Prediction], how: Stacking = Stacking()
) -> list[Prediction]:
    """Average predictions: the mean of some, and others with weights of their own.

    Parameters
    ----------
    plain : sequence of Prediction
        They share one weight.
    weighted : sequence of Prediction
    how : Stacking

    Returns
    -------
    list of Prediction
        One prediction, or `plain` if there is nothing to weight.
    """
    groups = [*([list(plain)] if plain else []), *([p] for p in weighted)]
    if len(groups) < 2:
        return list(groups[0]) if groups else []
    residuals = np.array([np.mean([p.residual for p in group], axis=0) for group in groups])
    weights = simplex_weights(residuals, how)
    kept = [k for k in range(len(groups)) if weights[k] >= how.least]
    if len(kept) == 1:
        return groups[kept[0]]
    weights = weights[kept] / np.sum(weights[kept])
    return [Stack([groups[k] for k in kept], weights, weights @ residuals[kept])]


def simplex_weights(residuals: NDArray, how: Stacking = Stacking()) -> NDArray:
    """Weights of sum one, none negative, with the least squared error plus a ridge.

    Parameters
    ----------
    residuals : ndarray, shape (predictions, samples)
    how : Stacking

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.stacking import simplex_weights
    >>> simplex_weights(np.array([[1.0, -1.0], [1.0, 1.0]])).round(3)
    array([0.5, 0.5])
    """
    count = len(residuals)
    gram = np.real(residuals @ residuals.conj().T) / residuals.shape[1]
    least, largest = np.min(np.diag(gram)), np.max(np.diag(gram))
    if largest == 0:
        return np.full(count, 1 / count)
    ridge = how.prior / residuals.shape[1] * least
    gram = gram + (ridge + 1e-9 * largest) * np.eye(count)
    sum_price = 1e3 * np.sqrt(largest)  # so high that the weights sum to one
    rows = np.concatenate([np.linalg.cholesky(gram).T, np.full((1, count), sum_price)])
    weights = nnls(rows, np.append(np.zeros(count), sum_price))[0]
    return np.asarray(weights / np.sum(weights))


class Stack(Prediction):
    """An average of groups of predictions, with weights.

    Parameters
    ----------
    groups : list of list of Prediction
        The predictions of a group share its weight.
    weights : ndarray
    residual : ndarray
        That of the average.
    """

    def __init__(self, groups: list[list[Prediction]], weights: NDArray, residual: NDArray) -> None:
        profile = next((p.profile for p in groups[-1] if p.profile is not None), None)
        super().__init__(groups[0][0].candidate, residual, profile)
        self.groups, self.weights = groups, weights

    @property
    def parts(self) -> list[Prediction]:
        return [prediction for group in self.groups for prediction in group]

    def estimate(self) -> Estimate:
        estimates = [[p.estimate() for p in group] for group in self.groups]
        means = [np.mean([to_numpy(e.signal) for e in group], axis=0) for group in estimates]
        signal = like(np.tensordot(self.weights, np.array(means), 1), estimates[0][0].signal)
        rank = max(e.rank for e in estimates[0])
        return Estimate(signal, None, rank, sigma=estimates[-1][0].sigma)

"""Which disturbances of channels are correlated, and how: by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from .._array import NDArray
from .._pieces import Packed, piece
from .._watch import time_is_up
from ..systems.chunks import Records
from ..systems.likelihood import log_likelihood, value_and_gradient
from .joint_model import Correlation, JointFit, table_records
from .likelihood import ComponentFit
from .mixture import FittedSeries
from .search import stretch_with_most


@dataclass(frozen=True)
class JointSearch:
    """Which channels are fitted jointly, and how.

    Attributes
    ----------
    channels, samples, states : int
        Limits of channels, of samples of each, and of states of all of them. Taste: time grows
        with the length and with the cube of the number of states.
    fewest : int
        Samples that are seen in each channel, at least. Taste: fewer say little about correlations.
    stretch : int
        Longest stretch that correlations are fitted to, as for the parameters of a series.
    steps : int
        Iterations of L-BFGS at most. They start at zero, and few are needed.
    accuracy : float
        It ends when the log-likelihood changes by less, relatively.
    prior : float
        Weight of the logarithm of the determinants of correlation matrices, which keeps them from
        singular ones where the samples say little: the prior of Lewandowski, Kurowicka and Joe
        with the parameter 1 + `prior`.
    slack : float
        Fits are kept whose criterion exceeds the best one by less, as for one series.
    """

    channels: int = 8
    samples: int = 10_000
    states: int = 60
    fewest: int = 40
    stretch: int = 1000
    steps: int = 20
    accuracy: float = 2e-5
    prior: float = 2.0
    slack: float = 10.0

    def applies(self, seen: NDArray) -> bool:
        """Whether a table is fitted jointly, of which these values, one row per time, are seen."""
        samples, channels = seen.shape
        few = np.min(np.sum(seen, axis=0)) < self.fewest
        return channels <= self.channels and samples <= self.samples and not few


def fit_jointly(
    alone: Sequence[FittedSeries], samples: NDArray, search: JointSearch = JointSearch()
) -> list[JointFit]:
    """Find correlations between the disturbances of channels.

    The parameters of each channel are those that were found for it alone. Correlations are kept
    only where they raise the likelihood by more than their number asks for.

    Parameters
    ----------
    alone : sequence of FittedSeries
        One per channel.
    samples : ndarray, shape (samples, channels)
        NaN where missing.
    search : JointSearch

    Returns
    -------
    list of JointFit
        Those with the most information first. None if the channels are not correlated, or too
        large: then they are what they are alone.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components import fit_series
    >>> from structrank.components.joint_search import fit_jointly
    >>> steps = np.random.default_rng(0).standard_normal((80, 2)) @ [[1, 0.9], [0, 0.4]]
    >>> walks = np.cumsum(steps, axis=0)
    >>> (found, *_) = fit_jointly([fit_series(walk) for walk in walks.T], walks)
    >>> [(c.name, bool(c.matrix[0, 1] > 0.8)) for c in found.correlations]
    [('level', True)]
    """
    if not search.applies(~np.isnan(samples)):
        return []
    y = (samples - [one.offset for one in alone]) / [one.scale for one in alone]
    part = stretch_with_most(np.sum(~np.isnan(y), axis=1), search.stretch)
    stretch, whole = table_records([y[part]]), table_records([y])
    found: list[JointFit] = []
    for fits in _assignments(alone):
        start = JointFit(fits, [])
        if start.states[-1].stop <= search.states and not (found and time_is_up()):
            found.append(_correlated(start, stretch, whole, search))
    found.sort(key=lambda fit: fit.information)
    if not found or not found[0].correlations:
        return []
    return [fit for fit in found if fit.information <= found[0].information + search.slack]


def _form(fit: ComponentFit) -> tuple[bool, bool, bool]:
    """Which components a fit has beside seasons."""
    drifts = fit.components.drifts
    return "level" in drifts, "slope" in drifts, fit.components.order > 0


def _assignments(alone: Sequence[FittedSeries]) -> list[list[ComponentFit]]:
    """Fits of all channels: the best of each, and those of equal form where a channel has them."""
    best = [one.fits[0] for one in alone]
    found = [best]
    for form in sorted({_form(fit) for one in alone for fit in one.fits}):
        equal = [next((f for f in one.fits if _form(f) == form), one.fits[0]) for one in alone]
        if not any(all(a is b for a, b in zip(equal, other, strict=True)) for other in found):
            found.append(equal)
    return found


def _correlated(start: JointFit, stretch: Records, whole: Records, search: JointSearch) -> JointFit:
    """The most likely correlations in a stretch, without those that all samples do not ask for."""
    names = {k: tuple(v) for k, v in start.disturbances.items() if len(v) > 1}
    zero = [Correlation(name, at, np.eye(len(at))) for name, at in names.items()]
    nothing = _value(start, whole)

    def search_for() -> JointFit:
        fit = _most_likely(replace(start, correlations=zero), stretch, search)
        for correlation in sorted(fit.correlations, key=_size):
            rest = [other for other in fit.correlations if other is not correlation]
            less = replace(fit, correlations=rest)
            less = replace(less, gain=_value(less, whole) - nothing)
            full = replace(fit, gain=_value(fit, whole) - nothing)
            fit = less if less.information <= full.information else full
        return fit

    def pack(fit: JointFit) -> Packed:
        return {"gain": fit.gain, **{c.name: c.matrix for c in fit.correlations}}

    def unpack(packed: Packed) -> JointFit:
        kept = [replace(c, matrix=packed[c.name]) for c in zero if c.name in packed]
        return replace(start, correlations=kept, gain=packed["gain"])

    return piece("joint components", search_for, pack, unpack) if zero else start


def _size(correlation: Correlation) -> float:
    return float(np.linalg.norm(correlation.matrix - np.eye(len(correlation.matrix))))


def _value(fit: JointFit, record: Records) -> float:
    return float(np.sum(log_likelihood(fit.gaussian(), record)))


def _most_likely(start: JointFit, record: Records, search: JointSearch) -> JointFit:
    """Maximise the likelihood over correlation matrices, as products of triangular factors."""
    counts = [correlation.count for correlation in start.correlations]
    ends = np.cumsum(counts)[:-1]
    at = start.disturbances

    def moved(parameters: NDArray) -> JointFit:
        pairs = zip(start.correlations, np.split(parameters, ends), strict=True)
        matrices = [(c, _factor(len(c.channels), part)[0]) for c, part in pairs]
        return replace(start, correlations=[replace(c, matrix=L @ L.T) for c, L in matrices])

    def negative(parameters: NDArray) -> tuple[float, NDArray]:
        fit = moved(parameters)
        model = fit.gaussian()
        try:
            score = value_and_gradient(model, record)
        except ValueError:  # rounding decides
            return np.inf, np.zeros(len(parameters))
        sizes = np.sqrt(model.W.diagonal())
        weighted = score.W * np.outer(sizes, sizes)
        slopes, logs = [], 0.0
        for correlation, part in zip(fit.correlations, np.split(parameters, ends), strict=True):
            places = [at[correlation.name][channel] for channel in correlation.channels]
            G = np.array([[np.sum(weighted[a, b]) for b in places] for a in places])
            slopes.append(_factor_gradient(G, part, search.prior))
            logs += float(np.linalg.slogdet(correlation.matrix)[1])
        return -score.value - search.prior * logs, -np.concatenate(slopes)

    found = minimize(
        negative,
        np.zeros(sum(counts)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": search.steps, "ftol": search.accuracy},
    )
    return moved(found.x)


def _factor(size: int, below: NDArray) -> tuple[NDArray, NDArray]:
    """Triangular factor with rows of length one, and the lengths before; ones on its diagonal."""
    L = np.eye(size)
    L[np.tril_indices(size, -1)] = below
    lengths = np.linalg.norm(L, axis=1)
    return L / lengths[:, None], lengths


def _factor_gradient(G: NDArray, below: NDArray, prior: float) -> NDArray:
    """Derivatives by the numbers below the diagonal, from those by the entries of L L^T.

    The logarithm of the determinant is added with the weight `prior`.
    """
    L, lengths = _factor(len(G), below)
    slope = (G + G.T) @ L
    slope = slope - np.sum(slope * L, axis=1, keepdims=True) * L
    slope = (slope - 2 * prior * L) / lengths[:, None]
    return np.asarray(slope[np.tril_indices(len(G), -1)])

"""Stochastic realisation: a state-space model of low order from covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.sparse.linalg import svds

from .._array import Array, NDArray, as_array, to_numpy
from .._checks import finite, not_negative, positive_int
from ..model.linalg import random_vector
from ..model.measure import Weighted
from ..model.problem import Problem
from ..model.sample_range import SampleRange, largest_size
from ..selection.mu import Selection, search_mu
from ..solvers.driver import warn_if_limited
from ..structures import Hankel
from .covariances import checked_shape
from .recursion import adjoint, spectral_radius_of
from .state_space import StateSpace


@dataclass(frozen=True)
class RealizationRules:
    """Sizes and tolerances of `realize`.

    Attributes
    ----------
    margin : float
        Least eigenvalue of the spectrum that `noise_floor="auto"` aims at, over the norm of lag 0.
        Set by hand: enough for the Riccati equation, and small beside sampling noise.
    dense : int
        Hankel matrices with more rows and columns than this are never formed. Set by hand: larger
        dense decompositions take seconds.
    asymmetry : float
        Departure of lag 0 from a Hermitian matrix, over its norm, that counts as rounding. Covers
        single precision.
    riccati : float
        Largest residual of the Riccati equation, over the norm of its solution. Rounding, with room
        for poles near the unit circle.
    frequencies : int
        Frequencies of the even grid on which the spectrum is checked. Set by hand: steps
        of 0.006 radians.
    near_poles : int
        Frequencies that are added around each pole, where the spectrum may dip. Set
        by hand.
    pole_widths : float
        How far they reach to each side, in widths `1 - |pole|`. Set by hand.
    frequency_tolerance : float
        Accuracy of the frequency of the smallest eigenvalue, in radians. Rounding.
    """

    margin: float = 1e-3
    dense: int = 1000
    asymmetry: float = 1e-5
    riccati: float = 1e-8
    frequencies: int = 513
    near_poles: int = 13
    pole_widths: float = 3.0
    frequency_tolerance: float = 1e-10


class NotPositiveReal(ValueError):
    """No process has these covariances: their spectrum is not positive at some frequency.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import NotPositiveReal, realize
    >>> v = np.array([0.4, 0.5, 0.25, 0.125, 0.0625])[:, None, None]  # lag 0 must be 2/3 or more
    >>> try:
    ...     realize(v, order=1)
    ... except NotPositiveReal as error:
    ...     print(str(error).partition(":")[0])
    the covariances are not positive real
    >>> realize(v, order=1, noise_floor=0.3)
    StateSpace(order 1, 1 output, spectral radius 0.5)
    """


def realize(
    covariances: Array,
    order: int | None = None,
    *,
    rows: int | None = None,
    noise_floor: float | str | None = None,
    rules: RealizationRules = RealizationRules(),
) -> StateSpace:
    """Find the system, driven by noise, whose outputs have given covariances.

    Ho and Kalman's method gives `A`, `C` and `Gbar` with `y_i = C A^{i-1} Gbar` from the
    block-Hankel matrix of lags 1, 2, ..., truncated to rank `order`. From these and lag 0, the
    stabilising solution of a Riccati equation gives `K` and the covariance of the noise. (The
    paper's D, E, F and G are A, K, C and `innovation_covariance` here.) The covariances of the
    model are `C A^{i-1} Gbar` at all lags i from 1 on, and lag 0 plus the noise floor at lag 0. If
    you have outputs, not covariances, use `realize_outputs`.

    Parameters
    ----------
    covariances : array, shape (lags + 1, n, n)
        Lag 0 first: for the result of a solver on a `realization_problem`,
        `np.concatenate([v[:1], result.y])`. The largest is between 1e-150 and 1e150 in size.
    order : int, optional
        Number of states. Default: the rank that `select_mu` finds in the Hankel matrix. It assumes
        that the errors of the covariances are white noise.
    rows : int, optional
        Number of blocks in a column of the Hankel matrix. Default about half of the lags.
    noise_floor : float or "auto", optional
        White noise: `noise_floor * I` is added to lag 0. "auto" adds what lifts the spectrum
        above zero at all frequencies, by a margin of 0.001 times the norm of lag 0, and nothing
        where it is above zero already.
    rules : RealizationRules, optional
        Sizes and tolerances.

    Returns
    -------
    StateSpace

    Raises
    ------
    NotPositiveReal
        No process has these covariances: their spectrum is not positive. This can happen to
        estimated covariances; use `noise_floor="auto"` then.
    ValueError
        The poles found are not stable, or the lags do not determine a model of this order, or of
        any.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import random_system, realize
    >>> v = random_system(outputs=4, order=3, spectral_radius=0.9).covariances(20)
    >>> model = realize(v)
    >>> model
    StateSpace(order 3, 4 outputs, spectral radius 0.9)
    >>> bool(np.allclose(model.covariances(20), v))
    True
    """
    automatic = isinstance(noise_floor, str)
    if automatic and noise_floor != "auto":
        raise ValueError(f"noise_floor is {noise_floor!r}, but a number or 'auto' is expected")
    floor = 0.0 if noise_floor is None or automatic else not_negative(noise_floor, "noise_floor")
    v = _checked(covariances, rules)
    size = 2.0 ** np.frexp(largest_size(v))[1]  # the noise has it, A, K and C do not
    v, floor = v / size, floor / size
    rows = (len(v) - 1) // 2 + 1 if rows is None else positive_int(rows, "rows")
    chosen = _selection(v[1:], rows) if order is None else None
    A, Gbar, C = _ho_kalman(v[1:], order if chosen is None else chosen.rank, rows, rules.dense)
    radius = spectral_radius_of(A)
    if radius >= 1:
        raise ValueError(
            f"the model of order {len(A)} has spectral radius {radius:.4g}, but a stable model, "
            "with a radius below 1, is expected: use a lower order, a larger mu or more samples"
        )
    lowest, frequency = _lowest_of_spectrum(A, Gbar, C, v[0], rules)
    enough = rules.margin * max(float(np.linalg.norm(v[0], 2)), -lowest) - lowest
    if automatic:
        floor = max(enough, 0.0)
    model = None
    if lowest + floor > 0:
        lag_0 = v[0] + floor * np.eye(len(v[0]))
        model = _innovation_form(A, Gbar, C, lag_0, rules.riccati)
    if model is None:
        raise NotPositiveReal(
            f"the covariances are not positive real: at frequency {frequency:.4g} (radians per "
            f"step) the smallest eigenvalue of their spectrum is {size * (lowest + floor):.3g}, "
            "but numbers above zero are expected. noise_floor='auto' adds the smallest white noise "
            "to lag 0 that makes them so; noise_floor=c adds c * I, with c of about "
            f"{size * enough:.3g} or more"
        )
    if chosen is not None:
        warn_if_limited(chosen.result, "realize")
    A, C, K, G = model
    return StateSpace(A, None, C, None, K=K, innovation_covariance=size * G)


def _checked(covariances: Array, rules: RealizationRules) -> NDArray:
    """The covariances in double precision, with a lag 0 that is exactly Hermitian."""
    v = to_numpy(as_array(covariances))
    checked_shape(v)
    finite(v, "covariances")
    SampleRange().check_covariances(v)
    v = v.astype(np.result_type(v.dtype, float))
    if np.linalg.norm(v[0] - adjoint(v[0])) > rules.asymmetry * np.linalg.norm(v[0]):
        raise ValueError("covariances[0] is not Hermitian, but lag 0 is expected to come first")
    v[0] = (v[0] + adjoint(v[0])) / 2
    return v


def _ho_kalman(
    y: NDArray, order: int | None, rows: int, dense: int
) -> tuple[NDArray, NDArray, NDArray]:
    """`A, Gbar, C` with `y[i] = C A^i Gbar`, from the Hankel matrix of y truncated to a rank."""
    (lags, n, _) = y.shape
    order = positive_int(order, "order")
    most = n * min(rows - 1, lags - rows + 1)
    if order > most:
        raise ValueError(
            f"order is {order}, but {lags} lags of {n} outputs in rows={rows} determine at most "
            f"{max(most, 0)}: pass more lags after lag 0, or rows of about half their number"
        )
    hankel = Hankel((lags,), window=rows, block=(n, n))
    U, s, Vh = _leading_svd(hankel, y, order, dense)
    if s[-1] <= max(hankel.shape) * np.finfo(float).eps * s[0]:
        raise ValueError(
            f"order is {order}, but the Hankel matrix of the covariances has a lower rank: its "
            f"singular value number {order} is {s[-1] / (s[0] or 1.0):.3g} times the first; lower "
            "the order"
        )
    observability, controllability = U * np.sqrt(s), np.sqrt(s)[:, None] * Vh
    A = np.linalg.lstsq(observability[:-n], observability[n:], rcond=None)[0]
    return A, controllability[:, :n], observability[:n]


def _selection(y: NDArray, rows: int) -> Selection:
    """Choice of the rank of the Hankel matrix of y, as far as noise does not hide it."""
    hankel = Hankel((len(y),), min(rows, len(y)), y.shape[1:])
    chosen = search_mu(Problem(hankel, y, 1.0, Weighted("lifted")))
    if not chosen.rank:
        raise ValueError(
            "the covariances cannot be distinguished from noise, so no model is found: use the "
            "covariances of a longer record, or pass order"
        )
    return chosen


def _leading_svd(
    hankel: Hankel, y: NDArray, count: int, dense: int
) -> tuple[NDArray, NDArray, NDArray]:
    """The leading singular triplets of `Q(y)`, which is not formed if it is large."""
    if min(hankel.shape) <= max(dense, 2 * count):
        U, s, Vh = np.linalg.svd(hankel.to_dense(y), full_matrices=False)
        return U[:, :count], s[:count], Vh[:count]
    start = random_vector(hankel.shape[0], y, seed=0)
    U, s, Vh = svds(hankel.linear_operator(y), k=count, v0=start, solver="propack")
    largest_first = np.argsort(-s)
    return U[:, largest_first], s[largest_first], Vh[largest_first]


def _innovation_form(
    A: NDArray, Gbar: NDArray, C: NDArray, lag_0: NDArray, tolerance: float
) -> tuple[NDArray, NDArray, NDArray, NDArray] | None:
    """`A, C, K` and the covariance of the noise; None if there is no model to working precision.

    P, the covariance of the state, solves
    `P = A P A^H + (Gbar - A P C^H) (lag_0 - C P C^H)^{-1} (Gbar - A P C^H)^H`.
    """
    try:
        P = -solve_discrete_are(adjoint(A), adjoint(C), np.zeros_like(A), lag_0, s=Gbar)
    except np.linalg.LinAlgError:
        return None
    G = lag_0 - C @ P @ adjoint(C)
    G = (G + adjoint(G)) / 2
    if np.linalg.eigvalsh(G)[0] <= 0:
        return None
    K = adjoint(np.linalg.solve(G, adjoint(Gbar - A @ P @ adjoint(C))))
    residual = P - A @ P @ adjoint(A) - K @ G @ adjoint(K)
    if np.linalg.norm(residual) > tolerance * np.linalg.norm(P):
        return None
    return A, C, K, G


def _lowest_of_spectrum(
    A: NDArray, Gbar: NDArray, C: NDArray, lag_0: NDArray, rules: RealizationRules
) -> tuple[float, float]:
    """The smallest eigenvalue of `lag_0 + sum_i (y_i e^{-iwi} + y_i^H e^{iwi})`, and its w."""
    from scipy.optimize import minimize_scalar  # a slow import

    def lowest(w: float) -> float:
        half = C @ np.linalg.solve(np.exp(1j * w) * np.eye(len(A)) - A, Gbar)
        return float(np.linalg.eigvalsh(lag_0 + half + adjoint(half))[0])

    first = -np.pi if np.iscomplexobj(A) else 0.0  # real covariances have a symmetric spectrum
    poles = np.linalg.eigvals(A)
    offsets = np.linspace(-rules.pole_widths, rules.pole_widths, rules.near_poles)
    around = np.angle(poles)[:, None] + np.outer(1 - np.abs(poles), offsets)
    grid = np.concatenate([np.linspace(first, np.pi, rules.frequencies), around.reshape(-1)])
    grid = np.unique(grid[(grid >= first) & (grid <= np.pi)])
    values = [lowest(w) for w in grid]
    at = int(np.argmin(values))
    bounds = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    options = {"xatol": rules.frequency_tolerance}
    refined = minimize_scalar(lowest, bounds=bounds, method="bounded", options=options)
    return min((float(refined.fun), float(refined.x)), (values[at], float(grid[at])))

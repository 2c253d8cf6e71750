"""Stochastic realisation: a state-space model of low order from covariances."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import svds

from .._array import Array, as_array, to_numpy
from .._checks import positive_int
from ..model.linalg import random_vector
from ..model.measure import Weighted
from ..model.problem import Problem
from ..selection.mu import select_mu
from ..structures import Hankel
from .covariances import checked_shape
from .state_space import StateSpaceModel, adjoint, not_negative, spectral_radius_of

_MARGIN = 1e-3  # least eigenvalue of the spectrum that noise_floor="auto" aims at, relatively
_DENSE = 1000  # Hankel matrices with more rows and columns are never formed


class NotPositiveReal(ValueError):
    """Covariances that no process has: their spectrum is not positive at some frequency.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import NotPositiveReal, realize
    >>> v = np.array([0.4, 0.5, 0.25, 0.125, 0.0625])[:, None, None]  # 2/3 at lag 0 were enough
    >>> try:
    ...     realize(v, order=1)
    ... except NotPositiveReal as error:
    ...     print(str(error).partition(":")[0])
    the covariances are not positive real
    >>> realize(v, order=1, noise_floor=0.3)
    StateSpaceModel(order 1, 1 output, spectral radius 0.5)
    """


def realize(
    covariances: Array,
    order: int | None = None,
    *,
    rows: int | None = None,
    noise_floor: float | str | None = None,
) -> StateSpaceModel:
    """The system with given covariances, in innovation form; `realize_outputs` takes outputs.

    Ho and Kalman's method gives `D`, `F` and `Gbar` with `y_i = F D^{i-1} Gbar` from the
    block-Hankel matrix of lags 1, 2, ..., cut to rank `order`; the stabilising solution of a
    Riccati equation gives `E` and `G` from these and lag 0. The covariances of the model are
    `F D^{i-1} Gbar` at all lags i from 1 on, and lag 0 plus the noise floor at lag 0.

    Parameters
    ----------
    covariances : array, shape (lags + 1, n, n)
        Lag 0 first: for the result of a solver on a `realization_problem`,
        `np.concatenate([v[:1], result.y])`.
    order : int, optional
        Number of states. Default: the rank that `select_mu` finds in the Hankel matrix, where it
        takes the errors of the covariances for white noise.
    rows : int, optional
        Blocks in a column of the Hankel matrix. Default about half of the lags.
    noise_floor : float or "auto", optional
        White noise: `noise_floor * I` is added to lag 0. "auto" adds what lifts the spectrum
        above zero at all frequencies, by a margin of 0.001 times the norm of lag 0, and nothing
        where it already is.

    Returns
    -------
    StateSpaceModel

    Raises
    ------
    NotPositiveReal
        No process has these covariances: their spectrum is not positive. Estimated ones may be
        so; `noise_floor="auto"` is the remedy.
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
    StateSpaceModel(order 3, 4 outputs, spectral radius 0.9)
    >>> bool(np.allclose(model.covariances(20), v))
    True
    """
    automatic = isinstance(noise_floor, str)
    if automatic and noise_floor != "auto":
        raise ValueError(f"noise_floor is {noise_floor!r}, but a number or 'auto' is expected")
    floor = 0.0 if noise_floor is None or automatic else not_negative(noise_floor, "noise_floor")
    v = to_numpy(as_array(covariances))
    checked_shape(v)
    if not np.all(np.isfinite(v)):
        raise ValueError("covariances hold NaN or inf, but finite numbers are expected")
    v = v.astype(np.result_type(v.dtype, float))
    if np.linalg.norm(v[0] - adjoint(v[0])) > 1e-5 * np.linalg.norm(v[0]):
        raise ValueError("covariances[0] is not Hermitian, but lag 0 is expected to come first")
    lag_0 = (v[0] + adjoint(v[0])) / 2
    D, Gbar, F = _ho_kalman(v[1:], order, rows)
    radius = spectral_radius_of(D)
    if radius >= 1:
        raise ValueError(
            f"the model of order {len(D)} has spectral radius {radius:.4g}, but a stable one, "
            "with a radius below 1, is expected: take a lower order, a larger mu or more samples"
        )
    lowest, frequency = _lowest_of_spectrum(D, Gbar, F, lag_0)
    enough = _MARGIN * max(float(np.linalg.norm(lag_0, 2)), -lowest) - lowest
    if automatic:
        floor = max(enough, 0.0)
    model = None
    if lowest + floor > 0:
        model = _innovation_form(D, Gbar, F, lag_0 + floor * np.eye(len(lag_0)))
    if model is None:
        raise NotPositiveReal(
            f"the covariances are not positive real: at frequency {frequency:.4g} (radians a "
            f"step) the smallest eigenvalue of their spectrum is {lowest + floor:.3g}, but numbers "
            "above zero are expected. noise_floor='auto' adds to lag 0 the smallest white "
            f"noise that makes them so; noise_floor=c adds c * I, c of about {enough:.3g} or more"
        )
    return model


def _ho_kalman(
    y: np.ndarray, order: int | None, rows: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`D, Gbar, F` with `y[i] = F D^i Gbar`, from the Hankel matrix of y cut to a rank."""
    (lags, n, _) = y.shape
    rows = lags // 2 + 1 if rows is None else positive_int(rows, "rows")
    if order is None:
        order = _order(y, min(rows, lags))
    order = positive_int(order, "order")
    most = n * min(rows - 1, lags - rows + 1)
    if order > most:
        raise ValueError(
            f"order is {order}, but {lags} lags of {n} outputs in rows={rows} determine at most "
            f"{max(most, 0)}: pass more lags after lag 0, or rows of about half their number"
        )
    hankel = Hankel((lags,), window=rows, block=(n, n))
    U, s, Vh = _leading_svd(hankel, y, order)
    if s[-1] <= max(hankel.shape) * np.finfo(float).eps * s[0]:
        raise ValueError(
            f"order is {order}, but the Hankel matrix of the covariances has a lower rank: its "
            f"singular value number {order} is {s[-1]:.3g}, the first {s[0]:.3g}; lower the order"
        )
    observability, controllability = U * np.sqrt(s), np.sqrt(s)[:, None] * Vh
    D = np.linalg.lstsq(observability[:-n], observability[n:], rcond=None)[0]
    return D, controllability[:, :n], observability[:n]


def _order(y: np.ndarray, rows: int) -> int:
    """The rank of the Hankel matrix of y, as far as it can be told from noise."""
    problem = Problem(Hankel((len(y),), rows, y.shape[1:]), y, 1.0, Weighted("lifted"))
    rank = select_mu(problem).rank
    if not rank:
        raise ValueError(
            "nothing in the covariances could be told apart from noise, so there is no model: "
            "take those of a longer record, or pass order"
        )
    return rank


def _leading_svd(
    hankel: Hankel, y: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leading singular triplets of `Q(y)`, which is not formed if it is large."""
    if min(hankel.shape) <= max(_DENSE, 2 * count):
        U, s, Vh = np.linalg.svd(hankel.to_dense(y), full_matrices=False)
        return U[:, :count], s[:count], Vh[:count]
    start = random_vector(hankel.shape[0], y, seed=0)
    U, s, Vh = svds(hankel.linear_operator(y), k=count, v0=start, solver="propack")
    largest_first = np.argsort(-s)
    return U[:, largest_first], s[largest_first], Vh[largest_first]


def _innovation_form(
    D: np.ndarray, Gbar: np.ndarray, F: np.ndarray, lag_0: np.ndarray
) -> StateSpaceModel | None:
    """The model with these covariances, or None if there is none to working precision.

    P, the covariance of the state, solves
    `P = D P D^H + (Gbar - D P F^H) (lag_0 - F P F^H)^{-1} (Gbar - D P F^H)^H`.
    """
    try:
        P = -solve_discrete_are(adjoint(D), adjoint(F), np.zeros_like(D), lag_0, s=Gbar)
    except np.linalg.LinAlgError:
        return None
    G = lag_0 - F @ P @ adjoint(F)
    G = (G + adjoint(G)) / 2
    if np.linalg.eigvalsh(G)[0] <= 0:
        return None
    E = adjoint(np.linalg.solve(G, adjoint(Gbar - D @ P @ adjoint(F))))
    residual = P - D @ P @ adjoint(D) - E @ G @ adjoint(E)
    if np.linalg.norm(residual) > 1e-8 * np.linalg.norm(P):
        return None
    return StateSpaceModel(D, E, F, G)


def _lowest_of_spectrum(
    D: np.ndarray, Gbar: np.ndarray, F: np.ndarray, lag_0: np.ndarray
) -> tuple[float, float]:
    """The smallest eigenvalue of `lag_0 + sum_i (y_i e^{-iwi} + y_i^H e^{iwi})`, and its w."""

    def lowest(w: float) -> float:
        half = F @ np.linalg.solve(np.exp(1j * w) * np.eye(len(D)) - D, Gbar)
        return float(np.linalg.eigvalsh(lag_0 + half + adjoint(half))[0])

    first = -np.pi if np.iscomplexobj(D) else 0.0  # real covariances have a symmetric spectrum
    poles = np.linalg.eigvals(D)
    around = np.angle(poles)[:, None] + np.outer(1 - np.abs(poles), np.linspace(-3, 3, 13))
    grid = np.concatenate([np.linspace(first, np.pi, 513), around.reshape(-1)])
    grid = np.unique(grid[(grid >= first) & (grid <= np.pi)])
    values = [lowest(w) for w in grid]
    at = int(np.argmin(values))
    bounds = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    refined = minimize_scalar(lowest, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    return min((float(refined.fun), float(refined.x)), (values[at], float(grid[at])))

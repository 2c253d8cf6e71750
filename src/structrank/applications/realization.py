"""Stochastic realisation: a state-space model of low order from the outputs of a system.

From outputs to a model:

1. `empirical_covariances` of the outputs;
2. `realization_problem`, with `sampling_noise_mu` for its mu, and a solver such as `gcgls`;
3. `realize` the recovered covariances as a `StateSpaceModel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from scipy.linalg import hadamard, solve_discrete_are, solve_discrete_lyapunov
from scipy.optimize import minimize_scalar
from scipy.signal import dlti
from scipy.sparse.linalg import svds

from .._array import Array, as_array, conj, is_floating, like, to_numpy
from ..linalg import random_vector
from ..measure import Mask, Weighted
from ..objective import mu_max
from ..problem import Problem, positive
from ..structures import Hankel
from ..structures.base import positive_int

_SAFETY = 1.05  # sampling_noise_mu over the largest of its error realisations
_MARGIN = 1e-3  # least eigenvalue of the spectrum that noise_floor="auto" aims at, relatively
_DENSE = 1000  # Hankel matrices with more rows and columns are never formed


class NotPositiveReal(ValueError):
    """Covariances that no process has: their spectrum is not positive at some frequency."""


@dataclass(frozen=True, eq=False, repr=False)
class StateSpaceModel:
    """A stochastic system in innovation form.

    `s_{t+1} = D s_t + E u_t,  z_t = F s_t + u_t,  cov(u_t) = G`

    Parameters
    ----------
    D : array, shape (r, r)
    E : array, shape (r, n)
    F : array, shape (n, r)
    G : array, shape (n, n)
        Covariance of the white noise u, Hermitian and positive semidefinite.

    Examples
    --------
    >>> from structrank.applications.realization import StateSpaceModel
    >>> model = StateSpaceModel(D=[[0.5]], E=[[1.0]], F=[[1.0]], G=[[1.0]])
    >>> model
    StateSpaceModel(order 1, 1 output, spectral radius 0.5)
    >>> model.covariances(2)[:, 0, 0].round(6)
    array([2.333333, 1.666667, 0.833333])
    """

    D: np.ndarray
    E: np.ndarray
    F: np.ndarray
    G: np.ndarray

    def __post_init__(self) -> None:
        matrices = {name: _matrix(getattr(self, name), name) for name in "DEFG"}
        r, n = matrices["D"].shape[0], matrices["F"].shape[0]
        expected = {"D": (r, r), "E": (r, n), "F": (n, r), "G": (n, n)}
        dtype = np.result_type(*matrices.values())
        for name, M in matrices.items():
            if M.shape != expected[name]:
                raise ValueError(
                    f"{name} has shape {M.shape}, but {expected[name]} is expected for the "
                    f"{r} states of D and the {n} outputs of F"
                )
            object.__setattr__(self, name, M.astype(dtype))
        scale = np.linalg.norm(self.G)
        if np.linalg.norm(self.G - _adjoint(self.G)) > 1e-8 * scale:
            raise ValueError("G is not Hermitian, but a covariance matrix is expected")
        lowest = np.linalg.eigvalsh(self.G)[0]
        if lowest < -1e-8 * scale:
            raise ValueError(
                f"G has the eigenvalue {lowest:.3g}, but a covariance matrix, with eigenvalues "
                "of at least zero, is expected"
            )

    @property
    def order(self) -> int:
        """Number of states r."""
        return self.D.shape[0]

    @property
    def outputs(self) -> int:
        """Number of outputs n."""
        return self.F.shape[0]

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of D, largest first."""
        poles = np.linalg.eigvals(self.D)
        return poles[np.argsort(-np.abs(poles), kind="stable")]

    @property
    def stable(self) -> bool:
        """Whether all poles lie inside the unit circle."""
        return _spectral_radius(self.D) < 1

    def simulate(
        self,
        steps: int,
        seed: int | np.random.Generator = 0,
        noise: float = 0.0,
        initial: Array = None,
    ) -> np.ndarray:
        """Outputs of the system for Gaussian u.

        Parameters
        ----------
        steps : int
        seed : int or numpy.random.Generator
        noise : float
            Standard deviation of white measurement noise added to the outputs.
        initial : array, shape (r,), optional
            First state. Default: drawn from N(0, I), as in the paper.

        Returns
        -------
        ndarray, shape (steps, n)

        Examples
        --------
        >>> from structrank.applications.realization import random_system
        >>> random_system(outputs=3, order=2).simulate(1000, noise=0.05).shape
        (1000, 3)
        """
        steps, noise = positive_int(steps, "steps"), _not_negative(noise, "noise")
        rng = np.random.default_rng(seed)
        start = self._white(rng, self.order) if initial is None else np.asarray(initial)
        if start.shape != (self.order,) or not np.all(np.isfinite(start)):
            raise ValueError(
                f"initial has shape {start.shape}, but ({self.order},) and finite numbers are "
                "expected, one a state"
            )
        values, vectors = np.linalg.eigh(self.G)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        u = self._white(rng, steps, self.outputs) @ root.T
        states = np.concatenate([start[None, :], u[:-1] @ self.E.T])
        # After the pass with lag m, states[t] is the sum of D^k w[t - k] over all k < 2 m.
        lag, power = 1, self.D
        with np.errstate(over="ignore", invalid="ignore"):
            while lag < steps and np.linalg.norm(power) > np.finfo(float).eps ** 2:
                states[lag:] += states[:-lag] @ power.T
                lag, power = 2 * lag, power @ power
            z = states @ self.F.T + u
        if not np.all(np.isfinite(z)):
            raise ValueError(
                f"the outputs leave the range of their data type: the system's spectral radius is "
                f"{_spectral_radius(self.D):.4g}, so take fewer than {steps} steps"
            )
        return z + noise * self._white(rng, steps, self.outputs) if noise else z

    def covariances(self, lags: int) -> np.ndarray:
        """Covariances `E z_{t+i} z_t^H` of the stationary outputs.

        Parameters
        ----------
        lags : int
            The largest i.

        Returns
        -------
        ndarray, shape (lags + 1, n, n)
            Lag 0 first.

        Examples
        --------
        >>> from structrank.applications.realization import random_system
        >>> random_system(outputs=3, order=2).covariances(5).shape
        (6, 3, 3)
        """
        lags = _lag_count(lags)
        if not self.stable:
            raise ValueError(
                f"the spectral radius of D is {_spectral_radius(self.D):.4g}, but only a stable "
                "system, with all poles inside the unit circle, has covariances"
            )
        P = solve_discrete_lyapunov(self.D, self.E @ self.G @ _adjoint(self.E))
        Gbar = self.D @ P @ _adjoint(self.F) + self.E @ self.G
        return np.concatenate(
            [
                [self.F @ P @ _adjoint(self.F) + self.G],
                _impulse_response(self.D, Gbar, self.F, lags),
            ]
        )

    def to_scipy(self) -> dlti:
        """The system from u to z as a `scipy.signal.dlti` with a time step of one.

        Examples
        --------
        >>> from structrank.applications.realization import random_system
        >>> random_system(outputs=3, order=2).to_scipy().A.shape
        (2, 2)
        """
        return dlti(self.D, self.E, self.F, np.eye(self.outputs), dt=1)

    def to_control(self) -> Any:
        """The system from u to z as a `control.StateSpace` of unspecified time step.

        Needs the package control, `pip install "structrank[control]"`, and a real system.
        """
        try:
            import control
        except ImportError as error:
            raise ImportError(
                'to_control() needs the package control: pip install "structrank[control]"'
            ) from error
        if np.iscomplexobj(self.D):
            raise TypeError(
                "the system is complex, but control expects a real one: use to_scipy() instead"
            )
        return control.ss(self.D, self.E, self.F, np.eye(self.outputs), dt=True)

    def _white(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """White noise of variance one; circular if the system is complex."""
        values = rng.standard_normal(shape)
        if np.iscomplexobj(self.D):
            values = (values + 1j * rng.standard_normal(shape)) / np.sqrt(2)
        return values

    def __repr__(self) -> str:
        outputs = f"{self.outputs} output{'s' if self.outputs > 1 else ''}"
        return (
            f"StateSpaceModel(order {self.order}, {outputs}, "
            f"spectral radius {_spectral_radius(self.D):.4g})"
        )


def random_system(
    outputs: int,
    order: int = 10,
    *,
    normalization: str = "nuclear",
    spectral_radius: float | None = None,
    seed: int | np.random.Generator = 0,
) -> StateSpaceModel:
    """A random system, generated as in the paper.

    The entries of D, E and F are drawn from N(0, 1), then each matrix is scaled to norm
    one; G is the identity.

    Parameters
    ----------
    outputs : int
        Number of outputs n.
    order : int
        Number of states r.
    normalization : {"nuclear", "spectral"}
        Which norm. The paper prints "nuclear", with which the states hardly show in the outputs:
        most of the covariances is then sampling noise.
    spectral_radius : float, optional
        If given, D is scaled to this spectral radius instead.
    seed : int or numpy.random.Generator

    Returns
    -------
    StateSpaceModel

    Examples
    --------
    >>> from structrank.applications.realization import random_system
    >>> random_system(outputs=20, normalization="spectral", spectral_radius=0.9)
    StateSpaceModel(order 10, 20 outputs, spectral radius 0.9)
    """
    n, r = positive_int(outputs, "outputs"), positive_int(order, "order")
    norms: dict[str, Any] = {"nuclear": "nuc", "spectral": 2}
    if normalization not in norms:
        raise ValueError(
            f"normalization is {normalization!r}, but 'nuclear' or 'spectral' is expected"
        )
    rng = np.random.default_rng(seed)
    drawn = [rng.standard_normal(shape) for shape in ((r, r), (r, n), (n, r))]
    D, E, F = (M / np.linalg.norm(M, norms[normalization]) for M in drawn)
    if spectral_radius is not None:
        D = D * (positive(spectral_radius, "spectral_radius") / _spectral_radius(D))
    return StateSpaceModel(D, E, F, np.eye(n))


def empirical_covariances(outputs: Array, lags: int) -> Array:
    """Covariances of a record of outputs, `v_i = 1/T sum_{t=1}^{T-i} z_{t+i} z_t^H`.

    The outputs are taken to have mean zero: subtract it first where they have not.

    Parameters
    ----------
    outputs : array, shape (T, n)
        One row a time; real or complex, of any array library.
    lags : int
        The largest i, below T.

    Returns
    -------
    array, shape (lags + 1, n, n)
        Lag 0 first.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications.realization import empirical_covariances
    >>> empirical_covariances(np.array([[1.0], [2.0], [4.0]]), lags=1)[:, 0, 0]
    array([7.        , 3.33333333])
    """
    z = _checked_outputs(outputs, lags)
    return _lagged_products(z, z, lags)


def realization_problem(
    covariances: Array, rows: int, columns: int, mu: float, *, weights: str | None = None
) -> Problem:
    """The paper's problem: the block-Hankel matrix of the covariances is to have low rank.

    The signal is `y_i = v_i` for i from 1 to `rows + columns - 1`. As in the paper, lags 1 to
    `columns` are seen and the `rows - 1` lags after them are not; lag 0 is not in the matrix.

    Parameters
    ----------
    covariances : array, shape (lags + 1, n, n)
        Lag 0 first, at least `columns` lags after it; further ones are not used.
    rows, columns : int
        Blocks in a column and in a row of the matrix, the paper's j and k. They bound the order
        that can be found, by `n * min(rows, columns)`.
    mu : float
        Price of the nuclear norm; see `sampling_noise_mu`.
    weights : {None, "lifted"}
        None weighs all covariances that are seen equally, as the paper does. "lifted" weighs
        them by `sqrt(multiplicity)`, so the first lags count little and the many late ones, which
        hold little but sampling noise, much: weak modes are then lost.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from structrank import gcgls
    >>> from structrank.applications.realization import random_system, realization_problem
    >>> v = random_system(outputs=2, order=3, spectral_radius=0.9).covariances(20)
    >>> problem = realization_problem(v, rows=5, columns=20, mu=1e-4)
    >>> problem
    Problem(Hankel((24,), window=(5,), block=(2, 2)), 80 of 96 samples seen, mu=0.0001)
    >>> gcgls(problem, lam=1.0).y.shape
    (24, 2, 2)
    """
    v = as_array(covariances)
    lags, n = _checked_shape(v)
    rows, columns = positive_int(rows, "rows"), positive_int(columns, "columns")
    if lags < columns:
        raise ValueError(
            f"covariances hold {lags} lags after lag 0, but columns={columns} are expected to be "
            "seen: pass more lags or take fewer columns"
        )
    if weights not in (None, "lifted"):
        raise ValueError(f"weights is {weights!r}, but None or 'lifted' is expected")
    xp = array_namespace(v)
    unseen = xp.zeros((rows - 1, n, n), dtype=v.dtype, device=device(v))
    seen = np.zeros((rows + columns - 1, n, n), dtype=bool)
    seen[:columns] = True
    return Problem(
        Hankel((rows + columns - 1,), window=rows, block=(n, n)),
        xp.concat([v[1 : columns + 1, :, :], unseen]),
        mu,
        Mask(seen) if weights is None else Weighted("lifted", seen),
    )


def sampling_noise_mu(
    outputs: Array, rows: int, columns: int, *, weights: str | None = None, pieces: int = 8
) -> float:
    """A mu for `realization_problem` at which sampling noise alone gives the zero solution.

    A covariance is a sum of products over time. With a minus sign before half of them, what is
    expected cancels and the sampling error stays, its own covariance unchanged as long as the
    sign changes seldom compared with the memory of the process. The signs are those of the Walsh
    functions on `pieces` pieces of the record, which gives `pieces - 1` uncorrelated realisations
    of the error. The result is 1.05 times the largest `mu_max` that one of them has in place of
    the data; the true error exceeds all of them in about one of `pieces` records.

    Parameters
    ----------
    outputs : array, shape (T, n)
    rows, columns : int
        As in `realization_problem`.
    weights : {None, "lifted"}
        As in `realization_problem`.
    pieces : int
        A power of two, at least 2; a piece should be much longer than the memory of the process.

    Returns
    -------
    float

    Examples
    --------
    >>> from structrank import gcgls
    >>> from structrank.applications.realization import (
    ...     empirical_covariances, random_system, realization_problem, sampling_noise_mu
    ... )
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> z = system.simulate(20000)
    >>> mu = sampling_noise_mu(z, rows=4, columns=20)
    >>> v = empirical_covariances(z, lags=20)
    >>> gcgls(realization_problem(v, rows=4, columns=20, mu=mu), lam=1.0).rank
    2
    """
    columns = positive_int(columns, "columns")
    z = _checked_outputs(outputs, columns)
    pieces = positive_int(pieces, "pieces")
    if pieces < 2 or pieces & (pieces - 1) or pieces > z.shape[0]:
        raise ValueError(
            f"pieces is {pieces}, but a power of two from 2 to the {z.shape[0]} outputs is expected"
        )
    piece = np.arange(z.shape[0]) * pieces // z.shape[0]
    errors = (
        _lagged_products(z, like(signs[piece].astype(float), z)[:, None] * z, columns)
        for signs in hadamard(pieces)[1:]
    )
    return _SAFETY * max(
        mu_max(realization_problem(error, rows, columns, 1.0, weights=weights)) for error in errors
    )


def realize(
    covariances: Array,
    order: int,
    *,
    rows: int | None = None,
    noise_floor: float | str | None = None,
) -> StateSpaceModel:
    """The system of a given order with given covariances, in innovation form.

    Ho and Kalman's method gives `D`, `F` and `Gbar` with `y_i = F D^{i-1} Gbar` from the
    block-Hankel matrix of lags 1, 2, ..., cut to rank `order`; the stabilising solution of a
    Riccati equation gives `E` and `G` from these and lag 0. The covariances of the model are
    `F D^{i-1} Gbar` at all lags i from 1 on, and lag 0 plus the noise floor at lag 0.

    Parameters
    ----------
    covariances : array, shape (lags + 1, n, n)
        Lag 0 first: for the result of a solver on a `realization_problem`,
        `np.concatenate([v[:1], result.y])`.
    order : int
        Number of states.
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
        The poles found are not stable, or the lags do not determine a model of this order.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications.realization import random_system, realize
    >>> v = random_system(outputs=4, order=3, spectral_radius=0.9).covariances(20)
    >>> model = realize(v, order=3)
    >>> model
    StateSpaceModel(order 3, 4 outputs, spectral radius 0.9)
    >>> bool(np.allclose(model.covariances(20), v))
    True
    """
    automatic = isinstance(noise_floor, str)
    if automatic and noise_floor != "auto":
        raise ValueError(f"noise_floor is {noise_floor!r}, but a number or 'auto' is expected")
    floor = 0.0 if noise_floor is None or automatic else _not_negative(noise_floor, "noise_floor")
    v = to_numpy(as_array(covariances))
    _checked_shape(v)
    if not np.all(np.isfinite(v)):
        raise ValueError("covariances hold NaN or inf, but finite numbers are expected")
    v = v.astype(np.result_type(v.dtype, float))
    if np.linalg.norm(v[0] - _adjoint(v[0])) > 1e-5 * np.linalg.norm(v[0]):
        raise ValueError("covariances[0] is not Hermitian, but lag 0 is expected to come first")
    lag_0 = (v[0] + _adjoint(v[0])) / 2
    D, Gbar, F = _ho_kalman(v[1:], order, rows)
    radius = _spectral_radius(D)
    if radius >= 1:
        raise ValueError(
            f"the model of order {order} has spectral radius {radius:.4g}, but a stable one, "
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
    y: np.ndarray, order: int, rows: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`D, Gbar, F` with `y[i] = F D^i Gbar`, from the Hankel matrix of y cut to rank `order`."""
    order, (lags, n, _) = positive_int(order, "order"), y.shape
    rows = lags // 2 + 1 if rows is None else positive_int(rows, "rows")
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
        P = -solve_discrete_are(_adjoint(D), _adjoint(F), np.zeros_like(D), lag_0, s=Gbar)
    except np.linalg.LinAlgError:
        return None
    G = lag_0 - F @ P @ _adjoint(F)
    G = (G + _adjoint(G)) / 2
    if np.linalg.eigvalsh(G)[0] <= 0:
        return None
    E = _adjoint(np.linalg.solve(G, _adjoint(Gbar - D @ P @ _adjoint(F))))
    residual = P - D @ P @ _adjoint(D) - E @ G @ _adjoint(E)
    if np.linalg.norm(residual) > 1e-8 * np.linalg.norm(P):
        return None
    return StateSpaceModel(D, E, F, G)


def _lowest_of_spectrum(
    D: np.ndarray, Gbar: np.ndarray, F: np.ndarray, lag_0: np.ndarray
) -> tuple[float, float]:
    """The smallest eigenvalue of `lag_0 + sum_i (y_i e^{-iwi} + y_i^H e^{iwi})`, and its w."""

    def lowest(w: float) -> float:
        half = F @ np.linalg.solve(np.exp(1j * w) * np.eye(len(D)) - D, Gbar)
        return float(np.linalg.eigvalsh(lag_0 + half + _adjoint(half))[0])

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


def _impulse_response(D: np.ndarray, Gbar: np.ndarray, F: np.ndarray, count: int) -> np.ndarray:
    """`F D^i Gbar` for i from 0 to `count - 1`."""
    response = np.empty((count, F.shape[0], Gbar.shape[1]), dtype=D.dtype)
    for block in response:
        block[:], Gbar = F @ Gbar, D @ Gbar
    return response


def _lagged_products(later: Array, earlier: Array, lags: int) -> Array:
    """`1/T sum_t later_{t+i} earlier_t^H` for i from 0 to `lags`."""
    xp, T = array_namespace(later), later.shape[0]
    return xp.stack(
        [xp.matmul(later[i:, :].T, conj(earlier[: T - i, :])) / T for i in range(lags + 1)]
    )


def _spectral_radius(D: np.ndarray) -> float:
    return float(np.max(np.abs(np.linalg.eigvals(D))))


def _adjoint(M: np.ndarray) -> np.ndarray:
    return M.conj().T


# -- checks -----------------------------------------------------------------------------


def _matrix(values: Any, name: str) -> np.ndarray:
    """`values` as a matrix in double precision."""
    M = to_numpy(as_array(values))
    if M.dtype.kind not in "fciu":
        raise TypeError(f"{name} has dtype {M.dtype}, but real or complex numbers are expected")
    if M.ndim != 2 or 0 in M.shape:
        raise ValueError(f"{name} has shape {M.shape}, but a matrix is expected")
    if not np.all(np.isfinite(M)):
        raise ValueError(f"{name} holds NaN or inf, but finite numbers are expected")
    return M.astype(np.result_type(M.dtype, float))


def _checked_outputs(outputs: Any, lags: int) -> Array:
    """Outputs after a check against the number of lags."""
    z, lags = as_array(outputs), _lag_count(lags)
    if z.ndim != 2 or 0 in z.shape:
        raise ValueError(
            f"outputs have shape {tuple(z.shape)}, but (T, n) is expected, one row a time; a "
            "single series is outputs[:, None]"
        )
    if not is_floating(z):
        raise TypeError(
            f"outputs have dtype {z.dtype}, but a real or complex floating dtype is expected: "
            "convert them first, for example with astype(float)"
        )
    xp = array_namespace(z)
    if not bool(xp.all(xp.isfinite(z))):
        raise ValueError(
            "outputs hold NaN or inf, but finite numbers are expected: cut the record to a part "
            "without gaps"
        )
    if lags >= z.shape[0]:
        raise ValueError(
            f"{lags} lags need more than {lags} outputs in time, but there are {z.shape[0]}: take "
            "fewer lags or more samples"
        )
    return z


def _checked_shape(covariances: Array) -> tuple[int, int]:
    """Lags after lag 0, and outputs."""
    shape = tuple(covariances.shape)
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] < 2 or shape[1] < 1:
        raise ValueError(
            f"covariances have shape {shape}, but (lags + 1, n, n) with at least one lag after "
            "lag 0 is expected"
        )
    return shape[0] - 1, shape[1]


def _lag_count(lags: Any) -> int:
    if isinstance(lags, bool) or not isinstance(lags, (int, np.integer)) or lags < 0:
        raise ValueError(f"lags is {lags!r}, but an integer of at least 0 is expected")
    return int(lags)


def _not_negative(value: Any, name: str) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number of at least zero is expected")
    return float(value)

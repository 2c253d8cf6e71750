"""Stochastic systems in state-space form."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_lyapunov
from scipy.signal import dlti

from .._array import Array, as_array, to_numpy
from .._checks import positive, positive_int
from ..views import plot_poles


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
    >>> from structrank import StateSpaceModel
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
        scale = np.max(np.abs(self.G))
        if np.max(np.abs(self.G - adjoint(self.G))) > 1e-8 * scale:
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

    def plot_poles(self, ax: Any = None) -> Any:
        """Draw the poles in the complex plane, with the unit circle.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_poles(self.poles, ax)

    @property
    def stable(self) -> bool:
        """Whether all poles lie inside the unit circle."""
        return spectral_radius_of(self.D) < 1

    def simulate(
        self,
        steps: int,
        rng: int | np.random.Generator = 0,
        noise: float = 0.0,
        initial: Array = None,
    ) -> np.ndarray:
        """Outputs of the system for Gaussian u.

        Parameters
        ----------
        steps : int
        rng : int or numpy.random.Generator
        noise : float
            Standard deviation of white measurement noise added to the outputs.
        initial : array, shape (r,), optional
            First state. Default: drawn from N(0, I), as in the paper.

        Returns
        -------
        ndarray, shape (steps, n)

        Examples
        --------
        >>> from structrank import random_system
        >>> random_system(outputs=3, order=2).simulate(1000, noise=0.05).shape
        (1000, 3)
        """
        steps, noise = positive_int(steps, "steps"), not_negative(noise, "noise")
        rng = np.random.default_rng(rng)
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
                f"{spectral_radius_of(self.D):.4g}, so take fewer than {steps} steps"
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
        >>> from structrank import random_system
        >>> random_system(outputs=3, order=2).covariances(5).shape
        (6, 3, 3)
        """
        lags = lag_count(lags)
        if not self.stable:
            raise ValueError(
                f"the spectral radius of D is {spectral_radius_of(self.D):.4g}, but only a stable "
                "system, with all poles inside the unit circle, has covariances"
            )
        P = solve_discrete_lyapunov(self.D, self.E @ self.G @ adjoint(self.E))
        Gbar = self.D @ P @ adjoint(self.F) + self.E @ self.G
        return np.concatenate(
            [
                [self.F @ P @ adjoint(self.F) + self.G],
                impulse_response(self.D, Gbar, self.F, lags),
            ]
        )

    def to_scipy(self) -> dlti:
        """The system from u to z as a `scipy.signal.dlti` with a time step of one.

        Examples
        --------
        >>> from structrank import random_system
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
            f"spectral radius {spectral_radius_of(self.D):.4g})"
        )


def random_system(
    outputs: int,
    order: int = 10,
    *,
    normalization: str = "nuclear",
    spectral_radius: float | None = None,
    rng: int | np.random.Generator = 0,
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
    rng : int or numpy.random.Generator

    Returns
    -------
    StateSpaceModel

    Examples
    --------
    >>> from structrank import random_system
    >>> random_system(outputs=20, normalization="spectral", spectral_radius=0.9)
    StateSpaceModel(order 10, 20 outputs, spectral radius 0.9)
    """
    n, r = positive_int(outputs, "outputs"), positive_int(order, "order")
    norms: dict[str, Any] = {"nuclear": "nuc", "spectral": 2}
    if normalization not in norms:
        raise ValueError(
            f"normalization is {normalization!r}, but 'nuclear' or 'spectral' is expected"
        )
    rng = np.random.default_rng(rng)
    drawn = [rng.standard_normal(shape) for shape in ((r, r), (r, n), (n, r))]
    D, E, F = (M / np.linalg.norm(M, norms[normalization]) for M in drawn)
    if spectral_radius is not None:
        D = D * (positive(spectral_radius, "spectral_radius") / spectral_radius_of(D))
    return StateSpaceModel(D, E, F, np.eye(n))


def impulse_response(D: np.ndarray, Gbar: np.ndarray, F: np.ndarray, count: int) -> np.ndarray:
    """`F D^i Gbar` for i from 0 to `count - 1`."""
    response = np.empty((count, F.shape[0], Gbar.shape[1]), dtype=D.dtype)
    for block in response:
        block[:], Gbar = F @ Gbar, D @ Gbar
    return response


def spectral_radius_of(D: np.ndarray) -> float:
    """Largest absolute value of an eigenvalue."""
    return float(np.max(np.abs(np.linalg.eigvals(D))))


def adjoint(M: np.ndarray) -> np.ndarray:
    """Conjugate transpose."""
    return M.conj().T


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


def lag_count(lags: Any) -> int:
    """`lags` as an integer of at least zero."""
    if isinstance(lags, bool) or not isinstance(lags, (int, np.integer)) or lags < 0:
        raise ValueError(f"lags is {lags!r}, but an integer of at least 0 is expected")
    return int(lags)


def not_negative(value: Any, name: str) -> float:
    """`value` as a finite float of at least zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, but a finite number of at least zero is expected")
    return float(value)

"""Linear systems in state-space form, driven by inputs, by noise, or by both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from .._array import NDArray
from .._checks import not_negative, not_negative_int, positive, random_generator
from ..io.saved_results import Saved, savable
from ..views import Summary, plot_poles
from . import simulation
from .conditioning import Conditioning
from .conversions import Conversions
from .matrices import check_covariance, split_covariance, system_arrays
from .predictions import Predictions
from .records import paired, series
from .recursion import adjoint, free_responses, spectral_radius_of
from .responses import Responses


@savable()
@dataclass(frozen=True, eq=False, repr=False, init=False)
class StateSpace(Saved, Conditioning, Predictions, Responses, Conversions, Summary):
    """Linear system in discrete time, driven by known inputs, by noise, or by both.

    | `x_{t+1} = A x_t + B (u_t - input_offset) + K e_t + w_t`
    | `y_t     = C x_t + D (u_t - input_offset) + output_offset + e_t + v_t`

    The noise is white and Gaussian: `e` has the covariance `innovation_covariance` (the innovation
    form), and `(w, v)`, independent of `e`, has the covariance `[[Q, S], [S^H, R]]`. Most models
    have one of the two. The matrices are read-only copies.

    Parameters
    ----------
    A : array, shape (r, r)
        How each state follows from the last one.
    B : array, shape (r, m), or None
        How the inputs drive the states. None: they do not, or there are no inputs.
    C : array, shape (p, r)
        How the states show in the outputs.
    D : array, shape (p, m), or None
        How the inputs show in the outputs at once. None: they do not, or there are no inputs.
    K : array, shape (r, p), optional
        How the noise e drives the states. Default zero.
    innovation_covariance : array, shape (p, p), optional
        Covariance of e, Hermitian and positive semidefinite. Default zero: there is no noise e.
    Q, R, S : array, shapes (r, r), (p, p) and (r, p), optional
        Covariances of w, of v, and between them. Default zero. They may be singular.
    x0 : array, shape (r,), optional
        State at the first sample, or its mean. Default: not known.
    x0_covariance : array, shape (r, r), or "stationary", optional
        Covariance of the first state; inf on the diagonal where nothing is known about a state.
        Default: zero if `x0` is given, and otherwise inf for all states.
    input_offset : array, shape (m,), optional
        Inputs at the operating point. Default zero.
    output_offset : array, shape (p,), optional
        Outputs at the operating point. Default zero.
    dt : float, optional
        Seconds between samples, for pictures and conversions. Default: not specified.

    Examples
    --------
    A system with an input:

    >>> from structrank import StateSpace
    >>> model = StateSpace(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
    >>> model
    StateSpace(order 1, 1 input, 1 output, spectral radius 0.5)
    >>> model.simulate([1.0, 0.0, 0.0, 0.0])[:, 0]
    array([0. , 2. , 1. , 0.5])

    A system driven by noise alone:

    >>> model = StateSpace([[0.5]], None, [[1.0]], None, K=[[1.0]], innovation_covariance=[[1.0]])
    >>> model
    StateSpace(order 1, 1 output, spectral radius 0.5)
    >>> model.covariances(2)[:, 0, 0].round(6)
    array([2.333333, 1.666667, 0.833333])
    """

    A: NDArray
    B: NDArray
    C: NDArray
    D: NDArray
    K: NDArray
    innovation_covariance: NDArray
    Q: NDArray
    R: NDArray
    S: NDArray
    x0: NDArray | None
    x0_covariance: NDArray | None
    input_offset: NDArray
    output_offset: NDArray
    dt: float | None

    def __init__(
        self,
        A: Any,
        B: Any,
        C: Any,
        D: Any,
        *,
        K: Any = None,
        innovation_covariance: Any = None,
        Q: Any = None,
        R: Any = None,
        S: Any = None,
        x0: Any = None,
        x0_covariance: Any = None,
        input_offset: Any = None,
        output_offset: Any = None,
        dt: float | None = None,
    ) -> None:
        if K is not None and innovation_covariance is None:
            raise ValueError("K is given, but innovation_covariance is not: pass both")
        stationary = isinstance(x0_covariance, str)
        if stationary and x0_covariance != "stationary":
            raise ValueError(
                f"x0_covariance is {x0_covariance!r}, but a matrix or 'stationary' is expected"
            )
        arrays = system_arrays(
            A=A,
            B=B,
            C=C,
            D=D,
            K=K,
            innovation_covariance=innovation_covariance,
            Q=Q,
            R=R,
            S=S,
            x0=x0,
            x0_covariance=None if stationary else x0_covariance,
            input_offset=input_offset,
            output_offset=output_offset,
        )
        for name, values in arrays.items():
            object.__setattr__(self, name, values)
        object.__setattr__(self, "dt", None if dt is None else positive(dt, "dt"))
        check_covariance(self.innovation_covariance, "innovation_covariance")
        joint = np.block([[self.R, adjoint(self.S)], [self.S, self.Q]])
        check_covariance(joint, "[[Q, S], [S^H, R]]")
        if stationary:
            object.__setattr__(self, "x0_covariance", self._stationary())
        elif self.x0_covariance is not None:
            split_covariance(self.x0_covariance)

    @property
    def order(self) -> int:
        """Number of states r."""
        return len(self.A)

    @property
    def input_count(self) -> int:
        """Number of inputs m; zero for a system driven by noise alone."""
        return len(self.input_offset)

    @property
    def output_count(self) -> int:
        """Number of outputs p."""
        return len(self.output_offset)

    @property
    def noise_covariance(self) -> NDArray:
        """Covariance of all noise of one sample: that of the outputs, then that of the states."""
        rows = np.concatenate([np.eye(self.output_count), self.K])
        own = np.block([[self.R, adjoint(self.S)], [self.S, self.Q]])
        return np.asarray(own + rows @ self.innovation_covariance @ adjoint(rows))

    @property
    def first_covariance(self) -> tuple[NDArray, NDArray]:
        """Covariance of the first state, zero where nothing is known, and where that is."""
        if self.x0_covariance is not None:
            return split_covariance(self.x0_covariance)
        return np.zeros_like(self.A), np.full(self.order, self.x0 is None)

    @property
    def poles(self) -> NDArray:
        """Eigenvalues of A, largest first."""
        poles = np.linalg.eigvals(self.A)
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
        return spectral_radius_of(self.A) < 1

    def simulate(
        self,
        inputs: Any = None,
        initial: Any = None,
        *,
        steps: int | None = None,
        rng: int | np.random.Generator | None = None,
        noise: float = 0.0,
    ) -> NDArray:
        """Outputs for given inputs, for Gaussian noise, or for both.

        Parameters
        ----------
        inputs : array, shape (steps, m) or, for a single input, (steps,)
            For a system with inputs.
        initial : array, shape (r,), optional
            State at the first sample. Default: `x0`, plus noise of covariance `x0_covariance`. If
            these are not known: zero for a system with inputs, and drawn from N(0, I) for a system
            without inputs, as in the paper.
        steps : int
            Number of samples, for a system without inputs.
        rng : int or numpy.random.Generator, optional
            Seed for the noise and for a first state that is drawn. Default: a system with inputs
            responds to them alone, without noise; 0 for a system without inputs.
        noise : float
            Standard deviation of white measurement noise that is added to the outputs.

        Returns
        -------
        ndarray, shape (steps, p)

        Examples
        --------
        >>> from structrank import random_system
        >>> random_system(outputs=3, order=2).simulate(steps=1000, noise=0.05).shape
        (1000, 3)
        """
        u = simulation.inputs_around_offset(self, inputs, steps)
        noise, quiet = not_negative(noise, "noise"), rng is None and self.input_count > 0
        rng = random_generator(0 if rng is None else rng)
        start = simulation.first_state(self, initial, rng, quiet)
        drawn = None if quiet else simulation.noises(self, rng, len(u))
        y = simulation.response(self, u, start, drawn)
        return y + noise * simulation.white(self, rng, *y.shape) if noise else y

    def fit(self, inputs: Any, outputs: Any, initial: Any = None) -> NDArray:
        """How much of each output the simulated outputs explain, in percent.

        `100 (1 - ||y - simulated|| / ||y - mean(y)||)`, over the samples that are seen: 100 is
        perfect, 0 is no better than the mean. The simulation uses the inputs and no noise.

        Parameters
        ----------
        inputs : array, shape (samples, m) or (samples,)
        outputs : array, shape (samples, p) or (samples,)
            NaN where missing.
        initial : array, shape (r,), optional
            State at the first sample. Default: the state that fits these outputs best.

        Returns
        -------
        ndarray, shape (p,)

        Examples
        --------
        >>> import numpy as np
        >>> from structrank import StateSpace
        >>> model = StateSpace(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
        >>> u = np.sin(np.arange(50.0))
        >>> model.fit(u, model.simulate(u, initial=[3.0])).round(6)
        array([100.])
        """
        if not self.input_count:
            raise ValueError("the system has no inputs, but fit simulates the response to inputs")
        u, y = paired(inputs, outputs, self.input_count, self.output_count)
        return simulation.explained(y, simulation.fitted_response(self, u, y, initial))

    def filled_inputs(self, inputs: Any) -> NDArray:
        """Inputs of shape (samples, m) without gaps, as all methods use them.

        Gaps (NaN) are an error but for a `FittedModel` with a model of its inputs.
        """
        u = series(inputs, "inputs", self.input_count)
        if not np.all(np.isfinite(u)):
            raise ValueError(
                "inputs contain NaN or inf, but finite numbers are expected, as this system has no "
                "model of its inputs: fill the gaps first, for example with `impute`. Models that "
                "`identify` finds from inputs with gaps fill NaN themselves"
            )
        return u

    def covariances(self, lags: int) -> NDArray:
        """Covariances `E y_{t+i} y_t^H` of the stationary outputs that the noise causes.

        Parameters
        ----------
        lags : int
            The largest i.

        Returns
        -------
        ndarray, shape (lags + 1, p, p)
            Lag 0 first.

        Examples
        --------
        >>> from structrank import random_system
        >>> random_system(outputs=3, order=2).covariances(5).shape
        (6, 3, 3)
        """
        lags = not_negative_int(lags, "lags")
        A, C, p = self.A, self.C, self.output_count
        P, W = self._stationary(), self.noise_covariance
        Gbar = A @ P @ adjoint(C) + W[p:, :p]
        return np.concatenate([[C @ P @ adjoint(C) + W[:p, :p]], free_responses(A, C, lags) @ Gbar])

    def _stationary(self) -> NDArray:
        """Covariance of the states that the noise causes in the long run."""
        if not self.stable:
            raise ValueError(
                f"the spectral radius of A is {spectral_radius_of(self.A):.4g}, but only a stable "
                "system, with all poles inside the unit circle, has covariances"
            )
        p = self.output_count
        return np.asarray(solve_discrete_lyapunov(self.A, self.noise_covariance[p:, p:]))

    def __repr__(self) -> str:
        return f"StateSpace({', '.join(self._shown())})"

    def _rows(self) -> list[tuple[str, str]]:
        return [("system", ", ".join(self._shown()))]

    def _shown(self) -> list[str]:
        """What the text of a system consists of."""
        m, p = self.input_count, self.output_count
        inputs = [f"{m} input{'s' if m > 1 else ''}"] if m else []
        outputs = f"{p} output{'s' if p > 1 else ''}"
        radius = f"spectral radius {spectral_radius_of(self.A):.4g}"
        return [f"order {self.order}", *inputs, outputs, radius]

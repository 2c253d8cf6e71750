"""Systems with inputs and outputs in state-space form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import dlti

from .._array import as_array, to_numpy
from ..views import plot_poles
from .state_space import spectral_radius_of


@dataclass(frozen=True, eq=False, repr=False)
class InputOutputModel:
    """A system driven by known inputs, around an operating point.

    `x_{t+1} = A x_t + B v_t,  y_t = C x_t + D v_t + output_offset,  v_t = u_t - input_offset`

    Parameters
    ----------
    A : array, shape (r, r)
    B : array, shape (r, m)
    C : array, shape (p, r)
    D : array, shape (p, m)
    x0 : array, shape (r,), optional
        State at the first sample. Default zero.
    input_offset : array, shape (m,), optional
        Inputs at the operating point. Default zero.
    output_offset : array, shape (p,), optional
        Outputs at the operating point. Default zero.

    Examples
    --------
    >>> from structrank import InputOutputModel
    >>> model = InputOutputModel(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
    >>> model
    InputOutputModel(order 1, 1 input, 1 output, spectral radius 0.5)
    >>> model.simulate([1.0, 0.0, 0.0, 0.0])[:, 0]
    array([0. , 2. , 1. , 0.5])
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    x0: np.ndarray = None  # type: ignore[assignment]
    input_offset: np.ndarray = None  # type: ignore[assignment]
    output_offset: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        D, order = _real(self.D, "D"), len(_real(self.A, "A"))
        if D.ndim != 2 or 0 in D.shape or not order:
            raise ValueError(
                f"A has {order} rows and D shape {D.shape}, but one or more states, and a matrix "
                "of one row an output and one column an input, are expected"
            )
        outputs, inputs = D.shape
        shapes = {
            "A": (order, order),
            "B": (order, inputs),
            "C": (outputs, order),
            "D": (outputs, inputs),
            "x0": (order,),
            "input_offset": (inputs,),
            "output_offset": (outputs,),
        }
        for name, shape in shapes.items():
            given = getattr(self, name)
            values = np.zeros(shape) if given is None else _real(given, name)
            if values.shape != shape:
                raise ValueError(
                    f"{name} has shape {values.shape}, but {shape} is expected for {order} states, "
                    f"{inputs} inputs and {outputs} outputs"
                )
            if not np.all(np.isfinite(values)):
                raise ValueError(f"{name} holds NaN or inf, but finite numbers are expected")
            object.__setattr__(self, name, values)

    @property
    def order(self) -> int:
        """Number of states r."""
        return self.A.shape[0]

    @property
    def inputs(self) -> int:
        """Number of inputs m."""
        return self.D.shape[1]

    @property
    def outputs(self) -> int:
        """Number of outputs p."""
        return self.D.shape[0]

    @property
    def poles(self) -> np.ndarray:
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

    def simulate(self, inputs: Any, initial: Any = None) -> np.ndarray:
        """Outputs for given inputs.

        Parameters
        ----------
        inputs : array, shape (samples, m) or, of a single input, (samples,)
        initial : array, shape (r,), optional
            State at the first sample. Default `x0`.

        Returns
        -------
        ndarray, shape (samples, p)
        """
        u = series(inputs, "inputs", self.inputs)
        if not np.all(np.isfinite(u)):
            raise ValueError(
                "inputs hold NaN or inf, but a simulation expects finite numbers: fill them first"
            )
        start = self.x0 if initial is None else _real(initial, "initial")
        if start.shape != (self.order,) or not np.all(np.isfinite(start)):
            raise ValueError(
                f"initial has shape {start.shape}, but ({self.order},) and finite numbers are "
                "expected, one a state"
            )
        u = u - self.input_offset
        with np.errstate(over="ignore", invalid="ignore"):
            y = state_sequence(self.A, start, u @ self.B.T) @ self.C.T + u @ self.D.T
        if not np.all(np.isfinite(y)):
            raise ValueError(
                "the outputs leave the range of double precision: the system's spectral radius is "
                f"{spectral_radius_of(self.A):.4g}, so take fewer than {len(u)} samples"
            )
        return y + self.output_offset

    def fit(self, inputs: Any, outputs: Any, initial: Any = None) -> np.ndarray:
        """How much of each output the simulated model explains, in percent.

        `100 (1 - ||y - simulated|| / ||y - mean(y)||)`, over the samples that are seen: 100 is
        perfect, 0 no better than the mean.

        Parameters
        ----------
        inputs : array, shape (samples, m) or (samples,)
        outputs : array, shape (samples, p) or (samples,)
            NaN where nothing is seen.
        initial : array, shape (r,), optional
            State at the first sample. Default the one that fits these outputs best.

        Returns
        -------
        ndarray, shape (p,)

        Examples
        --------
        >>> import numpy as np
        >>> from structrank import InputOutputModel
        >>> model = InputOutputModel(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
        >>> u = np.sin(np.arange(50.0))
        >>> model.fit(u, model.simulate(u, initial=[3.0])).round(6)
        array([100.])
        """
        u, y = paired(inputs, outputs, self.inputs, self.outputs)
        start = np.zeros(self.order) if initial is None else initial
        simulated, seen = self.simulate(u, start), ~np.isnan(y)
        if initial is None:
            free = free_responses(self.A, self.C, len(u))
            state = np.linalg.lstsq(free[seen], (y - simulated)[seen], rcond=None)[0]
            simulated = simulated + free @ state
        error = np.where(seen, y - simulated, 0.0)
        spread = np.where(seen, y - np.nanmean(y, axis=0), 0.0)
        scale = np.linalg.norm(spread, axis=0)
        if np.any(scale == 0):
            raise ValueError("an output is constant where it is seen, so that it has no fit")
        return 100 * (1 - np.linalg.norm(error, axis=0) / scale)

    def impulse_response(self, samples: int) -> np.ndarray:
        """`D, C B, C A B, ...`: shape (samples, p, m)."""
        return markov_parameters(self.A, self.B, self.C, self.D, samples)

    def to_scipy(self) -> dlti:
        """The system as a `scipy.signal.dlti` with a time step of one, without offsets and x0."""
        return dlti(self.A, self.B, self.C, self.D, dt=1)

    def to_control(self) -> Any:
        """The system as a `control.StateSpace` of unspecified time step, without offsets and x0.

        Needs the package control, `pip install "structrank[control]"`.
        """
        try:
            import control
        except ImportError as error:
            raise ImportError(
                'to_control() needs the package control: pip install "structrank[control]"'
            ) from error
        return control.ss(self.A, self.B, self.C, self.D, dt=True)

    def __repr__(self) -> str:
        inputs = f"{self.inputs} input{'s' if self.inputs > 1 else ''}"
        outputs = f"{self.outputs} output{'s' if self.outputs > 1 else ''}"
        return (
            f"InputOutputModel(order {self.order}, {inputs}, {outputs}, "
            f"spectral radius {spectral_radius_of(self.A):.4g})"
        )


def state_sequence(A: np.ndarray, start: np.ndarray, drive: np.ndarray) -> np.ndarray:
    """The states of `x_{t+1} = A x_t + drive_t` from `x_0 = start`, one a sample."""
    states = np.concatenate([start[None, :], drive[:-1]])
    # After the pass with lag k, states[t] is the sum of A^j states[t - j] over all j < 2 k.
    lag, power = 1, A
    while lag < len(states) and np.linalg.norm(power) > np.finfo(float).eps ** 2:
        states[lag:] += states[:-lag] @ power.T
        lag, power = 2 * lag, power @ power
    return states


def free_responses(A: np.ndarray, C: np.ndarray, samples: int) -> np.ndarray:
    """`C A^t`, the outputs of a system without inputs: shape (samples, p, r)."""
    responses = np.empty((samples, *C.shape))
    responses[0], known, power = C, 1, A
    while known < samples:
        more = min(known, samples - known)
        responses[known : known + more] = responses[:more] @ power
        known, power = known + more, power @ power
    return responses


def markov_parameters(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, samples: int
) -> np.ndarray:
    """The impulse response `D, C B, C A B, ...`: shape (samples, p, m)."""
    return np.concatenate([D[None], free_responses(A, C, samples)[: samples - 1] @ B])


def series(values: Any, name: str, channels: int | None = None) -> np.ndarray:
    """`values` as real numbers of shape (samples, channels)."""
    x = _real(values, name)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or 0 in x.shape or channels not in (None, x.shape[1]):
        expected = "channels" if channels is None else channels
        raise ValueError(
            f"{name} has shape {np.shape(values)}, but (samples, {expected}) is expected"
        )
    return x


def paired(
    inputs: Any, outputs: Any, m: int | None = None, p: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and outputs of one record."""
    u, y = series(inputs, "inputs", m), series(outputs, "outputs", p)
    if len(u) != len(y):
        raise ValueError(
            f"inputs have {len(u)} samples and outputs {len(y)}, but as many are expected"
        )
    for name, x in (("inputs", u), ("outputs", y)):
        if np.any(np.isinf(x)):
            raise ValueError(f"{name} hold inf, but finite numbers, or NaN for missing, expected")
        if np.any(np.all(np.isnan(x), axis=0)):
            raise ValueError(f"a channel of the {name} is never seen: leave it out")
    return u, y


def _real(values: Any, name: str) -> np.ndarray:
    """`values` as real numbers in double precision."""
    x = to_numpy(as_array(values))
    if x.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {x.dtype}, but real numbers are expected")
    return x.astype(float)

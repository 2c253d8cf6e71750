"""Responses of a `StateSpace` to pulses, steps and sinusoids, and their pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._array import NDArray
from .._checks import finite, positive_int
from ..views import plot_bode, plot_step
from .recursion import markov_parameters
from .simulation import check_range

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True)
class ResponseRange:
    """What pictures of responses show. All values are a matter of taste.

    Attributes
    ----------
    points : int
        Frequencies of a Bode plot.
    below : float
        It begins at this share of the lowest frequency of a pole.
    lowest, highest : float
        Bounds on where it begins, as shares of the highest frequency.
    settled : float
        A step response ends where modes have fallen to this share.
    fewest, most : int
        Bounds on its number of samples; a mode that does not fall gets half of the most.
    """

    points: int = 400
    below: float = 0.03
    lowest: float = 1e-4
    highest: float = 1e-2
    settled: float = 0.01
    fewest: int = 20
    most: int = 1000

    def frequencies(self, poles: NDArray, dt: float) -> NDArray:
        """Frequencies of a Bode plot, up to the highest one that the samples show."""
        sizes = np.abs(np.log(poles[poles != 0].astype(complex))) / np.pi
        first = np.min(sizes[sizes > 0], initial=1.0) * self.below
        first = min(max(first, self.lowest), self.highest)
        return np.geomspace(first, 1.0, self.points) / (2 * dt)

    def samples(self, poles: NDArray) -> int:
        """Number of samples of a step response."""
        radius = float(np.max(np.abs(poles), initial=0.0))
        if radius >= 1:
            return self.most // 2
        steps = np.log(self.settled) / np.log(radius) if radius > 0 else 0
        return int(min(max(steps, self.fewest), self.most))


RANGE = ResponseRange()


class Responses:
    """Methods of `StateSpace` for its responses. Without inputs, they are those to the noise."""

    def impulse_response(self, steps: int) -> NDArray:
        """Outputs after a unit pulse in each input: `D, C B, C A B, ...`.

        For a system without inputs, the pulse is in the noise: `I, C K, C A K, ...`.

        Parameters
        ----------
        steps : int

        Returns
        -------
        ndarray, shape (steps, p, m)

        Examples
        --------
        >>> from structrank import StateSpace
        >>> model = StateSpace(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
        >>> model.impulse_response(4)[:, 0, 0]
        array([0. , 2. , 1. , 0.5])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = markov_parameters(*self._system()._driven(), positive_int(steps, "steps"))
        check_range(outputs, self._system().A)
        return outputs

    def step_response(self, steps: int) -> NDArray:
        """Outputs after a unit step in each input, from rest at the operating point.

        Parameters
        ----------
        steps : int

        Returns
        -------
        ndarray, shape (steps, p, m)

        Examples
        --------
        >>> from structrank import StateSpace
        >>> model = StateSpace(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]])
        >>> model.step_response(4)[:, 0, 0]
        array([0. , 2. , 3. , 3.5])
        """
        pulses = self.impulse_response(steps)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = np.cumsum(pulses, axis=0)
        check_range(outputs, self._system().A)
        return outputs

    def frequency_response(self, frequencies: Any) -> NDArray:
        """Outputs over inputs that are sinusoids: `D + C (z I - A)^{-1} B`.

        Parameters
        ----------
        frequencies : array, shape (count,)
            In Hz if `dt` is in seconds; in cycles per sample without `dt`.

        Returns
        -------
        ndarray, shape (count, p, m)
            Complex.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> model = StateSpace(A=[[0.5]], B=[[1.0]], C=[[2.0]], D=[[0.0]], dt=0.01)
        >>> model.frequency_response([0.0, 50.0])[:, 0, 0].real.round(3)
        array([ 4.   , -1.333])
        """
        model = self._system()
        f = np.asarray(frequencies, dtype=float)
        if f.ndim != 1:
            raise ValueError(f"frequencies have shape {f.shape}, but (count,) is expected")
        finite(f, "frequencies")
        A, B, C, D = model._driven()
        z = np.exp(2j * np.pi * f * (1.0 if model.dt is None else model.dt))
        try:
            states = np.linalg.solve(z[:, None, None] * np.eye(len(A)) - A, B.astype(complex))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "a pole lies at one of the frequencies, where the response is infinite: leave this "
                "frequency out"
            ) from error
        return np.asarray(C @ states + D)

    def plot_bode(self, frequencies: Any = None, ax: Any = None) -> Any:
        """Draw size and phase of the frequency response.

        Parameters
        ----------
        frequencies : array, optional
            As for `frequency_response`. Default: from well below the slowest pole to the highest
            frequency that the samples show.
        ax : sequence of two Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        list of Axes
        """
        model = self._system()
        if frequencies is None:
            frequencies = RANGE.frequencies(model.poles, 1.0 if model.dt is None else model.dt)
        unit = "cycles per sample" if model.dt is None else "Hz"
        values = self.frequency_response(frequencies)
        return plot_bode(np.asarray(frequencies, dtype=float), values, unit=unit, ax=ax)

    def plot_step(self, steps: int | None = None, ax: Any = None) -> Any:
        """Draw the step response, one panel per output.

        Parameters
        ----------
        steps : int, optional
            Number of samples. Default: until the slowest mode has fallen to a hundredth.
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes or list of Axes
        """
        model = self._system()
        values = self.step_response(RANGE.samples(model.poles) if steps is None else steps)
        return plot_step(values, dt=model.dt, ax=ax)

    def _system(self) -> StateSpace:
        return cast("StateSpace", self)

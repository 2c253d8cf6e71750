"""Predictions a few samples ahead, and measured outputs beside simulated and predicted ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._array import NDArray
from .._checks import positive_int
from ..views import Labels, Summary, plot_comparison
from .given import Given
from .simulation import explained, fitted_response, unknown_start
from .smoothing import predicted_states

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Summary):
    """Measured outputs of one record beside simulated and predicted ones.

    Parameters
    ----------
    samples : ndarray, shape (samples, p)
        Measured outputs, NaN where missing.
    simulated : ndarray, shape (samples, p), or None
        From the inputs alone; None for a system without inputs.
    predicted : ndarray, shape (samples, p)
        From inputs and from outputs `steps` or more samples before.
    steps : int
    dt : float or None
        Time between samples.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> noise = {"K": [[0.8]], "innovation_covariance": [[0.1]]}
    >>> model = StateSpace([[0.9]], [[1.0]], [[1.0]], None, **noise)
    >>> u = np.random.default_rng(0).standard_normal(200)
    >>> comparison = model.compare(model.simulate(u, rng=0), u)
    >>> comparison
    Comparison
      simulated     77.0% fit
      predicted     89.0% fit, 1 sample ahead
    """

    samples: NDArray
    simulated: NDArray | None
    predicted: NDArray
    steps: int
    dt: float | None = None

    @property
    def simulated_fit(self) -> NDArray:
        """How much of each output the simulation explains, in percent, as `StateSpace.fit`."""
        if self.simulated is None:
            raise ValueError("the system has no inputs, so there is no simulation: see predicted")
        return explained(self.samples, self.simulated)

    @property
    def predicted_fit(self) -> NDArray:
        """How much of each output the predictions explain, in percent."""
        return explained(self.samples, self.predicted)

    def plot(self, ax: Any = None) -> Any:
        """Draw measured, simulated and predicted outputs, one panel per output.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes or list of Axes
        """
        estimates = {f"predicted, {self._ahead}": self.predicted}
        fits = [f"predicted {x:.1f}%" for x in self.predicted_fit]
        if self.simulated is not None:
            estimates = {"simulated": self.simulated, **estimates}
            pairs = zip(self.simulated_fit, fits, strict=True)
            fits = [f"simulated {x:.1f}%, {text}" for x, text in pairs]
        count, p = self.samples.shape
        positions = None if self.dt is None else self.dt * np.arange(count)
        names = tuple(f"output {j}" for j in range(p))
        labels = Labels(names, positions, "sample" if self.dt is None else "time (s)")
        return plot_comparison(self.samples, estimates, titles=fits, labels=labels, ax=ax)

    @property
    def _ahead(self) -> str:
        return f"{self.steps} sample{'s' if self.steps > 1 else ''} ahead"

    def _rows(self) -> list[tuple[str, str]]:
        def text(fit: NDArray) -> str:
            return ", ".join(f"{x:.1f}%" for x in fit) + " fit"

        rows = [("predicted", f"{text(self.predicted_fit)}, {self._ahead}")]
        if self.simulated is None:
            return rows
        return [("simulated", text(self.simulated_fit)), *rows]


class Predictions:
    """Methods of `StateSpace` that predict outputs of a record from those before them."""

    def predict(self, samples: Any, inputs: Any = None, steps: int = 1) -> Any:
        """Predict each output from the outputs that are `steps` or more samples before it.

        Inputs are known up to the predicted sample. Missing samples do not count.

        Parameters
        ----------
        samples : array, shape (samples, p) or (samples,), or a list of arrays
            NaN where missing.
        inputs : array, shape (samples, m) or (samples,), or a list of arrays, optional
            For a system with inputs.
        steps : int
            How many samples ahead.

        Returns
        -------
        ndarray, shape (samples, p)
            NaN where the first state is not known and the past does not determine it yet. A list of
            arrays if `samples` is a list.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> noise = {"K": [[0.5]], "innovation_covariance": [[1.0]], "x0": [0.0]}
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, **noise)
        >>> level.predict([4.0, 4.0, float("nan"), 4.0, 4.0])[:, 0]
        array([0. , 2. , 3. , 3. , 3.6])
        >>> level.predict([4.0, 4.0, float("nan"), 4.0, 4.0], steps=2)[:, 0]
        array([0., 0., 2., 3., 3.])
        """
        model, steps = cast("StateSpace", self), positive_int(steps, "steps")
        given, _ = Given.of(model, samples, inputs).estimable()
        states = predicted_states(given.gaussian, given.records).swapaxes(1, 2)
        drive = given.inputs @ model.B.T
        for _ in range(min(steps, len(states)) - 1):
            later = states[:-1] @ model.A.T + drive[:-1]
            states = np.concatenate([states[:1], later])
        outputs = [
            states[: len(y), i] @ model.C.T + given.shown(i) for i, y in enumerate(given.samples)
        ]
        return outputs if given.several else outputs[0]

    def compare(self, samples: Any, inputs: Any = None, steps: int = 1) -> Any:
        """Measured outputs beside simulated and predicted ones.

        The first state of the simulation is the one that fits these outputs best, and that of the
        predictions is the most likely one.

        Parameters
        ----------
        samples, inputs : array or list of arrays
            As for `predict`.
        steps : int
            How many samples ahead outputs are predicted.

        Returns
        -------
        Comparison
            With a `plot` method. A list of them if `samples` is a list.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> model = StateSpace([[0.5]], [[1.0]], [[2.0]], None, innovation_covariance=[[1e-4]])
        >>> u = [1.0, -1.0, 1.0, 0.0, 2.0, 0.0]
        >>> model.compare(model.simulate(u, initial=[3.0]), u).simulated_fit.round(6)
        array([100.])
        """
        model, steps = cast("StateSpace", self), positive_int(steps, "steps")
        given = Given.of(model, samples, inputs)
        offset = model.input_offset
        results = []
        for i, y in enumerate(given.samples):
            u = given.inputs[: len(y), i] + offset if model.input_count else None
            simulated = None if u is None else fitted_response(model, u, y)
            predicted = _from_most_likely_start(model, y, u, steps, simulated)
            results.append(Comparison(y, simulated, predicted, steps, model.dt))
        return results if given.several else results[0]


def _from_most_likely_start(
    model: StateSpace, y: NDArray, u: NDArray | None, steps: int, simulated: NDArray | None
) -> NDArray:
    """Predictions from the most likely first state; without noise, they are the simulation."""
    if simulated is not None and not np.any(model.noise_covariance):
        return simulated
    free = replace(model, x0_covariance=unknown_start(model))
    estimate = free.smooth(y, u)
    if not np.any(model.noise_covariance):
        return np.asarray(estimate.signals)
    start = replace(model, x0=estimate.states[0], x0_covariance=None)
    return np.asarray(start.predict(y, u, steps))

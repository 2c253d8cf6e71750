"""What samples say about a `StateSpace`: likelihood, smoother, forecasts, draws, updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._array import NDArray
from .._checks import positive_int, random_generator
from . import simulation
from .given import Given
from .likelihood import log_likelihood, value_and_gradient
from .recursion import state_sequence
from .residual_tests import ResidualTests, residual_tests
from .smoothing import last_state, smoothed

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True)
class Smoothed:
    """States and outputs given all samples of a record; each has one row per sample.

    Parameters
    ----------
    states, state_variances : ndarray, shape (samples, r)
        Means and variances of the states.
    signals, signal_variances : ndarray, shape (samples, p)
        Those of the outputs without their noise.
    outputs, output_variances : ndarray, shape (samples, p)
        Those of the outputs: the samples and zero where they are seen; elsewhere the noise is part
        of the variance.
    innovations : ndarray, shape (samples, p)
        Errors of predictions from the past, in standard deviations: white noise of variance one if
        the model is right. Output j is predicted from the past and from the outputs before j. NaN
        where a sample is missing, or where the past does not yet determine the first state.

    Examples
    --------
    >>> from structrank import StateSpace
    >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[1.0]])
    >>> level.smooth([1.0, float("nan"), 3.0]).outputs[:, 0].round(6)
    array([1., 2., 3.])
    """

    states: NDArray
    state_variances: NDArray
    signals: NDArray
    signal_variances: NDArray
    outputs: NDArray
    output_variances: NDArray
    innovations: NDArray

    def __getitem__(self, rows: slice) -> Smoothed:
        return Smoothed(**{name: values[rows] for name, values in vars(self).items()})


class Conditioning:
    """Methods of `StateSpace` that take samples.

    Samples have shape (samples, p), or (samples,) for one output, with NaN where missing. A list of
    arrays is several records, each with a first state of its own. Inputs have as many rows.
    """

    def loglikelihood(self, samples: Any, inputs: Any = None) -> float:
        """Log-likelihood of the samples, summed over the records.

        If the first state is not known, this is the diffuse log-likelihood: the limit for a
        covariance `kappa I` that grows, plus log(kappa) / 2 per state (log(kappa) if complex).
        If it is known exactly and errors of the filter would grow more than 10^4 times, as they do
        where `A - K C` is unstable, it counts as known to a millionth of the error of later states.

        Parameters
        ----------
        samples : array, shape (samples, p) or (samples,), or a list of arrays
            NaN where missing.
        inputs : array, shape (samples, m) or (samples,), or a list of arrays, optional
            For a system with inputs.

        Returns
        -------
        float

        Examples
        --------
        >>> from structrank import StateSpace
        >>> white = StateSpace([[0.0]], None, [[0.0]], None, R=[[1.0]], x0=[0.0])
        >>> round(white.loglikelihood([1.0, float("nan"), -1.0]), 6)
        -2.837877
        """
        given = Given.of(self._model(), samples, inputs)
        return float(np.sum(log_likelihood(given.gaussian, given.records)))

    def loglikelihood_gradient(
        self, samples: Any, inputs: Any = None
    ) -> tuple[float, dict[str, NDArray]]:
        """Log-likelihood and its derivatives with respect to the arrays of the system.

        Parameters
        ----------
        samples, inputs : array or list of arrays
            As for `loglikelihood`.

        Returns
        -------
        value : float
        gradient : dict of ndarray
            For A, B, C, D, Q, R, S, x0, x0_covariance, input_offset and output_offset. If an array
            X changes by dX, the value changes by `Re sum(conj(gradient["X"]) dX)`; changes of Q, R
            and x0_covariance are Hermitian.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> white = StateSpace([[0.0]], None, [[0.0]], None, R=[[1.0]], x0=[0.0])
        >>> value, gradient = white.loglikelihood_gradient([2.0, float("nan"), -2.0])
        >>> gradient["R"]
        array([[3.]])
        """
        model = self._model()
        given, p = Given.of(model, samples, inputs), model.output_count
        score = value_and_gradient(given.gaussian, given.records)
        joint = np.einsum("tqm,tmk->qk", score.joint, given.inputs)
        offset = np.concatenate([model.D, model.B]).T @ score.joint.sum(axis=(0, 2))
        free = ~given.gaussian.diffuse
        gradient = {
            "A": score.H[p:],
            "B": joint[p:],
            "C": score.H[:p],
            "D": joint[:p],
            "Q": score.W[p:, p:],
            "R": score.W[:p, :p],
            "S": 2 * score.W[p:, :p],
            "x0": score.mean,
            "x0_covariance": score.covariance * np.outer(free, free),
            "input_offset": -offset,
            "output_offset": score.joint[:, :p].sum(axis=(0, 2)),
        }
        return score.value, gradient

    def smooth(self, samples: Any, inputs: Any = None) -> Any:
        """Means and variances of states and outputs, given all samples of their record.

        Of a system without noise whose first state is not known, least squares finds this state;
        variances are zero then, and innovations NaN.

        Parameters
        ----------
        samples, inputs : array or list of arrays
            As for `loglikelihood`.

        Returns
        -------
        Smoothed
            A list of them if `samples` is a list.

        Examples
        --------
        A random walk, seen with noise, between two samples:

        >>> import numpy as np
        >>> from structrank import StateSpace
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[0.5]])
        >>> estimate = level.smooth([0.0, np.nan, 4.0])
        >>> estimate.signals[:, 0].round(2), estimate.signal_variances[:, 0].round(2)
        (array([0.67, 2.  , 3.33]), array([0.42, 0.75, 0.42]))
        """
        model = self._model()
        given, share = Given.of(model, samples, inputs).estimable()
        moments = smoothed(given.gaussian, given.records)
        results = []
        for i, y in enumerate(given.samples):
            rows = slice(len(y))
            states, shown = moments.states[rows, :, 0, i], given.shown(i)
            outputs = np.where(np.isnan(y), moments.outputs[rows, :, 0, i] + shown, y)
            result = Smoothed(
                states,
                share * moments.state_variances[rows, :, i],
                states @ model.C.T + shown,
                share * moments.signal_variances[rows, :, i],
                outputs,
                share * moments.output_variances[rows, :, i],
                moments.innovations[rows, :, 0, i] / (share or np.nan),
            )
            results.append(result)
        return results if given.several else results[0]

    def forecast(
        self, steps: int, samples: Any = None, inputs: Any = None, future_inputs: Any = None
    ) -> Smoothed:
        """Means and variances of the next states and outputs.

        Parameters
        ----------
        steps : int
            Number of samples after the record.
        samples, inputs : array, optional
            The record, as for `loglikelihood`. Default: none; the forecast begins at `x0`, as after
            `update`.
        future_inputs : array, shape (steps, m) or (steps,), optional
            For a system with inputs.

        Returns
        -------
        Smoothed
            With one row per step. `output_variances` are those of the coming samples.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[0.5]])
        >>> future = level.forecast(3, samples=[1.0, 2.0, 3.0])
        >>> future.outputs[:, 0].round(3), future.output_variances[:, 0].round(3)
        (array([2.667, 2.667, 2.667]), array([1.867, 2.867, 3.867]))
        """
        model, steps = self._model(), positive_int(steps, "steps")
        if samples is not None:
            model = model.update(samples, inputs)
        elif inputs is not None:
            raise ValueError(
                "inputs are given, but samples are not: inputs belong to samples; pass those of "
                "the coming steps as future_inputs"
            )
        missing = np.full((steps, model.output_count), np.nan)
        return cast(Smoothed, model.smooth(missing, future_inputs))

    def update(self, samples: Any, inputs: Any = None) -> StateSpace:
        """The same system after some samples: its first state is the next one, given them.

        Parameters
        ----------
        samples, inputs : array
            One record, as for `loglikelihood`. The samples may be few, if the first state is known.

        Returns
        -------
        StateSpace
            With `x0` and `x0_covariance` for the next sample.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[0.5]])
        >>> now = level.update([1.0, 2.0]).update([3.0])
        >>> now.x0.round(3), now.x0_covariance.round(3)
        (array([2.667]), array([[1.367]]))
        """
        model = self._model()
        given, share = Given.of(model, samples, inputs).one().estimable()
        mean, covariance = last_state(given.gaussian, given.records)
        return replace(model, x0=mean, x0_covariance=share * covariance)

    def draws(
        self,
        n: int,
        samples: Any,
        inputs: Any = None,
        *,
        rng: int | np.random.Generator = 0,
    ) -> NDArray:
        """Random outputs of the system, given the samples.

        Parameters
        ----------
        n : int
            Number of draws.
        samples, inputs : array
            One record, as for `loglikelihood`. NaN is drawn; append rows of NaN to draw the future.
        rng : int or numpy.random.Generator
            Seed for the draws.

        Returns
        -------
        ndarray, shape (n, samples, p)
            The samples where they are seen.

        Examples
        --------
        >>> import numpy as np
        >>> from structrank import StateSpace
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[0.5]])
        >>> draws = level.draws(1000, [0.0, np.nan, 4.0])
        >>> draws.shape, bool(abs(draws[:, 1].mean() - 2) < 0.2)
        ((1000, 3, 1), True)
        """
        model, n, rng = self._model(), positive_int(n, "n"), random_generator(rng)
        given, _ = Given.of(model, samples, inputs).one().estimable()
        y, covariance = given.samples[0], given.gaussian.covariance
        # A simulated record has the errors of the smoother: its own samples less their estimate.
        root = simulation.covariance_root(covariance)
        start = simulation.white(model, rng, n, model.order) @ root.T
        w, v = simulation.noises(model, rng, len(y), n)
        simulated = np.moveaxis(state_sequence(model.A, start, w) @ model.C.T + v, 1, 2)
        records = given.records
        less = np.where(records.seen[:, :, None], records.y - simulated[..., None], 0)
        moments = smoothed(given.gaussian, replace(records, y=less))
        values = moments.outputs[..., 0] + simulated + given.shown(0)[..., None]
        return np.where(np.isnan(y), np.moveaxis(values, 2, 0), y)

    def residual_tests(self, samples: Any, inputs: Any = None, lags: int = 20) -> ResidualTests:
        """Test whether the innovations are white and independent of the inputs.

        Parameters
        ----------
        samples, inputs : array or list of arrays
            As for `loglikelihood`.
        lags : int
            Largest lag of the correlations.

        Returns
        -------
        ResidualTests
            With a `plot` method.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> noise = {"K": [[0.5]], "innovation_covariance": [[1.0]]}
        >>> model = StateSpace([[0.8]], None, [[1.0]], None, **noise)
        >>> y = model.simulate(steps=500)
        >>> bool(model.residual_tests(y).whiteness[0] > 0.01)
        True
        """
        return residual_tests(self._model(), samples, inputs, lags)

    def _model(self) -> StateSpace:
        return cast("StateSpace", self)

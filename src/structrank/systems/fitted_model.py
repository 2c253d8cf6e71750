"""Systems that were fitted to samples: uncertainty of their poles, vibration modes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .._array import NDArray
from .._checks import finite_or_missing
from ..io.saved_results import savable
from ..views import plot_poles
from .maximum_likelihood import MaximumLikelihood
from .output_error import OutputError
from .pole_errors import pole_covariances
from .records import series
from .simulation import unknown_start
from .state_space import StateSpace
from .vibration_modes import VibrationModes


@dataclass(frozen=True, eq=False)
class Estimate:
    """A fit and its parameters, whose A is that of the system.

    Parameters
    ----------
    fit : MaximumLikelihood or OutputError
    theta : ndarray
    """

    fit: MaximumLikelihood | OutputError
    theta: NDArray


@savable(omit={"estimate": "the fit of a model"}, computed=("_log_covariances",))
@dataclass(frozen=True, eq=False, repr=False, init=False)
class FittedModel(StateSpace):
    """A `StateSpace` that was fitted to samples, with standard errors of its poles.

    `x0` is its state at the first sample of the record it was fitted to; `simulate` begins there.
    Other records begin elsewhere, so `x0_covariance` is inf on the diagonal: `smooth`, `predict`,
    `forecast` and all other methods that take samples find the first state from them. For a record
    whose first state is known, `dataclasses.replace` these two.

    Parameters
    ----------
    *matrices, **options
        As for `StateSpace`.
    estimate : Estimate or None
        The fit, from which errors follow. None: they are not known.
    method : str
        How `identify` found the model: "prediction error", "output error", "ARX", "average with
        ARX models" or "mean of the outputs". Empty for models of `realize_outputs`.
    input_model : StateSpace, optional
        A system driven by noise alone, whose outputs are the inputs. `identify` adds it if inputs
        have gaps. Then all methods fill NaN in inputs with the means that it gives them, from the
        other samples of the inputs, and take these for known.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace, identify
    >>> truth = StateSpace([[0.8]], [[1.0]], [[1.0]], None, innovation_covariance=[[1.0]])
    >>> u = np.random.default_rng(0).standard_normal(500)
    >>> model = identify(u, truth.simulate(u, rng=0), order=1)
    >>> bool(abs(model.poles[0] - 0.8) < 3 * model.pole_errors[0, 0] < 0.1)
    True
    >>> model.method
    'output error'
    """

    estimate: Estimate | None
    method: str
    input_model: StateSpace | None

    def __init__(
        self,
        *matrices: Any,
        estimate: Estimate | None,
        method: str = "",
        input_model: StateSpace | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*matrices, **options)
        object.__setattr__(self, "estimate", estimate)
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "input_model", input_model)

    @classmethod
    def of(
        cls,
        model: StateSpace,
        estimate: Estimate | None,
        method: str = "",
        input_model: StateSpace | None = None,
    ) -> FittedModel:
        """A system with the fit that it came from; records that it is given begin anywhere."""
        arrays = {field.name: getattr(model, field.name) for field in fields(StateSpace)}
        arrays["x0_covariance"] = unknown_start(model)
        return cls(**arrays, estimate=estimate, method=method, input_model=input_model)

    def filled_inputs(self, inputs: Any) -> NDArray:
        """Inputs of shape (samples, m), with gaps (NaN) filled by the model of the inputs."""
        u = series(inputs, "inputs", self.input_count)
        if self.input_model is None or not np.any(np.isnan(u)):
            return super().filled_inputs(u)
        finite_or_missing(u, "inputs")
        return np.asarray(self.input_model.smooth(u).outputs)

    def _shown(self) -> list[str]:
        return [*super()._shown(), *([self.method] if self.method else [])]

    @cached_property
    def _log_covariances(self) -> tuple[NDArray, NDArray] | None:
        """Poles, and the covariance of the logarithm of each."""
        if self.estimate is None:
            return None
        return pole_covariances(self.estimate.fit, self.estimate.theta)

    @cached_property
    def pole_errors(self) -> NDArray:
        """Standard errors of the real and the imaginary part of each of the `poles`: shape (r, 2).

        They are computed on first access. They assume that the noise model is right, which
        `residual_tests` tests. NaN if the model is not the optimum of a fit: see `method`.
        """
        if self._log_covariances is None:
            return np.full((self.order, 2), np.nan)
        poles, covariances = self._log_covariances
        turned = np.stack(
            [np.stack([poles.real, -poles.imag], -1), np.stack([poles.imag, poles.real], -1)], 1
        )
        errors = np.sqrt(np.einsum("kai,kij,kaj->ka", turned, covariances, turned))
        return np.asarray(errors[np.argmin(np.abs(self.poles[:, None] - poles), axis=1)])

    @cached_property
    def modes(self) -> VibrationModes:
        """Natural frequencies, damping ratios and mode shapes, with standard errors.

        The errors are computed on first access. They are NaN if there is no fit of which they
        follow.
        """
        found = self._log_covariances
        return VibrationModes.of(self, None if found is None else found[1])

    def plot_poles(self, ax: Any = None) -> Any:
        """Draw the poles in the complex plane, with the unit circle and their standard errors.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_poles(self.poles, ax, errors=self.pole_errors)

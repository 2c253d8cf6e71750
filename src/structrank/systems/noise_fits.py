"""Models of one order and one kind of noise, fitted to records with gaps.

- "arx": an ARX model of the filled records with as few lags as the order needs.
- "reduced": one with as many lags as Akaike's criterion finds, reduced to the order.
- "white": white noise is added to the outputs; simulated outputs are fitted (output error).
- "innovations": the noise also drives the states; predicted outputs are fitted (prediction error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .._array import NDArray
from .first_models import FirstModels
from .fitted_model import Estimate
from .integrators import with_constant
from .maximum_likelihood import MaximumLikelihood
from .output_error import OutputError
from .quasi_newton import QuasiNewton
from .recursion import spectral_radius_of
from .regularised_arx import PriorRules, RegularisedArx
from .state_space import StateSpace

ARX = ("arx", "reduced")
KINDS = (*ARX, "white", "innovations")
Stretches = tuple[list[NDArray], list[NDArray]]


@dataclass(frozen=True)
class FitRules:
    """Sizes and tolerances of the fits.

    Attributes
    ----------
    steps : int
        Iteration limit of least squares. Set by hand.
    tolerance : float
        Least squares ends once a step lowers the squared error by at most this share. Set by hand.
    likelihood : QuasiNewton
        Steps of maximum likelihood.
    pole_share : float
        Poles of starts are moved to at most this share of the bound, so that the fit starts inside.
        Set by hand.
    floor : float
        Errors below this share of the spread of an output count as zero. Set by hand: below the
        accuracy of most measurements.
    starts : int
        Starts of least squares: those with the least errors. Set by hand.
    fillings, filling_order : int
        How often an ARX model with a prior fills gaps, and its most states. Set by hand.
    output_noises : tuple of float
        Variances of the noise in past outputs, one ARX model with a prior each. Set by hand: on
        parts of recordings, from 0.003 to 0.1, averages differ little.
    """

    steps: int = 40
    tolerance: float = 1e-4
    likelihood: QuasiNewton = field(default_factory=QuasiNewton)
    pole_share: float = 0.999
    floor: float = 1e-5
    starts: int = 2
    fillings: int = 2
    filling_order: int = 10
    output_noises: tuple[float, ...] = (0.003, 0.03)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, its log-likelihood, how it was found, and the optimum that it is, if it is one."""

    model: StateSpace
    loglikelihood: float
    method: str = "ARX"
    estimate: Estimate | None = None


@dataclass(frozen=True, eq=False)
class NoiseFits:
    """Records of normalised channels, and the fits of models to them.

    Parameters
    ----------
    inputs, outputs : list of ndarray
        One per record, NaN where missing.
    known_inputs : list of ndarray
        The inputs, with guesses where they are missing.
    filled : list of tuple of ndarray
        Inputs and outputs of the records, with guesses where they are missing.
    stretches : list of tuple of (int, slice)
        Parts of the records that ARX models and the subspace method use: record and rows.
    windows : list of int
        Block rows of the subspace method.
    input_model : StateSpace or None
        Model of the inputs, if some are missing.
    input_error : float
        Root mean square error of the guesses of missing inputs, by their model.
    rules : FitRules
        Sizes and tolerances.
    offset : bool
        Whether to fit an offset of the outputs.
    radius : float
        Bound on the absolute values of the poles.
    integrators : int
        Number of poles that are one, beside the bound.
    constant : bool
        Whether the last input is one.
    """

    inputs: list[NDArray]
    outputs: list[NDArray]
    known_inputs: list[NDArray]
    filled: list[tuple[NDArray, NDArray]]
    stretches: list[tuple[int, slice]]
    windows: list[int]
    input_model: StateSpace | None
    input_error: float
    rules: FitRules = FitRules()
    offset: bool = True
    radius: float = 1.0
    integrators: int = 0
    constant: bool = False

    @cached_property
    def plugged(self) -> NoiseFits:
        """The same records, with guesses of missing inputs taken for inputs that are known."""
        return replace(self, inputs=self.known_inputs, input_model=None)

    def integrating(self, count: int) -> NoiseFits:
        """The same records for models with integrators.

        An input that is one takes the place of offsets, because a constant drives integrators.
        """
        if not self.offset:
            return replace(self, integrators=count)
        return replace(
            self,
            inputs=[with_constant(u) for u in self.inputs],
            known_inputs=[with_constant(u) for u in self.known_inputs],
            filled=[(with_constant(u), y) for u, y in self.filled],
            offset=False,
            integrators=count,
            constant=True,
        )

    def resting(self, count: int, means: NDArray) -> NoiseFits:
        """The same for integrators that rest if the inputs, which have these means, are zero."""
        model = self.input_model
        return replace(
            self,
            inputs=[u + means for u in self.inputs],
            known_inputs=[u + means for u in self.known_inputs],
            filled=[(u + means, y) for u, y in self.filled],
            input_model=None if model is None else replace(model, output_offset=means),
            integrators=count,
        )

    @property
    def start_radius(self) -> float:
        """Bound on the poles of starts."""
        return self.rules.pole_share * self.radius

    @cached_property
    def _lists(self) -> Stretches:
        """Inputs and outputs of the stretches."""
        return self._cut(self.filled)

    def _cut(self, records: list[tuple[NDArray, NDArray]]) -> Stretches:
        pairs = [(records[i], rows) for i, rows in self.stretches]
        return [u[rows] for (u, _), rows in pairs], [y[rows] for (_, y), rows in pairs]

    @cached_property
    def _first(self) -> FirstModels:
        return FirstModels(
            *self._lists, self.windows, self.start_radius, self.integrators, self.offset
        )

    def arx(self, kind: str, order: int) -> StateSpace | None:
        """An ARX model with few or many lags, reduced to the order."""
        return self._first.arx(kind, order)

    @cached_property
    def regularised(self) -> list[RegularisedArx]:
        """Stable ARX models with many lags and a prior, for several noises in past outputs."""
        if self.integrators:
            return []
        records = self._lists
        for _ in range(self.rules.fillings):
            before, records = records, self._refilled(records)
            if records is before:
                break
        rules = [PriorRules(output_noise=variance) for variance in self.rules.output_noises]
        models = [RegularisedArx(*records, rule, self._seen) for rule in rules]
        return [x for x in models if x.determined and x.stable(min(self.start_radius, 1.0))]

    @cached_property
    def _seen(self) -> list[NDArray]:
        """Which outputs of the stretches are seen."""
        return [~np.isnan(self.outputs[i][rows]) for i, rows in self.stretches]

    def _refilled(self, records: Stretches) -> Stretches:
        """The stretches, with gaps filled by a model with a prior of their present filling."""
        seen = self._cut(list(zip(self.inputs, self.outputs, strict=True)))
        first = RegularisedArx(*records)
        gaps = any(np.any(np.isnan(x)) for xs in seen for x in xs)
        if not gaps or not first.determined or not first.stable(self.start_radius):
            return records
        model = first.reduced(first.order(self.rules.filling_order), self.start_radius)
        if model is None:
            return records
        fit = self.likelihood(model.order)
        theta = fit.parameters(model)
        if not np.isfinite(fit.value(theta)):
            return records
        u, y = (
            [np.where(np.isnan(x), mean, x) for x, mean in zip(xs, means, strict=True)]
            for xs, means in zip(seen, self._cut(fit.filled(theta)), strict=True)
        )
        return u, y

    def _arx_starts(self, order: int) -> list[StateSpace]:
        models = [self.arx(kind, order) for kind in ("arx", "reduced")]
        return [model for model in models if model is not None]

    def fitted(self, kind: str, order: int, others: Sequence[StateSpace] = ()) -> Fitted | None:
        """The model of one kind, or None if there is no start; `others` are more starts."""
        if kind in ARX:
            model = self.arx(kind, order) or next(iter(others), None)
            return None if model is None else self.judged(model)
        return (self._white if kind == "white" else self._innovations)(order, others)

    def parameter_count(self, kind: str, order: int) -> int:
        """Number of parameters; a change of the coordinates of the states changes no model."""
        m, p = self.inputs[0].shape[1] - self.constant, self.outputs[0].shape[1]
        noise = 0 if kind == "white" else order * p
        return int(order * (m + p + len(self.outputs)) + p * m + noise + p)

    @property
    def seen_count(self) -> int:
        """Number of outputs that are seen."""
        return sum(int(np.count_nonzero(~np.isnan(y))) for y in self.outputs)

    def few_samples(self, kind: str, order: int, least: int) -> bool:
        """Whether fewer outputs than `least` are seen per parameter."""
        return self.seen_count < least * self.parameter_count(kind, order)

    def likelihood(self, order: int, *fixed: str) -> MaximumLikelihood:
        """The likelihood of systems with some order; the parts `fixed` keep their values."""
        if not self.offset:
            fixed = (*fixed, "output_offset")
        return MaximumLikelihood(
            self.inputs,
            self.outputs,
            order,
            self.radius,
            fixed,
            input_model=self.input_model,
            integrators=self.integrators,
        )

    def judged(self, model: StateSpace) -> Fitted:
        """A model with its likelihood; the first states are zero."""
        fit = self.likelihood(model.order)
        return Fitted(model, -fit.value(fit.parameters(model)))

    def _white(self, order: int, others: Sequence[StateSpace]) -> Fitted | None:
        """Output-error fit; exact likelihood if inputs are missing or there are several records."""
        problem = self.problem(order)
        pairs = [(model.A, model.C) for model in self._arx_starts(order)]
        pairs += self._first.dynamics(order)
        pairs += [(model.A, model.C) for model in others]
        thetas = [problem.start(A, C) for A, C in pairs]
        values = [problem.value(theta) for theta in thetas]
        if not np.any(np.isfinite(values)):
            return None
        best = [thetas[i] for i in np.argsort(values) if np.isfinite(values[i])]
        if self.input_model is None and len(self.outputs) == 1:
            ends = [
                problem.minimize(theta, self.rules.steps, self.rules.tolerance)
                for theta in best[: self.rules.starts]
            ]
            return self.from_theta(problem, min(ends, key=problem.value))
        theta = best[0]
        start, fit = self.from_theta(problem, theta).model, self.likelihood(order, "K")
        states = np.zeros((len(self.outputs), order))
        states[self._longest] = start.x0
        first = [fit.parameters(start, states)]
        if len(self.outputs) == 1:
            first += [fit.parameters(replace(m, K=0 * m.K), m.x0) for m in others]
        theta = fit.maximize(min(first, key=fit.value), self.rules.likelihood)
        return Fitted(fit.system(theta), -fit.value(theta), "output error", Estimate(fit, theta))

    @property
    def _longest(self) -> int:
        return int(np.argmax([len(y) for y in self.outputs]))

    def problem(self, order: int) -> OutputError:
        """Least squares for the longest record, with filled inputs."""
        i = self._longest
        return OutputError(
            self.known_inputs[i],
            self.outputs[i],
            order,
            self.offset,
            self.radius,
            integrators=self.integrators,
        )

    def from_theta(self, problem: OutputError, theta: NDArray) -> Fitted:
        """The model of least squares, with the covariance of its errors."""
        A, B, C, D, x0, offsets, _ = problem.split(theta)
        errors = np.where(problem.seen, problem.outputs(theta) - problem.y, 0.0)
        counts = np.sqrt(np.maximum(problem.seen.sum(axis=0), 1))
        scaled = errors / counts
        variances = np.maximum(np.sum(scaled**2, axis=0), self.rules.floor**2)
        G = np.diag(variances)
        offset = offsets if self.offset else None
        model = StateSpace(A, B, C, D, innovation_covariance=G, x0=x0, output_offset=offset)
        value = -0.5 * np.sum(problem.seen.sum(axis=0) * (np.log(2 * np.pi * variances) + 1))
        return Fitted(model, float(value), "output error", Estimate(problem, theta))

    def _innovations(self, order: int, others: Sequence[StateSpace]) -> Fitted | None:
        """Prediction-error fit, from the reduced ARX model or from other fits."""
        fit, one = self.likelihood(order), len(self.outputs) == 1
        thetas = [fit.parameters(model) for model in self._arx_starts(order)]
        thetas += [fit.parameters(model, model.x0 if one else None) for model in others]
        values = [fit.value(theta) for theta in thetas]
        if not np.any(np.isfinite(values)):
            return None
        theta = fit.maximize(thetas[int(np.argmin(values))], self.rules.likelihood)
        system = predicting(fit.system(theta))
        return Fitted(system, -fit.value(theta), "prediction error", Estimate(fit, theta))


def predicting(model: StateSpace) -> StateSpace:
    """The same model with a gain K whose predictor is stable, if there is one."""
    if spectral_radius_of(model.A - model.K @ model.C) < 1:
        return model
    try:
        form = model.innovation_form()
    except ValueError:
        return model
    return replace(form, x0=model.x0, x0_covariance=model.x0_covariance)

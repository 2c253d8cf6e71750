"""Trend, season, autoregressive part and noise as a candidate: for series as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._array import NDArray, is_complex, like, to_numpy
from ..._watch import seconds_left, watched
from ...components import FittedChannels, FittedSeries, fit_channels, fit_series
from ...components.draws import error_draws
from ...components.joint_search import JointSearch
from ...model.problem import Problem
from ..estimates import ErrorDraws, Estimate
from ..solutions import Known
from ..trial import Trial
from .base import Candidate, ErrorProfile, Prediction


@dataclass(frozen=True)
class ComponentModel(Candidate):
    """A sum of components that drift, fitted by likelihood: for one real series, or few channels.

    Attributes
    ----------
    fit_share : float
        Share of a time limit for the fits; the rest is for predictions. Taste.
    fixed_seconds, seconds_of_value : float
        About how long the shortest search and its predictions take on one core, measured for 150
        to 8000 samples.
    fits : dict or None
        Memory of the fits of series, by their samples, for calls that fit channels alone and
        together. None: nothing is remembered.
    """

    name = "components"
    label = "trend, season, autoregressive part and noise"
    model = "trend, season, autoregressive part and white noise, {rank} states in all"
    note = (
        "The signal shown is that of a linear system driven by noise, given all samples. The "
        "certificate is that of the convex solution, not of this fit."
    )
    weighted = True

    fit_share: float = 0.5
    fixed_seconds: float = 0.05
    seconds_of_value: float = 2e-5
    fits: dict[bytes, FittedSeries] | None = None

    def least_seconds(self, trial: Trial) -> float:
        return self.fixed_seconds + self.seconds_of_value * int(np.prod(trial.problem.b.shape))

    def predict(self, trial: Trial) -> list[Prediction]:
        if not has_components(trial.problem):
            return []
        known, shape = trial.known, trial.problem.b.shape
        samples = np.where(trial.problem.seen, to_numpy(trial.problem.b), np.nan)
        samples = samples.reshape(shape[:2])  # channels are blocks of one column
        with watched(self.fit_share * seconds_left()):
            fitted, errors = self._fitted(samples, known)
        parts = [part.reshape(samples.shape) for part in trial.parts]
        told = fitted.told(samples, parts)
        weights = np.ones(len(samples)) if known.weights is None else known.weights
        weights = np.broadcast_to(weights.reshape(-1, *[1] * (samples.ndim - 1)), samples.shape)
        pairs = list(zip(told.held_out, parts, strict=True))
        errors_at = [weights[part] * (found.signal - samples[part]) for found, part in pairs]
        residual = fitted.optimism * np.concatenate(errors_at)
        spread = np.concatenate([weights[part] * found.deviation for found, part in pairs])
        found = told.whole
        deviation = found.deviation.reshape(shape)
        share = found.stderr.reshape(shape) / np.maximum(deviation, np.finfo(float).tiny)
        profile = ErrorProfile(spread, deviation, share, errors, told.seen)
        signal = like(found.signal.reshape(shape), trial.problem.b)
        estimate = Estimate(signal, None, fitted.order, sigma=found.sigma, errors=errors)
        return [_ComponentPrediction(self, residual, profile, estimate, fitted)]

    def _fitted(
        self, samples: NDArray, known: Known
    ) -> tuple[FittedSeries | FittedChannels, ErrorDraws]:
        """The fits of a series or of channels, and draws of their errors."""
        if samples.ndim == 1:
            series = self._remembered(samples, known)
            return series, partial(error_draws, series, samples)
        alone = [self._remembered(np.ascontiguousarray(y), known) for y in samples.T]
        table = fit_channels(samples, alone)
        return table, partial(_table_errors, table, samples)

    def _remembered(self, samples: NDArray, known: Known) -> FittedSeries:
        key, fits = samples.tobytes(), {} if self.fits is None else self.fits
        if key not in fits:
            fits[key] = fit_series(samples, periods=known.seasons, noise=known.levels)
        return fits[key]


def has_components(problem: Problem) -> bool:
    """Whether a signal suits the component model: one real series, or a few channels of them."""
    structure: Any = problem.structure
    if len(structure.lengths) > 1 or is_complex(problem.b):
        return False
    return not structure.block or JointSearch().applies(problem.seen[..., 0])


def _table_errors(
    fitted: FittedChannels, samples: NDArray, n: int, rng: np.random.Generator
) -> NDArray:
    """Draws of errors in the shape of the structure's signals."""
    return fitted.error_draws(samples, n, rng)[..., None]


class _ComponentPrediction(Prediction):
    def __init__(
        self,
        candidate: ComponentModel,
        residual: NDArray,
        profile: ErrorProfile,
        estimate: Estimate,
        fitted: FittedSeries | FittedChannels,
    ) -> None:
        super().__init__(candidate, residual, profile)
        self._estimate, self._fitted = estimate, fitted

    def estimate(self) -> Estimate:
        return self._estimate

    def over_trend(self, squares: float, parameters: int) -> float:
        if isinstance(self._fitted, FittedChannels):
            return -np.inf
        return self._fitted.over_trend(squares, parameters)

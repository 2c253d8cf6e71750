"""Trend, season, autoregressive part and noise as a candidate: for series as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._array import NDArray, is_complex, like, to_numpy
from ...components import fit_series
from ...components.draws import error_draws
from ..estimates import Estimate
from ..trial import Trial
from .base import Candidate, ErrorProfile, Prediction


@dataclass(frozen=True)
class ComponentModel(Candidate):
    """A sum of components that drift, fitted by likelihood: for one real series."""

    name = "components"
    label = "trend, season, autoregressive part and noise"
    model = "trend, season, autoregressive part and white noise, {rank} states in all"
    note = (
        "The signal shown is that of a linear system driven by noise, given all samples. The "
        "certificate is that of the convex solution, not of this fit."
    )
    weighted = True

    def predict(self, trial: Trial) -> list[Prediction]:
        structure: Any = trial.problem.structure
        if len(structure.lengths) > 1 or structure.block or is_complex(trial.problem.b):
            return []
        samples = np.where(trial.problem.seen, to_numpy(trial.problem.b), np.nan)
        known = trial.known
        fitted = fit_series(samples, periods=known.seasons, noise=known.levels)
        held_out = fitted.smooth([np.where(part, np.nan, samples) for part in trial.parts])
        signals = [like(found.signal, trial.problem.b) for found in held_out]
        residual = fitted.optimism * trial.residual(signals)
        pairs = zip(held_out, trial.parts, strict=True)
        weights = np.ones(len(samples)) if known.weights is None else known.weights
        spread = np.concatenate([(weights * found.deviation)[part] for found, part in pairs])
        (found,) = fitted.smooth([samples])
        share = found.stderr / np.maximum(found.deviation, np.finfo(float).tiny)
        errors = partial(error_draws, fitted, samples)
        profile = ErrorProfile(spread, found.deviation, share, errors, fitted.seen_values(samples))
        signal = like(found.signal, trial.problem.b)
        estimate = Estimate(signal, None, fitted.order, sigma=found.sigma, errors=errors)
        return [_ComponentPrediction(self, residual, profile, estimate)]


class _ComponentPrediction(Prediction):
    def __init__(
        self,
        candidate: ComponentModel,
        residual: NDArray,
        profile: ErrorProfile,
        estimate: Estimate,
    ) -> None:
        super().__init__(candidate, residual, profile)
        self._estimate = estimate

    def estimate(self) -> Estimate:
        return self._estimate

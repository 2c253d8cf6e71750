"""Fits by short windows as a candidate: one prediction for each window and noise level."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..estimates import Estimate
from ..trial import Trial
from ..window_path import Setting
from ..window_sizes import WindowSearch
from ..windows import LocalFits, best_local_fits
from .base import Candidate, ErrorProfile, Prediction


@dataclass(frozen=True)
class LocalWindows(Candidate):
    """Fits that ask for few patterns in short windows rather than for few modes in all.

    Parameters
    ----------
    search : WindowSearch
        Which windows and noise levels are tried.
    """

    name = "average"
    label = "average of local fits"
    model = "signal with at most {rank} patterns in its short windows"
    note = (
        "The signal shown is an average of fits of short windows, which predicted held-out samples "
        "better. The certificate is that of the convex solution, not of this fit."
    )

    search: WindowSearch = field(default_factory=WindowSearch)

    def predict(self, trial: Trial) -> list[Prediction]:
        fits = best_local_fits(trial.problem, trial.parts, search=self.search)
        profile = ErrorProfile(fits.held_out_scale, fits.signal_scale) if fits.evened else None
        return [_WindowPrediction(self, fits, setting, profile) for setting in fits.residuals]


class _WindowPrediction(Prediction):
    def __init__(
        self,
        candidate: LocalWindows,
        fits: LocalFits,
        setting: Setting,
        profile: ErrorProfile | None,
    ) -> None:
        super().__init__(candidate, fits.residuals[setting], profile)
        self._fits, self._setting = fits, setting

    def estimate(self) -> Estimate:
        fit = self._fits.fit(self._setting)
        return Estimate(fit.y, None, fit.rank)

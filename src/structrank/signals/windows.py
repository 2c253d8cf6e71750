"""Fits by short windows of one signal: which windows and noise levels, and how they predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._pieces import piece
from .._watch import seconds_left, tell, time_is_up, watched
from ..model.problem import Problem
from ..selection.holdout import clearly_better
from .channels import channel_count
from .evening import is_uneven, local_scale
from .logdet import LocalFit
from .window_path import Setting, WindowPath
from .window_sizes import WindowSearch, local_windows


@dataclass(frozen=True, eq=False)
class LocalFits:
    """The local fits of one problem, and what they predict for held-out samples.

    Attributes
    ----------
    samples : ndarray
        NaN where missing; the last axis holds channels.
    signal_shape : tuple of int
        Shape of the signals that are returned.
    scale : ndarray
        What the samples are divided by before the fit: ones, or `local_scale`.
    held_out_scale : ndarray
        The same at the held-out samples, all parts one after the other.
    residuals : dict of Setting to ndarray
        Predicted minus held-out samples, all parts one after the other.
    search : WindowSearch
    """

    samples: NDArray
    signal_shape: tuple[int, ...]
    scale: NDArray
    held_out_scale: NDArray
    residuals: dict[Setting, NDArray]
    search: WindowSearch
    _paths: list[WindowPath] = field(default_factory=list)

    @property
    def evened(self) -> bool:
        """Whether the samples are divided by their local size."""
        return self.scale.size > 1

    @property
    def signal_scale(self) -> NDArray:
        """The scale in the shape of the signal."""
        return np.broadcast_to(self.scale, self.samples.shape).reshape(self.signal_shape)

    def fit(self, setting: Setting) -> LocalFit:
        """Return the fit to all samples, in the shape of the signal."""
        return piece(
            "local fit",
            lambda: self._fitted(setting),
            lambda found: found._asdict(),
            lambda packed: LocalFit(**packed),
        )

    def _fitted(self, setting: Setting) -> LocalFit:
        if not self._paths or not self._paths[-1].leads_to(setting):
            samples = self.samples / self.scale
            self._paths[:] = [WindowPath([samples], setting.window, setting.thorough, self.search)]
        (found,) = self._paths[-1].follow(setting)
        return LocalFit((self.scale * found.y).reshape(self.signal_shape), found.rank)


def best_local_fits(
    problem: Problem,
    parts: Sequence[NDArray],
    *,
    search: WindowSearch = WindowSearch(),
) -> LocalFits:
    """Predict held-out samples by local fits; a series of very uneven size is evened out first.

    It is not evened out if the fits are clearly better without, or if time is up. The few large
    samples at the start of a decay often do not follow it, and would dominate the fit.

    Parameters
    ----------
    problem : Problem
        With samples of the signal.
    parts : sequence of ndarray of bool
        Samples that are held out, in turn.
    search : WindowSearch

    Returns
    -------
    LocalFits
    """
    # The fits to all samples repeat at most the steps of one part.
    with watched(seconds_left() * len(parts) / (len(parts) + 1)):
        fits = predict_by_windows(problem, parts, search=search)
        if not fits.residuals or not is_uneven(fits.samples, search) or time_is_up():
            return fits
        evened = predict_by_windows(problem, parts, evened=True, search=search)
    return fits if clearly_better(_squares(fits), _squares(evened)) else evened


def predict_by_windows(
    problem: Problem,
    parts: Sequence[NDArray],
    *,
    evened: bool = False,
    search: WindowSearch = WindowSearch(),
) -> LocalFits:
    """Predict held-out samples by local fits with windows and noise levels of several sizes.

    Parameters
    ----------
    problem : Problem
        With samples of the signal.
    parts : sequence of ndarray of bool
        Samples that are held out, in turn.
    evened : bool
        Divide the signal by the square root of its local size (`local_scale`). Its windows are
        more alike then, and errors may grow with the size.
    search : WindowSearch

    Returns
    -------
    LocalFits
    """
    structure: Any = problem.structure
    samples = samples_of(problem)
    training = [_Training(samples, part.reshape(samples.shape), evened, search) for part in parts]
    residuals: dict[Setting, NDArray] = {}
    line, search = len(structure.lengths) == 1, search.for_axes(len(structure.lengths))
    # Whether steps go on to convergence matters for several axes only.
    ends, least = (True,) if line else (False, True), np.inf
    for window in local_windows(structure.lengths, samples.shape[-1], search):
        errors = []
        for thorough in ends:
            found = _predict(training, window, thorough, search)
            residuals |= found
            errors.append(min(map(_mean_error, found.values())))
            if time_is_up():
                break
        if time_is_up():
            break
        ends = (ends[int(np.argmin(errors))],)  # larger windows prefer the same
        if not line and min(errors) > (1 - search.worth) * least:
            break
        least = min(errors)
    scale = local_scale(samples, search) if evened else np.ones(1)
    scales = [np.broadcast_to(t.scale, samples.shape)[t.held_out] for t in training]
    return LocalFits(
        samples, structure.signal_shape, scale, np.concatenate(scales), residuals, search
    )


class _Training:
    """The samples without a held-out part, evened out if asked for."""

    def __init__(
        self, samples: NDArray, held_out: NDArray, evened: bool, search: WindowSearch
    ) -> None:
        kept = np.where(held_out, np.nan, samples)
        self.held_out, self.truth = held_out, samples[held_out]
        self.scale = local_scale(kept, search) if evened else np.ones(1)
        self.samples = kept / self.scale

    def residual(self, y: NDArray) -> NDArray:
        """Return what a fit predicts for the held-out samples, minus these samples."""
        predicted: NDArray = (self.scale * y)[self.held_out]
        return predicted - self.truth


def _predict(
    training: Sequence[_Training],
    window: tuple[int, ...],
    thorough: bool,
    search: WindowSearch,
) -> dict[Setting, NDArray]:
    """Fit with less and less noise, as long as the predictions do not get worse."""
    return piece(
        "window",
        lambda: _lowered(training, window, thorough, search),
        lambda found: {"steps": [s.steps for s in found], "residuals": list(found.values())},
        lambda packed: {
            Setting(window, thorough, steps): residual
            for steps, residual in zip(packed["steps"], packed["residuals"], strict=True)
        },
    )


def _lowered(
    training: Sequence[_Training],
    window: tuple[int, ...],
    thorough: bool,
    search: WindowSearch,
) -> dict[Setting, NDArray]:
    residuals: dict[Setting, NDArray] = {}
    path = WindowPath([part.samples for part in training], window, thorough, search)

    def residual(signals: Sequence[NDArray]) -> NDArray:
        return np.concatenate([t.residual(y) for t, y in zip(training, signals, strict=True)])

    least = np.inf
    while not path.finished:
        error = path.lower(lambda signals: _mean_error(residual(signals)), least)
        residuals[path.setting] = residual(path.signals)
        size = " x ".join(map(str, window))
        share = search.shares[len(path.setting.steps) - 1]
        tell(f"local fits: window {size}, noise {share:.0e}, error {error:.3g}")
        least = min(least, error)
        if error > search.risen * least or time_is_up():
            break
    return residuals


def _mean_error(residual: NDArray) -> float:
    return float(np.mean(np.abs(residual)))


def _squares(fits: LocalFits) -> NDArray:
    """Return the squared errors of the fit with the least absolute error."""
    return np.abs(min(fits.residuals.values(), key=_mean_error)) ** 2


def samples_of(problem: Problem) -> NDArray:
    """Return the samples, NaN where missing; the last axis holds channels."""
    structure: Any = problem.structure
    shape = (*structure.lengths, channel_count(problem))
    return np.where(problem.seen, to_numpy(problem.b), np.nan).reshape(shape)

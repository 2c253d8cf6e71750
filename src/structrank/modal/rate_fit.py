"""A fast, coarse fit of modes: Gauss-Newton on frequencies and dampings by normal equations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import get_lapack_funcs

from .._array import NDArray
from .._pieces import Packed, piece
from .._watch import time_is_up
from .model import ModalModel
from .samples import ChannelSamples


@dataclass(frozen=True)
class RateSteps:
    """How a fit of frequencies and dampings moves; the damping values are the usual ones."""

    count: int  # steps at most
    smallest_decrease: float  # relative, of the squared residual: the fit ends below this
    first_damping: float = 1e-3
    damping_factor: float = 10.0
    least_damping: float = 1e-12
    most_damping: float = 1e3  # the fit ends if even such short steps do not help
    most_growth: float = 3.0  # exponent that a mode may reach over the signal


@dataclass(frozen=True, eq=False)
class RateFit:
    """Modes with the amplitudes that fit samples best.

    Normal equations cost a tenth of the QR decompositions in `structrank.modal.fit`, and lose half
    of the digits where modes nearly coincide. So this is for finding modes, not for the last fit.

    Attributes
    ----------
    model : ModalModel
    samples : list of ChannelSamples
    waves : list of ndarray
        For each channel, the modes of amplitude one at the samples, times their weights.
    residuals : list of ndarray
        For each channel, what the modes leave of the samples, times their weights.
    """

    model: ModalModel
    samples: list[ChannelSamples]
    waves: list[NDArray]
    residuals: list[NDArray]

    @classmethod
    def of(cls, model: ModalModel, samples: list[ChannelSamples]) -> RateFit:
        """The fit with the best amplitudes for the frequencies and dampings of a model."""
        waves, residuals, solutions = [], [], []
        for channel in samples:
            wave = channel.weights[:, None] * model.waves(channel.places)
            rows = model.amplitude_rows(wave)
            found = _solved(rows.conj().T @ rows, rows.conj().T @ channel.target)
            waves.append(wave)
            residuals.append(channel.target - rows @ found)
            solutions.append(found)
        return cls(model.with_amplitudes(np.stack(solutions, axis=1)), samples, waves, residuals)

    @property
    def square(self) -> float:
        """The squared weighted residual."""
        return float(sum(np.vdot(part, part).real for part in self.residuals))

    @property
    def rank(self) -> int:
        """Number of modes; a conjugate pair counts twice."""
        return len(self.model.paired) + int(np.count_nonzero(self.model.paired))

    def sizes(self) -> NDArray:
        """Norm of what each row of the model contributes at the samples."""
        squares = [
            np.sum(np.abs(wave) ** 2, axis=0) * np.abs(self.model.amplitudes[:, c]) ** 2
            for c, wave in enumerate(self.waves)
        ]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)))

    def without(self, row: int) -> RateFit:
        """The fit without a row of the model."""
        return RateFit.of(self.model.only(np.arange(len(self.model.paired)) != row), self.samples)

    def with_neighbours(self, model: ModalModel, near: NDArray, steps: RateSteps) -> RateFit:
        """Fit some rows of a larger model, of which the last is new, while the others stay.

        Parameters
        ----------
        model : ModalModel
            This model with one more row.
        near : ndarray of bool
            The rows to fit, among them the last.
        steps : RateSteps
        """
        old = near[:-1]
        part = [
            replace(channel, values=(residual + self._values(c, old)) / channel.weights)
            for c, (channel, residual) in enumerate(zip(self.samples, self.residuals, strict=True))
        ]
        fitted = RateFit.of(model.only(near), part).refined(steps)
        waves = []
        for c, wave in enumerate(self.waves):
            whole = np.empty((len(wave), len(near)), dtype=complex)
            whole[:, ~near], whole[:, near] = wave[:, ~old], fitted.waves[c]
            waves.append(whole)
        return RateFit(model.replaced(near, fitted.model), self.samples, waves, fitted.residuals)

    def _values(self, channel: int, rows: NDArray) -> NDArray:
        """What some rows contribute at the samples of a channel."""
        values: NDArray = self.waves[channel][:, rows] @ self.model.amplitudes[rows, channel]
        return values.real if self.model.real else values

    def refined(self, steps: RateSteps) -> RateFit:
        """A better fit, by the method of Levenberg and Marquardt."""

        def pack(fit: RateFit) -> Packed:
            model = fit.model
            return {
                "moved": fit is not self,
                "frequencies": model.frequencies,
                "dampings": model.dampings,
            }

        def unpack(packed: Packed) -> RateFit:
            if not packed["moved"]:
                return self
            rates = {name: packed[name] for name in ("frequencies", "dampings")}
            return RateFit.of(replace(self.model, **rates), self.samples)

        return piece("rates", lambda: self._refined(steps), pack, unpack)

    def _refined(self, steps: RateSteps) -> RateFit:
        fit, damping = self, steps.first_damping
        for _ in range(steps.count):
            system, slope = fit._system()
            while True:
                trial = RateFit.of(fit._moved(system, slope, damping, steps), self.samples)
                if trial.square < fit.square or damping > steps.most_damping:
                    break
                damping *= steps.damping_factor
            gain = fit.square - trial.square
            if not gain > 0:
                break
            last, fit = fit.square, trial
            damping = max(damping / steps.damping_factor, steps.least_damping)
            if gain <= steps.smallest_decrease * last or time_is_up():
                break
        return fit

    def _system(self) -> tuple[NDArray, NDArray]:
        """Normal equations for the rates `2 pi j f - d`, with the amplitudes eliminated."""
        matrices, slopes = [], []
        for c, (channel, wave) in enumerate(zip(self.samples, self.waves, strict=True)):
            parts = wave * self.model.amplitudes[:, c]
            moved = np.concatenate([t[:, None] * parts for t in channel.places], axis=1)
            if self.model.real:
                moved = np.concatenate([moved.real, -moved.imag], axis=1)
            rows = self.model.amplitude_rows(wave)
            both = rows.conj().T @ moved
            fixed = _solved(rows.conj().T @ rows, both)
            matrices.append(moved.conj().T @ moved - both.conj().T @ fixed)
            slopes.append(moved.conj().T @ self.residuals[c])
        return np.sum(matrices, axis=0), np.sum(slopes, axis=0)

    def _moved(
        self, system: NDArray, slope: NDArray, damping: float, steps: RateSteps
    ) -> ModalModel:
        """The model after a damped step; frequencies of real modes and fixed dampings stay."""
        scale = np.sqrt(np.maximum(np.diag(system).real, 0.0))
        scale[scale <= np.finfo(float).eps * np.max(scale, initial=0.0)] = np.inf  # rounding
        scaled = system / np.outer(scale, scale)
        step = np.linalg.solve(scaled + damping * np.eye(len(scale)), slope / scale) / scale
        model, (rows, axes) = self.model, self.model.frequencies.shape
        if model.real:
            step = step[: rows * axes] + 1j * step[rows * axes :]
        step = step.reshape(axes, rows).T
        lowest = -steps.most_growth / (axes * np.maximum(np.array(model.shape) - 1, 1))
        dampings = np.maximum(model.dampings - step.real, lowest)
        moves = (model.paired | (not model.real))[:, None]
        return replace(
            model,
            frequencies=model.frequencies + np.where(moves, step.imag, 0.0) / (2 * np.pi),
            dampings=np.where(model.undamped[:, None], 0.0, dampings),
        )


def _solved(
    gram: NDArray, target: NDArray, dependent: float = 1e-10, independent: float = 1e-3
) -> NDArray:
    """Least squares from a Gram matrix, without directions that nearly depend on others.

    If the diagonal is one, eigenvalues below `dependent` are rounding. Cholesky's method, which
    takes a tenth of the time, is used if the diagonal of its factor is above `independent`.
    """
    if not len(gram):
        return target
    scale = np.sqrt(np.maximum(np.diag(gram).real, np.finfo(float).tiny))
    gram = gram / np.outer(scale, scale)
    rows = target.reshape(len(gram), -1) / scale[:, None]
    posv = get_lapack_funcs("posv", (gram, rows))
    factor, solved, failed = posv(gram, rows)
    if not failed and np.min(np.diag(factor).real) > independent:
        solution: NDArray = solved / scale[:, None]
        return solution.reshape(target.shape)
    values, vectors = np.linalg.eigh(gram)
    keep = values > dependent * values[-1]
    vectors = vectors[:, keep] / scale[:, None]
    projected = vectors.conj().T @ target
    solution = vectors @ (projected.T / values[keep]).T
    return solution

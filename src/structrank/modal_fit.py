"""Nonlinear least squares for modes: the best sum of (damped) sinusoids near a given one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from ._array import is_complex, to_numpy
from .modes import ModeErrors, Modes, exponentials
from .problem import Problem

CHUNK = 2**21  # entries of the Jacobian in memory at once
MAX_STEPS = 100  # of Levenberg and Marquardt
SMALLEST_DECREASE = 1e-9  # of the misfit a step, relatively; then the fit ends
STEEPEST = 50.0  # growth of a mode over the signal, as an exponent, unless it starts steeper
SINGULAR = 1e-12  # singular values below this share of the largest do not count


@dataclass(frozen=True, eq=False)
class ModalModel:
    """A signal as a function of real parameters: those of its modes.

    The parameters stand in the order frequencies, dampings, real and imaginary parts of the
    amplitudes, each of all modes. A real signal has one row for each conjugate pair, which counts
    twice, and one for each real mode, whose frequency and imaginary part stay as they are.

    Parameters
    ----------
    frequencies, dampings : ndarray, shape (k, d)
    amplitudes : ndarray, shape (k, channels)
    shape : tuple of int
        Samples along each axis, without channels.
    real : bool
        Whether the signal is real.
    paired : ndarray of bool, shape (k,)
        Whether a row stands for a conjugate pair.
    undamped : bool
        Whether the dampings stay zero.
    """

    frequencies: np.ndarray
    dampings: np.ndarray
    amplitudes: np.ndarray
    shape: tuple[int, ...]
    real: bool
    paired: np.ndarray
    undamped: bool

    @classmethod
    def of(cls, modes: Modes, shape: tuple[int, ...], *, real: bool, undamped: bool) -> ModalModel:
        """The model that starts from given modes."""
        keep = np.arange(len(modes))
        paired = np.zeros(len(modes), dtype=bool)
        if real:
            keep, paired = _conjugate_pairs(modes)
        return cls(
            modes.frequencies[keep],
            modes.dampings[keep] * (0.0 if undamped else 1.0),
            modes.amplitudes.reshape(len(modes), -1)[keep],
            shape,
            real,
            paired[keep],
            undamped,
        )

    @cached_property
    def free(self) -> np.ndarray:
        """Which of all parameters are free."""
        axes, channels = self.frequencies.shape[1], self.amplitudes.shape[1]
        complex_modes = self.paired | (not self.real)
        return np.concatenate(
            [
                np.repeat(complex_modes, axes),
                np.full(self.dampings.size, not self.undamped),
                np.ones(self.amplitudes.size, dtype=bool),
                np.repeat(complex_modes, channels),
            ]
        )

    def moved(self, step: np.ndarray) -> ModalModel:
        """The model after a step in the free parameters."""
        whole = np.zeros(len(self.free))
        whole[self.free] = step
        ends = np.cumsum([self.frequencies.size, self.dampings.size, self.amplitudes.size])
        f, d, re, im = np.split(whole, ends)
        return replace(
            self,
            frequencies=self.frequencies + f.reshape(self.frequencies.shape),
            dampings=self.dampings + d.reshape(self.dampings.shape),
            amplitudes=self.amplitudes + (re + 1j * im).reshape(self.amplitudes.shape),
        )

    @property
    def growth(self) -> float:
        """The largest exponent that a mode reaches over the signal."""
        reach = np.array(self.shape) - 1
        return float(np.max(np.maximum(-self.dampings, 0.0) @ reach, initial=0.0))

    def rows(self, at: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The values at some places, and their derivatives by the free parameters.

        `at` holds the places along each axis, then the channel. Both results are complex for
        complex signals: a real parameter moves real and imaginary part.
        """
        *places, channel = at
        waves = np.where(self.paired, 2.0 + 0j, 1.0)
        tables = exponentials(self.frequencies, self.dampings, self.shape)
        for index, table in zip(places, tables, strict=True):
            waves = waves * table[index]
        parts = waves * self.amplitudes.T[channel]
        flat = (len(channel), -1)
        by_damping = np.stack([-i[:, None] * parts for i in places], axis=2).reshape(flat)
        inside = channel[:, None] == np.arange(self.amplitudes.shape[1])
        by_amplitude = (waves[:, :, None] * inside[:, None, :]).reshape(flat)
        blocks = [-2j * np.pi * by_damping, by_damping, by_amplitude, 1j * by_amplitude]
        jacobian = np.concatenate(blocks, axis=1)[:, self.free]
        values = np.sum(parts, axis=1)
        return (values.real, jacobian.real) if self.real else (values, jacobian)

    def signal(self) -> np.ndarray:
        """The values everywhere, shape (samples..., channels)."""
        signal = self.to_modes().signal(self.shape).reshape(*self.shape, -1)
        return signal.real if self.real else signal

    def to_modes(self, stderr: ModeErrors | None = None) -> Modes:
        """All modes, both of each conjugate pair."""
        both = np.flatnonzero(self.paired)
        order = np.argsort(np.concatenate([np.arange(len(self.paired)), both]), kind="stable")

        def doubled(values: np.ndarray, partner: np.ndarray) -> np.ndarray:
            return np.concatenate([values, partner[both]])[order]

        if stderr is not None:
            stderr = ModeErrors(*(doubled(x, x) for x in vars(stderr).values()))
        amplitudes = doubled(self.amplitudes, self.amplitudes.conj())
        return Modes(
            doubled(self.frequencies, -self.frequencies),
            doubled(self.dampings, self.dampings),
            amplitudes[:, 0] if amplitudes.shape[1] == 1 else amplitudes,
            stderr,
        )


class ModalFit:
    """The modes that fit the samples of a problem best, near given ones.

    The misfit is `||weights (y - b)||^2` over the seen samples, or `||A(y) - b||^2`, lowered
    by the method of Levenberg and Marquardt. The Jacobian is made in pieces, of which only the
    triangle of its QR decomposition is kept.

    Parameters
    ----------
    problem : Problem
        With a structure that `has_modes`. Its mu and weights are not used.
    modes : Modes
        Where to start.
    weights : ndarray, optional
        Of the signal's shape, zero where nothing is seen. None if an operator measures.
    undamped : bool
        Keep all dampings at zero.
    """

    def __init__(
        self, problem: Problem, modes: Modes, weights: np.ndarray | None, *, undamped: bool
    ) -> None:
        self.problem, self.weights = problem, weights
        self.real = not is_complex(problem.backprojection)
        structure: Any = problem.structure
        self.shape: tuple[int, ...] = structure.lengths
        self.values = to_numpy(problem.b).astype(float if self.real else complex)
        self.model = ModalModel.of(modes, self.shape, real=self.real, undamped=undamped)
        self.R, self.misfit = self._descend()

    def _descend(self) -> tuple[np.ndarray, float]:
        """Levenberg and Marquardt; leaves the triangle of the Jacobian's QR decomposition."""
        triangle = self._triangle(self.model)
        damping, steepest = 1e-3, max(STEEPEST, self.model.growth)
        for _ in range(MAX_STEPS):
            R, target = triangle[:-1, :-1], triangle[:-1, -1]
            before = float(np.sum(triangle[:, -1] ** 2))
            scale = np.linalg.norm(R, axis=0)
            scale[scale == 0] = 1.0
            while True:
                ridge = np.diag(np.sqrt(damping) * scale)
                right = np.concatenate([target, np.zeros(len(scale))])
                step = np.linalg.lstsq(np.vstack([R, ridge]), right, rcond=None)[0]
                trial = self.model.moved(step)
                after = self._misfit(trial) if trial.growth <= steepest else np.inf
                if after < before or damping > 1e8:
                    break
                damping *= 10
            if not after < before:
                break
            self.model, damping = trial, max(damping / 10, 1e-12)
            triangle = self._triangle(trial)
            if before - after <= SMALLEST_DECREASE * before:
                break
        return triangle[:-1, :-1], float(np.sum(triangle[:, -1] ** 2))

    # -- what the samples say about the model ---------------------------------------------

    def _chunks(self, model: ModalModel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Residuals and Jacobian at the samples, piece by piece, as real rows."""
        if self.weights is None:
            values, jacobian = model.rows(_everywhere(self._grid))
            signal_shape = self.problem.structure.signal_shape
            columns = [values, *jacobian.T]
            measured = [
                to_numpy(self.problem.measure.forward(c.reshape(signal_shape))).reshape(-1)
                for c in columns
            ]
            yield _real_rows(self.values.reshape(-1) - measured[0], np.stack(measured[1:], axis=1))
            return
        weights, values = self.weights.reshape(self._grid), self.values.reshape(self._grid)
        for at in _pieces(np.nonzero(weights), len(model.free)):
            fit, jacobian = model.rows(at)
            w = weights[at]
            yield _real_rows(w * (values[at] - fit), w[:, None] * jacobian)

    @property
    def _grid(self) -> tuple[int, ...]:
        return (*self.shape, self.model.amplitudes.shape[1])

    def _triangle(self, model: ModalModel) -> np.ndarray:
        """The triangle of a QR decomposition of Jacobian and residuals side by side."""
        R = np.zeros((0, int(np.count_nonzero(model.free)) + 1))
        for residual, jacobian in self._chunks(model):
            R = scipy.linalg.qr(
                np.vstack([R, np.column_stack([jacobian, residual])]), mode="r", check_finite=False
            )[0]
        missing = R.shape[1] - R.shape[0]
        return np.vstack([R, np.zeros((missing, R.shape[1]))]) if missing > 0 else R

    def _misfit(self, model: ModalModel) -> float:
        signal = model.signal()
        if self.weights is None:
            fit = self.problem.measure.forward(signal.reshape(self.problem.structure.signal_shape))
            return float(np.linalg.norm(to_numpy(fit) - self.values) ** 2)
        weights = self.weights.reshape(self._grid)
        at = weights > 0
        residual = weights[at] * (signal - self.values.reshape(self._grid))[at]
        return float(np.linalg.norm(residual) ** 2)

    # -- what follows from it -------------------------------------------------------------

    @property
    def parameters(self) -> int:
        """Number of free real parameters."""
        return int(np.count_nonzero(self.model.free))

    @property
    def samples(self) -> int:
        """Number of real numbers that were fitted; a complex sample is two."""
        seen = self.values.size if self.weights is None else np.count_nonzero(self.weights)
        return int(seen) * (1 if self.real else 2)

    @cached_property
    def _spread(self) -> np.ndarray:
        """A matrix S with S S^T the covariance of the parameters for unit noise."""
        scale = np.linalg.norm(self.R, axis=0)
        scale[scale == 0] = np.inf  # without influence on any sample: left out
        _, s, Vh = np.linalg.svd(self.R / scale)
        count = np.count_nonzero(s > SINGULAR * s[0]) if len(s) else 0
        return (Vh[:count].T / s[:count]) / scale[:, None]

    def signal_errors(self) -> np.ndarray:
        """Standard errors of all values of the signal, for unit noise in every real number."""
        variances = [
            np.sum(np.abs(self.model.rows(at)[1] @ self._spread) ** 2, axis=1)
            for at in _pieces(_everywhere(self._grid), len(self.model.free))
        ]
        return np.sqrt(np.concatenate(variances)).reshape(self.problem.structure.signal_shape)

    def modes(self, noise: float) -> Modes:
        """The modes with standard errors, for this much noise in every real number."""
        model = self.model
        spread = np.zeros((len(model.free), self._spread.shape[1]))
        spread[model.free] = noise * self._spread
        ends = np.cumsum([model.frequencies.size, model.dampings.size, model.amplitudes.size])
        f, d, re, im = np.split(spread, ends)
        phase = np.angle(model.amplitudes).reshape(-1, 1)
        size = np.abs(model.amplitudes).reshape(-1, 1)
        along = np.cos(phase) * re + np.sin(phase) * im
        across = (np.cos(phase) * im - np.sin(phase) * re) / np.where(size > 0, size, np.inf)
        channels = model.amplitudes.shape[1:] if model.amplitudes.shape[1] > 1 else ()
        shapes = *[model.frequencies.shape] * 2, *[(len(model.amplitudes), *channels)] * 2
        errors = [
            np.linalg.norm(part, axis=1).reshape(shape)
            for part, shape in zip((f, d, along, across), shapes, strict=True)
        ]
        return model.to_modes(ModeErrors(*errors))


def _conjugate_pairs(modes: Modes) -> tuple[np.ndarray, np.ndarray]:
    """One mode of each conjugate pair and all real ones; and which modes belong to a pair."""
    f, left, keep = modes.frequencies, list(range(len(modes))), []
    paired = np.zeros(len(modes), dtype=bool)
    while left:
        k = left.pop(0)
        keep.append(k)
        is_real = np.all(np.abs(2 * f[k] - np.round(2 * f[k])) < 1e-12)
        if is_real:
            continue
        paired[k] = True
        if left:
            distance = np.abs(f[left] + f[k] - np.round(f[left] + f[k])).sum(axis=1)
            distance += np.abs(modes.dampings[left] - modes.dampings[k]).sum(axis=1)
            left.pop(int(np.argmin(distance)))
    return np.array(keep, dtype=int), paired


def _everywhere(grid: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(index.reshape(-1) for index in np.indices(grid))


def _pieces(at: tuple[np.ndarray, ...], columns: int) -> Iterator[tuple[np.ndarray, ...]]:
    rows = max(CHUNK // max(columns, 1), 1)
    for first in range(0, len(at[0]), rows):
        yield tuple(index[first : first + rows] for index in at)


def _real_rows(residual: np.ndarray, jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary parts as rows of their own."""
    if not np.iscomplexobj(residual):
        return residual, jacobian
    return (
        np.concatenate([residual.real, residual.imag]),
        np.concatenate([jacobian.real, jacobian.imag]),
    )

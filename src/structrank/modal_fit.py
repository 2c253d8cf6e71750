"""Nonlinear least squares for modes: the best sum of (damped) sinusoids near a given one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from ._array import is_complex, like, to_numpy
from .modes import MAX_GROWTH, ModeErrors, Modes, exponentials
from .problem import Problem
from .spread import Spread

CHUNK = 2**21  # entries of the Jacobian in memory at once
MAX_STEPS = 100  # of Levenberg and Marquardt
COINCIDENT = 6.0  # two modes whose exponents differ by less over the signal nearly coincide
SMALLEST_DECREASE = 1e-7  # of the misfit a step, relatively; then the fit ends


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
        frequencies = modes.frequencies[keep]
        amplitudes = modes.amplitudes.reshape(len(modes), -1)[keep]
        alone = real & ~paired[keep]  # real modes, but for rounding errors
        frequencies[alone] = np.round(2 * frequencies[alone]) / 2
        amplitudes[alone] = amplitudes[alone].real
        dampings = modes.dampings[keep] * (0.0 if undamped else 1.0)
        return cls(frequencies, dampings, amplitudes, shape, real, paired[keep], undamped)

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

    def exchanged(self) -> list[ModalModel]:
        """The models in which two real modes are a conjugate pair instead, or the other way.

        No step leads from one to the other, as they meet where two modes coincide. So only modes
        that nearly do are exchanged, the nearest first.
        """
        f, reach = self.frequencies, np.array(self.shape) - 1
        whole = np.round(2 * f) / 2
        alone = np.flatnonzero(~self.paired & self.real)
        couples = [(k, i) for k in alone for i in alone if k < i and np.all(f[k] == f[i])]
        apart: dict[tuple, np.ndarray] = {
            rows: np.abs(np.subtract(*self.dampings[list(rows)])) for rows in couples
        }
        apart |= {(k,): 4 * np.pi * np.abs(f - whole)[k] for k in np.flatnonzero(self.paired)}
        return [
            self._exchanged(list(rows), np.maximum(apart[rows] / 2, 0.1 / np.maximum(reach, 1)))
            for rows in sorted(apart, key=lambda rows: apart[rows] @ reach)
            if apart[rows] @ reach < COINCIDENT
        ]

    def _exchanged(self, rows: list[int], half: np.ndarray) -> ModalModel:
        """With two real modes of these rows, or one pair, replaced; `half` their distance apart."""
        to_pair = len(rows) == 2
        f, d = self.frequencies[rows[0]], np.mean(self.dampings[rows], axis=0)
        whole, a = np.round(2 * f) / 2, np.mean(self.amplitudes[rows], axis=0)
        new_f = [whole + half / (2 * np.pi)] if to_pair else [whole, whole]
        new_d = [d] if to_pair else [d - half, d + half]

        def replaced(values: np.ndarray, new: list) -> np.ndarray:
            return np.concatenate([np.delete(values, rows, axis=0), np.stack(new)])

        return replace(
            self,
            frequencies=replaced(self.frequencies, new_f),
            dampings=replaced(self.dampings, [0 * d] * len(new_d) if self.undamped else new_d),
            amplitudes=replaced(self.amplitudes, [a.real + 0j] * len(new_d)),
            paired=replaced(self.paired, [to_pair] * len(new_d)),
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
        self.values = to_numpy(problem.b).astype(complex if is_complex(problem.b) else float)
        start = ModalModel.of(modes, self.shape, real=self.real, undamped=undamped)
        self.model, triangle = self._best(start)
        self.R, self.misfit = triangle[:-1, :-1], _square(triangle)

    def _best(self, start: ModalModel) -> tuple[ModalModel, np.ndarray]:
        """The best model near a start, with the triangle of its Jacobian and residuals."""
        model, triangle = self._descended(start)
        others = model.exchanged()
        while others:
            other, rival = self._descended(self._with_amplitudes(others.pop(0)))
            if _square(rival) < (1 - SMALLEST_DECREASE) * _square(triangle):
                model, triangle = other, rival
                others = model.exchanged()
        return model, triangle

    def _with_amplitudes(self, model: ModalModel) -> ModalModel:
        """The model with the amplitudes that fit best, by linear least squares."""
        triangle = self._triangle(model)
        linear = np.arange(len(model.free)) >= model.frequencies.size + model.dampings.size
        step, linear = np.zeros(triangle.shape[1] - 1), linear[model.free]
        step[linear] = np.linalg.lstsq(triangle[:, :-1][:, linear], triangle[:, -1], rcond=None)[0]
        return model.moved(step)

    def _descended(self, model: ModalModel) -> tuple[ModalModel, np.ndarray]:
        """Levenberg and Marquardt, with the triangle of Jacobian and residuals at the end."""
        triangle = self._triangle(model)
        damping = 1e-3
        for _ in range(MAX_STEPS):
            R, before = triangle[:-1, :-1], _square(triangle)
            scale = np.linalg.norm(R, axis=0)
            scale[scale == 0] = 1.0
            U, s, Vh = np.linalg.svd(R / scale)
            target = U.T @ triangle[:-1, -1]
            while True:
                step = Vh.T @ (s / (s**2 + damping) * target)
                trial = model.moved(step / scale)
                after = self._misfit(trial) if trial.growth <= MAX_GROWTH else np.inf
                if after < before or damping > 1e8:
                    break
                damping *= 10
            if not after < before:
                break
            model, damping = trial, max(damping / 10, 1e-12)
            triangle = self._triangle(trial)
            if before - after <= SMALLEST_DECREASE * before:
                break
        return model, triangle

    # -- what the samples say about the model ---------------------------------------------

    def _chunks(self, model: ModalModel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Residuals and Jacobian at the samples, piece by piece, as real rows."""
        if self.weights is None:
            values, jacobian = model.rows(_everywhere(self._grid))
            measured = [self._measured(column) for column in (values, *jacobian.T)]
            yield _real_rows(self.values.reshape(-1) - measured[0], np.stack(measured[1:], axis=1))
            return
        weights, values = self.weights.reshape(self._grid), self.values.reshape(self._grid)
        for at in _pieces(np.nonzero(weights), len(model.free)):
            fit, jacobian = model.rows(at)
            w = weights[at]
            yield _real_rows(w * (values[at] - fit), w[:, None] * jacobian)

    def _measured(self, signal: np.ndarray) -> np.ndarray:
        """What the operator makes of a signal."""
        signal = signal.reshape(self.problem.structure.signal_shape)
        there = self.problem.measure.forward(like(signal, self.problem.backprojection))
        return to_numpy(there).reshape(-1)

    @property
    def _grid(self) -> tuple[int, ...]:
        channels = int(np.prod(self.problem.structure.signal_shape)) // int(np.prod(self.shape))
        return (*self.shape, channels)

    def _triangle(self, model: ModalModel) -> np.ndarray:
        """The triangle of a QR decomposition of Jacobian and residuals side by side."""
        R = np.zeros((0, int(np.count_nonzero(model.free)) + 1))
        for residual, jacobian in self._chunks(model):
            rows = np.vstack([R, np.column_stack([jacobian, residual])])
            R = scipy.linalg.qr(rows, mode="r", check_finite=False)[0][: R.shape[1]]
        missing = R.shape[1] - R.shape[0]
        return np.vstack([R, np.zeros((missing, R.shape[1]))]) if missing > 0 else R

    def _misfit(self, model: ModalModel) -> float:
        signal = model.signal()
        if self.weights is None:
            return float(np.linalg.norm(self._measured(signal) - self.values.reshape(-1)) ** 2)
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
        return int(seen) * (2 if np.iscomplexobj(self.values) else 1)

    @cached_property
    def _spread(self) -> Spread:
        return Spread(self.R)

    def signal_errors(self) -> np.ndarray:
        """Standard errors of all values of the signal, for unit noise in every real number."""
        errors = [
            self._spread.errors(self.model.rows(at)[1])
            for at in _pieces(_everywhere(self._grid), len(self.model.free))
        ]
        return np.concatenate(errors).reshape(self.problem.structure.signal_shape)

    def modes(self, noise: float | None) -> Modes:
        """The modes with standard errors, for this much noise in every real number."""
        model = self.model
        if noise is None:
            return model.to_modes()
        # How frequencies, dampings, moduli and phases depend on the free parameters.
        rows = np.eye(len(model.free))[:, model.free]
        ends = np.cumsum([model.frequencies.size, model.dampings.size, model.amplitudes.size])
        f, d, re, im = np.split(rows, ends)
        phase = np.angle(model.amplitudes).reshape(-1, 1)
        size = np.abs(model.amplitudes).reshape(-1, 1)
        along = np.cos(phase) * re + np.sin(phase) * im
        across = (np.cos(phase) * im - np.sin(phase) * re) / np.where(size > 0, size, np.inf)
        channels = model.amplitudes.shape[1:] if model.amplitudes.shape[1] > 1 else ()
        shapes = *[model.frequencies.shape] * 2, *[(len(model.amplitudes), *channels)] * 2
        errors = [
            self._spread.errors(part, noise).reshape(shape)
            for part, shape in zip((f, d, along, across), shapes, strict=True)
        ]
        return model.to_modes(ModeErrors(*errors))


def _conjugate_pairs(modes: Modes) -> tuple[np.ndarray, np.ndarray]:
    """One mode of each conjugate pair and all real ones; and which modes belong to a pair.

    A mode is real if no other is nearer to its conjugate than the mode itself.
    """
    f, dampings = modes.frequencies, modes.dampings
    left, keep = list(range(len(modes))), []
    paired = np.zeros(len(modes), dtype=bool)
    while left:
        k = left[0]
        distance = np.abs(f[left] + f[k] - np.round(f[left] + f[k])).sum(axis=1)
        distance += np.abs(dampings[left] - dampings[k]).sum(axis=1)
        partner = left[int(np.argmin(distance))]
        paired[k] = partner != k
        keep.append(k)
        left = [i for i in left if i not in (k, partner)]
    return np.array(keep, dtype=int), paired


def _square(triangle: np.ndarray) -> float:
    """The misfit, from a triangle of Jacobian and residuals."""
    return float(np.sum(triangle[:, -1] ** 2))


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

"""Nonlinear least squares for modes: the best sum of (damped) sinusoids near a given one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from .._array import is_complex, like, to_numpy
from ..model.problem import Problem
from .model import ModalModel
from .modes import MAX_GROWTH, ModeErrors, Modes
from .standard_errors import Spread

CHUNK = 2**21  # entries of the Jacobian in memory at once
MAX_STEPS = 100  # of Levenberg and Marquardt
SMALLEST_DECREASE = 1e-7  # of the misfit a step, relatively; then the fit ends


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

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Modes, Problem
    >>> from structrank.modal.fit import ModalFit
    >>> problem = Problem(Hankel(40, window=20), 0.9 ** np.arange(40), mu=1.0)
    >>> fit = ModalFit(problem, Modes([0.0], [0.2]), np.ones(40), undamped=False)
    >>> fit.parameters, round(float(np.exp(-fit.modes(None).dampings[0, 0])), 6)
    (2, 0.9)
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
        if undamped:  # the amplitudes belong to modes that may have been damped
            start = self._with_amplitudes(start)
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
                if after < np.inf:  # amplitudes follow at once, along curved valleys
                    trial = self._with_amplitudes(trial)
                    after = self._misfit(trial)
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
        """The misfit of a model; infinite if it grows beyond all numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            misfit = float(np.linalg.norm(self._residual(model.signal())) ** 2)
        return misfit if np.isfinite(misfit) else np.inf

    def _residual(self, signal: np.ndarray) -> np.ndarray:
        if self.weights is None:
            return self._measured(signal) - self.values.reshape(-1)
        weights = self.weights.reshape(self._grid)
        at = weights > 0
        return weights[at] * (signal - self.values.reshape(self._grid))[at]

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

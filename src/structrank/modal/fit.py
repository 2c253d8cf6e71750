"""Nonlinear least squares for modes: the best sum of (damped) sinusoids near a given one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from .._array import NDArray, is_complex, like, svd, to_numpy
from .._pieces import Packed, piece
from .._watch import tell, time_is_up
from ..model.problem import Problem
from .autoregressive_noise import AutoregressiveNoise, Whitening
from .exponentials import LEAST_SIZE, MAX_GROWTH
from .model import ModalModel
from .modes import ModeErrors, Modes
from .samples import ChannelSamples, channel_samples
from .standard_errors import ErrorPropagation


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Settings of the method of Levenberg and Marquardt.

    The damping values are the usual ones for a Jacobian with columns of norm one. The fits of
    tests/test_refit.py agree with those of SciPy to 1e-8 with all of these values.
    """

    max_steps: int = 100  # accepted steps; set by hand
    smallest_decrease: float = 1e-7  # relative, per step: the fit ends once it falls below this
    exact: float = 16.0  # epsilons of residual over data: fits without noise end at about 5
    first_damping: float = 1e-3  # small: starts are near the optimum
    damping_factor: float = 10.0  # up after a step that does not help, down after one that does
    least_damping: float = 1e-12  # rounding errors of double precision dominate below
    most_damping: float = 1e8  # the fit ends if even such short steps do not help
    chunk_entries: int = 2**21  # entries of the Jacobian in memory at once: 16 or 32 MB


class ModalFit:
    """The modes that fit the samples of a problem best, near given modes.

    The method of Levenberg and Marquardt lowers `||weights (y - b)||^2` over the seen samples, or
    `||A(y) - b||^2` for an operator. The Jacobian is computed in pieces, and only the triangle of
    its QR decomposition is kept.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes. Its mu and weights are not used.
    modes : Modes
        Where to start.
    weights : ndarray, optional
        In the shape of the signal, zero for samples that are not seen. None if an operator
        measures.
    undamped : bool or ndarray of bool
        Keep the dampings of all modes, or of some of them, at zero.
    method : LevenbergMarquardt
        Numerical settings.
    noise : AutoregressiveNoise, optional
        Of a signal with one axis and one channel: samples are whitened. Default: white noise.

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
        self,
        problem: Problem,
        modes: Modes,
        weights: NDArray | None,
        *,
        undamped: bool | NDArray,
        method: LevenbergMarquardt = LevenbergMarquardt(),
        noise: AutoregressiveNoise | None = None,
    ) -> None:
        self.problem, self.weights, self.method, self.noise = problem, weights, method, noise
        self.real = not is_complex(problem.backprojection)
        structure: Any = problem.structure
        self.shape: tuple[int, ...] = structure.lengths
        self.values = to_numpy(problem.b).astype(complex if is_complex(problem.b) else float)
        start = ModalModel.of(modes, self.shape, real=self.real, undamped=undamped)
        if np.any(undamped) or noise is not None:  # amplitudes may belong to other modes or noise
            start = self._with_amplitudes(start)[0]
        self.model, triangle = self._best(start)
        self.R, self.residual_squared = triangle[:-1, :-1], _residual_squared(triangle)

    def _best(self, start: ModalModel) -> tuple[ModalModel, NDArray]:
        """The best model near a start, with the triangle of its Jacobian and residuals."""
        model, triangle = self._descended(start)
        others = model.exchanged()
        while others and not time_is_up():
            other, rival = self._descended(self._with_amplitudes(others.pop(0))[0])
            goal = (1 - self.method.smallest_decrease) * _residual_squared(triangle)
            if _residual_squared(rival) < goal:
                model, triangle = other, rival
                others = model.exchanged()
        return model, triangle

    def _with_amplitudes(self, model: ModalModel) -> tuple[ModalModel, float]:
        """The model with the amplitudes that fit best, and its squared residual."""
        if self.weights is None:
            triangle = self._triangle(model)
            linear = np.arange(len(model.free)) >= model.frequencies.size + model.dampings.size
            linear = linear[model.free]
            columns, step = triangle[:, :-1][:, linear], np.zeros(triangle.shape[1] - 1)
            step[linear] = np.linalg.lstsq(columns, triangle[:, -1], rcond=None)[0]
            residual = triangle[:, -1] - columns @ step[linear]
            return model.moved(step), float(residual @ residual)
        solutions, square = [], 0.0
        for channel in self._channels:
            rows = model.amplitude_rows(model.waves(channel.places))
            columns = np.column_stack([channel.weights[:, None] * rows, channel.target])
            found, rest = _least_squares(self._white(columns))
            solutions.append(found)
            square += rest
        return model.with_amplitudes(np.stack(solutions, axis=1)), square

    def _descended(self, start: ModalModel) -> tuple[ModalModel, NDArray]:
        """Levenberg and Marquardt, with the triangle of Jacobian and residuals at the end."""
        moving = ("frequencies", "dampings", "amplitudes")

        def pack(found: tuple[ModalModel, NDArray]) -> Packed:
            model, triangle = found
            return {"triangle": triangle, **{name: getattr(model, name) for name in moving}}

        def unpack(packed: Packed) -> tuple[ModalModel, NDArray]:
            triangle = packed["triangle"]
            return replace(start, **{name: packed[name] for name in moving}), triangle

        return piece("modes", lambda: self._lowest(start), pack, unpack)

    def _lowest(self, model: ModalModel) -> tuple[ModalModel, NDArray]:
        method, triangle = self.method, self._triangle(model)
        damping = method.first_damping
        for _ in range(method.max_steps):
            before = _residual_squared(triangle)
            if before <= self._rounding_squared:
                break
            trial, after, damping = self._lowered(model, triangle, damping)
            if not after < before:
                break
            model = trial
            damping = max(damping / method.damping_factor, method.least_damping)
            triangle = self._triangle(trial)
            tell(f"fit of {len(model.paired)} modes: residual {np.sqrt(after):.4g}")
            if before - after <= method.smallest_decrease * before or time_is_up():
                break
        return model, triangle

    def _lowered(
        self, model: ModalModel, triangle: NDArray, damping: float
    ) -> tuple[ModalModel, float, float]:
        """A better model, its squared residual and the damping; or the last model that was tried.

        The damping grows until the step helps.
        """
        R, before = triangle[:-1, :-1], _residual_squared(triangle)
        scale = np.linalg.norm(R, axis=0)
        scale[scale == 0] = 1.0
        U, s, Vh = svd(R / scale)
        target = U.T @ triangle[:-1, -1]
        while True:
            step = Vh.T @ (s / (s**2 + damping) * target)
            trial = model.moved(step / scale)
            after = np.inf
            if trial.growth <= MAX_GROWTH:
                # Amplitudes follow at once, which helps along curved valleys.
                trial, after = self._with_amplitudes(trial)
            if after < before or damping > self.method.most_damping:
                return trial, after, damping
            damping *= self.method.damping_factor

    # -- what the samples say about the model ---------------------------------------------

    def _chunks(self, model: ModalModel) -> Iterator[tuple[NDArray, NDArray]]:
        """Residuals and Jacobian at the samples, piece by piece, as real rows."""
        if self.weights is None:
            values, jacobian = model.rows(_everywhere(self._grid))
            measured = [self._measured(column) for column in (values, *jacobian.T)]
            yield _real_rows(self.values.reshape(-1) - measured[0], np.stack(measured[1:], axis=1))
            return
        weights, values = self.weights.reshape(self._grid), self.values.reshape(self._grid)
        seen = np.nonzero(weights)
        together = self.whitening is not None  # a whitened sample depends on those before
        for at in [seen] if together else self._pieces(seen, model):
            fit, jacobian = model.rows(at)
            w = weights[at]
            rows = self._white(np.column_stack([jacobian, values[at] - fit]) * w[:, None])
            yield _real_rows(rows[:, -1], rows[:, :-1])

    def _pieces(self, at: tuple[NDArray, ...], model: ModalModel) -> Iterator[tuple[NDArray, ...]]:
        """Split places into pieces whose part of the Jacobian is small enough for memory."""
        rows = max(self.method.chunk_entries // max(len(model.free), 1), 1)
        for first in range(0, len(at[0]), rows):
            yield tuple(index[first : first + rows] for index in at)

    def _measured(self, signal: NDArray) -> NDArray:
        """The measurements that the operator makes of a signal."""
        signal = signal.reshape(self.problem.structure.signal_shape)
        there = self.problem.measure.forward(like(signal, self.problem.backprojection))
        return to_numpy(there).reshape(-1)

    @cached_property
    def whitening(self) -> Whitening | None:
        """What makes the noise of the seen samples white; None if it is white."""
        if self.noise is None or self.weights is None:
            return None
        return self.noise.whitening(self.weights.reshape(-1) != 0)

    def _white(self, columns: NDArray) -> NDArray:
        """Columns at the seen samples for noise that is white."""
        return columns if self.whitening is None else self.whitening.apply(columns)

    @property
    def log_determinant(self) -> float:
        """Of the correlations of the noise of all numbers, real and imaginary parts."""
        parts = 2 if np.iscomplexobj(self.values) else 1
        return 0.0 if self.whitening is None else parts * self.whitening.log_determinant

    @cached_property
    def _channels(self) -> list[ChannelSamples]:
        assert self.weights is not None
        return channel_samples(self.shape, self.weights, self.values)

    @cached_property
    def _rounding_squared(self) -> float:
        """A squared residual that no step can lower."""
        data = [self.values] if self.weights is None else [c.target for c in self._channels]
        total = sum(float(np.sum(np.abs(part) ** 2)) for part in data)
        return (self.method.exact * np.finfo(float).eps) ** 2 * total

    @property
    def _grid(self) -> tuple[int, ...]:
        channels = int(np.prod(self.problem.structure.signal_shape)) // int(np.prod(self.shape))
        return (*self.shape, channels)

    def _triangle(self, model: ModalModel) -> NDArray:
        """The triangle of a QR decomposition of Jacobian and residuals side by side."""
        R = np.zeros((0, int(np.count_nonzero(model.free)) + 1))
        for residual, jacobian in self._chunks(model):
            rows = np.vstack([R, np.column_stack([jacobian, residual])])
            R = scipy.linalg.qr(rows, mode="r", check_finite=False)[0][: R.shape[1]]
        missing = R.shape[1] - R.shape[0]
        return np.vstack([R, np.zeros((missing, R.shape[1]))]) if missing > 0 else R

    # -- what follows from it -------------------------------------------------------------

    @property
    def parameters(self) -> int:
        """Number of free real parameters."""
        return int(np.count_nonzero(self.model.free))

    @property
    def sample_count(self) -> int:
        """Number of real numbers that were fitted; a complex sample counts as two."""
        seen = self.values.size if self.weights is None else np.count_nonzero(self.weights)
        return int(seen) * (2 if np.iscomplexobj(self.values) else 1)

    @cached_property
    def propagation(self) -> ErrorPropagation:
        """From noise in the samples to numbers that depend on the parameters."""
        return ErrorPropagation(self.R)

    def signal_errors(self, own: NDArray | None = None) -> NDArray:
        """Standard errors of all values of the signal, for unit noise in every real number.

        With a mask of rows of the model, they are those of the sum of these modes.
        """
        model, propagation = self.model, self.propagation
        if own is not None:
            model, propagation = model.only(own), propagation.only(model.parameters_of(own))
        errors = [
            propagation.errors_of_values(model.rows(at)[1])
            for at in self._pieces(_everywhere(self._grid), model)
        ]
        return np.concatenate(errors).reshape(self.problem.structure.signal_shape)

    def error_draws(self, n: int, rng: np.random.Generator) -> NDArray:
        """Joint errors of all values of the signal, over their standard errors: (n, ...)."""
        noise = rng.standard_normal((self.propagation.count, n))
        draws = [
            self.propagation.draws(self.model.rows(at)[1], noise)
            for at in self._pieces(_everywhere(self._grid), self.model)
        ]
        return np.concatenate(draws).T.reshape(n, *self.problem.structure.signal_shape)

    def modes(self, noise: float | None) -> Modes:
        """The modes, with standard errors for this much noise in every real number."""
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
        size[size < np.finfo(float).tiny] = np.inf  # the inverse leaves the range of numbers
        across = (np.cos(phase) * im - np.sin(phase) * re) / size
        channels = model.amplitudes.shape[1:] if model.amplitudes.shape[1] > 1 else ()
        shapes = *[model.frequencies.shape] * 2, *[(len(model.amplitudes), *channels)] * 2
        errors = [
            self.propagation.errors(part, noise).reshape(shape)
            for part, shape in zip((f, d, along, across), shapes, strict=True)
        ]
        return model.to_modes(ModeErrors(*errors))


def _least_squares(system: NDArray) -> tuple[NDArray, float]:
    """The best coefficients of all columns but the last, which they explain, and what is left."""
    sizes = np.linalg.norm(system[:, :-1], axis=0)
    small = sizes <= LEAST_SIZE
    sizes[small] = 1.0
    system[:, :-1] /= sizes
    system[:, :-1][:, small] = 0.0
    R = scipy.linalg.qr(system, mode="r", check_finite=False)[0][: system.shape[1]]
    solution = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0]
    rest = R[:, -1] - R[:, :-1] @ solution
    square = float(np.vdot(rest, rest).real)
    return solution / sizes, square if np.isfinite(square) else np.inf


def _residual_squared(triangle: NDArray) -> float:
    """The squared residual, from a triangle of Jacobian and residuals."""
    return float(np.sum(triangle[:, -1] ** 2))


def _everywhere(grid: tuple[int, ...]) -> tuple[NDArray, ...]:
    return tuple(index.reshape(-1) for index in np.indices(grid))


def _real_rows(residual: NDArray, jacobian: NDArray) -> tuple[NDArray, NDArray]:
    """Real and imaginary parts as separate rows."""
    if not np.iscomplexobj(residual):
        return residual, jacobian
    rows, columns = (np.concatenate([x.real, x.imag]) for x in (residual, jacobian))
    return rows, columns

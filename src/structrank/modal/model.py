"""A sum of (damped) sinusoids as a function of real parameters, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._array import NDArray
from .exponentials import growth_over
from .modes import ModeErrors, Modes


@dataclass(frozen=True)
class ModeExchange:
    """When two real modes are exchanged for a conjugate pair, or a pair for two real modes.

    Both values are set by hand; tests/test_refit.py has signals that need the exchange.
    """

    coincident: float = 6.0  # modes whose exponents differ by less over the signal nearly coincide
    least_separation: float = 0.1  # least distance of new exponents from their mean


@dataclass(frozen=True, eq=False)
class ModalModel:
    """A signal as a function of the real parameters of its modes.

    The parameters are, in this order, the frequencies, the dampings, the real and the imaginary
    parts of the amplitudes, each for all modes. A real signal has one row for each conjugate pair,
    which counts twice, and one row for each real mode. The frequency and the imaginary part of a
    real mode are fixed.

    Parameters
    ----------
    frequencies, dampings : ndarray, shape (k, d)
    amplitudes : ndarray, shape (k, channels)
    shape : tuple of int
        Number of samples along each axis, without channels.
    real : bool
        Whether the signal is real.
    paired : ndarray of bool, shape (k,)
        Whether a row represents a conjugate pair.
    undamped : ndarray of bool, shape (k,)
        Whether the dampings of a row are fixed at zero.

    Examples
    --------
    >>> from structrank import Modes
    >>> from structrank.modal.model import ModalModel
    >>> pair = Modes([0.25, -0.25], amplitudes=0.5)
    >>> model = ModalModel.of(pair, (4,), real=True, undamped=False)
    >>> len(model.frequencies), model.signal().ravel().round(6) + 0.0
    (1, array([ 1.,  0., -1.,  0.]))
    """

    frequencies: NDArray
    dampings: NDArray
    amplitudes: NDArray
    shape: tuple[int, ...]
    real: bool
    paired: NDArray
    undamped: NDArray

    @classmethod
    def of(
        cls, modes: Modes, shape: tuple[int, ...], *, real: bool, undamped: bool | NDArray
    ) -> ModalModel:
        """The model that starts from given modes; `undamped` is for all of them or for each."""
        keep = np.arange(len(modes))
        paired = np.zeros(len(modes), dtype=bool)
        if real:
            keep, paired = _conjugate_pairs(modes)
        frequencies = modes.frequencies[keep]
        amplitudes = modes.amplitudes.reshape(len(modes), -1)[keep]
        alone = real & ~paired[keep]  # real modes, up to rounding errors
        frequencies[alone] = np.round(2 * frequencies[alone]) / 2
        amplitudes[alone] = amplitudes[alone].real
        fixed = np.broadcast_to(undamped, len(modes))[keep]
        dampings = np.where(fixed[:, None], 0.0, modes.dampings[keep])
        return cls(frequencies, dampings, amplitudes, shape, real, paired[keep], fixed)

    @cached_property
    def free(self) -> NDArray:
        """Which of all parameters are free."""
        axes, channels = self.frequencies.shape[1], self.amplitudes.shape[1]
        complex_modes = self.paired | (not self.real)
        return np.concatenate(
            [
                np.repeat(complex_modes, axes),
                np.repeat(~self.undamped, axes),
                np.ones(self.amplitudes.size, dtype=bool),
                np.repeat(complex_modes, channels),
            ]
        )

    def rows_of(self, modes: Modes) -> NDArray | None:
        """Which rows are those of some modes, as a mask; one mode of a pair stands for both.

        None if one of the modes is not in the model.
        """
        own = np.zeros(len(self.frequencies), dtype=bool)
        for f, damping in zip(modes.frequencies, modes.dampings, strict=True):
            same = _whole_cycles(f - self.frequencies)
            same |= self.paired & _whole_cycles(f + self.frequencies)
            same &= np.all(damping == self.dampings, axis=1)
            if not np.any(same):
                return None
            own |= same
        return own

    def parameters_of(self, rows: NDArray) -> NDArray:
        """Which free parameters are those of some rows; both are masks."""
        axes, channels = self.frequencies.shape[1], self.amplitudes.shape[1]
        counts = (axes, axes, channels, channels)
        return np.concatenate([np.repeat(rows, count) for count in counts])[self.free]

    def appended(self, frequency: NDArray, damping: NDArray, undamped: bool) -> ModalModel:
        """The model with one more mode; that of a real signal is real if its frequency allows."""
        alone = self.real and bool(np.all(2 * frequency == np.round(2 * frequency)))

        def longer(values: NDArray, new: Any) -> NDArray:
            return np.concatenate([values, [new]])

        return replace(
            self,
            frequencies=longer(self.frequencies, frequency),
            dampings=longer(self.dampings, damping),
            amplitudes=longer(self.amplitudes, np.zeros(self.amplitudes.shape[1])),
            paired=longer(self.paired, self.real and not alone),
            undamped=longer(self.undamped, undamped),
        )

    def only(self, rows: NDArray) -> ModalModel:
        """The model of some of the rows."""
        return replace(
            self,
            frequencies=self.frequencies[rows],
            dampings=self.dampings[rows],
            amplitudes=self.amplitudes[rows],
            paired=self.paired[rows],
            undamped=self.undamped[rows],
        )

    def replaced(self, rows: NDArray, other: ModalModel) -> ModalModel:
        """The model with frequencies, dampings and amplitudes of some rows from another."""
        values = {}
        for name in ("frequencies", "dampings", "amplitudes"):
            values[name] = getattr(self, name).copy()
            values[name][rows] = getattr(other, name)
        return replace(self, **values)

    def moved(self, step: NDArray) -> ModalModel:
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

    def exchanged(self, exchange: ModeExchange = ModeExchange()) -> list[ModalModel]:
        """The models with two real modes in place of a conjugate pair, or a pair in place of two.

        No small step leads from one to the other, because they meet where two modes coincide. So
        only modes that nearly coincide are exchanged, the nearest first.
        """
        f, reach = self.frequencies, np.array(self.shape) - 1
        whole = np.round(2 * f) / 2
        alone = np.flatnonzero(~self.paired & self.real).tolist()
        couples = [(k, i) for k in alone for i in alone if k < i and np.all(f[k] == f[i])]
        apart: dict[tuple[int, ...], NDArray] = {
            rows: np.abs(np.subtract(*self.dampings[list(rows)])) for rows in couples
        }
        apart |= {
            (k,): 4 * np.pi * np.abs(f - whole)[k] for k in np.flatnonzero(self.paired).tolist()
        }
        least = exchange.least_separation / np.maximum(reach, 1)
        return [
            self._exchanged(list(rows), np.maximum(apart[rows] / 2, least))
            for rows in sorted(apart, key=lambda rows: float(apart[rows] @ reach))
            if apart[rows] @ reach < exchange.coincident
        ]

    def _exchanged(self, rows: list[int], half: NDArray) -> ModalModel:
        """Replace two real modes, or one pair; the new modes are `half` from their mean."""
        to_pair, fixed = len(rows) == 2, bool(np.all(self.undamped[rows]))
        f, d = self.frequencies[rows[0]], np.mean(self.dampings[rows], axis=0)
        whole, a = np.round(2 * f) / 2, np.mean(self.amplitudes[rows], axis=0)
        new_f = [whole + half / (2 * np.pi)] if to_pair else [whole, whole]
        new_d = [d] if to_pair else [d - half, d + half]

        def replaced(values: NDArray, new: list[Any]) -> NDArray:
            return np.concatenate([np.delete(values, rows, axis=0), np.stack(new)])

        return replace(
            self,
            frequencies=replaced(self.frequencies, new_f),
            dampings=replaced(self.dampings, [0 * d] * len(new_d) if fixed else new_d),
            amplitudes=replaced(self.amplitudes, [a.real + 0j] * len(new_d)),
            paired=replaced(self.paired, [to_pair] * len(new_d)),
            undamped=replaced(self.undamped, [fixed] * len(new_d)),
        )

    @property
    def growth(self) -> float:
        """The largest exponent that a mode reaches over the signal."""
        return growth_over(self.dampings, self.shape)

    def waves(self, places: list[NDArray]) -> NDArray:
        """The values of all modes of amplitude one at some places; pairs count twice.

        Exponentials are computed for all places of an axis or for the given ones, whichever are
        fewer.
        """
        waves = np.where(self.paired, 2.0 + 0j, 1.0)
        rates = 2j * np.pi * self.frequencies - self.dampings
        for index, rate, size in zip(places, rates.T, self.shape, strict=True):
            if size < len(index):
                waves = waves * np.exp(np.outer(np.arange(size), rate))[index]
            else:
                waves = waves * np.exp(np.outer(index, rate))
        return waves

    def values(self, places: list[NDArray], channel: int) -> NDArray:
        """The values of the sum of all modes in a channel at some places."""
        values: NDArray = self.waves(places) @ self.amplitudes[:, channel]
        return values.real if self.real else values

    def amplitude_rows(self, waves: NDArray) -> NDArray:
        """The derivatives of values in one channel by its amplitudes, real ones if that is real."""
        if not self.real:
            return waves
        return np.concatenate([waves.real, -waves.imag[:, self.paired]], axis=1)

    def with_amplitudes(self, solutions: NDArray) -> ModalModel:
        """The model with amplitudes from coefficients of `amplitude_rows`, a column per channel."""
        amplitudes = solutions.astype(complex)
        if self.real:
            count = len(self.paired)
            amplitudes = amplitudes[:count]
            amplitudes[self.paired] += 1j * solutions[count:]
        return replace(self, amplitudes=amplitudes)

    def rows(self, at: tuple[NDArray, ...]) -> tuple[NDArray, NDArray]:
        """The values at some places, and their derivatives by the free parameters.

        `at` contains the places along each axis, then the channel. Both results are complex for
        complex signals, because a real parameter changes the real and the imaginary part.
        """
        *places, channel = at
        waves = self.waves(places)
        parts = waves * self.amplitudes.T[channel]
        flat = (len(channel), -1)
        by_damping = np.stack([-i[:, None] * parts for i in places], axis=2).reshape(flat)
        inside = channel[:, None] == np.arange(self.amplitudes.shape[1])
        by_amplitude = (waves[:, :, None] * inside[:, None, :]).reshape(flat)
        blocks = [-2j * np.pi * by_damping, by_damping, by_amplitude, 1j * by_amplitude]
        jacobian = np.concatenate(blocks, axis=1)[:, self.free]
        values = np.sum(parts, axis=1)
        return (values.real, jacobian.real) if self.real else (values, jacobian)

    def signal(self) -> NDArray:
        """The whole signal, shape (samples..., channels)."""
        signal = self.to_modes().signal(self.shape).reshape(*self.shape, -1)
        return signal.real if self.real else signal

    def to_modes(self, stderr: ModeErrors | None = None) -> Modes:
        """All modes; a conjugate pair becomes two modes."""
        both = np.flatnonzero(self.paired)
        order = np.argsort(np.concatenate([np.arange(len(self.paired)), both]), kind="stable")

        def doubled(values: NDArray, partner: NDArray) -> NDArray:
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


def _whole_cycles(differences: NDArray) -> NDArray:
    """Which rows of differences between frequencies are whole numbers."""
    return np.asarray(np.all(differences == np.round(differences), axis=1))


def _conjugate_pairs(modes: Modes) -> tuple[NDArray, NDArray]:
    """The rows of one mode per pair and of all real modes; and which modes belong to a pair.

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
        paired[[k, partner]] = partner != k
        keep.append(max(k, partner, key=lambda i: tuple(f[i])))  # the positive frequency
        left = [i for i in left if i not in (k, partner)]
    return np.array(keep, dtype=int), paired

"""Find modes in autoregressive noise: peaks of the whitened spectrum, noise from what is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.fft

from .._array import NDArray, is_complex, to_numpy
from .._watch import tell, time_is_up
from ..model.problem import Problem
from .autoregressive_noise import AutoregressiveNoise
from .fit import LevenbergMarquardt, ModalFit
from .model import ModalModel
from .modes import Modes
from .noise_fit import NoiseFit, fit_last, fit_noise
from .refit_result import information_criterion


@dataclass(frozen=True)
class ColouredSearch:
    """How modes are searched in coloured noise; as `GreedySearch`, but for the last eight."""

    most: int = 20  # modes that are no longer few: the search ends without a result
    patience: int = 3  # modes in a row without a better information criterion, before it ends
    gain: float = 1.0  # by which the information criterion has to improve
    removals: int = 3  # smallest modes that are tried without
    oversampling: int = 2  # of spectra
    decays: tuple[float, ...] = (0.0, 1.0, 3.0, 10.0, 30.0)  # over the signal
    coarse: LevenbergMarquardt = field(default_factory=lambda: LevenbergMarquardt(15, 1e-3))
    rounds: int = 4  # fits of modes and of noise in turn at the end; they settle in two or three
    settled: float = 1e-3  # change of partial autocorrelations that no longer matters
    near: float = 30.0  # above the best criterion, where the noise is no longer fitted exactly
    rise: float = 15.0  # of the criterion by one mode: most of its price, which is 20 to 35
    most_rises: int = 2  # such rises in a row, after which the search ends before its patience does
    largest: float = 1.5  # variance left over that of the samples: more is a part of the signal
    slowest: float = 1.0  # memory of the noise over the length: slower noise is no noise either
    noise: NoiseFit = field(default_factory=NoiseFit)


@dataclass(frozen=True, eq=False)
class ColouredModes:
    """Modes, and the noise that they leave.

    Attributes
    ----------
    modes : Modes
    noise : AutoregressiveNoise
    information : float
        As `Refit.information`.
    """

    modes: Modes
    noise: AutoregressiveNoise
    information: float


@dataclass(frozen=True, eq=False)
class _State:
    """A model, what it leaves at the seen samples, and the noise that this looks like."""

    model: ModalModel
    residual: NDArray
    jacobian: NDArray
    noise: AutoregressiveNoise
    information: float


def coloured_modes(
    problem: Problem,
    *,
    rank: int | None = None,
    undamped: bool = False,
    search: ColouredSearch = ColouredSearch(),
) -> ColouredModes | None:
    """Find modes in autoregressive noise, as many as the information criterion asks for.

    As `greedy_modes`, but with noise whose correlations are estimated from what each set of modes
    leaves. The peaks are those of the spectrum over that of the noise.

    Parameters
    ----------
    problem : Problem
        A problem with one axis and one channel whose samples are seen or not.
    rank : int, optional
        Number of modes, if known.
    undamped : bool
        Keep all dampings at zero.
    search : ColouredSearch

    Returns
    -------
    ColouredModes or None
        None if no modes are found, not as many as asked for, or more than a few. Also if so few
        are asked for that the noise takes the place of others, or if what is left is no noise.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from structrank import Hankel, Problem
    >>> from structrank.modal.coloured_search import coloured_modes
    >>> noise = 0.1 * lfilter([1.0], [1.0, -0.9], np.random.default_rng(0).standard_normal(200))
    >>> samples = np.cos(0.6 * np.arange(200)) + noise
    >>> found = coloured_modes(Problem(Hankel(200, window=100), samples, mu=1.0))
    >>> (2 * np.pi * abs(found.modes.frequencies[:, 0])).round(2), found.noise.order
    (array([0.6, 0.6]), 1)
    """
    finder = _Finder(problem, undamped, search)
    best = finder.by_information() if rank is None else finder.at_rank(rank)
    if best is None or not len(best.model.paired):
        return None
    return ColouredModes(best.model.to_modes(), best.noise, best.information)


class _Finder:
    def __init__(self, problem: Problem, undamped: bool, search: ColouredSearch) -> None:
        self.problem, self.undamped, self.search = problem, undamped, search
        structure: Any = problem.structure
        self.shape: tuple[int, ...] = structure.lengths
        self.real = not is_complex(problem.b)
        self.seen = to_numpy(problem.seen).reshape(-1)
        self.weights = self.seen.reshape(problem.structure.signal_shape) * 1.0
        kind = float if self.real else complex
        self.values = to_numpy(problem.b).astype(kind).reshape(-1)[self.seen]
        self.numbers = self.values.size * (1 if self.real else 2)

    def by_information(self) -> _State | None:
        """The model and noise of the smallest information criterion; None if there are many."""
        empty, search = self.empty(), self.search
        best, last = self._best_order(empty), empty
        since = rises = 0
        for state in self._additions(empty):
            found = self._best_order(state, best.information + search.near)
            better = found.information < best.information - search.gain
            best, since = (found, 0) if better else (best, since + 1)
            rises = rises + 1 if state.information > last.information + search.rise else 0
            if since > search.patience or min(rises, since) >= search.most_rises:
                break
            last = state
        else:
            if since == 0:
                return None
        if not self._may_be_noise(best):
            return None
        best = self._without_small_modes(self._settled(best))
        for state in self._additions(best):  # peaks over the spectrum of noise of higher order
            if state.information >= best.information - self.search.gain:
                break
            best = state
        return self._without_small_modes(self._settled(best))

    def _may_be_noise(self, state: _State) -> bool:
        """Whether what a coarse fit leaves is not far slower or larger than noise could be."""
        size = float(np.mean(np.abs(state.residual) ** 2))
        small = size <= self.search.largest * float(np.var(self.values))
        return small and state.noise.memory <= self.search.slowest * self.shape[0]

    def at_rank(self, rank: int) -> _State | None:
        """The model of so many modes; None if they are not found, or the noise hides another."""
        for state in self._additions(self.empty()):
            if _rank(state.model) >= rank:
                found = self._settled(self._best_order(state))
                more = next(self._additions(found), found)
                hidden = more.information < found.information - self.search.gain
                return found if _rank(found.model) == rank and not hidden else None
        return None

    def empty(self) -> _State:
        """No modes, and noise of order one."""
        none = np.zeros((0, 1))
        no = np.zeros(0, dtype=bool)
        model = ModalModel(none, none, none + 0j, self.shape, self.real, no, no)
        return self._state(model, 1)

    def _additions(self, state: _State) -> Iterator[_State]:
        """States with one mode more each, with noise of the same order."""
        while len(state.model.paired) < self.search.most and not time_is_up():
            model = state.model.appended(*self._peak(state), self.undamped)
            state = self._fitted(model, state.noise, self.search.coarse)
            if not np.isfinite(state.information):
                return
            tell(f"modes in coloured noise: {_rank(state.model)} found")
            yield state

    def _fitted(
        self, model: ModalModel, noise: AutoregressiveNoise, method: LevenbergMarquardt
    ) -> _State:
        """A model fitted for some noise, and the noise of the same order that it leaves."""
        if not len(model.paired):
            return self._state(model, noise.order, noise)
        fit = ModalFit(
            self.problem,
            model.to_modes(),
            self.weights,
            undamped=self.undamped,
            method=method,
            noise=noise,
        )
        return self._state(fit.model, noise.order, noise)

    def _state(
        self,
        model: ModalModel,
        order: int,
        start: AutoregressiveNoise | None = None,
        *,
        rough: bool = False,
    ) -> _State:
        """A model with the noise that it leaves; a rough one has the start but for its end."""
        at = (np.flatnonzero(self.seen), np.zeros(self.values.size, dtype=int))
        fit, jacobian = model.rows(at)
        residual = self.values - fit
        estimate = fit_last if rough or order == 1 else fit_noise
        noise = estimate(residual, jacobian, self.seen, order, start, self.search.noise)
        return _State(model, residual, jacobian, noise, self._information(model, residual, noise))

    def _information(
        self, model: ModalModel, residual: NDArray, noise: AutoregressiveNoise
    ) -> float:
        whitening = noise.whitening(self.seen)
        white = whitening.apply(residual)
        return information_criterion(
            float(np.vdot(white, white).real),
            float(np.vdot(self.values, self.values).real),
            numbers=self.numbers,
            parameters=int(np.count_nonzero(model.free)) + noise.order,
            rank=_rank(model),
            log_determinant=self.numbers / self.values.size * whitening.log_determinant,
        )

    def _best_order(self, state: _State, limit: float = np.inf) -> _State:
        """The state with noise of the order that the information criterion asks for.

        The noise is rough if the criterion exceeds a limit.
        """
        order = state.noise.order
        while state.noise.order < self.search.noise.most:
            higher = self._state(state.model, state.noise.order + 1, state.noise, rough=True)
            if higher.information >= state.information:
                break
            state = higher
        if state.noise.order > order and state.information < limit:
            state = self._state(state.model, state.noise.order, state.noise)
        return state

    def _settled(self, state: _State) -> _State:
        """Modes and noise that belong together."""
        for _ in range(self.search.rounds):
            before = state.noise.partial
            state = self._fitted(state.model, state.noise, LevenbergMarquardt())
            if np.max(np.abs(state.noise.partial - before)) < self.search.settled or time_is_up():
                break
        return state

    def _without_small_modes(self, state: _State) -> _State:
        """The state without modes that the information criterion does not ask for."""
        while len(state.model.paired) > 1 and not time_is_up():
            order = np.argsort(self._sizes(state))[: self.search.removals]
            rows = np.arange(len(state.model.paired))
            fewer = [
                self._fitted(state.model.only(rows != k), state.noise, self.search.coarse)
                for k in order
            ]
            best = min(fewer, key=lambda found: found.information)
            if best.information >= state.information:
                break
            state = self._settled(best)
        return state

    def _sizes(self, state: _State) -> NDArray:
        """Norm of what each row of the model contributes at the samples, over the noise."""
        waves = state.model.waves([np.flatnonzero(self.seen)]) * state.model.amplitudes[:, 0]
        white = state.noise.whitening(self.seen).apply(waves.real if self.real else waves)
        return np.asarray(np.linalg.norm(white, axis=0))

    def _peak(self, state: _State) -> tuple[NDArray, NDArray]:
        """Frequency and damping of the mode that explains most of the residual over the noise.

        A mode lowers the squared whitened residual by `|e* P r|^2 / (e* P e)`, where P is the
        inverse C^-1 of the correlations. The denominator is bounded by `(e* e)^2 / (e* C e)`.
        """
        count, search = self.shape[0], self.search
        precise = state.noise.whitening(self.seen).precise(state.residual)
        places = np.flatnonzero(self.seen)
        padded = scipy.fft.next_fast_len(search.oversampling * count)
        correlations = np.zeros(padded)
        correlations[:count] = state.noise.correlations(count)
        correlations[padded - count + 1 :] = correlations[count - 1 : 0 : -1]
        best, found = -1.0, (0, 0.0)
        for exponent in (0.0,) if self.undamped else search.decays:
            decay, grid = np.zeros(count), np.zeros(count, dtype=complex)
            decay[places] = np.exp(-exponent / count * places)
            grid[places] = decay[places] * precise
            products = scipy.fft.ifft(np.abs(scipy.fft.fft(decay, padded)) ** 2).real
            variance = scipy.fft.fft(products * correlations).real
            power = np.abs(scipy.fft.fft(grid, padded)) ** 2
            power *= np.maximum(variance, 0.0) / np.sum(decay**2) ** 2
            top = int(np.argmax(power))
            if power[top] > best:
                best, found = float(power[top]), (top, exponent / count)
        frequency = np.array([found[0] / padded])
        return frequency - np.round(frequency), np.array([found[1]])


def _rank(model: ModalModel) -> int:
    """Number of modes; a conjugate pair counts twice."""
    return len(model.paired) + int(np.count_nonzero(model.paired))

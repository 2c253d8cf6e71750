"""The components of a series at any times: processes in continuous time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._array import NDArray
from ..systems.likelihood import Score
from .model import FirstStates


@dataclass(frozen=True, eq=False)
class ContinuousComponents:
    """Which processes a series of mean zero and deviation one is the sum of, at which times.

    A level that is a Wiener process, a slope that is one, an Ornstein-Uhlenbeck process (the
    autoregressive process of order one), driven oscillators and white noise. From one time to the
    next, all of them are linear with Gaussian noise, so the likelihood is exact for any times.

    Parameters are logarithms of variances (of drifts: per unit of time), logarithms of rates, and
    angular frequencies.

    Attributes
    ----------
    times : ndarray
        In increasing order.
    drifts : tuple of str
        Which of "level" and "slope" change with time. Without slope the series has none.
    cycle : bool
        Whether there is an Ornstein-Uhlenbeck process.
    oscillators : int
    measured : bool
        The white noise is known for every sample, and is no parameter.
    first : FirstStates

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.irregular import ContinuousComponents
    >>> ContinuousComponents(np.array([0.0, 1.0, 4.0]), cycle=True, oscillators=1).names
    ('white', 'cycle', 'cycle rate', 'size 1', 'rate 1', 'frequency 1')
    """

    times: NDArray
    drifts: tuple[str, ...] = ()
    cycle: bool = False
    oscillators: int = 0
    measured: bool = False
    first: FirstStates = field(default_factory=FirstStates)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in their order."""
        white = () if self.measured else ("white",)
        cycle = ("cycle", "cycle rate") if self.cycle else ()
        numbers = range(1, self.oscillators + 1)
        waves = (f"{what} {k}" for k in numbers for what in ("size", "rate", "frequency"))
        return (*white, *self.drifts, *cycle, *waves)

    @property
    def order(self) -> int:
        """Number of states."""
        return 1 + ("slope" in self.drifts) + self.cycle + 2 * self.oscillators

    @property
    def shown(self) -> NDArray:
        """How the states show in the series."""
        trend = np.eye(1 + ("slope" in self.drifts))[0]
        waves = np.tile([1.0, 0.0], self.oscillators)
        return np.concatenate([trend, np.ones(int(self.cycle)), waves])

    def matrices(self, parameters: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Arrays H (T, 1 + d, d), W (T, 1 + d, 1 + d) and covariance of the filter.

        They are analytic functions of the parameters, so complex steps give exact derivatives.

        Parameters
        ----------
        parameters : ndarray
            In the order of `names`.
        """
        value = dict(zip(self.names, parameters, strict=True))
        steps = np.append(np.diff(self.times), 0.0)
        blocks = [self._trend(value, steps)]
        if self.cycle:
            blocks.append(_wave(value["cycle"], value["cycle rate"], None, steps))
        for k in range(1, self.oscillators + 1):
            blocks.append(
                _wave(value[f"size {k}"], value[f"rate {k}"], value[f"frequency {k}"], steps)
            )
        d, kind = self.order, parameters.dtype
        H = np.zeros((len(steps), 1 + d, d), dtype=kind)
        W = np.zeros((len(steps), 1 + d, 1 + d), dtype=kind)
        P = np.zeros((d, d), dtype=kind)
        H[:, 0] = self.shown
        W[:, 0, 0] = 0.0 if self.measured else np.exp(value["white"])
        at = 0
        for A, Q, first in blocks:
            own, below = slice(at, at + A.shape[1]), slice(1 + at, 1 + at + A.shape[1])
            H[:, below, own], W[:, below, below], P[own, own] = A, Q, first
            at = own.stop
        return H, W, P

    def gradient(self, parameters: NDArray, score: Score, step: float = 1e-20) -> NDArray:
        """Derivatives of the log-likelihood by the parameters, from those by the matrices.

        Parameters
        ----------
        parameters : ndarray
        score : Score
            Derivatives with respect to what `matrices` returns.
        step : float
            Imaginary step, small enough that its square vanishes.
        """
        slopes = []
        for k in range(len(parameters)):
            moved = parameters.astype(complex)
            moved[k] += 1j * step
            parts = zip((score.H, score.W, score.covariance), self.matrices(moved), strict=True)
            slopes.append(sum(float(np.sum(own * new.imag)) for own, new in parts) / step)
        return np.array(slopes)

    def _trend(self, value: dict[str, complex], steps: NDArray) -> Block:
        """Level and slope from each time to the next."""
        m, first = 1 + ("slope" in self.drifts), self.first
        kind = np.asarray(list(value.values())).dtype
        A, Q = np.zeros((len(steps), m, m)), np.zeros((len(steps), m, m), dtype=kind)
        A[:, range(m), range(m)] = 1.0
        if "level" in self.drifts:
            Q[:, 0, 0] += np.exp(value["level"]) * steps
        P = np.diag([first.level**2])
        if m == 2:
            A[:, 0, 1], drift = steps, np.exp(value["slope"])
            Q[:, 0, 0] += drift * steps**3 / 3
            Q[:, 0, 1] = Q[:, 1, 0] = drift * steps**2 / 2
            Q[:, 1, 1] = drift * steps
            span = max(float(self.times[-1] - self.times[0]), np.finfo(float).tiny)
            P = np.diag([first.level**2, (first.slope / span) ** 2])
        return A, Q, P


Block = tuple[NDArray, NDArray, NDArray]


def _wave(size: complex, rate: complex, frequency: complex | None, steps: NDArray) -> Block:
    """A stationary oscillator, or an Ornstein-Uhlenbeck process, from each time to the next."""
    variance, decay = np.exp(size), np.exp(-np.exp(rate) * steps)
    left = -np.expm1(-2 * np.exp(rate) * steps)
    if frequency is None:
        return decay[:, None, None], (variance * left)[:, None, None], np.array([[variance]])
    c, s = np.cos(frequency * steps), np.sin(frequency * steps)
    turns = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], -2)
    eye = np.eye(2)
    return decay[:, None, None] * turns, (variance * left)[:, None, None] * eye, variance * eye

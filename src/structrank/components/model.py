"""The components of a series as a linear system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, toeplitz

from .._array import NDArray
from ..io.saved_results import savable
from ..systems import StateSpace
from ..systems.likelihood import Score
from .autoregression import autoregression, autoregression_slopes

DRIFTS = ("level", "slope", "season", "second season")


@savable()
@dataclass(frozen=True)
class Season:
    """A pattern that repeats and may change slowly: some harmonics of one period.

    Attributes
    ----------
    period : float
        Samples of one season.
    harmonics : tuple of int
        Which multiples of the frequency 1 / period it contains.
    """

    period: float
    harmonics: tuple[int, ...]

    @property
    def turns(self) -> list[NDArray]:
        """How the states of each harmonic follow from the last ones: rotations."""
        blocks = []
        for harmonic in self.harmonics:
            angle = 2 * np.pi * harmonic / self.period
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            blocks.append(turn[:1, :1] if 2 * harmonic == self.period else turn)
        return blocks

    @property
    def shown(self) -> NDArray:
        """How the states show in the series: the first one of each harmonic."""
        return np.concatenate([np.eye(len(turn))[0] for turn in self.turns])


@savable()
@dataclass(frozen=True)
class FirstStates:
    """Standard deviations of first states, for a series of mean zero and deviation one.

    They are wide compared with what series show, so that the data decide, and finite, so that
    likelihoods of different components can be compared. Taste.

    Attributes
    ----------
    level : float
    slope : float
        Times the number of samples.
    season : float
        Of each harmonic.
    """

    level: float = 3.0
    slope: float = 10.0
    season: float = 1.0


@savable()
@dataclass(frozen=True)
class Components:
    """Which components a series of mean zero and deviation one is the sum of.

    A level, a slope, one or two seasons, an autoregressive part and white noise. The parameters are
    logarithms of variances, and the inverse hyperbolic tangents of partial autocorrelations.

    Attributes
    ----------
    samples : int
        Length of the series.
    slope : bool
        Whether the level has a slope.
    season : Season or None
    order : int
        Order of the autoregressive part.
    drifts : tuple of str
        Which of "level", "slope", "season" and "second season" change with time.
    first : FirstStates
    second : Season or None
        The second season, such as the week beside the day.
    measured : bool
        The white noise is known for every sample, and is no parameter.

    Examples
    --------
    >>> from structrank.components.model import Components
    >>> walk = Components(samples=100, drifts=("level",))
    >>> walk.names
    ('white', 'level')
    >>> walk.system([-1.0, 0.0])
    StateSpace(order 1, 1 output, spectral radius 1)
    """

    samples: int
    slope: bool = False
    season: Season | None = None
    order: int = 0
    drifts: tuple[str, ...] = ()
    first: FirstStates = FirstStates()
    second: Season | None = None
    measured: bool = False

    @property
    def seasons(self) -> dict[str, Season]:
        """The seasons by the names of their drifts."""
        both = {"season": self.season, "second season": self.second}
        return {name: season for name, season in both.items() if season is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, in their order."""
        part = ("autoregression",) if self.order else ()
        white = () if self.measured else ("white",)
        return (*white, *self.drifts, *part, *(f"pacf {k + 1}" for k in range(self.order)))

    @property
    def states(self) -> dict[str, slice]:
        """Where the states of each component are."""
        sizes = {"level": 1, "slope": int(self.slope)}
        sizes |= {name: len(season.shown) for name, season in self.seasons.items()}
        sizes["autoregression"] = self.order
        ends = np.cumsum([*sizes.values()])
        return {k: slice(int(e) - n, int(e)) for (k, n), e in zip(sizes.items(), ends, strict=True)}

    def matrices(self, parameters: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Arrays H, W and covariance of `structrank.systems.chunks.Gaussian`.

        Parameters
        ----------
        parameters : ndarray
            In the order of `names`.
        """
        value, at = dict(zip(self.names, parameters, strict=True)), self.states
        size = at["autoregression"].stop
        H, noise, first = np.zeros((size + 1, size)), np.zeros(size + 1), np.zeros(size)
        A = H[1:]
        A[0, : 1 + self.slope] = H[0, 0] = 1.0
        first[at["level"]] = self.first.level**2
        first[at["slope"]] = (self.first.slope / self.samples) ** 2
        for name, season in self.seasons.items():
            first[at[name]] = self.first.season**2
            A[at[name], at[name]] = block_diag(*season.turns)
            H[0, at[name]] = season.shown
        noise[0] = 0.0 if self.measured else np.exp(value["white"])
        for name in self.drifts:
            noise[1:][at[name]] = np.exp(value[name])
        A[at["slope"], at["slope"]] = 1.0
        P, own = np.diag(first), at["autoregression"]
        if self.order:
            partial = np.tanh(parameters[-self.order :])
            row, error, covariances = autoregression(np.exp(value["autoregression"]), partial)
            A[own, own] = np.eye(self.order, k=-1)
            A[own.start, own], H[0, own.start], noise[1 + own.start] = row, 1.0, float(error)
            P[own, own] = toeplitz(covariances)
        return H, np.diag(noise), P

    def gradient(self, parameters: NDArray, score: Score) -> NDArray:
        """Derivatives of the log-likelihood by the parameters, from those by the matrices.

        Parameters
        ----------
        parameters : ndarray
        score : Score
            Derivatives with respect to what `matrices` returns.
        """
        noise, at = np.einsum("...ii->...i", score.W), self.states
        noise = noise if noise.ndim == 1 else np.sum(noise, axis=0)  # it differs between samples
        slopes = [] if self.measured else [np.sum(noise[:1])]
        slopes += [np.sum(noise[1:][at[name]]) for name in self.drifts]
        count = len(slopes)
        own_part = np.zeros(len(parameters) - count)
        gradient = np.concatenate([slopes * np.exp(parameters[:count]), own_part])
        own = at["autoregression"]
        if self.order:
            covariance = score.covariance[own, own]
            lags = np.array([np.trace(covariance, k) for k in range(self.order)])
            lags[1:] += [np.trace(covariance, -k) for k in range(1, self.order)]
            row, error, covariances = autoregression_slopes(parameters[count:])
            gradient[count:] = row @ score.H[1 + own.start, own] + covariances @ lags
            gradient[count:] += noise[1 + own.start] * error
        return np.asarray(gradient)

    def system(self, parameters: NDArray) -> StateSpace:
        """The system with these parameters.

        Parameters
        ----------
        parameters : ndarray
        """
        H, W, P = self.matrices(np.asarray(parameters))
        Q, R, x0 = W[1:, 1:], W[:1, :1], np.zeros(len(P))
        return StateSpace(H[1:], None, H[:1], None, Q=Q, R=R, x0=x0, x0_covariance=P)

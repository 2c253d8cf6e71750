"""Spectral compressed sensing: recover sums of sinusoids from a few noisy samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, NDArray, as_array, to_numpy
from .._checks import positive_int, positive_ints, random_generator
from ..modal.modes import Modes
from ..model.measure import Mask, Weighted
from ..model.problem import Problem
from ..structures import Hankel


@dataclass(frozen=True, eq=False, repr=False)
class SpectralSample:
    """A few noisy samples of a sum of sinusoids, and the truth behind them.

    Attributes
    ----------
    samples : ndarray
        The noisy signal, NaN where it is not seen.
    truth : ndarray
        The whole signal without noise.
    seen : ndarray of bool
        True where the signal is seen.
    noise : float
        Standard deviation of the noise.
    modes : Modes
        The modes the truth is the sum of; two per sinusoid if it is real.

    Examples
    --------
    >>> from structrank import sinusoids
    >>> sinusoids((20, 20), 2, seen=0.5)
    SpectralSample(200 of 400 samples seen of a real signal (20, 20), 4 modes, noise 0.098)
    """

    samples: NDArray
    truth: NDArray
    seen: NDArray
    noise: float
    modes: Modes

    def __repr__(self) -> str:
        kind = "complex" if np.iscomplexobj(self.truth) else "real"
        return (
            f"SpectralSample({np.count_nonzero(self.seen)} of {self.truth.size} samples seen of "
            f"a {kind} signal {self.truth.shape}, {len(self.modes)} modes, noise {self.noise:.3g})"
        )


def sinusoids(
    shape: int | tuple[int, ...],
    count: int,
    *,
    seen: float = 0.2,
    snr: float | None = 10.0,
    real: bool = True,
    on_grid: bool = False,
    separation: float = 0.0,
    spread: bool = False,
    damping: float = 0.0,
    rng: int | np.random.Generator = 0,
) -> SpectralSample:
    """Draw random sinusoids, and a few noisy samples of their sum.

    With `shape=(101, 101)` and `count=6` this is the paper's experiment on spectral compressed
    sensing. Frequencies and phases are uniformly distributed.

    Parameters
    ----------
    shape : int or tuple of int
        Number of samples along each axis.
    count : int
        Number of sinusoids: cosines if real, exponentials if complex.
    seen : float
        Share of the samples that are seen, above zero and at most one.
    snr : float or None
        Root mean square of the signal over the standard deviation of the Gaussian noise; None
        for no noise. Complex noise is circular, and its modulus has that standard deviation.
    real : bool
        Whether the signal is real.
    on_grid : bool
        Draw distinct frequencies that are multiples of `1 / shape`.
    separation : float
        Smallest distance between two frequencies along the axis where they differ most, in units
        of `1 / shape`. For a real signal the opposite frequencies count too.
    spread : bool
        Amplitudes have modulus `1 + 10^(c / 2)`, c uniform in [0, 1], instead of one.
    damping : float
        Largest damping per sample; dampings are uniform between zero and this.
    rng : int or numpy.random.Generator
        Seed for all that is drawn.

    Returns
    -------
    SpectralSample

    Examples
    --------
    >>> from structrank import sinusoids
    >>> sinusoids((101, 101), 6)
    SpectralSample(2040 of 10201 samples seen of a real signal (101, 101), 12 modes, noise 0.173)
    """
    shape, count = positive_ints(shape, "shape"), positive_int(count, "count")
    if not 0 < seen <= 1:
        raise ValueError(f"seen is {seen!r}, but a share above 0 and at most 1 is expected")
    if not 0 <= damping < np.inf:
        raise ValueError(f"damping is {damping!r}, but a finite number of at least 0 is expected")
    if not 0 <= separation < np.inf:
        raise ValueError(f"separation is {separation!r}, but a number of at least 0 is expected")
    if on_grid and separation:
        raise ValueError("on_grid and separation exclude each other: pass one of them")
    snr = np.inf if snr is None else snr
    if not snr > 0:
        raise ValueError(f"snr is {snr!r}, but a number above 0, or None, is expected")
    rng = random_generator(rng)
    if on_grid:
        frequencies = _grid_frequencies(rng, shape, count, real)
    else:
        frequencies = _apart(rng, shape, count, real, separation)
    dampings = damping * rng.random(frequencies.shape)
    amplitudes = np.exp(2j * np.pi * rng.random(count))
    if spread:
        amplitudes = amplitudes * (1 + 10 ** (rng.random(count) / 2))
    if real:  # both of a conjugate pair, side by side
        frequencies = np.stack([frequencies, -frequencies], axis=1).reshape(-1, len(shape))
        amplitudes = np.stack([amplitudes / 2, amplitudes.conj() / 2], axis=1).reshape(-1)
        dampings = np.repeat(dampings, 2, axis=0)
    modes = Modes(frequencies, dampings, amplitudes)
    truth = modes.signal(shape).real if real else modes.signal(shape)

    mask = np.zeros(truth.size, dtype=bool)
    mask[rng.choice(truth.size, max(round(seen * truth.size), 1), replace=False)] = True
    mask = mask.reshape(shape)
    noise = float(np.sqrt(np.mean(np.abs(truth) ** 2))) / snr
    noisy = truth + noise * _unit_noise(rng, shape, real)
    samples = np.where(mask, noisy, np.nan if real else complex(np.nan, np.nan))
    return SpectralSample(samples, truth, mask, noise, modes)


def spectral_problem(
    samples: Array, window: int | tuple[int, ...], mu: float, *, weights: Any = None
) -> Problem:
    """Return the problem of filling the gaps of a sum of sinusoids.

    Parameters
    ----------
    samples : array
        The signal, NaN where it is not seen.
    window : int or tuple of int
        Rows of the Hankel matrix along each axis.
    mu : float
        Price of the nuclear norm; see `select_mu` and `noise_mu`.
    weights : array or "lifted", optional
        Weights of the samples, as in `Weighted`. Default: all are equal, as in the paper.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import spectral_problem
    >>> spectral_problem(np.array([1.0, np.nan, -1.0, np.nan, 1.0]), window=2, mu=0.1)
    Problem(Hankel((5,), window=(2,)), 3 of 5 samples seen, mu=0.1)
    """
    samples = as_array(samples)
    seen = to_numpy(samples == samples)  # NaN alone differs from itself
    return Problem(Hankel(tuple(samples.shape), window), samples, mu, _measure(seen, weights))


def _grid_frequencies(
    rng: np.random.Generator, shape: tuple[int, ...], count: int, real: bool
) -> NDArray:
    """Draw distinct multiples of `1 / shape`; if real, no two of them are opposite."""
    sites = np.indices(shape).reshape(len(shape), -1).T
    if real:
        opposite = np.ravel_multi_index(tuple((-sites % shape).T), shape)
        sites = sites[np.arange(len(sites)) < opposite]
    if count > len(sites):
        raise ValueError(
            f"count is {count}, but a grid {shape} has only {len(sites)} distinct frequencies"
        )
    return np.asarray(rng.choice(sites, count, replace=False) / np.array(shape))


def _apart(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    count: int,
    real: bool,
    separation: float,
    max_draws: int = 10_000,
) -> NDArray:
    """Draw uniform frequencies, again until all are far enough from each other."""
    drawn: list[NDArray] = []
    for _ in range(max_draws):
        new = rng.random(len(shape))
        others = [f for old in drawn for f in ((old, -old) if real else (old,))]
        others += [-new] if real and separation else []
        gaps = np.abs([new - f - np.round(new - f) for f in others]).reshape(-1, len(shape))
        if np.all(np.max(gaps * shape, axis=1, initial=0.0) >= separation):
            drawn.append(new)
        if len(drawn) == count:
            return np.array(drawn)
    raise ValueError(
        f"{count} frequencies that are {separation} / {shape} apart were not found in "
        f"{max_draws} draws: take fewer, or a smaller separation"
    )


def _measure(seen: Any, weights: Any) -> Weighted:
    return Mask(seen) if weights is None else Weighted(weights, seen)


def _unit_noise(rng: np.random.Generator, shape: tuple[int, ...], real: bool) -> NDArray:
    """Draw Gaussian noise of standard deviation one; circular if complex."""
    if real:
        return rng.standard_normal(shape)
    noise = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return np.asarray(noise / np.sqrt(2))

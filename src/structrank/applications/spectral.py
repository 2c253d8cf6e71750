"""Spectral compressed sensing: sums of (damped) sinusoids from a few noisy samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, as_array, to_numpy
from ..measure import Everything, Mask, Weighted
from ..objective import mu_max
from ..problem import Problem, positive
from ..run import Result
from ..structures import Hankel, Structure
from ..structures.base import positive_int, positive_ints


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """The sinusoids that a signal is the sum of, largest amplitude first.

    `y[k] = sum_i amplitudes[i] prod_d exp((2 pi j frequencies[i, d] - dampings[i, d]) k_d)`

    Parameters
    ----------
    frequencies : array, shape (r, d), or (r,) for signals with one axis
        Cycles a sample along each axis. Whole cycles are taken off: kept in [-1/2, 1/2).
    dampings : float or array of the shape of the frequencies
        Decay of the logarithm a sample along each axis; below zero for growth.
    amplitudes : complex or array, shape (r,)
        With the phase at the origin. A real signal has its modes in conjugate pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications import Modes
    >>> cosine = Modes([0.25, -0.25], amplitudes=0.5)
    >>> cosine
    Modes
      amplitude      phase  frequency    damping
            0.5          0       0.25          0
            0.5          0      -0.25          0
    >>> np.round(cosine.signal(5).real, 12) + 0.0
    array([ 1.,  0., -1.,  0.,  1.])
    """

    frequencies: Array
    dampings: Array = 0.0
    amplitudes: Array = 1.0

    def __post_init__(self) -> None:
        f = _columns(self.frequencies)
        if f.ndim != 2 or f.shape[1] == 0:
            raise ValueError(
                f"frequencies have shape {f.shape}, but (r, d) is expected: a row a mode, "
                "a column an axis"
            )
        dampings = _filled("dampings", _columns(self.dampings), f.shape)
        amplitudes = _filled("amplitudes", np.asarray(self.amplitudes, complex), f.shape[:1])
        if not all(np.all(np.isfinite(values)) for values in (f, dampings, amplitudes)):
            raise ValueError("the modes hold NaN or inf, but finite numbers are expected")
        f = f - np.round(f)
        f = np.where(f == 0.5, -0.5, f)
        sizes = np.abs(amplitudes)
        # Rounding must not tear conjugate pairs of equal size apart.
        order = np.argsort(-np.round(sizes / np.max(sizes, initial=1e-300), 9), kind="stable")
        object.__setattr__(self, "frequencies", f[order])
        object.__setattr__(self, "dampings", dampings[order])
        object.__setattr__(self, "amplitudes", amplitudes[order])

    def signal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """The sum of the modes on a grid.

        Parameters
        ----------
        shape : int or tuple of int
            Number of samples along each axis.

        Returns
        -------
        ndarray, complex
            A real signal is its real part.
        """
        shape = positive_ints(shape, "shape")
        if len(shape) != self.frequencies.shape[1]:
            raise ValueError(
                f"shape {shape} has {len(shape)} axes, but the modes have "
                f"{self.frequencies.shape[1]}"
            )
        *outer, last = _exponentials(self, shape)
        left = self.amplitudes[None, :]
        for along in outer:
            left = (left[:, None, :] * along).reshape(len(left) * len(along), len(self))
        return (left @ last.T).reshape(shape)

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        width = 11 * self.frequencies.shape[1]
        lines = [
            "Modes",
            f"{'amplitude':>11}{'phase':>11}{'frequency':>{width}}{'damping':>{width}}",
        ]
        for a, f, damping in zip(self.amplitudes, self.frequencies, self.dampings, strict=True):
            numbers = np.array([abs(a), np.angle(a), *f, *damping])
            numbers[np.abs(numbers) < 1e-9] = 0.0
            lines.append("".join(f"{x:>11.5g}" for x in numbers))
        hidden = len(lines) - 22
        return "\n".join(lines[:22] + [f"  and {hidden} more"] * (hidden > 0))


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
        Where the signal is seen.
    noise : float
        Standard deviation of the noise.
    modes : Modes
        What the truth is the sum of; two a sinusoid if it is real.
    """

    samples: np.ndarray
    truth: np.ndarray
    seen: np.ndarray
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
    damping: float = 0.0,
    seed: int = 0,
) -> SpectralSample:
    """Draw sinusoids of amplitude one, and a few noisy samples of their sum.

    With `shape=(101, 101)` and `count=6` this is the paper's set-up for spectral compressed
    sensing. Frequencies and phases are uniform.

    Parameters
    ----------
    shape : int or tuple of int
        Number of samples along each axis.
    count : int
        Number of sinusoids: cosines if real, exponentials if complex.
    seen : float
        Share of the samples that is seen, above zero and at most one.
    snr : float or None
        Root mean square of the signal over the standard deviation of the Gaussian noise; None
        for no noise. Complex noise is circular, with that standard deviation in all.
    real : bool
        Whether the signal is real.
    on_grid : bool
        Draw distinct frequencies that are multiples of `1 / shape`.
    damping : float
        Largest damping a sample; dampings are uniform between zero and this.
    seed : int

    Returns
    -------
    SpectralSample

    Examples
    --------
    >>> from structrank.applications import sinusoids
    >>> sinusoids((101, 101), 6)
    SpectralSample(2040 of 10201 samples seen of a real signal (101, 101), 12 modes, noise 0.173)
    """
    shape, count = positive_ints(shape, "shape"), positive_int(count, "count")
    if not 0 < seen <= 1:
        raise ValueError(f"seen is {seen!r}, but a share above 0 and at most 1 is expected")
    if not 0 <= damping < np.inf:
        raise ValueError(f"damping is {damping!r}, but a finite number of at least 0 is expected")
    snr = np.inf if snr is None else snr
    if not snr > 0:
        raise ValueError(f"snr is {snr!r}, but a number above 0, or None, is expected")
    rng = np.random.default_rng(seed)
    frequencies = (
        _grid_frequencies(rng, shape, count, real) if on_grid else rng.random((count, len(shape)))
    )
    dampings = damping * rng.random(frequencies.shape)
    amplitudes = np.exp(2j * np.pi * rng.random(count))
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
    """The problem of filling in a sum of sinusoids from samples with gaps.

    Parameters
    ----------
    samples : array
        The signal, NaN where it is not seen.
    window : int or tuple of int
        Rows of the Hankel matrix along each axis.
    mu : float
        Price of the nuclear norm; see `noise_mu`.
    weights : array or "lifted", optional
        Weights of the samples, as of `Weighted`. Default: all the same, as in the paper.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications import spectral_problem
    >>> spectral_problem(np.array([1.0, np.nan, -1.0, np.nan, 1.0]), window=2, mu=0.1)
    Problem(Hankel((5,), window=(2,)), 3 of 5 samples seen, mu=0.1)
    """
    samples = as_array(samples)
    seen = to_numpy(samples == samples)  # NaN alone differs from itself
    return Problem(Hankel(tuple(samples.shape), window), samples, mu, _measure(seen, weights))


def noise_mu(
    structure: Structure,
    seen: Array,
    sigma: float,
    *,
    weights: Any = None,
    real: bool = True,
    draws: int = 3,
    margin: float = 1.05,
    seed: int = 0,
) -> float:
    """The mu that noise calls for: a margin above what noise alone puts into the gradient.

    The largest `mu_max` of a few signals of pure noise, measured in the same way.

    Parameters
    ----------
    structure : Structure
    seen : array of bool
        Where the signal is seen.
    sigma : float
        Standard deviation of the noise, above zero.
    weights : array or "lifted", optional
        Weights of the samples, as of `Weighted`. Default: all the same.
    real : bool
        Whether the noise is real; else it is complex and circular.
    draws : int
        Number of signals drawn.
    margin : float
        Factor on the largest value. Larger ones, 1.5 for example, leave fewer modes that fit
        noise and shrink the others more.
    seed : int

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel
    >>> from structrank.applications import noise_mu
    >>> seen = np.arange(200) % 3 > 0
    >>> mu = noise_mu(Hankel(200, window=100), seen, sigma=0.1, weights="lifted")
    >>> print(f"{mu:.2f}")
    2.09
    """
    sigma, margin = positive(sigma, "sigma"), positive(margin, "margin")
    seen, rng = as_array(seen), np.random.default_rng(seed)
    measure = _measure(seen, weights)
    noises = [
        _unit_noise(rng, tuple(seen.shape), real) for _ in range(positive_int(draws, "draws"))
    ]
    return margin * sigma * max(mu_max(Problem(structure, z, 1.0, measure)) for z in noises)


def find_modes(result: Result, rank: int | None = None) -> Modes:
    """The frequencies, dampings and amplitudes behind a recovered matrix.

    The exponentials of the modes span the columns of a Hankel matrix, and a shift along an axis
    multiplies each by its own number (ESPRIT, the matrix pencil). Frequencies and dampings come
    from the left factor of `result.X`, those of all axes from one set of eigenvectors, so that
    they belong together. Amplitudes come from least squares on the samples, with the problem's
    weights, and so are not shrunk by the nuclear norm; if an operator measures, on the
    recovered signal.

    Parameters
    ----------
    result : Result
        Of a problem with a `Hankel` or `Toeplitz` structure without blocks.
    rank : int, optional
        Number of modes: as many leading singular directions are used. Default: all.

    Returns
    -------
    Modes
        In conjugate pairs if the signal is real.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls
    >>> from structrank.applications import find_modes
    >>> y = 3 * np.exp((0.2j * np.pi - 0.05) * np.arange(40))
    >>> result = gcgls(Problem(Hankel(40, window=20), y, mu=0.01, measure="lifted"), lam=1.0)
    >>> find_modes(result)
    Modes
      amplitude      phase  frequency    damping
              3          0        0.1       0.05
    """
    if not isinstance(result, Result):
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    structure = result.problem.structure
    if not isinstance(structure, Hankel) or structure.block is not None:
        raise TypeError(
            f"the structure is {structure!r}, but modes are found from a Hankel or Toeplitz "
            "structure without blocks"
        )
    if min(structure.window + structure.columns) < 2:
        raise ValueError(
            f"{structure!r} has windows {structure.window} and {structure.columns} of rows and "
            "columns, but a shift needs windows of length 2 or more along every axis"
        )
    basis = _basis(result, structure, rank)
    shifts = [_shift(basis, axis) for axis in range(basis.ndim - 1)]
    vectors = _common_eigenvectors(shifts)
    inverse = np.linalg.pinv(vectors)  # modes that coincide have no full set of eigenvectors
    poles = np.stack([np.diag(inverse @ shift @ vectors) for shift in shifts], axis=1)
    sizes = np.maximum(np.abs(poles), np.finfo(float).tiny)
    return _with_amplitudes(Modes(np.angle(poles) / (2 * np.pi), -np.log(sizes)), result)


def _basis(result: Result, structure: Hankel, rank: int | None) -> np.ndarray:
    """Orthonormal columns that span the exponentials on a grid: shape (grid..., rank)."""
    X = result.X.balanced(1e-12)
    if X.rank == 0:
        raise ValueError("the recovered matrix is zero and has no modes: solve with a smaller mu")
    rank = X.rank if rank is None else positive_int(rank, "rank")
    if rank > X.rank:
        raise ValueError(f"rank is {rank}, but the recovered matrix has rank {X.rank}: take less")
    limit = min(structure.shape[0] // size * (size - 1) for size in structure.window)
    if rank > limit:
        raise ValueError(
            f"rank is {rank}, but shifts in a window {structure.window} tell at most {limit} modes "
            "apart: pass a smaller rank, or solve with a larger window"
        )
    leading = to_numpy(X.U)[:, :rank]
    Q, _ = np.linalg.qr(leading.astype(np.result_type(leading.dtype, np.float64)))
    return Q.reshape(*structure.window, rank)


def _shift(basis: np.ndarray, axis: int) -> np.ndarray:
    """The matrix that moves the basis on by one along an axis, by least squares."""
    along, rank = np.moveaxis(basis, axis, 0), basis.shape[-1]
    here, there = along[:-1].reshape(-1, rank), along[1:].reshape(-1, rank)
    return np.linalg.lstsq(here, there, rcond=None)[0]


def _common_eigenvectors(shifts: list[np.ndarray]) -> np.ndarray:
    """Eigenvectors of the best conditioned of a few mixtures of the shifts.

    Modes that share a frequency along one axis differ in a mixture. It is real, so that real shifts
    keep their conjugate pairs.
    """
    mixtures = np.random.default_rng(0).standard_normal((8, len(shifts)))
    found = [np.linalg.eig(np.tensordot(mixture, shifts, 1))[1] for mixture in mixtures]
    return min(found, key=np.linalg.cond)


def _with_amplitudes(modes: Modes, result: Result) -> Modes:
    """The modes with the amplitudes that fit the samples best."""
    problem, shape = result.problem, result.problem.structure.signal_shape
    growth = np.max(np.maximum(-modes.dampings, 0.0) @ (np.array(shape) - 1))
    if growth > _MAX_GROWTH:
        raise ValueError(
            f"a mode grows by a factor of exp({growth:.0f}) over the signal, so it fits noise: "
            "pass a smaller rank, or solve with a larger mu"
        )
    weights, values = np.ones(shape), result.y
    if isinstance(problem.measure, Weighted):
        weights, values = to_numpy(problem.measure.weights), problem.data
    elif isinstance(problem.measure, Everything):
        values = problem.data
    at = np.nonzero(weights)
    columns = weights[at][:, None]
    for index, along in zip(at, _exponentials(modes, shape), strict=True):
        columns = columns * along[index]
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(sizes > 0, sizes, 1.0)
    fit = np.linalg.lstsq(columns, to_numpy(values)[at], rcond=None)[0]
    return Modes(modes.frequencies, modes.dampings, fit / np.where(sizes > 0, sizes, 1.0))


_MAX_GROWTH = 300.0  # exp of twice this is in the range of double precision


def _exponentials(modes: Modes, shape: tuple[int, ...]) -> list[np.ndarray]:
    """For each axis the modes' factors along it, shape (samples, r)."""
    rates = 2j * np.pi * modes.frequencies - modes.dampings
    return [
        np.exp(np.outer(np.arange(size), rate)) for size, rate in zip(shape, rates.T, strict=True)
    ]


def _columns(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return values[:, None] if values.ndim == 1 else values


def _filled(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(
            f"{name} have shape {values.shape}, but for these frequencies {shape} is expected"
        ) from None


def _grid_frequencies(
    rng: np.random.Generator, shape: tuple[int, ...], count: int, real: bool
) -> np.ndarray:
    """Distinct multiples of `1 / shape`; if real, no two opposite, none its own opposite."""
    sites = np.indices(shape).reshape(len(shape), -1).T
    if real:
        opposite = np.ravel_multi_index(tuple((-sites % shape).T), shape)
        sites = sites[np.arange(len(sites)) < opposite]
    if count > len(sites):
        raise ValueError(
            f"count is {count}, but a grid {shape} has only {len(sites)} distinct frequencies"
        )
    return rng.choice(sites, count, replace=False) / np.array(shape)


def _measure(seen: Any, weights: Any) -> Weighted:
    return Mask(seen) if weights is None else Weighted(weights, seen)


def _unit_noise(rng: np.random.Generator, shape: tuple[int, ...], real: bool) -> np.ndarray:
    """Gaussian noise of standard deviation one; circular if complex."""
    if real:
        return rng.standard_normal(shape)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)

"""The modes of a signal: sums of (damped) sinusoids in any dimension, and how to find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array, to_numpy
from ..measure import Everything, Weighted
from ..run import Result
from ..structures import Hankel
from ..structures.base import positive_int, positive_ints

_MAX_GROWTH = 300.0  # exp of twice this is in the range of double precision


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
       amplitude       phase   frequency     damping
             0.5           0        0.25           0
             0.5           0       -0.25           0
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
        width = 12 * self.frequencies.shape[1]
        lines = [
            "Modes",
            f"{'amplitude':>12}{'phase':>12}{'frequency':>{width}}{'damping':>{width}}",
        ]
        for a, f, damping in zip(self.amplitudes, self.frequencies, self.dampings, strict=True):
            numbers = np.array([abs(a), np.angle(a), *f, *damping])
            numbers[np.abs(numbers) < 1e-9] = 0.0
            lines.append("".join(f"{x:>12.5g}" for x in numbers))
        hidden = len(lines) - 22
        return "\n".join(lines[:22] + [f"  and {hidden} more"] * (hidden > 0))


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
       amplitude       phase   frequency     damping
               3           0         0.1        0.05
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

"""The modes of a signal: sums of (damped) sinusoids in any dimension, and how to find them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeGuard

import numpy as np

from .._array import Array, to_numpy
from .._checks import positive_int, positive_ints
from ..model.measure import Everything, Weighted
from ..solvers.driver import Result
from ..structures import Hankel, Structure
from ..views import plot_modes, plot_poles

MAX_GROWTH = 340.0  # exp of twice this is in the range of double precision


class NoModes(ValueError):
    """A matrix from which modes cannot be found at the rank asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import frequencies
    >>> from structrank.modal.modes import NoModes
    >>> try:
    ...     frequencies(np.random.default_rng(1).standard_normal(40))
    ... except NoModes as error:
    ...     print(str(error).partition(":")[0])
    nothing but noise is found in the samples, so they have no modes
    """


@dataclass(frozen=True, eq=False)
class ModeErrors:
    """Standard errors of the numbers of `Modes`, row by row; inf where nothing determines them.

    Attributes
    ----------
    frequencies : ndarray, shape (r, d)
    dampings : ndarray, shape (r, d)
        Zero where the modes are known to be undamped.
    amplitudes : ndarray, shape (r,) or (r, channels)
        Of the modulus.
    phases : ndarray, shape (r,) or (r, channels)
        In radians.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> noise = 0.01 * np.random.default_rng(0).standard_normal((2, 40))
    >>> b = np.exp((0.2j * np.pi - 0.05) * np.arange(40)) + noise[0] + 1j * noise[1]
    >>> problem = Problem(Hankel(40, window=20), b, mu=0.5, measure="lifted")
    >>> modes = refit(gcgls(problem, lam=1.0), rank=1).modes
    >>> print(f"{modes.frequencies[0, 0]:.5f} +- {modes.stderr.frequencies[0, 0]:.5f}")
    0.09998 +- 0.00006
    """

    frequencies: np.ndarray
    dampings: np.ndarray
    amplitudes: np.ndarray
    phases: np.ndarray

    def _reordered(self, order: np.ndarray) -> ModeErrors:
        return ModeErrors(*(getattr(self, field.name)[order] for field in fields(self)))


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
    amplitudes : complex or array, shape (r,), or (r, channels) for several channels
        With the phase at the origin. A real signal has its modes in conjugate pairs.
    stderr : ModeErrors, optional
        Standard errors of all these.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Modes
    >>> cosine = Modes([0.25, -0.25], amplitudes=0.5)
    >>> cosine
    Modes
       amplitude       phase   frequency     damping
             0.5           0        0.25           0
             0.5           0       -0.25           0
    >>> np.round(cosine.signal(5).real, 12) + 0.0
    array([ 1.,  0., -1.,  0.,  1.])
    >>> len(cosine[cosine.frequencies[:, 0] > 0])
    1
    """

    frequencies: Array
    dampings: Array = 0.0
    amplitudes: Array = 1.0
    stderr: ModeErrors | None = None

    def __post_init__(self) -> None:
        f = _columns(self.frequencies)
        if f.ndim != 2 or f.shape[1] == 0:
            raise ValueError(
                f"frequencies have shape {f.shape}, but (r, d) is expected: a row a mode, "
                "a column an axis"
            )
        dampings = _filled("dampings", _columns(self.dampings), f.shape)
        amplitudes = np.asarray(self.amplitudes, complex)
        if amplitudes.ndim < 2:
            amplitudes = _filled("amplitudes", amplitudes, f.shape[:1])
        elif amplitudes.ndim > 2 or len(amplitudes) != len(f):
            raise ValueError(
                f"amplitudes have shape {amplitudes.shape}, but ({len(f)},) or ({len(f)}, "
                "channels) is expected"
            )
        if not all(np.all(np.isfinite(values)) for values in (f, dampings, amplitudes)):
            raise ValueError("the modes hold NaN or inf, but finite numbers are expected")
        f = f - np.round(f)
        f = np.where(f == 0.5, -0.5, f)
        sizes = np.sqrt(np.sum(np.abs(amplitudes) ** 2, axis=tuple(range(1, amplitudes.ndim))))
        # Rounding must not tear conjugate pairs of equal size apart.
        order = np.argsort(-np.round(sizes / np.max(sizes, initial=1e-300), 9), kind="stable")
        object.__setattr__(self, "frequencies", f[order])
        object.__setattr__(self, "dampings", dampings[order])
        object.__setattr__(self, "amplitudes", amplitudes[order])
        if self.stderr is not None:
            object.__setattr__(self, "stderr", self.stderr._reordered(order))

    def __getitem__(self, chosen: Any) -> Modes:
        """Some of the modes, by a mask, a slice or a list of numbers."""
        which = np.atleast_1d(np.arange(len(self))[chosen])
        stderr = None if self.stderr is None else self.stderr._reordered(which)
        return Modes(self.frequencies[which], self.dampings[which], self.amplitudes[which], stderr)

    def signal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """The sum of the modes on a grid.

        Parameters
        ----------
        shape : int or tuple of int
            Number of samples along each axis.

        Returns
        -------
        ndarray, complex
            A real signal is its real part. Channels come last.
        """
        shape = positive_ints(shape, "shape")
        if len(shape) != self.frequencies.shape[1]:
            raise ValueError(
                f"shape {shape} has {len(shape)} axes, but the modes have "
                f"{self.frequencies.shape[1]}"
            )
        *outer, last = exponentials(self.frequencies, self.dampings, shape)
        left = np.atleast_2d(self.amplitudes.T)
        for along in outer:
            left = (left[:, None, :] * along).reshape(len(left) * len(along), len(self))
        channels = self.amplitudes.shape[1:]
        values = (left @ last.T).reshape(*channels, *shape)
        return np.moveaxis(values, 0, -1) if channels else values

    @property
    def poles(self) -> np.ndarray:
        """Factor of each mode from one sample to the next along each axis, shape (r, d)."""
        return np.exp(2j * np.pi * self.frequencies - self.dampings)

    def plot(self, ax: Any = None) -> Any:
        """Draw the spectrum: amplitudes and frequencies, with standard errors where known.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            One panel, or with d axes d - 1 panels of frequencies. Default: a new figure of pyplot.

        Returns
        -------
        Axes or list of Axes
        """
        errors = self.stderr
        return plot_modes(
            self.frequencies,
            self.amplitudes,
            frequency_errors=None if errors is None else errors.frequencies,
            amplitude_errors=None if errors is None else errors.amplitudes,
            ax=ax,
        )

    def plot_poles(self, ax: Any = None) -> Any:
        """Draw the poles of the modes in the complex plane, with the unit circle.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_poles(self.poles, ax)

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        width = 12 * self.frequencies.shape[1]
        lines = [
            "Modes",
            f"{'amplitude':>12}{'phase':>12}{'frequency':>{width}}{'damping':>{width}}",
        ]
        for a, f, damping in zip(self.amplitudes, self.frequencies, self.dampings, strict=True):
            # Of several channels, the size of all and the phase of the first.
            numbers = np.array([np.linalg.norm(a), np.angle(a.flat[0]), *f, *damping])
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
        Of a problem with a `Hankel` or `Toeplitz` structure. Blocks of one row or one column are
        channels that share their modes.
    rank : int, optional
        Number of modes: as many leading singular directions are used. Default: all.

    Returns
    -------
    Modes
        In conjugate pairs if the signal is real.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, find_modes, gcgls
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
    if not has_modes(structure):
        raise TypeError(
            f"the structure is {structure!r}, but modes are found from a Hankel or Toeplitz "
            "structure without blocks, or with blocks of one row or one column"
        )
    if min(structure.window + structure.columns) < 2:
        raise ValueError(
            f"{structure!r} has windows {structure.window} and {structure.columns} of rows and "
            "columns, but a shift needs windows of length 2 or more along every axis"
        )
    basis = _basis(result, structure, rank)
    shifts = [_shift(basis, axis) for axis in range(len(structure.window))]
    vectors = _common_eigenvectors(shifts)
    inverse = np.linalg.pinv(vectors)  # modes that coincide have no full set of eigenvectors
    poles = np.stack([np.diag(inverse @ shift @ vectors) for shift in shifts], axis=1)
    sizes = np.maximum(np.abs(poles), np.finfo(float).tiny)
    return _with_amplitudes(Modes(np.angle(poles) / (2 * np.pi), -np.log(sizes)), result, structure)


def has_modes(structure: Structure) -> TypeGuard[Hankel]:
    """Whether low rank means few modes, in one channel or several."""
    return isinstance(structure, Hankel) and min(structure.block or (1, 1)) == 1


def _basis(result: Result, structure: Hankel, rank: int | None) -> np.ndarray:
    """Orthonormal columns that span the exponentials on a grid: (grid..., channels, rank)."""
    X = result.X.balanced(1e-12)
    if X.rank == 0:
        raise ValueError("the recovered matrix is zero and has no modes: solve with a smaller mu")
    rank = X.rank if rank is None else positive_int(rank, "rank")
    if rank > X.rank:
        raise ValueError(f"rank is {rank}, but the recovered matrix has rank {X.rank}: take less")
    limit = min(structure.shape[0] // size * (size - 1) for size in structure.window)
    if rank > limit:
        raise NoModes(
            f"rank is {rank}, but shifts in a window {structure.window} tell at most {limit} modes "
            "apart: pass a smaller rank, or solve with a larger window"
        )
    leading = to_numpy(X.U)[:, :rank]
    Q, _ = np.linalg.qr(leading.astype(np.result_type(leading.dtype, np.float64)))
    return Q.reshape(*structure.window, -1, rank)


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


def _with_amplitudes(modes: Modes, result: Result, structure: Hankel) -> Modes:
    """The modes with the amplitudes that fit the samples best."""
    problem = result.problem
    growth = np.max(np.maximum(-modes.dampings, 0.0) @ (np.array(structure.lengths) - 1))
    if growth > MAX_GROWTH:
        raise NoModes(
            f"a mode grows by a factor of exp({growth:.0f}) over the signal, so it fits noise: "
            "pass a smaller rank, or solve with a larger mu"
        )
    weights, values = np.ones(structure.signal_shape), result.y
    if isinstance(problem.measure, Weighted):
        weights, values = to_numpy(problem.measure.weights), problem.data
    elif isinstance(problem.measure, Everything):
        values = problem.data
    channels = (*structure.lengths, -1)
    weights, values = weights.reshape(channels), to_numpy(values).reshape(channels)
    along = exponentials(modes.frequencies, modes.dampings, structure.lengths)
    amplitudes = [
        _amplitudes(along, weights[..., c], values[..., c]) for c in range(weights.shape[-1])
    ]
    shape = (len(modes), -1) if structure.block else len(modes)
    return Modes(modes.frequencies, modes.dampings, np.stack(amplitudes, axis=1).reshape(shape))


def _amplitudes(along: list[np.ndarray], weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of one channel, by weighted least squares."""
    at = np.nonzero(weights)
    columns = weights[at][:, None]
    for index, factors in zip(at, along, strict=True):
        columns = columns * factors[index]
    sizes = np.linalg.norm(columns, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return np.linalg.lstsq(columns / sizes, values[at], rcond=None)[0] / sizes


def exponentials(
    frequencies: np.ndarray, dampings: np.ndarray, shape: tuple[int, ...]
) -> list[np.ndarray]:
    """For each axis the modes' factors along it, shape (samples, r)."""
    rates = 2j * np.pi * frequencies - dampings
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

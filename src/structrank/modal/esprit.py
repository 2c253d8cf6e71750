"""Find the modes in a low-rank matrix by its shifts (ESPRIT, the matrix pencil)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import instance_of, positive_int
from ..model.problem import Problem
from ..solvers.result import Result
from ..structures import Hankel, Structure
from .exponentials import LEAST_SIZE, MAX_GROWTH, exponentials, growth_over
from .modes import Modes, NoModes


@dataclass(frozen=True)
class ModeFinding:
    """Numbers that `find_modes` works with."""

    negligible: float = 1e-12  # singular values below this share of the largest are rounding errors
    mixtures: int = 8  # random mixtures of the shifts; the best conditioned is used; set by hand


def find_modes(
    result: Result, rank: int | None = None, *, finding: ModeFinding = ModeFinding()
) -> Modes:
    """The frequencies, dampings and amplitudes behind a recovered matrix.

    The exponentials of the modes span the columns of a Hankel matrix, and a shift along an axis
    multiplies each by its own number (ESPRIT, the matrix pencil). Frequencies and dampings come
    from the left factor of `result.X`. One set of eigenvectors serves all axes, so that the
    frequencies of a mode along different axes belong together. Amplitudes come from least squares
    on the samples, with the problem's weights, so the nuclear norm does not shrink them. If an
    operator measures, they come from least squares on the recovered signal.

    Parameters
    ----------
    result : Result
        The result for a problem with a `Hankel` or `Toeplitz` structure. Blocks of one row or one
        column are channels that share their modes.
    rank : int, optional
        Number of modes, that is, of leading singular directions to use. Default: all.
    finding : ModeFinding
        Numerical settings.

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
    instance_of(result, Result, "result")
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
    basis = _basis(result, structure, rank, finding.negligible)
    return with_amplitudes(modes_of_basis(basis, finding), result.problem, result.y, structure)


def has_modes(structure: Structure) -> TypeGuard[Hankel]:
    """Whether low rank means few modes; then the structure has the attributes of a `Hankel`."""
    return structure.has_modes


def modes_of_basis(basis: NDArray, finding: ModeFinding = ModeFinding()) -> Modes:
    """Find frequencies and dampings from orthonormal columns, shape (grid..., channels, rank)."""
    shifts = [_shift(basis, axis) for axis in range(basis.ndim - 2)]
    vectors = _common_eigenvectors(shifts, finding.mixtures)
    inverse = np.linalg.pinv(vectors)  # modes that coincide have no full set of eigenvectors
    poles = np.stack([np.diag(inverse @ shift @ vectors) for shift in shifts], axis=1)
    sizes = np.maximum(np.abs(poles), np.finfo(float).tiny)
    return Modes(np.angle(poles) / (2 * np.pi), -np.log(sizes))


def _basis(result: Result, structure: Hankel, rank: int | None, negligible: float) -> NDArray:
    """Orthonormal columns that span the exponentials on a grid: (grid..., channels, rank)."""
    X = result.X.balanced(negligible)
    if X.rank == 0:
        raise ValueError("the recovered matrix is zero and has no modes: solve with a smaller mu")
    rank = X.rank if rank is None else positive_int(rank, "rank")
    if rank > X.rank:
        raise ValueError(
            f"rank is {rank}, but the recovered matrix has rank {X.rank}: pass at most that"
        )
    limit = min(structure.shape[0] // size * (size - 1) for size in structure.window)
    if rank > limit:
        raise NoModes(
            f"rank is {rank}, but shifts in a window {structure.window} distinguish at most "
            f"{limit} modes: pass a smaller rank, or solve with a larger window"
        )
    leading = to_numpy(X.U)[:, :rank]
    Q, _ = np.linalg.qr(leading.astype(np.result_type(leading.dtype, np.float64)))
    return Q.reshape(*structure.window, -1, rank)


def _shift(basis: NDArray, axis: int) -> NDArray:
    """The matrix that shifts the basis by one along an axis, by least squares."""
    along, rank = np.moveaxis(basis, axis, 0), basis.shape[-1]
    here, there = along[:-1].reshape(-1, rank), along[1:].reshape(-1, rank)
    shift: NDArray = np.linalg.lstsq(here, there, rcond=None)[0]
    return shift


def _common_eigenvectors(shifts: list[NDArray], count: int) -> NDArray:
    """Eigenvectors of the best conditioned of some mixtures of the shifts.

    Modes that share a frequency along one axis differ in a mixture. Mixtures are real, so that
    real shifts keep their conjugate pairs.
    """
    mixtures = np.random.default_rng(0).standard_normal((count, len(shifts)))
    found = [np.linalg.eig(np.tensordot(mixture, shifts, 1))[1] for mixture in mixtures]
    return min(found, key=np.linalg.cond)


def with_amplitudes(modes: Modes, problem: Problem, y: Array, structure: Hankel) -> Modes:
    """The modes with the amplitudes that fit the samples best, or the signal y without samples."""
    growth = growth_over(modes.dampings, structure.lengths)
    if growth > MAX_GROWTH:
        raise NoModes(
            f"a mode grows by a factor of exp({growth:.0f}) over the signal, so it fits noise: "
            "pass a smaller rank, or solve with a larger mu"
        )
    weights, values = np.ones(structure.signal_shape), y
    if problem.sample_weights is not None:
        weights, values = to_numpy(problem.sample_weights), problem.data
    channels = (*structure.lengths, -1)
    weights, values = weights.reshape(channels), to_numpy(values).reshape(channels)
    along = exponentials(modes.frequencies, modes.dampings, structure.lengths)
    amplitudes = [
        _amplitudes(along, weights[..., c], values[..., c]) for c in range(weights.shape[-1])
    ]
    shape = (len(modes), -1) if structure.block else len(modes)
    return Modes(modes.frequencies, modes.dampings, np.stack(amplitudes, axis=1).reshape(shape))


def _amplitudes(along: list[NDArray], weights: NDArray, values: NDArray) -> NDArray:
    """The amplitudes in one channel, by weighted least squares; zero where no sample tells them."""
    at = np.nonzero(weights)
    columns = weights[at][:, None]
    for index, factors in zip(at, along, strict=True):
        columns = columns * factors[index]
    sizes = np.linalg.norm(columns, axis=0)
    told = sizes > LEAST_SIZE
    sizes = np.where(told, sizes, 1.0)
    columns = np.where(told, columns / sizes, 0.0)
    amplitudes: NDArray = np.linalg.lstsq(columns, values[at], rcond=None)[0] / sizes
    return amplitudes

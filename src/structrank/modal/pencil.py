"""Modes from the singular vectors of the Hankel matrix of a whole signal (the matrix pencil)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array, NDArray, epsilon, svd, to_numpy
from ..model.certificate import DenseLimit
from ..model.problem import Problem
from .esprit import has_modes, modes_of_basis, with_amplitudes
from .modes import Modes, NoModes


@dataclass(frozen=True)
class Resolution:
    """Which singular values count when there is no noise.

    Attributes
    ----------
    rounding : float
        Smallest share of the largest one, in units of the rounding error of a number. Rounding
        errors in a matrix of n rows have singular values of about sqrt(n) units.
    """

    rounding: float = 50.0


def pencil_modes(
    problem: Problem,
    values: Array,
    rank: int | None = None,
    *,
    resolution: Resolution = Resolution(),
    limit: DenseLimit = DenseLimit(),
) -> Modes | None:
    """Find the modes of a signal without gaps and with very little noise.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes; amplitudes are fitted to its samples.
    values : array
        The whole signal.
    rank : int, optional
        Number of modes. Default: the number of singular values above rounding.
    resolution : Resolution
    limit : DenseLimit

    Returns
    -------
    Modes or None
        None if the matrix is too large to be formed, or does not resolve so many modes.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> from structrank.modal.pencil import pencil_modes
    >>> y = 3 * 0.9 ** np.arange(40) + 1e-6 * 0.5 ** np.arange(40)
    >>> problem = Problem(Hankel(40, window=20), y, mu=1.0)
    >>> pencil_modes(problem, y).poles[:, 0].real.round(6)
    array([0.9, 0.5])
    >>> pencil_modes(problem, y, rank=3) is None
    True
    """
    structure = problem.structure
    if not has_modes(structure) or not limit.allows(structure):
        return None
    if min(structure.window + structure.columns) < 2:
        return None
    U, s, _ = svd(to_numpy(structure.to_dense(values)))
    resolved = int(np.count_nonzero(s > resolution.rounding * epsilon(values) * s[0]))
    rank = resolved if rank is None else rank
    shifts = min(structure.shape[0] // size * (size - 1) for size in structure.window)
    if not 0 < rank <= min(resolved, shifts):
        return None
    basis: NDArray = U[:, :rank].reshape(*structure.window, -1, rank)
    try:
        return with_amplitudes(modes_of_basis(basis), problem, values, structure)
    except NoModes:  # a mode grows too fast
        return None


def exact_modes(problem: Problem, rank: int | None = None) -> Modes | None:
    """Find the modes of samples without gaps and noise.

    Parameters
    ----------
    problem : Problem
    rank : int, optional
        Number of modes. Default: all above rounding.

    Returns
    -------
    Modes or None
        None if samples are missing, or if there are too many modes for samples without noise.
    """
    if not np.all(problem.seen):
        return None
    modes = pencil_modes(problem, problem.b, rank)
    few = modes is not None and 2 * len(modes) < np.prod(problem.b.shape)
    return modes if few else None

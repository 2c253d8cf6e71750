"""Fill the gaps of a record of inputs and outputs by the least nuclear norm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray
from .._checks import positive, positive_int, random_generator
from ..model.largest_mu import mu_max
from ..model.lowrank import LowRank
from ..model.measure import Weighted
from ..model.problem import Problem
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate
from ..solvers.result import Result
from ..solvers.stopping import Stop
from ..structures import Hankel


@dataclass(frozen=True)
class GapFilling:
    """How the gaps of a record are filled.

    Attributes
    ----------
    window : int
        Block rows of the joint Hankel matrix. A third of a short record, if that is less. Set by
        hand: larger than most orders; 40 took 4 to 6 times as long and filled about as well.
    mus : tuple of float
        Values of mu that are tried, as shares of the mu above which the solution is zero. Set by
        hand: two per decade.
    hidden : float
        Share of the samples that are held out to choose mu. Set by hand, a common share.
    max_iter : int
        Iteration limit of each solve. Set by hand, far above what most solves need.
    """

    window: int = 12
    mus: tuple[float, ...] = (0.03, 0.01, 0.003)
    hidden: float = 0.1
    max_iter: int = 1000


@dataclass(frozen=True, eq=False)
class Completed:
    """A record without gaps.

    Attributes
    ----------
    record : ndarray, shape (samples, channels)
        What is seen, and the filled gaps.
    errors : ndarray, shape (channels,)
        Root mean square error on held-out samples, per channel.
    result : Result
        The convex solution that filled the gaps.
    """

    record: NDArray
    errors: NDArray
    result: Result


def completed(
    z: NDArray,
    window: int | None,
    mu: float | None,
    rng: int | np.random.Generator,
    filling: GapFilling,
) -> Completed:
    """Fill the gaps (NaN) of a record; the mu that best predicts held-out samples is chosen."""
    sample_count, channels = z.shape
    default = max(min(filling.window, sample_count // 3), 1)
    rows = default if window is None else positive_int(window, "completion_window")
    structure = Hankel(sample_count, window=rows, block=(channels, 1))
    shares = filling.mus if mu is None else (positive(mu, "mu"),)
    seen = ~np.isnan(z)
    hidden = seen & (random_generator(rng).random(z.shape) < filling.hidden)
    errors: list[NDArray] = []
    starts: list[LowRank] = []
    for result in _path(structure, z, seen & ~hidden, shares, filling.max_iter):
        starts.append(result.X)
        wrong = np.where(hidden, result.y[..., 0] - z, 0.0)
        errors.append(np.sum(wrong**2, axis=0) / np.maximum(np.sum(hidden, axis=0), 1))
        if len(errors) > 2 and np.sum(errors[-1]) > np.sum(errors[-2]) > np.sum(errors[-3]):
            break
    best = int(np.argmin(np.sum(errors, axis=1)))
    [result] = _path(structure, z, seen, shares[best : best + 1], filling.max_iter, starts[best])
    return Completed(np.where(seen, z, result.y[..., 0]), np.sqrt(errors[best]), result)


def _path(
    structure: Hankel,
    z: NDArray,
    seen: NDArray,
    shares: tuple[float, ...],
    max_iter: int,
    start: LowRank | None = None,
) -> Iterator[Result]:
    """Solutions for falling mu, each started from the one before."""
    problem = Problem(structure, z[..., None], 1.0, Weighted("lifted", seen[..., None]))
    largest, stop = mu_max(problem), Stop(max_iter=max_iter)
    for share in shares:
        at = replace(problem, mu=share * largest)
        result = iterate(
            gcgls_states(at, 1.0, start=start, stop=stop, certify=False), at, stop=stop
        )
        start = result.X
        yield result

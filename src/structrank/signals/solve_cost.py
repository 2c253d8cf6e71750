"""How long a solve of a problem will take on its device: an estimate from the time of FFTs."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod
from typing import Any

import numpy as np

from .._array import Array, fft, fft_length, like, to_numpy
from ..model.problem import Problem
from .work import Timing, shortest


@dataclass(frozen=True)
class SolveCounts:
    """How much work `gcgls` does to a gap of 1e-3, for a few modes above the noise.

    Medians for 2^10 to 2^16 samples and 2 to 16 modes, which took 0.4 to 1.5 times as long.

    Attributes
    ----------
    transforms : int
        FFTs of the length of the signal, for each column of the factors.
    calls : int
        Calls of short functions, each as long as a short FFT.
    spread : float
        From the middle of the range of times to its ends, as a factor.
    longest, shortest : int
        Samples of the FFTs that are timed.
    """

    transforms: int = 450
    calls: int = 6000
    spread: float = 3.0
    longest: int = 2**20
    shortest: int = 64


def solve_seconds(problem: Problem, rank: int, counts: SolveCounts = SolveCounts()) -> float:
    """Estimate the time of `gcgls` on the device of a problem.

    Parameters
    ----------
    problem : Problem
    rank : int
        Rank of the solution.
    counts : SolveCounts

    Returns
    -------
    float
        Seconds.
    """
    signal = problem.backprojection
    size = prod(signal.shape)
    timed = max(min(size, counts.longest), counts.shortest)
    growth: float = size * log2(size + 1) / (timed * log2(timed + 1))
    one = _fft_seconds(signal, timed) * max(growth, 1.0)
    call = _fft_seconds(signal, counts.shortest)
    return float(counts.transforms * rank * one + counts.calls * call)


def _fft_seconds(reference: Array, length: int) -> float:
    """The time of an FFT, until its result can be read."""
    rows: Any = like(np.ones((2, length)), reference)

    def transform() -> None:
        there = fft(rows, [fft_length(length)], [1])
        to_numpy(there[:1, :1])

    transform()  # the first call prepares tables
    return shortest(transform, Timing()) / 2

"""One step of the local search beside the bare FFTs it needs.

    python -m benchmarks.floor [exponent of the length, default 18]

A step transforms the direction (2r transforms of the signal's length), transforms the gradient
back (2r), and needs four transforms of signals. The floor is those 4r + 4 transforms alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.fft

from benchmarks.signals import gappy_modes
from structrank import LowRank, Penalized
from structrank.solvers.local_search import local_search


def seconds(task: Callable[[], None]) -> float:
    """Time of one run."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def main(length: int = 2**18, rank: int = 8) -> float:
    problem = gappy_modes(length, rank)
    objective = Penalized(problem, lam=1.0)
    rng = np.random.default_rng(2)

    def factor(rows: int) -> np.ndarray:
        return (rng.standard_normal((rank, rows)) + 1j * rng.standard_normal((rank, rows))).T

    X = LowRank(*(factor(rows) for rows in problem.structure.shape))

    def search(steps: int) -> None:
        local_search(objective, X, max_steps=steps, tolerance=-np.inf)

    stacks = [factor(length).T.copy() for _ in range(4)]  # as in a step, no two the same
    signals = factor(length).T[:4].copy()

    def bare() -> None:
        for forth, back in (stacks[:2], stacks[2:]):
            scipy.fft.fft(forth, axis=1)
            scipy.fft.ifft(back, axis=1)
        scipy.fft.fft(signals, axis=1)

    few, many = 6, 16
    floors, steps = [], []
    for _ in range(5):  # side by side, as the machine's speed may change
        floors.append(min(seconds(bare) for _ in range(3)))
        steps.append((seconds(lambda: search(many)) - seconds(lambda: search(few))) / (many - few))
    floor, step = np.median(floors), np.median(steps)
    print(f"L = {length}, r = {rank}, complex, {scipy.fft.get_workers()} FFT worker(s)")
    print(f"bare FFTs ({4 * rank + 4})   {1e3 * floor:8.1f} ms")
    print(f"one search step     {1e3 * step:8.1f} ms")
    print(f"ratio               {step / floor:8.2f}   (target: at most 2)")
    return step / floor


if __name__ == "__main__":
    main(2 ** int(sys.argv[1]) if sys.argv[1:] else 2**18)

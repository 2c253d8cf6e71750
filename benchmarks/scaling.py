"""Time and memory of gcgls against the length of the signal.

    python -m benchmarks.scaling [largest exponent, default 20]

One-dimensional complex Hankel matrix, window half the length, 8 modes, 30% seen,
L = 2^12 ... 2^20. Three outer steps of ten search steps each at every size, so that the same
work is timed everywhere. Every size runs in a process of its own, so that its peak memory is
its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import scipy.fft

WORKERS = 2  # threads of the FFTs


def one_size(length: int) -> dict[str, float]:
    """Solve one size; time per outer step and peak memory above that before the solve."""
    from benchmarks.signals import gappy_modes
    from structrank import ConvergenceWarning, Stop, gcgls

    warnings.simplefilter("ignore", ConvergenceWarning)
    problem = gappy_modes(length)
    options = {"lam": 1.0, "search_steps": 10, "search_tolerance": 0.0}
    options["stop"] = Stop(max_iter=3, xtol=None, rtol=None)
    gcgls(gappy_modes(2**10), **options)  # imports and buffers of a first call
    before = _current_bytes()
    gcgls(problem, **options)  # the first touch of memory is the operating system's time
    began = time.perf_counter()
    result = gcgls(problem, **options)
    seconds = time.perf_counter() - began
    factors = result.X.U.nbytes + result.X.V.nbytes
    peak = _peak_bytes() - before
    tracemalloc.start()
    gcgls(problem, **options)
    arrays = tracemalloc.get_traced_memory()[1] / result.y.nbytes
    return {
        "steps": result.iterations,
        "rank": result.rank,
        "gap": result.gap,
        "per_step": seconds / result.iterations,
        "factors": factors,
        "memory": peak,
        "arrays": arrays,
    }


def _current_bytes() -> int:
    """Resident memory now, where the system tells; else the peak so far."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return _peak_bytes()
    return resource.getpagesize() * int(statm.read_text().split()[1])


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(largest: int = 20) -> None:
    print(f"complex Hankel, window L/2, 8 modes, 30% seen; {WORKERS} FFT workers")
    print(
        f"{'L':>9} {'matrix entries':>14} {'steps':>5} {'rank':>4} {'gap':>8} "
        f"{'s/step':>8} {'peak MB':>8} {'peak / factors':>14} {'arrays / signal':>15}"
    )
    lengths, seconds = [], []
    for exponent in range(12, largest + 1):
        length = 2**exponent
        command = [sys.executable, "-m", "benchmarks.scaling", "--one", str(length)]
        row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        lengths.append(length)
        seconds.append(row["per_step"])
        print(
            f"{length:>9} {(length / 2) ** 2:>14.1e} {row['steps']:>5} {row['rank']:>4} "
            f"{row['gap']:>8.1e} {row['per_step']:>8.3f} {row['memory'] / 2**20:>8.0f} "
            f"{row['memory'] / row['factors']:>14.1f} {row['arrays']:>15.1f}",
            flush=True,
        )
    slope = np.polyfit(np.log(lengths[-5:]), np.log(seconds[-5:]), 1)[0]
    print(
        f"log-log slope of time per outer step, top five sizes: {slope:.3f} (target: at most 1.15)"
    )
    print("peak / factors: target at most 40 at every size")
    print("arrays / signal: largest sum of all arrays; target at most 80 from 2^18 on")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        with scipy.fft.set_workers(WORKERS):
            print(json.dumps(one_size(int(sys.argv[2]))))
    else:
        main(*(int(a) for a in sys.argv[1:2]))

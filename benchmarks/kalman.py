"""Likelihood and smoother of `StateSpace` beside the compiled ones of statsmodels.

    python -m benchmarks.kalman [largest exponent, default 6]

A random stable system with 4, 8, 12 and 20 states, one output with 40% of its samples missing, of
10^3 ... 10^6 samples. Every entry is the best of a few runs in a process of its own, on one thread:
milliseconds of the processor, and the peak memory beyond that before the call, in MB. statsmodels
keeps several d x d matrices per sample; entries that would take more than 4 GB are left out.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

STATES = (4, 8, 12, 20)
MOST_ENTRIES = 2e7  # of the covariances of all samples, in statsmodels


def system(states: int, samples: int):
    """A model with a known start, and a record of it."""
    from structrank import StateSpace

    rng = np.random.default_rng(states)
    A = rng.standard_normal((states, states))
    A *= 0.95 / np.abs(np.linalg.eigvals(A)).max()
    noise = {"Q": np.eye(states), "R": [[1.0]]}
    start = {"x0": np.zeros(states), "x0_covariance": np.eye(states)}
    model = StateSpace(A, None, rng.standard_normal((1, states)), None, **noise, **start)
    pieces = []
    for _ in range(10):  # in pieces, so that the record itself takes little memory
        pieces.append(model.simulate(steps=samples // 10, rng=rng))
    y = np.concatenate(pieces)
    y[rng.random(samples) < 0.4] = np.nan
    return model, y


def measure(states: int, samples: int, what: str) -> dict[str, float]:
    """Time and memory of one call; the process ends afterwards."""
    model, y = system(states, samples)
    if what.startswith("statsmodels"):
        smoother = model.to_statsmodels(y)
        call = smoother.loglike if what.endswith("likelihood") else lambda: smoother.smooth().llf
    elif what == "smooth":
        call = lambda: float(np.nansum(model.smooth(y).innovations))  # noqa: E731
    elif what == "gradient":
        call = lambda: model.loglikelihood_gradient(y)[0]  # noqa: E731
    else:
        call = lambda: model.loglikelihood(y)  # noqa: E731
    before, best = resident(), np.inf
    for _ in range(25 if samples <= 10**4 else 2 if samples <= 10**5 else 1):
        began = time.process_time()
        value = call()
        best = min(best, time.process_time() - began)
    return {"ms": 1e3 * best, "MB": peak() - before, "value": value}


def peak() -> float:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident() -> float:
    """Memory of this process now, in MB, where the system tells; else the peak so far."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return peak()
    return resource.getpagesize() * int(statm.read_text().split()[1]) / 2**20


def in_a_process(states: int, samples: int, what: str) -> dict[str, float] | None:
    if what == "statsmodels smooth" and samples * states**2 > MOST_ENTRIES:
        return None
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.kalman", "--one"]
    one_thread = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
    output = subprocess.run(
        [*command, str(states), str(samples), what],
        env={**os.environ, **one_thread},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return json.loads(output)


def main(largest: int) -> None:
    calls = ("likelihood", "statsmodels likelihood", "gradient", "smooth", "statsmodels smooth")
    print("states samples  " + "".join(f"{name:>24}" for name in calls))
    for states in STATES:
        for exponent in range(3, largest + 1):
            row = [in_a_process(states, 10**exponent, what) for what in calls]
            cells = [f"{r['ms']:11.1f} ms {r['MB']:6.0f} MB" if r else "-" for r in row]
            print(
                f"{states:6d} 10^{exponent}     " + "".join(f"{x:>24}" for x in cells), flush=True
            )
            ours, theirs = row[0]["value"], row[1]["value"]
            assert abs(ours - theirs) < 1e-8 * abs(theirs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)

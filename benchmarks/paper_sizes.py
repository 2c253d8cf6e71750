"""The paper's sizes in its stochastic realisation set-up, beside a literal O(MN) gcgls.

    python -m benchmarks.paper_sizes [--largest 1..4]

(M, N) = (2050, 10000) ... (8200, 40000): j = 41, k = 200, n = 50, 100, 150, 200 outputs. The
paper's own penalty (differences), its stopping rule, its start. The literal rival at the
first size runs the same algorithm and local search on dense matrices with sparse B and C. Every
run has a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np

from benchmarks.literal import Literal
from structrank import Hankel, LowRank, Mask, Penalized, Problem, Result, Stop, mu_max
from structrank.run import run
from structrank.solvers.gcg import algorithm_1

OUTPUTS = (50, 100, 150, 200)
J, K, ORDER, SAMPLES, NOISE, LAM = 41, 200, 10, 1000, 0.05, 1.0


def covariances(n: int, seed: int = 0) -> np.ndarray:
    """Empirical covariances of a random system, the matrices D, E, F at spectral norm one."""
    rng = np.random.default_rng(seed)
    shapes = ((ORDER, ORDER), (ORDER, n), (n, ORDER))
    D, E, F = (A / np.linalg.norm(A, 2) for A in (rng.standard_normal(s) for s in shapes))
    state = rng.standard_normal(ORDER)
    z = np.empty((SAMPLES, n))
    for t in range(SAMPLES):
        u = rng.standard_normal(n)
        z[t] = F @ state + u + NOISE * rng.standard_normal(n)
        state = D @ state + E @ u
    v = np.zeros((J + K - 1, n, n))
    for i in range(1, K + 1):
        v[i - 1] = z[i:].T @ z[:-i] / SAMPLES
    return v


def realisation_problem(n: int) -> Problem:
    """The first K blocks are seen; mu is half of mu_max."""
    v = covariances(n)
    seen = np.zeros(v.shape, dtype=bool)
    seen[:K] = True
    structure = Hankel((J + K - 1,), window=J, block=(n, n))
    mu = 0.5 * mu_max(Problem(structure, v, 1.0, Mask(seen)))
    return Problem(structure, v, mu, Mask(seen))


def solve(kind: str, problem: Problem) -> tuple[float, Result]:
    """Seconds and result, with our objective or the literal one."""
    began = time.perf_counter()
    make = partial(Penalized, penalty="difference") if kind == "ours" else Literal
    objective = make(problem, LAM)
    start = LowRank.ones(problem.structure.shape, problem.b)
    states = algorithm_1(objective, start, step="joint", pairs=8, search_steps=100, stop=Stop())
    result = run(states, problem, stop=Stop())
    return time.perf_counter() - began, result


def one_run(kind: str, n: int) -> dict[str, float]:
    """Solve one size, the shorter of two runs, after a small one for what is loaded first."""
    problem = realisation_problem(n)
    solve(kind, realisation_problem(2))
    seconds, result = min((solve(kind, problem) for _ in range(2)), key=lambda pair: pair[0])
    return {
        "seconds": seconds,
        "objective": result.objective,
        "rank": result.rank,
        "steps": result.iterations,
        "peak": _peak_bytes(),
    }


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(largest: int = 4) -> None:
    print(
        f"{'method':<8} {'M x N':>13} {'signal values':>13} {'steps':>5} {'rank':>4} "
        f"{'objective':>12} {'seconds':>8} {'peak MB':>8}"
    )
    values, seconds, objectives = [], [], {}
    for kind, n in [("ours", n) for n in OUTPUTS[:largest]] + [("literal", OUTPUTS[0])]:
        command = [sys.executable, "-m", "benchmarks.paper_sizes", "--one", kind, str(n)]
        row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        size = (J + K - 1) * n * n
        print(
            f"{kind:<8} {f'{J * n} x {K * n}':>13} {size:>13} {row['steps']:>5} {row['rank']:>4} "
            f"{row['objective']:>12.6g} {row['seconds']:>8.2f} {row['peak'] / 2**20:>8.0f}",
            flush=True,
        )
        objectives[kind, n] = row["objective"]
        if kind == "ours":
            values.append(size)
            seconds.append(row["seconds"])
    if largest > 1:
        power = np.polyfit(np.log(values), np.log(seconds), 1)[0]
        print(f"time grows like (signal values)^{power:.2f} (target: at most 1.1)")
    first = OUTPUTS[0]
    difference = objectives["literal", first] / objectives["ours", first] - 1
    print(
        f"literal / ours at {J * first} x {K * first}: {row['seconds'] / seconds[0]:.1f} times "
        f"(target: at least 20), objectives differ by {abs(difference):.1e}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one_run(sys.argv[2], int(sys.argv[3]))))
    else:
        main(int(sys.argv[2]) if sys.argv[1:2] == ["--largest"] else 4)

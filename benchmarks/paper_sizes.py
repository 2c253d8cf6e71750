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
from structrank import LowRank, Penalized, Problem, Result, Stop
from structrank.reproduce.methods import GCGLS
from structrank.reproduce.scalability import SIZES, scalability_problem
from structrank.solvers.algorithm_1 import algorithm_1
from structrank.solvers.driver import run


def solve(kind: str, problem: Problem) -> tuple[float, Result]:
    """Seconds and result, with our objective or the literal one."""
    began = time.perf_counter()
    make = partial(Penalized, penalty="difference") if kind == "ours" else Literal
    objective = make(problem, GCGLS.lam)
    start = LowRank.ones(problem.structure.shape, problem.b)
    states = algorithm_1(objective, start, step="joint", pairs=8, search_steps=100, stop=Stop())
    result = run(states, problem, stop=Stop())
    return time.perf_counter() - began, result


def one_run(kind: str, n: int) -> dict[str, float]:
    """Solve one size, the shorter of two runs, after a small one for what is loaded first."""
    problem = scalability_problem(n)
    solve(kind, scalability_problem(2))
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
    for kind, n in [("ours", n) for n in SIZES.outputs[:largest]] + [("literal", SIZES.outputs[0])]:
        command = [sys.executable, "-m", "benchmarks.paper_sizes", "--one", kind, str(n)]
        row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        size = SIZES.system.lags * n * n
        print(
            f"{kind:<8} {SIZES.system.size(n):>13} {size:>13} {row['steps']:>5} "
            f"{row['rank']:>4} {row['objective']:>12.6g} "
            f"{row['seconds']:>8.2f} {row['peak'] / 2**20:>8.0f}",
            flush=True,
        )
        objectives[kind, n] = row["objective"]
        if kind == "ours":
            values.append(size)
            seconds.append(row["seconds"])
    if largest > 1:
        power = np.polyfit(np.log(values), np.log(seconds), 1)[0]
        print(f"time grows like (signal values)^{power:.2f} (target: at most 1.1)")
    first = SIZES.outputs[0]
    difference = objectives["literal", first] / objectives["ours", first] - 1
    print(
        f"literal / ours at {SIZES.system.size(first)}: "
        f"{row['seconds'] / seconds[0]:.1f} times (target: at least 20), "
        f"objectives differ by {abs(difference):.1e}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one_run(sys.argv[2], int(sys.argv[3]))))
    else:
        main(int(sys.argv[2]) if sys.argv[1:2] == ["--largest"] else 4)

"""Time to a certified gap of 1e-4 on (relax), beside a conic solver and the dense methods.

    python -m benchmarks.certified [--largest N]

Square Hankel matrices of 100 to 5000 rows, half of a noisy signal of three tones seen, mu = 0.1,
no weights. SCS (through CVXPY, to 200) runs to its own tolerance of 1e-4. Of the dense
methods (to 1000) the better one with the best of several betas counts, and only their own
steps: what it takes to evaluate their objectives and bounds does not. `solve` pays for its own.
"""

from __future__ import annotations

import sys
import time
import warnings

import cvxpy as cp
import numpy as np

from structrank import Hankel, Mask, Problem, Status, Stop, solve
from structrank.solvers.rivals import dadmm2, padmm
from structrank.solvers.rivals.dense import DenseProblem

GAP = 1e-4
SIZES = (100, 200, 400, 1000, 2000, 5000)
LARGEST_CONIC, LARGEST_DENSE = 200, 1000
FACTORS = (10.0, 30.0, 3.0)  # of beta, over mu by the norm of the lifted data


def tones(size: int) -> Problem:
    """Three noisy tones, half seen, whose Hankel matrix is square."""
    rng = np.random.default_rng(0)
    t = np.arange(2 * size - 1)
    truth = np.cos(0.31 * t) + 0.7 * np.sin(0.77 * t + 1) + 0.5 * np.cos(1.9 * t)
    seen = rng.random(t.size) < 0.5
    b = truth + 0.1 * rng.standard_normal(t.size)
    return Problem(Hankel(t.size, window=size), b, 0.1, Mask(seen))


def ours(problem: Problem) -> tuple[float, float, str]:
    """Seconds, objective and a remark: the shorter of two runs."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        result = solve(problem, GAP)
        seconds.append(time.perf_counter() - began)
    assert result.status is Status.SOLVED
    return min(seconds), result.objective, f"rank {result.rank}, gap {result.gap:.1e}"


def conic(problem: Problem) -> tuple[float, float, str]:
    """CVXPY with SCS, and how long SCS itself takes of that."""
    index, seen = problem.structure.index(), problem.measure.weights > 0
    y = cp.Variable(seen.size)
    matrix = cp.reshape(y[index.reshape(-1)], index.shape, order="C")
    loss = cp.sum_squares(y[seen] - problem.b[seen]) / 2
    program = cp.Problem(cp.Minimize(loss + problem.mu * cp.normNuc(matrix)))
    began = time.perf_counter()
    program.solve(solver=cp.SCS, eps_abs=GAP, eps_rel=GAP, max_iters=100_000)
    seconds = time.perf_counter() - began
    residual = problem.measure.forward(y.value) - problem.data
    nuclear_norm = np.linalg.norm(problem.structure.to_dense(y.value), "nuc")
    value = residual @ residual / 2 + problem.mu * nuclear_norm
    stats = program.solver_stats
    return seconds, value, f"{stats.num_iters} steps, {stats.solve_time:.2f} s of it in SCS itself"


def dense(problem: Problem) -> tuple[float, float, str]:
    """The best of both alternating direction methods over all betas."""
    best = (np.inf, np.inf, "none got there")
    scale = DenseProblem(problem).scale
    for factor in FACTORS:
        for method, beta in ((dadmm2, 1 / (factor * scale)), (padmm, factor * scale)):
            limit = best[0] if np.isfinite(best[0]) else None
            stop = Stop(5000, xtol=None, rtol=None, gap=GAP, max_time=limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = method(problem, beta=beta, stop=stop)
            if result.status is Status.SOLVED:
                remark = f"{method.__name__}, {result.iterations} steps, beta factor {factor:g}"
                best = min(best, (result.history.time[-1], result.objective, remark))
    return best


def main(largest: int = SIZES[-1]) -> None:
    print(f"{'size':>5} {'method':<7} {'seconds':>8} {'ratio':>6} {'objective':>11}")
    for size in (size for size in SIZES if size <= largest):
        problem = tones(size)
        rows = {"solve": ours(problem)}
        if size <= LARGEST_CONIC:
            rows["SCS"] = conic(problem)
        if size <= LARGEST_DENSE:
            rows["dense"] = dense(problem)
            rows["solve"] = min(rows["solve"], ours(problem))  # the machine may have changed
        for name, (seconds, objective, remark) in rows.items():
            ratio = seconds / rows["solve"][0]
            print(
                f"{size:>5} {name:<7} {seconds:>8.2f} {ratio:>6.1f} {objective:>11.5f}  {remark}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[2]) if sys.argv[1:2] == ["--largest"] else SIZES[-1])

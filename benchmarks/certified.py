"""Time to a certified gap on (relax), beside conic solvers and the dense methods.

    python -m benchmarks.certified [--largest N]

First small problems to a gap of 1e-6, of 20 to 200 rows, with the time that SCS (to its own
tolerance of 1e-6) and Clarabel (to 60 rows, with its default tolerance of 1e-8) report for their
solves, without CVXPY's compilation. Then larger ones to 1e-4.

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

GAP, SMALL_GAP = 1e-4, 1e-6
SMALL_SIZES = (20, 40, 60, 100, 200)
LARGEST_CLARABEL = 60  # it takes 9 s at 40 rows, a minute at 60 and many at 100
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


def ours(problem: Problem, gap: float = GAP) -> tuple[float, float, str]:
    """Seconds, objective and a remark: the shorter of two runs."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        result = solve(problem, gap)
        seconds.append(time.perf_counter() - began)
    assert result.status is Status.SOLVED
    return min(seconds), result.objective, f"rank {result.rank}, gap {result.gap:.1e}"


def conic(problem: Problem, solver: str = cp.SCS, gap: float = GAP) -> tuple[float, float, str]:
    """CVXPY with a conic solver, and how long the solver itself takes of that."""
    index, seen = problem.structure.index(), problem.measure.weights > 0
    y = cp.Variable(seen.size)
    matrix = cp.reshape(y[index.reshape(-1)], index.shape, order="C")
    loss = cp.sum_squares(y[seen] - problem.b[seen]) / 2
    program = cp.Problem(cp.Minimize(loss + problem.mu * cp.normNuc(matrix)))
    began = time.perf_counter()
    options = {"eps_abs": gap, "eps_rel": gap, "max_iters": 100_000} if solver == cp.SCS else {}
    program.solve(solver=solver, **options)
    seconds = time.perf_counter() - began
    residual = problem.measure.forward(y.value) - problem.data
    nuclear_norm = np.linalg.norm(problem.structure.to_dense(y.value), "nuc")
    value = residual @ residual / 2 + problem.mu * nuclear_norm
    stats = program.solver_stats
    remark = f"{stats.num_iters} steps, {stats.solve_time:.3f} s of it in {solver} itself"
    return (stats.solve_time if gap == SMALL_GAP else seconds), value, remark


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


def small() -> None:
    """Print the seconds that each solver itself takes for small problems."""
    for size in SMALL_SIZES:
        problem = tones(size)
        runs = range(3 if size <= LARGEST_CLARABEL else 1)  # the shortest of so many counts
        rows = {
            "SCS": min(conic(problem, cp.SCS, SMALL_GAP) for _ in runs),
            "solve": min(ours(problem, SMALL_GAP) for _ in runs),
        }
        if size <= LARGEST_CLARABEL:
            rows["Clarabel"] = conic(problem, cp.CLARABEL, SMALL_GAP)
        show(size, rows)


def show(size: int, rows: dict[str, tuple[float, float, str]]) -> None:
    for name, (seconds, objective, remark) in rows.items():
        ratio = seconds / rows["solve"][0]
        figures = f"{seconds:>8.3f} {ratio:>6.1f} {objective:>11.5f}"
        print(f"{size:>5} {name:<8} {figures}  {remark}", flush=True)


def main(largest: int = SIZES[-1]) -> None:
    print(f"{'size':>5} {'method':<8} {'seconds':>8} {'ratio':>6} {'objective':>11}")
    small()
    for size in (size for size in SIZES if size <= largest):
        problem = tones(size)
        rows = {"solve": ours(problem)}
        if size <= LARGEST_CONIC:
            rows["SCS"] = conic(problem)
        if size <= LARGEST_DENSE:
            rows["dense"] = dense(problem)
            rows["solve"] = min(rows["solve"], ours(problem))  # the machine may have changed
        show(size, rows)


if __name__ == "__main__":
    main(int(sys.argv[2]) if sys.argv[1:2] == ["--largest"] else SIZES[-1])

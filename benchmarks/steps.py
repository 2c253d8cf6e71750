"""`gcg` by its default step against the printed step, after 10, 100 and 1000 iterations.

    python -m benchmarks.steps [--iterations 10 100 1000] [--problems 24] [--realization]

Small problems: Hankel (1-D, 2-D, block) and Toeplitz, real and complex, three values of mu. What is
compared is the distance of the best objective so far from the optimum, which `gcgls` finds to
1e-10. With --realization also the paper's realisation problem of 420 x 2000, in the set-up in which
the order can be found.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from structrank import Hankel, Problem, Stop, Structure, Toeplitz, gcgls, mu_max
from structrank.reproduce.cases import WellPosed, well_posed_case
from structrank.solvers.conditional_gradient import gcgls_states

STRUCTURES: tuple[Structure, ...] = (
    Hankel(25, window=11),
    Hankel((7, 6), window=(3, 3)),
    Hankel(9, window=4, block=(2, 2)),
    Toeplitz(21, window=11),
)
MU_SHARES = (0.1, 0.3, 0.02)  # of mu_max


def problems() -> Iterator[Problem]:
    """Noisy sums of three exponentials on all structures."""
    cases = itertools.product(STRUCTURES, (False, True), MU_SHARES)
    for seed, (structure, is_complex, share) in enumerate(cases):
        rng = np.random.default_rng(seed)
        places = np.indices(structure.signal_shape)
        b = np.zeros(structure.signal_shape, dtype=complex)
        for _ in range(3):
            phase = sum(rng.uniform(0, np.pi) * place for place in places)
            b += (1 + rng.random()) * np.exp(1j * phase)
        b += 0.1 * (rng.standard_normal(b.shape) + 1j * rng.standard_normal(b.shape))
        b = b if is_complex else b.real
        yield Problem(structure, b, share * mu_max(Problem(structure, b, 1.0)))


def excesses(problem: Problem, step: str, iterations: Sequence[int], optimum: float) -> np.ndarray:
    """Best objective so far less the optimum, after each number of iterations."""
    states = gcgls_states(problem, 1.0, step=step, pairs=1, search_steps=0)
    objectives = [s.objective for s in itertools.islice(states, max(iterations) + 1)]
    best = np.minimum.accumulate(objectives)
    return best[np.array(iterations)] - optimum


def ratios(iterations: Sequence[int], count: int) -> np.ndarray:
    """Excess of the default step over that of the printed one, a row per problem."""
    rows = []
    for problem in itertools.islice(problems(), count):
        rows.append(ratio(problem, iterations, gap=1e-10))
    return np.array(rows)


def ratio(problem: Problem, iterations: Sequence[int], gap: float) -> np.ndarray:
    """Excess of the default step over that of the printed one."""
    optimum = gcgls(problem, 1.0, stop=Stop(5000, xtol=None, rtol=None, gap=gap)).objective
    ours, printed = (excesses(problem, s, iterations, optimum) for s in ("corrective", "paper"))
    return ours / printed


def realization() -> Problem:
    """The paper's realisation problem, where there is something to find."""
    return well_posed_case(20, WellPosed(), rng=0).problem("reform2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--realization", action="store_true")
    options = parser.parse_args()
    table = ratios(options.iterations, options.problems)
    print("distance from the optimum, default over printed step (goal: at most 1.1)")
    print(f"{'iterations':>12} {'geometric mean':>15} {'largest':>9}")
    for k, column in zip(options.iterations, table.T, strict=True):
        mean = np.exp(np.mean(np.log(np.maximum(column, 1e-6))))
        print(f"{k:>12} {mean:>15.3f} {column.max():>9.3f}")
    if options.realization:
        row = ratio(realization(), options.iterations, gap=1e-7)
        print(
            "realisation, 420 x 2000:",
            *(f"{r:.3f} after {k}" for k, r in zip(options.iterations, row, strict=True)),
        )


if __name__ == "__main__":
    main()

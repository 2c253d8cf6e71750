"""Bounds of many iterates against objectives that were attained, and what a proven bound costs.

    python -m benchmarks.certificates [--iterates N] [--conic PROBLEMS] [--largest POWER]
                                      [--first SEED]

Small problems of every structure, real and complex, with masks, weights and operators, both
penalties, C_proj and C_sp, several lam and mu. Every iterate of `gcg`, `gcgls`, `gcgls_loss`,
`solve`, `homotopy` and the variants claims a lower bound on the optimum. No bound may lie above an
objective that an iterate of the same problem attains; objectives are recomputed from the dense
matrix. Then `solve` is stopped five times at random for each of many smaller problems, with dense
matrices and with thin factors, and the optimum has to lie between the bounds; it comes from a conic
solver. Then signals that are built against the random starts of another run, and the time of the
bounds as a part of a `gcgls` run on long signals.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import structrank.solvers.gradient_state as bounds
from structrank import (
    Circulant,
    ConvergenceWarning,
    Hankel,
    Hessenberg,
    Huber,
    Indexed,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Result,
    State,
    Stop,
    Structure,
    Sylvester,
    Toeplitz,
    Weighted,
    gcg,
    gcgls,
    gcgls_loss,
    homotopy,
    mu_max,
    solve,
    solve_robust,
    solve_trusted,
)
from structrank.model.certificate import DenseLimit
from structrank.model.starts import RandomStarts
from structrank.solvers import exact
from structrank.solvers.conditional_gradient import gcgls_states
from structrank.solvers.driver import iterate
from structrank.solvers.gradient_state import Accuracy
from structrank.solvers.huber_loss import HuberLoss
from structrank.solvers.proven import Proof
from structrank.solvers.rivals import interior_point

STRUCTURES: tuple[Structure, ...] = (
    Hankel(25, window=11),
    Hankel((6, 5), window=(3, 3)),
    Hankel((4, 3, 4), window=(2, 2, 2)),
    Hankel(7, window=3, block=(2, 2)),
    Toeplitz(21, window=10),
    Toeplitz((5, 4), window=(3, 2)),
    Circulant(9),
    Sylvester((5, 4)),
    Hessenberg(6),
    Indexed([[0, 1, -1, 2], [1, -1, 2, 2], [3, 1, 0, 2]]),
)
SMALL: tuple[Structure, ...] = (
    Hankel(11, window=5),
    Hankel((4, 3), window=(2, 2)),
    Hankel(5, window=3, block=(2, 1)),
    Toeplitz(9, window=5),
    Circulant(5),
    Sylvester((3, 4)),
    Hessenberg(4),
    STRUCTURES[-1],
)
CONIC = 1e-5  # largest gap of an optimum by the conic solver
STOPS = 5  # of `solve`, for each problem that a conic solver has solved
LANCZOS = Accuracy(proof=Proof(dense=DenseLimit(0)))  # bounds as for large matrices
ROUNDING = 1e-9  # relative excess of a bound over an attained objective that is rounding

Objective = Callable[[State], float]


def small_problem(structure: Structure, rng: np.random.Generator) -> Problem:
    """Noisy samples of a structured signal of low rank, measured in a random way."""
    is_complex = rng.random() < 0.5

    def draw(*shape: int) -> np.ndarray:
        values = rng.standard_normal(shape)
        return values + 1j * rng.standard_normal(shape) if is_complex else values

    y = structure.average(*(draw(n, 2) for n in structure.shape))
    b = y + 10 ** rng.uniform(-3, 0) * draw(*y.shape)
    seen = rng.random(y.shape) < rng.uniform(0.4, 1.0)
    seen.reshape(-1)[0] = True
    weights = rng.uniform(0.3, 2.0, y.shape)
    scaled = Operator(lambda x: weights * x, lambda data: weights * data)
    measures = (None, Mask(seen), Weighted(weights, seen), scaled)
    measure = measures[int(rng.integers(len(measures)))]
    mu = 10 ** rng.uniform(-2.5, 0) * mu_max(Problem(structure, b, 1.0, measure))
    return Problem(structure, b, mu, measure)


def nuclear_norm(matrix: np.ndarray) -> float:
    return float(np.sum(np.linalg.svd(matrix, compute_uv=False)))


def runs(
    problem: Problem, rng: np.random.Generator
) -> Iterator[tuple[str, list[State], Objective]]:
    """The states of each method, and the objective that it minimises."""
    lam, penalty = float(10 ** rng.uniform(-1, 1)), str(rng.choice(["projection", "difference"]))
    recovery = str(rng.choice(["projection", "sparse"]))
    penalized = Penalized(problem, lam, penalty, recovery)
    short, long = (Stop(k, xtol=None, rtol=None, gap=1e-8) for k in (40, 150))
    threshold = float(np.quantile(np.abs(problem.b), 0.8))

    def phi(state: State) -> float:
        smooth = penalized.smooth(penalized.at(state.X))
        return smooth + problem.mu * nuclear_norm(state.X.to_dense())

    def phi_huber(state: State) -> float:
        y = penalized.signal(penalized.at(state.X))
        return phi(state) - problem.misfit(y) + HuberLoss(problem, threshold).value(y)

    def rank_price(state: State) -> float:
        return problem.mu * nuclear_norm(problem.structure.to_dense(state.y))

    def relaxed(state: State) -> float:
        return problem.misfit(state.y) + rank_price(state)

    def robust(state: State) -> float:
        return HuberLoss(problem, threshold).value(state.y) + rank_price(state)

    def collected(method: Callable[..., object], *args: object, **options: object) -> list[State]:
        states: list[State] = []
        method(problem, *args, callback=states.append, **options)
        return states

    kinds = {"penalty": penalty, "recovery": recovery}
    reformed = [
        *collected(gcg, lam, step="paper", stop=short, **kinds),
        *collected(gcg, lam, stop=short, **kinds),
        *collected(gcgls, lam, stop=long, **kinds),
        *collected(gcgls, lam, step="paper", pairs=1, search_steps=3, stop=short, **kinds),
    ]
    without_dense = gcgls_states(problem, lam, stop=long, accuracy=LANCZOS, **kinds)
    iterate(without_dense, problem, stop=long, callback=reformed.append)
    yield "gcg, gcgls", reformed, phi
    huber = collected(gcgls_loss, Huber(threshold), lam, stop=long, **kinds)
    yield "gcgls_loss", huber, phi_huber
    lams = [lam, 10 * lam, 100 * lam]
    original = [*collected(solve, 1e-7), *collected(homotopy, lams, penalty=penalty)]
    yield "solve, homotopy", original, relaxed
    yield "solve_robust", collected(solve_robust, threshold, 1e-6), robust
    if problem.sample_weights is not None:
        trusted = problem.seen & (rng.random(problem.b.shape) < 0.3)
        if np.any(trusted):
            yield "solve_trusted", collected(solve_trusted, trusted, 1e-6), relaxed


def check_bounds(iterates: int, first: int) -> int:
    """Compare bounds with attained objectives; return the number of false ones."""
    checked: dict[str, int] = {}
    false: dict[str, int] = {}
    worst = -np.inf
    for seed in itertools.count(first):
        rng = np.random.default_rng(seed)
        problem = small_problem(STRUCTURES[seed % len(STRUCTURES)], rng)
        for name, states, objective in runs(problem, rng):
            attained = min(objective(state) for state in states)
            excess = [state.objective * (1 - state.gap) / attained - 1 for state in states]
            checked[name] = checked.get(name, 0) + len(states)
            false[name] = false.get(name, 0) + sum(e > ROUNDING for e in excess)
            worst = max(worst, *excess)
        if sum(checked.values()) >= iterates:
            break
    for name, count in checked.items():
        print(f"{name:<16} {count:>7} bounds, {false[name]} above an attained objective")
    print(f"largest relative excess {worst:.1e} (rounding is {ROUNDING:.0e})")
    return sum(false.values())


def lower(result: Result) -> float:
    return result.objective * (1 - result.gap)


def check_conic(count: int, first: int) -> int:
    """Stop `solve` at random; return how often the optimum of a conic solver is outside."""
    false = unsolved = 0
    worst = -np.inf
    suits = exact.suits
    for seed in range(first, first + count):
        rng = np.random.default_rng((seed, 1))
        problem = small_problem(SMALL[seed % len(SMALL)], rng)
        try:
            optimum = interior_point(problem)
        except RuntimeError:
            optimum = None
        if optimum is None or optimum.gap > CONIC:
            unsolved += 1
            continue
        for stop in range(STOPS):
            exact.suits = suits if stop % 2 else lambda problem: False
            found = solve(problem, 1e-9, max_iter=int(rng.integers(1, 40)), rng=rng)
            excess = max(lower(found) / optimum.objective, lower(optimum) / found.objective) - 1
            false += excess > ROUNDING
            worst = max(worst, excess)
    exact.suits = suits
    stops = STOPS * (count - unsolved)
    print(
        f"{count} problems, {unsolved} of them not solved by the conic solver; {stops} random "
        f"stops of solve: {false} exclude its optimum, largest relative excess {worst:.1e}"
    )
    return false


def against(start: np.ndarray, structure: Hankel) -> np.ndarray:
    """A signal whose matrix has rank one and maps the start to zero."""
    roots = np.roots(start[::-1])  # sum_l start_l z^l = 0
    z = roots[np.argmin(np.abs(np.abs(roots) - 1))]
    return (z ** np.arange(structure.signal_shape[0])).astype(complex)


def check_adversaries(count: int) -> int:
    """Count signals that make `solve` claim more than is true, though X = 0 is far from optimal."""
    structure, fooled = Hankel(19, window=10), 0
    zero = LowRank.zeros(structure.shape, np.zeros(19, dtype=complex))
    for seed in range(count):
        innocent = np.random.default_rng(seed).standard_normal(19) + 0j
        start = RandomStarts(Problem(structure, innocent, 0.1), zero).draw()
        problem = Problem(structure, against(start, structure), 0.1)
        fooled += solve(problem, 1e-3).rank == 0
    print(f"{count} signals built against the starts of another run: {fooled} fool solve")
    return fooled


def cost_of_proof(power: int, share: float) -> tuple[float, Result]:
    """Time of the proofs in a run over that of the run, for mu as a share of mu_max."""
    size = 2**power
    rng = np.random.default_rng(power)
    t = np.arange(size)
    tones = np.exp(2j * np.pi * np.outer(t, rng.random(8))) @ (1 + rng.random(8))
    b = tones + (rng.standard_normal(size) + 1j * rng.standard_normal(size))
    seen = rng.random(size) < 0.3
    problem = Problem(Hankel(size, window=size // 2), b, 1.0, Weighted("lifted", seen))
    problem = Problem(problem.structure, b, share * mu_max(problem), problem.measure)
    proven, spent = bounds.proven_norm, [0.0]

    def timed(*args: object, **options: object) -> float:
        began = time.perf_counter()
        norm = proven(*args, **options)
        spent[0] += time.perf_counter() - began
        return norm

    bounds.proven_norm = timed
    try:
        began = time.perf_counter()
        result = gcgls(problem, 1.0, stop=Stop(100, xtol=None, rtol=None, gap=1e-3))
        seconds = time.perf_counter() - began
    finally:
        bounds.proven_norm = proven
    return spent[0] / seconds, result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--iterates", type=int, default=30_000)
    parser.add_argument("--conic", type=int, default=2000, help="problems for a conic solver")
    parser.add_argument(
        "--largest", type=int, default=18, help="longest signal has 2^LARGEST samples"
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        false = check_bounds(options.iterates, options.first)
        false += check_conic(options.conic, options.first) + check_adversaries(100)
        for power, share in itertools.product(range(16, options.largest + 1), (0.1, 0.02)):
            cost, result = cost_of_proof(power, share)
            print(
                f"2^{power} samples, mu = {share} mu_max: {result.outcome}, rank {result.rank}; "
                f"the proof takes {cost:.1%} of gcgls (goal: at most 10%)"
            )
    raise SystemExit(bool(false))


if __name__ == "__main__":
    main()

"""Plants that integrate, and slow ones that do not: what `identify` makes of both.

    python -m benchmarks.integrators [--count 16] [--first 0] [--jobs 2]

Random plants of four kinds, 200 to 850 samples to identify and as many to validate, with 0, 20 or
50% of the inputs and outputs missing:

- a ball on a beam (two integrators) in closed loop, noise of 1 or 3%, operating input 0 or 1,
- a servo (one integrator) likewise,
- a tank with a slow pole, white, slow or drifting disturbances,
- a thermal process with poles at 0.998, 0.98 and 0.9, slow inputs and disturbances.

The table has the fits of the validation part by `identify`, by `identify(..., integrators=0)` and
by the ARX rival of `benchmarks.identification`, as means in which fits below zero count as zero.
The last columns are the number of models with integrators, and the means of the first two fits over
these.
"""

from __future__ import annotations

import argparse
import warnings

import joblib
import numpy as np
from scipy.signal import lfilter

from benchmarks.identification import MISSING, arx, best, score
from structrank import StateSpace, identify
from structrank.systems.input_models import interpolated

Record = tuple[np.ndarray, np.ndarray]


def coloured(rng: np.random.Generator, pole: float, shape: tuple[int, int]) -> np.ndarray:
    """First-order noise."""
    return lfilter([1.0], [1.0, -pole], rng.standard_normal(shape), axis=0)


def in_closed_loop(A, B, C, feedback, rng: np.random.Generator) -> Record:
    """Inputs and outputs of a plant that a proportional controller holds near zero."""
    steps = int(rng.integers(600, 1000))
    reference = coloured(rng, rng.choice([0.0, 0.9]), (steps, 1))
    x, u, y = np.zeros(len(A)), np.zeros((steps, 1)), np.zeros((steps, 1))
    for t in range(steps):
        y[t], u[t] = C @ x, reference[t] - np.dot(feedback, x)
        x = A @ x + B @ u[t]
    y += rng.choice([0.01, 0.03]) * y.std() * rng.standard_normal(y.shape)
    return u + rng.choice([0.0, 1.0]), y


def ball_on_beam(rng: np.random.Generator) -> Record:
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    return in_closed_loop(A, B, np.array([[1.0, 0.0]]), (1.0, 1.5), rng)


def servo(rng: np.random.Generator) -> Record:
    A, B = np.array([[1.0, 0.1], [0.0, rng.uniform(0.6, 0.9)]]), np.array([[0.0], [0.2]])
    return in_closed_loop(A, B, np.array([[1.0, 0.0]]), (0.5, 0.0), rng)


def tank(rng: np.random.Generator) -> Record:
    steps = int(rng.integers(400, 1600))
    A = np.array([[np.exp(-1 / rng.uniform(60, 800)), 0.0], [0.1, rng.uniform(0.3, 0.9)]])
    u = coloured(rng, rng.choice([0.0, 0.9, 0.98]), (steps, 2))
    B, C = rng.standard_normal((2, 2)), rng.standard_normal((1, 2))
    y = StateSpace(A, B, C, None).simulate(u)
    pole = rng.choice([0.0, 0.98, 1.0])
    noise = coloured(rng, pole, (steps, 1)) * {0.0: 1.0, 0.98: 0.2, 1.0: steps**-0.5}[pole]
    return u, y + rng.choice([0.02, 0.1]) * y.std() * noise


def thermal(rng: np.random.Generator) -> Record:
    steps = 1680
    B = rng.standard_normal((3, 2)) * [[0.01], [0.05], [0.3]]
    u = coloured(rng, 0.99, (steps, 2))
    y = StateSpace(np.diag([0.998, 0.98, 0.9]), B, np.ones((1, 3)), None).simulate(u)
    return u, y + 0.02 * y.std() * coloured(rng, 0.98, (steps, 1))


PLANTS = {"ball on a beam": ball_on_beam, "servo": servo, "tank": tank, "thermal": thermal}


def fits(name: str, seed: int) -> tuple[str, bool, list[float]]:
    """Whether integrators were found; fits by `identify`, without integrators, and by ARX."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, len(name)])
    record = np.concatenate(PLANTS[name](rng), axis=1)
    m = record.shape[1] - 1
    early, late = np.split(record, [len(record) // 2])
    early = np.where(rng.random(early.shape) < rng.choice(MISSING), np.nan, early)
    model = identify(early[:, :m], early[:, m:])
    plain = identify(early[:, :m], early[:, m:], integrators=0)
    rival = best(arx, interpolated(early), m)
    found = bool(np.any(np.abs(model.poles - 1) < 1e-6))
    return name, found, [max(score(x, late), 0.0) for x in (model, plain, rival)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=16, help="plants of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    calls = (joblib.delayed(fits)(name, seed) for name in PLANTS for seed in seeds)
    results = joblib.Parallel(n_jobs=options.jobs, batch_size=1)(calls)
    columns = ("identify", "without", "ARX", "integrating", "identify", "without")
    print(f"{'':<16}" + "".join(f"{x:>13}" for x in columns))
    for name in PLANTS:
        rows = [(found, values) for kind, found, values in results if kind == name]
        where = [values for found, values in rows if found]
        means = np.mean([values for _, values in rows], axis=0)
        some = np.mean(where, axis=0)[:2] if where else [np.nan] * 2
        print(f"{name:<16}" + "".join(f"{x:>13.1f}" for x in means), end="")
        print(f"{len(where):>13}" + "".join(f"{x:>13.1f}" for x in some))


if __name__ == "__main__":
    main()

"""Series at irregular times: `recover(times=)` beside a grid, Lomb-Scargle and Gaussian processes.

    python -m benchmarks.irregular [--seeds 5] [--samples 150] [--noise 0.2]

Signals of deviation one are sampled with noise at random times, and estimated at other random
times. Errors are root mean squares over the deviation of the signal there, geometric means over
seeds. `grid` is the same method with as many samples at equal steps. Lomb-Scargle is told the
number of tones, adds one peak of the periodogram after the other, and fits all of them. Gaussian
processes (scikit-learn) have an RBF kernel, and a periodic one that decays; both with white noise.
`inside` is the share of values inside 95% intervals of the signal.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.recovery import count
from structrank import recover
from structrank.components.irregular import ContinuousComponents
from structrank.components.irregular_draws import draws_at
from structrank.components.irregular_likelihood import ContinuousFit
from structrank.components.periodogram import strongest_frequency

TONES = 3


def tones(times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A sum of three sinusoids, one of them above the average rate of two samples per cycle."""
    frequencies = rng.uniform([0.2, 0.8, 3.3], [0.6, 2.0, 4.5])
    sizes, phases = rng.uniform(0.5, 1.0, TONES), rng.uniform(0, 2 * np.pi, TONES)
    return np.cos(np.outer(times, frequencies) + phases) @ sizes


def process(**value: float) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    """Draws of a process with these parameters."""

    def drawn(times: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        components = ContinuousComponents(
            times, cycle="cycle" in value, oscillators="size" in value
        )
        names = {name: name.removesuffix(" 1") for name in components.names}
        all_values = {"white": -20.0, "rate": value.get("rate", 0.0), **value}
        all_values |= {"cycle rate": value.get("rate", 0.0)}
        parameters = np.array([all_values[short] for short in names.values()])
        fit = ContinuousFit(components, parameters, 0.0)
        return draws_at(fit, np.full(len(times), np.nan), 1, rng)[0]

    return drawn


SIGNALS = {
    "tones": tones,
    "AR(1)": process(cycle=0.0, rate=np.log(0.1)),
    "oscillation that drifts": process(size=0.0, rate=np.log(0.03), frequency=1.2),
}


def linear(t: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.interp(at, t, y)


def lomb_scargle(t: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    found: list[float] = []
    for _ in range(TONES):
        found.append(strongest_frequency(t, y, None, found))

    def columns(times):
        angles = np.outer(times, found)
        return np.column_stack([np.ones(len(times)), times, np.cos(angles), np.sin(angles)])

    return columns(at) @ np.linalg.lstsq(columns(t), y, rcond=None)[0]


def gaussian_process(t: np.ndarray, y: np.ndarray, at: np.ndarray, periodic: bool) -> np.ndarray:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel

    kernel = 1.0 * RBF(2.0, (0.1, 1e3))
    if periodic:
        period = 2 * np.pi / strongest_frequency(t, y)
        limits = (0.5 * period, 2 * period)
        kernel = kernel + 1.0 * RBF(30.0, (1.0, 1e4)) * ExpSineSquared(
            1.0, period, (0.1, 10), limits
        )
    model = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1), normalize_y=True, n_restarts_optimizer=2, random_state=0
    )
    return model.fit(t[:, None], y).predict(at[:, None])


RIVALS = {
    "linear": linear,
    "Lomb-Scargle": lomb_scargle,
    "GP": lambda t, y, at: gaussian_process(t, y, at, False),
    "GP periodic": lambda t, y, at: gaussian_process(t, y, at, True),
}


def compare(signal: Callable, seed: int, samples: int, noise: float) -> tuple[dict, float, float]:
    """Errors of all methods, share inside intervals, and our time."""
    rng = np.random.default_rng(seed)
    t, at = np.sort(samples * rng.random(samples)), samples * rng.random(100)
    grid = np.arange(samples) + 0.5
    whole = np.concatenate([t, at, grid])
    order = np.argsort(whole)
    truth = np.empty(len(whole))
    truth[order] = signal(whole[order], rng)
    truth /= np.std(truth)
    wanted = truth[samples : samples + 100]
    errors, nothing = {}, np.full(100, np.nan)
    for name, times, own in (("ours", t, truth[:samples]), ("grid", grid, truth[-samples:])):
        y = own + noise * rng.standard_normal(samples)
        began = time.process_time()
        found = recover(np.append(y, nothing), times=np.append(times, at))
        if name == "ours":
            kept, seconds = y, time.process_time() - began
            inside = np.abs(found.signal[-100:] - wanted) < 1.96 * found.stderr[-100:]
        errors[name] = error(found.signal[-100:], wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors |= {name: error(rival(t, kept, at), wanted) for name, rival in RIVALS.items()}
    return errors, float(np.mean(inside)), seconds


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - truth) ** 2)) / np.std(truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=5)
    parser.add_argument("--samples", type=count, default=150)
    parser.add_argument("--noise", type=float, default=0.2)
    options = parser.parse_args()
    names = ("ours", "grid", *RIVALS)
    print(f"{'signal':<26}" + "".join(f"{n:>14}" for n in names) + f"{'inside':>8}{'s':>7}")
    for title, signal in SIGNALS.items():
        runs = [compare(signal, s, options.samples, options.noise) for s in range(options.seeds)]
        means = {n: np.exp(np.mean(np.log([errors[n] for errors, _, _ in runs]))) for n in names}
        print(
            f"{title:<26}"
            + "".join(f"{means[n]:>14.3f}" for n in names)
            + f"{np.mean([inside for _, inside, _ in runs]):>8.2f}"
            + f"{np.median([seconds for _, _, seconds in runs]):>7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

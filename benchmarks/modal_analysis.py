"""Operational modal analysis: buildings of 3 and 6 floors, with gaps, beside pyOMA2.

    python -m benchmarks.modal_analysis [--seeds 20] [--first 0] [--floors 3 6] [--jobs 1]

Shear buildings under white forces on every floor: accelerations at 50 Hz for two minutes, 5% noise,
30% of the samples missing at random. The first frequency is 2.5 Hz, and the damping ratios grow
from 1% to 2%. `realize_outputs` finds the order. pyOMA2 (covariance-driven SSI), if it is
installed, gets the record with gaps filled by linear interpolation, the true order and the true
frequencies. A line has the orders found, the median errors over seeds, the worst mode first, and
how many 95% intervals hold the truth. `--first` is the first seed, `--jobs` counts processes.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from importlib.util import find_spec

import joblib
import numpy as np
from scipy.linalg import expm

RATE, SECONDS, FIRST = 50.0, 120.0, 2.5


def building(floors: int) -> tuple[np.ndarray, ...]:
    """A, B, C and D of the accelerations in discrete time, true frequencies and dampings."""
    stiffness = 2 * np.eye(floors) - np.eye(floors, k=1) - np.eye(floors, k=-1)
    stiffness[-1, -1] = 1
    squares, V = np.linalg.eigh(stiffness)
    w = 2 * np.pi * FIRST * np.sqrt(squares / squares[0])
    dampings = np.linspace(0.01, 0.02, floors)
    zero, one = np.zeros((floors, floors)), np.eye(floors)
    C = np.concatenate([-(V * w**2) @ V.T, -(V * 2 * dampings * w) @ V.T], axis=1)
    whole = np.block([[zero, one, zero], [C, one], [np.zeros((floors, 3 * floors))]])
    steps = expm(whole / RATE)[: 2 * floors]
    return steps[:, : 2 * floors], steps[:, 2 * floors :], C, one, w / (2 * np.pi), dampings


def record(floors: int, seed: int, seconds: float = SECONDS) -> np.ndarray:
    """Noisy accelerations with gaps, after a minute in which the building starts to move."""
    from structrank import StateSpace

    rng = np.random.default_rng(seed)
    A, B, C, D, *_ = building(floors)
    before, count = int(60 * RATE), int(seconds * RATE)
    forces = rng.standard_normal((before + count, floors))
    y = StateSpace(A, B, C, D).simulate(forces)[before:]
    y += 0.05 * y.std(axis=0) * rng.standard_normal(y.shape)
    y[rng.random(y.shape) < 0.3] = np.nan
    return y


def ours(y: np.ndarray):
    """The model of `realize_outputs`, and processor seconds without and with error bars."""
    from structrank import realize_outputs

    began = time.process_time()
    model = realize_outputs(y, dt=1 / RATE)
    found = time.process_time() - began
    return model, model.modes, found, time.process_time() - began


def rival(y: np.ndarray, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Frequencies and dampings of pyOMA2, told the order and where to look."""
    if find_spec("pyoma2") is None:
        return None
    from pyoma2.algorithms import SSI
    from pyoma2.setup import SingleSetup

    from structrank.systems.input_models import interpolated

    logging.disable(logging.INFO)
    order = 2 * len(frequencies)
    setup = SingleSetup(interpolated(y), fs=RATE)
    setup.add_algorithms(SSI(name="ssi", method="cov", br=40, ordmax=order + 10))
    setup.run_by_name("ssi")
    setup.mpe("ssi", sel_freq=list(frequencies), order_in=order, rtol=0.1)
    result = setup["ssi"].result
    return np.ravel(result.Fn), np.ravel(result.Xi)


def errors(found, truth) -> np.ndarray:
    """Relative errors of the frequencies, then of the dampings, each beside its nearest mode."""
    (f, d), (frequencies, dampings) = found, truth
    nearest = np.argmin(np.abs(f[None] - frequencies[:, None]), axis=1)
    return np.abs(np.stack([f[nearest] / frequencies, d[nearest] / dampings]) - 1)


def inside(modes, truth) -> np.ndarray:
    """Whether each interval of the nearest mode holds the truth: frequencies, then dampings."""
    nearest = np.argmin(np.abs(modes.frequencies[None] - truth[0][:, None]), axis=1)
    bounds = np.stack([modes.frequency_intervals[nearest], modes.damping_intervals[nearest]])
    values = np.stack(truth)
    return (bounds[..., 0] <= values) & (values <= bounds[..., 1])


def row(name: str, found: list[np.ndarray], rest: str) -> None:
    f, d = 100 * np.nanmedian(found, axis=0)
    print(
        f"  {name:<16} frequency {np.max(f):5.2f}% (all {np.median(f):.2f}%), "
        f"damping {np.max(d):5.1f}% (all {np.median(d):.1f}%){rest}",
        flush=True,
    )


def one(floors: int, seed: int) -> dict:
    """What is found in one record: errors, intervals that hold the truth, order, seconds."""
    truth, y = building(floors)[-2:], record(floors, seed)
    model, modes, *seconds = ours(y)
    other = rival(y, truth[0])
    found = {
        "seed": seed,
        "order": model.order,
        "errors": errors((modes.frequencies, modes.dampings), truth),
        "covered": inside(modes, truth),
        "seconds": seconds,
        "rival": None if other is None else errors(other, truth),
    }
    print(f"{floors} floors, seed {seed}: order {model.order}, {seconds[1]:.0f} s", file=sys.stderr)
    return found


def report(floors: int, found: list[dict]) -> None:
    orders = [x["order"] for x in found]
    right = sum(order == 2 * floors for order in orders)
    print(
        f"{floors} floors, {len(found)} seeds from {found[0]['seed']}: order {2 * floors} in "
        f"{right}, orders {set(orders)}"
    )
    f, d = np.mean([x["covered"] for x in found], axis=(0, 2))
    alone, complete = np.median([x["seconds"] for x in found], axis=0)
    rest = f", intervals {f:.1%} and {d:.1%}, {alone:.0f} s, with error bars {complete:.0f} s"
    row("realize_outputs", [x["errors"] for x in found], rest)
    theirs = [x["rival"] for x in found if x["rival"] is not None]
    if theirs:
        row("pyOMA2 SSI-cov", theirs, "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--floors", type=int, nargs="*", default=[3, 6])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    for floors in options.floors:
        seeds = range(options.first, options.first + options.seeds)
        parallel = joblib.Parallel(n_jobs=options.jobs, batch_size=1)
        report(floors, parallel(joblib.delayed(one)(floors, seed) for seed in seeds))


if __name__ == "__main__":
    main()

"""State-space models of real records with gaps, beside N4SID, CVA and an ARX fit.

    python -m benchmarks.identification [folder] [--records a,b] [--jobs 2]
    python -m benchmarks.identification --time 5
    python -m benchmarks.identification --parts 40 [--first 0] [--jobs 2]

The records are the CD player arm (2 inputs, 2 outputs, 2048 samples), the evaporator (3 and 3,
6305), the wing flutter (1 and 1, 1024) and the hair dryer (1 and 1, 1000) of the DaISy collection.
Models are identified from the first half, with 0, 20 and 50% of the samples of inputs and outputs
missing at random. "cdplayer 200" identifies from 200 samples of the CD arm and validates on the 400
after them, with 20, 50 and 80% missing. The second part is simulated with a state fitted on
its first 50 samples. The figures are fits of these outputs in percent, averaged over outputs: the
median over five draws of gaps, with the orders.

N4SID is that of the package nfoursid, CVA that of sippy_unipi (`pip install nfoursid sippy_unipi`),
both with 15 block rows and orders 1 to 10; ARX is least squares, lags 1 to 15. They do not accept
missing data, so gaps are interpolated linearly first. Their orders are chosen by the simulated
last third of the training part. Models without a finite simulation score zero.

--time N prints the CPU seconds of `identify` for N random systems of 2 to 5 states, 2 inputs and 2
outputs, with noise that drives the states: 1000 samples, half of inputs and outputs missing.

--parts N takes N random parts of each record, of 200 to 700 samples, with a random share of gaps,
and N simulated systems of 1 to 7 states. It prints the fit of the samples after each part by
`identify`, and by `identify` without averages of models.

The folder, by default ../shared/data/daisy, contains the .mat files.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
from scipy.io import loadmat
from scipy.signal import lfilter

from structrank import StateSpace, identify
from structrank.systems.input_models import interpolated
from structrank.systems.recursion import free_responses
from structrank.systems.search_rules import IdentificationSearch

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "daisy"
RECORDS = {"cdplayer": 2, "evaporator": 3, "flutter": 1, "hairdryer": 1}  # inputs come first
MISSING = (0.0, 0.2, 0.5)
SHORT = (0.2, 0.5, 0.8)
DRAWS = 5
ROWS = 15
Fit = Callable[[np.ndarray, int], list[StateSpace]]


def block_rows(samples: int, channels: int) -> int:
    """As many block rows as a short record allows, at most 15."""
    return min(ROWS, (samples + 1) // (2 * (channels + 1)))


def n4sid(z: np.ndarray, inputs: int) -> list[StateSpace]:
    """Models of orders 1 to 10 by nfoursid."""
    import pandas as pd
    from nfoursid.nfoursid import NFourSID

    centre = z.mean(axis=0)
    names = [str(k) for k in range(z.shape[1])]
    method = NFourSID(
        pd.DataFrame(z - centre, columns=names),
        output_columns=names[inputs:],
        input_columns=names[:inputs],
        num_block_rows=block_rows(*z.shape),
    )
    method.subspace_identification()
    systems = [method.system_identification(rank=order)[0] for order in range(1, 11)]
    return [around(s.a, s.b, s.c, s.d, centre) for s in systems]


def cva(z: np.ndarray, inputs: int) -> list[StateSpace]:
    """Models of orders 1 to 10 by sippy_unipi."""
    from sippy_unipi import system_identification

    centre, scale, rows = z.mean(axis=0), z.std(axis=0), block_rows(*z.shape)
    u, y = np.split(((z - centre) / scale).T, [inputs])
    models = []
    for order in range(1, min(10, rows * len(y)) + 1):
        with contextlib.redirect_stdout(io.StringIO()):
            s = system_identification(
                y, u, "CVA", SS_fixed_order=order, SS_f=rows, SS_p=rows, SS_D_required=True
            )
        D = scale[inputs:, None] * s.D / scale[:inputs]
        models.append(around(s.A, s.B / scale[:inputs], scale[inputs:, None] * s.C, D, centre))
    return models


def arx(z: np.ndarray, inputs: int) -> list[StateSpace]:
    """ARX models with 1 to 15 lags of all channels, by least squares."""
    centre = z.mean(axis=0)
    outputs = z.shape[1] - inputs
    u, y = np.split(z - centre, [inputs], axis=1)
    models = []
    for lags in range(1, ROWS + 1):
        past = [
            (y if k < lags else u)[lags - 1 - k % lags : len(z) - 1 - k % lags]
            for k in range(2 * lags)
        ]
        X = np.concatenate([*past, u[lags:]], axis=1)
        if X.shape[1] >= len(X):
            break
        W = np.linalg.lstsq(X, y[lags:], rcond=None)[0].T
        a, b, D = np.split(W, [lags * outputs, lags * (outputs + inputs)], axis=1)
        # x_t holds the last outputs and inputs
        n, m = lags * outputs, lags * inputs
        A, B = np.zeros((n + m, n + m)), np.zeros((n + m, inputs))
        A[:outputs, :n], A[:outputs, n:], B[:outputs] = a, b, D
        A[outputs:n, : n - outputs] = np.eye(n - outputs)
        A[n + inputs :, n : n + m - inputs] = np.eye(m - inputs)
        B[n : n + inputs] = np.eye(inputs)
        models.append(around(A, B, np.concatenate([a, b], axis=1), D, centre))
    return models


def around(A, B, C, D, centre: np.ndarray) -> StateSpace:
    m = np.shape(B)[1]
    A, B, C, D = (np.nan_to_num(np.asarray(x, dtype=float)) for x in (A, B, C, D))
    return StateSpace(A, B, C, D, input_offset=centre[:m], output_offset=centre[m:])


def score(model: StateSpace, z: np.ndarray, early: int = 50) -> float:
    """Fit of the outputs, simulated with a state that is fitted on the first samples."""
    m = model.input_count
    u, y = z[:, :m], z[:, m:]
    try:
        forced = model.simulate(u, np.zeros(model.order))
    except ValueError:  # overflow
        return 0.0
    free = free_responses(model.A, model.C, early).reshape(-1, model.order)
    state = np.linalg.lstsq(free, (y - forced)[:early].reshape(-1), rcond=1e-8)[0]
    try:
        return float(np.mean(model.fit(u, y, initial=state)))
    except ValueError:
        return 0.0


def best(fit: Fit, z: np.ndarray, inputs: int) -> StateSpace:
    """The model whose order predicts the last third of the record best."""
    early = 2 * len(z) // 3
    held_out = [score(model, z[early:]) for model in fit(z[:early], inputs)]
    models = fit(z, inputs)
    return models[int(np.argmax(held_out[: len(models)]))]


RIVALS: dict[str, Fit] = {"N4SID": n4sid, "CVA": cva, "ARX": arx}


def cases(folder: Path, wanted: list[str]):
    """Name, share of gaps, draw, training part with gaps, validation part, number of inputs."""
    for name in wanted:
        inputs = RECORDS[name.split()[0]]
        record = loadmat(folder / f"{name.split()[0]}.mat")[name.split()[0]].astype(float)
        half = len(record) // 2
        short = name.endswith("200")
        first, second = (record[:200], record[200:600]) if short else (record[:half], record[half:])
        for share in SHORT if short else MISSING:
            for seed in range(DRAWS if share else 1):
                gaps = np.random.default_rng(seed).random(first.shape) < share
                yield name, share, seed, np.where(gaps, np.nan, first), second, inputs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--records", default=",".join([*RECORDS, "cdplayer 200"]))
    parser.add_argument("--time", type=int, help="number of random systems")
    parser.add_argument("--parts", type=int, help="number of random parts of each record")
    parser.add_argument("--first", type=int, default=0, help="first seed of the parts")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    if options.time:
        times(options.time)
        return
    parallel = joblib.Parallel(n_jobs=options.jobs, batch_size=1)
    if options.parts:
        drawn = parts(options.folder, options.parts, options.first)
        report_parts(parallel(joblib.delayed(with_and_without)(*part) for part in drawn))
        return
    for package in ("nfoursid", "sippy_unipi"):
        if find_spec(package) is None:
            sys.exit(f"the package {package} is missing: pip install {package}")
    drawn = list(cases(options.folder, options.records.split(",")))
    found = parallel(joblib.delayed(scores)(*case[3:]) for case in drawn)
    rows: dict[tuple[str, float], list[dict[str, float]]] = {}
    for (name, share, *_), one in zip(drawn, found, strict=True):
        rows.setdefault((name, share), []).append(one)
    report(rows)


def scores(first: np.ndarray, second: np.ndarray, inputs: int) -> dict[str, float]:
    """Fit of the second part by ours and the rivals, our order and our CPU seconds."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    ours = identify(first[:, :inputs], first[:, inputs:])
    seconds = time.process_time() - began
    found = {"identify": score(ours, second), "order": ours.order, "seconds": seconds}
    for rival, fit in RIVALS.items():
        found[rival] = score(best(fit, interpolated(first), inputs), second)
    return found


def times(count: int) -> None:
    """CPU seconds of `identify` for random systems, and the fit of outputs for other inputs."""
    seconds = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        A = rng.standard_normal((n, n))
        A *= rng.uniform(0.7, 0.97) / np.abs(np.linalg.eigvals(A)).max()
        B, C, D, K = (rng.standard_normal(s) for s in ((n, 2), (2, n), (2, 2), (n, 2)))
        u, v = rng.standard_normal((2, 1000, 2))
        quiet = StateSpace(A, B, C, D)
        G = np.diag((0.1 * quiet.simulate(u).std(axis=0)) ** 2)
        truth = StateSpace(A, B, C, D, K=0.3 * K, innovation_covariance=G)
        y = truth.simulate(u, rng=rng)
        u, y = (np.where(rng.random(x.shape) < 0.5, np.nan, x) for x in (u, y))
        began = time.process_time()
        model = identify(u, y)
        seconds.append(time.process_time() - began)
        fit = np.mean(model.fit(v, quiet.simulate(v)))
        print(f"states {n}, order {model.order}, fit {fit:.1f}, {seconds[-1]:.1f} s of CPU time")
    print(f"median {np.median(seconds):.1f} s, at most {np.max(seconds):.1f} s")


def parts(folder: Path, count: int, first: int):
    """Name, part with gaps, the samples after it, number of inputs: of records and simulations."""
    for name, inputs in {**RECORDS, "simulated": 0}.items():
        for seed in range(first, first + count):
            rng = np.random.default_rng([seed, len(name)])
            size = int(rng.integers(200, 701))
            if inputs:
                record = loadmat(folder / f"{name}.mat")[name].astype(float)
                size = min(size, len(record) // 2)
                start = int(rng.integers(0, len(record) - size - 199))
                early, late = np.split(record[start : start + 2 * size], [size])
                m = inputs
            else:
                early, late, m = simulated_part(size, rng)
            gaps = rng.random(early.shape) < rng.choice(MISSING)
            yield name, np.where(gaps, np.nan, early), late, m


def simulated_part(size: int, rng: np.random.Generator):
    """A random system with noise in its states, drift or saturation; and its outputs without."""
    n, m, p = rng.integers([1, 1, 1], [8, 3, 3])
    A = rng.standard_normal((n, n))
    A *= rng.uniform(0.7, 0.985) / np.abs(np.linalg.eigvals(A)).max()
    B, C, D, K = (rng.standard_normal(shape) for shape in ((n, m), (p, n), (p, m), (n, p)))
    u = lfilter([1.0], [1.0, -rng.choice([0.0, 0.6, 0.9])], rng.standard_normal((2 * size, m)), 0)
    quiet = StateSpace(A, B, C, D)
    late = quiet.simulate(u)[size:]
    spread = late.std(axis=0)
    G = np.diag((rng.choice([0.03, 0.1, 0.3]) * spread) ** 2)
    noisy = StateSpace(A, B, C, D, K=rng.choice([0.0, 0.3]) * K, innovation_covariance=G)
    early, limit = noisy.simulate(u[:size], rng=rng), 1.5 * spread
    kind = rng.choice(["right", "drift", "saturation"])
    if kind == "drift":
        steps = rng.standard_normal(early.shape)
        early = early + 0.3 * spread * np.cumsum(steps, axis=0) / np.sqrt(size)
    if kind == "saturation":
        early, late = (limit * np.tanh(y / limit) for y in (early, late))
    joined = (np.concatenate(pair, axis=1) for pair in ((u[:size], early), (u[size:], late)))
    return *joined, int(m)


def with_and_without(name: str, early: np.ndarray, late: np.ndarray, m: int):
    """Fits of the second part by `identify` with and without averages; whether it averaged."""
    warnings.simplefilter("ignore")
    alone = identify(early[:, :m], early[:, m:], search=IdentificationSearch(chance=0.0))
    model = identify(early[:, :m], early[:, m:])
    averaged = not np.array_equal(model.A, alone.A)
    return name, score(model, late), score(alone, late), averaged


def report_parts(found: list[tuple[str, float, float, bool]]) -> None:
    """Means and medians of fits above zero, since others are as good as none."""
    print(
        f"{'':<12}{'parts':>6}{'averaged':>10}{'mean':>7}{'without':>9}{'median':>8}{'without':>9}"
    )
    for name in dict.fromkeys(x[0] for x in found):
        rows = [x[1:] for x in found if x[0] == name]
        fits, alone, averaged = np.maximum(np.array(rows), 0.0).T
        print(
            f"{name:<12}{len(rows):>6}{averaged.sum():>10.0f}{fits.mean():>7.1f}{alone.mean():>9.1f}"
            f"{np.median(fits):>8.1f}{np.median(alone):>9.1f}"
        )


def report(rows: dict[tuple[str, float], list[dict[str, float]]]) -> None:
    print(
        f"{'record':<13}{'missing':>8}" + "".join(f"{m:>9}" for m in ["identify", *RIVALS]), end=""
    )
    print(f"{'ahead':>8}{'CPU s':>8}  worst, orders")
    ahead = []
    for (name, share), draws in rows.items():
        medians = {m: float(np.median([d[m] for d in draws])) for m in ["identify", *RIVALS]}
        ahead.append(medians["identify"] - max(medians[m] for m in RIVALS))
        orders = "/".join(str(int(d["order"])) for d in draws)
        print(f"{name:<13}{share:>8.0%}" + "".join(f"{v:>9.1f}" for v in medians.values()), end="")
        print(f"{ahead[-1]:>8.1f}{np.median([d['seconds'] for d in draws]):>8.1f}", end="")
        print(f"  {min(d['identify'] for d in draws):.1f}, {orders}")
    print(
        f"ahead of the best rival: {np.median(ahead):.1f} in the median, {min(ahead):.1f} at least"
    )


if __name__ == "__main__":
    main()

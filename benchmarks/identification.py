"""State-space models of real records with gaps, beside N4SID.

    python -m benchmarks.identification [folder]

The records are the CD player arm (2 inputs, 2 outputs, 2048 samples) and the hair dryer (1 input,
1 output, 1000 samples) of the DaISy collection. Models are identified from the first half, with 0,
20 and 50% of the samples of inputs and outputs missing at random. The figures are fits of simulated
outputs on the second half, in percent: the median over several draws of gaps, and the worst and
best.

N4SID is that of the package nfoursid (`pip install nfoursid`), with 15 block rows. It does not
accept missing data, so gaps are interpolated linearly first. Its order, from 1 to 10, is chosen in
two ways: by the error on the last third of the first half, and in hindsight, by the second half
itself.

The folder, by default ../shared/data/daisy, contains cdplayer.mat and hairdryer.mat.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from structrank import StateSpace, identify

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "daisy"
RECORDS = {"cdplayer": 2, "hairdryer": 1}  # inputs, the first columns
MISSING = (0.0, 0.2, 0.5)
DRAWS = 5
ORDERS = range(1, 11)
ROWS = 15


def interpolated(z: np.ndarray) -> np.ndarray:
    """Gaps filled by straight lines, channel by channel."""
    t = np.arange(len(z))
    columns = [np.interp(t, t[~np.isnan(c)], c[~np.isnan(c)]) for c in z.T]
    return np.stack(columns, axis=1)


def n4sid(z: np.ndarray, inputs: int) -> list[StateSpace]:
    """Models of all orders."""
    import pandas as pd
    from nfoursid.nfoursid import NFourSID

    centre = z.mean(axis=0)
    names = [str(k) for k in range(z.shape[1])]
    frame = pd.DataFrame(z - centre, columns=names)
    method = NFourSID(
        frame, output_columns=names[inputs:], input_columns=names[:inputs], num_block_rows=ROWS
    )
    method.subspace_identification()
    systems = [method.system_identification(rank=order)[0] for order in ORDERS]
    return [
        StateSpace(s.a, s.b, s.c, s.d, input_offset=centre[:inputs], output_offset=centre[inputs:])
        for s in systems
    ]


def score(model: StateSpace, z: np.ndarray) -> np.ndarray:
    """Fits of the outputs; zero if the simulation overflows."""
    try:
        return model.fit(z[:, : model.input_count], z[:, model.input_count :])
    except ValueError:
        return np.zeros(model.output_count)


def fits(first: np.ndarray, second: np.ndarray, inputs: int) -> dict[str, np.ndarray]:
    """Fits on the second half, for models of the first half."""
    began = time.perf_counter()
    ours = identify(first[:, :inputs], first[:, inputs:])
    seconds = time.perf_counter() - began
    filled = interpolated(first)
    early = 2 * len(filled) // 3
    held_out = [score(model, filled[early:]).mean() for model in n4sid(filled[:early], inputs)]
    rivals = [score(model, second) for model in n4sid(filled, inputs)]
    return {
        "identify": np.append(score(ours, second), [ours.order, seconds]),
        "N4SID, held out": np.append(
            rivals[int(np.argmax(held_out))], [ORDERS[int(np.argmax(held_out))], np.nan]
        ),
        "N4SID, hindsight": np.append(
            max(rivals, key=np.mean), [ORDERS[int(np.argmax([np.mean(r) for r in rivals]))], np.nan]
        ),
    }


def main(folder: Path) -> None:
    if find_spec("nfoursid") is None:
        sys.exit("the package nfoursid is missing: pip install nfoursid")
    print(f"{'record':<10} {'missing':>7} {'method':<17} fit of each output: median [worst, best]")
    for name, inputs in RECORDS.items():
        path = folder / f"{name}.mat"
        if not path.exists():
            print(f"{path} is missing: pass the folder that contains it. It is part of DaISy.")
            continue
        record = loadmat(path)[name]
        first, second = np.split(record, 2)
        for share in MISSING:
            draws = []
            for seed in range(DRAWS if share else 1):
                gaps = np.random.default_rng(seed).random(first.shape) < share
                draws.append(fits(np.where(gaps, np.nan, first), second, inputs))
            for method in draws[0]:
                rows = np.array([draw[method] for draw in draws])
                shown = [
                    f"{np.median(c):5.1f} [{c.min():.1f}, {c.max():.1f}]" for c in rows[:, :-2].T
                ]
                orders = "/".join(f"{order:.0f}" for order in rows[:, -2])
                took = f", {np.median(rows[:, -1]):.1f} s" if method == "identify" else ""
                print(
                    f"{name:<10} {share:>7.0%} {method:<17} {'  '.join(shown)}  "
                    f"order {orders}{took}",
                    flush=True,
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)

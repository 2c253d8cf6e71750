"""Real series with gaps and their future: `recover` and `forecast` beside methods told the season.

    python -m benchmarks.series [--task random blocks forecast] [--series co2 lh ...] [--draws 3]
                                [--methods SARIMAX ...] [--cache FOLDER] [--data FOLDER]

30% of the samples are removed at random, or 20% in blocks of 5% of the series, or the last two
seasons (15% without a season) are forecast from three origins. Errors of gaps are root mean squares
over the deviation of the removed values, errors of forecasts are mean absolute errors over that
of the seasonal naive method in the past. The tables have geometric means over the draws of a series
and, at the end, over all series: ours over that of each rival, and over that of the best rival of
each series in hindsight. `inside` is the share of removed values inside their 95% intervals. With
`--cache`, the errors of rivals are kept in that folder and not computed again. Methods of packages
that are not installed are left out. `--rivals-only` fills the cache.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.recovery import count
from benchmarks.series_data import DATA, Case, cases, read_all
from benchmarks.series_rivals import FILLERS, FORECASTERS, quietly

TASKS = ("random", "blocks", "forecast")


class Cache:
    """Errors and seconds of rivals, in a file if a folder is given."""

    def __init__(self, folder: Path | None, task: str) -> None:
        self.file = None if folder is None else folder / f"series_{task}.json"
        exists = self.file is not None and self.file.exists()
        self.values = json.loads(self.file.read_text()) if exists else {}  # type: ignore[union-attr]

    def get(self, case: Case, name: str) -> dict:
        """Return the error and the time of a rival, computed unless it is known."""
        key = f"{case.key} {name}"
        if key not in self.values:
            self.values[key] = rival(case, name)
            if self.file is not None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.file.write_text(json.dumps(self.values, indent=0))
        return self.values[key]


def rival(case: Case, name: str) -> dict:
    began = time.process_time()
    try:
        if case.task == "forecast":
            steps = len(case.removed)
            values = quietly(FORECASTERS[name], case.samples, case.series.season, steps)
        else:
            values = quietly(FILLERS[name], case.samples, case.series.season)
        error = case.error(values)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, NotImplementedError) as problem:
        print(f"{case.key}: {name} failed: {problem}")
        error = np.inf
    return {"error": error, "seconds": time.process_time() - began}


def ours(case: Case) -> dict:
    """Error, time, kind and coverage of `recover` or `forecast`."""
    from structrank import forecast, recover

    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.task == "forecast":
            found = forecast(case.samples, len(case.removed))
            values, lower, upper = found.mean, found.lower, found.upper
        else:
            found = recover(case.samples)
            values, lower, upper = found.signal, found.lower, found.upper
    seconds = time.process_time() - began
    inside = (lower[case.removed] <= case.truth) & (case.truth <= upper[case.removed])
    kind = getattr(found, "kind", "")
    return {
        "error": case.error(values),
        "seconds": seconds,
        "inside": float(np.mean(inside)),
        "kind": f"{kind} {found.rank}",
    }


def mean(values: list[float]) -> float:
    """Geometric mean, of errors that are not zero."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-12)))))


def pooled(shares: list[tuple[float, int]]) -> float:
    """Mean of shares with weights."""
    return float(np.average([x for x, _ in shares], weights=[n for _, n in shares]))


def compare(task: str, options: argparse.Namespace, cache: Cache) -> None:
    """Print the tables of one task."""
    rivals = [name for name in methods(task) if not options.methods or name in options.methods]
    print(
        f"\n{task}\n{'series':<20}{'ours':>8}{'best':>8}{'ratio':>7}{'inside':>8}{'s':>7}", end=""
    )
    print("".join(f"{name:>12}" for name in rivals))
    rows: list[tuple[float, dict[str, float]]] = []
    insides, seconds, rival_seconds = [], [], []
    for series in read_all(options.data):
        if options.series and series.name not in options.series:
            continue
        drawn = cases(series, task, options.draws)
        if not drawn:
            continue
        found = {name: [cache.get(case, name) for case in drawn] for name in rivals}
        if options.rivals_only:
            continue
        mine = [ours(case) for case in drawn]
        errors = {name: mean([x["error"] for x in results]) for name, results in found.items()}
        error, best = mean([x["error"] for x in mine]), min(errors.values(), default=np.nan)
        insides += [(x["inside"], len(case.truth)) for x, case in zip(mine, drawn, strict=True)]
        seconds.append(np.median([x["seconds"] for x in mine]))
        if "components" in found:
            rival_seconds.append(np.median([x["seconds"] for x in found["components"]]))
        rows.append((error, errors))
        share = pooled(insides[-len(mine) :])
        print(
            f"{series.name:<20}{error:>8.3f}{best:>8.3f}{error / best:>7.2f}{share:>8.2f}"
            f"{seconds[-1]:>7.2f}"
            + "".join(f"{errors[name]:>12.3f}" for name in rivals)
            + "  "
            + ", ".join(x["kind"] for x in mine),
            flush=True,
        )
    if rows:
        summary(task, rows, rivals, insides, seconds, rival_seconds)


def summary(task, rows, rivals, insides, seconds, rival_seconds) -> None:
    ratios = [error / min(errors.values()) for error, errors in rows if errors]
    if ratios:
        print(
            f"{task}: over the best in hindsight {mean(ratios):.3f}, worst series "
            f"{max(ratios):.2f}; "
            + ", ".join(
                f"over {name} {mean([error / errors[name] for error, errors in rows]):.3f}"
                for name in rivals
            )
        )
    print(
        f"inside 95% intervals: {pooled(insides):.3f}; median seconds of "
        f"the processor: {np.median(seconds):.2f}"
        + (f" (components {np.median(rival_seconds):.2f})" if rival_seconds else "")
    )


def methods(task: str) -> list[str]:
    """Return the names of the rivals whose packages are installed."""
    if task != "forecast":
        return list(FILLERS)
    installed = importlib.util.find_spec("statsforecast") is not None
    return [n for n in FORECASTERS if installed or n in ("naive", "smoothing")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with series and manifest")
    parser.add_argument("--task", nargs="*", choices=TASKS, default=TASKS)
    parser.add_argument("--series", nargs="*", help="names; default all")
    parser.add_argument("--methods", nargs="*", help="rivals; default all that are installed")
    parser.add_argument("--draws", type=count, default=3)
    parser.add_argument("--cache", type=Path, help="folder for the errors of rivals")
    parser.add_argument("--rivals-only", action="store_true")
    options = parser.parse_args()
    for task in options.task:
        compare(task, options, Cache(options.cache, task))


if __name__ == "__main__":
    main()

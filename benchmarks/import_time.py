"""Time until the package and its command line are ready.

    python -m benchmarks.import_time [--runs 11] [--baseline FOLDER]

Each statement runs in a process of its own. The table shows the median wall time, and how much
longer it is than that of importing NumPy and SciPy alone. The goal is at most 0.3 s for
`import structrank` and for `structrank --help`. With `--baseline` the same statements are timed
with the package in another folder, for example the `src` folder of an older version. Runs of all
statements and versions alternate, so that the load of the machine affects them equally.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

FLOOR = "import numpy, scipy"
STATEMENTS = {
    FLOOR: FLOOR,
    "import structrank": "import structrank",
    "structrank.recover": "import structrank; structrank.recover",
    "structrank --help": "from structrank.cli import main; main(['--help'])",
}
GOALS = {"import structrank": 0.3, "structrank --help": 0.3}  # seconds, as the project demands


def seconds(statement: str, source: Path) -> float | None:
    """Time one process; None if the statement fails, for example in a version without a name."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", statement]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True)
    return None if done.returncode else time.perf_counter() - began


def medians(sources: dict[str, Path], runs: int) -> dict[tuple[str, str], float | None]:
    """The median time of each version and statement, after one run that fills the caches."""
    times: dict[tuple[str, str], list[float | None]] = {
        (version, name): [] for version in sources for name in STATEMENTS
    }
    for run in range(runs + 1):
        for (version, name), measured in times.items():
            took = seconds(STATEMENTS[name], sources[version])
            if run > 0:
                measured.append(took)
    return {
        key: None if None in measured else median(t for t in measured if t is not None)
        for key, measured in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=11, help="timed runs per statement")
    parser.add_argument("--baseline", type=Path, help="folder of another version of the package")
    arguments = parser.parse_args()
    spec = find_spec("structrank")
    assert spec is not None
    assert spec.origin is not None
    sources = {"this version": Path(spec.origin).parents[1]}
    if arguments.baseline is not None:
        sources["baseline"] = arguments.baseline.resolve()
    found = medians(sources, arguments.runs)
    heads = [f"{version:>14}  {'beyond':>8}" for version in sources]
    print(f"{'seconds':<22}{''.join(heads)}  goal")
    for name in STATEMENTS:
        cells = [_cells(found[version, name], found[version, FLOOR]) for version in sources]
        goal = f"{GOALS[name]:g}" if name in GOALS else ""
        print(f"{name:<22}{''.join(cells)}  {goal}".rstrip())


def _cells(total: float | None, floor: float | None) -> str:
    if total is None or floor is None:
        return f"{'-':>14}  {'-':>8}"
    return f"{total:14.3f}  {total - floor:8.3f}"


if __name__ == "__main__":
    main()

"""The wheel in empty environments: with the core alone, and with each extra alone.

    python tests/extras_alone.py [extra ...]

It builds the wheel and the sdist. Each environment gets the wheel with one extra, and runs a few
lines that use it. "sdist" installs the core from the sdist instead. It needs the network and the
package `build`, so it is no test of pytest; `make extras` runs it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

SAMPLES = """
import numpy as np
import structrank as sr
from structrank.io import Table, read, write

x = np.cos(0.3 * np.arange(40))
x[5] = np.nan
"""
CORE = """
for name in sr.__all__:
    getattr(sr, name)
found = sr.recover(x, effort="fast")
assert found.rank == 2, found
for suffix in (".csv", ".npy", ".npz", ".mat"):
    write(f"signal{suffix}", Table(found.signal))
    assert np.allclose(read(f"signal{suffix}").values.ravel(), found.signal), suffix
from structrank.cli import main
main(["recover", "signal.csv", "--out", "recovered.csv"], standalone_mode=False)
"""
PROBLEM = "problem = sr.Problem(sr.Hankel(5, window=3), np.arange(5.0), 0.1)\n"
USES = {
    "core": CORE,
    "sdist": CORE,
    "plot": 'sr.recover(x, effort="fast").plot().figure.savefig("signal.png")',
    "interactive": 'assert sr.recover(x, effort="fast").plot(interactive=True).data',
    "conic": PROBLEM + "from structrank.solvers import rivals\nrivals.interior_point(problem)",
    "control": "assert sr.random_system(1, 2).to_control().nstates == 2",
    "pandas": """
import pandas as pd
index = pd.date_range("2026-01-01", periods=40)
assert sr.impute(pd.Series(x, index)).signal.index.equals(index)
""",
    "xarray": """
import xarray as xr
assert sr.impute(xr.DataArray(x, dims="time")).signal.dims == ("time",)
""",
    "sklearn": """
from structrank.estimators import HankelImputer
assert np.all(np.isfinite(HankelImputer(rank=2).fit_transform(x[:, None])))
""",
    "files": """
for suffix in (".h5", ".zarr", ".xlsx", ".parquet", ".feather", ".json"):
    write(f"signal{suffix}", Table(np.arange(3.0)))
    assert np.allclose(read(f"signal{suffix}").values.ravel(), np.arange(3.0)), suffix
write("signal.fid", Table(np.arange(4.0) + 0j))
""",
    "pylops": """
from structrank.interop import StructureOperator, to_pylops
assert to_pylops(StructureOperator(sr.Hankel(5, window=3))).shape == (9, 5)
""",
    "cluster": """
filled = sr.recover_patches(x, "filled.zarr", patch=20, effort="fast")
assert np.all(np.isfinite(filled.array[:]))
""",
    "torch": """
import torch
assert isinstance(sr.recover(torch.asarray(x), effort="fast").signal, torch.Tensor)
""",
    "parallel": "assert len(sr.recover_many([np.arange(9.0)] * 2, workers=2)) == 2",
}


def called(*command: str | Path, folder: Path) -> str:
    """Output of a command; its errors if it fails."""
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError((run.stderr or run.stdout).strip()[-2000:])
    return run.stdout


def works_alone(name: str, source: Path, folder: Path) -> int:
    """Install one extra into an empty environment and use it; the number of packages there."""
    folder.mkdir()
    called(sys.executable, "-m", "venv", "environment", folder=folder)
    python = folder / "environment" / "bin" / "python"
    wanted = str(source) if name in ("core", "sdist") else f"{source}[{name}]"
    called(python, "-m", "pip", "install", "-q", wanted, folder=folder)
    called(python, "-m", "pip", "check", folder=folder)
    program = folder / "program.py"
    # Workers import the program, so what it does is behind a guard.
    body = (SAMPLES + USES[name]).replace("\n", "\n    ")
    program.write_text(f'if __name__ == "__main__":\n    {body.strip()}\n')
    called(python, program, folder=folder)
    return len(called(python, "-m", "pip", "list", "--format", "freeze", folder=folder).split())


def main() -> int:
    """Print a line per environment; the number of those that failed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - {"docs", "test", "benchmarks", "all"}
    if extras | {"core", "sdist"} != set(USES):
        sys.exit(f"USES has {sorted(USES)}, but the extras are {sorted(extras)}")
    wanted = sys.argv[1:] or list(USES)
    if not set(wanted) <= set(USES):
        sys.exit(f"one of {wanted} is unknown: choose from {sorted(USES)}")
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        called(sys.executable, "-m", "build", "-o", folder, ROOT, folder=folder)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        for name in wanted:
            try:
                count = works_alone(name, sdist if name == "sdist" else wheel, folder / name)
                print(f"{name:<12} works, with {count} packages", flush=True)
            except RuntimeError as error:
                failed += 1
                print(f"{name:<12} FAILED\n{error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Optional packages: every error names what to install, and the core needs none of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import structrank as sr
from structrank.interop import to_pylops
from structrank.io import Table, write

ROOT = Path(__file__).parents[1]
MODES = sr.Modes(np.array([0.3]))
PROBLEM = sr.Problem(sr.Hankel(5, window=3), np.arange(5.0), 0.1)


def written(suffix):
    return lambda folder: write(folder / f"a{suffix}", Table(np.arange(3.0)))


def estimators(folder):
    import structrank.estimators  # noqa: F401


NEEDS = {
    "h5py": (written(".h5"), "files"),
    "zarr": (written(".zarr"), "files"),
    "openpyxl": (written(".xlsx"), "files"),
    "pyarrow": (written(".parquet"), "files"),
    "nmrglue": (written(".fid"), "files"),
    "matplotlib": (lambda folder: MODES.plot(), "plot"),
    "pandas": (lambda folder: MODES.to_frame(), "pandas"),
    "cvxpy": (lambda folder: sr.solvers.rivals.interior_point(PROBLEM), "conic"),
    "control": (lambda folder: sr.random_system(1, 2).to_control(), "control"),
    "pylops": (lambda folder: to_pylops(PROBLEM.structure), "pylops"),
    "joblib": (lambda folder: sr.recover_many([np.arange(9.0)] * 2, workers=2), "parallel"),
    "sklearn": (estimators, "sklearn"),
}


@pytest.mark.parametrize("module", NEEDS)
def test_errors_name_the_extra(module, tmp_path, monkeypatch):
    import structrank.solvers.rivals  # noqa: F401

    call, extra = NEEDS[module]
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    for name in [name for name in sys.modules if name.startswith("structrank.estimators")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=rf'pip install "structrank\[{extra}\]"'):
        call(tmp_path)


CORE = """
import sys
from importlib.abc import MetaPathFinder

class Block(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in %r:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import numpy as np
import structrank
for name in structrank.__all__:
    getattr(structrank, name)
x = np.cos(0.3 * np.arange(40)); x[5] = np.nan
print(structrank.recover(x, effort="fast").rank)
from structrank.cli import main
main(["info", "--help"], standalone_mode=False)
"""


@pytest.mark.nightly
def test_the_core_needs_no_optional_package():
    optional = [*NEEDS, "xarray", "torch", "dask", "distributed", "obspy", "statsmodels"]
    run = subprocess.run([sys.executable, "-c", CORE % optional], capture_output=True, text=True)
    assert run.stdout.startswith("2\n"), run.stderr
    assert "Usage" in run.stdout


@pytest.mark.nightly
def test_wheel_and_sdist(tmp_path):
    """Both are built; the wheel holds the package alone and what marks it as typed."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    run = subprocess.run(build, capture_output=True, text=True)
    if run.returncode and "hatchling" in run.stderr:
        pytest.skip("hatchling is not to be had")
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"structrank"}
    assert "structrank/py.typed" in names
    assert {f"structrank/app/static/page.{kind}" for kind in ("html", "css", "js")} <= set(names)
    hatchling = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        sdist = tmp_path / hatchling.build_sdist(str(tmp_path))
    with tarfile.open(sdist) as file:
        assert any(name.endswith("/pyproject.toml") for name in file.getnames())


def test_one_version():
    """The package, the citation and the newest section of the changes have the same version."""
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited[1] == newest[1] == sr.__version__


def test_references_of_the_paper():
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(), re.MULTILINE)
    assert sorted(entries) == sorted(set(re.findall(r"@(\w+)", (ROOT / "paper.md").read_text())))


def required(name, extras, found):
    """Licences of an installed package and of all that it needs, by their names."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return  # for another system, or not installed here
    known, about = name in found, package.metadata
    classes = [c for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
    found[name] = about.get("License-Expression") or "; ".join(classes) or about.get("License", "")
    if known and not extras:
        return
    for line in package.requires or ():
        needed = Requirement(line)
        own = [{"extra": extra} for extra in ("", *extras)]
        if needed.marker is None or any(needed.marker.evaluate(one) for one in own):
            required(needed.name, needed.extras, found)


def test_licences():
    """Nothing that is installed with the package or one of its extras is under the GPL."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    chosen = re.search(r"\[(.*)\]", *extras["all"])[1].split(",")
    found: dict[str, str] = {}
    for line in [*project["dependencies"], *(line for extra in chosen for line in extras[extra])]:
        needed = Requirement(line)
        required(needed.name, needed.extras, found)
    assert {"numpy", "scipy", "tqdm"} <= set(found)
    strict = {
        name: licence
        for name, licence in found.items()
        if re.search(r"\bA?GPL|(?<!Lesser )General Public|Affero", licence)
    }
    assert strict == {}

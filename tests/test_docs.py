"""The first page is short and true; benchmarks run; every public name is documented."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import missing_imports, nightly, steady

import structrank
import structrank.datasets
import structrank.estimators
import structrank.io
import structrank.solvers.rivals

ROOT = Path(__file__).parents[1]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


def printed_by(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


def test_readme_example_prints_what_the_readme_shows():
    expected = blocks("README.md", "text")[0]
    assert steady(printed_by(blocks("README.md", "python")[0])) == steady(expected)


def test_readme_is_filled_in_and_short():
    text = (ROOT / "README.md").read_text()
    assert not re.search(r"FIGURES|OUTPUT|TODO", text)
    assert len(text.splitlines()) <= 120


def test_links_of_the_first_pages_resolve():
    """Those of the site are checked where it is built."""
    for page in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def written_pages():
    """Hand-written text: pages of the repository and of the site, and examples."""
    made = {"_build", "gallery", "generated"}
    site = [p for p in (ROOT / "docs").rglob("*.md") if not made & set(p.parts)]
    return [*ROOT.glob("*.md"), *site, *(ROOT / "examples").rglob("*.py")]


def exists(name):
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def test_names_in_the_pages_exist():
    """Modules and names of the package that a page mentions are there."""
    unknown = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in written_pages()
        for name in set(re.findall(r"\bstructrank(?:\.[A-Za-z_]\w*)+", page.read_text()))
        if not exists(name)
    ]
    assert not unknown


def test_the_tree_of_the_architecture_page_is_that_of_the_package():
    """Each module has its line, and each line its module."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders, listed = [ROOT / "src"], set()
    for line in re.search(r"```\n(structrank/\n.*?)```", page, re.DOTALL).group(1).splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        for name in re.split(", ", re.match(r" *([^\s,]+(?:, [^\s,]+)*)", line).group(1)):
            path = folders[depth] / name.rstrip("/")
            assert path.is_dir() if name.endswith("/") else path.is_file(), path
            listed.add(path)
            if name.endswith("/"):
                folders[depth + 1 :] = [path]
    modules = {p for p in (ROOT / "src" / "structrank").rglob("*.py") if p.name != "__init__.py"}
    assert sorted(str(p) for p in modules - listed) == []


def run_module(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_example_of_make_run(tmp_path):
    picture = tmp_path / "picture.png"
    done = run_module("examples/recover_2d.py", "--out", str(picture), "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"rank +12\n", done.stdout)
    assert float(re.search(r"error +([\d.]+)", done.stdout).group(1)) < 0.15
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        nightly(["benchmarks.scaling", "13"], "log-log slope"),
        nightly(["benchmarks.paper_sizes", "--largest", "1"], "literal / ours at 2050 x 10000"),
        (["benchmarks.floor", "12"], "ratio"),
        nightly(
            ["benchmarks.five_signals", "--lengths", "64", "--only", "tones"], "tones         64"
        ),
        nightly(["benchmarks.certified", "--largest", "100"], "SCS"),
        nightly(["benchmarks.kalman", "3"], "statsmodels likelihood"),
        nightly(
            ["benchmarks.cluster", "--gigabytes", "0.002", "--patches", "6", "--patch", "32"],
            "one worker / two workers",
        ),
        nightly(
            ["benchmarks.load", "--solves", "3000", "--workers", "30", "--updates", "3000"],
            "nothing grew, nothing differed",
        ),
        nightly(
            ["benchmarks.coverage", "--runs", "2", "--part", "state_space", "--jobs", "2"],
            "| value | 0.9",
        ),
        nightly(["benchmarks.many", "--signals", "20"], "equal ranks: 100.00%"),
        (
            ["benchmarks.peers", "--seeds", "1", "--rows", "127", "--methods", "fiht", "rank"],
            "127 samples, 5 modes, 50% seen, no noise",
        ),
        nightly(
            [
                "benchmarks.series",
                "--task",
                "random",
                "--series",
                "sunspots",
                "--methods",
                "linear",
            ],
            "over linear",
        ),
        nightly(["benchmarks.tables", "--seeds", "1", "--samples", "60"], "common tones | "),
        nightly(["benchmarks.short", "--seeds", "1", "--lengths", "50"], "tones "),
        nightly(["benchmarks.phase_transition", "--part", "peers", "--draws", "1"], "of 1, "),
        nightly(
            [
                "benchmarks.space",
                "--only",
                "phantom",
                "--seeds",
                "1",
                "--size",
                "16",
                "--coils",
                "2",
                "--ranks",
                "9",
            ],
            "over that of SAKE",
        ),
        (["benchmarks.accuracy", "--seeds", "1", "--case", "1-D"], "1 of 1   (goal: at least 1)"),
        nightly(
            ["benchmarks.selection", "--seeds", "1", "--settings", "1", "--method", "noise"],
            "most often the true rank: noise",
        ),
    ],
)
def test_benchmarks_run(arguments, says):
    done = run_module("-m", *arguments)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_benchmarks_import_what_there_is(path):
    assert missing_imports(path) == []


@pytest.mark.nightly
def test_benchmark_draws_a_picture_and_keeps_an_old_one(tmp_path):
    picture = tmp_path / "new" / "picture.png"
    arguments = ["-m", "benchmarks.phase_transition", "--quick", "--draws", "1", "--out", picture]
    done = run_module(*arguments)
    assert done.returncode == 0, done.stderr
    assert "with refit" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert list(picture.parent.iterdir()) == [picture]
    picture.write_bytes(b"old")
    assert "exists" in run_module(*arguments).stderr
    assert picture.read_bytes() == b"old"


HOMES = (
    structrank,
    structrank.datasets,
    structrank.estimators,
    structrank.io,
    structrank.solvers.rivals,
)
PUBLIC = {name: getattr(home, name) for home in HOMES for name in home.__all__}


@pytest.mark.parametrize("thing", PUBLIC.values(), ids=PUBLIC)
def test_public_names_are_documented(thing):
    assert len(inspect.getdoc(thing) or "") > 20
    if inspect.isclass(thing):
        for name, member in inspect.getmembers(thing, inspect.isfunction):
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{thing.__name__}.{name} has no docstring"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_have_an_example(name):
    assert ">>>" in inspect.getdoc(PUBLIC[name])

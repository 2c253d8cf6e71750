"""Changes of modules, one at a time, that their tests do not notice.

    python -m benchmarks.mutants structrank.structures.hankel [more modules] [--every 2]
        [--max-time 600] [--lines 92 104] [--seconds 60] [--jobs 2] -- tests/test_structures.py

`make mutation` does the same with mutmut, which needs tests that do not use the module while they
are loaded. This is for the others: a change is made before the module is imported, in a process of
its own, which runs pytest with the arguments after `--` up to the first failure. Tests that take
longer than `--seconds` count as a failure. `--every 2` tries every second change, `--lines` those
of some lines, and `--jobs` several at a time. What is changed: operators, comparisons, conditions,
whole numbers, truth values, `min` and `max`, and keywords of calls, which are left out. Texts of
errors and docstrings stay.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
LOADED = (
    "numpy",
    "scipy.sparse.linalg",
    "scipy.fft",
    "scipy.io",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
    "array_api_strict",
    "h5py",
    "openpyxl",
    "pandas",
    "zarr",
    "click",
)
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(node: ast.AST) -> Iterator[str]:
    """Change a node in one way after the other; yields what was changed, and takes it back."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        old = node.op
        if type(old) in OPERATORS:
            node.op = OPERATORS[type(old)]()  # type: ignore[assignment]
            yield type(old).__name__
            node.op = old  # type: ignore[assignment]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        before = node.ops
        node.ops = [OPERATORS[type(before[0])](), *before[1:]]
        yield type(before[0]).__name__
        node.ops = before
    if isinstance(node, ast.If | ast.IfExp):
        test = node.test
        node.test = ast.UnaryOp(ast.Not(), test)
        yield "condition"
        node.test = test
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        value = node.value
        node.value = not value if isinstance(value, bool) else value + 1
        yield repr(value)
        node.value = value
    if isinstance(node, ast.Name) and node.id in NAMES:
        name = node.id
        node.id = NAMES[name]
        yield name
        node.id = name
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        operator = node.op
        node.op = ast.UAdd() if isinstance(operator, ast.USub) else ast.Invert()
        if isinstance(node.op, ast.UAdd):
            yield "sign"
        node.op = operator
    if isinstance(node, ast.Call):
        for keyword in list(node.keywords):
            kept, node.keywords = node.keywords, [k for k in node.keywords if k is not keyword]
            yield f"without {keyword.arg}"
            node.keywords = kept


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """All changes of a module: where and what, and the changed module."""
    tree = ast.parse(source)
    lines = source.splitlines()
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if id(node) in annotations:
            continue
        for what in changes(node):
            line = getattr(node, "lineno", 0)
            yield f"{line}: {what}: {lines[line - 1].strip()}", copy.deepcopy(tree)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with a change."""

    def __init__(self, module: str, path: str, tree: ast.Module) -> None:
        self.module, self.path, self.tree = module, path, tree

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module) -> None:
        exec(compile(ast.fix_missing_locations(self.tree), self.path, "exec"), module.__dict__)


class Trials:
    """Runs of the tests, each in a process of its own, several at a time."""

    def __init__(self, tests: list[str], seconds: int, jobs: int, folder: str) -> None:
        self.tests, self.seconds, self.jobs, self.folder = tests, seconds, jobs, folder

    def noticed(self, finders: Iterator[tuple[str, Changed | None]]) -> Iterator[tuple[str, bool]]:
        """What was changed, and whether the tests fail; the order is that in which they end."""
        running: dict[int, str] = {}
        for about, finder in finders:
            if len(running) == self.jobs:
                yield self._ended(running)
            running[self._started(finder)] = about
        while running:
            yield self._ended(running)

    def _ended(self, running: dict[int, str]) -> tuple[str, bool]:
        child, status = os.wait()
        shutil.rmtree(Path(self.folder, str(child)), ignore_errors=True)
        return running.pop(child), status != 0

    def _started(self, finder: Changed | None) -> int:
        import pytest

        child = os.fork()
        if child:
            return child
        signal.alarm(self.seconds)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if finder is not None:
            sys.meta_path.insert(0, finder)
        own = Path(self.folder, str(os.getpid()))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(own / "hypothesis")
        usual = ["-x", "-q", "-p", "no:cacheprovider", "--basetemp", str(own / "files")]
        own.mkdir()
        code = 1
        try:
            code = int(pytest.main([*usual, *self.tests]))
        finally:
            os._exit(code)


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Changed]]:
    """The changes that are tried."""
    began = time.monotonic()
    for module in options.modules:
        path = Path("src", *module.split(".")).with_suffix(".py")
        for number, (about, tree) in enumerate(mutants(path.read_text())):
            skipped = options.lines and int(about.partition(":")[0]) not in options.lines
            if number % options.every or skipped:
                continue
            if time.monotonic() - began > options.max_time:
                return
            yield f"{module}:{about}", Changed(module, str(path.resolve()), tree)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], epilog="Arguments of pytest follow after --."
    )
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lines", type=int, nargs="+")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--max-time", type=float, default=float("inf"), help="seconds")
    if "--" not in sys.argv:
        parser.error("no tests: name them after --")
    end = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:end])
    for name in LOADED:  # what tests load anyway, except the package itself
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tried, survivors = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(sys.argv[end + 1 :], options.seconds, options.jobs, folder)
        if next(trials.noticed(iter([("", None)])))[1]:
            sys.exit("the tests fail, or take too long, without any change")
        for about, seen in trials.noticed(chosen(options)):
            module = about.partition(":")[0]
            tried[module] += 1
            if not seen:
                survivors[module] += 1
                print(about, flush=True)
    for module, count in tried.items():
        left = survivors[module]
        print(f"{module}: {count} changes tried, {count - left} noticed, {left} not")


if __name__ == "__main__":
    main()

"""Changes of modules, one at a time, that their tests do not notice.

    python -m benchmarks.mutants structrank.structures.hankel [more modules] [--every 2]
        [--max-time 600] [--lines 92 104] [--seconds 20] [--jobs 2] -- tests/test_structures.py

`make mutation` does the same with mutmut, which needs tests that do not use the module while they
are loaded. This is for the others: a change is made before the module is imported, in a process of
its own, which runs pytest with the arguments after `--` up to the first failure. Tests that take
longer than `--seconds` and three times their time without the change count as a failure.
`--every 2` tries every second change, `--lines` those of some lines, and `--jobs` several at a
time. What is changed: operators, comparisons, conditions, whole numbers, truth values, `min` and
`max`, and keywords of calls, which are left out. What does nothing in code that is right stays:
texts, whether a class is frozen, `strict` of `zip`, and the -1 of `reshape`, for which NumPy takes
every negative number.

A first run without a change shows which tests run a line, and how long they take. A change is tried
with these tests, the fast ones first, then with all others that use the module: they may rest on
what was computed before.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil
from pathlib import Path

from coverage import Coverage, CoverageData

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
    "click",
    "hypothesis.extra.numpy",
    "hypothesis.strategies",
)
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
NO_TESTS = 5  # exit code of pytest
PRECAUTIONS = {"dataclass": ("frozen",), "zip": ("strict",)}


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
            if keyword.arg in PRECAUTIONS.get(_name(node.func), ()):
                continue
            kept, node.keywords = node.keywords, [k for k in node.keywords if k is not keyword]
            yield f"without {keyword.arg}"
            node.keywords = kept


def _name(function: ast.expr) -> str:
    """Last part of the name of a function."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def kept_as_is(node: ast.AST) -> Iterator[Iterator[ast.AST]]:
    """Parts of a node that are not changed: annotations, texts, precautions, free lengths."""
    if isinstance(node, ast.JoinedStr):
        yield ast.walk(node)
    for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if part is not None:
            yield ast.walk(part)
    if isinstance(node, ast.Call):
        name = _name(node.func)
        for keyword in node.keywords:
            if keyword.arg in PRECAUTIONS.get(name, ()):
                yield ast.walk(keyword)
        if name == "reshape":
            for inner in ast.walk(node):
                if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub):
                    yield ast.walk(inner.operand)


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """All changes of a module: where and what, and the changed module."""
    tree = ast.parse(source)
    lines = source.splitlines()
    kept = {id(inner) for node in ast.walk(tree) for part in kept_as_is(node) for inner in part}
    for node in ast.walk(tree):
        if id(node) in kept:
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


class Recorder:
    """Records which tests run which lines of some modules, and how long they take."""

    def __init__(self, paths: list[str], folder: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.times = Path(folder, "seconds.json")
        file = str(Path(folder, "coverage"))
        self.coverage = Coverage(data_file=file, include=paths, config_file=False)
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        self.times.write_text(json.dumps(self.seconds))


class Chosen:
    """Runs some tests only, in the order in which they are given."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {name: i for i, name in enumerate(tests)}

    def pytest_collection_modifyitems(self, items) -> None:
        wanted = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(wanted, key=lambda item: self.place[item.nodeid])


@dataclass(frozen=True, eq=False)
class Records:
    """What a `Recorder` wrote into a folder."""

    folder: str

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Time of each test."""
        return dict(json.loads(Path(self.folder, "seconds.json").read_text()))

    @cached_property
    def _lines(self) -> CoverageData:
        data = CoverageData(str(Path(self.folder, "coverage")))
        data.read()
        return data

    def tests(self, path: Path, lines: range | None = None) -> list[str]:
        """Tests that run some lines, or any line of a file; the fast ones first."""
        by_line = self._lines.contexts_by_lineno(str(path.resolve()))
        found = {name for line in lines or by_line for name in by_line.get(line, [])}
        return sorted(found - {""}, key=lambda name: self.seconds.get(name, 0.0))


@dataclass(frozen=True, eq=False)
class Change:
    """What was changed and where, the changed module, the tests of its line, all other tests."""

    about: str
    finder: Changed
    tests: list[str]
    others: list[str]


class Trials:
    """Runs of the tests, each in a process of its own, several at a time."""

    def __init__(self, tests: list[str], seconds: int, jobs: int, folder: str) -> None:
        self.tests, self.seconds, self.jobs, self.folder = tests, seconds, jobs, folder
        self.running: dict[int, Change] = {}

    @cached_property
    def records(self) -> Records:
        """What a run of all tests without a change recorded."""
        return Records(self.folder)

    def record(self, paths: list[str]) -> None:
        """Run all tests without a change."""
        child = self._started(None, self.tests, lambda: Recorder(paths, self.folder))
        if os.waitpid(child, 0)[1]:
            sys.exit("the tests fail without any change")

    def outcomes(self, found: Iterator[Change]) -> Iterator[tuple[str, bool]]:
        """What was changed, and whether a test noticed; in the order of their ends."""
        for change in found:
            while len(self.running) == self.jobs:
                yield from self._ended()
            self._begin(change)
        while self.running:
            yield from self._ended()

    def _begin(self, change: Change) -> None:
        options = [x for x in self.tests if not Path(x.partition("::")[0]).exists()]
        files = list(dict.fromkeys(name.partition("::")[0] for name in change.tests))
        duration = sum(self.records.seconds.get(name, 0.0) for name in change.tests)
        plugin = partial(Chosen, change.tests)
        child = self._started(change.finder, [*options, *files], plugin, duration)
        self.running[child] = change

    def _ended(self) -> Iterator[tuple[str, bool]]:
        """Wait for one. If the tests of its line did not notice the change, the others follow."""
        child, status = os.wait()
        shutil.rmtree(Path(self.folder, str(child)), ignore_errors=True)
        change, code = self.running.pop(child), os.waitstatus_to_exitcode(status)
        if code == NO_TESTS:
            sys.exit(f"the tests of {change.about} have other names in this run")
        if code or not change.others:
            yield change.about, code != 0
        else:
            self._begin(replace(change, tests=change.others, others=[]))

    def _started(
        self,
        finder: Changed | None,
        arguments: list[str],
        plugin: Callable[[], object],
        duration: float = 0.0,
    ) -> int:
        import pytest

        child = os.fork()
        if child:
            return child
        if finder is not None:
            signal.alarm(self.seconds + ceil(3 * duration))
            sys.meta_path.insert(0, finder)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        own = Path(self.folder, str(os.getpid()))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(own / "hypothesis")
        usual = ["-x", "-q", "-p", "no:cacheprovider", "--basetemp", str(own / "files")]
        usual += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is loaded
        own.mkdir()
        code = 1
        try:
            code = int(pytest.main([*usual, *arguments], plugins=[plugin()]))
        finally:
            os._exit(code)


def source(module: str) -> Path:
    """File of a module."""
    return Path("src", *module.split(".")).with_suffix(".py")


def headers(source: str) -> dict[int, range]:
    """Lines of the innermost statement of each line, without the statements inside."""
    found: dict[int, range] = {}
    for node in ast.walk(ast.parse(source)):  # outer nodes come first
        if isinstance(node, ast.stmt):
            end = node.end_lineno or node.lineno
            inside = [x.lineno for x in getattr(node, "body", []) if isinstance(x, ast.stmt)]
            lines = range(node.lineno, max(min([end + 1, *inside]), node.lineno + 1))
            found.update(dict.fromkeys(lines, lines))
    return found


def chosen(options: argparse.Namespace, records: Records) -> Iterator[Change]:
    """The changes that are tried, and the tests of each."""
    began = time.monotonic()
    for module in options.modules:
        path = source(module)
        text = path.read_text()
        lines, every = headers(text), records.tests(path)
        for number, (about, tree) in enumerate(mutants(text)):
            line = int(about.partition(":")[0])
            if number % options.every or (options.lines and line not in options.lines):
                continue
            if time.monotonic() - began > options.max_time:
                return
            first = records.tests(path, lines.get(line, range(line, line + 1)))
            rest = [name for name in every if name not in set(first)]
            finder = Changed(module, str(path.resolve()), tree)
            yield Change(f"{module}:{about}", finder, first or rest, rest if first else [])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], epilog="Arguments of pytest follow after --."
    )
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lines", type=int, nargs="+")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--max-time", type=float, default=float("inf"), help="seconds")
    if "--" not in sys.argv:
        parser.error("no tests: name them after --")
    end = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:end])
    for name in LOADED:  # what tests load anyway, except the package itself
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # every process would look through all of them
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(sys.argv[end + 1 :], options.seconds, options.jobs, folder)
        trials.record([str(source(module).resolve()) for module in options.modules])
        for module in options.modules:
            if not trials.records.tests(source(module)):
                sys.exit(f"no test uses {module}")
        for about, noticed in trials.outcomes(chosen(options, trials.records)):
            counts[about.partition(":")[0]][noticed] += 1
            if not noticed:
                print(f"not: {about}", flush=True)
    for module, outcomes in counts.items():
        print(f"{module}: {outcomes.total()} changes tried, {outcomes[True]} noticed")


if __name__ == "__main__":
    main()

"""Changes of one module, one at a time, that its tests do not notice.

    python -m benchmarks.mutants structrank.structures.hankel [--every 2] [--max-time 600]
        [--lines 92 104] [--seconds 60] -- tests/test_structures.py -k hankel

`make mutation` does the same with mutmut, which needs tests that do not use the module while they
are loaded. This is for the others: a change is made before the module is imported, in a process of
its own, which runs pytest with the arguments after `--` up to the first failure. Tests that take
longer than `--seconds` count as a failure. `--every 2` tries every second change, and `--lines`
those of some lines. What is changed: operators, comparisons, conditions, whole numbers, truth
values, `min` and `max`, and keywords of calls, which are left out. Texts of errors and docstrings
stay.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
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


def noticed(finder: Changed | None, tests: list[str], seconds: int) -> bool:
    """Run the tests in a process of their own: whether they fail."""
    import pytest

    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if finder is not None:
            sys.meta_path.insert(0, finder)
        code = 1
        try:
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("module")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lines", type=int, nargs="+")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--max-time", type=float, default=float("inf"), help="seconds")
    parser.add_argument("tests", nargs="+", help="arguments of pytest, after --")
    options = parser.parse_args()
    # What tests load anyway, except the package itself.
    for name in ("numpy", "scipy.sparse.linalg", "scipy.fft", "array_api_strict"):
        importlib.import_module(name)
    path = Path("src", *options.module.split(".")).with_suffix(".py")
    if noticed(None, options.tests, 10 * options.seconds):
        raise SystemExit("the tests fail without any change")
    began, tried, survivors = time.monotonic(), 0, 0
    for number, (about, tree) in enumerate(mutants(path.read_text())):
        skipped = options.lines is not None and int(about.partition(":")[0]) not in options.lines
        if number % options.every or skipped or time.monotonic() - began > options.max_time:
            continue
        tried += 1
        finder = Changed(options.module, str(path.resolve()), tree)
        if not noticed(finder, options.tests, options.seconds):
            survivors += 1
            print(about, flush=True)
    print(f"{number + 1} changes, {tried} tried, {tried - survivors} noticed, {survivors} not")


if __name__ == "__main__":
    main()

"""Rules of the house: sizes, constants, docstrings, one home for each concept."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from pathlib import Path

import pytest

import structrank

SOURCE = Path(structrank.__file__).parent
MODULES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
PACKAGES = [path.parent for path in SOURCE.rglob("__init__.py")]
MOST_LINES = 350
MOST_LINES_OF_A_FUNCTION = 50
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def nodes(*kinds):
    """All nodes of these kinds, each with its module."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield name, node


def lines_without_docstring(function):
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def test_no_module_is_too_long():
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_no_function_is_too_long():
    lengths = {
        f"{name}: {function.name}": lines_without_docstring(function)
        for name, function in nodes(*FUNCTIONS)
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_FUNCTION} == {}


def number(node):
    """The value of an expression of plain numbers, else None."""
    allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    if node is None or not all(isinstance(part, allowed) for part in ast.walk(node)):
        return None
    value = eval(compile(ast.Expression(node), "constant", "eval"))
    return value if isinstance(value, (int, float, complex)) else None


def test_no_numeric_constant_has_two_values():
    """A name means the same number in the whole package; most numbers are fields of settings."""
    values = defaultdict(dict)
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and target.id.isupper():
                        value = number(node.value)
                        if value is not None:
                            values[target.id][module] = value
    assert {name: homes for name, homes in values.items() if len(set(homes.values())) > 1} == {}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_every_package_says_what_it_holds(package):
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
    assert docstring
    assert len(docstring.split()) >= 5


@pytest.mark.parametrize("name", structrank.__all__)
def test_every_public_name_has_an_example(name):
    docstring = getattr(structrank, name).__doc__
    assert docstring
    assert "\n    Examples\n    --------\n" in docstring
    assert ">>>" in docstring


def test_every_sub_package_resolves_its_names():
    for package in PACKAGES:
        parts = package.relative_to(SOURCE).parts
        module = importlib.import_module(".".join(("structrank", *parts)))
        for name in getattr(module, "__all__", ()):
            assert getattr(module, name) is not None


def test_warnings_are_not_suppressed():
    """`catch_warnings` changes the filters of all threads.

    Only third-party readers need it, and commands, which own their process.
    """
    found = {
        f"{module}:{node.lineno}"
        for module, node in nodes(ast.Attribute, ast.Name, ast.alias)
        if "catch_warnings" in (getattr(node, key, None) for key in ("attr", "id", "name"))
        if not module.startswith(("io/", "cli/"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("kind", "home"), [("Weighted", "model"), ("Toeplitz", "structures")], ids=str
)
def test_no_isinstance_outside_the_home_of_a_class(kind, home):
    found = {
        f"{module}:{node.lineno}"
        for module, node in nodes(ast.Call)
        if isinstance(node.func, ast.Name)
        if node.func.id == "isinstance"
        if any(isinstance(part, ast.Name) and part.id == kind for part in ast.walk(node.args[1]))
        if not module.startswith(f"{home}/")
    }
    assert found == set()

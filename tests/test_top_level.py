"""The top level of the package: its public names, their types, and what they load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import structrank

STUB = Path(structrank.__file__).with_suffix(".pyi")


def homes_in_the_stub():
    """Every name that the stub imports, with the package that it comes from."""
    return {
        alias.name: node.module
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


def exports_of_the_stub():
    """The list `__all__` of the stub, without which a type checker sees no import of it."""
    (found,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return found


def test_stub_and_homes_and_all_agree():
    homes = {name: home for home, names in structrank._HOMES.items() for name in names}
    assert homes_in_the_stub() == homes
    assert structrank.__all__ == sorted(homes)
    assert sorted(exports_of_the_stub()) == structrank.__all__
    assert "__version__: str" in STUB.read_text()


def test_no_name_has_two_homes():
    names = [name for home in structrank._HOMES.values() for name in home]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", structrank.__all__)
def test_every_name_is_that_of_its_home(name):
    home = structrank._HOME_OF[name]
    package = __import__(f"structrank.{home}", fromlist=[name])
    assert name in package.__all__
    assert getattr(structrank, name) is getattr(package, name)
    assert vars(structrank)[name] is getattr(package, name)  # found without a search from now on


def test_dir_lists_every_name():
    assert set(structrank.__all__) | {"__version__"} <= set(dir(structrank))


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'structrank' has no attribute 'recovre'"):
        _ = structrank.recovre
    with pytest.raises(ImportError, match="recovre"):
        from structrank import recovre  # noqa: F401


def test_import_alone_loads_nothing_heavy():
    code = (
        "import sys, structrank\n"
        "heavy = {'scipy.signal', 'matplotlib', 'pandas', 'numpy', 'structrank.solvers'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "structrank.recover\n"
        "print(sorted({'scipy.signal', 'matplotlib', 'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]

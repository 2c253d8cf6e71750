"""Structures, array libraries and random arrays that the tests share."""

from __future__ import annotations

import ast
import importlib
import os
import re
import signal
from functools import partial

# Set before the libraries are loaded. Each worker has one core: more threads only wait for
# each other (PyTorch with two threads took up to thirty times as long on two busy cores).
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import array_api_strict
import hypothesis
import numpy as np
import pytest

from structrank import Circulant, Hankel, Hessenberg, Indexed, Sylvester, Toeplitz

# A shell that starts the tests in the background lets them ignore Ctrl-C, which they test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LIBRARIES = ["numpy", "array_api_strict", "torch"]
DTYPES = ["float32", "float64", "complex64", "complex128"]

STRUCTURES = {
    "hankel": Hankel(13, window=5),
    "hankel-one-row": Hankel(6, window=1),
    "hankel-tiny": Hankel(2, window=2),
    "hankel-2d": Hankel((7, 6), window=(3, 2)),
    "hankel-3d": Hankel((4, 3, 5), window=(2, 2, 3)),
    "hankel-block": Hankel((7,), window=3, block=(2, 3)),
    "hankel-2d-block": Hankel((5, 4), window=(2, 3), block=(3, 2)),
    "toeplitz": Toeplitz(12, window=7),
    "toeplitz-2d": Toeplitz((5, 6), window=(2, 4)),
    "toeplitz-2d-block": Toeplitz((4, 5), window=(3, 2), block=(2, 2)),
    "circulant": Circulant(7),
    "sylvester": Sylvester((4, 3)),
    "sylvester-shifts": Sylvester((4, 3), shifts=2),
    "sylvester-three": Sylvester((3, 2, 4), shifts=3),
    "hessenberg": Hessenberg(5),
    "indexed": Indexed([[0, 1, -1, 2], [1, -1, 2, 2], [3, 1, 0, 2]]),
}
AFFINE = Indexed(
    [[0, 1, -1, 2], [1, -1, 2, 0], [-1, 2, 0, 1]],
    offset=np.arange(12.0).reshape(3, 4) / 10,
)


def steady(text):
    """Printed text without what rounding decides: seconds, and how far a gap is below its limit."""
    gaps = re.findall(r"within (\S+)% of the optimum", text)
    assert all(float(gap) <= 0.1 for gap in gaps)  # the limit of `recover`
    text = re.sub(r"within \S+% of the optimum", "within 0.1% of the optimum", text)
    return re.sub(r"in \S+ s$", "", text, flags=re.MULTILINE)


def runs_nightly_checks(config):
    return "not nightly" not in config.getoption("markexpr")


def pytest_configure(config):
    """Fuzz with many more examples in `make nightly`."""
    examples = 2000 if runs_nightly_checks(config) else 100
    hypothesis.settings.register_profile("structrank", deadline=None, max_examples=examples)
    hypothesis.settings.load_profile("structrank")


def nightly(*values):
    """Parameters of a case that only `make nightly` runs."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def missing_imports(path):
    """The names that a script imports from structrank and that do not exist."""
    imports = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    return [
        f"{node.module}.{alias.name}"
        for node in imports
        if (node.module or "").split(".")[0] == "structrank"
        for alias in node.names
        if not hasattr(importlib.import_module(node.module), alias.name)
    ]


@pytest.fixture(params=STRUCTURES)
def structure(request):
    return STRUCTURES[request.param]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def one_round_of_regression():
    """Coefficients settle in the first round in these tests, and every round takes long."""
    from structrank.components.regression import RegressionSearch, fit_regression
    from structrank.signals import regressors

    with pytest.MonkeyPatch.context() as patch:
        once = partial(fit_regression, search=RegressionSearch(rounds=1))
        patch.setattr(regressors, "fit_regression", once)
        yield


def random_array(rng, shape, dtype="float64"):
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def to_library(x, library):
    """A NumPy array as one of another library."""
    if library == "numpy":
        return x.copy()
    if library == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        return torch.from_numpy(x.copy())
    return array_api_strict.asarray(x.copy())

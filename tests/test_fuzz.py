"""Random calls of the public surface, of readers and of commands.

A call returns finite numbers, or raises a documented error with a message of the package's own. It
leaves its arguments unchanged and lets no warning of NumPy through. `make nightly` tries about
20,000 calls, the usual tests a few hundred.
"""

from __future__ import annotations

import copy
import string
import tempfile
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from click.testing import CliRunner
from conftest import nightly
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import structrank as sr
from structrank.cli import main
from structrank.io import read
from structrank.io.formats import KNOWN

PACKAGE = str(Path(sr.__file__).parent)
SECONDS = 10  # of processor time: the most for fewer than 100 samples

# -- arguments --------------------------------------------------------------------------

USUAL = st.floats(-10, 10, width=32)
EXTREME = st.sampled_from([0.0, 1.0, 1e-320, 1e-76, 1e-30, 1e-9, 1e9, 1e30, 1e76, 1e300, -1e150])
ODD = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.5, True, None, "1", 1j, [], [1.0], -1])
POSITIVES = st.one_of(*[st.floats(1e-3, 1e3)] * 6, EXTREME, ODD)
COUNTS = st.one_of(*[st.integers(1, 8)] * 6, st.integers(-1, 30), ODD)
SEEDS = st.one_of(*[st.integers(0, 5)] * 6, ODD)
TYPES = st.sampled_from(
    ["float64", "float64", "complex128", "float32", "complex64", "int64", "bool"]
)


@st.composite
def arrays(draw, most=24, axes=2, missing=True):
    """Samples: smooth, random, constant or extreme, with gaps."""
    if draw(st.integers(0, 20)) == 0:
        return draw(st.sampled_from([None, "abc", [], [[]], 3.0, {}, [None, 1.0], ["a", 1.0]]))
    size = st.integers(0, most) if draw(st.integers(0, 9)) == 0 else st.integers(4, most)
    shape = (draw(size),)
    if axes > 1 and draw(st.integers(0, 3)) == 0:
        shape += (draw(st.integers(1, 4)),)
    kind = draw(st.sampled_from(["smooth", "smooth", "random", "constant", "entries"]))
    if kind == "entries":
        values = draw(hnp.arrays(float, shape, elements=st.one_of(*[USUAL] * 20, EXTREME)))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        values = rng.standard_normal(shape) if kind == "random" else np.ones(shape)
        if kind == "smooth":
            t = np.arange(shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
            values = np.cos(rng.uniform(0, 3) * t + rng.uniform(0, 6, shape[1:]))
            values = values + draw(st.sampled_from([0, 1e-3, 0.3])) * rng.standard_normal(shape)
        values = values * draw(st.sampled_from([1.0, 1.0, 1.0, 0.0, 1e-80, 1e-60, 1e60, 1e80]))
    dtype = draw(TYPES)
    with np.errstate(all="ignore"):
        if dtype.startswith("complex"):
            values = values * np.exp(1j * np.arange(values.size).reshape(shape))
        values = values.astype(dtype)
    if missing and values.dtype.kind in "fc" and draw(st.booleans()):
        gaps = draw(hnp.arrays(bool, shape, elements=st.integers(0, 3).map(lambda k: k == 0)))
        values[gaps] = np.nan
    return values


def options(**strategies):
    """Some of these arguments."""
    return st.fixed_dictionaries({}, optional=strategies)


def structures():
    """A function that makes a structure, or raises an error."""
    kinds = st.sampled_from(["Hankel", "Toeplitz", "Circulant", "Hessenberg", "Sylvester"])
    return st.builds(partial, st.just(a_structure), kinds, COUNTS, COUNTS)


def a_structure(kind, n, window):
    if kind in ("Hankel", "Toeplitz"):
        return getattr(sr, kind)(n, window=window)
    return sr.Sylvester((n, window)) if kind == "Sylvester" else getattr(sr, kind)(n)


@st.composite
def problems(draw):
    """A function that makes a problem, or raises an error."""
    n = draw(st.integers(1, 9))
    structure = draw(st.sampled_from([sr.Hankel, sr.Toeplitz]))(n, window=draw(st.integers(1, n)))
    b = draw(arrays(most=9, axes=1, missing=False))
    if isinstance(b, np.ndarray) and b.size and draw(st.integers(0, 9)):
        b = np.resize(b, n)
    mu = draw(POSITIVES)
    measure = draw(st.sampled_from([*[None, "lifted", "mask", "weights"] * 3, "odd"]))
    if measure == "mask":
        measure = draw(hnp.arrays(bool, n))
    elif measure == "weights":
        measure = draw(hnp.arrays(float, n, elements=st.one_of(*[USUAL.map(abs)] * 20, EXTREME)))
    return partial(a_problem, structure, b, mu, measure)


def a_problem(structure, b, mu, measure):
    if isinstance(measure, np.ndarray):
        measure = sr.Mask(measure) if measure.dtype == bool else sr.Weighted(measure)
    return sr.Problem(structure, b, mu, measure)


MODEL = {"rank": COUNTS, "window": COUNTS, "sigma": POSITIVES, "rng": SEEDS}


def systems():
    """A function that makes a system, or raises an error."""
    return st.builds(partial, st.just(sr.random_system), st.integers(1, 2), COUNTS)


def outputs(most=40):
    return arrays(most=most, axes=2)


# -- calls: a strategy of arguments, and a function of them -----------------------------


def call(function, *positional, **keywords):
    """Draw arguments; return the arrays that came back."""
    return st.tuples(st.tuples(*positional), options(**keywords)).map(
        lambda drawn: (function, *drawn)
    )


def solved(solver):
    def work(problem, *rest, **keywords):
        found = solver(problem, *rest, **keywords)
        return found.y, found.objective, found.X.U

    return work


def recovered(function):
    def work(samples, **keywords):
        found = function(samples, **{"effort": "fast", "max_time": 2.0, **keywords})
        return found.signal, repr(found)

    return work


def foreseen(samples, steps, **keywords):
    found = sr.forecast(samples, steps, effort="fast", max_time=2.0, **keywords)
    return found.mean, found.lower, repr(found)


def tones(samples, **keywords):
    found = sr.frequencies(samples, effort="fast", max_time=2.0, **keywords)
    return found.frequencies, found.amplitudes, repr(found)


def products(structure, seed):
    if max(structure.shape) > 1000:
        return (repr(structure),)
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(structure.signal_shape)
    V = rng.standard_normal((structure.shape[1], 2))
    return structure.to_dense(y), structure.matmul(y, V), repr(structure)


def divisor(*given, **keywords):
    found = sr.approximate_gcd(*given, **keywords)
    return found.divisor, found.backward_error


def realized(samples, **keywords):
    found = sr.realize_outputs(samples, **keywords)
    return found.A, found.C, repr(found)


def identified(samples, width, **keywords):
    inputs = np.random.default_rng(0).standard_normal((len(np.atleast_1d(samples)), width))
    found = sr.identify(inputs, samples, max_order=2, **keywords)
    return found.A, found.B, repr(found)


def filtered(system, samples, steps):
    smooth = system.smooth(samples)
    return smooth.states, system.loglikelihood(samples), system.forecast(steps, samples)


def from_bytes(content, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        path.write_bytes(content)
        return (read(path, max_size="100MB").index,)


def from_text(text, suffix, **keywords):
    return from_bytes(text.encode(), suffix) if not keywords else _text(text, suffix, keywords)


def _text(text, suffix, keywords):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        path.write_text(text)
        return (read(path, **keywords).index,)


@st.composite
def tables(draw):
    """Text that is nearly a table."""
    sep = draw(st.sampled_from([",", ";", "\t", " ", "|"]))
    number = st.one_of(USUAL.map(str), st.integers(-99, 99).map(str), st.sampled_from(["", "nan"]))
    odd = st.sampled_from(
        ['"', '"a', "#x", "=1+1", "1,5", "1e999", "2024-05-01", "31.05.2024", "x"]
    )
    cell = st.one_of(*[number] * 6, odd, st.text(string.printable, max_size=4))
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=12))
    head = [] if draw(st.booleans()) else [[f"c{k}" for k in range(width)]]
    return "\n".join(sep.join(row) for row in head + rows)


READ = [suffix for suffix in KNOWN if not suffix.endswith("seed")]  # they need ObsPy
TEXT_SUFFIX = st.sampled_from([".csv", ".tsv", ".txt", ".json"])
TEXT_OPTIONS = {
    "sep": st.sampled_from([",", "tab", "", "ab", "\n"]),
    "decimal": st.sampled_from([".", ",", "x"]),
    "skip_rows": st.integers(-1, 5),
    "columns": st.sampled_from([1, "c0", [1, 2], [], 99]),
    "index": st.sampled_from([1, "c0", False, 7]),
    "header": st.booleans(),
    "encoding": st.sampled_from(["utf-8", "utf-16", "latin-1", "nothing"]),
    "missing": st.sampled_from(["x", -99, [1, "a"]]),
    "regular": st.booleans(),
    "step": st.sampled_from(["1d", "10min", 0.5, 0, -1, "x", 1e300, 1e-300]),
    "max_size": st.sampled_from(["1MB", 1, "x", -1]),
}

CHEAP, MIDDLE, DEAR = (20, 2200), (6, 800), (3, 300)
CALLS = {
    "structures": (CHEAP, call(products, structures(), st.integers(0, 9))),
    "mu_max": (CHEAP, call(lambda p: (sr.mu_max(p),), problems())),
    "solve": (MIDDLE, call(solved(sr.solve), problems(), gap=POSITIVES, rng=SEEDS)),
    "gcgls": (MIDDLE, call(solved(sr.gcgls), problems(), POSITIVES, pairs=COUNTS, rng=SEEDS)),
    "gcg": (MIDDLE, call(solved(sr.gcg), problems(), POSITIVES, rng=SEEDS)),
    "robust": (DEAR, call(solved(sr.solve_robust), problems(), POSITIVES, rng=SEEDS)),
    "within": (DEAR, call(solved(sr.solve_within), problems(), POSITIVES, rng=SEEDS)),
    "noise_mu": (
        CHEAP,
        call(lambda *a, **k: (sr.noise_mu(*a, **k),), problems(), POSITIVES, rng=SEEDS),
    ),
    "select_mu": (
        DEAR,
        call(lambda p, **k: (sr.select_mu(p, **k).mu,), problems(), sigma=POSITIVES, rng=SEEDS),
    ),
    "recover": (DEAR, call(recovered(sr.recover), arrays(), **MODEL, channels=ODD)),
    "impute": (DEAR, call(recovered(sr.impute), arrays(), rank=COUNTS)),
    "forecast": (DEAR, call(foreseen, arrays(), COUNTS, **MODEL, season=POSITIVES)),
    "frequencies": (DEAR, call(tones, arrays(), **MODEL, dt=POSITIVES)),
    "cost": (DEAR, call(lambda x: (sr.estimate_cost(x).seconds,), arrays())),
    "gcd": (CHEAP, call(divisor, arrays(8, 1), arrays(8, 1), degree=COUNTS, noise=POSITIVES)),
    "realize_outputs": (DEAR, call(realized, outputs(), order=COUNTS, lags=COUNTS, mu=POSITIVES)),
    "identify": (DEAR, call(identified, outputs(), st.integers(1, 2), order=COUNTS)),
    "state space": (MIDDLE, call(filtered, systems(), outputs(), COUNTS)),
    "bytes": (CHEAP, call(from_bytes, st.binary(max_size=60), st.sampled_from(READ))),
    "text": (CHEAP, call(from_text, tables(), TEXT_SUFFIX, **TEXT_OPTIONS)),
}


# -- what must hold ---------------------------------------------------------------------


def attempt(function, positional, keywords):
    """What a call returns, or its error if that is documented."""
    try:
        made = [given() if isinstance(given, partial) else given for given in positional]
        return function(*made, **keywords), None
    except (TypeError, ValueError) as error:
        if isinstance(error, np.linalg.LinAlgError):
            raise
        return (), error


def check(function, positional, keywords):
    before, began = copy.deepcopy((positional, keywords)), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, error = attempt(function, positional, keywords)
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        assert frames[-1].filename.startswith(PACKAGE), f"{frames[-1]}: {error!r}"
        assert str(error)
    leaked = [str(w.message) for w in caught if not issubclass(w.category, UserWarning)]
    assert leaked == [], leaked
    for part in found:
        values = np.asarray(part)
        assert values.dtype.kind not in "fc" or np.all(np.isfinite(values)), found
    same(before, (positional, keywords))
    assert time.process_time() - began < SECONDS


def same(before, after):
    """Arguments are as they were."""
    if isinstance(before, (tuple, list)):
        for one, other in zip(before, after, strict=True):
            same(one, other)
    elif isinstance(before, dict):
        same(list(before.values()), list(after.values()))
    elif isinstance(before, np.ndarray):
        np.testing.assert_array_equal(before, after)
    elif isinstance(before, partial):
        same(before.args, after.args)


def fuzz(strategy, examples, test):
    quiet = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=examples < 100,  # the usual tests try the same examples each time
        suppress_health_check=list(HealthCheck),
    )
    hypothesis.given(strategy)(quiet(test))()


LEVELS = [pytest.param(0), nightly(1)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name, level):
    counts, strategy = CALLS[name]
    fuzz(strategy, counts[level], lambda drawn: check(*drawn))


COMMANDS = ["recover", "impute", "denoise", "forecast", "frequencies", "realize", "info"]
WORDS = ["--rank", "--window", "--sigma", "--mu", "--steps", "--columns", "--index", "--step"]
WORDS += ["--max-size", "--max-time", "--skip-rows", "--missing", "--channels", "--variable"]
VALUES = ["1", "2", "0", "-1", "x", "1e300", "nan", "c0", "none", "1,2", "1MB", ""]


@pytest.mark.parametrize("level", LEVELS)
def test_commands(level, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = st.tuples(st.sampled_from(WORDS), st.sampled_from(VALUES))
    few = st.lists(pairs, max_size=2).map(lambda chosen: [word for pair in chosen for word in pair])
    arguments = st.tuples(st.sampled_from(COMMANDS), few, tables())

    def test(drawn):
        command, words, text = drawn
        Path("data.csv").write_text(text)
        outcome = CliRunner().invoke(main, [command, "data.csv", "--effort", "fast", *words])
        assert outcome.exit_code in (0, 1, 2), outcome.exception
        if outcome.exit_code:
            assert "Traceback" not in outcome.output
            assert outcome.stderr.startswith(("Error: ", "Usage: ", "Note: ", "Warning: "))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv"]

    fuzz(arguments, (20, 1500)[level], test)


def test_there_are_enough():
    few, many = (sum(counts[k] for counts, _ in CALLS.values()) for k in range(2))
    assert few + 20 <= 500
    assert many + 1500 >= 20_000

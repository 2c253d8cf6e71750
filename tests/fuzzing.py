"""Random arguments, and what must hold for every call of the public surface."""

from __future__ import annotations

import copy
import string
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import hypothesis
import numpy as np
from conftest import nightly
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import structrank as sr

PACKAGE = str(Path(sr.__file__).parent)
SECONDS = 10  # of processor time: the most for fewer than 100 samples
LEVELS = [0, nightly(1)]

# -- arguments --------------------------------------------------------------------------


def mostly(usual, *others, odds=30):
    """Rarely one of the others, `odds` times in 1000.

    A call with several odd arguments shows only that one of them is refused. Hypothesis tries no
    example twice, so that odd values would prevail among few kinds.
    """
    rare = st.one_of(*others)
    return st.integers(0, 999).flatmap(lambda k: usual if k < 1000 - odds else rare)


USUAL = st.floats(-10, 10, width=32)
EXTREME = st.sampled_from([0.0, 1.0, 1e-320, 1e-76, 1e-30, 1e-9, 1e9, 1e30, 1e76, 1e300, -1e150])
ODD = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.5, True, None, "1", 1j, [], [1.0], -1])
POSITIVES = mostly(st.floats(-3, 2).map(lambda exponent: 10.0**exponent), EXTREME, ODD)
COUNTS = mostly(st.integers(1, 8), st.integers(-1, 30), ODD)
SEEDS = mostly(st.integers(0, 5), ODD)
FLAGS = mostly(st.booleans(), ODD)
FLOATS = st.sampled_from(["float64", "float64", "complex128", "float32", "complex64"])
TYPES = mostly(FLOATS, st.sampled_from(["int64", "bool"]))
LIMITS = mostly(st.tuples(st.floats(-9, -1), st.floats(1, 9)), ODD, st.tuples(EXTREME, EXTREME))
NO_ARRAYS = st.sampled_from([None, "abc", [], [[]], 3.0, {}, [None, 1.0], ["a", 1.0]])
UNIT = st.just(1.0)
SCALES = mostly(st.just(1.0), st.sampled_from([0.0, 1e-80, 1e-60, 1e60, 1e80]))


@st.composite
def arrays(draw, least=4, most=24, axes=(1, 1, 1, 2), missing=True, types=TYPES, scales=SCALES):
    """Samples: smooth, random, constant or extreme, with gaps."""
    size = draw(mostly(st.integers(least, most), st.integers(0, most), NO_ARRAYS))
    if not isinstance(size, int):
        return size
    shape = (size, draw(st.integers(1, 4))) if draw(st.sampled_from(axes)) == 2 else (size,)
    kind = draw(st.sampled_from(["smooth", "smooth", "random", "constant", "entries"]))
    if kind == "entries":
        elements = USUAL if scales is UNIT else mostly(USUAL, EXTREME)
        values = draw(hnp.arrays(float, shape, elements=elements))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        values = rng.standard_normal(shape) if kind == "random" else np.ones(shape)
        if kind == "smooth":
            t = np.arange(shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
            values = np.cos(rng.uniform(0, 3) * t + rng.uniform(0, 6, shape[1:]))
            values = values + draw(st.sampled_from([0, 1e-3, 0.3])) * rng.standard_normal(shape)
    return with_gaps(draw, as_type(draw(types), values, draw(scales)), missing)


def as_type(dtype, values, scale):
    with np.errstate(all="ignore"):
        values = values * scale
        if dtype.startswith("complex"):
            values = values * np.exp(1j * np.arange(values.size).reshape(values.shape))
        return values.astype(dtype)


def with_gaps(draw, values, missing):
    if missing and values.dtype.kind in "fc" and draw(st.booleans()):
        gaps = hnp.arrays(bool, values.shape, elements=st.integers(0, 3).map(lambda k: k == 3))
        values[draw(gaps)] = np.nan
    return values


REAL = st.sampled_from(["float64", "float64", "float32"])
SERIES = arrays(least=8, most=40, axes=(1,), types=mostly(REAL, TYPES))
OUTPUTS = arrays(least=12, most=40, types=mostly(REAL, TYPES))
TABLES = arrays(least=12, most=40, axes=(2,), types=mostly(REAL, TYPES))


def structures(sizes=COUNTS):
    """A function that makes a structure, or raises an error."""
    kinds = st.sampled_from([sr.Hankel, sr.Toeplitz, sr.Circulant, sr.Hessenberg, sr.Sylvester])
    return st.builds(partial, st.just(a_structure), kinds, sizes, sizes)


def a_structure(kind, n, window):
    if kind in (sr.Hankel, sr.Toeplitz):
        return kind(n, window=window)
    return kind((n, window)) if kind is sr.Sylvester else kind(n)


@st.composite
def problems(draw, least=1, mus=POSITIVES, scales=SCALES, zeros=True):
    """A function that makes a problem, or raises an error."""
    n = draw(st.integers(least, 9))
    structure = draw(st.sampled_from([sr.Hankel, sr.Toeplitz]))(n, window=draw(st.integers(1, n)))
    b = draw(arrays(most=9, axes=(1,), missing=False, scales=scales))
    if isinstance(b, np.ndarray) and b.size and draw(mostly(st.just(True), st.just(False))):
        b = np.resize(b, n)
    if not zeros:
        hypothesis.assume(np.any(b))
    mu = draw(mus)
    measure = draw(mostly(st.sampled_from([None, "lifted", "mask", "weights"]), st.just("odd")))
    if measure == "mask":
        measure = draw(hnp.arrays(bool, n, elements=st.sampled_from([True, True, False])))
    elif measure == "weights":
        elements = USUAL.map(abs) if scales is UNIT else mostly(USUAL.map(abs), EXTREME)
        measure = draw(hnp.arrays(float, n, elements=elements))
    return partial(a_problem, structure, b, mu, measure)


def a_problem(structure, b, mu, measure):
    if isinstance(measure, np.ndarray):
        measure = sr.Mask(measure) if measure.dtype == bool else sr.Weighted(measure)
    return sr.Problem(structure, b, mu, measure)


def systems():
    """A function that makes a system, or raises an error."""
    return st.builds(partial, st.just(sr.random_system), st.integers(1, 2), COUNTS)


@st.composite
def matrices(draw, *sizes):
    """A matrix of this shape, rarely of another one; entries from below one half to one."""
    sizes = [draw(mostly(st.just(size), st.integers(0, 3))) for size in sizes]
    entries = st.integers(-499, 499).map(lambda k: k / 1000)
    return draw(hnp.arrays(float, sizes, elements=mostly(entries, st.sampled_from([1e-9, 1.0]))))


@st.composite
def own_systems(draw):
    """Matrices of a system, and what is known of its noise."""
    order, p = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    A, C = draw(matrices(order, order)), draw(matrices(p, order))
    noise = draw(st.sampled_from(["none", "Q and R", "K"]))
    given = {"dt": draw(POSITIVES), "x0": draw(matrices(order))}
    if noise == "Q and R":
        Q, R = draw(matrices(order, order)), draw(matrices(p, p))
        given |= {"Q": Q @ Q.T, "R": R @ R.T + 0.1 * np.eye(len(R))}
    elif noise == "K":
        given |= {"K": draw(matrices(order, p)), "innovation_covariance": np.eye(p)}
    return (A, None, C, None), given


def losses():
    huber = st.builds(partial, st.just(sr.Huber), POSITIVES)
    return mostly(huber, st.just(partial(sr.Logistic)))


@st.composite
def tables(draw):
    """Text that is nearly a table."""
    sep = draw(st.sampled_from([",", ";", "\t", " ", "|"]))
    number = st.one_of(USUAL.map(str), st.integers(-99, 99).map(str), st.sampled_from(["", "nan"]))
    odd = st.sampled_from(
        ['"', '"a', "#x", "=1+1", "1,5", "1e999", "2024-05-01", "31.05.2024", "x"]
    )
    text = st.text(string.printable, max_size=4)
    cell = mostly(number, odd, text) if draw(st.booleans()) else number
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=12))
    head = [] if draw(st.booleans()) else [[f"c{k}" for k in range(width)]]
    return "\n".join(sep.join(row) for row in head + rows)


# -- calls ------------------------------------------------------------------------------


def call(function, *positional, **keywords):
    """A strategy of calls: positional arguments, and some of the keywords."""
    some = st.fixed_dictionaries({}, optional=keywords)
    return st.tuples(st.tuples(*positional), some).map(lambda drawn: (function, *drawn))


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
    """A call returns finite numbers or raises a documented error, and leaves all as it was."""
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

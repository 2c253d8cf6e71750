"""Random files: bytes, text, valid files with changes, and tables that are written.

A file is read as finite or missing numbers, or refused by a `FileError` with a message of the
package's own. What is written is what is read back.
"""

from __future__ import annotations

import functools
import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fuzzing import LEVELS, USUAL, call, check, fuzz, mostly, tables
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import structrank as sr
from structrank.io import FileError, Table, read, write
from structrank.io.formats import FRAMES, KNOWN

LIMIT = "20MB"
READ = [suffix for suffix in KNOWN if not suffix.endswith("seed")]  # they need ObsPy

# -- what is read -----------------------------------------------------------------------


def plain(table):
    """Infinite numbers come only from text that says so."""
    assert not np.any(np.isinf(table.values)) or table.format == "text"
    return (repr(table),)


def from_bytes(content, suffix, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        path.write_bytes(content)
        return plain(read(path, **{"max_size": LIMIT, **options}))


def from_text(text, suffix, **options):
    return from_bytes(text.encode(), suffix, **options)


TEXT_OPTIONS = {
    "sep": mostly(st.just(","), st.sampled_from(["tab", "", "ab", "\n"])),
    "decimal": st.sampled_from([".", ",", "x"]),
    "skip_rows": mostly(st.integers(0, 2), st.integers(-1, 5)),
    "columns": mostly(st.sampled_from([1, [1]]), st.sampled_from(["c0", [1, 2], [], 99])),
    "index": st.sampled_from([1, "c0", False, 7]),
    "header": st.booleans(),
    "encoding": mostly(st.just("utf-8"), st.sampled_from(["utf-16", "latin-1", "nothing"])),
    "missing": mostly(st.just(-99), st.sampled_from(["x", [1, "a"]])),
    "regular": st.booleans(),
    "step": st.sampled_from(["1d", "10min", 0.5, 0, -1, "x", 1e300, 1e-300]),
    "max_size": mostly(st.just("1MB"), st.sampled_from([1, "x", -1])),
}

# -- valid files with changes -----------------------------------------------------------


def hdf5_of_matlab(path, values):
    """A file of MAT v7.3: HDF5 after a header."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        file["x"] = values
        file["x"].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def saved(path, values):
    sr.recover(values, rank=2, kind="refit").save(path)


def checkpoint(path, values):
    problem = sr.Problem(sr.Hankel(values.size, window=10), values, 0.1)
    sr.gcgls(problem, 1.0, checkpoint=path)


def resumed(path):
    values = valid_values()
    problem = sr.Problem(sr.Hankel(values.size, window=10), values, 0.1)
    return (sr.gcgls(problem, 1.0, resume=path).y,)


def written(path, values):
    if path.name.endswith(".gz"):
        text = path.with_suffix("")
        write(text, Table(values))
        path.write_bytes(gzip.compress(text.read_bytes(), mtime=0))
        text.unlink()
    else:
        write(path, Table(values, header={"rate": 8000} if path.suffix == ".wav" else None))


def read_back(path):
    return plain(read(path, max_size=LIMIT))


WRITTEN = ".npy .npz .mat .h5 .wav .csv .csv.gz .xlsx .parquet .feather .json .zarr .fid"
FILES = {
    **{name: (name, written, read_back) for name in WRITTEN.split()},
    "MAT v7.3": (".mat", hdf5_of_matlab, read_back),
    "saved result": (".npz", saved, lambda path: (np.nan_to_num(sr.load(path).signal),)),
    "checkpoint": (".npz", checkpoint, resumed),
}


def valid_values():
    return np.cos(0.4 * np.arange(20)) / 2


@functools.cache
def valid_file(name):
    """The bytes of a valid file, or of those in a folder by their paths."""
    suffix, make, _ = FILES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        make(path, valid_values())
        if path.is_file():
            return path.read_bytes()
        files = sorted(part for part in path.rglob("*") if part.is_file())
        return {str(part.relative_to(path)): part.read_bytes() for part in files}


PLACES = st.floats(0, 1, exclude_max=True)
BYTES = st.one_of(st.sampled_from([0, 127, 255]), st.integers(0, 255))
CHANGE = mostly(
    st.tuples(st.just("byte"), PLACES, BYTES),
    st.tuples(st.sampled_from(["cut", "repeat", "end"]), PLACES, PLACES),
    odds=300,
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=3)


def changed(content, changes):
    """Change bytes, leave out or repeat some, or end early."""
    for what, place, how in changes:
        at = int(place * len(content))
        if what == "byte":
            content = content[:at] + bytes([how]) + content[at + 1 :]
        elif what == "end":
            content = content[:at]
        else:
            end = at + 1 + int(64 * how)
            before, after = (at, end) if what == "cut" else (end, at)
            content = content[:before] + content[after:]
    return content


def read_changed(name, which, changes):
    """Read a valid file after changes."""
    suffix, _, reader = FILES[name]
    content = valid_file(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        if isinstance(content, bytes):
            path.write_bytes(changed(content, changes))
        else:
            chosen = sorted(content)[int(which * len(content))]
            for part, inside in content.items():
                (path / part).parent.mkdir(parents=True, exist_ok=True)
                (path / part).write_bytes(changed(inside, changes) if part == chosen else inside)
        return reader(path)


@pytest.mark.parametrize("name", FILES)
def test_valid_files_are_read(name):
    assert read_changed(name, 0.0, [])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FILES)
def test_changed_files(name, level):
    fuzz(call(read_changed, st.just(name), PLACES, CHANGES), (5, 400)[level], lambda d: check(*d))


# -- bytes and text ---------------------------------------------------------------------

STRATEGIES = {
    "bytes": call(from_bytes, st.binary(max_size=60), st.sampled_from(READ)),
    "text": call(from_text, tables(), st.sampled_from([".csv", ".tsv", ".txt", ".json"])),
    "options": call(from_text, tables(), st.sampled_from([".csv", ".txt"]), **TEXT_OPTIONS),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_reading(name, level):
    fuzz(STRATEGIES[name], (15, 2000)[level], lambda drawn: check(*drawn))


# -- what is written --------------------------------------------------------------------

TEXTS = mostly(
    st.text("abcxyz", min_size=1, max_size=5),
    st.sampled_from(["", "a", "a", "=1+1", '"', "a,b", "a\nb", "\x00", "ü", "1.5", "nan", " a "]),
)


@st.composite
def random_tables(draw):
    """A function that makes a table, or raises an error."""
    shape = draw(
        mostly(
            st.tuples(st.integers(1, 6), st.integers(1, 3)),
            st.tuples(st.integers(0, 6)),
            st.sampled_from([(), (0, 2), (2, 0), (2, 2, 2)]),
        )
    )
    dtype = draw(st.sampled_from(["float64", "float64", "float32", "complex128"]))
    elements = mostly(USUAL, st.sampled_from([0.0, 1e-30, 1e30, np.nan]))
    values = draw(hnp.arrays(float, shape, elements=elements)).astype(dtype)
    names = index = None
    if draw(st.booleans()):
        names = tuple(draw(TEXTS) for _ in range((*shape, 1, 1)[1]))
    if draw(st.booleans()):
        labels = st.integers(-9, 9).map(str) if draw(st.booleans()) else TEXTS
        index = [draw(labels) for _ in range((*shape, 1)[0])]
    header = {"rate": 8000} if draw(st.booleans()) else None
    return functools.partial(Table, values, names=names, index=index, header=header)


# Excel keeps 16 digits, and NMRPipe single precision.
SINGLE = {suffix: {"rtol": 1e-7} for suffix in (".fid", ".ft", ".ft1", ".ft2")}
DIGITS = {".xlsx": {"rtol": 1e-15}, **SINGLE}


def write_and_read(table, suffix):
    """The values that are written are those that are read, for what can be read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        before = table.values.copy()
        try:
            write(path, table)
        finally:
            np.testing.assert_array_equal(table.values, before)
            left = [part.name for part in Path(folder).iterdir()]
            assert left in ([], [path.name])
        try:
            found = read(path, variable=table.variable)
        except FileError as error:
            return (str(error),)
    rows = before.reshape(len(before), -1) if before.ndim else before.reshape(1, 1)
    if suffix in FRAMES:  # columns without any value are left out, with a note
        rows = rows[:, ~np.isnan(rows).all(axis=0)].astype(float)
    again = found.values.reshape(len(rows), -1)[:, -rows.shape[1] :]  # labels may look like numbers
    np.testing.assert_allclose(again, rows, **DIGITS.get(suffix, {"rtol": 0}))
    return (repr(found),)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("suffix", READ)
def test_writing(suffix, level):
    strategy = call(write_and_read, random_tables(), st.just(suffix))
    fuzz(strategy, (3, 150)[level], lambda drawn: check(*drawn))

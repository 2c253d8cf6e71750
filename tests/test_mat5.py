"""MAT files of version 5: the values that SciPy reads, and errors for damaged files."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from conftest import nightly

from structrank.io import FileError, read

X = np.arange(5.0)
OTHERS = {
    "structs": {"s": {"a": 1.0, "b": "text"}},
    "cells": {"c": np.array(["a", X], object)},
    "text": {"t": "text"},
    "sparse": {"m": scipy.sparse.csc_array(np.eye(4))},
    "nothing": {},
}
WAYS = {"plain": {}, "packed": {"do_compression": True}, "version 4": {"format": "4"}}


def saved(arrays, **keywords):
    file = io.BytesIO()
    scipy.io.savemat(file, arrays, **keywords)
    return file.getvalue()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [*"bBhHiIqQfdFD", "?"])
def test_values_are_those_of_scipy(tmp_path, kind, way):
    values = (3 * np.arange(12).reshape(2, 6) % 7).astype(kind)
    if kind in "FD":
        values = values * (1 - 2j)
    path = tmp_path / "a.mat"
    path.write_bytes(saved({"text": "abc", "values": values.astype(kind)}, **WAYS[way]))
    found = read(path)
    assert found.variable == "values"
    assert found.values.dtype == {"f": "f4", "F": "c8", "D": "c16"}.get(kind, "f8")
    np.testing.assert_array_equal(found.values, scipy.io.loadmat(path)["values"])


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("way", ["plain", "packed"])
def test_arrays_beside_others(tmp_path, others, way):
    path = tmp_path / "a.mat"
    cube = np.arange(24.0).reshape(2, 3, 4)
    path.write_bytes(saved({"x": X, **OTHERS[others], "cube": cube}, **WAYS[way]))
    np.testing.assert_array_equal(read(path, variable="x").values, X)
    np.testing.assert_array_equal(read(path, variable="cube").values, cube)
    with pytest.raises(FileError, match='no array "none": there are "x" .1 x 5., "cube" .2 x 3 x'):
        read(path, variable="none")


def element(kind, content, order=">"):
    return struct.pack(order + "II", kind, len(content)) + content + bytes(-len(content) % 8)


def test_the_other_order_of_bytes(tmp_path):
    flags = element(6, struct.pack(">II", 6, 0))
    shape = element(5, struct.pack(">ii", 3, 1))
    name = struct.pack(">HH4s", 1, 1, b"x")  # a small element
    values = element(3, np.array([1, -2, 300], ">i2").tobytes())  # as MATLAB packs them
    array = element(14, flags + shape + name + values)
    start = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI"
    path = tmp_path / "a.mat"
    packed = zlib.compress(array)
    for content in (array, struct.pack(">II", 15, len(packed)) + packed):
        path.write_bytes(start + content)
        np.testing.assert_array_equal(read(path).values, [1, -2, 300])
        np.testing.assert_array_equal(scipy.io.loadmat(path)["x"].ravel(), [1, -2, 300])


def test_a_type_that_does_not_exist_is_an_error(tmp_path):
    """SciPy's reader crashes on this file."""
    content = bytearray(saved({"x": X}))
    content[content.rindex(b"\x09\0\0\0")] = 200
    path = tmp_path / "a.mat"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"the values of an array of shape \(1, 5\) are not there"):
        read(path)


def test_a_packed_array_that_was_changed_is_an_error(tmp_path):
    content = bytearray(saved({"x": X}, do_compression=True))
    content[-1] ^= 1  # of the checksum
    path = tmp_path / "a.mat"
    path.write_bytes(content)
    with pytest.raises(FileError, match="incorrect data check"):
        read(path)


@pytest.mark.parametrize("changed", [250, nightly(5_000)])
def test_damaged_files_are_errors(tmp_path, rng, changed):
    arrays = [{"x": X}, {"x": X * 1j}, *({"x": X, **other} for other in OTHERS.values())]
    files = [saved(some, **WAYS[way]) for some in arrays for way in ("plain", "packed")]
    files += [saved(some, format="4") for some in (*arrays[:2], {"x": X, **OTHERS["sparse"]})]
    path = tmp_path / "a.mat"
    errors = 0
    for k in range(changed):
        content = bytearray(files[k % len(files)])
        for place in rng.integers(128 * (k % 3 > 0) % len(content), len(content), 3):
            content[place] = rng.choice([0, 1, 127, 128, 200, 255])
        path.write_bytes(content[: rng.integers(1, len(content))] if k % 5 == 0 else content)
        try:
            read(path, variable="x", max_size="20MB")
        except FileError:
            errors += 1
    assert errors > changed / 4

"""Results and models are saved and loaded bit for bit, and bad files are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import fields, is_dataclass, replace
from enum import Enum

import array_api_strict
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from structrank import (
    Hankel,
    Modes,
    Problem,
    StateSpace,
    approximate_gcd,
    forecast,
    identify,
    impute,
    load,
    recover,
    refit,
    solve,
    solve_robust,
)
from structrank.io import FileError
from structrank.io.saved_results import RESULTS, NotSaved, Saved, decoded, encoded
from structrank.systems import OutputModel

T = np.arange(40)
WAVE = np.cos(0.4 * T) + 0.01 * np.random.default_rng(0).standard_normal(40)
WAVE[10:13] = np.nan


def assert_same(a, b):
    """All numbers are the same bits, and all containers are alike."""
    assert type(a) is type(b)
    if isinstance(a, (pd.Series, pd.DataFrame)):
        check = pd.testing.assert_series_equal if a.ndim == 1 else pd.testing.assert_frame_equal
        check(a, b, check_exact=True, check_freq=True)
        assert a.attrs == b.attrs
        assert type(a.index) is type(b.index)
    elif isinstance(a, xr.DataArray):
        xr.testing.assert_identical(a, b)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
        assert a.flags.writeable == b.flags.writeable
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert_same(list(a.items()), list(b.items()))
    elif is_dataclass(a) and not isinstance(a, Enum):
        for field in fields(a):
            one, other = getattr(a, field.name), getattr(b, field.name)
            if not isinstance(other, NotSaved):
                assert_same(one, other)
    else:
        assert a == b or (a != a and b != b)


def there_and_back(value):
    plain, arrays = encoded(value)
    return decoded(json.loads(json.dumps(plain)), arrays)


@pytest.fixture(scope="module")
def found():
    days = pd.date_range("2024-03-30", periods=40, tz="Europe/Berlin", name="day")
    return recover(pd.Series(WAVE, days, name="wind"), rank=2, kind="refit")


CONTAINERS = {
    "list": [1.0, None, 2],
    "float32": np.arange(3, dtype=np.float32),
    "complex": np.array([1 + 2j, np.nan]),
    "masked": np.ma.MaskedArray([1.0, 2.0], [True, False]),
    "range": pd.Series([1.0, 2.0], name=3),
    "period": pd.Series([1.0, 2.0], pd.period_range("2024-01", periods=2, freq="M", name="m")),
    "time": pd.DataFrame({"a": [1.0], "b": [2]}, pd.DatetimeIndex(["2024-02-29 12:00:00.000001"])),
    "zone": pd.Series(0.5, pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin")),
    "months": pd.Series(0.5, pd.date_range("2024-03-31", periods=3, freq="ME")),
    "duration": pd.Series(0.5, pd.timedelta_range("1s", periods=3, freq="s")),
    "numbers": pd.Series(0.5, pd.Index([0.1, 0.2], name="t (s)")),
    "labels": pd.Series(0.5, pd.Index(["a", "b"])),
    "nullable": pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.1, np.nan]}),
    "plain": (True, 3, float("nan"), float("inf"), "text", 1 - 2j, {"k": (1, [2])}, None),
    "xarray": xr.DataArray(
        np.eye(2),
        {"time": np.array(["2024-01-01", "2024-01-02"], "M8[ns]"), "place": ["x", "y"]},
        ("time", "place"),
        "wind",
        {"units": "m/s"},
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name):
    value = CONTAINERS[name]
    if isinstance(value, np.ma.MaskedArray):
        again = there_and_back(value)
        np.testing.assert_array_equal(again.mask, value.mask)
        np.testing.assert_array_equal(again.data, value.data)
    else:
        assert_same(value, there_and_back(value))


def test_attributes_and_tensors():
    series = pd.Series([1.0])
    series.attrs = {"unit": "m"}
    assert there_and_back(series).attrs == {"unit": "m"}
    again = there_and_back(array_api_strict.arange(3.0))
    assert bool(array_api_strict.all(again == array_api_strict.arange(3.0)))


def test_recovery(found, tmp_path):
    found.save(tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    assert_same(found, again)
    assert repr(again) == repr(found)
    assert repr(again.modes) == repr(found.modes)
    parts = found.components()
    assert_same(parts.to_frame()[list(parts)], again.components().to_frame())
    with pytest.raises(ValueError, match="does not hold the convex solution"):
        again.result  # noqa: B018
    with pytest.raises(ValueError, match="does not hold what draw computes"):
        again.draws(3)
    again.save(tmp_path / "b.npz")
    assert_same(again, load(tmp_path / "b.npz"))


def test_convex_and_complete_recoveries_can_be_printed():
    convex = recover(WAVE, kind="convex", mu=1.0)
    assert "convex solution" in repr(there_and_back(convex))
    whole = impute(np.arange(9.0))
    again = there_and_back(whole)
    assert_same(whole, again)
    assert repr(whole) == repr(again)


@pytest.mark.nightly
def test_irregular_recovery():
    times = np.sort(40 * np.random.default_rng(0).random(20))
    found = recover(np.cos(times), times=times, effort="fast")
    again = there_and_back(found)
    assert_same(found, again)
    assert repr(found) == repr(again)


def test_forecast(tmp_path):
    ahead = forecast(pd.DataFrame({"a": WAVE, "b": 2 * WAVE}), 3, rank=2)
    ahead.save(tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    assert_same(ahead, again)
    assert repr(ahead) == repr(again)
    assert again.report().title == ahead.report().title
    with pytest.raises(ValueError, match="does not hold the problem of a fit"):
        again.refit.information  # noqa: B018


class TestModels:
    def test_state_space(self, tmp_path):
        model = StateSpace([[0.5]], [[1.0]], [[2.0]], None, Q=[[1.0]], x0=[0.1], dt=0.5)
        model.save(tmp_path / "a.npz")
        again = load(tmp_path / "a.npz")
        assert_same(model, again)
        assert repr(model) == repr(again)

    def test_identified_model(self):
        truth = StateSpace([[0.8]], [[1.0]], [[1.0]], None, innovation_covariance=[[1.0]])
        u = np.random.default_rng(0).standard_normal(60)
        model = identify(u, truth.simulate(u, rng=0), order=1)
        again = there_and_back(model)
        assert_same(model, again)
        assert_same(model.pole_errors, again.pole_errors)
        assert_same(model.modes, again.modes)

    def test_model_of_outputs(self):
        """The fits of other orders are not saved, and an error says so."""
        model = OutputModel([[0.5]], None, [[1.0]], None, fits=(), output_covariances=np.ones(3))
        again = there_and_back(model)
        assert_same(model.output_covariances, again.output_covariances)
        with pytest.raises(ValueError, match="does not hold the fits of other orders"):
            again.criteria  # noqa: B018


def test_existing_files_and_extensions(found, tmp_path):
    modes, path = Modes([0.1]), tmp_path / "a.npz"
    modes.save(path)
    with pytest.raises(FileError, match="exists"):
        modes.save(path)
    modes.save(path, force=True)
    with pytest.raises(FileError, match="unknown extension"):
        modes.save(tmp_path / "a.pkl")
    with pytest.raises(FileError, match="does not exist"):
        load(tmp_path / "b.npz")


def test_what_cannot_be_saved_leaves_no_file(found, tmp_path):
    strange = replace(found, samples=object())
    with pytest.raises(TypeError, match="object cannot be saved"):
        strange.save(tmp_path / "a.npz")
    levels = pd.Series(1.0, pd.MultiIndex.from_tuples([(1, 2)]))
    with pytest.raises(TypeError, match="several levels"):
        encoded(levels)
    with pytest.raises(TypeError, match="array of objects"):
        encoded(np.array([{}]))

    class Own(Saved):
        pass

    with pytest.raises(TypeError, match="Own cannot be saved"):
        Own().save(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def changed(path, change):
    """The file with another header, and a digest that fits."""
    header, arrays = RESULTS.read(path)
    change(header)
    RESULTS.write(path, header, arrays, force=True)


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


REFUSED = {
    "newer": (lambda h: h.update(version=9), "has version 9 .* use the release that wrote it"),
    "other": (lambda h: h.update(format="structrank checkpoint"), "is not a result of structrank"),
    "class": (lambda h: h["value"].update({"class": "Popen"}), "holds a Popen, which this release"),
    "field": (lambda h: h["value"]["fields"].pop("dampings"), "not those of this release"),
    "tag": (lambda h: h["value"].update({"$": "evil"}), "holds a 'evil', which this release"),
    "method": (lambda h: h["value"].update({"$": "_init__"}), "holds a '_init__', which"),
    "attribute": (lambda h: h.update(value={"$": "_class__"}), "holds a '_class__', which"),
    "member": (
        lambda h: h.update(value={"$": "member", "class": "Status", "name": "mro"}),
        "holds a Status 'mro', which this release does not know",
    ),
    "no result": (lambda h: h.update(value=[3]), "holds a list, but a result is expected"),
    "depth": (lambda h: h.update(value=deep(900)), "is no complete result of structrank"),
    "number": (lambda h: h["value"]["fields"].update(sampling=3), "is no complete result"),
    "array": (
        lambda h: h["value"]["fields"]["dampings"].update(name="x"),
        "was changed or written by something else",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_changed_files_are_refused(name, tmp_path):
    change, message = REFUSED[name]
    Modes([0.1, -0.1]).save(tmp_path / "a.npz")
    changed(tmp_path / "a.npz", change)
    with pytest.raises(FileError, match=message):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize("values", [["x"], [np.nan], [1 + 2j], [], np.zeros((2, 2, 2))], ids=str)
def test_fields_of_a_wrong_type_or_shape_are_refused(values, tmp_path):
    path = tmp_path / "a.npz"
    Modes([0.1]).save(path)
    header, arrays = RESULTS.read(path)
    RESULTS.write(path, header, {**arrays, "a0": np.array(values)}, force=True)
    with pytest.raises(FileError, match="is no complete result of structrank"):
        load(path)


def test_changed_numbers_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    Modes([0.1]).save(path)
    with np.load(path) as file:
        np.savez(path, **{**file, "a0": np.array([[0.2]])})
    with pytest.raises(FileError, match="was changed after it was written"):
        load(path)


def test_members_of_an_archive_that_are_no_arrays_are_not_unpacked(tmp_path):
    path = tmp_path / "a.npz"
    Modes([0.1]).save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header", bytes(20_000_000))
    tracemalloc.start()
    try:
        assert load(path).frequencies == 0.1
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_a_header_of_endless_lists(tmp_path):
    path = tmp_path / "a.npz"
    Modes([0.1]).save(path)
    with np.load(path) as file:
        np.savez(path, **{**file, "header": np.array("[" * 100_000)})
    with pytest.raises(FileError, match="is no complete result of structrank"):
        load(path)


@pytest.mark.parametrize("zone", ["dateutil//etc/passwd", "/etc/passwd", "../a", "tzlocal()"])
def test_zones_are_names_or_offsets(zone):
    times = pd.date_range("2024-01-01", periods=2, freq="D", tz="Europe/Berlin")
    plain, arrays = encoded(pd.Series([1.0, 2.0], index=times))
    assert decoded(plain, arrays).index.equals(times)
    plain["index"]["zone"] = zone
    with pytest.raises(FileError, match="is not the name of a time zone"):
        decoded(plain, arrays)


def test_zones_with_a_fixed_offset():
    times = pd.DatetimeIndex(["2024-01-01T00:00+05:30", "2024-01-02T00:00+05:30"])
    assert decoded(*encoded(pd.Series([1.0, 2.0], index=times))).index.equals(times)


def test_truncated_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    Modes([0.1]).save(path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match="is no complete result of structrank"):
            load(path)
    np.savez(path, x=np.arange(3))
    with pytest.raises(FileError, match="is no complete result"):
        load(path)
    np.savez(path, header=np.array([{}], dtype=object))  # a pickle
    with pytest.raises(FileError, match="is no complete result"):
        load(path)


def test_solutions(tmp_path):
    """A new process loads what solvers return, without its problem."""
    wave = np.cos(0.3 * np.arange(40)) + 0.1 * np.cos(2.7 * np.arange(40) ** 2)
    problem = Problem(Hankel(40, window=20), wave, mu=1.0)
    solved = solve(problem)
    made = {"solved": solved, "fitted": refit(solved), "robust": solve_robust(problem)}
    made["divisor"] = approximate_gcd([1.0, -3.0, 2.0], [1.0, -4.0, 3.0])
    for name, one in made.items():
        one.save(tmp_path / f"{name}.npz")
    script = f"""
from structrank import load
for name in {list(made)}:
    print(repr(load(r"{tmp_path}/" + name + ".npz")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.count("not saved") == 3, done.stderr
    again = load(tmp_path / "solved.npz")
    np.testing.assert_array_equal(again.y, solved.y)
    np.testing.assert_array_equal(again.X.U, solved.X.U)
    assert (again.gap, again.status) == (solved.gap, solved.status)
    assert again.history.objective == solved.history.objective
    with pytest.raises(ValueError, match="does not hold the problem"):
        again.problem.mu  # noqa: B018


def test_a_file_with_an_unknown_compression_is_refused(tmp_path):
    recover(np.cos(0.4 * np.arange(30)), rank=2, kind="refit").save(tmp_path / "a.npz")
    content = (tmp_path / "a.npz").read_bytes()
    for at in (content.index(b"PK\x03\x04") + 8, content.index(b"PK\x01\x02") + 10):
        content = content[:at] + b"\x7f\x00" + content[at + 2 :]
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileError, match="no complete result of structrank"):
        load(tmp_path / "a.npz")

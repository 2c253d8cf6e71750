"""Containers of pandas and xarray come back as they were, with other numbers in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from conftest import LIBRARIES, to_library

from structrank import denoise, forecast, impute, recover
from structrank._array import to_numpy
from structrank.io.containers import unwrap
from structrank.io.index import check_regular, following

N = 40
WAVE = 3 + np.cos(0.5 * np.arange(N)) + 0.05 * np.random.default_rng(0).standard_normal(N)
GAPPY = np.where((np.arange(N) > 15) & (np.arange(N) < 20), np.nan, WAVE)
OTHER = 5 * np.cos(0.5 * np.arange(N) + 1) + 0.05 * np.random.default_rng(1).standard_normal(N)

INDICES = {
    "range": pd.RangeIndex(5, 5 + 2 * N, 2, name="step"),
    "integers": pd.Index(np.arange(N) * 7 - 3),
    "falling": pd.Index(np.arange(N)[::-1]),
    "floats": pd.Index(0.1 * np.arange(N), name="seconds"),
    "days": pd.date_range("2024-02-01", periods=N, freq="D", name="day"),
    "months": pd.date_range("2020-01-01", periods=N, freq="MS"),
    "business days": pd.date_range("2024-01-01", periods=N, freq="B"),
    "zoned": pd.date_range("2024-03-01", periods=N, freq="h", tz="Europe/Berlin"),
    "no freq": pd.DatetimeIndex(pd.date_range("2024-01-01", periods=N, freq="6h").to_numpy()),
    "30 hertz": pd.to_datetime(np.round(np.arange(N) * 1e9 / 30).astype(np.int64)),
    "periods": pd.period_range("2015-01", periods=N, freq="M", name="month"),
    "every second period": pd.period_range("2015-01", periods=2 * N, freq="M")[::2],
    "durations": pd.to_timedelta(np.arange(N) * 250, unit="ms"),
}


@pytest.fixture(params=INDICES)
def index(request):
    return INDICES[request.param]


# The numbers


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        ((1, 2.5), [1.0, 2.5]),
        (np.array([1, 2], dtype=np.int8), [1.0, 2.0]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array([1.5, 2.5], dtype=np.float16), [1.5, 2.5]),
        ([1, None, 3], [1.0, np.nan, 3.0]),
        ([1j, None], [1j, np.nan]),
        (np.array([1.0, pd.NA], dtype=object), [1.0, np.nan]),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), [1.0, np.nan, 3.0]),
        (np.ma.array([1j, 2j], mask=[1, 0]), [np.nan, 2j]),
        (pd.Series([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0]),
        (pd.Series([1.5, None], dtype="Float64"), [1.5, np.nan]),
        (pd.Series([1j, 2.0]), [1j, 2.0]),
        (pd.Series([True, False]), [1.0, 0.0]),
        (pd.DataFrame({"a": [1, 2], "b": [0.5, None]}), [[1.0, 0.5], [2.0, np.nan]]),
        (
            pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1j, 2j]}),
            [[1.0, 1j], [np.nan, 2j]],
        ),
        (xr.DataArray([1, 2]), [1.0, 2.0]),
    ],
)
def test_numbers_of_any_kind_become_floating_point(samples, expected):
    values = unwrap(samples).values
    assert values.dtype in (np.float64, np.complex128)
    np.testing.assert_array_equal(values, np.array(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_floating_arrays_are_not_copied(dtype):
    values = np.ones(3, dtype)
    assert unwrap(values).values is values


def test_masked_values_do_not_come_back_from_under_the_mask():
    samples = np.ma.array(WAVE.copy(), mask=np.isnan(GAPPY))
    samples.data[16:20] = 1e6
    np.testing.assert_array_equal(unwrap(samples).values, GAPPY)
    np.testing.assert_array_equal(recover(samples).signal, recover(GAPPY).signal)


@pytest.mark.parametrize(
    "samples",
    [
        ["1", "2", "3"],
        np.array(["1", None], dtype=object),
        np.array([object()]),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
    ],
)
def test_what_is_no_number_is_refused(samples):
    with pytest.raises(TypeError, match="real or complex numbers are expected"):
        unwrap(samples)


@pytest.mark.parametrize(
    "column",
    [
        ["1", "2"],
        pd.Categorical([1, 2]),
        pd.date_range("2024", periods=2),
        np.array([1.0, None], dtype=object),
    ],
)
def test_columns_that_are_no_numbers_are_refused_by_name(column):
    frame = pd.DataFrame({"good": [1.0, 2.0], "bad": column})
    with pytest.raises(TypeError, match="column 'bad' has dtype .*(pd.to_numeric|set_index)"):
        unwrap(frame)


def test_text_beside_a_column_of_the_same_name_is_refused():
    frame = pd.DataFrame([["x", 1.0], ["y", 2.0]], columns=["a", "a"]).infer_objects()
    with pytest.raises(TypeError, match="column 'a'"):
        unwrap(frame)


@pytest.mark.parametrize("samples", [pd.Index([1.0, 2.0]), xr.Dataset({"a": ("t", [1.0, 2.0])})])
def test_other_containers_are_refused(samples):
    with pytest.raises(TypeError, match="is expected"):
        unwrap(samples)


def test_subclasses_count_as_what_they_come_from():
    class Frame(pd.DataFrame):
        pass

    assert unwrap(Frame({"a": [1.0, 2.0]})).channels == 1


# Indices


def test_regular_indices_pass_and_are_carried_on(index):
    longer = following(index, 4)
    check_regular(index)
    check_regular(index.append(longer))
    assert longer.name == index.name
    assert type(longer) is type(index)
    assert longer.dtype == index.dtype
    assert len(longer) == 4
    step = index[1] - index[0]
    if isinstance(step, (int, float, np.number)):
        np.testing.assert_allclose(np.asarray(longer), index[-1] + step * np.arange(1, 5))


def test_calendars_are_carried_on_as_such():
    months = following(INDICES["months"], 2)
    assert [str(day.date()) for day in months] == ["2023-05-01", "2023-06-01"]
    days = following(pd.date_range("2024-01-01", periods=5, freq="B"), 1)  # ends on a Friday
    assert str(days[0].date()) == "2024-01-08"
    periods = following(INDICES["every second period"], 2)
    assert list(map(str, periods)) == ["2021-09", "2021-11"]


@pytest.mark.parametrize("name", INDICES)
def test_a_hole_makes_an_index_irregular(name):
    index = INDICES[name]
    with pytest.raises(ValueError, match="irregular .*around") as error:
        check_regular(index.delete([13]))
    if name != "business days":  # they have a hole each week
        assert f"around {index[14]}" in str(error.value)  # the first after the hole
    assert ("resample" if isinstance(index, pd.DatetimeIndex) else "reindex") in str(error.value)


def test_an_entry_twice_is_an_error_with_advice(index):
    with pytest.raises(ValueError, match="more than once.*groupby"):
        check_regular(index.append(index[3:4]))


def test_missing_entries_of_an_index_are_errors():
    with pytest.raises(ValueError, match="NaT"):
        check_regular(INDICES["days"].insert(4, pd.NaT))
    with pytest.raises(ValueError, match="irregular"):
        check_regular(pd.Index([0.0, 1.0, np.nan, 3.0]))


def test_times_out_of_order_are_irregular():
    with pytest.raises(ValueError, match="irregular"):
        check_regular(INDICES["days"][[0, 2, 1, 3, 4]])


def test_names_are_not_looked_at_but_cannot_be_carried_on():
    names = pd.Index(["x", "y", "a", "b"])
    check_regular(names)
    with pytest.raises(ValueError, match="reset_index"):
        following(names, 2)


def test_one_time_does_not_tell_a_step():
    with pytest.raises(ValueError, match="without a step it cannot be continued"):
        following(pd.DatetimeIndex(["2024-01-01"]), 2)


# There and back


def test_series_come_back_with_index_name_and_attributes(index):
    series = pd.Series(GAPPY, index, name="level")
    series.attrs["unit"] = "m"
    found = impute(series, rank=3, kind="refit")
    for part in (found.signal, found.stderr):
        pd.testing.assert_index_equal(part.index, index, exact="equiv")
        assert (part.name, part.attrs) == ("level", {"unit": "m"})
        assert getattr(part.index, "freq", None) == getattr(index, "freq", None)
    np.testing.assert_array_equal(found.signal, impute(GAPPY, rank=3, kind="refit").signal)
    assert series.isna().sum() == 4  # untouched
    assert found.samples is series


def test_frames_come_back_with_columns_that_were_channels():
    index = INDICES["days"]
    frame = pd.DataFrame({"a": GAPPY, ("b", 2): OTHER}, index)
    found = recover(frame)
    pd.testing.assert_index_equal(found.signal.index, index)
    pd.testing.assert_index_equal(found.signal.columns, frame.columns)
    expected = recover(frame.to_numpy(), channels=1)
    np.testing.assert_array_equal(found.signal, expected.signal)
    assert found.modes.amplitudes.shape == (found.rank, 2)


def test_nullable_columns_are_filled():
    counts = pd.Series(np.round(10 * GAPPY), dtype="Int64")
    filled = impute(counts).signal
    assert filled.dtype == float
    assert np.max(np.abs(filled - 10 * WAVE)) < 3
    seen = counts.notna()
    np.testing.assert_array_equal(filled[seen], counts[seen].astype(float))


def data_array():
    return xr.DataArray(
        np.stack([GAPPY, OTHER], axis=1),
        {
            "time": ("time", INDICES["days"], {"axis": "T"}),
            "station": [3, 7],
            "height": ("station", [10.0, 25.0]),
            "hour": ("time", np.arange(N)),
            "run": 4,
        },
        ("time", "station"),
        "level",
        {"unit": "m"},
    )


def test_data_arrays_come_back_with_coordinates_name_and_attributes():
    samples = data_array()
    found = recover(samples, channels=1)
    for part in (found.signal, found.stderr):
        xr.testing.assert_identical(part.coords.to_dataset(), samples.coords.to_dataset())
        assert (part.dims, part.name, part.attrs) == (samples.dims, "level", {"unit": "m"})
    expected = recover(samples.to_numpy(), channels=1)
    np.testing.assert_array_equal(found.signal, expected.signal)


def test_all_axes_of_a_data_array_but_channels_are_regular():
    samples = data_array().isel(time=slice(0, 5)).assign_coords(time=[0, 1, 2, 3, 9])
    with pytest.raises(ValueError, match="irregular"):
        unwrap(samples)
    three = xr.concat([data_array()] * 3, "station").assign_coords(station=[3, 7, 8, 15, 16, 40])
    with pytest.raises(ValueError, match="irregular"):
        unwrap(three)
    assert unwrap(three, channels=1).values.shape == unwrap(three, channels=-1).values.shape


# What comes next


def test_what_follows_carries_the_index_on(index):
    series = pd.Series(WAVE, index, name="level")
    series.attrs["unit"] = "m"
    ahead = unwrap(series).follow(np.arange(3.0))
    expected = pd.Series(np.arange(3.0), following(index, 3), name="level")
    pd.testing.assert_series_equal(ahead, expected)
    assert ahead.attrs == {"unit": "m"}


def test_forecasts_follow_in_time():
    series = pd.Series(WAVE, INDICES["months"], name="level")
    ahead = forecast(series, 3)
    for part in (ahead.mean, ahead.stderr, ahead.lower, ahead.upper):
        pd.testing.assert_index_equal(part.index, following(series.index, 3))
        assert part.name == "level"
    np.testing.assert_array_equal(ahead.mean, forecast(WAVE, 3).mean)


def test_forecasts_of_frames_and_data_arrays():
    frame = pd.DataFrame({"a": WAVE, "b": OTHER}, INDICES["periods"])
    ahead = forecast(frame, 3).mean
    assert list(ahead.columns) == ["a", "b"]
    pd.testing.assert_index_equal(ahead.index, following(frame.index, 3))
    samples = data_array()
    later = forecast(samples, 3, channels=1).mean
    assert (later.dims, later.name, later.attrs) == (samples.dims, "level", {"unit": "m"})
    assert list(later.indexes["time"]) == list(following(samples.indexes["time"], 3))
    assert later["time"].attrs == {"axis": "T"}
    assert set(later.coords) == {"time", "station", "height", "run"}  # hours are of the past


def test_what_has_no_times_is_carried_on_without():
    samples = data_array().drop_vars(["time", "hour"])
    later = unwrap(samples, channels=1).follow(np.ones((3, 2)))
    assert "time" not in later.coords
    assert later.shape == (3, 2)


def test_channels_of_a_data_array_may_have_any_numbers():
    samples = xr.concat([data_array(), data_array()[:, :1]], "station")
    samples = samples.assign_coords(station=[3, 7, 40])
    samples[:, 2] = np.sin(0.5 * np.arange(N)) + 0.05 * np.random.default_rng(2).standard_normal(N)
    filled = impute(samples, channels=1, kind="refit").signal
    assert not filled.isnull().any()
    assert list(filled["station"]) == [3, 7, 40]


# Libraries, precisions and sizes


def parts_of(call, samples, **options):
    """All arrays that a call gives back."""
    if call is forecast:
        ahead = forecast(samples, 3, rank=1, **options)
        return [ahead.mean, ahead.stderr, ahead.lower, ahead.upper]
    found = call(samples, rank=3, **options)
    return [found.signal, found.stderr]


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        *((library, "complex128") for library in LIBRARIES),
        *((library, "float32") for library in LIBRARIES if library != "array_api_strict"),
        pytest.param("array_api_strict", "float32", marks=pytest.mark.nightly),
    ],
)
def test_library_and_precision_stay(kind, library):
    samples = (GAPPY * (1 + 1j) if kind.startswith("complex") else GAPPY).astype(kind)
    given = to_library(samples, library)
    for got, expected in zip(parts_of(impute, given), parts_of(impute, samples), strict=True):
        assert type(got) is type(given)
        assert to_numpy(got).dtype in (kind, np.zeros((), kind).real.dtype)
        np.testing.assert_allclose(to_numpy(got), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "library"),
    [(recover, "torch"), (impute, "torch"), (forecast, "torch"), (impute, "array_api_strict")],
)
def test_library_and_precision_stay_with_channels(call, library):
    given = to_library(np.stack([GAPPY, OTHER], axis=1).astype("float32"), library)
    for got in parts_of(call, given, channels=1):
        assert type(got) is type(given)
        assert to_numpy(got).dtype == np.float32
        assert tuple(got.shape) == ((3 if call is forecast else N), 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_come_back_in_double_precision(library):
    given = to_library(np.arange(20), library)
    got = impute(given).signal
    assert type(got) is type(given)
    np.testing.assert_array_equal(to_numpy(got), np.arange(20.0))


@pytest.mark.parametrize("kind", ["float32", "Float32", "complex64"])
def test_single_precision_of_pandas(kind):
    series = pd.Series(GAPPY).astype(kind)
    given = unwrap(series)
    assert given.values.dtype == np.dtype(kind.lower())
    assert given.wrap(np.ones(N)).dtype == given.follow(np.ones(3)).dtype == np.float32
    mixed = unwrap(pd.DataFrame({"a": series, "b": OTHER}))
    assert mixed.values.dtype == np.result_type(np.dtype(kind.lower()), float)


def test_single_precision_of_xarray():
    samples = xr.DataArray(GAPPY.astype("float32"), dims="time")
    given = unwrap(samples)
    for got in (given.values, given.wrap(np.ones(N)), given.follow(np.ones(3))):
        assert got.dtype == np.float32


@pytest.mark.parametrize("size", [1e-74, 1e74])
def test_units_do_not_matter(size):
    for got, expected in zip(
        parts_of(recover, size * GAPPY), parts_of(recover, GAPPY), strict=True
    ):
        np.testing.assert_allclose(got / size, expected, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-40, 1e37])
def test_units_do_not_matter_in_single_precision(size):
    given = (size * GAPPY).astype("float32")
    for got, expected in zip(parts_of(recover, given), parts_of(recover, GAPPY), strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got / size, expected, rtol=1e-3)


def test_samples_with_gradients():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    given = torch.tensor(GAPPY, requires_grad=True)
    for got, expected in zip(parts_of(recover, given), parts_of(recover, GAPPY), strict=True):
        assert not got.requires_grad
        np.testing.assert_allclose(to_numpy(got), expected, rtol=1e-6)


def test_trial_models_that_grow_make_no_warnings():
    """Warnings are errors here. Some steps of the fits are far too long."""
    noise = np.random.default_rng(0).standard_normal(3 * N)[2 * N :]
    with pytest.raises(ValueError, match="distinguished from noise"):
        forecast(1e20 * noise, 3)
    assert np.all(np.isfinite(denoise(1e60 * noise).signal))


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-77, 1e77, 1e200, 1e307])
@pytest.mark.parametrize("call", [recover, impute, forecast])
@pytest.mark.parametrize("container", [np.asarray, pd.Series, xr.DataArray])
def test_sizes_out_of_range_are_refused(call, container, size):
    with pytest.raises(ValueError, match=r"largest sample is \S+ in size, but 1e-75 to 1e\+75 is"):
        parts_of(call, container(size * GAPPY))
    with pytest.raises(ValueError, match=r"divide the samples by \de[+-]\d+ first"):
        parts_of(call, container(size * GAPPY * (1 + 1j)))

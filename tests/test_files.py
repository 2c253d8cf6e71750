"""Files: every format there and back, every error, and nothing half-written."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import nmrglue
import numpy as np
import openpyxl
import pytest
import scipy.io
import zarr
from conftest import DTYPES, random_array
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structrank.io import FileError, Table, check_writable, formats, read, write
from structrank.io.atomic import new_folder, new_path
from structrank.io.index import check_regular
from structrank.io.regular import irregular_cell

SHARED = Path(__file__).parents[2] / "shared" / "data"
BINARY = [".npy", ".npz", ".mat", ".h5", ".hdf5", ".zarr"]
FRAMES = [".xlsx", ".parquet", ".feather", ".json"]
EVERY = [".csv", ".tsv", ".txt", *FRAMES, *BINARY, ".fid", ".ft", ".ft1", ".ft2"]
NEEDS = {".h5": "h5py", ".hdf5": "h5py", ".zarr": "zarr", ".fid": "nmrglue", ".ft": "nmrglue"}
NEEDS |= {".xlsx": "openpyxl", ".parquet": "pyarrow", ".feather": "pyarrow", ".json": "pandas"}
WEATHER = "day,wind,rain\n2024-05-01,3.5,0.0\n2024-05-02,nan,1.25\n2024-05-03,-2e-07,7.0\n"


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the shared recording {name} is not there")
    return path


def text_file(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def assert_same(table, other):
    np.testing.assert_array_equal(table.values, other.values)
    assert table.values.dtype == other.values.dtype
    assert table.names == other.names
    assert table.index_name == other.index_name
    np.testing.assert_array_equal(
        [] if table.index is None else table.index, [] if other.index is None else other.index
    )


@pytest.mark.quick
class TestText:
    def test_names_index_and_missing_values(self, tmp_path):
        table = read(text_file(tmp_path, WEATHER))
        np.testing.assert_array_equal(table.values, [[3.5, 0.0], [np.nan, 1.25], [-2e-7, 7.0]])
        assert table.names == ("wind", "rain")
        assert list(table.index) == ["2024-05-01", "2024-05-02", "2024-05-03"]
        assert (table.index_name, table.format) == ("day", "text")

    def test_round_trip_keeps_the_file(self, tmp_path):
        path = text_file(tmp_path, WEATHER)
        write(tmp_path / "back.csv", read(path))
        assert (tmp_path / "back.csv").read_text() == WEATHER

    @pytest.mark.parametrize(
        "cell", ["", "nan", "NA", "na", "N/A", "null", "  ", "#N/A", "<NA>", "None"]
    )
    def test_missing(self, tmp_path, cell):
        values = read(text_file(tmp_path, f"a,b\n1,2\n{cell},4\n")).values
        np.testing.assert_array_equal(values, [[1, 2], [np.nan, 4]])

    @pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
    def test_errors_of_a_spreadsheet_are_no_comments(self, tmp_path, name):
        table = read(text_file(tmp_path, "# a comment\nx\n1\n#N/A\n3\n#NAMES\n", name))
        np.testing.assert_array_equal(table.values, [1, np.nan, 3])
        with pytest.raises(FileError, match='line 3, column "x": "#DIV/0!" is not a number'):
            read(text_file(tmp_path, "x\n1\n#DIV/0!\n3\n", name))

    def test_complex_numbers(self, tmp_path):
        table = read(text_file(tmp_path, "z,x\n1+2j,1\n(3-1e-3j),2\n,3\n-2i,4\n"), columns="z")
        assert table.values.dtype == np.complex128
        np.testing.assert_array_equal(table.values, [1 + 2j, 3 - 1e-3j, np.nan, -2j])

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.csv", "x,y\n1,2\n3,4\n"),
            ("a.csv", "x;y\n1;2\n3;4\n"),
            ("a.CSV", "\ufeffx\ty\r\n1\t2\r\n3\t4\r\n"),
            ("a.tsv", "x\ty\n1\t2\n3\t4\n"),
            ("a.txt", "x y\n1 2\n3 4\n"),
            ("a.txt", "  x     y\n 1.0   2.0\n 3.0   4.0\n"),
            ("a.txt", '# made by hand\nx, y\n# once more, "\n1, 2\n\n3, 4\n\n'),
            ("a.txt", "x;y\n1;2\n3;4"),
            ("a.csv", '"x","y"\n"1","2"\n"3","4"\n'),
            ("a.csv", '"x", "y"\n"1", "2"\n"3", "4"\n'),
        ],
    )
    def test_delimiters_quotes_comments_and_line_ends(self, tmp_path, name, text):
        table = read(text_file(tmp_path, text, name))
        np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
        assert table.names == ("x", "y")

    def test_a_name_with_a_blank_does_not_split_a_single_column(self, tmp_path):
        table = read(text_file(tmp_path, "my value\n1\n2\n", "a.txt"))
        assert table.names == ("my value",)
        np.testing.assert_array_equal(table.values, [1, 2])

    @pytest.mark.parametrize(
        ("text", "names", "first"),
        [
            ("1,2\n3,4\n", None, [1, 2]),
            ("2024-05-01,2,3\n2024-05-02,3,4\n", None, [2, 3]),
            ("2024-05-01,,3\n2024-05-02,3,4\n", None, [np.nan, 3]),
            ("2024-05-01,1,note,3\n2024-05-02,1,,4\n", None, [1, 3]),
            ("a,1,2\nb,3,4\n", None, [1, 2]),
            ("a,1.5,2\nb2,3,4\n", None, [1.5, 2]),
            (",x,y\n2024-05-01,,\n2024-05-02,3,4\n", ("x", "y"), [np.nan, np.nan]),
            (",0,1\n0,5,6\n1,7,8\n", ("0", "1"), [5, 6]),
            ("time,10,20\n2024-05-01,5,6\n", ("10", "20"), [5, 6]),
            ("time,10,20\n0.5,5,6\n1.5,1,1\n", ("10", "20"), [5, 6]),
            ("speed,10,20\n0.5,5,6\n1.5,1,1\n", ("speed", "10", "20"), [0.5, 5, 6]),
        ],
    )
    def test_a_header_is_found(self, tmp_path, text, names, first):
        table = read(text_file(tmp_path, text))
        assert table.names == names
        np.testing.assert_array_equal(table.values[0], first)

    def test_the_caller_knows_better_about_the_header(self, tmp_path):
        path = text_file(tmp_path, "1,2\n3,4\n5,6\n")
        assert read(path, header=True).names == ("1", "2")
        assert read(path, header=True).values.shape == (2, 2)
        with pytest.raises(FileError, match='line 1, column 1: "x" is not a number'):
            read(text_file(tmp_path, "x,2\n3,4\n"), header=False)

    def test_columns_by_name_and_number(self, tmp_path):
        path = text_file(tmp_path, "2,a,b\n1,10,100\n2,20,200\n")
        np.testing.assert_array_equal(read(path, columns=["b", "a"]).values[0], [100, 10])
        assert read(path, columns=["b", "a"]).names == ("b", "a")
        np.testing.assert_array_equal(read(path, columns=3).values, [100, 200])
        np.testing.assert_array_equal(read(path, columns=["3"]).values, [100, 200])
        np.testing.assert_array_equal(read(path, columns=["2"]).values, [1, 2])  # a name first
        np.testing.assert_array_equal(read(path, columns=[2]).values, [10, 20])

    def test_a_numeric_index_is_one_if_asked_for_and_kept_as_it_is(self, tmp_path):
        path = text_file(tmp_path, "place,x\n0.10,1\n0.20,2\n")
        assert read(path).values.shape == (2, 2)
        table = read(path, index="place")
        assert list(table.index) == ["0.10", "0.20"]
        np.testing.assert_array_equal(table.values, [1, 2])
        assert read(path, index=1).index_name == "place"
        assert read(path, columns=np.int64(2)).names == ("x",)

    @pytest.mark.parametrize(
        ("text", "index"),
        [
            ("time,y\n0.0,5\n0.1,7\n0.2,6\n", ["0.0", "0.1", "0.2"]),
            ("time,y\n3,5\n2,7\n1,6\n", ["3", "2", "1"]),
            ("time,y\n3,5\n", ["3"]),
            (",y\n0,5\n10,7\n20,6\n", ["0", "10", "20"]),
            (",y\n7,5\n", ["7"]),
            ("Time (s),y\n0,5\n1,7\n3,6\n", ["0", "1", "3"]),
            (",y\n0,5\n1,7\n3,6\n", None),
            (",y\n1,5\n1,7\n1,6\n", None),
            ("x,y\n0.0,5\n0.1,7\n0.2,6\n", None),
            ("0,5\n1,7\n2,6\n", None),
            ("1,2,3\n4,5,6\n7,8,9\n", None),
            ("year,y\n2000,5\n2001,7\n2004,6\n", ["2000", "2001", "2004"]),
            ("x,y\n0,5\n1,7\n3,6\n", None),
            ("temperature,y\n0,5\n1,7\n3,6\n", None),
            ("time,y\n0,5\n2,7\n1,6\n", None),
            ("year,month,y\n1,1,5\n1,2,7\n1,3,6\n1,4,8\n2,1,9\n", None),
            ("x,y\n1,5\n1,7\n1,6\n", None),
            ("time\n1\n2\n3\n", None),
        ],
    )
    def test_a_first_column_of_times_is_the_index(self, tmp_path, text, index):
        table = read(text_file(tmp_path, text))
        assert (None if table.index is None else list(table.index)) == index

    @pytest.mark.parametrize(
        ("name", "says_time"),
        [
            *((name, True) for name in ("t", "time", "Time", "date", "timestamp", "index", "year")),
            *((name, True) for name in ("sample", "week", "days", "time_s", "time (min)", "t_ms")),
            *((name, True) for name in ("t [ms]", "t/s", "T / s", "Time[h]", "time_utc", "t (µs)")),
            *(
                (name, False)
                for name in ("T", "T1", "t_max", "t_min", "T_s", "step_count", "time2")
            ),
            *((name, False) for name in ("T (K)", "t/°C", "date of birth", "day_mean", "samples")),
            *((name, False) for name in ("x", "timer", "time_max", "time (mean)", "days/week")),
        ],
    )
    def test_names_that_say_time(self, tmp_path, name, says_time):
        table = read(text_file(tmp_path, f"{name},y\n1,5\n2,7\n3,6\n"))
        assert (table.index is not None) == says_time
        assert table.names == (("y",) if says_time else (name, "y"))

    def test_ramps_are_data(self, tmp_path):
        ramp = np.add.outer(np.arange(6.0), 2 * np.arange(5.0))
        for names in (None, ("x", "y", "z", "u", "v")):
            write(tmp_path / "ramp.csv", Table(ramp, names), force=True)
            assert_same(read(tmp_path / "ramp.csv"), Table(ramp, names))

    def test_a_table_of_pandas(self, tmp_path):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        pd.DataFrame({"a": [5.0, 7.0, 6.0], "b": [1.0, 2.0, 3.0]}).to_csv(tmp_path / "p.csv")
        table = read(tmp_path / "p.csv")
        assert table.names == ("a", "b")
        assert list(table.index) == ["0", "1", "2"]

    def test_a_first_column_of_times_can_be_asked_for(self, tmp_path):
        path = text_file(tmp_path, "t,y\n1,5\n2,7\n3,6\n")
        assert read(path, columns=["t", "y"]).values.shape == (3, 2)
        assert read(path, columns="y").index[0] == "1"
        assert read(path, index=False).values.shape == (3, 2)

    def test_an_index_can_be_declined(self, tmp_path):
        path = text_file(tmp_path, "site,x\nnorth,1\nnorth,2\n")
        with pytest.raises(
            FileError, match=r'line 3, column "site": "north" is a duplicate .* line 2'
        ):
            read(path)
        table = read(path, index=False)
        assert table.index is None
        np.testing.assert_array_equal(table.values, [1, 2])

    def test_columns_of_text_are_left_out(self, tmp_path):
        table = read(text_file(tmp_path, "day,x,note,empty\nmo,1,wet,\ntu,2,dry,\n"))
        assert table.names == ("x",)
        np.testing.assert_array_equal(table.values, [1, 2])

    @pytest.mark.parametrize("cell", ["", "NA"])
    def test_a_first_column_of_nothing_is_no_index(self, tmp_path, cell):
        table = read(text_file(tmp_path, f"a,x\n{cell},1\n{cell},2\n"))
        assert (table.index, table.names) == (None, ("x",))

    def test_blank_lines_are_missing_in_one_column_and_nothing_in_several(self, tmp_path):
        np.testing.assert_array_equal(
            read(text_file(tmp_path, "\nx\n1\n\n3\n\n\n")).values, [1, np.nan, 3]
        )
        np.testing.assert_array_equal(
            read(text_file(tmp_path, "x,y\n1,2\n\n3,4\n")).values, [[1, 2], [3, 4]]
        )

    @given(
        values=hnp.arrays(
            st.sampled_from([np.float64, np.complex128]),
            st.tuples(st.integers(1, 5), st.integers(2, 4)),
            elements={"allow_infinity": False},
        ),
        suffix=st.sampled_from([".csv", ".tsv", ".txt"]),
        indexed=st.booleans(),
    )
    def test_every_number_comes_back(self, tmp_path_factory, values, suffix, indexed):
        values[0] = 1.5  # something has to be there
        path = tmp_path_factory.mktemp("round") / f"data{suffix}"
        names = tuple(f"name {j}" for j in range(values.shape[1]))
        index = [f"day {i}" for i in range(len(values))] if indexed else None
        table = Table(values, names, index, "the day" if indexed else None)
        write(path, table)
        back = read(path)
        if np.all(values.imag[~np.isnan(values)] == 0) and np.isrealobj(back.values):
            back = replace(back, values=back.values.astype(values.dtype))
        np.testing.assert_array_equal(np.isnan(back.values), np.isnan(values))
        assert_same(
            replace(back, values=np.nan_to_num(back.values)),
            replace(table, values=np.nan_to_num(values)),
        )


class TestTextErrors:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is empty"),
            ("\n\n", "it is empty"),
            ("# only words\n", "it is empty"),
            ("a,b\n", "no numbers, only a header"),
            ("a,b\nx,y\nz,w\n", "it contains no numbers"),
            ("a,b\n,\n,\n", "it contains no numbers"),
            (
                "n,temp\n1,2\n2,abc\n",
                'line 3, column "temp": "abc" is not a number .if it means missing: --missing abc',
            ),
            ("1,2\n\n2,3\n3,x\n", 'line 4, column 2: "x" is not a number'),
            (
                "a;b\n1;1,5\n2;2.5\n",
                r'"1,5" is not a number \(write decimals with a point, and thous',
            ),
            ("a;b\nx;1,5\ny;2.5\n", 'line 2, column "b": "1,5" is not a number'),
            ("a;b\n1;1'500\n1;2'500\n", '"1\'500" is not a number'),
            ('a,b\n1,"1,500.5"\n1,"2,500.5"\n', '"1,500.5" is not a number'),
            ("time,x\n1,1\nnan,2\n4,3\n", 'line 3, column "time": the time is missing'),
            ("time,x\n1,1\n2,2\n2,3\n", 'line 4, column "time": "2" is a duplicate index entry'),
            ("a,b\n1,1_000\n2,3\n", '"1_000" is not a number'),
            ("a,b\n1,2\n3\n", "line 3 has 1 cells, but line 1 has 2"),
            (
                "d,x\nmo,1\ntu,2\nmo,3\n",
                'line 4, column "d": "mo" is a duplicate index entry, also in',
            ),
            ("d,x\nmo,1\n,2\n", 'line 3, column "d": the time is missing, .*--index none'),
            ("d,x\nmo,1\nNA,2\n", 'line 3, column "d": the time is missing'),
            (
                "x\n1\n-\n",
                r'"-" is not a number \(if it means missing: --missing -, missing=.-.\)$',
            ),
            (
                "a|b\n1|2\n",
                r'line 2 starts with "1\|2" \(tabs, semicolons or commas separate cells',
            ),
            ("a,b\nx,y\nz,w\n", 'contains no numbers, but .*: line 2 starts with "x"$'),
            (f"a,b\n1,2\n3,{50 * 'x'}\n", f'line 3, column "b": "{40 * "x"}..." is not a number$'),
            ('a,b\n1,2\n3,"4\n5,6\n', r'line 3 opens a quote \("\) that is not closed'),
        ],
    )
    def test_what_is_wrong_and_where(self, tmp_path, text, message):
        with pytest.raises(FileError, match=message) as caught:
            read(text_file(tmp_path, text))
        assert "data.csv" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_equal_times_written_differently(self, tmp_path):
        with pytest.raises(
            FileError, match='line 3, column "t": "1.00" is a duplicate index entry'
        ):
            read(text_file(tmp_path, "t,x\n1.0,1\n1.00,2\n"), index="t")

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("snow", 'no column "snow": there are "day", "wind", "rain"'),
            (4, "no column 4: there are 3, counted from 1"),
            (0, "no column 0: there are 3, counted from 1"),
            ("day", 'line 2, column "day": "2024-05-01" is not a number'),
        ],
    )
    def test_columns_that_are_not_there(self, tmp_path, columns, message):
        with pytest.raises(FileError, match=message):
            read(text_file(tmp_path, WEATHER), columns=columns)

    @pytest.mark.parametrize("columns", [["wind", "wind"], [3, "rain"], ["2", "rain", 2]])
    def test_a_column_twice(self, tmp_path, columns):
        with pytest.raises(FileError, match=f'column "{columns[0]}" is asked for more than once'):
            read(text_file(tmp_path, WEATHER), columns=columns)
        write(tmp_path / "a.npy", Table(np.ones((3, 2))))
        with pytest.raises(FileError, match='column "2" is asked for more than once'):
            read(tmp_path / "a.npy", columns=[2, "1", "2"])

    def test_an_index_and_nothing_else(self, tmp_path):
        with pytest.raises(
            FileError, match="it contains no numbers besides the index, but a column"
        ):
            read(text_file(tmp_path, "x\n1\n2\n"), index="x")

    @pytest.mark.parametrize("suffix", [".csv", ".npy"])
    def test_no_columns(self, tmp_path, suffix):
        write(tmp_path / f"a{suffix}", Table(np.ones((3, 2))))
        with pytest.raises(FileError, match="columns is empty, but one or more columns are exp"):
            read(tmp_path / f"a{suffix}", columns=[])

    def test_names_that_stand_twice(self, tmp_path):
        path = text_file(tmp_path, "a,a\n1,2\n")
        with pytest.raises(FileError, match='several columns are named "a"'):
            read(path, columns="a")
        assert read(path).names == ("a", "a")

    def test_no_names_and_a_name(self, tmp_path):
        with pytest.raises(FileError, match='no column "a": there are no names'):
            read(text_file(tmp_path, "1,2\n3,4\n"), columns="a")

    def test_a_column_without_numbers_that_was_asked_for(self, tmp_path):
        with pytest.raises(FileError, match="it contains no numbers"):
            read(text_file(tmp_path, "a,b\n1,\n2,\n"), columns="b")

    def test_other_encodings_and_variables(self, tmp_path):
        path = tmp_path / "data.csv"
        path.write_bytes("µ,x\n1,2\n".encode("latin-1"))
        with pytest.raises(FileError, match="not text in utf-8"):
            read(path, encoding="utf-8")
        with pytest.raises(FileError, match="choose columns"):
            read(text_file(tmp_path, WEATHER), variable="wind")


class TestRegular:
    """The index of a file is looked at as that of a Series, without pandas."""

    @pytest.mark.parametrize(
        "frequency",
        ["D", "h", "7min", "W", "B", "MS", "ME", "BMS", "BME", "QS", "QE", "YS", "YE", "2MS"],
    )
    @pytest.mark.parametrize("left_out", [None, 7, 3], ids=str)
    def test_calendars_are_those_of_pandas(self, frequency, left_out):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        index = pd.date_range("2023-01-02", periods=15, freq=frequency)
        if left_out is None:
            check_regular(index)
            assert irregular_cell(list(map(str, index))) is None
            return
        index = index.delete(left_out)
        cells = [str(time) for time in index]
        with pytest.raises(ValueError, match=rf"irregular \(around {irregular_cell(cells)}\)"):
            check_regular(index)

    @given(
        st.lists(st.integers(0, 40), min_size=3, max_size=6, unique=True),
        st.sampled_from(["D", "h", "B"]),
    )
    def test_any_times_are_judged_as_by_pandas(self, places, frequency):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        index = pd.date_range("2024-02-26", periods=41, freq=frequency)[sorted(places)]
        try:
            check_regular(index)
            expected = True
        except ValueError:
            expected = False
        assert (irregular_cell([str(time) for time in index]) is None) == expected

    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["0.1", "0.2", "0.3", "0.401"], "0.401"),
            (["0.1", "0.2", "0.3", "0.40001"], None),
            (["4", "3", "2", "1"], None),
            (["4", "3", "1", "0"], "1"),
            (["0", "inf", "2", "3"], "inf"),
            (["5", "9"], None),
            (["north", "south", "east"], None),
            (["2023_11", "2023_12", "2024_01"], None),
            (["2023-11", "2023-12", "2024-01"], None),
            (["2023-10", "2023-11", "2023-12", "2024-02"], "2024-02"),
            (["2024-03-15", "2024-04-15", "2024-05-15"], None),
            (["2024-03-15", "2024-04-15", "2024-05-14"], "2024-04-15"),
            (["2024-03-01T00:00", "2024-04-01T00:00", "2024-05-01T01:00"], "2024-04-01T00:00"),
            (["2024-03-31T01:00+01:00", "2024-03-31T03:00+02:00", "2024-03-31T04:00+02:00"], None),
            (
                ["2024-03-31T01Z", "2024-03-31T02Z", "2024-03-31T03Z", "2024-03-31T05Z"],
                "2024-03-31T05Z",
            ),
            (["2024-03-15", "2024-04-19", "2024-05-17"], None),  # third Fridays
            (["2024-03-15", "2024-05-17", "2024-06-21"], "2024-05-17"),
            (["2024-03-15", "2024-06-21", "2024-09-20"], "2024-06-21"),
            (["2024-01-05T00:00+02:00", "2024-01-08T00:00+02:00", "2024-01-09T00:00+02:00"], None),
            (["31.01.2024", "01.02.2024", "07.02.2024"], None),
            (["0001-01-01T00:00+14:00", "0001-01-02", "0001-01-09"], None),
        ],
    )
    def test_numbers_times_and_labels(self, cells, expected):
        assert irregular_cell(cells) == expected


@pytest.mark.parametrize("suffix", BINARY)
class TestBinary:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(7,), (4, 3), (3, 4, 2)], ids=str)
    def test_round_trip(self, tmp_path, rng, suffix, dtype, shape):
        values = random_array(rng, shape, dtype)
        values.reshape(-1)[1] = np.nan
        path = tmp_path / f"data{suffix}"
        write(path, Table(values))
        table = read(path)
        np.testing.assert_array_equal(table.values, values)
        assert table.values.dtype == dtype
        assert os.listdir(tmp_path) == [path.name]

    def test_the_name_of_the_array_is_kept(self, tmp_path, rng, suffix):
        if suffix == ".npy":
            write(tmp_path / "data.npy", Table(rng.standard_normal(5)))
            with pytest.raises(FileError, match="a NPY file contains one, without a name"):
                read(tmp_path / "data.npy", variable="speed")
            return
        path, other = tmp_path / f"data{suffix}", tmp_path / f"other{suffix}"
        write(path, Table(rng.standard_normal(5), variable="speed"))
        assert read(path).variable == "speed"
        write(other, read(path, variable="speed"))
        assert read(other).variable == "speed"
        with pytest.raises(FileError, match=r'no array "depth": there are "speed"'):
            read(path, variable="depth")

    def test_columns_by_number(self, tmp_path, rng, suffix):
        values = rng.standard_normal((5, 3))
        path = tmp_path / f"data{suffix}"
        write(path, Table(values))
        np.testing.assert_array_equal(read(path, columns=[3, 1]).values, values[:, [2, 0]])
        np.testing.assert_array_equal(read(path, columns="2").values, values[:, 1])
        with pytest.raises(FileError, match="no column 4: there are 3"):
            read(path, columns=4)
        with pytest.raises(FileError, match='no column "wind": there are no names'):
            read(path, columns="wind")
        with pytest.raises(FileError, match="only text files have an index"):
            read(path, index=1)
        write(path, Table(values[0]), force=True)
        with pytest.raises(FileError, match="chosen from two-dimensional arrays"):
            read(path, columns=1)

    def test_no_numbers(self, tmp_path, suffix):
        path = tmp_path / f"data{suffix}"
        write(path, Table(np.full(4, np.nan)))
        with pytest.raises(FileError, match="it contains no numbers"):
            read(path)

    def test_corrupt(self, tmp_path, rng, suffix):
        path = tmp_path / f"data{suffix}"
        write(path, Table(rng.standard_normal(1000)))
        victims = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
        for victim in victims:
            victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
        with pytest.raises(FileError, match=r"data\.\w+( cannot be read)?: .") as caught:
            read(path)
        assert "\n" not in str(caught.value)
        for victim in victims:
            victim.write_bytes(b"this is something else altogether")
        with pytest.raises(FileError, match=r"data\.\w+( cannot be read)?: ."):
            read(path)


class TestContainers:
    """Files of several arrays, as others write them."""

    def several(self, path, arrays):
        if path.suffix == ".npz":
            np.savez(path, **arrays)
        elif path.suffix == ".mat":
            scipy.io.savemat(path, arrays)
        elif path.suffix == ".h5":
            with h5py.File(path, "w") as file:
                for name, array in arrays.items():
                    file[name] = array
        else:
            group = zarr.create_group(path)
            for name, array in arrays.items():
                group.create_array(name, data=np.asarray(array))

    @pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5", ".zarr"])
    def test_one_has_to_be_named(self, tmp_path, suffix):
        path = tmp_path / f"data{suffix}"
        self.several(path, {"u": np.arange(6).reshape(3, 2), "y": np.arange(4.0), "fs": 8.0})
        with pytest.raises(FileError, match=r"it contains several arrays: name one of ") as caught:
            read(path)
        assert '"u" (3 x 2)' in str(caught.value)
        assert '"fs"' not in str(caught.value)
        np.testing.assert_array_equal(read(path, variable="y").values, np.arange(4.0))
        whole = read(path, variable="u")
        assert whole.values.dtype == np.float64
        np.testing.assert_array_equal(whole.values, np.arange(6).reshape(3, 2))
        with pytest.raises(FileError, match="single number"):
            read(path, variable="fs")

    @pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5", ".zarr"])
    def test_a_single_array_beside_numbers_needs_no_name(self, tmp_path, suffix):
        path = tmp_path / f"data{suffix}"
        self.several(path, {"fs": 8.0, "y": np.arange(4.0)})
        assert read(path).variable == "y"

    @pytest.mark.parametrize("suffix", [".h5", ".zarr"])
    def test_nested_arrays(self, tmp_path, suffix):
        path, back = tmp_path / f"data{suffix}", tmp_path / f"back{suffix}"
        self.several(path, {"run/one/y": np.arange(4.0)})
        assert read(path, variable="/run/one/y").variable == read(path).variable == "run/one/y"
        write(back, read(path))
        assert read(back).variable == "run/one/y"
        write(tmp_path / "back.npz", read(path))
        assert read(tmp_path / "back.npz").variable == "run/one/y"

    @pytest.mark.parametrize("name", ["run/one", "_hidden", "2nd", "a" * 64])
    def test_names_that_matlab_does_not_allow(self, tmp_path, name):
        write(tmp_path / "a.mat", Table(np.arange(3.0), variable=name))
        assert read(tmp_path / "a.mat").variable == "values"

    @pytest.mark.parametrize("name", ["allow_pickle", "file", "args", "kwds", "x.npy", "wind °"])
    def test_names_that_numpy_takes_as_options(self, tmp_path, name):
        write(tmp_path / "a.npz", Table(np.arange(3.0), variable=name))
        found = read(tmp_path / "a.npz")
        assert found.variable == name
        np.testing.assert_array_equal(found.values, np.arange(3.0))
        np.testing.assert_array_equal(np.load(tmp_path / "a.npz")[name], np.arange(3.0))

    @pytest.mark.parametrize("name", ["", "a\0b", "\udc80", "two\nlines"])
    def test_names_that_no_archive_has(self, tmp_path, name):
        write(tmp_path / "a.npz", Table(np.arange(3.0), variable=name))
        assert read(tmp_path / "a.npz").variable == "values"

    def test_text_arrays_are_not_counted(self, tmp_path):
        self.several(tmp_path / "a.npz", {"labels": np.array(["x", "y"]), "y": np.arange(3.0)})
        assert read(tmp_path / "a.npz").variable == "y"
        with pytest.raises(FileError, match="its entries are <U1, not numbers"):
            read(tmp_path / "a.npz", variable="labels")
        self.several(tmp_path / "a.mat", {"s": "text", "c": {"x": 1.0}, "y": np.arange(3.0)})
        assert read(tmp_path / "a.mat").variable == "y"
        self.several(tmp_path / "b.mat", {"s": "text"})
        with pytest.raises(FileError, match="it contains no array of numbers$"):
            read(tmp_path / "b.mat")

    def test_other_members_of_an_archive_are_not_counted(self, tmp_path):
        np.savez(tmp_path / "a.npz", y=np.arange(3.0))
        with zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
            file.writestr("readme.txt", "words")
        assert read(tmp_path / "a.npz").variable == "y"

    def test_matlab_7_3(self, tmp_path):
        """Stored by columns, complex as pairs, characters as whole numbers."""
        values = (np.arange(6) + 1j * np.arange(6)[::-1]).reshape(2, 3)
        pairs = np.zeros((3, 2), dtype=[("real", float), ("imag", float)])
        pairs["real"], pairs["imag"] = values.real.T, values.imag.T
        path = tmp_path / "new.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, array, kind in (
                ("z", pairs, b"double"),
                ("x", np.arange(4.0)[None], b"double"),
                ("title", np.array([[72], [105]], dtype=np.uint16), b"char"),
                ("#refs#/a", np.arange(3.0), b"double"),
            ):
                file[name] = array
                file[name].attrs["MATLAB_class"] = np.bytes_(kind)
        mark = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
        path.write_bytes(mark + path.read_bytes()[128:])
        np.testing.assert_array_equal(read(path, variable="z").values, values)
        np.testing.assert_array_equal(read(path, variable="x").values, np.arange(4.0))
        with pytest.raises(FileError, match=r'name one of "x" \(4 x 1\), "z" \(2 x 3\)'):
            read(path)

    def test_other_number_types(self, tmp_path):
        for dtype, expected in (
            ("i2", "f8"),
            ("?", "f8"),
            (">f4", "f4"),
            ("f2", "f4"),
            (">c16", "c16"),
        ):
            np.save(tmp_path / "a.npy", np.array([0, 1, 1]).astype(dtype))
            values = read(tmp_path / "a.npy").values
            assert values.dtype == np.dtype(expected)
            np.testing.assert_array_equal(values, [0, 1, 1])


class Trap:
    """Leaves a mark if it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


class TestPickles:
    @pytest.mark.parametrize("save", [np.save, np.savez])
    def test_objects_are_refused_and_not_run(self, tmp_path, save):
        mark = tmp_path / "was run"
        path = tmp_path / ("a.npy" if save is np.save else "a.npz")
        save(path, np.array([Trap(mark), None], dtype=object))
        with pytest.raises(FileError, match="pickled Python objects, which are refused"):
            read(path)
        assert not mark.exists()

    def test_numbers_beside_objects_can_be_named(self, tmp_path):
        np.savez(tmp_path / "a.npz", y=np.arange(3.0), o=np.array([None, {}], dtype=object))
        with pytest.raises(FileError, match="or name one of them"):
            read(tmp_path / "a.npz")
        np.testing.assert_array_equal(read(tmp_path / "a.npz", variable="y").values, np.arange(3.0))

    def test_zarr_refuses_pickled_chunks(self, tmp_path):
        path, mark = tmp_path / "a.zarr", tmp_path / "was run"
        path.mkdir()
        (path / ".zarray").write_text(
            '{"shape": [2], "chunks": [2], "dtype": "<f8", "fill_value": 0.0, "order": "C", '
            '"filters": [{"id": "pickle", "protocol": 4}], "compressor": null, "zarr_format": 2}'
        )
        (path / "0").write_bytes(pickle.dumps(Trap(mark)))
        with pytest.raises(FileError, match="cannot be read"):
            read(path)
        assert not mark.exists()


class TestNMRPipe:
    @pytest.mark.parametrize("dtype", ["float32", "complex64"])
    @pytest.mark.parametrize("shape", [(16,), (6, 10)], ids=str)
    def test_round_trip(self, tmp_path, rng, dtype, shape):
        values = random_array(rng, shape, dtype)
        write(tmp_path / "a.fid", Table(values.astype(np.result_type(dtype, float))))
        table = read(tmp_path / "a.fid")
        np.testing.assert_array_equal(table.values, values)
        assert (table.values.dtype, table.format) == (dtype, "NMRPipe")
        write(tmp_path / "b.ft", replace(table, values=2 * table.values))
        np.testing.assert_array_equal(read(tmp_path / "b.ft").values, 2 * values)

    def test_files_of_nmrglue_keep_their_header(self, tmp_path, rng):
        about = nmrglue.fileiobase.create_blank_udic(2)  # a complex indirect dimension
        about[0].update(size=8, sw=2000.0)
        about[1].update(size=12, sw=5000.0)
        values = random_array(rng, (8, 12), "complex64")
        nmrglue.pipe.write(str(tmp_path / "a.fid"), nmrglue.pipe.create_dic(about), values)
        table = read(tmp_path / "a.fid")
        np.testing.assert_array_equal(table.values, values)
        write(tmp_path / "b.fid", replace(table, values=-values))
        header, back = nmrglue.pipe.read(str(tmp_path / "b.fid"))
        np.testing.assert_array_equal(back, -values)
        assert header == table.header
        assert header["FDF2SW"] == 5000.0
        with pytest.raises(FileError, match=r"header does not describe values of shape \(8, 5\)"):
            write(tmp_path / "c.fid", replace(table, values=values[:, :5]))
        with pytest.raises(FileError, match="header"):
            write(tmp_path / "c.fid", replace(table, values=values.real))
        with pytest.raises(FileError, match=r"header describes complex64 of shape \(8, 12\), but"):
            write(tmp_path / "c.fid", replace(table, values=values.reshape(-1)))
        assert sorted(os.listdir(tmp_path)) == ["a.fid", "b.fid"]

    def test_broken_files(self, tmp_path, rng):
        path = tmp_path / "a.fid"
        write(path, Table(random_array(rng, (6, 10), "complex64")))
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(FileError, match="cannot be read: .*cannot be shaped"):
            read(path)
        path.write_bytes(b"short")
        with pytest.raises(FileError, match="it is not an NMRPipe file"):
            read(path)
        with pytest.raises(FileError, match="contains one, without a name"):
            read(path, variable="x")

    @pytest.mark.parametrize(
        ("name", "shape"),
        [("nmrglue_1D_time.fid", (1500,)), ("nmrglue_2D_time_complex.fid", (332, 1500))],
    )
    def test_recordings(self, tmp_path, name, shape):
        path = shared(f"nmr/{name}")
        table = read(path)
        assert table.values.shape == shape
        np.testing.assert_array_equal(table.values, nmrglue.pipe.read(str(path))[1])
        write(tmp_path / name, table)
        assert (tmp_path / name).read_bytes()[:2048] == path.read_bytes()[:2048]  # the header
        np.testing.assert_array_equal(read(tmp_path / name).values, table.values)


def test_recordings_of_other_formats():
    assert read(shared("daisy/hairdryer.mat"), columns=2).values.shape == (1000,)
    assert read(shared("mri/cartesian_ksp.npy")).values.dtype == np.complex64


class TestReadErrors:
    def test_missing_folder_empty_and_unknown(self, tmp_path):
        with pytest.raises(FileError, match=r"nowhere\.csv does not exist"):
            read(tmp_path / "nowhere.csv")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(FileError, match="is a folder, but a file is expected"):
            read(tmp_path / "folder.csv")
        with pytest.raises(FileError, match=r"unknown extension: known are \.csv, .*\.npz.*\.fid"):
            read(text_file(tmp_path, "1", "data.doc"))
        for suffix in EVERY:
            path = tmp_path / f"empty{suffix}"
            path.touch()
            with pytest.raises(FileError, match=r"empty\.\w+ is empty"):
                read(path)

    def test_no_permission(self, tmp_path, monkeypatch):
        path = text_file(tmp_path, WEATHER)

        def forbidden(self, **_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", forbidden)
        with pytest.raises(FileError, match="cannot be read: .*Permission denied"):
            read(path)

    @pytest.mark.parametrize("suffix", NEEDS)
    def test_packages_that_are_not_installed(self, tmp_path, monkeypatch, suffix):
        path = tmp_path / f"data{suffix}"
        path.write_bytes(b"x" * 3000)
        monkeypatch.setitem(sys.modules, NEEDS[suffix], None)
        message = rf'needs {NEEDS[suffix]}: pip install "structrank\[files\]"'
        with pytest.raises(ImportError, match=message):
            read(path)
        with pytest.raises(ImportError, match=message):
            write(tmp_path / f"other{suffix}", Table(np.arange(3.0)))


@pytest.mark.parametrize("suffix", EVERY)
class TestWriting:
    def test_nothing_is_replaced_unless_asked_for(self, tmp_path, suffix):
        path = tmp_path / f"data{suffix}"
        write(path, Table(np.arange(3.0)))
        with pytest.raises(FileError, match=r"exists: use --force \(force=True\) to replace it"):
            write(path, Table(np.arange(5.0)))
        assert len(read(path).values) == 3
        write(path, Table(np.arange(5.0)), force=True)
        assert len(read(path).values) == 5
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
    @pytest.mark.parametrize("there", [True, False])
    def test_failure_in_the_middle_leaves_all_as_it_was(
        self, tmp_path, monkeypatch, suffix, error, there
    ):
        path = tmp_path / f"data{suffix}"
        if there:
            write(path, Table(np.arange(3.0)))
        before = os.listdir(tmp_path)
        begun = []

        def half(partial, *_):
            if suffix == ".zarr":
                partial.mkdir()
                (partial / "zarr.json").write_text("half")
            else:
                partial.write_text("half")
            begun.extend(os.listdir(tmp_path))
            raise error

        if suffix in formats.TEXT:
            monkeypatch.setattr(formats, "write_text", half)
        elif suffix in formats.FRAMES:
            monkeypatch.setattr(formats, "write_frame", half)
        else:
            changed = formats.BINARY[suffix]._replace(write=half)
            monkeypatch.setitem(formats.BINARY, suffix, changed)
        caught = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else FileError
        with pytest.raises(caught):
            write(path, Table(np.arange(5.0)), force=True)
        monkeypatch.undo()
        assert len(begun) == len(before) + 1  # it had begun, in the same folder
        assert os.listdir(tmp_path) == before
        if there:
            assert len(read(path).values) == 3

    def test_what_cannot_be_written_to(self, tmp_path, suffix):
        with pytest.raises(FileError, match="nowhere is not a folder"):
            write(tmp_path / "nowhere" / f"data{suffix}", Table(np.arange(3.0)))
        folder = tmp_path / f"folder{suffix}"
        folder.mkdir()
        (folder / "precious").touch()
        with pytest.raises(FileError, match="is a folder: choose another name"):
            write(folder, Table(np.arange(3.0)), force=True)
        assert (folder / "precious").exists()

    def test_a_file_that_comes_to_be_meanwhile_is_kept(self, tmp_path, monkeypatch, suffix):
        path = tmp_path / f"data{suffix}"

        def slow(partial, *_):
            partial.write_text("new")
            path.write_text("theirs")

        if suffix in formats.TEXT:
            monkeypatch.setattr(formats, "write_text", slow)
        elif suffix in formats.FRAMES:
            monkeypatch.setattr(formats, "write_frame", slow)
        else:
            changed = formats.BINARY[suffix]._replace(write=slow)
            monkeypatch.setitem(formats.BINARY, suffix, changed)
        with pytest.raises(FileError, match="exists|is a file"):
            write(path, Table(np.arange(5.0)))
        assert path.read_text() == "theirs"
        assert os.listdir(tmp_path) == [path.name]


def test_a_zarr_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    path = tmp_path / "data.zarr"
    write(path, Table(np.arange(3.0)))
    rename = Path.rename

    def failing(self, target):
        if ".partial-" in self.name:
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(FileError, match="disk full"):
        write(path, Table(np.arange(5.0)), force=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["data.zarr"]
    assert len(read(path).values) == 3


def test_text_holds_two_dimensions(tmp_path):
    with pytest.raises(FileError, match=r"at most two dimensions.* \(2, 2, 2\): choose \.npy"):
        write(tmp_path / "a.csv", Table(np.ones((2, 2, 2))))
    assert os.listdir(tmp_path) == []


def test_writable_is_known_beforehand(tmp_path, monkeypatch):
    check_writable(tmp_path / "a.csv")
    (tmp_path / "a.csv").touch()
    check_writable(tmp_path / "a.csv", force=True)
    with pytest.raises(FileError, match="--force"):
        check_writable(tmp_path / "a.csv")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match=f"{tmp_path} is protected"):
        check_writable(tmp_path / "b.csv")


def test_what_keeps_a_file_from_being_written_is_said_once(tmp_path):
    path = tmp_path / f"{240 * 'a'}.csv"  # too long with what is added while it is written
    with pytest.raises(FileError, match="a.csv' cannot be written: File name too long, choose"):
        write(path, Table(np.arange(3.0)))


class TestTable:
    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(TypeError, match="int64, but floating numbers"):
            Table(np.arange(3))
        with pytest.raises(ValueError, match=r"3 names for values of shape \(4, 2\)"):
            Table(np.ones((4, 2)), names=("a", "b", "c"))
        with pytest.raises(ValueError, match=r"index has shape \(2,\)"):
            Table(np.ones((4, 2)), index=["a", "b"])

    def test_a_new_signal_goes_back_into_the_same_file(self, tmp_path):
        table = read(text_file(tmp_path, WEATHER))
        write(tmp_path / "out.csv", replace(table, values=np.ones((3, 2))))
        assert (tmp_path / "out.csv").read_text().splitlines()[1] == "2024-05-01,1.0,1.0"


class TestWriter:
    """`new_path`, which every file and folder is written by."""

    def test_writers_of_the_same_file_do_not_disturb_each_other(self, tmp_path):
        path = tmp_path / "a.txt"
        with new_path(path, lambda: None) as first, new_path(path, lambda: None) as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
        assert path.read_text() == "first"  # it ends last
        assert os.listdir(tmp_path) == ["a.txt"]

    @pytest.mark.parametrize("moment", [0, 1])
    def test_a_folder_is_there_whenever_the_swap_is_interrupted(
        self, tmp_path, monkeypatch, moment
    ):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "old.txt").touch()
        rename, count = Path.rename, []

        def interrupted(path, target):
            rename(path, target)
            count.append(1)
            if len(count) == moment + 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(Path, "rename", interrupted)
        with (
            pytest.raises(KeyboardInterrupt),
            new_folder(tmp_path / "out", force=True) as folder,
        ):
            (folder / "new.txt").touch()
        name = ["old.txt", "new.txt"][moment]
        assert [path.name for path in tmp_path.rglob("*")] == ["out", name]


@pytest.mark.parametrize("names", [None, ("a",)])
@pytest.mark.parametrize("suffix", [*FRAMES, ".csv"])
def test_rows_without_any_value_are_kept(tmp_path, suffix, names):
    values = np.array([np.nan, 1.0, np.nan, 3.3e-11, np.nan])
    write(tmp_path / f"one{suffix}", Table(values, names=names))
    np.testing.assert_array_equal(read(tmp_path / f"one{suffix}").values.reshape(-1), values)
    names = names and ("a", "b")
    write(tmp_path / f"two{suffix}", Table(np.stack([values, values], axis=1), names=names))
    np.testing.assert_array_equal(read(tmp_path / f"two{suffix}").values[:, 1], values)


def test_an_empty_cell_in_a_sheet_of_one_column_is_missing(tmp_path):
    sheet = openpyxl.Workbook()
    for row, value in {2: "level", 3: 1.0, 5: 4.0}.items():  # rows 1 and 4 are empty
        sheet.active.cell(row, 1, value)
    sheet.save(tmp_path / "a.xlsx")
    found = read(tmp_path / "a.xlsx")
    assert found.names == ("level",)
    np.testing.assert_array_equal(found.values.reshape(-1), [1.0, np.nan, 4.0])


@pytest.mark.parametrize("values", [[np.inf, 1.0], [-np.inf, np.nan]])
def test_json_has_no_infinite_numbers(tmp_path, values):
    with pytest.raises(FileError, match=r"no infinite numbers: choose \.csv"):
        write(tmp_path / "a.json", Table(np.array(values)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [[1e-76, 0.0], [1e150, 1.0], [1e39j, 1.0]])
def test_values_beyond_single_precision_are_refused(tmp_path, values):
    with pytest.raises(FileError, match="single precision, which the largest value"):
        write(tmp_path / "a.ft", Table(np.array(values)))
    assert not list(tmp_path.iterdir())

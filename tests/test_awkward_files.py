"""Awkward files that people have: what is read, what is said about it, what is refused."""

from __future__ import annotations

import json
import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from click.testing import CliRunner

from structrank.cli import main
from structrank.cli.inputs import read_signal
from structrank.io import FileError, read, write
from structrank.io.suspects import suspicious_values

N = 30
WAVE = np.round(20 + 5 * np.sin(0.5 * np.arange(N)) + np.cos(9.1 * np.arange(N)), 2)
DAYS = [str(date(2024, 1, 29) + timedelta(days=k)) for k in range(N)]
HALVES = [str(0.5 * k) for k in range(N)]
MONTHS = [date(2020 + k // 12, k % 12 + 1, 1) for k in range(N)]
PLAIN = {"index": None, "regular": False, "step": None}


def text(head, *columns, sep=",", end="\n"):
    rows = [*head, *(sep.join(map(str, row)) for row in zip(*columns, strict=True))]
    return end.join(rows) + end


def put(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def patterned(pattern, times=MONTHS):
    return [time.strftime(pattern) for time in times]


FIRST_DAYS = patterned("%Y-%m-%d")
TOA5 = '"TOA5","CR1000","8","x"\n"TIMESTAMP","T"\n"TS","Deg C"\n"","Avg"\n'
INDEX = {  # content, and the index that is expected
    "trailing separators": (text(["time,x,"], DAYS, [f"{x}," for x in WAVE]), DAYS),
    "and none above": (text(["time,x"], DAYS, [f"{x}," for x in WAVE]), DAYS),
    "names in a comment": (text(["# time,x"], HALVES, WAVE), HALVES),
    "two kinds of comments": (text(["// logger", "% 7", "time,x"], HALVES, WAVE), HALVES),
    "another language": (text(["Zeit (s);x"], HALVES, WAVE, sep=";"), HALVES),
    "a name that says nothing": (text(["ts,x"], HALVES, WAVE), HALVES),
    "numbers as names": (text(["date,400.5"], DAYS, WAVE), DAYS),
    "dates behind": (text(["x,date"], WAVE, DAYS), DAYS),
    "dates behind labels": (text(["station,date,x"], ["A"] * N, DAYS, WAVE), DAYS),
    "times before dates": (
        text(["time,date,x"], ["12:00"] * N, DAYS, WAVE),
        [f"{day} 12:00" for day in DAYS],
    ),
    "digits": (text(["date,x"], [day.replace("-", "") for day in DAYS], WAVE), DAYS),
    "months as digits": (text(["month,x"], patterned("%Y%m"), WAVE), FIRST_DAYS),
    "months with points": (text(["month;x"], patterned("%m.%Y"), WAVE, sep=";"), FIRST_DAYS),
    "months in letters": (text(["month,x"], patterned("%b-%y"), WAVE), FIRST_DAYS),
    "first days, day first": (text(["date,x"], patterned("%d/%m/%Y"), WAVE), FIRST_DAYS),
    "first days, month first": (text(["date,x"], patterned("%m/%d/%Y"), WAVE), FIRST_DAYS),
    "quarters": (
        text(["quarter,x"], [f"{2010 + k // 4}Q{k % 4 + 1}" for k in range(N)], WAVE),
        [f"{2010 + k // 4}-{3 * (k % 4) + 1:02}-01" for k in range(N)],
    ),
    "weeks": (
        text(["week,x"], [f"2024-W{k + 1:02}" for k in range(N)], WAVE),
        [str(date(2024, 1, 1) + timedelta(weeks=k)) for k in range(N)],
    ),
    "middles of months": (text(["date,x"], patterned("%Y-%m-15"), WAVE), patterned("%Y-%m-15")),
    "exponents of Fortran": (
        text([], [f"{0.5 * k:.3e}".replace("e", "D") for k in range(N)], WAVE),
        HALVES,
    ),
    "a logger": (TOA5 + text([], [f'"{d} 00:00:00"' for d in DAYS], WAVE), None),
}


@pytest.mark.parametrize("kind", INDEX)
def test_times_are_found(tmp_path, kind):
    content, index = INDEX[kind]
    path = put(tmp_path, content)
    given = read_signal(path, None, dict(PLAIN))
    np.testing.assert_array_equal(given.table.values, WAVE)
    expected = [f"{day} 00:00:00" for day in DAYS] if index is None else index
    assert given.table.index.tolist() == expected
    write(tmp_path / "b.csv", given.table)  # the times are written as they were
    kept = {cell for line in content.splitlines() for cell in line.replace('"', "").split(",")}
    if kind not in ("times before dates", "exponents of Fortran", "another language"):
        back = (tmp_path / "b.csv").read_text().splitlines()
        assert {line.replace(";", ",").split(",")[0] for line in back[2:]} <= kept | {
            line.split(";")[0] for line in content.splitlines()
        }


NOTED = {
    "a column of text": (text(["t,x,state"], HALVES, WAVE, ["ok"] * N), '"state": no numbers'),
    "an empty column": (text(["t,x,y"], HALVES, WAVE, [""] * N), '"y": no numbers'),
    "row numbers": (text(["date,n,x"], DAYS, range(N), WAVE), '"n": row numbers, read as data'),
    "times that do not rise": (
        text(["time,x"], WAVE, WAVE),
        '"time" was read as data: its numbers',
    ),
    "few rows": (text([], HALVES[:5], WAVE[:5]), "column 1 was read as data; --index 1"),
    "thousands": (
        text(["t;x"], HALVES, [f"{k}.345" for k in range(1, N + 1)], sep=";"),
        "1.345 was read with decimals after its point: if it means 1345",
    ),
    "thousands among others": (
        text(["t,x"], HALVES, [f"{k}.345" if k % 4 else 876 for k in range(N)]),
        "1.345 was read with decimals",
    ),
}


@pytest.mark.parametrize("kind", NOTED)
def test_what_a_reader_may_not_expect_is_said(tmp_path, kind):
    content, note = NOTED[kind]
    assert any(note in said for said in read(put(tmp_path, content)).notes)


def test_decimals_are_not_taken_for_thousands(tmp_path):
    for values in ([f"{x:.3f}" for x in WAVE], [f"{x / 100:.3f}" for x in WAVE], WAVE):
        assert read(put(tmp_path, text(["time,x"], HALVES, values))).notes == ()


REFUSED = {
    "a sum below": (text(["d,x"], DAYS, WAVE) + "Total,3\n", '"Total" is not a date, but most'),
    "percent": (text(["d,x"], DAYS, [f"{x}%" for x in WAVE]), "without signs and units"),
    "currency": (text(["d,x,y"], DAYS, WAVE, ["$3"] * N), '"\\$3" is not a number .*signs and'),
    "thousands with blanks": (text(["d;x"], DAYS, ["12 345,5"] * N, sep=";"), "thousands without"),
    "marks": (text(["d,x"], DAYS, [*WAVE[1:], "3*"]), "numbers alone are expected"),
    "another word": (text(["d,x"], DAYS, [*WAVE[1:], "dry"]), "--missing dry, missing='dry'"),
    "zero bytes": (text(["d,x"], DAYS, WAVE).encode("utf-16-le"), "--encoding utf-16-le"),
    "several rows of text": (
        text(["A,A", "time,x", "s,m"], HALVES, WAVE),
        r"line 3 is text above numbers.*--skip-rows 1,",
    ),
    "series below each other": (text(["d,x"], DAYS * 2, [*WAVE] * 2), "a column of its own"),
    "another order": (
        text(["d,x"], [*DAYS[10:], *DAYS[:10]], WAVE),
        "not in the order of their times .around 2024-01-29.: sort them, or pass --regular",
    ),
    "a series in a row": (text([], *WAVE[:, None]), "one row of 30 numbers, .*one sample per line"),
    "days left out": (
        text(["d,x"], [day.replace("-", "") for day in DAYS[:9] + DAYS[11:]], WAVE[2:]),
        "irregular .around 2024-02-09",
    ),
    "hours left out": (
        text(["time,x"], [f"{h}:00" for h in (1, 2, 3, 5, 6)], WAVE[:5]),
        "irregular .around 5:00",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_a_line_that_suffices(tmp_path, kind):
    content, message = REFUSED[kind]
    with pytest.raises(FileError, match=message) as caught:
        read_signal(put(tmp_path, content), None, dict(PLAIN))
    assert "\n" not in str(caught.value)


def test_empty_cells_between_blanks(tmp_path):
    path = put(tmp_path, "t x y\n0 1 2\n1  2\n2 2 2\n3 3 3\n4 4 4\n5 5 5\n", "a.txt")
    with pytest.raises(FileError, match="line 3 has 2 cells, .*write NaN"):
        read(path)


def test_a_cell_that_is_no_time_is_named(tmp_path):
    hours = [f"2024-03-01 {k + 1:02}:00" for k in range(24)]
    with pytest.warns(UserWarning, match="2024-03-01 24:00 is not a time in ISO 8601, such"):
        read_signal(put(tmp_path, text(["time,x"], hours, WAVE[:24])), None, dict(PLAIN))


class TestSuspects:
    def changed(self, rows, value):
        values = WAVE.copy()
        values[rows] = value
        return values

    def test_several_codes(self):
        values = self.changed([3, 4, 5], -9999)
        values[[9, 20]] = -8888
        values[25:27] = 99999
        found = suspicious_values(values)
        assert [line.split(" ")[0] for line in found] == ["-9999", "-8888", "99999"]

    def test_zeros_far_from_all_other_values(self):
        (line,) = suspicious_values(self.changed([3, 11, 12], 0.0))
        assert line.startswith("0 occurs 3 times")

    def test_short_runs(self):
        (line,) = suspicious_values(self.changed(slice(8, 15), WAVE[8]))
        assert "in rows 9 to 15" in line

    def test_flat_peaks_are_usual(self):
        assert suspicious_values(np.round(np.sin(0.008 * np.arange(800)), 3)) == []


class TestPandas:
    def series(self):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        return pd, pd.Series(WAVE, pd.DatetimeIndex(DAYS))

    def test_forecasts_of_reversed_series_are_refused(self, tmp_path):
        from structrank import forecast
        from structrank.io.signal_files import check_continues

        _, series = self.series()
        with pytest.raises(ValueError, match="times run backwards .*sort_index"):
            forecast(series[::-1], 2)
        given = read_signal(put(tmp_path, text(["d,x"], DAYS[::-1], WAVE)), None, dict(PLAIN))
        with pytest.raises(FileError, match="times run backwards .*--regular"):
            check_continues(given)

    def test_times_as_text_are_checked(self):
        from structrank import impute

        pd, _ = self.series()
        labels = pd.Series(WAVE, DAYS)
        assert impute(labels).signal.index.equals(labels.index)
        with pytest.raises(ValueError, match="times as text, .*around 2024-02-03.*to_datetime"):
            impute(labels.drop(DAYS[3:5]))

    def test_a_column_of_times_becomes_the_index(self):
        from structrank import impute

        pd, series = self.series()
        with pytest.raises(TypeError, match=r"samples.set_index\('day'\)"):
            impute(pd.DataFrame({"day": series.index, "x": WAVE}))

    def test_days_of_months_are_continued(self):
        from structrank.io.index import following

        pd, _ = self.series()
        index = pd.DatetimeIndex(patterned("%Y-%m-15"))
        assert [str(t.date()) for t in following(index, 2)] == ["2022-07-15", "2022-08-15"]


class TestOtherFormats:
    """Excel, JSON and WAV as other programs write them."""

    def sheet(self, path, rows):
        book = pytest.importorskip("openpyxl", reason="openpyxl is not installed").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return path

    def test_dates_and_times_of_day_in_excel(self, tmp_path):
        start = datetime(2024, 5, 1)
        times = [start + timedelta(hours=5 * k) for k in range(N)]
        rows = [[t.date(), t.time(), x] for t, x in zip(times, WAVE, strict=True)]
        path = self.sheet(tmp_path / "a.xlsx", [["Logger 7"], ["Date", "Time", "x"], *rows])
        with pytest.raises(FileError, match="--skip-rows"):
            read(path)
        found = read(path, skip_rows=1)
        np.testing.assert_array_equal(found.values, WAVE)
        assert found.index.tolist() == [str(time) for time in times]

    def test_formulas_without_values(self, tmp_path):
        rows = [["day", "x"], [1, 2.0], *([k, "=B2"] for k in range(2, 9))]
        with pytest.raises(FileError, match="formulas without values: open it in a spreadsheet"):
            read(self.sheet(tmp_path / "a.xlsx", rows))

    @pytest.mark.parametrize("form", ["lines", "split", "columns", "nested"])
    def test_json(self, tmp_path, form):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        frame, path = pd.DataFrame({"day": DAYS, "x": WAVE}), tmp_path / "a.json"
        if form == "nested":
            text = json.dumps({"station": "A", "data": frame.to_dict(orient="records")})
            path.write_text(text)
        else:
            frame.to_json(
                path, orient="records" if form == "lines" else form, lines=form == "lines"
            )
        found = read(path)
        np.testing.assert_array_equal(found.values, WAVE)
        assert (found.index.tolist(), found.names) == (DAYS, ("x",))

    def test_row_numbers_that_pandas_writes(self, tmp_path):
        found = read(put(tmp_path, text([",day,x"], range(N), DAYS, WAVE)))
        np.testing.assert_array_equal(found.values, WAVE)
        assert found.index.tolist() == DAYS

    def test_summer_time_within_a_file(self, tmp_path):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        hours = pd.date_range("2024-03-30 20:00Z", periods=N, freq="h").tz_convert("Europe/Berlin")
        path = put(tmp_path, text(["time,x"], map(str, hours), WAVE))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            given = read_signal(path, None, dict(PLAIN))
        assert given.samples.index.equals(hours.tz_convert("UTC").rename("time"))

    def test_sampling_rates(self, tmp_path):
        wavfile = pytest.importorskip("scipy.io.wavfile")
        wavfile.write(tmp_path / "a.wav", 8000, np.sin(0.2 * np.arange(400)).astype(np.float32))
        done = CliRunner().invoke(main, ["frequencies", str(tmp_path / "a.wav"), "--rank", "2"])
        head, row = (line.split(",") for line in done.stdout.splitlines()[:2])
        assert float(row[head.index("frequency_Hz")]) == pytest.approx(0.1 / np.pi * 8000, rel=1e-4)

"""Files as people have them: read right, or refused with a line that suffices."""

from __future__ import annotations

import gzip
import struct
import sys
import warnings
from datetime import date, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from structrank import impute
from structrank.cli import main
from structrank.cli.inputs import read_signal
from structrank.io import FileError, Table, read, write
from structrank.io.suspects import suspicious_values

PLAIN = {"index": None, "regular": False, "step": None}
N = 24
WAVE = np.round(np.sin(0.7 * np.arange(N)) + 0.1 * np.cos(5.3 * np.arange(N)), 4)
START = datetime(2024, 5, 20, 22)
HOURS = [START + timedelta(hours=k) for k in range(N)]
DAYS = [date(2024, 5, 20) + timedelta(days=k) for k in range(N)]


def table(heads, *columns, sep=",", end="\n"):
    rows = [*heads, *(sep.join(map(str, row)) for row in zip(*columns, strict=True))]
    return end.join(rows) + end


def comma(values):
    return [str(value).replace(".", ",") for value in values]


def patterned(times, pattern):
    return [time.strftime(pattern) for time in times]


# name: (file name, content, arguments of read, index or None)
ISO_HOURS = patterned(HOURS, "%Y-%m-%d %H:%M")
ISO_DAYS = patterned(DAYS, "%Y-%m-%d")
TENTHS = [f"{0.1 * k:.1f}" for k in range(N)]
GOOD = {
    "decimal commas": ("a.csv", table(["zeit;x"], comma(TENTHS), comma(WAVE), sep=";"), {}, TENTHS),
    "decimal commas, tabs": ("a.txt", table(["x"], comma(WAVE)), {}, None),
    "decimal commas in quotes": ("a.csv", table(["x"], [f'"{c}"' for c in comma(WAVE)]), {}, None),
    "decimal commas, blanks": (
        "a.txt",
        table([], comma(TENTHS), comma(WAVE), sep="  "),
        {},
        TENTHS,
    ),
    "German dates": (
        "a.csv",
        table(["Datum;x"], patterned(HOURS, "%d.%m.%Y %H:%M"), comma(WAVE), sep=";"),
        {},
        ISO_HOURS,
    ),
    "American dates": (
        "a.csv",
        table(["date,x"], patterned(DAYS, "%m/%d/%Y"), WAVE),
        {},
        ISO_DAYS,
    ),
    "months in letters": (
        "a.csv",
        table(["date,x"], patterned(HOURS, "%d-%b-%Y %H:%M:%S"), WAVE),
        {},
        patterned(HOURS, "%Y-%m-%d %H:%M:%S"),
    ),
    "morning and afternoon": (
        "a.csv",
        table(["date,x"], patterned(HOURS, "%m/%d/%Y %I:%M %p"), WAVE),
        {},
        ISO_HOURS,
    ),
    "date and time apart": (
        "a.csv",
        table(["Date,Time,x"], patterned(HOURS, "%d.%m.%Y"), patterned(HOURS, "%H:%M"), WAVE),
        {},
        ISO_HOURS,
    ),
    "units": ("a.csv", table(["time,x", "s,m/s"], TENTHS, WAVE), {}, TENTHS),
    "units in brackets": (
        "a.csv",
        table(["time;x", "[s];[°C]"], TENTHS, WAVE, sep=";"),
        {},
        TENTHS,
    ),
    "Latin-1": ("a.csv", table(["time,Tür (°C)"], TENTHS, WAVE).encode("latin-1"), {}, TENTHS),
    "UTF-16": ("a.txt", table(["time\tx"], TENTHS, WAVE, sep="\t").encode("utf-16"), {}, TENTHS),
    "Windows": ("a.csv", table(["time,x"], TENTHS, WAVE, end="\r\n").encode(), {}, TENTHS),
    "old Mac": ("a.csv", table(["time,x"], TENTHS, WAVE, end="\r").encode(), {}, TENTHS),
    "gz": ("a.csv.gz", gzip.compress(table(["time,x"], TENTHS, WAVE).encode()), {}, TENTHS),
    "sep line of Excel": ("a.csv", "sep=;\n" + table(["x;y"], WAVE, WAVE, sep=";"), {}, None),
    "no header": ("a.txt", table([], TENTHS, WAVE, sep=" "), {}, TENTHS),
    "no header, .dat": ("a.dat", table([], TENTHS, WAVE, WAVE**2, sep="\t"), {}, TENTHS),
    "pipes": ("a.csv", table(["time|x"], TENTHS, WAVE, sep="|"), {"sep": "|"}, TENTHS),
    "preamble": (
        "a.csv",
        "Logger 7\nSerial,A1,B\n" + table(["time,x"], TENTHS, WAVE),
        {"skip_rows": 2},
        TENTHS,
    ),
    "comments": ("a.txt", "# Logger 7\n" + table(["time x"], TENTHS, WAVE, sep=" "), {}, TENTHS),
    "table of R": (
        "a.txt",
        table(['"t" "x"'], [f'"{k}"' for k in range(N)], TENTHS, WAVE, sep=" "),
        {},
        [str(k) for k in range(N)],
    ),
    "table of R, tabs": (
        "a.txt",
        table(["t\tx"], [f'"{d}"' for d in ISO_DAYS], TENTHS, WAVE, sep="\t"),
        {},
        ISO_DAYS,
    ),
    "quoted names between blanks": (
        "a.txt",
        table(['t  "my  value"'], TENTHS, WAVE, sep="   "),
        {},
        TENTHS,
    ),
    "a quote in a comment": ("a.csv", '# 5" tape\n' + table(["t,x"], TENTHS, WAVE), {}, TENTHS),
    "quotes below such a comment": (
        "a.csv",
        '# "5 inches,tape\n' + table([], [f'"{d}"' for d in ISO_DAYS], WAVE),
        {},
        ISO_DAYS,
    ),
    "thousandths with a comma": (
        "a.csv",
        table(["x"], [f"{1000 + k}"[0] + "," + f"{1000 + k}"[1:] for k in range(N)]),
        {"decimal": ","},
        None,
    ),
}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("kind", GOOD)
def test_read_right(tmp_path, kind):
    name, content, options, index = GOOD[kind]
    found = read(written(tmp_path, name, content), **options)
    expected = 1 + np.arange(N) / 1000 if "thousandths" in kind else WAVE
    last = found.values if found.values.ndim == 1 else found.values[:, -1]
    if kind == "no header, .dat":
        last = found.values[:, 0]
    np.testing.assert_array_equal(last, expected)
    assert (None if found.index is None else found.index.tolist()) == index


@pytest.mark.parametrize(
    "kind", ["decimal commas", "German dates", "date and time apart", "units", "gz", "preamble"]
)
def test_written_like_the_file_that_was_read(tmp_path, kind):
    name, content, options, _ = GOOD[kind]
    table = read(written(tmp_path, name, content), **options)
    write(tmp_path / f"new-{name}", table)
    back = (tmp_path / f"new-{name}").read_bytes()
    if kind == "gz":
        back, content = gzip.decompress(back).decode(), gzip.decompress(content).decode()
    else:
        back = back.decode()
    plain = content.removeprefix("Logger 7\nSerial,A1,B\n")
    assert back.splitlines()[:4] == plain.splitlines()[:4]
    assert len(back.splitlines()) == len(plain.splitlines())


def test_parts_of_dates_as_numbers_are_spoken_of(tmp_path):
    months = np.arange(N)
    text = table(["Year,Month,x"], 2023 + months // 12, months % 12 + 1, WAVE)
    found = read(written(tmp_path, "a.csv", text))
    assert found.notes[0].startswith("columns Year, Month were read as data: choose others by")
    assert read(tmp_path / "a.csv", columns="x").notes == ()


BAD = {
    "thousands or decimals": (
        "a.csv",
        "x\n1,500\n2,500\n",
        r"may mean 1\.500 or 1500: .*--decimal",
    ),
    "thousands and decimals": ("a.csv", "x;y\n1.234,5;1\n2;1\n", "thousands without a separator"),
    "points and commas": ("a.csv", "x;y\n1,5;1.5\n2;1\n", "write decimals with a point"),
    "points among commas": ("a.csv", "x;y\n0,5;1\n1,25;1.200\n", "not a number .*a point"),
    "preamble": (
        "a.csv",
        "Logger 7\nSerial A1\n" + table(["time,x"], TENTHS, WAVE),
        r"line 3 has 2 cells, but line 1 has 1: .*starts in line 3, .*--skip-rows 2",
    ),
    "one name less, for numbers": ("a.txt", "x\n1 200\n1 300\n", "thousands without a separator"),
    "two names less": (
        "a.txt",
        "x\ty\n1\t2\t3\t4\n1\t3\t2\t4\n",
        "line 2 has 4 cells, but line 1 has",
    ),
    "words": ("a.txt", "abc\ndef\n", r"no numbers, but .*\(tabs, semicolons, commas or blanks"),
    "words in columns": ("a.csv", "a,b\nc,d\n", r'no numbers, but .*starts with "c"$'),
    "a quoted line": ("a.csv", 't,x\n1,"2"\n2,"oops"\n3,"4"\n', 'line 3, column "x": "oops"'),
    "a quoted first line": (
        "a.csv",
        '"1","oops"\n"2","3"\n"3","4",5\n',
        "line 3 has 3 cells, but line 1 has 2",
    ),
    "one almost a number": ("a.csv", "w,x\na lot,1\n1 234,2\nlittle,3\n", "thousands without"),
    "a picture": ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\r\xff", "it is not text"),
    "night": ("a.csv", "date,hour,x\n2024-05-01,0,1\n2024-05-01,1,2\n", "duplicate index entry"),
}


@pytest.mark.parametrize(
    ("comment", "names"),
    [("# t,x", ("x",)), ("# t,x,y", None), ("# 1,2", None), ('# t,"x', None), ("# t,\n#", None)],
)
def test_a_comment_has_the_names_if_it_has_as_many_texts(tmp_path, comment, names):
    found = read(written(tmp_path, "a.csv", comment + "\n" + table([], TENTHS, WAVE)))
    assert found.names == names


def test_labels_that_look_like_numbers_with_signs_are_an_index(tmp_path):
    text = table(["share,x"], [f"{k} %" for k in range(N)], WAVE)
    found = read(written(tmp_path, "a.csv", text), index="share")
    assert found.index[1] == "1 %"
    text = table(["t,text"], TENTHS, ["a"] * N)
    with pytest.raises(FileError, match="no numbers besides the index"):
        read(written(tmp_path, "a.csv", text), index="t")


def test_columns_without_names_and_text_are_left_out_without_a_note(tmp_path):
    text = table(["t,x,,,label"], TENTHS, WAVE, [""] * N, ["a"] * N, ["b"] * N)
    found = read(written(tmp_path, "a.csv", text))
    assert found.notes == ('column 4, column "label": no numbers, so left out',)


@pytest.mark.parametrize("kind", BAD)
def test_refused_with_a_line_that_suffices(tmp_path, kind):
    name, content, message = BAD[kind]
    with pytest.raises(FileError, match=message) as caught:
        read(written(tmp_path, name, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": "ab"}, "sep is 'ab', but one sign is expected"),
        ({"decimal": ";"}, "decimal is ';', but a point or a comma"),
        ({"decimal": ",", "sep": ","}, "both ','"),
        ({"skip_rows": -1}, "skip_rows is -1"),
        ({"encoding": "klingon"}, 'no encoding "klingon"'),
        ({"step": "soon"}, "the step is 'soon'"),
    ],
)
def test_options_that_do_not_fit(tmp_path, options, message):
    path = written(tmp_path, "a.csv", table(["date,x"], ISO_DAYS, WAVE))
    with pytest.raises(FileError, match=message):
        read(path, **options)


class TestMissing:
    @pytest.mark.parametrize("code", [-9999, "-9999", ["-9999", "dry"]])
    def test_codes(self, tmp_path, code):
        cells = ["1.5", "-9999.0", "dry" if isinstance(code, list) else "-9999", "2"]
        found = read(written(tmp_path, "a.csv", "x\n" + "\n".join(cells)), missing=code)
        np.testing.assert_array_equal(found.values, [1.5, np.nan, np.nan, 2])

    def test_codes_in_arrays(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([1.0, -9999, 3]))
        np.testing.assert_array_equal(
            read(tmp_path / "a.npy", missing=-9999).values, [1, np.nan, 3]
        )

    def test_repeated_extreme_values_are_named(self, tmp_path):
        values = WAVE.copy()
        values[[3, 9]] = -9999
        path = written(tmp_path, "a.csv", table(["time,x"], TENTHS, values))
        with pytest.warns(UserWarning, match=r'column "x": -9999 occurs 2 times.*--missing -9999'):
            read_signal(path, None, dict(PLAIN))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_signal(path, None, {**PLAIN, "missing": ["-9999"]})

    def test_nights_and_stuck_sensors(self):
        t = np.arange(300)
        sun = np.maximum(0, np.sin(0.06 * t))
        (text,) = suspicious_values(sun)
        assert text.startswith("0 is repeated in 3 runs, the longest in rows ")
        stuck = np.round(np.sin(0.3 * t) + 0.01 * np.cos(7.0 * t), 3)
        stuck[100:130] = 0.123
        (text,) = suspicious_values(stuck[:, None], ["wind"])
        assert text.startswith('column "wind": 0.123 is repeated in rows 101 to 130')

    @pytest.mark.parametrize(
        "values",
        [
            np.sin(0.3 * np.arange(300)),
            np.repeat(np.random.default_rng(0).integers(0, 2, 60), 5).astype(float),
            np.random.default_rng(1).poisson(0.3, 300).astype(float),
            np.round(np.sin(0.02 * np.arange(400)), 1),
            np.ones(50),
            0.9 ** np.arange(100.0),
            np.full(5, np.nan),
        ],
        ids=["sine", "switch", "counts", "rounded", "constant", "decay", "nothing"],
    )
    def test_usual_signals_are_not_suspicious(self, values):
        assert suspicious_values(values) == []


class TestRegular:
    def made(self, tmp_path, index, values, **options):
        return read(written(tmp_path, "a.csv", table(["time,x"], index, values)), **options)

    @pytest.mark.parametrize(
        ("index", "step"),
        [
            (TENTHS, "0.1"),
            (ISO_HOURS, "1 h"),
            (ISO_DAYS, "1 d"),
            ([f"{2020 + k // 12}-{k % 12 + 1:02}" for k in range(N)], "1 month"),
            ([str(d) for d in np.busday_offset("2024-05-20", np.arange(N))], "1 business day"),
        ],
        ids=["numbers", "hours", "days", "months", "business days"],
    )
    def test_rows_left_out_come_back_empty(self, tmp_path, index, step):
        kept = np.delete(np.arange(N), [5, 6, 17])
        found = self.made(tmp_path, [index[k] for k in kept], WAVE[kept], regular=True)
        assert found.index.tolist() == list(index)
        expected = np.where(np.isin(np.arange(N), kept), WAVE, np.nan)
        np.testing.assert_array_equal(found.values, expected)
        note = f"the index was made regular with step {step}: 3 rows without values were added"
        assert found.notes == (note,)

    def test_jitter(self, tmp_path):
        late = np.random.default_rng(0).integers(-40, 40, N)
        times = [str(t + timedelta(seconds=int(s))) for t, s in zip(HOURS, late, strict=True)]
        found = self.made(tmp_path, times, WAVE, regular=True)
        assert found.index.tolist() == [str(t) for t in HOURS]
        assert "moved by up to 40 s" in found.notes[0] or "moved by up to 3" in found.notes[0]
        np.testing.assert_array_equal(found.values, WAVE)
        found = self.made(tmp_path, 0.1 * np.arange(N) + 2e-4 * late, WAVE, regular=True)
        np.testing.assert_allclose(found.index.astype(float), 0.1 * np.arange(N), atol=1e-9)

    def test_a_given_step(self, tmp_path):
        found = self.made(tmp_path, ISO_HOURS, WAVE, step="30min")
        np.testing.assert_array_equal(found.values[::2], WAVE)
        assert np.all(np.isnan(found.values[1::2]))

    @pytest.mark.parametrize(
        ("index", "options", "message"),
        [
            (["0", "1", "1.1", "2"], {"step": 1}, "1 and 1.1 are less than a step of 1 apart"),
            (["0", "1", "2.5", "4"], {"step": 1}, "not near equal steps of 1 "),
            (["0", "1", "2", "900"], {"regular": True}, "901 rows instead of 4: pass a larger"),
            (["a", "b", "c", "d"], {"regular": True}, "numbers or dates are expected"),
            (["0", "1", "2", "3"], {"step": "1h"}, "but the index has numbers"),
        ],
    )
    def test_no_plain_step(self, tmp_path, index, options, message):
        with pytest.raises(FileError, match=message):
            self.made(tmp_path, index, WAVE[:4], **options)

    @pytest.mark.parametrize(
        ("times", "following"),
        [
            (
                [date(y, m, 1) for y in (2021, 2022, 2023) for m in range(5, 12)],
                ["2024-05-01", "2024-06-01"],
            ),
            (
                [date(2022, 5, 1) + timedelta(days=k) for k in range(214)]
                + [date(2023, 5, 1) + timedelta(days=k) for k in range(214)],
                ["2024-05-01", "2024-05-02"],
            ),
        ],
        ids=["months", "days"],
    )
    def test_seasons_are_regular_in_their_own_way(self, tmp_path, times, following):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        from structrank.io.index import following as after

        path = written(tmp_path, "a.csv", table(["day,x"], times, range(len(times))))
        given = read_signal(path, None, dict(PLAIN))
        assert isinstance(given.samples.index, pd.DatetimeIndex)
        assert [str(t.date()) for t in after(given.samples.index, 2)] == following
        hole = [*times[:3], *times[4:]]
        path = written(tmp_path, "b.csv", table(["day,x"], hole, range(len(hole))))
        with pytest.raises(FileError, match="irregular .*--regular"):
            read_signal(path, None, dict(PLAIN))

    def test_local_midnights(self, tmp_path):
        pytest.importorskip("pandas", reason="pandas is not installed")
        offsets = ["+01:00"] * 6 + ["+02:00"] * 6
        days = [f"2024-03-{26 + k if k < 6 else k - 5:02}" for k in range(12)]
        days = [d.replace("-03-", "-04-") if k > 5 else d for k, d in enumerate(days)]
        times = [f"{d}T00:00{o}" for d, o in zip(days, offsets, strict=True)]
        path = written(tmp_path, "a.csv", table(["time,x"], times, range(12)))
        given = read_signal(path, None, dict(PLAIN))
        assert [str(t.date()) for t in given.samples.index] == days
        assert impute(given.samples).signal.index.equals(given.samples.index)  # regular there too


class TestCommands:
    def test_a_table_without_gaps_is_returned_at_once(self, tmp_path):
        found = impute(WAVE)
        np.testing.assert_array_equal(found.signal, WAVE)
        assert "nothing is missing" in repr(found)
        assert not np.any(found.stderr)
        name, content, _, _ = GOOD["decimal commas"]
        path, out = written(tmp_path, name, content), tmp_path / "out.csv"
        done = CliRunner().invoke(main, ["impute", str(path), "--out", str(out)])
        assert done.exit_code == 0, done.output
        assert "nothing is missing" in done.stdout
        assert "decimals have a comma" in done.stderr
        assert out.read_text() == content

    def test_options_reach_the_reader(self, tmp_path):
        content = "Logger 7\n" + table(["time|x"], comma(TENTHS), WAVE, sep="|")
        path, out = written(tmp_path, "a.csv", content), tmp_path / "out.npy"
        options = ["--sep", "|", "--skip-rows", "1", "--missing", "-9999", "--encoding", "utf-8"]
        done = CliRunner().invoke(main, ["impute", str(path), *options, "--out", str(out)])
        assert done.exit_code == 1
        assert "have a comma" not in done.stderr
        options += ["--decimal", ".", "--index", "none", "--columns", "x"]
        done = CliRunner().invoke(main, ["impute", str(path), *options, "--out", str(out)])
        assert done.exit_code == 0, done.output
        np.testing.assert_array_equal(np.load(out), WAVE)


class TestOtherFormats:
    """Excel, Parquet, Feather and JSON are read as the same table in a text file."""

    def frame(self):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        return pd.DataFrame({"time": HOURS, "x": WAVE, "note": ["dry"] * N}).mask(
            np.arange(N)[:, None] == [[-1, 4, -1]]
        )

    @pytest.mark.parametrize("kind", ["xlsx", "parquet", "feather", "json", "indexed.parquet"])
    def test_there_and_back(self, tmp_path, kind):
        frame, path = self.frame(), tmp_path / f"a.{kind}"
        if kind == "xlsx":
            frame.to_excel(path, index=False)
        elif kind == "json":
            frame.to_json(path, orient="records", date_format="iso")
        elif kind == "indexed.parquet":
            frame.set_index("time").to_parquet(path)
        else:
            getattr(frame, f"to_{kind}")(path)
        found = read(path)
        expected = np.where(np.arange(N) == 4, np.nan, WAVE)
        np.testing.assert_array_equal(found.values, expected)
        assert (found.names, found.index_name) == (("x",), "time")
        assert found.index[1][:16].replace("T", " ") == ISO_HOURS[1]
        again = tmp_path / f"b.{kind}"
        write(again, found)
        np.testing.assert_array_equal(read(again).values, expected)
        assert read(again).index[1][:16].replace("T", " ") == ISO_HOURS[1]

    def test_sheets_units_and_preambles_of_excel(self, tmp_path):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        pytest.importorskip("openpyxl", reason="openpyxl is not installed")
        with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
            units = pd.DataFrame([["time", "x"], ["s", "m"], [0.0, 1.5], [0.1, 2.5], [0.2, None]])
            units.to_excel(book, sheet_name="wind", header=False, index=False)
            units.to_excel(book, sheet_name="rain", header=False, index=False)
        with pytest.raises(FileError, match='several sheets: name one of "wind", "rain"'):
            read(tmp_path / "a.xlsx")
        found = read(tmp_path / "a.xlsx", variable="rain")
        np.testing.assert_array_equal(found.values, [1.5, 2.5, np.nan])
        assert found.style.units == ("s", "m")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[1, null, 3]", [1, np.nan, 3]),
            ('{"x": [1, 2, 3]}', [1, 2, 3]),
            ('{"x": {"0": 1, "1": 2, "2": 4}}', [1, 2, 4]),
            ('[{"x": 1}, {"x": null}, {"x": 5}]', [1, np.nan, 5]),
            ("[[1, 2], [3, 4], [5, 5]]", [[1, 2], [3, 4], [5, 5]]),
        ],
    )
    def test_shapes_of_json(self, tmp_path, text, expected):
        pytest.importorskip("pandas", reason="pandas is not installed")
        np.testing.assert_array_equal(read(written(tmp_path, "a.json", text)).values, expected)
        with pytest.raises(FileError, match="a single record"):
            read(written(tmp_path, "b.json", '{"x": 1}'))

    @pytest.mark.parametrize("kind", ["int16", "uint8", "float32"])
    def test_sound(self, tmp_path, kind):
        from scipy.io import wavfile

        scale, offset = {"int16": (2**15, 0), "uint8": (2**7, 2**7)}.get(kind, (1, 0))
        data = (np.array([[0.0, 0.5], [-0.5, 0.25], [0.5, -1.0]]) * scale + offset).astype(kind)
        wavfile.write(tmp_path / "a.wav", 8000, data)
        found = read(tmp_path / "a.wav")
        np.testing.assert_array_equal(found.values, [[0.0, 0.5], [-0.5, 0.25], [0.5, -1.0]])
        assert found.notes == ("sampled at 8000 Hz",)
        write(tmp_path / "b.wav", found)
        assert wavfile.read(tmp_path / "b.wav")[0] == 8000
        np.testing.assert_array_equal(read(tmp_path / "b.wav").values, found.values)
        with pytest.raises(FileError, match="the sampling rate is not known"):
            write(tmp_path / "c.wav", Table(found.values))

    def test_bruker(self, tmp_path):
        nmrglue = pytest.importorskip("nmrglue", reason="nmrglue is not installed")
        values = (np.arange(24) - 7 + 1j * np.arange(24)[::-1]).reshape(6, 4)
        head = "##TITLE= x\n##$AQ_mod= 3\n"
        head += "##$BYTORDA= 0\n##$DTYPA= 0\n##$GRPDLY= 2.0\n##$TD= {}\n##END=\n"
        for name, td in (("acqus", 8), ("acqu2s", 6)):
            written(tmp_path, name, head.format(td))
        pairs = np.stack([values.real, values.imag], axis=-1).astype("<i4")
        (tmp_path / "ser").write_bytes(b"".join(row.tobytes().ljust(1024, b"\0") for row in pairs))
        _, expected = nmrglue.bruker.read(str(tmp_path), read_pulseprogram=False)
        np.testing.assert_array_equal(expected.reshape(6, -1)[:, :4], values)
        found = read(tmp_path)
        np.testing.assert_array_equal(found.values, expected)
        assert "first 2 points are the delay" in found.notes[0]
        np.testing.assert_array_equal(read(tmp_path / "ser").values, expected)
        written(tmp_path, "nuslist", "0\n3\n4\n")
        full = read(tmp_path).values
        assert full.shape[0] == 10
        np.testing.assert_array_equal(full[[0, 1, 6, 7, 8, 9]], expected)
        assert np.all(np.isnan(full[2:6]))
        written(tmp_path, "nuslist", "0 1\n3 2\n")
        with pytest.raises(FileError, match="only schedules of one dimension"):
            read(tmp_path)

    @pytest.mark.parametrize("text", ["##$X= <abc", "##$X= (0..1000000000)\n1 2", "##$X= (0..n)"])
    def test_damaged_parameters_of_bruker(self, tmp_path, text):
        """The reader of nmrglue never ends."""
        (tmp_path / "fid").write_bytes(np.arange(8, dtype="<i4").tobytes())
        written(tmp_path, "acqus", text)
        with pytest.raises(FileError, match="acqus does not tell the length of an FID .TD."):
            read(tmp_path)
        written(tmp_path, "acqus", f"##$TD= 8\n{text}")
        np.testing.assert_array_equal(read(tmp_path).values, np.arange(8.0))

    def test_other_sizes_of_bruker(self, tmp_path):
        nmrglue = pytest.importorskip("nmrglue", reason="nmrglue is not installed")
        rng = np.random.default_rng(0)
        head = "##$AQ_mod= {}\n##$BYTORDA= {}\n##$DTYPA= {}\n##$TD= {}\n##END=\n"
        for mode, order, kind, points, rows, total in (
            (0, 0, 2, 100, 3, 6 * 128),  # two planes
            (1, 1, 0, 512, 2, 2 * 512),
            (3, 1, 2, 128, 1, 4 * 128),
            (3, 0, 0, 256, 0, 256),
        ):
            written(tmp_path, "acqus", head.format(mode, order, kind, points))
            written(tmp_path, "acqu2s", head.format(mode, order, kind, rows))
            dtype = "<>"[order] + {0: "i4", 2: "f8"}[kind]
            (tmp_path / "ser").write_bytes(rng.integers(-9, 9, total).astype(dtype).tobytes())
            expected = nmrglue.bruker.read(str(tmp_path), read_pulseprogram=False)[1]
            found = read(tmp_path)
            assert found.notes == ()
            np.testing.assert_array_equal(found.values, expected)
        (tmp_path / "ser").write_bytes(bytes(4 * 300))
        assert "300 numbers are no rows of 256 (TD)" in read(tmp_path).notes[0]

    @pytest.mark.parametrize("traces", [1, 3])
    @pytest.mark.parametrize(("kind", "status"), [("f4", 8), ("i4", 4), ("i2", 0)])
    @pytest.mark.parametrize("shape", [(8,), (6, 4), (2, 6, 4)])
    def test_varian(self, tmp_path, shape, kind, status, traces):
        varian = pytest.importorskip("nmrglue", reason="nmrglue is not installed").varian
        traces = traces if len(shape) > 1 else 1
        numbers = np.arange(2 * np.prod(shape), dtype=">" + kind).reshape(-1, traces, 2 * shape[-1])
        sizes = (len(numbers), traces, numbers.shape[2], 0, 0, 0, 0, status, 1)
        blocks = b"".join(bytes(28) + block.tobytes() for block in numbers)
        (tmp_path / "fid").write_bytes(struct.pack(">6l2hl", *sizes) + blocks)
        line = "{} 1 1 1 1 1 1 1 1 1 1\n1 {}\n0\n".format
        halves = zip(("ni", "ni2"), (size // 2 for size in shape[-2::-1]), strict=False)
        text = line("np", 2 * shape[-1]) + "".join(line(*half) for half in halves)
        written(tmp_path, "procpar", text)
        found = read(tmp_path)
        path, order = str(tmp_path / "fid"), "r" if len(shape) == 3 else "f"
        _, expected = varian.read_fid_ntraces(path, shape, order)
        assert expected.shape == shape
        np.testing.assert_array_equal(found.values, expected)
        assert found.values.dtype == ("complex64" if kind == "f4" else "complex128")
        doubt = ("no array in dictionary, torder set to 'r'",)
        assert found.notes == (doubt if len(shape) == 3 else ())

    def test_damaged_data_of_varian(self, tmp_path):
        pytest.importorskip("nmrglue", reason="nmrglue is not installed")
        written(tmp_path, "procpar", "x 1 1 1 1 1 1 1 1 1 1\n1 16\n0\n")
        numbers = np.arange(16, dtype=">f4").tobytes()
        for head, words in (
            ((2**30, 1, 16, 4, 64, 92, 0, 8, 1), "1073741824 blocks of 92 bytes, but has 124 byt"),
            ((2**30, 1, 0, 4, 64, 92, 0, 8, 0), "1073741824 blocks of 1 traces of 0 numbers"),
            ((1, -1, 16, 4, 64, 92, 0, 8, 1), "1 blocks of -1 traces"),
        ):
            (tmp_path / "fid").write_bytes(struct.pack(">6l2hl", *head) + bytes(28) + numbers)
            with pytest.raises(FileError, match=words):
                read(tmp_path)
        (tmp_path / "fid").write_bytes(bytes(8))
        with pytest.raises(FileError, match="it has no header"):
            read(tmp_path)
        written(tmp_path, "procpar", "x 1 1\n")
        good = struct.pack(">6l2hl", 2, 1, 8, 4, 32, 60, 0, 8, 0)
        (tmp_path / "fid").write_bytes(good + numbers)
        with pytest.raises(FileError, match="its procpar is damaged"):
            read(tmp_path)
        written(tmp_path, "procpar", "x 1 1 1 1 1 1 1 1 1 1\n1 16\n0\n")
        found = read(tmp_path)
        assert found.values.shape == (2, 4)
        assert found.notes[0] == "shape cannot be determined."
        assert "procpar tells the shape None, but the data have (2, 4)" in found.notes[1]

    def test_seismic_traces(self, tmp_path, monkeypatch):
        path = written(tmp_path, "a.mseed", b"something")
        monkeypatch.setitem(sys.modules, "obspy", None)
        with pytest.raises(ImportError, match="MiniSEED files need ObsPy: pip install obspy"):
            read(path)
        stats = SimpleNamespace(sampling_rate=100.0, starttime="2024-05-31T00:00:00")
        head = SimpleNamespace(sampling_rate=100.0, starttime=0.0, endtime=0.02)
        data = np.ma.masked_array([1, 2, 3], [False, True, False])
        trace = SimpleNamespace(id="GE.APE..BHZ", data=data, stats=stats)

        class Stream(list):
            def merge(self, method):
                assert method == 1

        def fake_read(path, headonly=False):
            return [SimpleNamespace(id=trace.id, stats=head)] if headonly else Stream([trace])

        fake = SimpleNamespace(read=fake_read)
        monkeypatch.setitem(sys.modules, "obspy", fake)
        found = read(path)
        np.testing.assert_array_equal(found.values, [1, np.nan, 3])
        assert found.notes == ("GE.APE..BHZ, sampled at 100 Hz from 2024-05-31T00:00:00",)
        head.endtime = 1e9  # a gap of thirty years
        with pytest.raises(FileError, match="it would take 800 GB of memory"):
            read(path, max_size="1GB")
        with pytest.raises(FileError, match="MiniSEED files are only read"):
            write(tmp_path / "b.mseed", found)

    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("a.nc", 'xr.open_dataset("a.nc")'),
            ("a.xls", 'pd.read_excel("a.xls").to_csv("a.csv")'),
            ("a.mp3", 'sf.write("a.wav", *sf.read("a.mp3"))'),
            ("a.dcm", 'd.dcmread("a.dcm").pixel_array'),
            ("a.pkl", "pickles are refused"),
            ("a.xyz", 'numpy.save("data.npy", values)'),
        ],
    )
    def test_unknown_formats_get_the_line_that_converts_them(self, tmp_path, name, line):
        path = written(tmp_path, name, "something")
        with pytest.raises(FileError, match="unknown extension") as caught:
            read(path)
        assert line in str(caught.value)


WRITTEN_BACK = {  # what is read, what is written, and under which name
    "semicolons and commas": ("t;x\n0,5;1,5\n1,5;2,5\n2,5;0,25\n", "a.csv", None),
    "tabs": ("t\tx\n0.5\t1.5\n1.5\t2.5\n2.5\t0.25\n", "a.txt", None),
    "another separator": ("t;x\n0.5;1.5\n1.5;2.5\n2.5;0.25\n", "a.csv", None),
    "to tabs": ("t;x\n0.5;1.5\n1.5;2.5\n2.5;0.25\n", "a.tsv", (";", "\t")),
    "blanks to commas": ("t x\n0.5 1.5\n1.5 2.5\n2.5 0.25\n", "a.csv", (" ", ",")),
    "blanks and commas": ("t x\n0,5 1,5\n1,5 2,5\n2,5 0,25\n", "a.csv", (" ", ";")),
    "dates apart and units": (
        "day,time,x\nd,,m\n2024-05-01,10:00,1.5\n2024-05-01,11:00,2.5\n2024-05-01,12:00,0.25\n",
        "a.csv",
        None,
    ),
}


@pytest.mark.parametrize("case", WRITTEN_BACK)
def test_written_as_it_was_read(case, tmp_path):
    """Letter by letter, but for the separator that another extension asks for."""
    text, name, change = WRITTEN_BACK[case]
    (tmp_path / "read.txt").write_text(text)
    write(tmp_path / name, read(tmp_path / "read.txt", index=True if "time" not in text else None))
    expected = text if change is None else text.replace(*change)
    assert (tmp_path / name).read_bytes() == expected.encode()


@pytest.mark.parametrize("name", ["=cmd()", "+sum", "-x", "@me", "a=b"])
def test_names_that_are_formulas_get_a_note(name, tmp_path):
    (tmp_path / "a.csv").write_text(f"t,{name}\n1,2\n2,3\n")
    notes = [note for note in read(tmp_path / "a.csv").notes if "formula" in note]
    assert [note.startswith(f'"{name}" is a formula') for note in notes] == [True] * (name != "a=b")


@pytest.mark.parametrize(("length", "shown"), [(40, 40), (41, 40)])
def test_long_cells_in_errors(length, shown, tmp_path):
    cell = "1" + "x" * (length - 1)
    (tmp_path / "a.csv").write_text(f"x\n1\n{cell}\n3\n")
    dots = "" if length == shown else r"\.\.\."
    with pytest.raises(FileError, match=f'line 3, .*"{cell[:shown]}{dots}" is not a number'):
        read(tmp_path / "a.csv")


def test_a_separator_that_is_asked_for_comes_before_that_of_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("sep=;\na,b\n1,2\n3,4\n")
    found = read(tmp_path / "a.csv", sep=",")
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.values, [[1, 2], [3, 4]])


def test_a_text_counts_four_times(tmp_path):
    """Its bytes, the text, its lines, and those that are kept."""
    (tmp_path / "a.csv").write_text(f"# {'x' * 100_000}\na\n1\n2\n")
    with pytest.raises(FileError, match="max_size"):
        read(tmp_path / "a.csv", max_size="390kB")
    assert read(tmp_path / "a.csv", max_size="410kB").values.size == 2

"""The command line: every command in a pipe and on a terminal, with good and bad files."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.io
from click.shell_completion import get_completion_class
from click.testing import CliRunner
from conftest import nightly

from structrank import ConvergenceWarning, Cost, random_system, recover
from structrank.cli import main
from structrank.cli.printing import tell_cost
from structrank.io import read
from structrank.systems.outputs import OutputRealization

N = 60
T = np.arange(N)
RNG = np.random.default_rng(0)
TRUTH = 2 + np.cos(0.4 * T) * np.exp(-T / 60)
SERIES = TRUTH + 0.05 * RNG.standard_normal(N)
SERIES[20:26] = np.nan
DAYS = np.datetime64("2024-01-01") + T
QUICK = ["--rank", "3", "--mu", "1"]


def text_file(path, head, *columns):
    rows = [",".join("" if cell != cell else str(cell) for cell in row) for row in zip(*columns)]  # noqa: B905
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files, one for each command."""
    folder = tmp_path_factory.mktemp("data")
    text_file(folder / "series.csv", "day,wind", DAYS, SERIES)
    text_file(folder / "two.csv", "day,wind,rain", DAYS, SERIES, 3 - SERIES)
    np.save(folder / "series.npy", SERIES)
    system = random_system(2, order=2, normalization="spectral", spectral_radius=0.9)
    text_file(folder / "outputs.csv", "a,b", *system.simulate(steps=3000).T)
    u = RNG.standard_normal(120)
    y = np.zeros(120)
    for t in range(1, 120):
        y[t] = 0.8 * y[t - 1] + u[t - 1]
    text_file(folder / "record.csv", "valve,flow", u, y)
    return folder


GOOD = {
    "recover": ["recover", "series.csv"],
    "impute": ["impute", "series.csv"],
    "denoise": ["denoise", "series.csv"],
    "forecast": ["forecast", "series.csv", "--steps", "4"],
    "frequencies": ["frequencies", "series.csv"],
    "realize": ["realize", "outputs.csv"],
    "identify": ["identify", "record.csv", "--inputs", "valve", "--outputs", "flow"],
    "info": ["info", "series.csv"],
}
SAYS = {
    "recover": r"^Recovery\n  signal +60, 54 values seen\n  rank +3\n",
    "impute": r"^Recovery\n",
    "denoise": r"^Recovery\n",
    "forecast": r"^day,forecast,stderr,lower,upper\n2024-03-01,(-?[\d.e-]+,){3}[\d.e-]+\n",
    "frequencies": r"^amplitude,amplitude_stderr,phase,phase_stderr,frequency,frequency_stderr,",
    "realize": r"^order     2\npoles     0\.\d+\+0\.\d+j, 0\.\d+-0\.\d+j\n$",
    "identify": r"^method    output error\norder     1\npoles     0\.8\n$",
    "info": r'^signal +60 of float64, 54 values seen\nindex +column "day"\n'
    r"matrix +30 x 31, never formed \(7\.44 kB\)\n",
}


def call(folder, arguments, monkeypatch):
    """One command in this process, in the folder; stdout, stderr and exit code."""
    monkeypatch.chdir(folder)
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def arrays(path):
    with np.load(path) as archive:
        return dict(archive)


def assert_fails(done, message, code=1):
    """One line on stderr that says what is wrong, and nothing on stdout."""
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert re.fullmatch(rf"Error: .*{message}.*\n", done.stderr), done.stderr


@pytest.mark.parametrize("name", GOOD)
def test_says_what_was_found(folder, name, monkeypatch):
    done = call(folder, GOOD[name], monkeypatch)
    assert (done.exit_code, done.stderr) == (0, "")
    assert re.search(SAYS[name], done.stdout)


@pytest.mark.parametrize("name", [x if x == "forecast" else nightly(x) for x in GOOD])
def test_in_a_pipe(folder, name):
    done = subprocess.run(
        [sys.executable, "-c", "from structrank.cli import main; main()", *GOOD[name]],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(SAYS[name], done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("name", [nightly("recover"), "frequencies"])
def test_on_a_terminal(folder, name):
    import pty
    import termios

    inner, outer = pty.openpty()
    termios.tcsetwinsize(outer, (24, 100))
    command = [sys.executable, "-c", "from structrank.cli import main; main()", *GOOD[name]]
    process = subprocess.Popen(command, cwd=folder, stdout=outer, stderr=outer)
    os.close(outer)
    shown = b""
    try:
        while part := os.read(inner, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(inner)
    assert process.wait() == 0
    text = shown.decode()
    assert re.search(r"modes: .*\d+it \[", text)  # a progress bar
    if name == "frequencies":
        assert re.search(r"\n *amplitude  amplitude_stderr +phase", text)
    else:
        assert "Recovery" in text


@pytest.mark.parametrize("name", GOOD)
def test_tables_on_a_terminal_are_aligned(folder, name, monkeypatch):
    monkeypatch.setattr("structrank.cli.printing.shows_progress", lambda quiet: False)

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", terminal)
    main(GOOD[name], standalone_mode=False)
    lines = terminal.getvalue().splitlines()
    if name in ("forecast", "frequencies"):
        assert len({len(line) for line in lines}) == 1
        assert "," not in lines[0]
    assert lines


class TestFiles:
    def test_all_outputs_of_a_recovery(self, folder, tmp_path, monkeypatch):
        out = {key: tmp_path / f"new.{key}" for key in ("csv", "txt", "png", "html")}
        options = ["--out", out["csv"], "--errors", out["txt"], "--plot", out["png"]]
        options += ["--report", out["html"], *QUICK]
        done = call(folder, ["recover", "series.csv", *options], monkeypatch)
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.count("written to") == 4
        signal, errors = read(out["csv"]), read(out["txt"])
        assert signal.names == ("wind",)
        assert list(signal.index) == [str(day) for day in DAYS]
        assert np.max(np.abs(signal.values - TRUTH)) < 0.2
        assert 0 < np.min(errors.values) <= np.max(errors.values) < 0.1
        assert out["png"].read_bytes().startswith(b"\x89PNG")
        HTMLParser().feed(out["html"].read_text(encoding="utf-8"))
        assert len(list(tmp_path.iterdir())) == 4

    def test_imputed_values_stay(self, folder, tmp_path, monkeypatch):
        out = tmp_path / "out.npy"
        done = call(folder, ["impute", "series.npy", "--out", out, *QUICK], monkeypatch)
        assert done.exit_code == 0
        values = np.load(out)
        seen = ~np.isnan(SERIES)
        np.testing.assert_array_equal(values[seen], SERIES[seen])
        assert np.max(np.abs(values - TRUTH)) < 0.2

    def test_columns_are_channels(self, folder, tmp_path, monkeypatch):
        out = tmp_path / "out.csv"
        done = call(folder, ["recover", "two.csv", "--out", out, *QUICK], monkeypatch)
        assert done.exit_code == 0
        table = read(out)
        assert table.names == ("wind", "rain")
        np.testing.assert_allclose(table.values[:, 1], 3 - table.values[:, 0], atol=0.1)

    def test_a_column_by_name(self, folder, tmp_path, monkeypatch):
        out = tmp_path / "out.csv"
        arguments = ["recover", "two.csv", "--columns", "rain", "--out", out, *QUICK]
        assert call(folder, arguments, monkeypatch).exit_code == 0
        assert read(out).names == ("rain",)

    def test_a_picture_without_channels(self, tmp_path, monkeypatch):
        k = np.arange(12)
        np.savetxt(tmp_path / "image.csv", np.outer(np.cos(0.7 * k), np.cos(0.4 * k)))
        (tmp_path / "image.csv").rename(tmp_path / "image.txt")
        arguments = ["info", "image.txt", "--channels", "none", "--window", "5,4", "--rank", "4"]
        done = call(tmp_path, arguments, monkeypatch)
        assert done.exit_code == 0
        assert "matrix       20 x 72, never formed" in done.stdout
        assert "FFT lengths  12 x 12" in done.stdout
        assert f"rank 4       factors {92 * 4 * 8 / 1000:.3g} kB" in done.stdout

    def test_forecast_files(self, folder, tmp_path, monkeypatch):
        out, plot, page = (tmp_path / f"next.{kind}" for kind in ("csv", "png", "html"))
        arguments = ["forecast", "two.csv", "--steps", "3", "--out", out, "--report", page]
        done = call(folder, [*arguments, "--plot", plot, "--level", "0.5"], monkeypatch)
        assert done.exit_code == 0
        said = "".join(f"written to {path}\n" for path in (out, plot, page))
        assert done.stdout.endswith(said)
        text = page.read_text(encoding="utf-8")
        assert "<h1>Forecast: two.csv</h1>" in text
        assert f"structrank forecast two.csv --steps 3 --out {out} --report {page}" in text
        table = read(out)
        assert table.names[:5] == (
            *("wind_forecast", "wind_stderr", "wind_lower", "wind_upper"),
            "rain_forecast",
        )
        assert list(table.index) == ["2024-03-01", "2024-03-02", "2024-03-03"]
        mean, stderr, lower, upper = table.values[:, :4].T
        np.testing.assert_allclose(upper - mean, 0.67449 * stderr, rtol=1e-4)
        np.testing.assert_allclose(mean - lower, 0.67449 * stderr, rtol=1e-4)
        assert "50% intervals" in page.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("head", "index", "first"),
        [
            ("second,wind", 0.5 * T, "30.0"),
            ("time,wind", [f"{d}T12:00" for d in DAYS], "2024-03-01 12:00:00"),
        ],
    )
    def test_index_of_a_forecast(self, tmp_path, monkeypatch, head, index, first):
        text_file(tmp_path / "s.csv", head, index, SERIES)
        arguments = ["forecast", "s.csv", "--steps", "2", "--index", head.split(",")[0]]
        done = call(tmp_path, arguments, monkeypatch)
        assert done.exit_code == 0, done.stderr
        rows = list(csv.reader(done.stdout.splitlines()))
        assert rows[0][0] == head.split(",")[0]
        assert rows[1][0] == first

    def test_a_first_column_of_times_is_no_channel(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "time,wind", 0.5 * T, SERIES)
        done = call(tmp_path, ["recover", "s.csv", "--out", "o.csv", *QUICK], monkeypatch)
        assert "signal        60, 54 values seen" in done.stdout
        assert '\n  index         column "time"\nwritten to' in done.stdout
        assert list(read(tmp_path / "o.csv").index[:3]) == ["0.0", "0.5", "1.0"]
        text_file(tmp_path / "i.csv", "time,wind", np.delete(T, 7), np.delete(SERIES, 7))
        done = call(tmp_path, ["recover", "i.csv"], monkeypatch)
        assert_fails(
            done,
            r'i.csv: column "time": the index is irregular \(around 8\), .* add a row with an '
            "empty cell.*; --index none reads them as data",
        )
        done = call(tmp_path, ["recover", "i.csv", "--index", "none", *QUICK], monkeypatch)
        assert "signal        59 x 2" in done.stdout
        assert "index" not in done.stdout

    def test_a_ramp_before_a_series_is_its_index(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "x,y", 0.5 * T, SERIES)
        done = call(tmp_path, ["info", "s.csv"], monkeypatch)
        assert 'index        column "x"' in done.stdout
        assert 'Note: s.csv: column "x" was read as times; --index none' in done.stderr
        done = call(tmp_path, ["info", "s.csv", "--index", "none"], monkeypatch)
        assert "signal       60 x 2 of" in done.stdout
        assert "index" not in done.stdout

    @pytest.mark.parametrize(
        ("head", "option", "says"),
        [("", [], "column 1"), (",wind", [], "column 1"), ("", ["--index", "1"], "column 1")],
    )
    def test_an_index_without_a_name(self, tmp_path, monkeypatch, head, option, says):
        text_file(tmp_path / "s.csv", head, DAYS, SERIES)
        done = call(tmp_path, ["info", "s.csv", *option], monkeypatch)
        assert f"\nindex        {says}\n" in done.stdout

    def test_forecast_without_an_index_counts_steps(self, folder, monkeypatch):
        done = call(folder, ["forecast", "series.npy", "--steps", "2"], monkeypatch)
        assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["step", "1", "2"]

    def test_table_of_frequencies(self, folder, tmp_path, monkeypatch):
        out, plot = tmp_path / "modes.csv", tmp_path / "modes.svg"
        arguments = ["frequencies", "series.csv", "--out", out, "--plot", plot]
        done = call(folder, arguments, monkeypatch)
        assert done.exit_code == 0
        assert done.stdout == (f'index         column "day"\nwritten to {out}\nwritten to {plot}\n')
        table = read(out)
        columns = dict(zip(table.names, table.values.T, strict=True))
        found = abs(abs(columns["frequency"][1]) - 0.4 / (2 * np.pi))
        assert found < 4 * columns["frequency_stderr"][1]
        assert plot.exists()

    @pytest.mark.parametrize("suffix", [".npz", ".mat"])
    def test_matrices(self, folder, tmp_path, monkeypatch, suffix):
        out = tmp_path / f"model{suffix}"
        arguments = [*GOOD["identify"], "--order", "1", "--out", out]
        assert call(folder, arguments, monkeypatch).exit_code == 0
        model = arrays(out) if suffix == ".npz" else scipy.io.loadmat(out)
        np.testing.assert_allclose(np.ravel(model["A"]), 0.8, atol=1e-6)
        np.testing.assert_allclose(np.ravel(model["C"]) * np.ravel(model["B"]), 1.0, atol=1e-5)

    def test_realized_matrices_have_the_order_asked_for(self, folder, tmp_path, monkeypatch):
        out, plot = tmp_path / "model.npz", tmp_path / "poles.png"
        arguments = ["realize", "outputs.csv", "--order", "3", "--out", out, "--plot", plot]
        done = call(folder, arguments, monkeypatch)
        assert done.exit_code == 0
        assert done.stdout.startswith("order     3\n")
        assert arrays(out)["A"].shape == (3, 3)
        assert arrays(out)["innovation_covariance"].shape == (2, 2)
        assert plot.exists()

    def test_times_of_outputs_and_lags(self, folder, tmp_path, monkeypatch):
        values = read(folder / "outputs.csv").values[:1000]
        text_file(tmp_path / "s.csv", "t,a,b", np.arange(len(values)), *values.T)
        done = call(tmp_path, ["realize", "s.csv"], monkeypatch)
        assert done.stdout.startswith("order     2\n")
        assert done.stdout.endswith('\nindex     column "t"\n')
        same = call(tmp_path, ["realize", "s.csv", "--lags", OutputRealization().lags], monkeypatch)
        assert same.stdout == done.stdout
        help_text = call(tmp_path, ["realize", "--help"], monkeypatch).stdout
        assert f"are used. Default: {OutputRealization().lags}." in " ".join(help_text.split())
        fewer = call(tmp_path, ["realize", "s.csv", "--lags", "5"], monkeypatch)
        assert fewer.stdout != done.stdout

    def test_gaps_in_outputs(self, folder, tmp_path, monkeypatch):
        values = read(folder / "outputs.csv").values
        values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
        text_file(tmp_path / "s.csv", "a,b", *values.T)
        done = call(tmp_path, ["realize", "s.csv"], monkeypatch)
        assert re.search(SAYS["realize"], done.stdout), done.output

    def test_a_reader_that_has_seen_enough(self, folder, monkeypatch):
        def closed(*_, **__):
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr("structrank.cli.printing.print_table", closed)
        done = call(folder, ["frequencies", "series.csv"], monkeypatch)
        assert (done.exit_code, done.output) == (1, "")

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
    def test_closed_streams(self, folder):
        script = "from structrank.cli import main; main()"
        command = [sys.executable, "-c", script, *GOOD["frequencies"]]
        closed = subprocess.run(["sh", "-c", '"$0" "$@" >&- 2>&-', *command], cwd=folder)
        assert closed.returncode == 0

    def test_quiet(self, folder, tmp_path, monkeypatch):
        out = tmp_path / "out.npy"
        done = call(folder, ["recover", "series.npy", "--quiet", "--out", out, *QUICK], monkeypatch)
        assert (done.exit_code, done.output) == (0, "")
        assert out.exists()

    def test_force_replaces(self, folder, tmp_path, monkeypatch):
        out = tmp_path / "out.npy"
        out.write_text("old")
        done = call(folder, ["recover", "series.npy", "--force", "--out", out, *QUICK], monkeypatch)
        assert done.exit_code == 0
        assert np.load(out).shape == (N,)


BAD_FILES = {
    "missing": (None, "bad.csv does not exist"),
    "empty": ("", "bad.csv is empty"),
    "only a header": ("day,wind\n", "only a header"),
    "text in a number": ("day,wind\n2024-01-01,1\n2024-01-02,x1\n", 'line 3.*"x1" is not a number'),
    "all missing": ("day,wind\n2024-01-01,\n2024-01-02,\n", "no numbers"),
    "one sample": ("wind\n1.5\n", "1 .* expected"),
    "duplicate times": (
        "day,wind\n2024-01-01,1\n2024-01-01,2\n2024-01-02,3\n",
        '"2024-01-01" is a duplicate index entry',
    ),
    "irregular times": (
        "day,wind\n" + "".join(f"2024-01-{d:02},{d}\n" for d in (1, 2, 3, 4, 5, 9, 10, 11, 12)),
        'column "day": .*irregular .*2024-01-09.*; --index none ignores the times',
    ),
}


class TestBadFiles:
    @pytest.mark.parametrize("command", GOOD)
    @pytest.mark.parametrize("name", BAD_FILES)
    def test_one_line_and_nothing_written(self, tmp_path, monkeypatch, command, name):
        content, message = BAD_FILES[name]
        arguments = ["bad.csv" if a.endswith(".csv") else a for a in GOOD[command]]
        if command == "identify":
            arguments[3], arguments[5] = "wind", "twin"
            if name == "one sample":
                message = ""
            if content:
                lines = [f"{line},{line.split(',')[-1]}" for line in content.splitlines()]
                content = "\n".join([f"{lines[0][:-4]}twin", *lines[1:]])
        if command in ("realize", "forecast") and name == "one sample":
            message = ""
        if content is not None:
            (tmp_path / "bad.csv").write_text(content)
        if command != "info":
            arguments += ["--out", "out.npz"]
        before = sorted(tmp_path.iterdir())
        assert_fails(call(tmp_path, arguments, monkeypatch), message)
        assert sorted(tmp_path.iterdir()) == before

    @pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="all is open to root")
    def test_no_permission(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "wind", SERIES).chmod(0)
        assert_fails(
            call(tmp_path, ["recover", "s.csv"], monkeypatch), "s.csv cannot be read: .*denied"
        )

    def test_irregular_numbers(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "x,wind", [*range(10), *range(20, 30)], range(20))
        arguments = ["recover", "s.csv", "--index", "x"]
        assert_fails(call(tmp_path, arguments, monkeypatch), r"irregular \(around 20")

    @pytest.mark.parametrize("value", ["1.5", "0"])
    def test_constant_series(self, tmp_path, monkeypatch, value):
        text_file(tmp_path / "s.csv", "wind", [value] * 30)
        done = call(tmp_path, ["recover", "s.csv", "--out", "out.npy"], monkeypatch)
        assert done.exit_code == 0, done.output
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), float(value), atol=1e-6)
        assert_fails(call(tmp_path, ["realize", "s.csv"], monkeypatch), "constant")
        text_file(tmp_path / "two.csv", "a,b", range(30), [value] * 30)
        arguments = ["identify", "two.csv", "--inputs", "a", "--outputs", "b"]
        assert_fails(call(tmp_path, arguments, monkeypatch), "constant")

    def test_nothing_in_a_file(self, tmp_path, monkeypatch):
        np.save(tmp_path / "zero.npy", np.zeros(40))
        np.save(tmp_path / "noise.npy", np.random.default_rng(1).standard_normal(40))
        done = call(tmp_path, ["info", "zero.npy"], monkeypatch)
        assert "the signal is zero" in done.stdout
        assert_fails(call(tmp_path, ["frequencies", "noise.npy"], monkeypatch), "noise")
        arguments = ["forecast", "noise.npy", "--steps", "2"]
        assert_fails(call(tmp_path, arguments, monkeypatch), "noise")

    def test_noise_has_no_system(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "wind", np.random.default_rng(1).standard_normal(500))
        assert_fails(
            call(tmp_path, ["realize", "s.csv"], monkeypatch), "distinguished from sampling noise"
        )
        done = call(tmp_path, ["realize", "s.csv", "--order", "1"], monkeypatch)
        assert done.stdout.startswith("order     1\n")  # what is asked for is found anyway

    def test_labels_are_not_carried_on(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "name,wind", [f"row {t}" for t in T], SERIES)
        arguments = ["forecast", "s.csv", "--steps", "2"]
        assert_fails(call(tmp_path, arguments, monkeypatch), r"row 0 .*--index none")
        done = call(tmp_path, [*arguments, "--index", "none", "--columns", "2"], monkeypatch)
        assert done.stdout.startswith("step,forecast,")

    def test_without_pandas(self, folder, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        out = tmp_path / "out.csv"
        done = call(folder, ["recover", "series.csv", "--out", out, *QUICK], monkeypatch)
        assert done.exit_code == 0, done.output
        assert read(out).index[0] == "2024-01-01"
        done = call(folder, ["forecast", "series.csv", "--steps", "2"], monkeypatch)
        assert_fails(done, "pip install pandas")

    @pytest.mark.parametrize(
        ("index", "message"),
        [
            (np.delete(DAYS, 30), r"around 2024-02-01\), .*; --index none ignores the times"),
            (np.delete(0.5 * T, 30), r"around 15.5\), .*; --index none reads them as data"),
        ],
        ids=["dates", "numbers"],
    )
    @pytest.mark.parametrize("command", ["recover", "frequencies", "info", "identify"])
    def test_holes_in_time_are_found_without_pandas(
        self, tmp_path, monkeypatch, index, message, command
    ):
        wind = np.delete(TRUTH, 30)
        text_file(tmp_path / "s.csv", "time,wind,rain", index, wind, wind**2)
        arguments = [command, "s.csv"]
        if command == "identify":
            arguments += ["--inputs", "wind", "--outputs", "rain"]
        before = call(tmp_path, arguments, monkeypatch)
        assert_fails(before, r's.csv: column "time": the index is irregular \(' + message)
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert call(tmp_path, arguments, monkeypatch).stderr == before.stderr

    def test_months_are_regular_without_pandas(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        months = np.datetime64("2020-01") + T
        text_file(tmp_path / "s.csv", "month,wind", months.astype("datetime64[D]"), SERIES)
        done = call(tmp_path, ["info", "s.csv"], monkeypatch)
        assert (done.exit_code, done.stderr) == (0, "")

    def test_dates_that_cannot_be_read_are_spoken_of(self, tmp_path, monkeypatch):
        dates = [f"{t % 12 + 1:02}/{t // 12 + 1:02}/2024" for t in T]  # day or month first?
        text_file(tmp_path / "s.csv", "date,wind", dates, SERIES)
        done = call(tmp_path, ["info", "s.csv"], monkeypatch)
        assert done.exit_code == 0
        assert re.fullmatch(
            r'Warning: s.csv: column "date": 01/01/2024 is not a time in ISO 8601.*'
            r"equally spaced in time\n",
            done.stderr,
        )

    @pytest.mark.parametrize("cell", ["inf", "-Inf", "1e400"])
    @pytest.mark.parametrize("command", GOOD)
    def test_infinite_numbers(self, tmp_path, monkeypatch, cell, command):
        text_file(tmp_path / "s.csv", "valve,flow", T % 5, [*T[:5], cell, *T[6:]])
        arguments = ["s.csv" if a.endswith(".csv") else a for a in GOOD[command]]
        done = call(tmp_path, arguments, monkeypatch)
        assert_fails(done, r"s.csv: entry 6, 2 \(counted from 1\) is infinite, or too large")

    def test_what_the_samples_do_not_tell(self, tmp_path, monkeypatch):
        found = recover(SERIES, rank=3, mu=1.0)
        part = replace(found, signal=np.where(T == 7, np.nan, found.signal))
        monkeypatch.setattr("structrank.recover", lambda *_, **__: part)
        np.save(tmp_path / "s.npy", SERIES)
        done = call(tmp_path, ["recover", "s.npy", "--out", "o.npy"], monkeypatch)
        assert_fails(done, "the samples do not determine the whole result: use more samples")
        assert [path.name for path in tmp_path.iterdir()] == ["s.npy"]

    def test_a_computation_that_breaks_down(self, folder, monkeypatch):
        monkeypatch.setattr("structrank.recover", lambda *_, **__: np.linalg.inv([[0]]))
        done = call(folder, ["recover", "series.csv"], monkeypatch)
        assert_fails(done, r"the computation failed \(Singular matrix\): use more samples")


class TestSystemsOfColumns:
    """Inputs and outputs of `identify`."""

    @pytest.mark.parametrize(
        ("inputs", "outputs"), [("valve", "valve"), ("valve", "1"), ("1,1", "2"), ("1", "2,flow")]
    )
    def test_a_column_is_named_once(self, folder, monkeypatch, inputs, outputs):
        arguments = ["identify", "record.csv", "--inputs", inputs, "--outputs", outputs]
        assert_fails(
            call(folder, arguments, monkeypatch),
            r"is asked for more than once, but each .*--inputs and --outputs together\): name",
        )

    def test_modes_with_the_time_between_samples(self, folder, monkeypatch):
        done = call(folder, [*GOOD["identify"], "--order", "2", "--dt", "0.1"], monkeypatch)
        assert "mode  frequency" in done.stdout

    def test_copies_of_a_column(self, tmp_path, monkeypatch):
        text_file(tmp_path / "s.csv", "a,b", SERIES, SERIES)
        arguments = ["identify", "s.csv", "--inputs", "a", "--outputs", "b"]
        assert_fails(call(tmp_path, arguments, monkeypatch), "input 0 and output 0, .*the same")

    def test_times_are_no_channel(self, folder, tmp_path, monkeypatch):
        values = read(folder / "record.csv").values
        text_file(tmp_path / "s.csv", "t,valve,flow", np.arange(len(values)), *values.T)
        arguments = ["identify", "s.csv", "--inputs", "valve", "--outputs", "flow"]
        done = call(tmp_path, arguments, monkeypatch)
        assert done.stdout.endswith('order     1\npoles     0.8\nindex     column "t"\n')
        values = np.delete(values, 7, axis=0)
        times = np.delete(np.arange(len(values) + 1), 7)
        text_file(tmp_path / "s.csv", "t,valve,flow", times, *values.T)
        assert_fails(call(tmp_path, arguments, monkeypatch), "irregular .*; --index none reads")
        assert call(tmp_path, [*arguments, "--index", "none"], monkeypatch).exit_code == 0

    def test_the_file_is_read_once(self, folder, monkeypatch):
        from structrank.io import formats

        count = []
        reader = formats.read_text

        def counted(*arguments):
            count.append(1)
            return reader(*arguments)

        monkeypatch.setattr(formats, "read_text", counted)
        assert call(folder, GOOD["identify"], monkeypatch).exit_code == 0
        assert len(count) == 1  # a pipe can be read but once


class TestBadOutputs:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--out", "x.doc"], "x.doc has an unknown extension"),
            (["--out", "nowhere/x.csv"], "nowhere is not a folder"),
            (["--out", "old.csv"], "old.csv exists: use --force"),
            (["--errors", "old.csv"], "old.csv exists: use --force"),
            (["--plot", "x.doc"], "unknown extension: known are .png"),
            (["--plot", "old.png"], "old.png exists"),
            (["--report", "x.pdf"], "unknown extension: known are .html"),
            (["--report", "old.html"], "old.html exists"),
            (["--out", "x.csv", "--errors", "x.csv"], "two outputs go to the same file"),
            (["--out", "x.csv", "--report", "old.html"], "old.html exists"),
        ],
    )
    def test_are_refused_before_any_work(self, folder, tmp_path, monkeypatch, options, message):
        for name in ("old.csv", "old.png", "old.html"):
            (tmp_path / name).write_text("old")
        monkeypatch.setattr("structrank.recover", lambda *_, **__: pytest.fail("work was begun"))
        done = call(tmp_path, ["recover", folder / "series.csv", *options], monkeypatch)
        assert_fails(done, re.escape(message))
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
            ("old.csv", "old.png", "old.html"), "old"
        )

    def test_volumes_are_no_text(self, tmp_path, monkeypatch):
        np.save(tmp_path / "v.npy", np.zeros((3, 3, 3)))
        monkeypatch.setattr("structrank.recover", lambda *_, **__: pytest.fail("work was begun"))
        done = call(tmp_path, ["recover", "v.npy", "--out", "v.csv"], monkeypatch)
        assert_fails(done, "text files have at most two dimensions")

    @pytest.mark.parametrize("command", ["realize", "identify"])
    def test_matrices_have_two_formats(self, folder, monkeypatch, command):
        done = call(folder, [*GOOD[command], "--out", "x.csv"], monkeypatch)
        assert_fails(done, "known are .npz, .mat")

    def test_without_matplotlib(self, folder, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        for option in ("--plot=x.png", "--report=x.html"):
            done = call(tmp_path, ["recover", folder / "series.csv", option], monkeypatch)
            assert_fails(done, r"pip install \"structrank\[plot\]\"")


class TestUsage:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["recover"],
            ["recover", "series.csv", "--rank", "0"],
            ["recover", "series.csv", "--mu", "-1"],
            ["recover", "series.csv", "--window", "a"],
            ["recover", "series.csv", "--channels", "x"],
            ["recover", "series.csv", "--columns", "a,,b"],
            ["recover", "series.csv", "--nonsense"],
            ["forecast", "series.csv"],
            ["forecast", "series.csv", "--steps", "2", "--level", "1"],
            ["identify", "record.csv", "--inputs", "valve"],
            ["nonsense"],
        ],
        ids=" ".join,
    )
    def test_exit_code_two(self, folder, monkeypatch, arguments):
        done = call(folder, arguments, monkeypatch)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert done.stderr.startswith("Usage: ")
        assert done.stderr.splitlines()[-1].startswith("Error: ")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--columns", "sun"], 'no column "sun"'),
            (["--index", "sun"], 'no column "sun"'),
            (["--variable", "x"], "choose columns"),
            (["--window", "99"], "window"),
            (["--window", "5,5"], "window"),
            (["--channels", "1"], r"channels is 1, but .* \(60,\), .* from 0 to 0"),
            (["--channels", "-2"], "channels is -2, but"),
            (["--columns", "2,2"], 'column "2" is asked for more than once'),
            (["--index", "2", "--columns", "-1"], 'no column "-1"'),
        ],
    )
    def test_options_that_do_not_fit_the_file(self, folder, monkeypatch, arguments, message):
        assert_fails(call(folder, ["recover", "series.csv", *arguments], monkeypatch), message)

    @pytest.mark.parametrize("channels", ["0", "none"])
    def test_a_forecast_of_rows(self, folder, monkeypatch, channels):
        arguments = ["forecast", "two.csv", "--steps", "3", "--channels", channels]
        assert_fails(
            call(folder, arguments, monkeypatch), f"--channels 1.*--channels is {channels}"
        )

    @pytest.mark.parametrize("name", [*GOOD, "reproduce"])
    def test_help_has_examples(self, name):
        done = CliRunner().invoke(main, [name, "--help"])
        assert done.exit_code == 0
        assert f"Examples:\n    structrank {name} " in done.stdout

    def test_help_names_all_commands_and_completion(self):
        done = CliRunner().invoke(main, ["-h"])
        assert all(re.search(rf"\n  {name} +\w.*[^.]\.\n", done.stdout) for name in main.commands)
        assert "_STRUCTRANK_COMPLETE=bash_source" in done.stdout

    def test_help_loads_only_what_it_needs(self):
        script = (
            "import sys; from structrank.cli import main; main(['--help'], standalone_mode=False); "
            "names = {name.split('.')[0] for name in sys.modules}; "
            "assert not names & {'scipy', 'pandas', 'matplotlib', 'tqdm', 'array_api_compat'}"
        )
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)

    def test_python_m(self):
        command = [sys.executable, "-m", "structrank", "--help"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout.startswith("Usage: structrank [OPTIONS] COMMAND")

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion_scripts(self, shell):
        cls = get_completion_class(shell)
        assert "structrank" in cls(main, {}, "structrank", "_STRUCTRANK_COMPLETE").source()

    def test_interrupted(self, folder, tmp_path, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("structrank.recover", interrupted)
        out = tmp_path / "out.csv"
        done = call(folder, ["recover", "series.csv", "--out", out], monkeypatch)
        assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
        assert not list(tmp_path.iterdir())

    def test_a_solver_that_does_not_converge(self, folder, monkeypatch):
        import warnings

        def hurried(*_, **__):
            for name in ("select_mu", "recover"):
                warning = ConvergenceWarning(f"{name}: Raise max_iter.", "stopped at its limit")
                warnings.warn(warning, stacklevel=2)
            np.float64(1e300) ** 2  # which warns of an overflow
            return recover(SERIES, rank=3, mu=1.0)

        monkeypatch.setattr("structrank.recover", hurried)
        done = call(folder, ["recover", "series.csv", "--quiet"], monkeypatch)
        assert done.stderr.startswith("Warning: the convex solution stopped at its limit, so")
        assert done.stderr.count("\n") == 1

    def test_warnings_are_one_line_each(self, folder, monkeypatch):
        import warnings

        def doubtful(*_, **__):
            warnings.warn("this is\ndoubtful", UserWarning, stacklevel=2)
            raise ValueError("and\nwrong")

        monkeypatch.setattr("structrank.recover", doubtful)
        done = call(folder, ["recover", "series.csv"], monkeypatch)
        assert done.stderr == "Warning: this is doubtful\nError: and wrong\n"


@pytest.mark.parametrize("flag", [None, "--robust"])
def test_the_cost_of_imputing_nothing_is_not_forecast(flag, tmp_path, monkeypatch):
    text_file(tmp_path / "whole.csv", "wind", np.sin(np.arange(12)))
    done = call(tmp_path, ["impute", "whole.csv", *([flag] if flag else [])], monkeypatch)
    assert ("nothing is missing" in done.stdout) == (flag is None)
    assert ("(forecast: " in done.stdout) == (flag is not None)


def test_time_that_is_not_forecast_is_told(capsys):
    cost = Cost((0.01, 0.1), (1e6, 2e6), "fit of the modes")
    tell_cost(0.5, cost, {"the report": 4.0, "the picture": 0.2}, False)
    assert "0.5 s (forecast: 0.01 s to 0.1 s)" in (out := capsys.readouterr().out)
    assert "  4 s more for the report (not forecast)\n" in out
    assert "picture" not in out

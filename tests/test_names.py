"""Names of files, columns and rows that systems, formats or terminals do not take."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from structrank import Modes
from structrank._messages import visible
from structrank.cli import main
from structrank.io import FileError, Table, check_writable, read, write
from structrank.io.atomic import check_new_folder
from structrank.views import Labels
from structrank.views.content import Report
from structrank.views.report import write_report

BAD_NAMES = ["\0.csv", "\ud800.csv", f"{260 * 'x'}.csv", f"{300 * 'x'}/a.csv"]


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# -- files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_names_that_no_file_can_have(name):
    with pytest.raises(FileError, match="cannot be written: .*, choose another name"):
        write(name, Table(np.ones(3)))
    with pytest.raises(FileError, match="cannot be written: .*, choose another name"):
        check_writable(name)
    with pytest.raises(FileError, match="cannot be written: .*, choose another name"):
        Modes([0.1]).save(f"{name}.npz")
    with pytest.raises(FileError, match="cannot be read: .*, choose another name"):
        read(name)


@pytest.mark.parametrize("length", [100, 200, 219, 225, 230, 240, 255])
def test_names_that_pass_can_be_written(length):
    name = f"{(length - 4) * 'x'}.csv"
    try:
        check_writable(name)
    except FileError:
        assert length > 200
    else:
        write(name, Table(np.ones(3)))
        read(name)


def test_folders_have_names_too():
    from pathlib import Path

    with pytest.raises(FileError, match="cannot be written: .*, choose another name"):
        check_new_folder(Path(240 * "x"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes only on Linux")
def test_a_file_whose_name_is_no_text(tmp_path):
    name = os.fsdecode(b"a\xff.csv")
    values = np.cos(0.3 * np.arange(30))
    write(name, Table(np.where(np.arange(30) == 7, np.nan, values)))
    out = os.fsdecode(b"b\xff.csv")
    words = ["impute", name, "--rank", "2", "--mu", "1", "--out", out]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith("written to b\\udcff.csv\n")
    write_report("r.html", Report(f"Impute: {name}", []), command=" ".join(words))
    assert "Impute: a\\udcff.csv" in (tmp_path / "r.html").read_text(encoding="utf-8")
    done = CliRunner().invoke(main, ["recover", os.fsdecode(b"none\xff.csv")])
    assert done.stderr == "Error: none\\udcff.csv does not exist\n"


# -- columns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("wind\n speed\t°", "wind\n speed\t°"),
        ("a\x1b[31m\x07", "a\\x1b[31m\\x07"),
        ("\x9b1m\u202etxt", "\\x9b1m\\u202etxt"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_escapes(text, shown):
    assert visible(text) == shown


def test_pictures_show_no_control_characters():
    labels = Labels(("a\x1b[31m",), axis="t\x07")
    assert (labels.names, labels.axis) == (("a\\x1b[31m",), "t\\x07")


def test_commands_show_no_control_characters(tmp_path):
    rows = "".join(f"{k},{np.cos(k)},x\n" for k in range(30))
    (tmp_path / "a.csv").write_text(f"t\x1b[31m,v\x1b]0;x\x07,w\x1b\n{rows}")
    words = ["recover", "a.csv", "--index", "1", "--rank", "2", "--mu", "1"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert '"t\\x1b[31m"' in done.stdout
    assert "w\\x1b" in done.stderr
    done = CliRunner().invoke(main, [*words, "--columns", "none\x1b"])
    assert done.exit_code == 1
    assert "\x1b" not in done.output


def test_halves_of_letters_in_json_are_replaced(tmp_path):
    (tmp_path / "a.json").write_text(r'[{"d": "x\ud800", "a\ud800": 1}, {"d": "y", "a\ud800": 2}]')
    found = read("a.json")
    assert found.names == ("a?",)
    assert found.index.tolist() == ["x?", "y"]
    write("a.csv", found)
    assert read("a.csv").names == found.names


def test_excel_files_without_control_characters():
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    write("a.xlsx", Table(np.ones(2), ("v\x1b",), ["a\x07", "b"], "t\0"))
    found = read("a.xlsx")
    assert found.names == ("v\ufffd",)
    assert found.index.tolist() == ["a\ufffd", "b"]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".xlsx", ".json"])
def test_an_index_of_large_numbers(suffix):
    pytest.importorskip({".xlsx": "openpyxl"}.get(suffix, "pyarrow"), reason="not installed")
    labels = ["1" * 30, "2" * 30]
    write(f"a{suffix}", Table(np.ones(2), index=labels, names=("v",)))
    if suffix in (".parquet", ".feather"):
        assert read(f"a{suffix}", index=1).index.tolist() == labels


@pytest.mark.parametrize(
    ("command", "out", "message"),
    [
        ("impute", "b.json", "need different names"),
        ("forecast", "b.xlsx", "need different names"),
        ("forecast", "b.wav", "the sampling rate is not known"),
        ("frequencies", "b.wav", "the sampling rate is not known"),
    ],
)
def test_tables_that_do_not_fit_are_refused_before_any_work(
    command, out, message, tmp_path, monkeypatch
):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    monkeypatch.setattr(f"structrank.{command}", lambda *_, **__: pytest.fail("work was begun"))
    rows = "".join(f"{np.cos(k)},{np.sin(k)}\n" for k in range(30))
    (tmp_path / "a.csv").write_text(f"a,a\n{rows}")
    steps = ["--steps", "2"] if command == "forecast" else []
    done = CliRunner().invoke(main, [command, "a.csv", "--out", out, *steps])
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.startswith(f"Error: {out}: ")
    assert files(tmp_path) == ["a.csv"]


# -- arguments of `read` ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"skip_rows": "x"}, "skip_rows is 'x', but a whole number"),
        ({"skip_rows": 1.5}, "skip_rows is 1.5, but a whole number"),
        ({"columns": 1.5}, "column 1.5 is chosen, but a name or a whole number"),
        ({"columns": [None]}, "column None is chosen, but a name or a whole number"),
        ({"max_size": 10**400}, "max_size is 1000"),
    ],
)
def test_arguments_of_a_wrong_type(arguments, message, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    with pytest.raises(FileError, match=message):
        read("a.csv", **arguments)


def test_a_long_cell_is_no_open_quote(tmp_path):
    (tmp_path / "a.csv").write_text('name,v\n"x",1\n' + "y" * 140_000 + ",2\n")
    with pytest.raises(FileError, match="line 3 has a cell of more than 131072 letters"):
        read("a.csv")
    (tmp_path / "a.csv").write_text('name,v\n"x",1\n"y,2\n' + "z,3\n" * 50_000)
    with pytest.raises(FileError, match="line 3 opens a quote"):
        read("a.csv")

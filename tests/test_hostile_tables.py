"""Tables that ask for more memory, or for more work, than they look like."""

from __future__ import annotations

import json
import re
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from structrank.io import FileError, read
from structrank.io.cells import Cells
from structrank.io.headings import check_headings
from structrank.io.lines import Row
from structrank.io.sheets import check_excel

TOO_LARGE = "memory, but at most 10 MB are allowed"


def arrow(name):
    return pytest.importorskip(name, reason="pyarrow is not installed")


# -- Parquet and Feather ----------------------------------------------------------------


def repeated_text(letters=2_000_000, rows=20):
    text = "x" * letters
    return arrow("pyarrow").table({"s": [text] * rows, "v": np.arange(float(rows))})


def test_a_text_that_parquet_stores_once_is_read_once(tmp_path):
    pa = arrow("pyarrow")
    arrow("pyarrow.parquet").write_table(repeated_text(), tmp_path / "a.parquet")
    before, counting = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counting)
    tracemalloc.start()
    try:
        read(tmp_path / "a.parquet", index=False, max_size="10MB")
        assert tracemalloc.get_traced_memory()[1] < 15e6
        assert counting.max_memory() < 15e6
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_the_texts_of_feather_count(tmp_path, compression):
    table = repeated_text(rows=6)
    feather = arrow("pyarrow.feather")
    feather.write_feather(table, tmp_path / "a.feather", compression=compression)
    with pytest.raises(FileError, match=TOO_LARGE):
        read(tmp_path / "a.feather", max_size="10MB")


def test_the_dictionaries_of_feather_count(tmp_path):
    table = repeated_text(letters=11_000_000, rows=1)
    table = table.set_column(0, "s", table["s"].dictionary_encode())
    arrow("pyarrow.feather").write_feather(table, tmp_path / "a.feather", compression="zstd")
    with pytest.raises(FileError, match=TOO_LARGE):
        read(tmp_path / "a.feather", max_size="10MB")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_columns_that_are_no_data_are_left_out(tmp_path, suffix):
    pa = arrow("pyarrow")
    table = pa.table(
        {
            "list": [[1.0, 2.0], [3.0]],
            "record": [{"a": 1}, {"a": 2}],
            "bytes": [b"1", b"2"],
            "day": pa.array(["2024-05-01", "2024-05-02"]).dictionary_encode(),
            "v": [1.0, None],
        }
    )
    save(table, tmp_path / f"a{suffix}")
    found = read(tmp_path / f"a{suffix}")
    assert found.names == ("v",)
    assert found.index.tolist() == ["2024-05-01", "2024-05-02"]
    assert "list, record, bytes: no single numbers, so left out" in found.notes


def save(table, path):
    if path.suffix == ".parquet":
        arrow("pyarrow.parquet").write_table(table, path)
        return
    with arrow("pyarrow.ipc").new_file(path, table.schema) as file:
        file.write_table(table)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_two_columns_of_one_name(tmp_path, suffix):
    table = arrow("pyarrow").table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"])
    save(table, tmp_path / f"a{suffix}")
    with pytest.raises(FileError, match='several columns are named "a"'):
        read(tmp_path / f"a{suffix}")


def test_only_columns_that_are_no_data(tmp_path):
    save(arrow("pyarrow").table({"a": [[1.0]]}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match="no columns of numbers, times or texts"):
        read(tmp_path / "a.parquet")


# -- JSON -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        [{f"k{i}": 1} for i in range(300)],
        [[0] * 300, *[[]] * 300],
        {f"k{i}": {f"r{i}": 1} for i in range(300)},
    ],
)
def test_cells_that_json_implies_are_counted(tmp_path, content):
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match=TOO_LARGE):
        read(tmp_path / "a.json", max_size="10MB")


def test_lists_of_different_lengths(tmp_path):
    (tmp_path / "a.json").write_text("[[1, 2], [3], [4, 5]]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(tmp_path / "a.json").values
    np.testing.assert_array_equal(found, [[1, 2], [3, np.nan], [4, 5]])


@pytest.mark.parametrize("start", ["", "[1]\n"])
def test_lists_in_lists_without_end(start, tmp_path):
    (tmp_path / "a.json").write_text(start + "[" * 100_000)
    with pytest.raises(FileError, match="too deep for a table"):
        read(tmp_path / "a.json")


# -- Excel ------------------------------------------------------------------------------

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture
def workbook(tmp_path):
    """A function that makes an Excel file whose only sheet has these rows."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

    def make(rows, name=SHEET, before="", encoding="utf-8"):
        openpyxl.Workbook().save(tmp_path / "plain.xlsx")
        declared = f'<?xml version="1.0" encoding="{encoding}"?>{before}'
        sheet = f'{declared}<worksheet xmlns="{SPACE}"><sheetData>{rows}</sheetData></worksheet>'
        path = tmp_path / "a.xlsx"
        with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(path, "w") as file:
            for part in plain.namelist():
                data = plain.read(part).replace(SHEET.encode(), name.encode())
                data = sheet.encode(encoding) if part == SHEET else data
                file.writestr(name if part == SHEET else part, data)
        return path

    return make


FAR = '<row r = "1"><c r = "BXX1"><v>1</v></c></row><row r="6000"><c\nr="A6000"><v>1</v></c></row>'


@pytest.mark.parametrize("name", [SHEET, "xl/other.bin"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_cells_far_away_however_they_are_written(workbook, name, encoding):
    with pytest.raises(FileError, match=TOO_LARGE):
        read(workbook(FAR, name=name, encoding=encoding), max_size="10MB")


def test_cells_and_rows_without_places_are_counted(workbook):
    rows = "<row>" + "<c/>" * 200 + "</row>" + "<row/>" * 300
    with pytest.raises(FileError, match="would take 12 MB"):
        read(workbook(rows), max_size="10MB")


def test_a_sheet_with_a_few_cells_without_places(workbook):
    rows = "<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c><c><v>4</v></c></row>"
    np.testing.assert_array_equal(read(workbook(rows)).values, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("<row>" + "<c/>" * 16_385 + "</row>", "column 16385, but a sheet has at most 1048576"),
        ('<row r="1"><c r="ZZZ1"/></row>', "column 18278"),
        ('<row r="1048577"/>', "row 1048577"),
        ('<row r="x"/>', "a row has the number 'x'"),
        ('<row r="1e999"/>', "a row has the number '1e999'"),
    ],
)
def test_cells_outside_of_the_largest_sheet(workbook, rows, message):
    with pytest.raises(FileError, match=re.escape(message)):
        read(workbook(rows))


def test_entities_are_not_expanded(workbook):
    before = '<!DOCTYPE w [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    with pytest.raises(FileError, match="it declares a type of document"):
        read(workbook("<row><c><v>&a;</v></c></row>", before=before))


def test_other_elements_count(workbook):
    from structrank.io.limits import SizeLimit

    with pytest.raises(FileError, match=TOO_LARGE):
        check_excel(workbook("<a/>" * 11_000), SizeLimit("10MB"))


def test_a_sheet_that_breaks_off(workbook):
    with pytest.raises(FileError, match="not well-formed"):
        read(workbook("<c " * 20_000))


@pytest.mark.parametrize(
    "cell",
    [
        "<c><f>A1</f></c>",
        "<c r='B1' ><f>A1</f><v></v></c>",
        "<c><f t='shared' si='0'/><v/></c>",
    ],
)
def test_formulas_without_values(workbook, cell):
    with pytest.raises(FileError, match="formulas without values"):
        read(workbook(f"<row><c><v>1</v></c>{cell}</row>"))


def test_formulas_with_values(workbook):
    rows = "<row><c><f>1</f><v>1</v></c><c t='str'><f>2</f><v></v></c></row>" * 2
    np.testing.assert_array_equal(read(workbook(rows)).values, [1, 1])


# -- text -------------------------------------------------------------------------------


class CountingCells(Cells):
    """Counts the cells that are looked at."""

    looked = 0

    def number(self, cell):
        type(self).looked += 1
        return super().number(cell)


def test_rows_of_text_above_numbers_are_looked_at_once(monkeypatch):
    monkeypatch.setattr(CountingCells, "looked", 0)
    count = 500
    rows = [Row(k + 3, ["x", "y"]) for k in range(count)]
    rows += [Row(count + 3, ["1", "2"]), Row(count + 4, ["3", "4"])]
    with pytest.raises(FileError, match=f"line {count + 2} is text above numbers"):
        check_headings(rows, CountingCells())
    assert CountingCells.looked < 20 * count


def test_a_long_label_counts_for_each_row(tmp_path):
    lines = ["a,b", "x" * 20_000 + ",1", *(f"y{k},2" for k in range(2000))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(FileError, match=TOO_LARGE):
        read(tmp_path / "a.csv", max_size="10MB")

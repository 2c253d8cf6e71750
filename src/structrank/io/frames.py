"""Tables of other programs, through pandas: Excel, Parquet, Feather and JSON.

Cells become text and are then read like those of a text file: names, units, dates and missing
values are found in the same way, and errors name the row.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import require
from .arrow_tables import read_feather, read_parquet
from .limits import SizeLimit
from .lines import Row, Rows
from .regular import iso_times, numbers
from .sheets import check_excel
from .table import FileError, Table

FRAMES = {".xlsx": "Excel", ".parquet": "Parquet", ".feather": "Feather", ".json": "JSON"}
MIDNIGHT = " 00:00:00"
STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*")
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
ENGINES = {".xlsx": "openpyxl", ".parquet": "pyarrow", ".feather": "pyarrow"}


def require_frames(suffix: str) -> Any:
    """Import pandas, or raise an error that says what to install for a format."""
    if suffix in ENGINES:
        require(ENGINES[suffix])
    return require("pandas")


def read_frame(
    path: Path, suffix: str, variable: str | None, limit: SizeLimit
) -> tuple[Rows, bool | None]:
    """Read rows of cells, and whether the first one has the names; None if that is to be found."""
    pd = require_frames(suffix)
    if suffix == ".xlsx":
        check_excel(path, limit)
        return _excel_rows(pd, path, variable), None
    if variable is not None:
        raise FileError(f"a {FRAMES[suffix]} file has columns, not variables: choose columns")
    if suffix == ".json":
        return _json_rows(pd, path, limit)
    frame, notes = (read_parquet if suffix == ".parquet" else read_feather)(path, limit)
    return _frame_rows(pd, frame)._replace(notes=notes), True


def _excel_rows(pd: Any, path: Path, sheet: str | None) -> Rows:
    """The rows of a sheet: the one named, or the only one with cells."""
    options = {"header": None, "dtype": object, "keep_default_na": False}  # NaN is no empty cell
    sheets = pd.read_excel(path, sheet_name=None, **options)
    filled = {name: frame for name, frame in sheets.items() if frame.size}
    if sheet is None and len(filled) != 1:
        there = ", ".join(f'"{name}"' for name in filled) or "none with cells"
        raise FileError(f"it has several sheets: name one of {there} (--variable, variable=...)")
    if sheet is not None and sheet not in filled:
        raise FileError(f'no sheet "{sheet}": there are {", ".join(map(repr, filled))}')
    frame = filled[sheet] if sheet is not None else next(iter(filled.values()))
    rows = [Row(k, cells) for k, cells in enumerate(_cells(pd, frame), 1)]
    filled_rows = [row for row in rows if any(row.cells)]
    if frame.shape[1] == 1:  # an empty row is a missing value, as in text files
        filled_rows = [row for row in rows if row.line >= filled_rows[0].line]
    return Rows(filled_rows, "", [])


def _json_rows(pd: Any, path: Path, limit: SizeLimit) -> tuple[Rows, bool | None]:
    """The rows of records, columns or plain lists."""
    limit.check(2 * path.stat().st_size)
    text = path.read_text(encoding="utf-8-sig")
    limit.check_cells(text.count(","))
    try:
        found = _json(text)
    except RecursionError:
        raise FileError("it has lists in lists too deep for a table") from None
    if "\\ud" in text.lower():  # half of a pair that makes a letter cannot be written
        text = json.dumps(found, ensure_ascii=False).encode(errors="replace").decode()
        found = json.loads(text)
    found = _records(found)
    is_table = isinstance(found, Mapping) or (found and isinstance(found[0], Mapping))
    if isinstance(found, Mapping) and not any(isinstance(v, list | dict) for v in found.values()):
        raise FileError("it is a single record, but a list of records or of numbers is expected")
    height, width = _shape(found)
    limit.check_cells(height * width)
    if isinstance(found, list):  # pandas wants equally long lists
        lacking = [None] * width
        found = [[*row, *lacking[len(row) :]] if isinstance(row, list) else row for row in found]
    rows = _frame_rows(pd, pd.DataFrame(found, dtype=object))
    return (rows, True) if is_table else (rows._replace(rows=rows.rows[1:]), False)


def _json(text: str) -> Any:
    """What a JSON file holds, or the records in its lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _shape(found: Any) -> tuple[int, int]:
    """How many rows and columns pandas makes of records, columns or lists, or the other way."""
    parts = list(found.values()) if isinstance(found, Mapping) else found
    keys = {key for part in parts if isinstance(part, Mapping) for key in part}
    longest = max((len(part) for part in parts if isinstance(part, list)), default=1)
    return len(parts), max(len(keys), longest)


def _records(found: Any) -> Any:
    """The table in a JSON object: its cells below names, or the only list of records in it."""
    if not isinstance(found, Mapping):
        return found
    if isinstance(names := found.get("columns"), list) and isinstance(found.get("data"), list):
        return [dict(zip(names, row, strict=True)) for row in found["data"]]
    lists = [v for v in found.values() if isinstance(v, list) and v and isinstance(v[0], Mapping)]
    others = [v for v in found.values() if isinstance(v, list) and v and v not in lists]
    return lists[0] if len(lists) == 1 and not others else found


def _frame_rows(pd: Any, frame: Any) -> Rows:
    """The names and rows of a frame, with its index first unless it only counts rows."""
    counted = [str(k) for k in range(len(frame))]  # as pandas writes its index into JSON
    if not isinstance(frame.index, pd.RangeIndex) and list(frame.index) != counted:
        frame = frame.reset_index(names=[name or "" for name in frame.index.names])
    names = Row(1, [str(name).strip() for name in frame.columns])
    rows = [Row(k, cells) for k, cells in enumerate(_cells(pd, frame), 2)]
    return Rows([names, *rows], "", [])


def _cells(pd: Any, frame: Any) -> list[list[str]]:
    columns = [_column(pd, frame.iloc[:, j]) for j in range(frame.shape[1])]
    for column in columns:  # dates without the hours of midnight, if all are there
        if all(cell.endswith(MIDNIGHT) for cell in column if STAMP.fullmatch(cell)):
            column[:] = [c.removesuffix(MIDNIGHT) if STAMP.fullmatch(c) else c for c in column]
    return [list(cells) for cells in zip(*columns, strict=True)]


def _column(pd: Any, column: Any) -> list[str]:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return [_cell(pd, value) for value in column]
    texts = [*(_cell(pd, value) for value in column.cat.categories), ""]  # -1 is missing
    return [texts[code] for code in column.cat.codes]


def _cell(pd: Any, value: Any) -> str:
    """A value as it would be written in a text file."""
    if isinstance(value, list | dict):
        return str(value)
    if pd.isna(value):
        return ""
    if isinstance(value, pd.Timedelta):
        value = value.total_seconds()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | complex):
        return repr(value).strip("()")
    return sys.intern(str(value).strip())  # a long text may stand in many cells


def write_frame(path: Path, table: Table, suffix: str) -> None:
    """Write a table: the index is the first column, with its times as such."""
    pd = require_frames(suffix)
    name = FRAMES[suffix]
    if table.values.ndim > 2 or np.iscomplexobj(table.values):
        raise FileError(
            f"{name} files have tables of real numbers, but the values are {table.values.dtype} of "
            f"shape {table.values.shape}: choose .npy"
        )
    values = table.values.reshape(len(table.values), -1)
    titles = table.names or tuple(str(j + 1) for j in range(values.shape[1]))
    first = [] if table.index is None else [table.index_name or "index"]
    if len({*first, *titles}) < len(first) + len(titles):
        raise FileError(f"{name} files need different names, but these are {', '.join(titles)}")
    if suffix == ".xlsx":
        first, titles = _without_controls(first), tuple(_without_controls(titles))
    frame = pd.DataFrame(values, columns=list(titles))
    if suffix == ".xlsx" and table.index is None and values.shape[1]:  # no row looks empty
        empty = np.all(np.isnan(values), axis=1)
        frame[titles[0]] = frame[titles[0]].astype(object).where(~empty, "NaN")
    if table.index is not None:
        labels = _index_values(table.index.tolist())
        frame.insert(0, first[0], _without_controls(labels) if suffix == ".xlsx" else labels)
    if suffix == ".xlsx":
        with pd.ExcelWriter(path, engine="openpyxl") as writer:
            frame.to_excel(writer, index=False, header=table.names is not None)
            (sheet,) = writer.sheets.values()
            for cell in (*sheet[1], *sheet["A"]):  # names and labels are never formulas
                if cell.data_type == "f":
                    cell.data_type = "s"
    elif suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif suffix == ".feather":
        frame.to_feather(path)
    else:
        path.write_text(_json_text(pd, frame))


def _json_text(pd: Any, frame: Any) -> str:
    """The rows as records, with all digits; pandas writes 15 decimals of any number."""
    columns = [
        [None if pd.isna(value) else value for value in frame[name].tolist()] for name in frame
    ]
    records = [dict(zip(frame, row, strict=True)) for row in zip(*columns, strict=True)]
    try:
        return json.dumps(records, allow_nan=False, default=datetime.isoformat)
    except ValueError:
        raise FileError("JSON files have no infinite numbers: choose .csv") from None


def _without_controls(texts: Iterable[Any]) -> list[Any]:
    """Names or labels without characters that Excel files cannot hold."""
    return [CONTROLS.sub("\ufffd", text) if isinstance(text, str) else text for text in texts]


def _index_values(cells: list[str]) -> list[Any]:
    """Numbers, times without an offset, or labels."""
    places = numbers(cells)
    if places is not None:
        if not all(cell.lstrip("+-").isdecimal() for cell in cells):
            return list(places.tolist())
        whole = [int(cell) for cell in cells]
        fits = min(whole) >= -(2**63) and max(whole) < 2**63
        return [*whole] if fits else [*cells]
    times: list[datetime] | None = iso_times(cells)
    return cells if times is None or any(time.tzinfo for time in times) else list(times)

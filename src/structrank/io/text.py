"""Tables of numbers in text files.

- Tabs separate cells. In .csv and .txt files semicolons or commas may separate them, in .txt
  files also blanks. The reader takes the separator that splits the first lines into equally many
  cells. A line that starts with # is a comment, unless it starts with the error of a spreadsheet
  (#N/A, #DIV/0!, ...).
- Empty cells, nan, NA, <NA>, N/A, #N/A, None and null are missing. Complex numbers look like 1+2j.
- The first row is a header if it is all text, or if it has text where the second row has a
  number. Names that are numbers cannot be distinguished from data, with two exceptions: above
  dates (the first cell has no digits, the one below has some), and as pandas writes them (an empty
  cell, then 0, 1, 2, ...). Pass `header` to decide it.
- The first of several columns is the index (times, dates, labels) if it contains no number. A
  column of numbers is the index only under a header, in two cases. Either the numbers rise or fall
  throughout and the name says time or index (t, time, year, sample, ...; time and t also with a
  unit, as in "time (s)", "time_s", "t [ms]"). Or the numbers have equal steps and no name, as
  pandas writes an index.
- Other columns without any number are skipped, unless they are asked for.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .table import Column, FileError, Table, column_number, column_numbers

MISSING = {"", "nan", "na", "<na>", "n/a", "#n/a", "none", "null"}
SPREADSHEET_ERROR = re.compile(r"#(N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)(?=[\s;,]|$)")
DELIMITERS = {".csv": "\t;,", ".tsv": "\t", ".txt": "\t;, "}  # in order of preference
SEPARATORS = {
    ".csv": "tabs, semicolons or commas",
    ".tsv": "tabs",
    ".txt": "tabs, semicolons, commas or blanks",
}
WRITTEN = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_TIME = "(times?|timestamp|datetime|dates?)"
_COUNT = "(index|sample|step|(second|minute|hour|day|week|month|quarter|year)s?)"
_UNIT = "([munµμ]?s|(sec|second|min|minute|hr|hour|day|week|month|yr|year)s?|h|d|utc)"
# T alone may be a temperature, and t_min the least t.
SAYS_TIME = re.compile(
    rf"t|t_(?!mins?$){_UNIT}|(?i:{_COUNT}|{_TIME}(_{_UNIT})?"
    rf"|({_TIME}|t)\s*(/\s*{_UNIT}|\({_UNIT}\)|\[{_UNIT}\]))"
)
ALMOST_NUMBER = re.compile(r"[+-]?\d[\d.]*[,'][\d.,']*([eE][+-]?\d+)?")


@dataclass(frozen=True)
class TextReading:
    """How the reader of text files finds its way.

    Parameters
    ----------
    lines : int
        Number of lines from which the delimiter is found. Chosen: enough to outvote a few odd
        lines.
    equal_steps : float
        Largest difference between the steps of an index without a name, as a fraction of a step.
        Chosen: above the rounding of decimals, below any step that a person would call different.
    """

    lines: int = 20
    equal_steps: float = 1e-6


class _Row(NamedTuple):
    line: int
    cells: list[str]


def read_text(
    path: Path,
    columns: Sequence[Column] | None,
    index: Column | bool | None,
    header: bool | None,
    reading: TextReading = TextReading(),
) -> Table:
    """Read the table in a text file; see `read` for the arguments."""
    rows = _rows(path, reading)
    if header is None:
        header = _has_header(rows)
    names = tuple(rows[0].cells) if header else None
    rows = rows[1:] if header else rows
    if not rows:
        raise FileError("it contains no numbers, only a header")
    width = len(rows[0].cells)
    text = [[row.cells[j] for row in rows] for j in range(width)]

    asked = column_numbers(columns or (), names, width)
    at = None
    if index is None:
        name = None if names is None else names[0]
        at = 0 if width > 1 and 0 not in asked and _is_index(text[0], name, reading) else None
    elif index is not False:
        at = column_number(index, names, width)
    if columns is None:
        asked = _columns_of_numbers(rows, text, names, at, path.suffix.lower())
    if at is not None:
        _check_index(rows, at, _title(names, at))
    numbers = [_numbers(rows, j, _title(names, j)) for j in asked]
    return Table(
        numbers[0] if len(numbers) == 1 else np.stack(numbers, axis=1),
        names=None if names is None else tuple(names[j] for j in asked),
        index=None if at is None else np.array(text[at]),
        index_name=None if names is None or at is None else names[at],
        format="text",
    )


def _columns_of_numbers(
    rows: Sequence[_Row],
    text: Sequence[Sequence[str]],
    names: Sequence[str] | None,
    index: int | None,
    suffix: str,
) -> list[int]:
    """All columns with numbers, without the index; an error if there are none."""
    without_numbers = [not any(map(_is_number, cells)) for cells in text]
    for j, cells in enumerate(text):
        if without_numbers[j] and any(map(ALMOST_NUMBER.fullmatch, cells)):
            _numbers(rows, j, _title(names, j))  # raises an error about the first of them
    found = [j for j in range(len(text)) if j != index and not without_numbers[j]]
    if found:
        return found
    where = "" if all(without_numbers) else " besides the index"
    hint = f" ({SEPARATORS[suffix]} separate cells)" if len(text) == 1 and index is None else ""
    raise FileError(
        f"it contains no numbers{where}, but a column of numbers is expected: line "
        f"{rows[0].line} starts with {_quoted(rows[0].cells[0])}{hint}"
    )


def write_text(path: Path, table: Table, suffix: str) -> None:
    """Write a table of at most two dimensions, in full precision."""
    if table.values.ndim > 2:
        raise FileError(
            f"text files have at most two dimensions, but the values have shape "
            f"{table.values.shape}: choose .npy"
        )
    values = table.values.reshape(len(table.values), -1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=WRITTEN[suffix], lineterminator="\n")
        if table.names is not None:
            head = [] if table.index is None else [table.index_name or ""]
            writer.writerow([*head, *table.names])
        for number, row in enumerate(values.tolist()):
            head = [] if table.index is None else [table.index[number]]
            writer.writerow([*head, *(str(value).strip("()") for value in row)])


def _rows(path: Path, reading: TextReading) -> list[_Row]:
    """All rows, stripped and equally long, each with its line in the file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FileError("it is not text in UTF-8: save it as UTF-8 first") from error
    kept = [(n, line) for n, line in enumerate(lines, 1) if not _is_comment(line)]
    while kept and not kept[-1][1].strip():
        kept.pop()
    while kept and not kept[0][1].strip():
        kept.pop(0)
    if not kept:
        raise FileError("it is empty")
    first = [line for _, line in kept if line.strip()][: reading.lines]
    delimiter = _delimiter(first, path.suffix.lower())
    rows = list(_split(kept, delimiter))
    width = len(rows[0].cells)
    # A blank line is a missing value in a file of one column, and is skipped in other files.
    rows = [row if row.cells else _Row(row.line, [""]) for row in rows if row.cells or width == 1]
    for line, cells in rows:
        if len(cells) != width:
            raise FileError(
                f"line {line} has {len(cells)} cells, but line {rows[0].line} has {width}"
            )
    return rows


def _is_comment(line: str) -> bool:
    return line.startswith("#") and not SPREADSHEET_ERROR.match(line)


def _split(lines: Sequence[tuple[int, str]], delimiter: str) -> Iterator[_Row]:
    if delimiter == " ":
        for number, line in lines:
            yield _Row(number, line.split())
        return
    reader = csv.reader((line for _, line in lines), delimiter=delimiter, skipinitialspace=True)
    first = 0  # a quoted cell may continue on further lines
    for cells in reader:
        stripped = [cell.strip() for cell in cells]
        yield _Row(lines[first][0], [] if stripped == [""] else stripped)
        first = reader.line_num


def _delimiter(lines: Sequence[str], suffix: str) -> str:
    """The delimiter that splits the most lines into as many cells as the first line."""

    def alike(delimiter: str) -> int:
        rows = list(_split(list(enumerate(lines)), delimiter))
        width = len(rows[0].cells)
        count = sum(len(row.cells) == width for row in rows)
        return count if width > 1 and 2 * count > len(rows) else 0

    return max(DELIMITERS[suffix], key=alike)


def _has_header(rows: Sequence[_Row]) -> bool:
    start, *rest = rows[0].cells
    if (start == "" or _is_text(start)) and all(map(_is_text, rest)):
        return True
    if len(rows) == 1:
        return False
    second = rows[1].cells
    if start == "" != second[0] and rest == [str(j) for j in range(len(rest))]:
        return True  # numbered columns, as pandas writes them
    if _is_text(start) and not _has_digit(start) and _is_text(second[0]) and _has_digit(second[0]):
        return all(map(str.isdecimal, rest))
    return any(_is_text(a) and _is_number(b) for a, b in zip(rows[0].cells, second, strict=True))


def _is_index(cells: Sequence[str], name: str | None, reading: TextReading) -> bool:
    """Whether the first of several columns holds times or labels rather than a series."""
    if not any(map(_is_number, cells)):
        return any(map(_is_text, cells))
    values = [_number(cell) for cell in cells]
    if name is None or any(value is None or isinstance(value, complex) for value in values):
        return False
    places = np.array(values, dtype=float)
    if name == "":
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.diff(places)
            most = reading.equal_steps * np.abs(steps[:1])
            return bool(np.all(np.abs(steps - steps[:1]) < most))
    known = places[np.isfinite(places)]
    one_way = np.all(known[1:] >= known[:-1]) or np.all(known[1:] <= known[:-1])
    several = 2 * len(np.unique(known)) > len(cells)  # unlike a year beside a month
    return bool(one_way) and several and SAYS_TIME.fullmatch(name) is not None


def _has_digit(cell: str) -> bool:
    return any(letter.isdigit() for letter in cell)


def _number(cell: str) -> complex | None:
    """The number in a cell, NaN where it is missing, None where it is text."""
    if "_" in cell:  # Python would read 1_000
        return None
    try:
        return float(cell)
    except ValueError:
        if cell.lower() in MISSING:
            return float("nan")
    try:
        return complex(cell[:-1] + "j" if cell.endswith("i") else cell)
    except ValueError:
        return None


def _is_text(cell: str) -> bool:
    return _number(cell) is None


def _is_number(cell: str) -> bool:
    return cell.lower() not in MISSING and not _is_text(cell)


def _numbers(rows: Sequence[_Row], column: int, title: str) -> np.ndarray:
    values = []
    for line, cells in rows:
        value = _number(cells[column])
        if value is None:
            cell, hint = cells[column], ""
            if ALMOST_NUMBER.fullmatch(cell):
                hint = " (write decimals with a point, and thousands without a separator)"
            elif not any(map(str.isalnum, cell)):
                hint = " (leave the cell empty if its value is missing)"
            raise FileError(f"line {line}, {title}: {_quoted(cell)} is not a number{hint}")
        values.append(value)
    return np.array(values)


def _check_index(rows: Sequence[_Row], column: int, title: str) -> None:
    """Raise an error if a time or label is missing or occurs twice."""
    lines: dict[object, int] = {}
    for line, cells in rows:
        cell = cells[column]
        if cell.lower() in MISSING:
            raise FileError(
                f"line {line}, {title}: the time is missing, but each row is expected to have one: "
                "fill it in, or read without an index (--index none, index=False)"
            )
        key = _number(cell) if _is_number(cell) else cell
        if key in lines:
            raise FileError(
                f"line {line}, {title}: {_quoted(cell)} is a duplicate index entry, also in line "
                f"{lines[key]}: remove one of them, or read without an index (--index none, "
                "index=False)"
            )
        lines[key] = line


def _quoted(cell: str) -> str:
    most = 40  # letters, so that an error stays one line
    return f'"{cell}"' if len(cell) <= most else f'"{cell[:most]}..."'


def _title(names: Sequence[str] | None, column: int) -> str:
    return f"column {column + 1}" if not names or not names[column] else f'column "{names[column]}"'

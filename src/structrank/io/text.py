"""Tables of numbers in text files.

- Tabs separate cells; semicolons or commas may separate them except in .tsv files, and blanks in
  .txt, .dat and .asc files. The reader takes the separator that splits the first lines into equally
  many cells. A line that starts with # is a comment, unless it starts with the error of a
  spreadsheet (#N/A, #DIV/0!, ...); so are lines that start with "% " or "//". A comment right
  above the table whose cells are as many words has its names. Separators at the end of all lines
  are ignored. Text is UTF-8, UTF-16 with its mark, or else Windows-1252.
- Decimals have a comma if numbers have commas and none has a point. Numbers such as 1,500 alone
  are refused: they may be thousands.
- Empty cells, nan, NA, <NA>, N/A, #N/A, None and null are missing. Complex numbers look like 1+2j,
  and 1.5D-03 is read as Fortran writes it.
- The first row is a header if it is all text, or if it has text where the second row has a
  number. Names that are numbers cannot be distinguished from data, with two exceptions: above
  dates (the first cell has no digits, the one below has some), and as pandas writes them (an empty
  cell, then 0, 1, 2, ...). Pass `header` to decide it. A second row of text above numbers contains
  units.
- The first of several columns is the index (times, dates, labels) if it contains no number. A
  column of numbers is the index only under a header, in two cases. Either the numbers rise or fall
  throughout and the name says time or index (t, time, year, sample, Zeit, ...; time and t also with
  a unit, as in "time (s)", "time_s", "t [ms]"). Or the numbers have equal steps and no name, as
  pandas writes an index. With any name and without one, the first column is the index if it has
  equal steps in at least 8 rows and no other column has; without a header and beside a single
  column, also if it rises throughout.
- If the first column has no dates, the first column that has is the index.
- A column of dates and a column of times of day beside it make the index together.
- Dates may be written as 31.05.2024, 5/31/2024, 31-May-2024 or 20240531, with or without times of
  day; months as May 2024, 05/2024, 05.2024 or 202405; quarters as 2024Q2; weeks as 2024-W22.
- Other columns without any number are skipped, unless they are asked for, and named in a note.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .cells import Cells, found_decimal, thousands_note
from .dates import as_written
from .headings import check_headings, has_header, units_row
from .index_columns import (
    check_index,
    counters,
    index_columns,
    parts_of_dates,
    plain_labels,
    quoted,
    title_of,
    unnamed_counter,
)
from .limits import SizeLimit
from .lines import Row, Rows, TextOptions, read_rows, separators
from .table import Column, FileError, Table, TextStyle, column_numbers

LETTER = 8  # bytes of a letter of a label, all as long as the longest, while they are copied
WRITTEN = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".dat": "\t", ".asc": "\t"}


def read_text(
    path: Path,
    suffix: str,
    columns: Sequence[Column] | None,
    index: Column | bool | None,
    header: bool | None,
    options: TextOptions,
    limit: SizeLimit,
) -> Table:
    """Read the table in a text file; see `read` for the arguments."""
    found = read_rows(path, suffix, options, limit)
    hint = (
        f" ({separators(suffix)} separate cells; --sep gives another sign)"
        if options.sep is None
        else ""
    )
    return table_of(found, columns, index, header, options, limit, hint)


def table_of(
    found: Rows,
    columns: Sequence[Column] | None,
    index: Column | bool | None,
    header: bool | None,
    options: TextOptions,
    limit: SizeLimit,
    hint: str = "",
) -> Table:
    """Find names, index and numbers in rows of cells."""
    notes = list(found.notes)
    decimal = options.decimal or found_decimal([row.cells for row in found.rows], found.sep)
    cells = Cells(decimal, options.missing)
    if decimal == "," and options.decimal is None:
        notes.append("decimals have a comma")
    names, units, rows = _below_headings(found, header, cells, notes)
    width = len(rows[0].cells)
    text = [[row.cells[j] for row in rows] for j in range(width)]

    asked = column_numbers(columns or (), names, width)
    at, clock = index_columns(text, names, index, asked, cells, notes)
    if columns is None:
        apart = (at, clock, unnamed_counter(text, names, at))
        asked = _columns_of_numbers(rows, text, names, apart, cells, hint)
        notes += _about_columns(text, names, asked, apart)
    labels, dates = None, None
    if at is not None:
        labels = text[at]
        if clock is not None:
            labels = [" ".join(pair) for pair in zip(labels, text[clock], strict=True)]
        check_index(rows, labels, title_of(names, at), cells)
        labels, dates = plain_labels(labels, cells, notes)
        limit.check(LETTER * len(labels) * max(map(len, labels)))
    numbers = []
    for j in asked:
        numbers.append(_numbers(rows, j, title_of(names, j), cells))
        notes += thousands_note(text[j], title_of(names, j), found.sep, cells)
    notes += _formulas([*(names or ()), *(labels or ())], cells)
    used = [j for j in (at, *asked) if j is not None]
    pair = None if at is None or clock is None or names is None else (names[at], names[clock])
    name = None if names is None or at is None else names[at]
    second = None if units is None else tuple(units[j] for j in used)
    return Table(
        numbers[0] if len(numbers) == 1 else np.stack(numbers, axis=1),
        names=None if names is None else tuple(names[j] for j in asked),
        index=None if labels is None else np.array(labels),
        index_name=name if pair is None else " ".join(pair),
        format="text",
        style=TextStyle(found.sep, decimal, dates, pair, second),
        notes=tuple(notes),
    )


def _below_headings(
    found: Rows, header: bool | None, cells: Cells, notes: list[str]
) -> tuple[tuple[str, ...] | None, list[str] | None, list[Row]]:
    """The names and units above a table, if there are any, and the rows below them."""
    rows = found.rows
    if header is None:
        header = has_header(rows, cells)
        if not header and found.commented is not None:
            rows, header = [found.commented, *rows], True
            notes.append(f"line {rows[0].line}, a comment, was read as names")
    names = tuple(rows[0].cells) if header else None
    rows = rows[1:] if header else rows
    units = units_row(rows, cells) if header else None
    if units is not None:
        notes.append(f"line {rows[0].line} was read as units: {', '.join(filter(None, units))}")
        rows = rows[1:]
        check_headings(rows, cells)
    if not rows:
        raise FileError("it contains no numbers, only a header")
    return names, units, rows


def _columns_of_numbers(
    rows: Sequence[Row],
    text: Sequence[Sequence[str]],
    names: Sequence[str] | None,
    index: Sequence[int | None],
    cells: Cells,
    hint: str,
) -> list[int]:
    """All columns with numbers, without those of the index; an error if there are none."""
    without_numbers = [not any(map(cells.is_number, column)) for column in text]
    for j, column in enumerate(text):
        if not without_numbers[j] or j in index:
            continue
        if any(cells.is_almost_number(c) or cells.has_sign(c) for c in column):
            _numbers(rows, j, title_of(names, j), cells)  # raises an error about the first of them
    found = [j for j in range(len(text)) if j not in index and not without_numbers[j]]
    if found:
        return found
    where = "" if all(without_numbers) else " besides the index"
    if len(text) > 1 or index[0] is not None:
        hint = ""
    raise FileError(
        f"it contains no numbers{where}, but a column of numbers is expected: line "
        f"{rows[0].line} starts with {quoted(rows[0].cells[0])}{hint}"
    )


def _about_columns(
    text: Sequence[Sequence[str]],
    names: Sequence[str] | None,
    found: Sequence[int],
    index: Sequence[int | None],
) -> list[str]:
    """Notes about columns that may not be data, and about columns without numbers."""
    notes = parts_of_dates(names, found) + counters(text, names, found)
    named = [any(column) or bool(names and names[j]) for j, column in enumerate(text)]
    left = [j for j in range(len(text)) if j not in (*found, *index) and named[j]]
    if left:
        titles = ", ".join(title_of(names, j) for j in left)
        notes.append(f"{titles}: no numbers, so left out")
    return notes


def _formulas(texts: Sequence[str], cells: Cells) -> list[str]:
    """A note if names or labels are formulas for a spreadsheet."""
    found = [text for text in texts if text[:1] in tuple("=+-@") and cells.is_text(text)]
    if not found:
        return []
    return [
        f"{quoted(found[0])} is a formula for spreadsheet programs, which may run it when they "
        "open a text file: names and labels are written as they were read"
    ]


def write_text(path: Path, table: Table, suffix: str) -> None:
    """Write a table of at most two dimensions, in full precision and in its style."""
    if table.values.ndim > 2:
        raise FileError(
            f"text files have at most two dimensions, but the values have shape "
            f"{table.values.shape}: choose .npy"
        )
    values = table.values.reshape(len(table.values), -1)
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=_separator(table.style, suffix), lineterminator="\n")
        writer.writerows(_headings(table))
        heads = _index_cells(table)
        for head, row in zip(heads, values.tolist(), strict=True):
            numbers = (str(value).strip("()") for value in row)
            writer.writerow([*head, *(n.replace(".", table.style.decimal) for n in numbers)])


def _separator(style: TextStyle, suffix: str) -> str:
    """The sign between cells: that of the file that was read, where the extension allows it."""
    kept = None if suffix == ".tsv" or style.sep == " " else style.sep
    sep = kept or WRITTEN[suffix]
    return ";" if sep == "," == style.decimal else sep


def _headings(table: Table) -> list[list[str]]:
    """The row of names, and the row of units, if there are any."""
    if table.names is None:
        return []
    split, units = table.style.split, table.style.units
    index = [] if table.index is None else list(split or [table.index_name or ""])
    if units is None or len(units) != (table.index is not None) + len(table.names):
        return [[*index, *table.names]]
    second = list(units)
    if split is not None and index:
        second.insert(1, "")  # the times of day
    return [[*index, *table.names], second]


def _index_cells(table: Table) -> list[list[str]]:
    """The cells of the index in each row, as they were written in the file."""
    if table.index is None:
        return [[]] * len(table.values)
    style, labels = table.style, table.index.tolist()
    if style.dates is not None:
        labels = as_written(labels, style.dates)
    if style.decimal != "." and all(map(Cells().is_number, labels)):
        labels = [label.replace(".", style.decimal) for label in labels]
    if style.split is None or not all(" " in label for label in labels):
        return [[label] for label in labels]
    return [label.split(" ", 1) for label in labels]


def _numbers(rows: Sequence[Row], column: int, title: str, cells: Cells) -> np.ndarray:
    values = []
    for line, row in rows:
        value = cells.number(row[column])
        if value is None:
            cell = row[column]
            raise FileError(
                f"line {line}, {title}: {quoted(cell)} is not a number{cells.hint(cell)}"
            )
        values.append(value)
    return np.array(values)

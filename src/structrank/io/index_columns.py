"""Which columns of a table make its index, and the times or labels in them."""

from __future__ import annotations

from collections.abc import Sequence

from .cells import Cells
from .dates import BEGINS_WITH_DATE, CLOCK, DATE, are_dates, in_iso
from .headings import SAYS_TIME, Steps, counts_rows, is_index, is_unnamed_index
from .lines import Row
from .regular import numbers
from .table import Column, FileError, column_number

AS_DATA = "--index none (index=False): as data"


def index_columns(
    text: Sequence[Sequence[str]],
    names: Sequence[str] | None,
    index: Column | bool | None,
    asked: Sequence[int],
    cells: Cells,
    notes: list[str],
) -> tuple[int | None, int | None]:
    """The column of the index, and the column of times of day that belongs to it."""
    if index is None:
        at = _found(text, names, asked, cells, notes)
    else:
        at = None if index is False else column_number(index, names, len(text))
    if at is None or not all(map(DATE.fullmatch, text[at])):
        return at, None
    for clock in (at + 1, at - 1):
        free = 0 <= clock < len(text) and clock not in asked and len(text) > 2
        if free and all(map(CLOCK.fullmatch, text[clock])):
            notes.append(f"columns {at + 1} and {clock + 1} were read as dates with times of day")
            return at, clock
    return at, None


def _found(
    text: Sequence[Sequence[str]],
    names: Sequence[str] | None,
    asked: Sequence[int],
    cells: Cells,
    notes: list[str],
) -> int | None:
    """The first column if it holds times or labels, or another one if only that holds dates."""
    if len(text) < 2:
        return None
    if 0 not in asked and are_dates(text[0]):
        return 0
    dates = next((j for j in range(1, len(text)) if j not in asked and are_dates(text[j])), None)
    if dates is not None:
        notes.append(
            f"{title_of(names, dates)} was read as times; --index chooses another column, or none"
        )
        return dates
    if 0 in asked:
        return None
    if names is None:
        if is_unnamed_index(text, cells):
            notes.append(f"column 1 was read as times; {AS_DATA}")
            return 0
        if len(text[0]) > 2 and counts_rows(text, cells, Steps(fewest=3)):
            notes.append("column 1 was read as data; --index 1 (index=1): as times")
        return 0 if is_index(text[0], None, cells) else None
    if is_index(text[0], names[0], cells):
        return 0
    if counts_rows(text, cells):
        notes.append(f"{title_of(names, 0)} was read as times; {AS_DATA}")
        return 0
    if SAYS_TIME.fullmatch(names[0]) and not SAYS_TIME.fullmatch(names[1]):
        notes.append(f"{title_of(names, 0)} was read as data: its numbers do not rise throughout")
    return None


def plain_labels(
    labels: Sequence[str], cells: Cells, notes: list[str]
) -> tuple[list[str], str | None]:
    """Labels with decimal points and dates in ISO 8601, and the pattern of these dates."""
    dates = in_iso(labels)
    if dates is not None and labels[0].isdecimal():
        notes.append(f"{labels[0]} and the like were read as dates ({dates[0][0]})")
    if dates is None and all(map(cells.is_number, labels)):
        plain = [cells.with_point(label) for label in labels]
        return plain if numbers(plain) is not None else [str(cells.number(c)) for c in labels], None
    return dates or (list(labels), None)


def parts_of_dates(names: Sequence[str] | None, asked: Sequence[int]) -> list[str]:
    """A note if years and months are among the columns of numbers."""
    parts = ("year", "month", "day", "hour", "minute")
    found = [names[j] for j in asked if names[j].lower() in parts] if names is not None else []
    if len(found) < 2 or len(found) == len(asked):
        return []
    return [
        f"columns {', '.join(found)} were read as data: choose others by --columns (columns=...)"
    ]


def counters(
    text: Sequence[Sequence[str]], names: Sequence[str] | None, asked: Sequence[int]
) -> list[str]:
    """A note about columns that count rows, if there are others."""
    found = [j for j in asked if names is not None and _counts_by_one(text[j])]
    if not found or len(found) == len(asked):
        return []
    titles = ", ".join(title_of(names, j) for j in found)
    return [f"{titles}: row numbers, read as data; choose others by --columns (columns=...)"]


def unnamed_counter(
    text: Sequence[Sequence[str]], names: Sequence[str] | None, at: int | None
) -> int | None:
    """The first column, if it is the row numbers that pandas writes before another index."""
    if at in (None, 0) or not names or names[0] or not _counts_by_one(text[0]):
        return None
    return 0


def _counts_by_one(column: Sequence[str]) -> bool:
    if len(column) < Steps.fewest or not column[0].isdecimal():
        return False
    start = int(column[0])
    return all(cell == str(start + k) for k, cell in enumerate(column))


def check_index(rows: Sequence[Row], labels: Sequence[str], title: str, cells: Cells) -> None:
    """Raise an error if a time or label is missing, occurs twice, or is unlike the others."""
    lines: dict[object, int] = {}
    dates = [BEGINS_WITH_DATE.fullmatch(cell) is not None for cell in labels]
    mostly_dates = 2 * sum(dates) > len(dates)
    for (line, _), cell, is_date in zip(rows, labels, dates, strict=True):
        if cells.is_missing(cell):
            raise FileError(
                f"line {line}, {title}: the time is missing, but each row is expected to have one: "
                "fill it in, or read without an index (--index none, index=False)"
            )
        if cells.is_almost_number(cell):
            raise FileError(
                f"line {line}, {title}: {quoted(cell)} is not a number{cells.hint(cell)}"
            )
        if mostly_dates and not is_date:
            raise FileError(
                f"line {line}, {title}: {quoted(cell)} is not a date, but most cells of this "
                "column are: correct the cell, remove the line, or leave out lines before the "
                "table (--skip-rows, skip_rows=...)"
            )
        key = cells.number(cell) if cells.is_number(cell) else cell
        if key in lines:
            raise FileError(
                f"line {line}, {title}: {quoted(cell)} is a duplicate index entry, also in line "
                f"{lines[key]}: remove one of them, write date and time of day into one cell, "
                "give each series a column of its own, or read without an index (--index none, "
                "index=False)"
            )
        lines[key] = line


def quoted(cell: str) -> str:
    """A cell in quotes, shortened."""
    most = 40  # letters, so that an error stays one line
    return f'"{cell}"' if len(cell) <= most else f'"{cell[:most]}..."'


def title_of(names: Sequence[str] | None, column: int) -> str:
    """A column by its name, or by its number from 1."""
    name = names[column] if names else ""
    return f"column {quoted(name)}" if name else f"column {column + 1}"

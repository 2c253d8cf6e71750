"""The rows of a text file: its encoding, its separator, and lines that are not part of a table."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .cells import WITH_COMMA, Cells
from .limits import SizeLimit
from .table import FileError

SPREADSHEET_ERROR = re.compile(r"#(N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)(?=[\s;,]|$)")
BLANKS = "\t;, "
DELIMITERS = {  # in order of preference
    ".csv": "\t;,",
    ".tsv": "\t",
    ".txt": BLANKS,
    ".dat": BLANKS,
    ".asc": BLANKS,
}
COMMENT = re.compile(r"#|%[\s%]|//")
LOGGER = "TOA5"  # files of Campbell loggers: about the logger, names, units, kinds of averages
SEPARATORS = {
    "\t;,": "tabs, semicolons or commas",
    "\t": "tabs",
    BLANKS: "tabs, semicolons, commas or blanks",
}
NAMED = {"tab": "\t", "space": " ", "blank": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
EXCEL_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # the first line of some files of Excel


@dataclass(frozen=True)
class TextOptions:
    """What the caller knows about a text file; None is found from the file.

    Parameters
    ----------
    sep, decimal, encoding : str, optional
    skip_rows : int
        Lines before the table.
    missing : tuple of str
        What means missing, besides empty cells and the like.
    lines : int
        Number of lines from which the separator is found. Chosen: enough to outvote a few odd
        lines.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_rows: int = 0
    missing: tuple[str, ...] = ()
    lines: int = 20

    def __post_init__(self) -> None:
        if self.sep is not None:
            sep = NAMED.get(self.sep, self.sep.replace("\\t", "\t"))
            if len(sep) != 1:
                raise FileError(
                    f"sep is {self.sep!r}, but one sign is expected, or one of {', '.join(NAMED)}"
                )
            object.__setattr__(self, "sep", sep)
        if self.decimal not in (None, ".", ","):
            raise FileError(f"decimal is {self.decimal!r}, but a point or a comma is expected")
        if self.decimal is not None and self.decimal == self.sep:
            raise FileError(
                f"decimal and sep are both {self.sep!r}, but different signs are expected"
            )
        if not hasattr(self.skip_rows, "__index__") or self.skip_rows < 0:
            raise FileError(
                f"skip_rows is {self.skip_rows!r}, but a whole number, 0 or more, is expected"
            )


class Row(NamedTuple):
    """The cells of a row, and its line in the file."""

    line: int
    cells: list[str]


class Rows(NamedTuple):
    """All rows of a file, equally long, and how they were found."""

    rows: list[Row]
    sep: str
    notes: list[str]
    commented: Row | None = None  # the comment above them, if it may contain their names


def read_rows(path: Path, suffix: str, options: TextOptions, limit: SizeLimit) -> Rows:
    """Read the rows of a text file: stripped, without comments, equally long."""
    text, notes = _decoded(_unpacked(path, limit), options.encoding)
    lines = list(enumerate(text.split("\n"), 1))[options.skip_rows :]
    sep = options.sep
    if lines and (says := EXCEL_LINE.fullmatch(lines[0][1].strip())):
        sep = sep or says[1]
        lines = lines[1:]
    comments = [(n, line) for n, line in lines if _is_comment(line)]
    kept = [(n, line) for n, line in lines if not _is_comment(line)]
    if kept and kept[0][1].replace('"', "").startswith(f"{LOGGER},"):
        kept = [*kept[1:3], *kept[4:]]
        notes.append(f"lines 1 and 4 of a {LOGGER} file were left out")
    while kept and not kept[-1][1].strip():
        kept.pop()
    while kept and not kept[0][1].strip():
        kept.pop(0)
    if not kept:
        raise FileError("it is empty")
    if sep is None:
        first = [line for _, line in kept if line.strip()][: options.lines]
        sep = _delimiter(first, suffix)
    limit.check_cells(len(kept) + sum(line.count(sep) for _, line in kept))
    rows = _with_first_name(_without_trailing(list(_split(kept, sep))))
    width = len(rows[0].cells)
    # A blank line is a missing value in a file of one column, and is skipped in other files.
    rows = [row if row.cells else Row(row.line, [""]) for row in rows if row.cells or width == 1]
    _check_widths(rows, sep)
    return Rows(rows, sep, notes, _names_in_comments(comments, rows, sep))


def separators(suffix: str) -> str:
    """Name the signs that may separate cells."""
    return SEPARATORS[DELIMITERS[suffix]]


def _unpacked(path: Path, limit: SizeLimit) -> bytes:
    """The bytes of a text file; no more of them are unpacked than the limit allows."""
    copies = 4  # the bytes, the text, its lines, and those that are kept
    limit.check(copies * path.stat().st_size)
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            raw = file.read(int(limit.most / copies) + 1)
        limit.check(copies * len(raw), or_more=True)
    else:
        raw = path.read_bytes()
    limit.check_cells(raw.count(b"\n"))
    return raw


def _decoded(raw: bytes, encoding: str | None) -> tuple[str, list[str]]:
    """The text in a file, with line feeds between lines, and a note if its encoding was a guess."""
    notes = []
    if encoding is None:
        encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            raw.decode(encoding)
        except UnicodeDecodeError as error:
            if b"\0" in raw:
                raise FileError("it is not text: the extension does not fit") from error
            encoding = "latin-1" if any(b in raw for b in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
            notes.append(f"the text is not UTF-8 and was read as {encoding}")
    try:
        text = raw.decode(encoding)
    except LookupError as error:
        raise FileError(
            f'no encoding "{encoding}": usual are utf-8, utf-16, latin-1, cp1252'
        ) from error
    except UnicodeDecodeError as error:
        raise FileError(f"it is not text in {encoding}: try --encoding latin-1") from error
    if "\0" in text:
        raise FileError(
            "it contains zero bytes: the extension does not fit, the file is damaged, or its "
            "encoding is another one (--encoding utf-16-le)"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def _is_comment(line: str) -> bool:
    return COMMENT.match(line) is not None and not SPREADSHEET_ERROR.match(line)


def _names_in_comments(
    comments: Sequence[tuple[int, str]], rows: Sequence[Row], sep: str
) -> Row | None:
    """The last comment above the rows, if it has as many cells as these, all of them text."""
    above = [(n, COMMENT.sub("", line, count=1)) for n, line in comments if n < rows[0].line]
    for row in _split(above[-1:], sep, whole=False):
        if len(row.cells) == len(rows[0].cells) and all(map(Cells().is_text, row.cells)):
            return row
    return None


def _without_trailing(rows: list[Row]) -> list[Row]:
    """Rows without the empty cells that a separator at the end of each line makes."""
    while len(rows) > 1 and len(rows[-1].cells) > 1:
        width = len(rows[-1].cells)
        below = [row.cells for row in rows[1:] if row.cells]
        if any(len(cells) != width or cells[-1] for cells in below):
            return rows
        first = rows[0].cells
        if len(first) == width and first[-1] == "":
            first = first[:-1]
        elif len(first) != width - 1:
            return rows
        rows = [Row(rows[0].line, first), *(Row(r.line, r.cells[:-1]) for r in rows[1:])]
    return rows


def _with_first_name(rows: list[Row]) -> list[Row]:
    """Rows with an empty name of the first column, if only that is left out, as in tables of R."""
    names, below = rows[0].cells if rows else [], [row.cells for row in rows[1:] if row.cells]
    longer = below and all(len(cells) == len(names) + 1 for cells in below)
    # Under a single name, two cells may be one number with a comma or a blank.
    if longer and len(names) > 1 and all(map(Cells().is_text, names)):
        return [Row(rows[0].line, ["", *names]), *rows[1:]]
    return rows


def _split(lines: Sequence[tuple[int, str]], sep: str, *, whole: bool = True) -> Iterator[Row]:
    """The cells of each line; a quoted cell may continue on further lines.

    If the lines are the `whole` table, a quote that is not closed is an error.
    """
    if not any('"' in line for _, line in lines):
        for number, line in lines:
            cells = line.split() if sep == " " else [cell.strip() for cell in line.split(sep)]
            yield Row(number, [] if cells == [""] else cells)
        return
    if sep == " ":  # as many blanks as there may be
        lines = [(number, " ".join(line.split())) for number, line in lines]
    end = "\0end"  # a part of the last cell, if its quote is not closed
    texts = (text for text in (*(line for _, line in lines), end))
    reader = csv.reader(texts, delimiter=sep, skipinitialspace=True)
    first = 0
    try:
        for cells in reader:
            if cells == [end]:
                return
            stripped = [cell.strip() for cell in cells]
            if reader.line_num > len(lines):
                break
            yield Row(lines[first][0], [] if stripped == [""] else stripped)
            first = reader.line_num
    except csv.Error:  # a cell is longer than the reader of Python allows
        if whole and reader.line_num == first + 1:
            raise FileError(
                f"line {lines[first][0]} has a cell of more than {csv.field_size_limit()} letters, "
                "which is too long in a file with quotes: shorten it"
            ) from None
    if whole:
        raise FileError(
            f'line {lines[first][0]} opens a quote (") that is not closed: close it, or remove it'
        )


def _delimiter(lines: Sequence[str], suffix: str) -> str:
    """The sign that splits most lines into as many cells as the first, and most into numbers."""
    plain = Cells()

    def alike(sep: str) -> tuple[int, float]:
        found = list(_split(list(enumerate(lines)), sep, whole=False))
        rows = [row.cells for row in _with_first_name(_without_trailing(found))]
        width = len(rows[0]) if rows else 1
        count = sum(len(cells) == width for cells in rows)
        if width == 1 or 2 * count <= len(rows):
            return 0, 0.0
        cells = [cell for row in rows[1:] for cell in row]
        numbers = sum(not plain.is_text(c) or bool(WITH_COMMA.fullmatch(c)) for c in cells)
        return count, numbers / max(len(cells), 1)

    best = max(DELIMITERS[suffix], key=alike)
    if alike(best)[0]:
        return best
    return next((sep for sep in DELIMITERS[suffix] if _names_below(lines, sep)), best)


def _names_below(lines: Sequence[str], sep: str) -> bool:
    """Whether names, and rows as long as these, come after lines that are no part of a table."""
    rows = [row.cells for row in _split(list(enumerate(lines)), sep, whole=False)] or [[""]]
    at = next((k for k, cells in enumerate(rows) if len(cells) == len(rows[-1])), 0)
    alike = all(len(cells) == len(rows[-1]) for cells in rows[at:])
    return alike and len(rows[-1]) > 1 and all(map(Cells().is_text, rows[at]))


def _check_widths(rows: Sequence[Row], sep: str) -> None:
    """Raise an error unless all rows have equally many cells."""
    widths = [len(row.cells) for row in rows]
    at = next((k for k, width in enumerate(widths) if width != widths[0]), None)
    if at is None:
        return
    start = len(rows) - next(k for k, width in enumerate(widths[::-1]) if width != widths[-1])
    hint = ""
    if sep == " " and widths[-1] > 1:
        hint = ": between blanks an empty cell cannot be seen, write NaN where a value is missing"
    if 2 * start < len(rows) and widths[0] != widths[-1] > 1:  # the end of the file is a table
        skipped = rows[start].line - 1
        hint = (
            f": if the table starts in line {skipped + 1}, leave out the lines before it "
            f"(--skip-rows {skipped}, skip_rows={skipped})"
        )
    raise FileError(
        f"line {rows[at].line} has {widths[at]} cells, but line {rows[0].line} has "
        f"{widths[0]}{hint}"
    )

"""Sheets of Excel files: their cells are counted, and their formulas checked, before pandas reads.

The parser of XML is the one that openpyxl uses, so it sees the same elements, however they are
written. Every part of a file is counted, since its contents may name any of them as a sheet.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import IO
from xml.parsers import expat

from .limits import SizeLimit
from .table import FileError

PIECE = 1 << 16  # bytes that are parsed at a time
ELEMENT = 1000  # bytes that openpyxl takes for an element that is no cell; measured: up to 700
ROWS, COLUMNS = 1_048_576, 16_384  # of the largest sheet
FREED = ("row", "si")  # openpyxl drops these elements at their end: rows, and texts of cells
LETTERS = re.compile("[A-Z]{0,9}", re.IGNORECASE)


def check_excel(path: Path, limit: SizeLimit) -> None:
    """Raise an error if the parts of an Excel file would take too much memory, or lack values."""
    with zipfile.ZipFile(path) as file:
        limit.check(sum(part.file_size for part in file.infolist()))
        for part in file.infolist():
            with file.open(part) as content:
                _Part(limit).read(content)


class _Part:
    """The cells and elements of one part of a file, as they are counted by its reader."""

    def __init__(self, limit: SizeLimit) -> None:
        self.limit = limit
        self.above: list[str] = []  # the elements that are open
        self.elements = self.elements_before_row = self.texts = 0
        self.row = self.last_row = self.column = self.columns = 0
        self.is_formula = self.has_value = False

    def read(self, content: IO[bytes]) -> None:
        """Count piece by piece; a part that is no XML has no cells."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        try:
            while data := content.read(PIECE):
                parser.Parse(data, False)
                self._check()
        except expat.ExpatError:
            self._check()

    def _check(self) -> None:
        self.limit.check_cells(self.last_row * self.columns + self.texts)
        self.limit.check(ELEMENT * self.elements)

    def _refuse(self, *_: object) -> None:
        raise FileError(
            "it declares a type of document, which no spreadsheet program writes: open it in one, "
            "and save it"
        )

    def _start(self, name: str, about: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        parent = self.above[-1] if self.above else ""
        self.above.append(name)
        self.elements += 1
        if name in FREED:
            self.elements_before_row = self.elements - 1
            self.texts += name == "si"
        if name == "row":
            self.row = _row(about["r"]) if "r" in about else self.row + 1
            self.last_row = max(self.last_row, self.row)
            self.column = 0
        elif parent == "row":
            self.column = _column(about["r"]) if about.get("r") else self.column + 1
            self.columns = max(self.columns, self.column)
            self.is_formula = self.has_value = False
        elif parent == "c" and name == "f":
            self.is_formula = True
        if self.row > ROWS or self.column > COLUMNS:
            raise FileError(
                f"it has a cell in row {self.row}, column {self.column}, but a sheet has at most "
                f"{ROWS} rows and {COLUMNS} columns: open it in a spreadsheet program, and save it"
            )
        if parent == "row" and "t" in about:
            self.has_value = True  # that of a text may be empty

    def _text(self, _: str) -> None:
        if self.above[-1] == "v":
            self.has_value = True

    def _end(self, name: str) -> None:
        name = self.above.pop()
        if name in FREED:
            self.elements = self.elements_before_row
        if name == "c" and self.is_formula and not self.has_value:
            raise FileError(
                "it has formulas without values: open it in a spreadsheet program, and save it"
            )


def _row(place: str) -> int:
    """The number of a row, which openpyxl reads as Python does."""
    try:
        return int(float(place))
    except (ValueError, OverflowError):
        raise FileError(f"a row has the number {place[:20]!r}: the file is damaged") from None


def _column(place: str) -> int:
    """The number of a column from the letters of a place such as AB12, from 1."""
    number = 0
    for letter in LETTERS.match(place)[0].upper():  # type: ignore[index]
        number = 26 * number + ord(letter) - ord("A") + 1
    return number

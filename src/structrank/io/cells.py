"""Numbers in the cells of a table: which sign comes before decimals, and what means missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .table import FileError

MINUS = "\u2212"  # that of typesetters
MISSING = frozenset({"", "nan", "na", "<na>", "n/a", "#n/a", "none", "null"})
_EXPONENT = r"([eE][+-]?\d+)?"
WITH_COMMA = re.compile(rf"[+-]?\d*,\d+{_EXPONENT}")
WITH_POINT = re.compile(rf"[+-]?(\d+\.\d*|\.\d+){_EXPONENT}")
WITH_SEPARATORS = re.compile(rf"[+-]?\d[\d.]*[,'\u2019][\d.,'\u2019]*{_EXPONENT}")
WITH_BLANKS = re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u2009\u202f]\d{3})+([.,]\d*)?")  # 1 234,5
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
THOUSANDS_WITH_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_SIGN = r"(%|‰|°\s?[CFK]?|[$€£¥])"
WITH_SIGN = re.compile(rf"{_SIGN}\s?[+-]?\d[\d.,]*|[+-]?\d[\d.,]*{_EXPONENT}\s?{_SIGN}")
FORTRAN = re.compile(r"([+-]?\d*\.\d*)[dD]([+-]\d+)")  # 0.5D-01


@dataclass(frozen=True)
class Cells:
    """How the numbers of a table are written.

    Parameters
    ----------
    decimal : str
        The sign before decimals: a point or a comma.
    missing : tuple of str
        What means missing besides empty cells, nan, NA and the like. Numbers count by their value.

    Examples
    --------
    >>> from structrank.io.cells import Cells
    >>> cells = Cells(decimal=",", missing=("-9999",))
    >>> [cells.number(cell) for cell in ("1,5", "-9999,0", "dry")]
    [1.5, nan, None]
    """

    decimal: str = "."
    missing: tuple[str, ...] = ()

    @cached_property
    def _words(self) -> frozenset[str]:
        return MISSING | {cell.strip().lower() for cell in self.missing}

    @cached_property
    def _codes(self) -> frozenset[complex | None]:
        """Numbers that mean missing."""
        found = {_parsed(cell.strip(), decimal) for cell in self.missing for decimal in ".,"}
        return frozenset(found - {None})

    def number(self, cell: str) -> complex | None:
        """The number in a cell, NaN where it is missing, None where it is text."""
        value = _parsed(cell, self.decimal)
        if value is None:
            return float("nan") if cell.lower() in self._words else None
        return float("nan") if value in self._codes else value

    def is_text(self, cell: str) -> bool:
        """Whether a cell is neither a number nor missing."""
        return self.number(cell) is None

    def is_missing(self, cell: str) -> bool:
        """Whether a cell is empty, or says that its value is missing."""
        return cell.lower() in self._words

    def is_number(self, cell: str) -> bool:
        """Whether a cell contains a number."""
        return not self.is_missing(cell) and not self.is_text(cell)

    def is_almost_number(self, cell: str) -> bool:
        """Whether a cell looks like a number with other signs for decimals or thousands."""
        looks = [WITH_SEPARATORS, THOUSANDS_WITH_POINT, WITH_BLANKS]
        if self.decimal == ",":
            looks.append(WITH_POINT)
        return any(look.fullmatch(cell) for look in looks) and self.is_text(cell)

    def has_sign(self, cell: str) -> bool:
        """Whether a cell is a number with a percent sign, degrees or a currency."""
        return WITH_SIGN.fullmatch(cell) is not None

    def hint(self, cell: str) -> str:
        """What to do about a cell that is not a number, in brackets."""
        if self.has_sign(cell):
            return " (write numbers without signs and units)"
        if self.is_almost_number(cell):
            if self.decimal == ",":
                return " (other decimals here have a comma: --decimal, decimal=... tells the sign)"
            return " (write decimals with a point, and thousands without a separator)"
        longest = 20  # letters of what may mean missing
        if len(cell) > longest:
            return ""
        if any(map(str.isdigit, cell)) and "#" not in cell:
            return " (numbers alone are expected, and empty cells where values are missing)"
        shown = cell if re.fullmatch(r"[\w-]+", cell) else f"'{cell}'"
        return f" (if it means missing: --missing {shown}, missing={cell!r})"

    def with_point(self, cell: str) -> str:
        """The cell with a point before decimals, if it is a number."""
        plain = self.decimal == "." or not self.is_number(cell)
        return cell if plain else cell.replace(self.decimal, ".")


def _parsed(cell: str, decimal: str) -> complex | None:
    if "_" in cell:  # Python would read 1_000
        return None
    if decimal != ".":
        if "." in cell:
            return None
        cell = cell.replace(decimal, ".")
    try:
        return float(cell)
    except ValueError:
        pass
    try:
        return complex(cell[:-1] + "j" if cell.endswith("i") else cell)
    except ValueError:
        pass
    if fortran := FORTRAN.fullmatch(cell):
        return _parsed(f"{fortran[1]}e{fortran[2]}", ".")
    return _parsed(cell.replace(MINUS, "-"), ".") if MINUS in cell else None


def found_decimal(rows: Sequence[Sequence[str]], sep: str) -> str:
    """The sign before decimals: a comma if numbers have commas and none has a point.

    An error if each comma may as well separate thousands, as in 1,500. Where commas separate cells
    too, most rows must have a quoted cell with a decimal comma: a single one may be a lost quote.
    """
    commas = [c for row in rows for c in row if "," in c and WITH_COMMA.fullmatch(c)]
    if not commas or (sep == "," and 2 * len(commas) <= len(rows)):
        return "."
    if any("." in cell and WITH_POINT.fullmatch(cell) for row in rows for cell in row):
        return "."
    if all(map(THOUSANDS.fullmatch, commas)):
        cell = min(commas)
        raise FileError(
            f'"{cell}" may mean {cell.replace(",", ".")} or {cell.replace(",", "")}: if the comma '
            "comes before decimals, say so (--decimal ',', decimal=','); else write thousands "
            "without a separator"
        )
    return ","


def thousands_note(column: Sequence[str], title: str, sep: str, cells: Cells) -> list[str]:
    """A note if all points of a column may as well separate thousands, as in 12.345.

    That is: where whole numbers stand among them, or where the separator is one of tables with
    decimal commas.
    """
    cell = next((cell for cell in column if "." in cell), None)
    if cell is None or cells.decimal != ".":
        return []
    if not all(THOUSANDS_WITH_POINT.fullmatch(cell) for cell in column if "." in cell):
        return []
    whole = any(cell.lstrip("+-").isdecimal() and cell.strip("+-0") for cell in column)
    if not whole and sep != ";":
        return []
    return [
        f"{title}: {cell} was read with decimals after its point: if it means "
        f"{cell.replace('.', '')}, write thousands without a separator"
    ]

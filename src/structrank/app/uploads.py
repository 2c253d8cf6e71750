"""Files that were dropped on the page: where they are kept, how they are read, their columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..io import FileError, Table, read
from ..io.signal_files import Given, is_side_by_side, signal_of
from ..io.suspects import suspicious_values
from ..io.table import chosen_columns

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
TEXTS = ("variable", "index", "sep", "decimal", "encoding", "step")


def safe_name(name: str, most: int = 80) -> str:
    """Return a file name of plain letters, without folders, that is no hidden or reserved name.

    Parameters
    ----------
    name : str
        As it was uploaded.
    most : int
        Letters that are kept, from the end. Every file system takes this many.

    Returns
    -------
    str

    Examples
    --------
    >>> from structrank.app.uploads import safe_name
    >>> safe_name("../../etc/pass wd<b>.csv")
    'pass_wd_b_.csv'
    >>> safe_name("CON.csv")
    'data-CON.csv'
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = UNSAFE.sub("_", last)[-most:].lstrip("-")
    stem = plain.partition(".")[0]
    reserved = re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", stem)
    if not stem:
        return f"data{plain}"
    return f"data-{plain}" if reserved else plain


@dataclass(frozen=True)
class Reading:
    """How a file is read: what the form of the page asks for.

    Attributes
    ----------
    options : dict
        Arguments of `structrank.io.read`.
    irregular : bool
        Take the times as they are.
    """

    options: dict[str, Any] = field(default_factory=dict)
    irregular: bool = False

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Reading:
        """Read the form: texts, of which empty ones are left out, and two ticks."""
        texts = {name: str(form.get(name) or "").strip() for name in (*TEXTS, "skip_rows")}
        options: dict[str, Any] = {name: texts[name] for name in TEXTS if texts[name]}
        if options.get("index") == "none":
            options["index"] = False
        if skipped := texts["skip_rows"]:
            if not skipped.isdecimal():
                raise FileError(f"skip rows is {skipped!r}, but a whole number is expected")
            options["skip_rows"] = int(skipped)
        if missing := str(form.get("missing") or "").split():
            options["missing"] = missing
        if columns := str(form.get("columns") or "").strip():
            options["columns"] = [name.strip() for name in columns.split(",")]
        if form.get("regular"):
            options["regular"] = True
        return cls(options, bool(form.get("irregular")))

    def flags(self) -> list[str]:
        """Return the same as options of the command line."""
        words = []
        for name, value in self.options.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(flag)
            elif name == "missing":
                words += [f"{flag}={code}" for code in value]
            elif name != "columns":
                words.append(f"{flag}={'none' if value is False else value}")
        return [*words, "--irregular"] if self.irregular else words


@dataclass(eq=False)
class Upload:
    """A file that was dropped on the page.

    Attributes
    ----------
    number : int
    name : str
        As the user calls it; only ever shown as text.
    path : Path
        Where it is kept, under a safe name.
    max_size : str or None
        Most memory that reading may take.
    reading : Reading
    table : Table or None
        What was read last.
    """

    number: int
    name: str
    path: Path
    max_size: str | None = None
    reading: Reading = Reading()
    table: Table | None = None

    @property
    def stem(self) -> str:
        """The safe name without its extension, for names of downloads."""
        return Path(self.path.name.removesuffix(".gz")).stem

    def plain(self, text: str) -> str:
        """Return a message without the folder in which the file is kept."""
        return text.replace(f"{self.path.parent}/", "").replace(f"{self.path.parent}\\", "")

    def read(self, reading: Reading) -> None:
        """Read the file again."""
        self.table, self.reading = None, reading
        self.table = read(self.path, max_size=self.max_size, **reading.options)

    def given(self, columns: Sequence[int]) -> Given:
        """Return the signal in some columns, by their positions; in all of the array if empty."""
        if self.table is None:
            raise FileError("the file has not been read: drop it again")
        table = self.table
        channels: int | None = None
        if columns:
            width = table.values.shape[1] if table.values.ndim == 2 else 1
            if not all(k in range(width) for k in columns):
                raise FileError(f"columns {list(columns)} are asked for, but there are {width}")
            if table.values.ndim == 2:
                table = chosen_columns(table, sorted(set(columns)))
                channels = 1 if table.values.ndim == 2 else None
        index = self.reading.options.get("index")
        irregular = self.reading.irregular
        return signal_of(table, self.path.name, channels, index=index, irregular=irregular)

    def about(self) -> dict[str, Any]:
        """Describe what was read: columns with their gaps, notes, and what looks wrong."""
        table = self.table
        if table is None:
            return {"id": self.number, "name": self.name}
        problem, cautions = None, suspicious_values(table.values, table.names)
        try:
            given = self.given(())
            cautions += given.cautions
        except (FileError, ImportError) as error:
            problem = str(error)
        whole = table.values.ndim > 2 or (table.values.ndim == 2 and not is_side_by_side(table))
        return {
            "id": self.number,
            "name": self.name,
            "format": table.format,
            "shape": list(table.values.shape),
            "index": None if table.index is None else _ends(table),
            "columns": [] if table.values.ndim > 2 else _columns(table),
            "whole": whole,
            "notes": list(table.notes),
            "cautions": cautions,
            "problem": problem,
        }

    def command(self, task: str, columns: Sequence[int], out: str, *options: str) -> str | None:
        """Return the command that does the same; None if columns cannot be named in it."""
        table, words = self.table, [task, self.name, *self.reading.flags()]
        width = 1 if table is None or table.values.ndim != 2 else table.values.shape[1]
        if table is not None and columns and width > 1 and len(columns) < width:
            names = [str(k + 1) for k in columns]
            if is_side_by_side(table):
                names = [] if table.names is None else [table.names[k] for k in columns]
            unclear = [name for name in names if "," in name or (table.names or ()).count(name) > 1]
            if unclear or not all(names) or not names:
                return None
            words.append(f"--columns={','.join(names)}")
        elif "columns" in self.reading.options:
            words.append(f"--columns={','.join(self.reading.options['columns'])}")
        words += [*options, f"--out={out}"]
        return "structrank " + " ".join(map(shlex.quote, words))


def stored(number: int, name: str, folder: Path, max_size: str | None) -> Upload:
    """Make a folder for an upload, and say where in it the file goes."""
    home = folder / f"file-{number}"
    home.mkdir()
    return Upload(number, name, home / safe_name(name), max_size)


def _columns(table: Table) -> list[dict[str, Any]]:
    values = table.values.reshape(len(table.values), -1)
    names = table.names or [f"column {k + 1}" for k in range(values.shape[1])]
    return [
        {
            "name": name or f"column {k + 1}",
            "missing": int(np.count_nonzero(np.isnan(values[:, k]))),
            "longest": _longest_gap(np.isnan(values[:, k])),
        }
        for k, name in enumerate(names)
    ]


def _longest_gap(missing: np.ndarray) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]])))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def _ends(table: Table) -> dict[str, str]:
    index = np.asarray(table.index)
    return {"name": table.index_name or "", "first": str(index[0]), "last": str(index[-1])}

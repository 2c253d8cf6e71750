"""Files that commands write: checks before any work, pictures and pages."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from ..io import FileError, Table, check_writable, write
from ..io.formats import PACKED, TEXT
from ..io.frames import FRAMES

WORDS = "structrank.words"  # where a context of click keeps the words of the command


def check_outputs(
    *tables: Path | None, plot: Path | None = None, report: Path | None = None, force: bool
) -> None:
    """Raise an error, before any work, unless all these files can be written."""
    files = [path.resolve() for path in (*tables, plot, report) if path is not None]
    if len(set(files)) < len(files):
        raise FileError("two outputs go to the same file: choose different names")
    for path in tables:
        if path is not None:
            check_writable(path, force=force)
    if plot is not None:
        from ..views import check_picture

        check_picture(plot, force=force)
    if report is not None:
        from ..views.report import check_report

        check_report(report, force=force)


def check_fits(path: Path | None, table: Table) -> None:
    """Raise an error, before any work, if a file cannot hold a table like this one."""
    if path is None or path.suffix.lower() not in (*TEXT, PACKED, *FRAMES, ".wav"):
        return
    index = None if table.index is None else table.index[:2]
    with TemporaryDirectory() as folder:
        trial = Path(folder) / f"trial{''.join(path.suffixes[-2:])}"
        try:
            write(trial, replace(table, values=table.values[:2], index=index))
        except FileError as error:
            raise FileError(str(error).replace(str(trial), str(path))) from None


def draw(found: Any, file: Path, plot: Path | None, report: Path | None, force: bool) -> None:
    """Write the picture and the report of what was found in a file, if asked for."""
    if plot is not None:
        from ..views import save_picture

        save_picture(plot, found.plot, force=force)
    if report is not None:
        context = click.get_current_context()
        command = f"structrank {shlex.join(context.meta.get(WORDS, []))}"
        title = f"{str(context.info_name).capitalize()}: {file.name}"
        found.write_report(report, force=force, title=title, command=command)

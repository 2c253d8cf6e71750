"""A file that is written whole or not at all, and never over another one unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import FileError


def check_new_file(path: Path, suffixes: Sequence[str], *, force: bool = False) -> None:
    """An error unless a file of one of these extensions can be written: ask before long work.

    Parameters
    ----------
    path : Path
    suffixes : sequence of str
        In lower case, with their point.
    force : bool
        Whether a file that is there may be replaced.

    Raises
    ------
    FileError
        One line says why not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from structrank.io.atomic import check_new_file
    >>> check_new_file(Path("page.doc"), [".html", ".htm"])
    Traceback (most recent call last):
    structrank.io.table.FileError: page.doc has an unknown extension: known are .html, .htm
    """
    if path.suffix.lower() not in suffixes:
        raise FileError(f"{path} has an unknown extension: known are {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise FileError(f"{path} cannot be written: {path.parent} is no folder")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path} cannot be written: {path.parent} is protected")
    if path.is_dir():
        raise FileError(f"{path} is a folder: choose another name")
    if path.exists() and not force:
        raise FileError(f"{path} exists: use --force (force=True) to replace it")


@contextmanager
def new_file(path: Path, suffixes: Sequence[str], *, force: bool = False) -> Iterator[Path]:
    """A place beside `path` to write to, which takes its place once all has gone well.

    Parameters
    ----------
    path : Path
    suffixes : sequence of str
        In lower case, with their point.
    force : bool
        Replace a file that is there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.io.atomic import new_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "page.html"
    ...     with new_file(path, [".html"]) as partial:
    ...         _ = partial.write_text("all of it")
    ...     path.read_text()
    'all of it'
    """
    check_new_file(path, suffixes, force=force)
    place = path.resolve()
    partial = place.with_name(f".{place.stem}.partial-{os.getpid()}{place.suffix}")
    try:
        yield partial
        check_new_file(path, suffixes, force=force)  # it may have come to be meanwhile
        os.replace(partial, place)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)

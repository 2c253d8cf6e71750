"""The one writer of files and folders.

What it writes appears whole or not at all. It replaces an existing file or folder only if asked
to, and it leaves no partial results behind.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .leftovers import clear_leftovers, new_mark, remove
from .names import check_new_name
from .table import FileError, raise_interrupt


def check_new_file(path: Path, suffixes: Sequence[str], *, force: bool = False) -> None:
    """Raise an error unless `path` can be written; call it before long work.

    Parameters
    ----------
    path : Path
    suffixes : sequence of str
        The extensions that are allowed: lower case, with their dot.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        One line says why the file cannot be written.

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
    check_new_name(path)
    _check_parent(path, path.parent)
    if path.is_dir():
        raise FileError(f"{path} is a folder: choose another name")
    _check_replaceable(path, force)


def check_new_folder(
    path: Path,
    *,
    force: bool = False,
    parents: bool = False,
    is_ours: Callable[[Path], bool] = lambda folder: True,
) -> None:
    """Raise an error unless the folder `path` can be written; call it before long work.

    Parameters
    ----------
    path : Path
    force : bool
        Whether an existing folder may be replaced.
    parents : bool
        Whether missing parent folders will be created.
    is_ours : callable
        Tells whether an existing folder holds what this program writes. Other folders are never
        replaced.

    Raises
    ------
    FileError
        One line says why the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.io.atomic import check_new_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_new_folder(Path(folder) / "new" / "results", parents=True)
    """
    check_new_name(path)
    above = next(parent for parent in path.absolute().parents if parent.exists())
    _check_parent(path, above if parents else path.parent)
    if path.exists() and not path.is_dir():
        raise FileError(f"{path} is a file, but a folder is expected: choose another name")
    if path.is_dir() and not is_ours(path):
        raise FileError(f"{path} is a folder: choose another name")
    _check_replaceable(path, force)


def _check_parent(path: Path, parent: Path) -> None:
    if not parent.is_dir():
        raise FileError(f"{path} cannot be written: {parent} is not a folder, choose another one")
    if not os.access(parent, os.W_OK):
        raise FileError(f"{path} cannot be written: {parent} is protected, choose another one")


def _check_replaceable(path: Path, force: bool) -> None:
    if path.is_symlink() and not path.exists():
        raise FileError(
            f"{path} is a symbolic link to {os.readlink(path)}, which does not exist: remove the "
            "link, or choose another name"
        )
    if path.exists() and not path.is_file() and not path.is_dir():
        raise FileError(f"{path} is a device, a pipe or a socket: choose another name")
    if path.exists() and not force:
        raise FileError(f"{path} exists: use --force (force=True) to replace it")


@contextmanager
def new_file(path: Path, suffixes: Sequence[str], *, force: bool = False) -> Iterator[Path]:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
    suffixes : sequence of str
        The extensions that are allowed: lower case, with their dot.
    force : bool
        Replace an existing file.

    Yields
    ------
    Path
        Where to write. The file moves to `path` when the block ends without an error.

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
    with new_path(path, lambda: check_new_file(path, suffixes, force=force)) as place:
        yield place


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Write a folder whole or not at all, and its parent folders if they are missing.

    Parameters
    ----------
    path : Path
    force : bool
        Replace an existing folder.

    Yields
    ------
    Path
        An empty folder. It moves to `path` when the block ends without an error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.io.atomic import new_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results" / "run"
    ...     with new_folder(path) as partial:
    ...         _ = (partial / "a.txt").write_text("a")
    ...     [file.name for file in path.iterdir()]
    ['a.txt']
    """
    missing = [above for above in path.resolve().parents if not above.exists()]
    try:
        with new_path(path, lambda: check_new_folder(path, force=force, parents=True)) as place:
            place.mkdir(parents=True)
            yield place
    finally:
        for above in missing:
            with suppress(OSError):  # it does not exist, or it is not empty
                above.rmdir()


@contextmanager
def new_path(path: Path, check: Callable[[], None]) -> Iterator[Path]:
    """Write a file or a folder whole or not at all: the implementation for every other writer.

    Parameters
    ----------
    path : Path
        A symbolic link is followed, so what it points to is replaced.
    check : callable
        Raises a FileError unless `path` can be written. It is called before the block, and again
        before the result moves to `path`, since others may have written there in between.

    Yields
    ------
    Path
        A place beside `path` with the same extension. Nothing exists there yet.

    Raises
    ------
    FileError
        The file system refused: one line says why.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.io.atomic import new_path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_path(Path(folder) / "new.txt", lambda: None) as partial:
    ...         _ = partial.write_text("half")
    ...         (Path(folder) / "new.txt").exists()
    ...     [file.name for file in Path(folder).iterdir()]
    False
    ['new.txt']
    """
    check()
    place = path.resolve()
    clear_leftovers(place.parent)
    mark = new_mark()
    partial = place.with_name(f".{place.stem}.partial-{mark}{place.suffix}")
    replaced = place.with_name(f".{place.stem}.replaced-{mark}{place.suffix}")
    try:
        yield partial
        check()
        if place.exists():
            partial.chmod(stat.S_IMODE(place.stat().st_mode))
        if place.is_dir():
            _swap_folder(partial, place, replaced)
        else:
            os.replace(partial, place)
    except OSError as error:
        raise_interrupt(error)
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # its name may be too long
            remove(partial)
            if place.exists():  # Ctrl-C came while it was removed
                remove(replaced)


def _swap_folder(new: Path, place: Path, replaced: Path) -> None:
    """Put a folder in the place of another one, which comes back if that fails."""
    try:
        place.rename(replaced)
        new.rename(place)
    finally:
        if place.exists():
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            replaced.rename(place)

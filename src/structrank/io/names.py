"""Names of files: which ones the system takes, found before any work."""

from __future__ import annotations

from pathlib import Path

from .leftovers import new_mark
from .table import FileError


def check_name(path: Path) -> None:
    """Raise an error unless the system takes the name of a file, which need not exist."""
    _look_at(path, path, "read")


def check_new_name(path: Path) -> None:
    """Raise an error unless the system takes the name of a new file, and of its partial file."""
    _look_at(path.parent / f".{path.name}.replaced-{new_mark()}", path, "written")


def _look_at(place: Path, path: Path, verb: str) -> None:
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{str(path)!r} cannot be {verb}: {reason}, choose another name") from None

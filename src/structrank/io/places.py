"""What may be opened: regular files, and folders without links to other places."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .table import FileError


def check_regular(path: Path, name: Path | None = None) -> None:
    """Raise an error, with this name, if a path leads to a device, a pipe or a socket."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise FileError(
            f"{name or path} is a device, a pipe or a socket, but a file is expected: copy what it "
            "gives into one first"
        )


def everything_in(folder: Path) -> Iterable[Path]:
    """All files and folders in a folder, at any depth."""
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(above, name)


def check_inside(folder: Path, places: Iterable[Path]) -> None:
    """Raise an error if one of these places in a folder leads out of it, or is no regular file."""
    inside = folder.resolve()
    for place in places:
        name = place.relative_to(folder)
        if place.is_symlink() and not place.resolve().is_relative_to(inside):
            raise FileError(
                f"{name} is a symbolic link that leads out of the folder, which is refused, since "
                "a folder could show other files in this way: copy the file into it"
            )
        check_regular(place, name)

"""Partial files of runs that were killed: cleared by the next run that writes to the folder."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

# Machine, process, and a random number: another writer of the same file has its own partial file.
OURS = re.compile(
    r"\.(?P<stem>.+)\.(?P<kind>partial|replaced)-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)"
    r"-[0-9a-f]{8}(?P<suffix>\.[^.]*|)"
)


def new_mark() -> str:
    """A mark in the name of a partial file: it tells which process writes it."""
    return f"{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"


@cache
def _machine() -> str:
    """The machine, and on Linux the container, in which the numbers of processes are valid."""
    try:
        container = os.readlink("/proc/self/ns/pid")
    except OSError:
        container = ""
    return hashlib.blake2b(f"{platform.node()} {container}".encode(), digest_size=4).hexdigest()


def clear_leftovers(folder: Path) -> None:
    """Remove partial files of processes of this machine that have ended without doing so.

    A folder that was moved aside, to be replaced, moves back if its place is empty.
    """
    try:
        names = os.listdir(folder)
    except OSError:  # the writer says what is wrong
        return
    for name in names:
        found = OURS.fullmatch(name)
        if found is None or found["machine"] != _machine() or _runs(int(found["process"])):
            continue
        place = folder / (found["stem"] + found["suffix"])
        with suppress(OSError):  # another process may do the same
            if found["kind"] == "replaced" and not place.exists():
                (folder / name).rename(place)
            else:
                remove(folder / name)


def _runs(process: int) -> bool:
    """Whether a process of this machine runs; True if that cannot be found out."""
    if os.name != "posix":  # elsewhere the test would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

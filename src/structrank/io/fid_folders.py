"""Folders of Bruker and Varian (Agilent) experiments; nothing outside the folder is read."""

from __future__ import annotations

import math
import re
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import numbers, require
from .limits import SizeLimit
from .places import check_inside
from .table import FileError, Table

PARAMETERS = {"acqus": "Bruker", "procpar": "Varian"}
DATA = ("fid", "ser")
SCHEDULE = "nuslist"
NUMBER = re.compile(  # the parameters of Bruker that are one number
    r"^##\$(\w+)= *([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$", re.MULTILINE | re.ASCII
)
BLOCK = 1024  # bytes, of which Bruker fills whole ones with each FID
HEADER = struct.Struct(">6l2hl")  # of a file of Varian
BLOCK_HEADER = 28  # bytes, of Varian
FLOAT, LONG = 8, 4  # among its flags
PAIRS = (1, 3)  # values of AQ_mod that mean complex numbers
SAMPLED = 2  # of FnTYPE: there is a schedule


def fid_folder(path: Path) -> tuple[Path, str] | None:
    """The folder of a Bruker or Varian experiment, given by itself or by its data file."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and path.name not in DATA:
        return None
    found = [kind for name, kind in PARAMETERS.items() if (folder / name).is_file()]
    return (folder, found[0]) if found else None


def read_fid_folder(folder: Path, kind: str, variable: str | None, limit: SizeLimit) -> Table:
    """Read the FIDs of an experiment; rows that a schedule of sampling leaves out are NaN."""
    if variable is not None:
        raise FileError(f'there is no array "{variable}": an experiment has one, without a name')
    known = (*PARAMETERS, "acqu2s", *DATA, SCHEDULE)
    check_inside(folder, (folder / name for name in known))
    present = {name: folder / name for name in known if (folder / name).is_file()}
    data = next((present[name] for name in DATA if name in present), None)
    if data is None:
        raise FileError(f"it has no data ({' or '.join(DATA)})")
    limit.check(4 * sum(file.stat().st_size for file in present.values()))  # 16 bits or more
    if kind == "Varian":
        values, notes = _varian(folder, data)
    else:
        values, notes = _bruker(data, *(_bruker_numbers(folder / f"acqu{k}s") for k in ("", 2)))
        if SCHEDULE in present and values.ndim > 1:
            values, note = _scheduled(values, present[SCHEDULE], limit)
            notes.append(note)
    return Table(numbers(values), format=kind, notes=tuple(notes))


def _bruker_numbers(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    return {name: float(text) for name, text in NUMBER.findall(path.read_text("latin-1"))}


def _bruker(
    path: Path, about: dict[str, float], indirect: dict[str, float]
) -> tuple[np.ndarray, list[str]]:
    """The FIDs of Bruker as rows, and of three dimensions as planes; an FID fills whole blocks."""
    points = about.get("TD", 0)
    if not 1 <= points < 1e12:
        raise FileError("its acqus does not tell the length of an FID (TD)")
    kind = "f8" if about.get("DTYPA") == 2 else "i4"
    values = np.fromfile(path, (">" if about.get("BYTORDA") == 1 else "<") + kind)
    notes = []
    length = math.ceil(points * values.itemsize / BLOCK) * BLOCK // values.itemsize
    if values.size % length == 0:
        values = values.reshape(-1, length)
        rows = int(indirect.get("TD", 0))
        if rows > 1 and about.get("FnTYPE") != SAMPLED and len(values) % rows == 0:
            values = values.reshape(-1, rows, length)
        values = values[0] if len(values) == 1 else values
    elif values.size != points:
        notes.append(f"{values.size} numbers are no rows of {length} (TD): they are read as one")
    if about.get("AQ_mod") in PAIRS:
        values = values[..., : values.shape[-1] // 2 * 2]
        values = values[..., ::2] + 1j * values[..., 1::2]
    delay = about.get("GRPDLY", 0)
    if delay > 0:
        notes.append(f"the first {delay:.0f} points are the delay of the digital filter (GRPDLY)")
    return values, notes


def _scheduled(values: np.ndarray, schedule: Path, limit: SizeLimit) -> tuple[np.ndarray, str]:
    """The rows in their places; each entry of the schedule may have several rows."""
    text = schedule.read_text("latin-1")
    if not text.strip():
        raise FileError(f"its schedule ({SCHEDULE}) is empty")
    entries = np.loadtxt(text.splitlines(), dtype=int, comments=None, ndmin=2)
    count = len(entries)
    if values.ndim != 2 or entries.shape[1] != 1 or len(values) % count:
        raise FileError(
            f"its schedule ({SCHEDULE}) has {count} entries of {entries.shape[1]} numbers, but the "
            f"data have shape {values.shape}: only schedules of one dimension are read; place the "
            "rows in an array with NaN elsewhere, and save it by numpy.save"
        )
    if np.any(entries < 0):
        raise FileError(f"its schedule ({SCHEDULE}) has a negative entry, but rows count from 0")
    several = len(values) // count
    shape = (int(entries.max()) + 1, several, values.shape[1])
    dtype = np.result_type(values, np.float64)
    limit.check_array(shape, dtype)
    full = np.full(shape, np.nan, dtype)
    full[entries[:, 0]] = values.reshape(count, several, -1)
    full = full.reshape(-1, values.shape[1])
    seen = np.count_nonzero(~np.isnan(full[:, 0]))
    note = f"{seen} of {len(full)} rows were sampled ({SCHEDULE}); the others are missing"
    return full, note


def _varian(folder: Path, path: Path) -> tuple[np.ndarray, list[str]]:
    """The FIDs of Varian, in the shape that its parameters give."""
    varian: Any = require("nmrglue").varian
    values = _varian_rows(path)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        try:
            about = varian.read_procpar(str(folder / "procpar"))
            shape = varian.find_shape(about)
            order = varian.find_torder(about, shape) if shape else "f"
        except (LookupError, ValueError) as error:
            raise FileError(f"its procpar is damaged ({error})") from error
    notes = [str(doubt.message) for doubt in doubts]
    if len(values) == 1:
        return values[0], notes
    if shape is None or math.prod(shape) != values.size or shape[-1] != values.shape[1]:
        notes.append(f"procpar tells the shape {shape}, but the data have {values.shape}")
        return values, notes
    return varian.reorder_data(values, shape, order), notes


def _varian_rows(path: Path) -> np.ndarray:
    """Each trace of a file of Varian as a row of complex numbers."""
    content = path.read_bytes()
    if len(content) < HEADER.size:
        raise FileError("its fid is no file of Varian: it has no header")
    blocks, traces, points, _, _, _, _, status, headers = HEADER.unpack_from(content)
    kind = np.dtype(">f4" if status & FLOAT else ">i4" if status & LONG else ">i2")
    size = headers * BLOCK_HEADER + traces * points * kind.itemsize
    if min(blocks, traces, points) < 1 or headers < 0 or points % 2:
        raise FileError(f"its fid tells {blocks} blocks of {traces} traces of {points} numbers")
    if HEADER.size + blocks * size > len(content):
        raise FileError(
            f"its fid tells {blocks} blocks of {size} bytes, but has {len(content)} bytes: it is "
            "not complete"
        )
    rows = np.frombuffer(content, "u1", blocks * size, HEADER.size).reshape(blocks, size)
    values = rows[:, headers * BLOCK_HEADER :].copy().view(kind).reshape(-1, points)
    values = values.astype(np.float32 if kind.kind == "f" else np.float64)
    return values[:, ::2] + 1j * values[:, 1::2]

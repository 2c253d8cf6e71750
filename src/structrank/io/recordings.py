"""Recordings of instruments: WAV sound, Bruker and Varian (Agilent) FIDs, MiniSEED traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .arrays import chosen, numbers, require
from .limits import SizeLimit
from .table import FileError, Table

PARAMETERS = {"acqus": "Bruker", "procpar": "Varian"}


def read_wav(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read the channels of a WAV file as columns; whole numbers become fractions of full scale."""
    import scipy.io.wavfile

    if variable is not None:
        raise FileError(f'there is no array "{variable}": a WAV file has channels as columns')
    limit.check(path.stat().st_size * _growth(path))
    rate, data = scipy.io.wavfile.read(path)
    values = numbers(data)
    if data.dtype.kind in "iu":
        full = 2.0 ** (8 * data.dtype.itemsize - 1)
        values = (values - (full if data.dtype.kind == "u" else 0.0)) / full
    return Table(values, header={"rate": rate}, notes=(f"sampled at {rate} Hz",))


def _growth(path: Path) -> float:
    """Bytes in memory per byte of a WAV file; numbers become floating point."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    at = start.find(b"fmt ")
    bits = int.from_bytes(start[at + 22 : at + 24], "little") if at > 0 else 0
    return 1 + 64 / max(bits, 8)  # what is read, and what it becomes


def write_wav(path: Path, table: Table) -> None:
    """Write a WAV file of floating-point numbers, with the sampling rate that was read."""
    import scipy.io.wavfile

    rate = (table.header or {}).get("rate")
    if rate is None:
        raise FileError("the sampling rate is not known, but a WAV file needs it: choose .npy")
    if table.values.ndim > 2 or np.iscomplexobj(table.values):
        raise FileError(f"a WAV file has real channels, not {table.values.shape}: choose .npy")
    with path.open("wb") as file:
        scipy.io.wavfile.write(file, rate, table.values)


def fid_folder(path: Path) -> tuple[Path, str] | None:
    """The folder of a Bruker or Varian experiment, given by itself or by its data file."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and path.name not in ("fid", "ser"):
        return None
    found = [kind for name, kind in PARAMETERS.items() if (folder / name).is_file()]
    return (folder, found[0]) if found else None


def read_fid_folder(folder: Path, kind: str, variable: str | None, limit: SizeLimit) -> Table:
    """Read the FIDs of an experiment; rows that a schedule of sampling leaves out are NaN."""
    nmrglue = require("nmrglue")
    if variable is not None:
        raise FileError(f'there is no array "{variable}": an experiment has one, without a name')
    data = [folder / name for name in ("fid", "ser") if (folder / name).is_file()]
    limit.check(4 * sum(file.stat().st_size for file in data))  # numbers of 16 bits or more
    if kind == "Varian":
        _, values = nmrglue.varian.read(str(folder))
        return Table(numbers(values), format=kind)
    about, values = nmrglue.bruker.read(str(folder), read_pulseprogram=False, read_procs=False)
    notes = []
    delay = float(about["acqus"].get("GRPDLY", 0))
    if delay > 0:
        notes.append(f"the first {delay:.0f} points are the delay of the digital filter (GRPDLY)")
    schedule = folder / "nuslist"
    if schedule.is_file() and values.ndim > 1:
        values = _scheduled(values, schedule, limit)
        seen = np.count_nonzero(~np.isnan(values[:, 0]))
        notes.append(f"{seen} of {len(values)} rows were sampled (nuslist); the others are missing")
    return Table(numbers(values), format=kind, notes=tuple(notes))


def _scheduled(values: np.ndarray, schedule: Path, limit: SizeLimit) -> np.ndarray:
    """The rows in their places; each entry of the schedule may have several rows."""
    entries = np.loadtxt(schedule, dtype=int, ndmin=2)
    count = len(entries)
    if values.ndim != 2 or entries.shape[1] != 1 or len(values) % count:
        raise FileError(
            f"its schedule (nuslist) has {count} entries of {entries.shape[1]} numbers, but the "
            f"data have shape {values.shape}: only schedules of one dimension are read; place the "
            "rows in an array with NaN elsewhere, and save it by numpy.save"
        )
    if np.any(entries < 0):
        raise FileError("its schedule (nuslist) has a negative entry, but rows count from 0")
    several = len(values) // count
    limit.check_array((int(entries.max()) + 1, several, values.shape[1]), values.dtype)
    full = np.full((entries.max() + 1, several, values.shape[1]), np.nan, dtype=values.dtype)
    full[entries[:, 0]] = values.reshape(count, several, -1)
    return full.reshape(-1, values.shape[1])


def read_miniseed(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read a trace of a MiniSEED file; gaps between its segments are NaN."""
    try:
        import obspy
    except ImportError as error:
        raise ImportError("MiniSEED files need ObsPy: pip install obspy") from error
    _check_traces(obspy.read(str(path), headonly=True), limit)
    stream: Any = obspy.read(str(path))
    stream.merge(method=1)
    traces = {trace.id: trace for trace in stream}
    name = chosen({key: trace.data.shape for key, trace in traces.items()}, variable)
    trace = traces[name]
    values = np.ma.filled(np.ma.asarray(trace.data).astype(float), np.nan)
    rate, start = trace.stats.sampling_rate, trace.stats.starttime
    notes = (f"{name}, sampled at {rate:g} Hz from {start}",)
    return Table(numbers(values), variable=name, header={"rate": rate}, notes=notes)


def _check_traces(segments: Any, limit: SizeLimit) -> None:
    """Raise an error if traces with their gaps would take too much memory."""
    times: dict[str, list[Any]] = {}
    for segment in segments:
        about = segment.stats
        ends = times.setdefault(segment.id, [])
        ends += [about.starttime, about.endtime]
        limit.check_array((int((max(ends) - min(ends)) * about.sampling_rate) + 1,), float)


def write_nothing(path: Path, table: Table) -> None:
    """Refuse to write a format that is only read."""
    raise FileError("this format is only read: choose .npy or .csv")

"""Recordings of instruments: WAV sound and MiniSEED traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .arrays import chosen, numbers
from .limits import SizeLimit
from .table import FileError, Table


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

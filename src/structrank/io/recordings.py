"""Recordings of instruments: WAV sound and MiniSEED traces."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .arrays import chosen, numbers
from .limits import SizeLimit
from .table import FileError, Table


def read_wav(path: Path, variable: str | None, limit: SizeLimit) -> Table:
    """Read the channels of a WAV file as columns; whole numbers become fractions of full scale."""
    import scipy.io.wavfile

    if variable is not None:
        raise FileError(f'there is no array "{variable}": a WAV file has channels as columns')
    limit.check(path.stat().st_size * (1 + 8 / _sample_size(path)))  # as they are, and in double
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        rate, data = scipy.io.wavfile.read(path)
    values = numbers(data)
    if data.dtype.kind in "iu":
        full = 2.0 ** (8 * data.dtype.itemsize - 1)
        values -= full if data.dtype.kind == "u" else 0.0
        values /= full
    said = {str(doubt.message) for doubt in doubts}
    notes = [f"it is not complete: {text}" for text in said if text.startswith("Reached EOF")]
    return Table(values, header={"rate": _rate(rate)}, notes=(f"sampled at {rate} Hz", *notes))


def _sample_size(path: Path) -> int:
    """The fewest bytes per sample that a header in a WAV file tells."""
    fewest, chunks = 8, set()
    with path.open("rb") as file:
        order: Literal["big", "little"] = "big" if file.read(12)[:4] == b"RIFX" else "little"
        while len(head := file.read(8)) == 8:
            chunks.add(head[:4])
            size = int.from_bytes(head[4:], order)
            end = file.tell() + size + size % 2
            if head[:4] == b"fmt ":
                about = file.read(16)
                channels, width, bits = (
                    int.from_bytes(about[k : k + 2], order) for k in (2, 12, 14)
                )
                if not 0 < channels <= width:
                    raise FileError(f"its header tells {channels} channels in {width} bytes")
                fewest = min(fewest, width // channels, max(bits // 8, 1))
            file.seek(end)
    if not chunks >= {b"fmt ", b"data"}:
        raise FileError("it is no WAV file: it has no header (fmt) or no samples (data)")
    return fewest


def _rate(rate: float) -> float:
    if not 0 < rate < np.inf:
        raise FileError(f"its sampling rate is {rate} Hz, but one above zero is expected")
    return rate


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
    rate, start = _rate(trace.stats.sampling_rate), trace.stats.starttime
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

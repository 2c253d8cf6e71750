"""Checkpoints of `recover`: the pieces that are finished, in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._pieces import Journal, OtherPieceError, kept_in
from ..io.fingerprints import fingerprint_of
from ..io.saved_values import DAMAGED, Reader, Writer
from ..io.table import FileError
from ..solvers.checkpoint import Checkpoint, CheckpointFile, Subject


@contextmanager
def saved_pieces(
    method: str,
    samples: Any,
    settings: Mapping[str, Any],
    checkpoint: str | Path | Checkpoint | None,
    resume: str | Path | None,
) -> Iterator[None]:
    """Save the finished pieces of what runs inside, and skip those that are saved already.

    The file is written again when `Checkpoint.every` seconds have passed at the end of a piece, and
    when the call ends, also by an error or by Ctrl-C.

    Parameters
    ----------
    method : str
        Name of the function that is called.
    samples : array
        NaN where missing.
    settings : mapping of str to object
        What the pieces depend on. They have to be the same when the call is resumed.
    checkpoint : str, Path or Checkpoint, optional
        Where to save.
    resume : str or Path, optional
        A checkpoint to continue from.

    Raises
    ------
    FileError
        The checkpoint cannot be read or written, or it belongs to another call.
    """
    if checkpoint is None and resume is None:
        yield
        return
    file = _PieceFile(method, to_numpy(samples), settings, checkpoint)
    journal = Journal([] if resume is None else file.pieces(Path(resume)))
    journal.added = partial(file.added, journal)
    try:
        with kept_in(journal):
            yield
    except OtherPieceError as error:
        raise FileError(
            f"{resume} was written by another release of structrank ({error}): start again without "
            "resume"
        ) from error
    finally:
        file.save(journal)


class _PieceFile:
    """The file of a journal."""

    def __init__(
        self,
        method: str,
        samples: NDArray,
        settings: Mapping[str, Any],
        checkpoint: str | Path | Checkpoint | None,
    ) -> None:
        text = f"{' x '.join(map(str, samples.shape))} samples of {samples.dtype}"
        fingerprint = fingerprint_of(method, np.where(np.isnan(samples), np.nan, samples))
        subject = Subject("samples", text, fingerprint, "call", "samples")
        self.file = CheckpointFile(method, subject, settings, checkpoint)
        self.saved: int | None = None  # pieces

    def added(self, journal: Journal) -> None:
        """Save if the last time was long enough ago."""
        if self.file.is_due:
            self.save(journal)

    def save(self, journal: Journal) -> None:
        """Save what has been added since the last time."""
        if self.file.checkpoint is not None and self.saved != len(journal.pieces):
            writer = Writer()
            self.file.write({"pieces": writer.plain(journal.pieces)}, writer.arrays)
            self.saved = len(journal.pieces)

    def pieces(self, path: Path) -> list[tuple[str, dict[str, Any]]]:
        """The pieces in a file, if it belongs to this call."""
        header, arrays = self.file.read(path)
        try:
            pieces: list[tuple[str, dict[str, Any]]] = Reader(arrays).value(header["pieces"])
        except DAMAGED as error:
            raise FileError(f"{path} is no complete checkpoint ({error})") from error
        return pieces

"""Checkpoints of `recover`: the pieces that are finished, in a file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._pieces import Journal, OtherPieceError, kept_in
from ..io.saved_runs import check_saved_run, read_saved_run, write_saved_run
from ..io.saved_values import Reader, Writer
from ..io.table import FileError
from ..solvers.checkpoint import Checkpoint, digest_of


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
    journal = Journal([] if resume is None else file.read(Path(resume)), file.added)
    file.journal = journal
    try:
        with kept_in(journal):
            yield
    except OtherPieceError as error:
        raise FileError(
            f"{resume} was written by another release of structrank ({error}): start again without "
            "resume"
        ) from error
    finally:
        file.save()


class _PieceFile:
    """The file of a journal, and what the call depends on."""

    def __init__(
        self,
        method: str,
        samples: NDArray,
        settings: Mapping[str, Any],
        checkpoint: str | Path | Checkpoint | None,
    ) -> None:
        shape = " x ".join(map(str, samples.shape))
        self.call = {
            "method": method,
            "settings": {name: _setting(value) for name, value in settings.items()},
            "samples": f"{shape} samples of {samples.dtype}",
            "fingerprint": digest_of(np.where(np.isnan(samples), np.nan, samples)),
        }
        self.journal: Journal | None = None
        self.checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            if not isinstance(checkpoint, Checkpoint):
                checkpoint = Checkpoint(checkpoint)
            self.checkpoint = checkpoint
            self._check_free(Path(checkpoint.path))
        self.saved, self.last_save = 0, time.monotonic()

    def added(self) -> None:
        """Save if the last time was long enough ago."""
        every = np.inf if self.checkpoint is None else self.checkpoint.every
        if time.monotonic() - self.last_save >= every:
            self.save()

    def save(self) -> None:
        """Save what has been added since the last time."""
        if self.checkpoint is None or self.journal is None:
            return
        pieces = self.journal.pieces
        if self.saved == len(pieces) > 0:
            return
        writer = Writer()
        header = {**self.call, "pieces": writer.plain(pieces)}
        write_saved_run(Path(self.checkpoint.path), header, writer.arrays)
        self.saved, self.last_save = len(pieces), time.monotonic()

    def read(self, path: Path) -> list[tuple[str, dict[str, Any]]]:
        """The pieces in a file, if it belongs to this call."""
        header, arrays = read_saved_run(path)
        self._check_same(path, header)
        try:
            pieces: list[tuple[str, dict[str, Any]]] = Reader(arrays).value(header["pieces"])
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path} is no complete checkpoint ({error})") from error
        return pieces

    def _check_free(self, path: Path) -> None:
        """Raise an error if another call is saved at `path`."""
        there = check_saved_run(path)
        if there is not None and there.get("fingerprint") != self.call["fingerprint"]:
            raise FileError(
                f"{path} is a checkpoint of another call, {_title(there)}: choose another name, or "
                "delete it"
            )

    def _check_same(self, path: Path, header: dict[str, Any]) -> None:
        """Raise an error unless a checkpoint belongs to this call."""
        for name in ("method", "samples", "fingerprint"):
            if header.get(name) != self.call[name]:
                raise FileError(
                    f"{path} is a checkpoint of {_title(header)}, but {_title(self.call)} is to be "
                    "resumed: pass the same samples to the same function, or choose another file"
                )
        settings: dict[str, str] = self.call["settings"]  # type: ignore[assignment]
        for name, value in settings.items():
            saved = header["settings"].get(name)
            if saved != value:
                raise FileError(
                    f"{path} was made with {name}={saved}, but {name}={value} is given: pass the "
                    "same settings"
                )


def _title(header: Mapping[str, Any]) -> str:
    """What a checkpoint belongs to, in words."""
    about = header.get("samples") or header.get("problem")
    return f"{header.get('method')} with {about} (hash {str(header.get('fingerprint'))[:6]})"


def _setting(value: Any) -> str:
    """A setting as text; 1 and 1.0 are the same, arrays and generators are hashed."""
    if isinstance(value, np.random.Generator):
        state = repr(value.bit_generator.state).encode()
        return f"Generator {hashlib.blake2b(state, digest_size=8).hexdigest()}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_setting, value))})"
    if np.ndim(value):
        return f"array {digest_of(np.asarray(value))}"
    return repr(float(value)) if isinstance(value, Real) else str(value)

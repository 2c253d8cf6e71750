"""Checkpoints: where and how often something is saved, and whether a file belongs to it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from .._checks import not_negative
from ..io.fingerprints import digest_of
from ..io.saved_runs import check_saved_run, read_saved_run, write_saved_run
from ..io.table import FileError


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is saved, and how often.

    Parameters
    ----------
    path : str or Path
        A file with the extension .npz. It is replaced each time, and is complete at any time.
    every : float
        Seconds between two saves, at least; 0 saves every iterate. The last iterate is always
        saved, also after Ctrl-C.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank import Checkpoint, Hankel, Problem, solve
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.npz"
    ...     stop_early = lambda state: True
    ...     rough = solve(problem, checkpoint=Checkpoint(path, every=0), callback=stop_early)
    ...     result = solve(problem, resume=path)
    >>> rough.status.name, result.status.name
    ('CALLBACK', 'SOLVED')
    """

    path: str | Path
    every: float = 60.0  # a save of 2^26 samples takes a few seconds

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)):
            raise TypeError(f"path is {type(self.path).__name__}, but a str or Path is expected")
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "every", not_negative(self.every, "every"))


@dataclass(frozen=True)
class Subject:
    """What a run, or a call, works on.

    Attributes
    ----------
    key : str
        Key of its description in the header of a file.
    text : str
        The description.
    fingerprint : str
        A hash of all that it consists of.
    name : str
        What it is called in errors.
    inputs : str
        What the user has to pass again to resume.
    """

    key: str
    text: str
    fingerprint: str
    name: str
    inputs: str


class CheckpointFile:
    """The file of a run: what the run depends on, and when it was saved.

    Parameters
    ----------
    method : str
        Name of the function that is called.
    subject : Subject
        What it works on.
    settings : mapping of str to object
        What the run depends on. They have to be the same when it is resumed.
    checkpoint : str, Path or Checkpoint, optional
        Where to save. Default: nowhere.

    Raises
    ------
    FileError
        The file cannot be written, or it belongs to another run.
    """

    def __init__(
        self,
        method: str,
        subject: Subject,
        settings: Mapping[str, Any],
        checkpoint: str | Path | Checkpoint | None,
    ) -> None:
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            checkpoint = Checkpoint(checkpoint)
        self.method, self.subject, self.checkpoint = method, subject, checkpoint
        self.settings = {name: _setting(value) for name, value in settings.items()}
        self.last_save = time.monotonic()
        if checkpoint is not None:
            there = check_saved_run(Path(checkpoint.path))
            if there is not None and there.get("fingerprint") != subject.fingerprint:
                raise FileError(
                    f"{checkpoint.path} is a checkpoint of another {subject.name}, "
                    f"{_title(there)}: choose another name, or delete it"
                )

    @property
    def is_due(self) -> bool:
        """Whether there is a file, and the last save was long enough ago."""
        if self.checkpoint is None:
            return False
        return time.monotonic() - self.last_save >= self.checkpoint.every

    def write(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
        """Replace the file.

        Parameters
        ----------
        content : mapping
            What JSON can hold.
        arrays : mapping of str to ndarray
        """
        assert self.checkpoint is not None  # or the caller has nothing to save
        header = {
            "method": self.method,
            "settings": self.settings,
            self.subject.key: self.subject.text,
            "fingerprint": self.subject.fingerprint,
            **content,
        }
        write_saved_run(Path(self.checkpoint.path), header, arrays)
        self.last_save = time.monotonic()

    def read(self, path: Path) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return header and arrays of a file, or raise an error if it belongs to another run."""
        header, arrays = read_saved_run(path)
        if header.get("method") != self.method:
            raise FileError(
                f"{path} is a checkpoint of {header.get('method')}, but {self.method} is to be "
                "resumed: choose another file"
            )
        subject = self.subject
        if header.get("fingerprint") != subject.fingerprint:
            own = {subject.key: subject.text, "fingerprint": subject.fingerprint}
            raise FileError(
                f"{path} is a checkpoint of another {subject.name}, {_title(header)}, but "
                f"{_title(own)} is given: pass the same {subject.inputs}, or choose another file"
            )
        for name, value in self.settings.items():
            saved = header["settings"].get(name)
            if saved != value:
                raise FileError(
                    f"{path} was made with {name}={saved}, but {name}={value} is given: pass the "
                    "same settings"
                )
        return header, arrays


def _title(header: Mapping[str, Any]) -> str:
    """What a checkpoint belongs to, in words."""
    text = header.get("samples") or header.get("problem")
    return f"{text} (hash {str(header.get('fingerprint'))[:6]})"


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

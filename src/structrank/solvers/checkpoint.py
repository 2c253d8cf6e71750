"""Checkpoints of a run: what its solver needs to continue, its history, and its settings."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import instance_of, not_negative
from ..io.saved_runs import check_saved_run, read_saved_run, write_saved_run
from ..io.table import FileError
from ..model.problem import Problem
from ..structures import Structure
from .memory import Memory, Restored, decoded, encoded
from .state import Figures, History, State
from .stopping import Status


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


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a run has come: its history, its bounds and its best iterate."""

    history: History
    length: int  # entries of the history; it may have grown since
    bound: float
    best: State | None  # None: the last iterate
    status: Status | None = None  # why the run ended, if it did
    stop: str = ""  # when it was to stop


class Saving:
    """The checkpoints of one run.

    Parameters
    ----------
    method : str
        Name of the solver.
    problem : Problem
    settings : mapping of str to str, number or None
        What the iterates depend on. They have to be the same when the run is resumed.
    checkpoint : str, Path or Checkpoint, optional
        Where to save.
    resume : str or Path, optional
        A checkpoint to continue from.

    Raises
    ------
    FileError
        The checkpoint cannot be read or written, or it belongs to another run.
    """

    def __init__(
        self,
        method: str,
        problem: Problem,
        settings: Mapping[str, Any],
        checkpoint: str | Path | Checkpoint | None,
        resume: str | Path | None,
    ) -> None:
        self.run = {
            "method": method,
            "settings": {name: _setting(value) for name, value in settings.items()},
            "problem": repr(problem),
            "fingerprint": fingerprint(problem),
        }
        self.checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            if not isinstance(checkpoint, Checkpoint):
                checkpoint = Checkpoint(checkpoint)
            self.checkpoint = checkpoint
            self._check_free(Path(checkpoint.path))
        self.progress: Progress | None = None
        restored = None
        if resume is not None:
            header, arrays = read_saved_run(Path(resume))
            self._check_same(Path(resume), header)
            reference = problem.backprojection
            try:
                restored = Restored(reference, decoded(header["memory"], arrays, "memory"))
                self.progress = _decoded_progress(header, arrays, reference)
            except KeyError as error:
                raise FileError(f"{resume} is no complete checkpoint: it has no {error}") from error
        self.memory = Memory(restored)
        self.noted: tuple[dict[str, Any], Progress] | None = None
        self.last_save = time.monotonic()

    def note(self, progress: Progress) -> None:
        """Remember how far the run is, and save it if the last save was long enough ago."""
        if self.checkpoint is None:
            return
        self.noted = self.memory.kept, progress
        if time.monotonic() - self.last_save >= self.checkpoint.every:
            self._save()

    def finish(self, status: Status, stop: str) -> None:
        """Save the last iterate of a run, and why it ended."""
        if self.noted is not None:
            kept, progress = self.noted
            self.noted = kept, replace(progress, status=status, stop=stop)
            self._save()

    def _save(self) -> None:
        assert self.checkpoint is not None  # only then something is noted
        assert self.noted is not None
        kept, progress = self.noted
        arrays: dict[str, NDArray] = {}
        header = {
            **self.run,
            "memory": encoded(kept, arrays, "memory"),
            "bound": float(progress.bound),
            "best": None,
            "status": None if progress.status is None else progress.status.name,
            "stop": progress.stop,
        }
        for entry in fields(History):
            column = getattr(progress.history, entry.name)[: progress.length]
            arrays[f"history.{entry.name}"] = np.array(column)
        if progress.best is not None:
            best = {"X": progress.best.X, "y": progress.best.y}
            numbers = {name: float(getattr(progress.best, name)) for name in Figures._fields}
            header["best"] = encoded(best | numbers, arrays, "best")
        write_saved_run(Path(self.checkpoint.path), header, arrays)
        self.last_save = time.monotonic()

    def _check_free(self, path: Path) -> None:
        """Raise an error if another run is saved at `path`."""
        there = check_saved_run(path)
        if there is not None and there.get("fingerprint") != self.run["fingerprint"]:
            raise FileError(
                f"{path} is a checkpoint of another problem, {there.get('problem')}: choose "
                "another name, or delete it"
            )

    def _check_same(self, path: Path, header: dict[str, Any]) -> None:
        """Raise an error unless a checkpoint belongs to this run."""
        if header.get("method") != self.run["method"]:
            raise FileError(
                f"{path} is a checkpoint of {header.get('method')}, but {self.run['method']} is to "
                "be resumed: choose another file"
            )
        if header.get("fingerprint") != self.run["fingerprint"]:
            raise FileError(
                f"{path} is a checkpoint of another problem, {header.get('problem')}, but "
                f"{self.run['problem']} is given: pass the same structure, samples and mu"
            )
        settings: dict[str, str] = self.run["settings"]  # type: ignore[assignment]
        for name, value in settings.items():
            saved = header["settings"].get(name)
            if saved != value:
                raise FileError(
                    f"{path} was made with {name}={saved}, but {name}={value} is given: pass the "
                    "same settings"
                )


def saving_for(
    method: str,
    problem: Problem,
    checkpoint: str | Path | Checkpoint | None,
    resume: str | Path | None,
    **settings: Any,
) -> Saving | None:
    """The checkpoints of a run, or None if the user asks for none; errors come before any work."""
    instance_of(problem, Problem, "problem")
    if checkpoint is None and resume is None:
        return None
    return Saving(method, problem, settings, checkpoint, resume)


def _setting(value: Any) -> str:
    """A setting as text; 1 and 1.0 are the same."""
    return repr(float(value)) if isinstance(value, Real) else str(value)


def fingerprint(problem: Problem) -> str:
    """A hash of the structure, the samples, how they were measured, and mu.

    An operator cannot be hashed; `A^* b` stands for it.
    """
    S, digest = problem.structure, hashlib.blake2b(digest_size=16)
    own = type(S).key is Structure.key  # the key of an unknown structure does not outlive it
    key = (
        (S.index().tobytes(), None if S.offset is None else S.offset.tobytes()) if own else S.key()
    )
    digest.update(f"{type(S).__name__} {S.shape} {S.signal_shape} {problem.mu!r}".encode())
    digest.update(repr(key).encode())
    for array in (problem.data, problem.backprojection, problem.sample_weights):
        if array is not None:
            values = np.ascontiguousarray(to_numpy(array))
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(values.data)
    return digest.hexdigest()


def digest_of(values: NDArray) -> str:
    """A hash of an array, as a setting."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).hexdigest()


def _decoded_progress(
    header: dict[str, Any], arrays: dict[str, NDArray], reference: Array
) -> Progress:
    columns = {entry.name: arrays[f"history.{entry.name}"].tolist() for entry in fields(History)}
    best = None
    if header["best"] is not None:
        saved = Restored(reference, decoded(header["best"], arrays, "best"))
        numbers = {name: saved[name] for name in Figures._fields}
        best = State(saved.matrix("X"), saved.array("y"), **numbers)
    status = None if header["status"] is None else Status[header["status"]]
    history = History(**columns)
    return Progress(history, len(history), header["bound"], best, status, header["stop"])

"""A run in a file: what its solver needs to continue, its history, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import instance_of
from ..io.fingerprints import fingerprint_of
from ..io.saved_values import DAMAGED
from ..io.table import FileError
from ..model.problem import Problem
from ..structures import Structure
from .checkpoint import Checkpoint, CheckpointFile, Subject
from .memory import Memory, Restored, decoded, encoded
from .state import Figures, History, State
from .stopping import Status


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
        inputs = "structure, samples and mu"
        subject = Subject("problem", repr(problem), fingerprint(problem), "problem", inputs)
        self.file = CheckpointFile(method, subject, settings, checkpoint)
        self.progress: Progress | None = None
        restored = None
        if resume is not None:
            header, arrays = self.file.read(Path(resume))
            reference = problem.backprojection
            try:
                restored = Restored(reference, decoded(header["memory"], arrays, "memory"))
                self.progress = _decoded_progress(header, arrays, reference)
            except DAMAGED as error:
                raise FileError(
                    f"{resume} is no complete checkpoint ({error!r}): choose another file, or "
                    "start again without resume"
                ) from error
        self.memory = Memory(restored)
        self.noted: tuple[dict[str, Any], Progress] | None = None

    def note(self, progress: Progress) -> None:
        """Remember how far the run is, and save it if the last save was long enough ago."""
        if self.file.checkpoint is None:
            return
        self.noted = self.memory.kept, progress
        if self.file.is_due:
            self._save(*self.noted)

    def finish(self, status: Status, stop: str) -> None:
        """Save the last iterate of a run, and why it ended."""
        if self.noted is not None:
            kept, progress = self.noted
            self._save(kept, replace(progress, status=status, stop=stop))

    def _save(self, kept: dict[str, Any], progress: Progress) -> None:
        arrays: dict[str, NDArray] = {}
        content = {
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
            content["best"] = encoded(best | numbers, arrays, "best")
        self.file.write(content, arrays)


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


def fingerprint(problem: Problem) -> str:
    """A hash of the structure, the samples, how they were measured, and mu.

    An operator cannot be hashed; `A^* b` stands for it.
    """
    S = problem.structure
    own = type(S).key is Structure.key  # the key of an unknown structure does not outlive it
    key = (
        (S.index().tobytes(), None if S.offset is None else S.offset.tobytes()) if own else S.key()
    )
    arrays = (problem.data, problem.backprojection, problem.sample_weights)
    return fingerprint_of(
        f"{type(S).__name__} {S.shape} {S.signal_shape} {problem.mu!r}{key!r}",
        *(to_numpy(array) for array in arrays if array is not None),
    )


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

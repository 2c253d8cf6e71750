"""The files and runs of the page, by number."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BufferedIOBase
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from .._messages import error_line
from ..io import FileError
from ..io.limits import SizeLimit
from ..views.content import Picture
from ..views.page import PageLayout, drawn
from .limits import AppLimits
from .runs import Download, Outcome, Run, stop_all
from .uploads import Reading, Upload, stored
from .work import Job, report, samples_picture

LAYOUT = PageLayout(font_size=9)
NARROW_INCHES = 4.1  # of a picture on a phone

Kept = TypeVar("Kept")


class UnknownNumberError(LookupError):
    """There is no file, run or part of it with this number or name."""


class Desk:
    """What the page works on, in one folder.

    Parameters
    ----------
    folder : Path
        Everything is kept in it. The caller removes it.
    max_size : str, optional
        Most memory that a file may take, such as "2GB". Default: half of the memory.
    limits : AppLimits
    """

    def __init__(
        self, folder: Path, max_size: str | None = None, limits: AppLimits = AppLimits()
    ) -> None:
        self.limits, self.size = limits, SizeLimit(max_size)
        self._folder, self._max_size = folder, max_size
        self._uploads: dict[int, Upload] = {}
        self._runs: dict[int, Run] = {}
        self._count = 0
        self._lock, self._drawing = Lock(), Lock()

    def receive(self, name: str, size: int, body: BufferedIOBase) -> dict[str, Any]:
        """Keep a file that is sent, and read it; an error says why it cannot be read."""
        self.size.check(size)
        upload = stored(self._next(), name, self._folder, self._max_size)
        with upload.path.open("wb") as file:
            while size > 0 and (chunk := body.read(min(size, self.limits.chunk))):
                size -= len(chunk)
                file.write(chunk)
        if size:
            raise FileError("the file did not arrive completely: drop it again")
        self._keep(self._uploads, upload.number, upload)
        return self.read(upload.number, {})

    def read(self, number: int, form: Mapping[str, Any]) -> dict[str, Any]:
        """Read a file as the form asks, and describe it; what is wrong is its `error`."""
        upload = self._find(self._uploads, number)
        try:
            upload.read(Reading.of(form))
        except (FileError, ImportError, MemoryError) as error:
            return {**upload.about(), "error": upload.plain(error_line(error))}
        return upload.about()

    def samples(self, number: int, columns: Sequence[int], narrow: bool) -> tuple[str, bytes]:
        """Draw samples and gaps: the kind of image, and its bytes."""
        return self._draw(samples_picture(self._find(self._uploads, number).given(columns)), narrow)

    def run(self, form: Mapping[str, Any]) -> dict[str, Any]:
        """Start what the form asks for; what is still running is stopped."""
        upload = self._find(self._uploads, _number(form, "file"))
        columns = form.get("columns", [])
        if not isinstance(columns, list):
            raise FileError("columns are expected as a list of positions")
        steps = _number(form, "steps") if form.get("task") == "forecast" else 1
        job = Job(upload, columns, str(form.get("task")), steps, bool(form.get("robust")))
        return self._start(job.task, job.run, upload.plain)

    def report(self, number: int) -> dict[str, Any]:
        """Start to write the report of a run."""
        run = self._find(self._runs, number)
        outcome = _outcome(run)
        if outcome.found is None:
            raise FileError("there is nothing to report")
        stem = next(iter(outcome.files.values())).path.stem
        return self._start("report", lambda folder: report(outcome, folder, stem), run.plain)

    def about(self, number: int) -> dict[str, Any]:
        """Describe a run."""
        return self._find(self._runs, number).about()

    def stop(self, number: int) -> dict[str, Any]:
        """Ask a run for its best answer so far."""
        run = self._find(self._runs, number)
        run.stop()
        return run.about()

    def picture(self, number: int, name: str, narrow: bool) -> tuple[str, bytes]:
        """Draw a picture of a run: the kind of image, and its bytes."""
        pictures = _outcome(self._find(self._runs, number)).pictures
        return self._draw(self._find(pictures, name), narrow)

    def file(self, number: int, name: str) -> Download:
        """Return a file that a run has written."""
        return self._find(_outcome(self._find(self._runs, number)).files, name)

    def close(self) -> None:
        """Stop what is running."""
        stop_all(list(self._runs.values()), self.limits.ending)

    def _start(
        self, task: str, work: Callable[[Path], Outcome], plain: Callable[[str], str]
    ) -> dict[str, Any]:
        number = self._next()
        folder = self._folder / f"run-{number}"
        run = Run(number, task, lambda: work(folder), plain)
        for other in list(self._runs.values()):
            other.stop()
        self._keep(self._runs, number, run)
        run.start()
        return run.about()

    def _draw(self, picture: Picture, narrow: bool) -> tuple[str, bytes]:
        def slim(figure: Any) -> None:
            picture.draw(figure)
            figure.set_size_inches(NARROW_INCHES, figure.get_figheight())

        with self._drawing:  # matplotlib has one set of parameters for all threads
            return drawn(replace(picture, draw=slim) if narrow else picture, LAYOUT, None)[:2]

    def _next(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def _keep(self, there: dict[int, Kept], number: int, new: Kept) -> None:
        """Keep something new, and drop the oldest with its folder."""
        with self._lock:
            there[number] = new
            while len(there) > self.limits.kept:
                oldest = min(there)
                del there[oldest]
                for kind in ("file", "run"):
                    with suppress(OSError):
                        shutil.rmtree(self._folder / f"{kind}-{oldest}")

    def _find(self, there: Mapping[Any, Kept], key: Any) -> Kept:
        found = there.get(key)
        if found is None:
            raise UnknownNumberError(f"there is no {key} any more: drop the file again")
        return found


def _outcome(run: Run) -> Outcome:
    if run.state != "done" or run.outcome is None:
        raise UnknownNumberError("the run has not ended, or has found nothing")
    return run.outcome


def _number(form: Mapping[str, Any], name: str) -> int:
    value = form.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise FileError(f"{name} is {value!r}, but a whole number is expected")
    return value

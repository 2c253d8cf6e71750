"""Work in the background: one thread per run, which says what it is doing and can be stopped."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from .._messages import ERRORS, error_line, warning_line
from .._watch import Watch, clock, watched
from ..solvers.stopping import ConvergenceWarning
from ..views.content import Picture


@dataclass(frozen=True)
class Download:
    """A file to download: what it is, and where it lies."""

    title: str
    path: Path


@dataclass(frozen=True)
class Outcome:
    """What a run has found.

    Attributes
    ----------
    summary : str
    pictures : dict of str to Picture
        By a short name.
    files : dict of str to Download
        By a short name.
    command : str or None
        The command that does the same.
    found : Any
        The result itself, for a report; None if there is none to write.
    """

    summary: str = ""
    pictures: dict[str, Picture] = field(default_factory=dict)
    files: dict[str, Download] = field(default_factory=dict)
    command: str | None = None
    found: Any = None


class Run:
    """One call in a thread of its own.

    Parameters
    ----------
    number : int
    task : str
        What it does.
    work : callable
        Returns the outcome.
    plain : callable
        Takes folders out of messages.
    """

    def __init__(
        self, number: int, task: str, work: Callable[[], Outcome], plain: Callable[[str], str]
    ) -> None:
        self.number, self.task = number, task
        self.said, self.error = "starting", ""
        self.warnings: list[str] = []
        self.stopped = False
        self.outcome: Outcome | None = None
        self._work, self.plain = work, plain
        self._watch: Watch | None = None
        self._began, self._ended = clock(), 0.0
        self._thread = Thread(target=self._go, name=f"run {number}", daemon=True)

    def start(self) -> None:
        """Begin the work."""
        self._thread.start()

    def stop(self) -> None:
        """Ask for the best answer so far; the run ends by itself."""
        self.stopped = True
        if self._watch is not None:
            self._watch.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    @property
    def state(self) -> str:
        """Return "running", "done" or "failed"."""
        if not self._ended:
            return "running"
        return "failed" if self.error else "done"

    def warn(self, message: Warning | str, category: type[Warning]) -> None:
        """Keep a warning for the page, unless it only says that a stopped run has ended early."""
        text = warning_line(message, category)
        known = self.stopped and issubclass(category, ConvergenceWarning)
        if text is not None and not known and self.plain(text) not in self.warnings:
            self.warnings.append(self.plain(text))

    def about(self) -> dict[str, Any]:
        """Describe the run, for the page."""
        state = self.state
        outcome = self.outcome if state == "done" and self.outcome is not None else Outcome()
        return {
            "id": self.number,
            "task": self.task,
            "state": state,
            "said": self.said,
            "seconds": (self._ended or clock()) - self._began,
            "stopped": self.stopped,
            "error": self.error,
            "warnings": list(self.warnings),
            "summary": outcome.summary,
            "command": outcome.command,
            "pictures": [
                {"name": name, "alternative": one.alternative, "caption": one.caption}
                for name, one in outcome.pictures.items()
            ],
            "files": [
                {"name": name, "title": one.title, "file": one.path.name}
                for name, one in outcome.files.items()
            ],
            "report": outcome.found is not None,
        }

    def _go(self) -> None:
        _CURRENT.set(self)
        try:
            with watched(say=self._hear) as watch:
                self._watch = watch
                if self.stopped:  # before there was a watch
                    watch.stop()
                self.outcome = self._work()
        except ERRORS as error:
            self.error = self.plain(error_line(error))
        except Exception as error:  # a bug: the page shows it and keeps running
            traceback.print_exc(file=sys.stderr)
            self.error = f"unexpected {type(error).__name__}: {self.plain(error_line(error))}"
        finally:
            self._ended = clock()

    def _hear(self, text: str) -> None:
        self.said = text


_CURRENT: ContextVar[Run | None] = ContextVar("structrank_run", default=None)


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning on the page whose run has caused it; for `warnings.showwarning`."""
    run = _CURRENT.get()
    if run is not None:
        run.warn(message, category)


def stop_all(runs: Sequence[Run], seconds: float) -> None:
    """Stop runs, and wait for each of them for at most some seconds."""
    for run in runs:
        run.stop()
    for run in runs:
        run.wait(seconds)

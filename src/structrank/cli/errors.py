"""Errors and warnings of commands: one line each, and nothing half-written."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from .._messages import ERRORS, error_line, warning_line


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End a command with one line per error, and show each warning in one line."""
    with warnings.catch_warnings(), _ending_cleanly():
        warnings.simplefilter("default")
        warnings.showwarning = partial(_warn, set())
        try:
            yield
        except BrokenPipeError:  # the reader of the pipe has stopped reading
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise SystemExit(_exit_code(signal.SIGINT)) from None
        except ERRORS as error:
            raise click.ClickException(error_line(error)) from None


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Let a process that is asked to terminate remove its partial files first."""

    def end(*_: Any) -> None:
        raise SystemExit(_exit_code(signal.SIGTERM))

    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit_code(number: int) -> int:
    """The exit code that shells expect after a signal."""
    return 128 + number


def _warn(
    shown: set[str], message: Warning | str, category: type[Warning], *_: Any, **__: Any
) -> None:
    """Show a warning once, unless it is meant for programmers."""
    text = warning_line(message, category)
    if text is not None and text not in shown:
        shown.add(text)
        click.echo(f"Warning: {text}", err=True)
